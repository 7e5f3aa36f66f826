/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * counters.h - how many requests and blocks are in flight, as counters.
 *
 * Things come when they end, and a counter needs their begins in order.  So changes (+1 at a begin, -1 at an end) wait,
 * are sorted, and come out when SQT_CHANGES wait: the older half then.  What comes after that and began before is counted
 * from there on only.
 */
#ifndef SQT_COUNTERS_H
#define SQT_COUNTERS_H

#include "tracks.h"

#define SQT_CHANGES ((size_t)1 << 20)

#define SQT_COUNTER_SERIES SQT_IO_PARTS

struct sqt_change {
    int64_t at;
    uint32_t counter;
    int16_t series, by;
};

struct sqt_counters {
    struct sqt_tracks *tracks;
    struct sqt_change *changes;
    size_t count, room, most; /* most: SQT_CHANGES */
    int64_t settled;          /* ns; changes up to here are out */
    struct sqt_chrome_counter {
        const struct sqt_origin *origin;
        unsigned track;
        int64_t values[SQT_COUNTER_SERIES]; /* that are out */
    } * counters;
    unsigned counter_count, counter_room;
    uint64_t late; /* things that are counted too late */
};

/* A thing of that track was in flight from..until; series: which part of a block it is, 0 of a request. */
void sqt_counters_add(struct sqt_counters *counters, const struct sqt_origin *origin, unsigned track, unsigned series,
                      int64_t from, int64_t until);

/* No more will come: prints what waits. */
void sqt_counters_finish(struct sqt_counters *counters);

void sqt_counters_free(struct sqt_counters *counters);

#endif
