/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sweep.h - how many of something there are at a time: an exact sweep over begins and ends, sampled.
 *
 *      at every sample:  begin <= t < end
 *      |====a====|
 *           |=====b=====|
 *      1    2    1    1    0
 *
 * Things come when they end, so samples are changes (+1 at the first sample that a thing covers, -1 behind the last)
 * until no group that holds them can change; then they are summed up into levels and forgotten.  Memory is 2 bytes for
 * each sample and part of the newest groups, where something changes, as far as there is room; then samples are summed
 * up earlier.
 */
#ifndef SQT_SWEEP_H
#define SQT_SWEEP_H

#include "time-groups.h"

/* Things are of parts that exclude each other, at most this many; a curve is a set of parts. */
#define SQT_SWEEP_PARTS 3
#define SQT_SWEEP_CURVES 3

/* What the samples of a group say of a curve. */
struct sqt_level {
    uint64_t samples, busy; /* all, and those that are not 0 */
    int64_t p50, p75;       /* thousandths */
    int64_t max;
    int64_t raised; /* how many late things more cover it than the group before it; settled at the end */
};

struct sqt_sweep {
    struct sqt_time_groups
        groups;     /* for each curve the time that things of it cover, ns: with widths and exact means */
    int64_t period; /* ns */
    unsigned part_count, curve_count;
    unsigned curves[SQT_SWEEP_CURVES]; /* bits of parts */
    int used;                          /* something was added */
    uint64_t late;                     /* things whose begin lies in samples that were summed up */
    uint64_t crowded;                  /* things left out, because too many begin or end in one sample */

    /* changes */
    struct sqt_changes **blocks; /* NULL: none in it */
    size_t block_count;
    uint64_t first_block;           /* number of blocks[0] */
    int64_t own, *left;             /* bytes that blocks may still take; &own, or shared with other sweeps */
    uint64_t settled;               /* samples before this one are summed up */
    uint64_t group_from;            /* the first sample of the group being summed up */
    int64_t level[SQT_SWEEP_PARTS]; /* just before it */

    /* groups that were summed up */
    struct sqt_level (*levels)[SQT_SWEEP_CURVES];
    size_t level_count, level_room;
    int32_t (*whole)
        [SQT_SWEEP_PARTS]; /* how many things more cover all of a group than the one before; at the end: how many */
    size_t whole_count;
    uint64_t *counts[SQT_SWEEP_CURVES]; /* scratch: samples of each level */
    size_t count_room, highest;         /* no higher level was counted since they were cleared */
};

void sqt_sweep_init(struct sqt_sweep *sweep, const struct sqt_job *job, int64_t period, unsigned part_count,
                    const unsigned *curves, unsigned curve_count);

/* The bytes that the blocks of all sweeps of a job may take. */
int64_t sqt_sweep_room(const struct sqt_job *job);

/* The bytes of its groups, and those of its blocks, come from there. */
void sqt_sweep_share(struct sqt_sweep *sweep, int64_t *groups_left, int64_t *blocks_left);

/* A thing of that part was there. */
void sqt_sweep_add(struct sqt_sweep *sweep, const struct sqt_job *job, unsigned part, int64_t begin, int64_t end);

/* No more will come.  levels[] then has a row for each group. */
void sqt_sweep_finish(struct sqt_sweep *sweep, struct sqt_job *job);

/* How many there were on average in the group, in thousandths; exact, not sampled. */
int64_t sqt_sweep_mean(const struct sqt_sweep *sweep, size_t group, unsigned curve);

void sqt_sweep_free(struct sqt_sweep *sweep);

#endif
