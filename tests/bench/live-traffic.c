/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * live-traffic.c - a process that traces what a busy proxy would, for programs that look at a live trace.
 *
 * usage: live-traffic DIRECTORY RECORDS RATE [WORD...]
 *
 * RATE is in records a second.  A WORD is one of the directive, such as mode=recorder.  At the end it prints how many records were emitted, and how many of them were lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "measure.h"
#include "trace/ring/emit-internal.h"
#include "../unit/make_trace.h"

#define STEP_NS 1000000
#define CHUNK SQT_BLOCK_RECORDS

static struct sqt_record records[CHUNK];

static void
live_say(int level, const char *text)
{
    if (level == 0)
        fprintf(stderr, "live-traffic: %s\n", text);
}

static int
live_start(const char *directory, char *const *more)
{
    const char *const words[] = {directory, "total=512MB"};
    const struct sqt_process process = {0, SQT_KID_SINGLE, "bench", "0", NULL};
    struct sqt_config config;
    char error[512];
    sqt_config_init(&config);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) || *more; ++i)
        if (sqt_config_word(&config, i < sizeof(words) / sizeof(*words) ? words[i] : *more++, error, sizeof(error)) !=
            0) {
            live_say(0, error);
            return -1;
        }
    return sqt_start(&config, &process, live_say);
}

/* Emits all records of the chunk, with the stamps of now. */
static void
live_emit(size_t count)
{
    const uint64_t now = sqt_read_clock(sqt_clock);
    for (size_t at = 0; at < count;) {
        struct sqt_record unit[SQT_UNIT_MAX];
        const unsigned n = (records[at].flags & SQT_FLAG_MORE) + 1;
        make_traffic_renew(unit, records + at, n, now);
        sqt_emit_unit(unit, n);
        at += n;
    }
}

int
main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: live-traffic DIRECTORY RECORDS RATE [WORD...]\n");
        return 2;
    }
    const uint64_t wanted = strtoull(argv[2], NULL, 10), rate = strtoull(argv[3], NULL, 10);
    if (rate == 0 || live_start(argv[1], argv + 4) != 0)
        return 1;
    struct make_traffic traffic;
    make_traffic_init(&traffic, 1);
    const uint64_t begin = measure_now();
    uint64_t made = 0, polled = begin;
    while (made < wanted) {
        if (measure_now() - polled >= 1000000000) {
            polled = measure_now();
            sqt_poll(); /* as Squid does */
        }
        const struct timespec pause = {0, STEP_NS};
        const double due = (double)(measure_now() - begin) / 1e9 * (double)rate;
        if ((double)made >= due) {
            nanosleep(&pause, NULL);
            continue;
        }
        const size_t most = rate / (1000000000 / STEP_NS) + SQT_UNIT_MAX;
        const size_t n = make_traffic_records(&traffic, records, most < CHUNK ? most : CHUNK);
        live_emit(n);
        made += n;
    }
    struct sqt_status status;
    sqt_get_status(&status);
    sqt_stop();
    printf("%llu records emitted, %llu lost\n", (unsigned long long)made, (unsigned long long)status.lost);
    return 0;
}
