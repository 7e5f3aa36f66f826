/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * counters.c - see counters.h.
 */
#include "counters.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

/* The counter of a track; numbers begin at 1. */
static uint32_t
counters_number_of(struct sqt_counters *c, const struct sqt_origin *origin, unsigned track)
{
    struct sqt_chrome_process *const process = sqt_process_of(c->tracks, origin);
    if (!process->counters[track]) {
        if (c->counter_count == c->counter_room) {
            c->counter_room = c->counter_room ? 2 * c->counter_room : 16;
            c->counters = sqt_resized(c->counters, c->counter_room * sizeof(*c->counters));
        }
        c->counters[c->counter_count++] = (struct sqt_chrome_counter){.origin = origin, .track = track};
        process->counters[track] = c->counter_count;
    }
    return process->counters[track];
}

static int
counters_by_time(const void *one, const void *two)
{
    const struct sqt_change *const a = one, *const b = two;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->counter < b->counter ? -1 : a->counter > b->counter;
}

static void
counters_show(struct sqt_counters *c, const struct sqt_chrome_counter *counter, int64_t at)
{
    static const char *const requests[] = {"requests"};
    static const char *const parts[SQT_IO_PARTS] = {
        [SQT_IO_QUEUE] = "queue", [SQT_IO_SERVICE] = "service", [SQT_IO_NOTICE] = "notice"};
    char text[SQT_TRACK_NAME], name[SQT_TRACK_NAME + 32];
    const unsigned process = counter->origin->index + 1;
    if (counter->track == SQT_TRACK_REQUESTS) {
        sqt_event_count(c->tracks->events, "requests in flight", process, at, requests, counter->values, 1);
        return;
    }
    snprintf(name, sizeof(name), "blocks of %s", sqt_track_name(counter->origin, counter->track, text));
    sqt_event_count(c->tracks->events, name, process, at, parts, counter->values, SQT_IO_PARTS);
}

/* Prints the first `count` changes, or some more that are at the same time, and forgets them. */
static void
counters_settle(struct sqt_counters *c, size_t count)
{
    size_t i = 0;
    qsort(c->changes, c->count, sizeof(*c->changes), counters_by_time);
    while (i < c->count && (i < count || c->changes[i].at == c->changes[i - 1].at)) {
        const struct sqt_change first = c->changes[i];
        struct sqt_chrome_counter *const counter = &c->counters[first.counter - 1];
        int64_t before[SQT_COUNTER_SERIES];
        memcpy(before, counter->values, sizeof(before));
        for (; i < c->count && c->changes[i].at == first.at && c->changes[i].counter == first.counter; ++i)
            counter->values[c->changes[i].series] += c->changes[i].by;
        if (memcmp(before, counter->values, sizeof(before)) != 0)
            counters_show(c, counter, first.at);
        c->settled = first.at;
    }
    c->count -= i;
    memmove(c->changes, c->changes + i, c->count * sizeof(*c->changes));
}

static void
counters_change(struct sqt_counters *c, struct sqt_change change)
{
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : FIRST_ROOM;
        c->changes = sqt_resized(c->changes, c->room * sizeof(*c->changes));
    }
    c->changes[c->count++] = change;
}

void
sqt_counters_add(struct sqt_counters *c, const struct sqt_origin *origin, unsigned track, unsigned series, int64_t from,
                 int64_t until)
{
    if (until <= from)
        return;
    if (c->count + 2 > c->most)
        counters_settle(c, c->count / 2);
    if (from <= c->settled) {
        ++c->late;
        from = c->settled + 1;
        if (until <= from)
            return;
    }
    const uint32_t number = counters_number_of(c, origin, track);
    counters_change(c, (struct sqt_change){.at = from, .counter = number, .series = (int16_t)series, .by = 1});
    counters_change(c, (struct sqt_change){.at = until, .counter = number, .series = (int16_t)series, .by = -1});
}

void
sqt_counters_finish(struct sqt_counters *c)
{
    if (c->count)
        counters_settle(c, c->count);
}

void
sqt_counters_free(struct sqt_counters *c)
{
    free(c->changes);
    free(c->counters);
}
