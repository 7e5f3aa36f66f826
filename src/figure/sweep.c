/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sweep.c - see sweep.h.
 */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
/* Groups of the width asked for that stay open for things that began in them. */
#define OPEN_GROUPS 3

struct sqt_changes {
    int16_t by[SQT_SWEEP_PARTS][BLOCK];
};

void
sqt_sweep_init(struct sqt_sweep *s, const struct sqt_job *job, int64_t period, unsigned part_count,
               const unsigned *curves, unsigned curve_count)
{
    memset(s, 0, sizeof(*s));
    sqt_groups_init(&s->groups, job, curve_count, 0);
    s->period = period;
    s->part_count = part_count;
    s->curve_count = curve_count;
    memcpy(s->curves, curves, curve_count * sizeof(*curves));
}

/* The first sample at that time since the base, or later. */
static uint64_t
sample_at(const struct sqt_sweep *s, int64_t since_base)
{
    return since_base <= 0 ? 0 : (uint64_t)((since_base + s->period - 1) / s->period);
}

/* ---- levels of a group ---- */

static void
tally(struct sqt_sweep *s, uint64_t samples)
{
    for (unsigned c = 0; c < s->curve_count; ++c) {
        size_t level = 0;
        for (unsigned p = 0; p < s->part_count; ++p)
            level += s->curves[c] >> p & 1 ? (size_t)s->level[p] : 0;
        if (level >= s->count_room) {
            const size_t room = level + 64;
            for (unsigned i = 0; i < s->curve_count; ++i) {
                s->counts[i] = sqt_resized(s->counts[i], room * sizeof(*s->counts[i]));
                memset(s->counts[i] + s->count_room, 0, (room - s->count_room) * sizeof(*s->counts[i]));
            }
            s->count_room = room;
        }
        s->counts[c][level] += (uint32_t)samples;
    }
}

/* The level of that rank, from 1. */
static int64_t
ranked(const uint32_t *counts, uint64_t rank)
{
    int64_t level = 0;
    for (uint64_t seen = counts[0]; seen < rank; seen += counts[++level])
        ;
    return level;
}

static struct sqt_level
level_of(struct sqt_sweep *s, unsigned curve, uint64_t samples)
{
    uint32_t *const counts = s->counts[curve];
    struct sqt_level l = {.samples = samples};
    if (samples) {
        l.busy = samples - counts[0];
        l.p50 = (ranked(counts, (samples + 1) / 2) + ranked(counts, samples / 2 + 1)) * 500;
        l.p75 = ranked(counts, (samples * 3 + 3) / 4) * 1000;
        l.max = ranked(counts, samples);
        memset(counts, 0, s->count_room * sizeof(*counts));
    }
    return l;
}

/* Sums up the samples of the next group, which end before `end`. */
static void
settle(struct sqt_sweep *s, uint64_t end)
{
    const uint64_t begin = s->settled;
    while (s->settled < end) {
        const uint64_t block = s->settled / BLOCK;
        const uint64_t behind = (block + 1) * BLOCK < end ? (block + 1) * BLOCK : end;
        struct sqt_changes *const changes =
            block - s->first_block < s->block_count ? s->blocks[block - s->first_block] : NULL;
        if (!changes) {
            tally(s, behind - s->settled);
            s->settled = behind;
            continue;
        }
        while (s->settled < behind) {
            const uint64_t from = s->settled;
            for (unsigned p = 0; p < s->part_count; ++p)
                s->level[p] += changes->by[p][from % BLOCK];
            /* As long as nothing changes. */
            do
                ++s->settled;
            while (s->settled < behind && !changes->by[0][s->settled % BLOCK] &&
                   !changes->by[1][s->settled % BLOCK] && !changes->by[2][s->settled % BLOCK]);
            tally(s, s->settled - from);
        }
    }
    s->levels = sqt_resized(s->levels, (s->level_count + 1) * sizeof(*s->levels));
    for (unsigned c = 0; c < s->curve_count; ++c)
        s->levels[s->level_count][c] = level_of(s, c, end - begin);
    ++s->level_count;

    size_t over = 0;
    while (over < s->block_count && (s->first_block + over + 1) * BLOCK <= s->settled)
        free(s->blocks[over++]);
    if (over)
        memmove(s->blocks, s->blocks + over, (s->block_count - over) * sizeof(*s->blocks));
    s->block_count -= over;
    s->first_block = s->settled / BLOCK;
}

