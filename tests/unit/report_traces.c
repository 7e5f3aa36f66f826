/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report_traces.c - the traces of the report's tests, into a folder:
 *
 *   report_traces FOLDER [REQUESTS]
 *
 *   before.sqt  again.sqt   two runs of the same proxy
 *   slower.sqt              a third one in which everything takes 20 % longer
 *   few.sqt                 too short to say anything about
 *   lossy.sqt               with a stretch of lost records
 *   tail.sqt                a fourth run, faster, in which one request in 31 waits 0.2 s
 *
 * With REQUESTS, it makes only many.sqt: so many requests, one of which took 4 s.
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

/* A proxy whose requests are of three classes and hardly differ, so that a difference of two runs stands out. */
struct steady {
    uint64_t random, time, xact, conn, sio, operation;
    unsigned step;
};

static uint64_t
next_random(struct steady *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

static void
steady_init(struct steady *t, uint64_t seed)
{
    memset(t, 0, sizeof(*t));
    t->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    t->time = MAKE_START;
    t->xact = t->conn = t->sio = 1;
}

static size_t
put(struct steady *t, struct sqt_record *r, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    t->time += 600 + next_random(t) % 9000; /* 0.2 to 3.2 us at 3 GHz */
    memset(r, 0, sizeof(*r));
    r->time = t->time;
    r->event = (uint16_t)event;
    r->id = id;
    r->arg = arg;
    r->aux = aux;
    return 1;
}

/* Distinct objects; each is asked for again and again. */
#define OBJECTS (1u << 20)

/* One transaction's records from its parsed header to its look-up; returns how many. */
static size_t
begin(struct steady *t, struct sqt_record *r, uint64_t xact, uint64_t conn, uint64_t object)
{
    size_t n = 0;
    n += put(t, r + n, SQT_EV_CLIENT_READ, conn, 200 + next_random(t) % 64, 0);
    n += put(t, r + n, SQT_EV_REQUEST_PARSED, conn, 200 + next_random(t) % 64, 0);
    n += put(t, r + n, SQT_EV_XACT_BEGIN, SQT_UNNAMED | xact, conn, 0);
    n += put(t, r + n, SQT_EV_XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
    n += put(t, r + n, SQT_EV_ACCESS_BEGIN, xact, 0, 0);
    n += put(t, r + n, SQT_EV_ACCESS_END, xact, 0, 0);
    n += put(t, r + n, SQT_EV_LOOKUP_BEGIN, xact, 0, 0);
    n += put(t, r + n, SQT_EV_LOOKUP_END, xact, object, 1);
    return n;
}

static size_t
end(struct steady *t, struct sqt_record *r, uint64_t xact, uint64_t conn, uint32_t tag, uint64_t size, uint64_t object)
{
    size_t n = 0;
    n += put(t, r + n, SQT_EV_REPLY_WRITE, xact, size, 1);
    n += put(t, r + n, SQT_EV_REPLY_WRITTEN, xact, size, 0);
    n += put(t, r + n, SQT_EV_XACT_END, xact, tag, 200);
    n += put(t, r + n, SQT_EV_PART_XACT_SIZES, size - 300, size, tag == 3);
    n += put(t, r + n, SQT_EV_PART_XACT_FLAGS, object, conn, 0);
    r[n - 2].time = r[n - 1].time = r[n - 3].time;
    t->time = r[n - 1].time;
    make_unit(r + n - 3, 3);
    return n;
}

static size_t
open_swap(struct steady *t, struct sqt_record *r, unsigned event, uint64_t sio, uint64_t xact, uint64_t object)
{
    size_t n = 0;
    n += put(t, r + n, event, sio, xact, 0);
    n += put(t, r + n, SQT_EV_PART_SWAP_FILE, object, sio * 3, 0);
    r[n - 1].time = r[n - 2].time;
    t->time = r[n - 1].time;
    make_unit(r + n - 2, 2);
    return n;
}

static size_t
disk_block(struct steady *t, struct sqt_record *r, unsigned ask, unsigned answer, uint64_t sio, uint64_t offset)
{
    size_t n = 0;
    n += put(t, r + n, ask, sio, offset, 4096);
    const uint64_t asked = t->time;
    n += put(t, r + n, SQT_EV_DISKOP_QUEUED, ++t->operation, sio, 0);
    n += put(t, r + n, answer, sio, offset, 4096);
    n += put(t, r + n, SQT_EV_PART_DISKOP_IO, asked + 400, asked + 900 + next_random(t) % 300, 0);
    r[n - 1].time = r[n - 2].time;
    t->time = r[n - 1].time;
    make_unit(r + n - 2, 2);
    const uint64_t noticed = t->time;
    n += put(t, r + n, SQT_EV_DISKOP_END, t->operation, noticed, 4096);
    return n;
}

#define STEP_RECORDS 56

static size_t
steady_records(struct steady *t, struct sqt_record *r, size_t room)
{
    size_t n = 0;
    while (room - n >= STEP_RECORDS) {
        const uint64_t xact = t->xact++, conn = 1 + next_random(t) % 64;
        const uint64_t object = (1 + next_random(t) % OBJECTS) * UINT64_C(0x9e3779b97f4a7c15);
        n += put(t, r + n, SQT_EV_WAIT_BEGIN, 0, 10, 0);
        n += put(t, r + n, SQT_EV_WAIT_END, 0, 1 + next_random(t) % 5, 0);
        n += begin(t, r + n, xact, conn, object);
        switch (t->step++ % 3) {
        case 0: {
            const uint64_t sio = t->sio++;
            n += open_swap(t, r + n, SQT_EV_SWAPIN_OPEN, sio, xact, object);
            n += put(t, r + n, SQT_EV_SWAPIN_OPENED, sio, 0, 0);
            for (unsigned b = 0; b < 4; ++b) {
                n += disk_block(t, r + n, SQT_EV_SWAPIN_READ, SQT_EV_SWAPIN_READ_DONE, sio, b * UINT64_C(4096));
                n += put(t, r + n, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_STORE);
            }
            n += put(t, r + n, SQT_EV_SWAPIN_CLOSE, sio, 0, 0);
            n += put(t, r + n, SQT_EV_SWAPIN_CLOSED, sio, 0, 0);
            n += end(t, r + n, xact, conn, 1, 16384, object);
            break;
        }
        case 1: {
            const uint64_t sio = t->sio++;
            n += put(t, r + n, SQT_EV_FORWARD_BEGIN, xact, 0, 0);
            n += put(t, r + n, SQT_EV_CONNECT_REUSED, xact, conn + 1000, 1);
            n += put(t, r + n, SQT_EV_DISPATCH, xact, conn + 1000, 1);
            n += put(t, r + n, SQT_EV_REQUEST_SENT, xact, conn + 1000, 0);
            n += put(t, r + n, SQT_EV_SERVER_READ, xact, 4096, 0);
            n += put(t, r + n, SQT_EV_SERVER_HEADER, xact, 300, 200);
            n += put(t, r + n, SQT_EV_SERVER_DONE, xact, conn + 1000, 0);
            n += open_swap(t, r + n, SQT_EV_SWAPOUT_OPEN, sio, xact, object);
            n += put(t, r + n, SQT_EV_SWAPOUT_OPENED, sio, 0, 0);
            n += disk_block(t, r + n, SQT_EV_SWAPOUT_WRITE, SQT_EV_SWAPOUT_WRITTEN, sio, 0);
            n += put(t, r + n, SQT_EV_SWAPOUT_CLOSE, sio, 0, 0);
            n += end(t, r + n, xact, conn, 3, 4000 + next_random(t) % 2000, object);
            n += put(t, r + n, SQT_EV_SWAPOUT_CLOSED, sio, 4096, 0);
            break;
        }
        default:
            n += put(t, r + n, SQT_EV_MEM_HIT, xact, 8192, 0);
            n += put(t, r + n, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_STORE);
            n += end(t, r + n, xact, conn, 2, 8192, object);
        }
    }
    return n;
}

static struct sqt_record *records;

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
delay(struct sqt_record *record, uint64_t ticks)
{
    const struct sqt_event_info *const info = &sqt_events[record->event];
    record->time += ticks;
    record->id += info->id.kind == SQT_KIND_TIME ? ticks : 0;
    record->arg += info->arg.kind == SQT_KIND_TIME ? ticks : 0;
}

/* Time goes on during the look-ups of one request in 31. */
static void
slow_some(size_t count, uint64_t ticks)
{
    uint64_t late = 0;
    unsigned lookups = 0;
    for (size_t i = 0; i < count; ++i) {
        late += records[i].event == SQT_EV_LOOKUP_END && ++lookups % 31 == 0 ? ticks : 0;
        delay(&records[i], late);
    }
}

static void
trace(const char *name, unsigned seed, size_t room, uint64_t percent, int lossy, uint64_t late)
{
    struct sqt_identity who;
    struct steady traffic;
    make_identity(&who, seed, 0);
    steady_init(&traffic, seed);
    const struct sqt_record start = {
        .time = MAKE_START, .event = SQT_EV_START, .id = SQT_GROUP_DEFAULT, .arg = 4711, .aux = 32768};
    records[0] = start;
    size_t n = 1 + steady_records(&traffic, records + 1, room - 2);
    stretch(n, percent);
    slow_some(n, late);
    if (lossy) {
        const struct sqt_record lost = {.time = records[n - 1].time + 3000,
                                        .event = SQT_EV_LOST,
                                        .id = records[n - 1].time,
                                        .arg = 7002,
                                        .aux = SQT_LOSS_RING_FULL};
        records[n++] = lost;
    }
    make_segment_file(name, &who, 0, 0, records, n, texts, MAKE_ZLIB);
}

/* Three requests take that many records. */
#define THREE_REQUESTS 104

/* Time goes on, but for one request: all after its look-up comes 4 s later. */
static void
trace_of_many(size_t requests)
{
    struct sqt_identity who;
    struct steady traffic;
    const size_t room = requests / 3 * THREE_REQUESTS + 2 * STEP_RECORDS;
    make_identity(&who, 16, 0);
    steady_init(&traffic, 16);
    records = calloc(room, sizeof(*records));
    size_t n = 0, middle = 0;
    while (traffic.xact <= requests) {
        middle = traffic.xact <= requests / 2 ? n : middle;
        n += steady_records(&traffic, records + n, STEP_RECORDS);
    }
    while (records[middle].event != SQT_EV_LOOKUP_END)
        ++middle;
    for (size_t i = middle + 1; i < n; ++i)
        delay(&records[i], 4 * UINT64_C(3000000000));
    make_segment_file("many.sqt", &who, 0, 0, records, n, texts, MAKE_ZLIB);
    free(records);
}

int
main(int argc, char **argv)
{
    if (argc < 2 || argc > 3 || (mkdir(argv[1], 0777), chdir(argv[1])) != 0)
        return 1;
    if (argc == 3) {
        trace_of_many((size_t)atol(argv[2]));
        return 0;
    }
    records = calloc(RECORDS, sizeof(*records));
    trace("before.sqt", 11, RECORDS, 100, 0, 0);
    trace("again.sqt", 12, RECORDS, 100, 0, 0);
    trace("slower.sqt", 13, RECORDS, 120, 0, 0);
    trace("few.sqt", 14, 300, 100, 0, 0);
    trace("lossy.sqt", 15, 20000, 100, 1, 0);
    trace("tail.sqt", 17, RECORDS, 70, 0, UINT64_C(600000000));
    free(records);
    return 0;
}
