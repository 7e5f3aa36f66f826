/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_days.c - traces of times that are hard to name, for dump_days.py:
 *
 *   make_days FOLDER
 *
 *   autumn/   60 s around the end of Central Europe's summer time, 2026-10-25T01:00:00Z
 *   spring/   60 s around its begin, 2026-03-29T01:00:00Z
 *   hours/    three hours around its end: the repeated hour is in it twice
 *   days/     three days
 *   set/      60 s; the time of day is set forward by an hour at 15 s and back by 10 s at 27 s, and kid 2 starts at 40 s
 *   jumped/   60 s; the trace's clock jumps forward by 100 s at 15 s, and falls back by 50 s at 25 s
 *
 * Each has 120 requests in equal distances.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make_trace.h"

#define REQUESTS 120u
#define S INT64_C(1000000000)
#define AUTUMN (INT64_C(1792889970) * S) /* 2026-10-25T00:59:30Z */
#define SPRING (INT64_C(1774745970) * S) /* 2026-03-29T00:59:30Z */
#define NOON (INT64_C(1792843200) * S)   /* 2026-10-24T12:00:00Z */

static const char texts[] = "def\t2\t1\tTCP_MEM_HIT\ndef\t3\t1\tGET\n";
static struct sqt_record records[16 * REQUESTS];
static size_t count;
/* Ticks that the trace's clock is ahead, ns that the time of day is. */
static int64_t ahead, set;

static uint64_t
tick(int64_t ns)
{
    return MAKE_START + (uint64_t)(ns * 3 + ahead);
}

static void
put(int64_t ns, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    records[count++] =
        (struct sqt_record){.time = tick(ns), .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
}

/* One of 1 ms; the last one ends `length` after the start. */
static void
request(uint64_t xact, int64_t length)
{
    const int64_t at = (length - 1000000) / REQUESTS * (int64_t)xact;
    put(at, SQT_EV_CLIENT_READ, 7, 120, 0);
    put(at, SQT_EV_REQUEST_PARSED, 7, 120, 0);
    put(at, SQT_EV_XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
    put(at + 1000, SQT_EV_XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
    put(at + 2000, SQT_EV_MEM_HIT, xact, 100, 0);
    put(at + 900000, SQT_EV_REPLY_WRITE, xact, 100, 1);
    put(at + 950000, SQT_EV_REPLY_WRITTEN, xact, 100, 0);
    put(at + 1000000, SQT_EV_XACT_END, xact, 1, 200);
    put(at + 1000000, SQT_EV_PART_XACT_SIZES, 100, 400, 0);
    put(at + 1000000, SQT_EV_PART_XACT_FLAGS, xact, 7, 0);
    make_unit(records + count - 3, 3);
}

static struct sqt_anchor
anchor(const struct sqt_identity *who, uint64_t ticks)
{
    struct sqt_anchor made = make_anchor(who, ticks - (uint64_t)ahead);
    made.ticks = ticks;
    made.realtime_ns += (uint64_t)set;
    return made;
}

/* A block of the records so far. */
static void
block(struct make_bytes *bytes, const struct sqt_identity *who, uint64_t *number)
{
    const struct sqt_anchor from = anchor(who, records[0].time), to = anchor(who, records[count - 1].time);
    struct sqt_pack_table table;
    sqt_pack_table_init(&table);
    make_block_with(bytes, who, *number, records, count, MAKE_ZLIB, 0, &from, &to, &table);
    *number += count;
    count = 0;
}

struct step {
    int64_t at, size; /* ns */
    uint32_t kind;
};

/* before: ticks of the last record */
static void
step(const struct step *step, uint64_t before)
{
    if (step->kind == SQT_STEP_FORWARD)
        ahead += 3 * step->size;
    else if (step->kind != SQT_STEP_BACK) /* then ticks go on as if nothing had happened */
        set += step->kind == SQT_STEP_WALL_BACK ? -step->size : step->size;
    put(step->at, SQT_EV_CLOCK_STEP, before, (uint64_t)step->size, step->kind);
}

/* The trace of a kid that has the requests from one number on, to another. */
static void
trace(const char *folder, uint32_t kid, int64_t begin, int64_t length, unsigned from, unsigned until,
      const struct step *steps)
{
    struct sqt_identity who;
    struct make_bytes bytes = {0};
    uint64_t number = 0;
    char path[64];
    make_identity(&who, kid + 1, kid);
    who.start.realtime_ns = (uint64_t)begin;
    ahead = set = 0;
    count = 0;
    if (from) { /* it started that much later, and the boot is the same */
        who.start.ticks += (uint64_t)(length / REQUESTS * from * 3);
        who.start.monotonic_ns += (uint64_t)(length / REQUESTS * from);
    }
    make_header(&bytes, &who, 0);
    make_text(&bytes, texts);
    put(length / REQUESTS * from, SQT_EV_START, SQT_GROUP_DEFAULT, 4242, 0);
    for (unsigned i = from; i < until; ++i) {
        const int64_t next = (length - 1000000) / REQUESTS * (i + 1);
        if (steps && steps->kind && next >= steps->at) {
            const uint64_t before = records[count - 1].time;
            block(&bytes, &who, &number);
            step(steps, before);
            ++steps;
        }
        request(i + 1, length);
    }
    block(&bytes, &who, &number);
    struct sqt_totals totals = {.head = number, .clean = 1};
    make_end(&bytes, &who, &totals);
    mkdir(folder, 0777);
    snprintf(path, sizeof(path), "%s/kid-%u.sqt", folder, kid);
    make_file(path, &bytes);
    make_free(&bytes);
}

int
main(int argc, char **argv)
{
    static const struct step day[] = {
        {61 * S / 4, 3600 * S, SQT_STEP_WALL_FORWARD}, {109 * S / 4, 10 * S, SQT_STEP_WALL_BACK}, {0}};
    static const struct step jumped[] = {
        {61 * S / 4, 100 * S, SQT_STEP_FORWARD}, {101 * S / 4, 50 * S, SQT_STEP_BACK}, {0}};
    if (argc != 2 || (mkdir(argv[1], 0777), chdir(argv[1])) != 0)
        return 1;
    trace("autumn", 1, AUTUMN, 60 * S, 0, REQUESTS, NULL);
    trace("spring", 1, SPRING, 60 * S, 0, REQUESTS, NULL);
    trace("hours", 1, AUTUMN - 3600 * S, 3 * 3600 * S, 0, REQUESTS, NULL);
    trace("days", 1, NOON, 3 * 86400 * S, 0, REQUESTS, NULL);
    trace("set", 1, NOON, 60 * S, 0, 80, day);
    trace("set", 2, NOON + 3630 * S, 60 * S, 80, REQUESTS, NULL);
    trace("jumped", 1, NOON, 60 * S, 0, REQUESTS, jumped);
    return 0;
}
