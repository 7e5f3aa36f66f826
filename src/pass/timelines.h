/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * timelines.h - the time line of each request that is open: its stages and the blocks that it waits for.
 *
 * The model says what it charges to which stage, and that is kept for each request until it ends.
 *
 * A request of thousands of spans, as is a large hit read in blocks of 4 KB, is more than can be kept of each request
 * or told apart in a picture.  So its time is cut into slices, and spans of one lane that are shorter than a slice and
 * begin in the same one are a row together:
 *
 *     slice    |       |       |       |
 *     lane     |== = ==|===    |  =====|====  ==
 *     rows      5 in 7   3 in 3    8 alone   2 in 2
 *
 * A slice begins as 1 ns, and is doubled whenever there are too many rows; as it is the least power of two that does,
 * the rows do not depend on the order in which that came about.
 */
#ifndef SQT_TIMELINES_H
#define SQT_TIMELINES_H

#include "base/idmap.h"
#include "model/model.h"
#include "row/table.h"

/* Rows of a request, at most. */
#define SQT_TIMELINE_ROWS 1000

/* A lane is a stage, SQT_UNACCOUNTED, or blocks. */
#define SQT_TIMELINE_BLOCKS (SQT_UNACCOUNTED + 1)
#define SQT_TIMELINE_LANES (SQT_TIMELINE_BLOCKS + 1)

/* One span, or some of one lane. */
struct sqt_timeline_row {
    unsigned lane;
    uint32_t spans;
    uint32_t index;      /* of the first block */
    int64_t from, until; /* ns */
    int64_t busy;        /* ns of it that are in spans; more than there are if blocks overlap */
    int64_t queue, service, notice, size;
};

struct sqt_timeline {
    int64_t begin, slice;        /* ns */
    struct sqt_timeline_row now; /* what time is charged to; no spans: nothing yet */
    struct sqt_timeline_row *rows;
    unsigned count, room;
    int cut;                           /* there was no room for a row */
    unsigned last[SQT_TIMELINE_LANES]; /* the last row of each lane, from 1; 0: none */
    uint64_t spans;
    struct sqt_timeline *next; /* of those that are not used */
};

struct sqt_timelines {
    int64_t left; /* bytes */

    struct sqt_idmap map; /* by the transaction's place in memory */
    struct sqt_timeline *unused;
    uint64_t beyond; /* spans for which there was no room */
};

/* What the model says. */
void sqt_timelines_charge(struct sqt_timelines *lines, const struct sqt_charge *charge);
void sqt_timelines_recharge(struct sqt_timelines *lines, const struct sqt_charge *charge);
void sqt_timelines_io(struct sqt_timelines *lines, const struct sqt_io *io);

/* The line of a request that has ended, with all of its rows; NULL if it has none.  The caller gives it back. */
struct sqt_timeline *sqt_timelines_take(struct sqt_timelines *lines, const struct sqt_xact *xact);
void sqt_timelines_put(struct sqt_timelines *lines, struct sqt_timeline *line);

/* Copies a line into one that is zeroed or a copy of another line, and whose rows the caller frees. */
void sqt_timeline_copy(struct sqt_timeline *to, const struct sqt_timeline *line);

/* The line with at most that many rows: itself if it has no more, else a coarser copy in `coarser`, as above. */
const struct sqt_timeline *sqt_timeline_coarse(const struct sqt_timeline *line, unsigned most,
                                               struct sqt_timeline *coarser);

/* Those that were taken must have been given back. */
void sqt_timelines_free(struct sqt_timelines *lines);

#endif