/* ---- things ---- */

static void
change(struct sqt_sweep *s, unsigned part, uint64_t sample, int by)
{
    const uint64_t block = sample / BLOCK - s->first_block;
    if (block >= s->block_count) {
        s->blocks = sqt_resized(s->blocks, (block + 1) * sizeof(*s->blocks));
        while (s->block_count <= block)
            s->blocks[s->block_count++] = NULL;
    }
    if (!s->blocks[block])
        s->blocks[block] = sqt_zeroed(1, sizeof(**s->blocks));
    s->blocks[block]->by[part][sample % BLOCK] = (int16_t)(s->blocks[block]->by[part][sample % BLOCK] + by);
}

/* Groups that are summed up: one that it covers in whole has one more at every sample. */
static void
raise(struct sqt_sweep *s, unsigned part, uint64_t from, uint64_t until)
{
    uint64_t begin = 0;
    for (size_t g = 0; g < s->level_count; ++g) {
        const uint64_t samples = s->levels[g][0].samples;
        for (unsigned c = 0; c < s->curve_count && begin >= from && begin + samples <= until; ++c) {
            if (!(s->curves[c] >> part & 1))
                continue;
            s->levels[g][c].p50 += 1000;
            s->levels[g][c].p75 += 1000;
            ++s->levels[g][c].max;
            s->levels[g][c].busy = samples;
        }
        begin += samples;
    }
}

/* Adds the time to each group.  Returns 0 if that time cannot be. */
static int
cover(struct sqt_sweep *s, unsigned part, int64_t begin, int64_t end)
{
    while (begin < end) {
        struct sqt_time_group *const group = sqt_groups_at(&s->groups, begin);
        if (!group)
            return 0;
        const int64_t group_end = s->groups.base + s->groups.near_until;
        const int64_t upto = end < group_end ? end : group_end;
        for (unsigned c = 0; c < s->curve_count; ++c)
            if (s->curves[c] >> part & 1)
                group->sums[c] += (uint64_t)(upto - begin);
        begin = upto;
    }
    return 1;
}

void
sqt_sweep_add(struct sqt_sweep *s, const struct sqt_job *job, unsigned part, int64_t begin, int64_t end)
{
    if (end > job->until)
        end = job->until;
    if (begin < s->groups.base)
        begin = s->groups.base;
    if (begin >= end || !cover(s, part, begin, end))
        return;
    s->used = 1;
    uint64_t from = sample_at(s, begin - s->groups.base);
    const uint64_t until = sample_at(s, end - s->groups.base);
    if (!s->groups.halvings)
        while (s->groups.near >= s->level_count + OPEN_GROUPS)
            settle(s, sample_at(s, sqt_groups_begin(&s->groups, s->level_count + 1)));
    if (from < s->settled) {
        ++s->late;
        raise(s, part, from, until);
        if (until <= s->settled)
            return;
        ++s->level[part];
        from = s->settled;
    } else if (from < until) {
        change(s, part, from, 1);
    }
    if (from < until)
        change(s, part, until, -1);
}

void
sqt_sweep_finish(struct sqt_sweep *s, struct sqt_job *job)
{
    sqt_groups_finish(&s->groups, job);
    if (!s->groups.count)
        return;
    /* The last sample is at the end of the trace, or before it. */
    const uint64_t all = (uint64_t)(s->groups.length / s->period) + 1;
    while (s->level_count < s->groups.count) {
        const uint64_t end = sample_at(s, sqt_groups_begin(&s->groups, s->level_count + 1));
        settle(s, end < all ? end : all > s->settled ? all : s->settled);
    }
}

int64_t
sqt_sweep_mean(const struct sqt_sweep *s, size_t group, unsigned curve)
{
    const int64_t covered = sqt_groups_covered(&s->groups, group);
    const uint64_t time = s->groups.groups[group] ? s->groups.groups[group]->sums[curve] : 0;
    return covered <= 0 ? SQT_CELL_MISSING
                        : (int64_t)(((unsigned __int128)time * 1000 + (uint64_t)covered / 2) / (uint64_t)covered);
}

void
sqt_sweep_free(struct sqt_sweep *s)
{
    for (size_t i = 0; i < s->block_count; ++i)
        free(s->blocks[i]);
    for (unsigned c = 0; c < SQT_SWEEP_CURVES; ++c)
        free(s->counts[c]);
    free(s->blocks);
    free(s->levels);
    sqt_groups_free(&s->groups);
}
