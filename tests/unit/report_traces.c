/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report_traces.c - the traces of the report's tests, into a folder:
 *
 *   report_traces FOLDER
 *
 *   before.sqt  again.sqt   two runs of the same proxy
 *   slower.sqt              a third one in which everything takes 20 % longer
 *   few.sqt                 too short to say anything about
 *   lossy.sqt               with a stretch of lost records
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/events.h"
#include "make_trace.h"

#define RECORDS 120000

static const char texts[] = "def\t1\t0\taufs /var/spool/squid\ndef\t2\t1\tTCP_HIT\ndef\t2\t2\tTCP_MEM_HIT\n"
                            "def\t2\t3\tTCP_MISS\ndef\t3\t1\tGET\n";

static struct sqt_record records[RECORDS];

static uint64_t
stretched(uint64_t ticks, uint64_t percent)
{
    return MAKE_START + (ticks - MAKE_START) * percent / 100;
}

/* The fields that hold times and durations. */
static void
stretch_fields(struct sqt_record *record, uint64_t percent)
{
    const struct sqt_event_info *const info = &sqt_events[record->event];
    if (info->id.kind == SQT_KIND_TIME)
        record->id = stretched(record->id, percent);
    if (info->arg.kind == SQT_KIND_TIME)
        record->arg = stretched(record->arg, percent);
    if (info->arg.kind == SQT_KIND_TICKS)
        record->arg = record->arg * percent / 100;
    if (info->aux.kind == SQT_KIND_TICKS)
        record->aux = (uint32_t)(record->aux * percent / 100);
}

/* As the proxy's clock would say if each second took so many more. */
static void
stretch(size_t count, uint64_t percent)
{
    for (size_t i = 0; i < count; ++i) {
        records[i].time = stretched(records[i].time, percent);
        stretch_fields(&records[i], percent);
    }
}

static void
trace(const char *name, unsigned seed, size_t room, uint64_t percent, int lossy)
{
    struct sqt_identity who;
    struct make_traffic traffic;
    make_identity(&who, seed, 0);
    make_traffic_init(&traffic, seed);
    const struct sqt_record start = {.time = MAKE_START, .event = SQT_EV_START, .id = SQT_GROUP_DEFAULT, .arg = 4711,
                                     .aux = 32768};
    records[0] = start;
    size_t n = 1 + make_traffic_records(&traffic, records + 1, room - 2);
    stretch(n, percent);
    if (lossy) {
        const struct sqt_record lost = {.time = records[n - 1].time + 3000, .event = SQT_EV_LOST,
                                        .id = records[n - 1].time, .arg = 7002, .aux = SQT_LOSS_RING_FULL};
        records[n++] = lost;
    }
    make_segment_file(name, &who, 0, 0, records, n, texts, MAKE_ZLIB);
}

int
main(int argc, char **argv)
{
    if (argc != 2 || (mkdir(argv[1], 0777), chdir(argv[1])) != 0)
        return 1;
    trace("before.sqt", 11, RECORDS, 100, 0);
    trace("again.sqt", 12, RECORDS, 100, 0);
    trace("slower.sqt", 13, RECORDS, 120, 0);
    trace("few.sqt", 14, 300, 100, 0);
    trace("lossy.sqt", 15, 20000, 100, 1);
    return 0;
}
