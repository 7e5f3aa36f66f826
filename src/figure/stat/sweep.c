/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sweep.c - see sweep.h.
 */
#include "sweep.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
/* Blocks that a sweep keeps even where there is no room. */
#define BLOCKS_LEAST 4
/* Blocks after the one that is being summed up may be this many: 268 million samples, and 512 KB of pointers. */
#define BLOCKS_AHEAD ((uint64_t)1 << 16)
/* Groups of the width asked for that stay open for things that began in them. */
#define OPEN_GROUPS 3

/* Of the bytes of a job, for each byte of groups. */
#define BLOCK_SHARE 8
#define BLOCKS_MOST ((int64_t)64 << 20)

struct sqt_changes {
    int16_t by[1][BLOCK]; /* part_count of them */
};

static size_t
block_bytes(const struct sqt_sweep *s)
{
    return s->part_count * sizeof(((struct sqt_changes *)NULL)->by[0]);
}

void
sqt_sweep_init(struct sqt_sweep *s, const struct sqt_job *job, int64_t period, unsigned part_count,
               const unsigned *curves, unsigned curve_count)
{
    memset(s, 0, sizeof(*s));
    sqt_time_groups_init(&s->groups, job, curve_count, 0);
    sqt_time_groups_share(&s->groups, &s->groups.own, sizeof(*s->levels));
    s->own = sqt_sweep_room(job);
    s->left = &s->own;
    s->period = period;
    s->part_count = part_count;
    s->curve_count = curve_count;
    memcpy(s->curves, curves, curve_count * sizeof(*curves));
}

int64_t
sqt_sweep_room(const struct sqt_job *job)
{
    const int64_t room = sqt_job_room(job);
    return room < BLOCKS_MOST / BLOCK_SHARE ? room * BLOCK_SHARE : BLOCKS_MOST;
}

void
sqt_sweep_share(struct sqt_sweep *s, int64_t *groups_left, int64_t *blocks_left)
{
    sqt_time_groups_share(&s->groups, groups_left, sizeof(*s->levels));
    s->left = blocks_left;
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
        if (level > s->highest)
            s->highest = level;
        if (level >= s->count_room) {
            const size_t room = level + level / 4 + 64;
            for (unsigned i = 0; i < s->curve_count; ++i) {
                s->counts[i] = sqt_resized(s->counts[i], room * sizeof(*s->counts[i]));
                memset(s->counts[i] + s->count_room, 0, (room - s->count_room) * sizeof(*s->counts[i]));
            }
            s->count_room = room;
        }
        s->counts[c][level] += samples;
    }
}

/* The level of that rank, from 1. */
static int64_t
sweep_ranked(const uint64_t *counts, uint64_t rank)
{
    int64_t level = 0;
    for (uint64_t seen = counts[0]; seen < rank; seen += counts[++level])
        ;
    return level;
}

static struct sqt_level
level_of(struct sqt_sweep *s, unsigned curve, uint64_t samples)
{
    uint64_t *const counts = s->counts[curve];
    struct sqt_level l = {.samples = samples};
    if (samples) {
        l.busy = samples - counts[0];
        l.p50 = (sweep_ranked(counts, (samples + 1) / 2) + sweep_ranked(counts, samples / 2 + 1)) * 500;
        l.p75 = sweep_ranked(counts, (samples * 3 + 3) / 4) * 1000;
        l.max = sweep_ranked(counts, samples);
        memset(counts, 0, (s->highest + 1) * sizeof(*counts));
    }
    return l;
}

SQT_ASSERT(SQT_SWEEP_PARTS == 3, "next_change() looks at the first part, the one in the middle and the last");

/* The first sample of a block after `from` at which something changes; `end`, in the block, if there is none. */
static unsigned
next_change(const struct sqt_changes *changes, unsigned part_count, unsigned from, unsigned end)
{
    const int16_t *const a = changes->by[0], *const b = changes->by[part_count / 2],
                         *const c = changes->by[part_count - 1];
    unsigned i = from + 1;
    for (; i < end; ++i) {
        uint64_t word, more;
        if (a[i] | b[i] | c[i])
            break;
        /* Mostly nothing changes for long. */
        for (; i + 4 < end; i += 4) {
            memcpy(&word, &a[i + 1], sizeof(word));
            memcpy(&more, &b[i + 1], sizeof(more));
            word |= more;
            memcpy(&more, &c[i + 1], sizeof(more));
            if (word | more)
                break;
        }
    }
    return i;
}

/* Frees the blocks that are summed up. */
static void
free_settled(struct sqt_sweep *s)
{
    size_t over = 0;
    while (over < s->block_count && (s->first_block + over + 1) * BLOCK <= s->settled) {
        if (s->blocks[over])
            *s->left += (int64_t)block_bytes(s);
        sqt_freed(s->blocks[over++]);
    }
    if (over)
        memmove(s->blocks, s->blocks + over, (s->block_count - over) * sizeof(*s->blocks));
    s->block_count -= over;
    s->first_block = s->settled / BLOCK;
}

/* The first block after `block` in which something changes; one that no sample can be in, if there is none. */
static uint64_t
next_block(const struct sqt_sweep *s, uint64_t block)
{
    for (size_t i = (size_t)(block - s->first_block) + 1; i < s->block_count; ++i)
        if (s->blocks[i])
            return s->first_block + i;
    return UINT64_MAX / BLOCK;
}

/* Counts the samples of the group being summed up, as far as `end`. */
static void
count_upto(struct sqt_sweep *s, uint64_t end)
{
    while (s->settled < end) {
        const uint64_t block = s->settled / BLOCK;
        const uint64_t behind = (block + 1) * BLOCK < end ? (block + 1) * BLOCK : end;
        struct sqt_changes *const changes =
            block - s->first_block < s->block_count ? s->blocks[block - s->first_block] : NULL;
        if (!changes) {
            const uint64_t next = next_block(s, block) * BLOCK, upto = next < end ? next : end;
            tally(s, upto - s->settled);
            s->settled = upto;
            continue;
        }
        while (s->settled < behind) {
            const uint64_t from = s->settled;
            for (unsigned p = 0; p < s->part_count; ++p)
                s->level[p] += changes->by[p][from % BLOCK];
            s->settled = block * BLOCK + next_change(changes, s->part_count, (unsigned)(from % BLOCK),
                                                     (unsigned)(behind - block * BLOCK));
            tally(s, s->settled - from);
        }
    }
}

/* Sums up the samples of the next group, which end before `end`. */
static void
sweep_settle(struct sqt_sweep *s, uint64_t end)
{
    count_upto(s, end);
    if (s->level_count + 2 > s->level_room) {
        const size_t room = 2 * s->level_count + 8;
        s->levels = sqt_resized(s->levels, room * sizeof(*s->levels));
        memset(s->levels + s->level_room, 0, (room - s->level_room) * sizeof(*s->levels));
        s->level_room = room;
    }
    for (unsigned c = 0; c < s->curve_count; ++c) {
        const int64_t raised = s->levels[s->level_count][c].raised;
        s->levels[s->level_count][c] = level_of(s, c, end - s->group_from);
        s->levels[s->level_count][c].raised = raised;
    }
    ++s->level_count;
    s->group_from = end;
    s->highest = 0;
    free_settled(s);
}

/* Sums up groups in which nothing begins any more, and more if there is no room for two blocks. */
static void
settle_old(struct sqt_sweep *s)
{
    const int64_t wanted = 2 * (int64_t)block_bytes(s);
    if (*s->left < wanted)
        sqt_time_groups_widen(&s->groups);
    if (s->groups.halvings)
        return;
    while (s->groups.count > s->level_count + OPEN_GROUPS)
        sweep_settle(s, sample_at(s, sqt_time_groups_begin(&s->groups, s->level_count + 1)));
    while (*s->left < wanted && s->block_count > BLOCKS_LEAST) {
        const uint64_t group_end = sample_at(s, sqt_time_groups_begin(&s->groups, s->level_count + 1));
        const uint64_t block_end = (s->settled / BLOCK + 1) * BLOCK;
        if (group_end <= block_end) {
            sweep_settle(s, group_end);
        } else {
            count_upto(s, block_end);
            free_settled(s);
        }
    }
}

/* Sums up what lies so far before `sample` that the blocks between would be too many. */
static void
settle_far(struct sqt_sweep *s, uint64_t sample)
{
    if (sample < s->settled + BLOCKS_AHEAD * BLOCK)
        return;
    const uint64_t upto = sample - BLOCKS_AHEAD * BLOCK / 2;
    sqt_time_groups_widen(&s->groups);
    for (uint64_t end; (end = sample_at(s, sqt_time_groups_begin(&s->groups, s->level_count + 1))) <= upto;)
        sweep_settle(s, end);
    count_upto(s, upto);
    free_settled(s);
}

/* ---- things ---- */

static int16_t *
change_at(struct sqt_sweep *s, unsigned part, uint64_t sample)
{
    const uint64_t block = sample / BLOCK - s->first_block;
    if (block >= s->block_count) {
        s->blocks = sqt_resized(s->blocks, (block + 1) * sizeof(*s->blocks));
        while (s->block_count <= block)
            s->blocks[s->block_count++] = NULL;
    }
    if (!s->blocks[block]) {
        s->blocks[block] = sqt_zeroed(1, block_bytes(s));
        *s->left -= (int64_t)block_bytes(s);
    }
    return &s->blocks[block]->by[part][sample % BLOCK];
}

/* One more from a sample on, and one less from another; 0 if their counts are full. */
static int
change(struct sqt_sweep *s, unsigned part, uint64_t from, uint64_t until)
{
    (void)change_at(s, part, until); /* which may move the blocks, but not what is in them */
    int16_t *const more = change_at(s, part, from), *const less = change_at(s, part, until);
    if (*more == INT16_MAX || *less == INT16_MIN) {
        ++s->crowded;
        return 0;
    }
    ++*more;
    --*less;
    return 1;
}

/* The number of groups that are summed up and end at that sample or before it. */
static size_t
groups_before(const struct sqt_sweep *s, uint64_t sample)
{
    size_t low = 0, high = s->level_count;
    while (low < high) {
        const size_t at = low + (high - low) / 2;
        if (sample_at(s, sqt_time_groups_begin(&s->groups, at + 1)) <= sample)
            low = at + 1;
        else
            high = at;
    }
    return low;
}

/* Groups that are summed up: one that it covers in whole has one more at every sample. */
static void
raise(struct sqt_sweep *s, unsigned part, uint64_t from, uint64_t until)
{
    const size_t end = groups_before(s, until);
    size_t first = groups_before(s, from);
    if (sample_at(s, sqt_time_groups_begin(&s->groups, first)) < from)
        ++first;
    for (unsigned c = 0; c < s->curve_count && first < end; ++c)
        if (s->curves[c] >> part & 1) {
            ++s->levels[first][c].raised;
            --s->levels[end][c].raised;
        }
}

static void
settle_raised(struct sqt_sweep *s)
{
    for (unsigned c = 0; c < s->curve_count; ++c) {
        int64_t raised = 0;
        for (size_t g = 0; g < s->level_count; ++g) {
            struct sqt_level *const l = &s->levels[g][c];
            raised += l->raised;
            l->p50 += 1000 * raised;
            l->p75 += 1000 * raised;
            l->max += raised;
            l->busy = raised ? l->samples : l->busy;
        }
    }
}

/* It covers all groups from `first` to before `end`. */
static void
cover_whole(struct sqt_sweep *s, unsigned part, size_t first, size_t end)
{
    if (first >= end)
        return;
    if (end >= s->whole_count) {
        const size_t count = 2 * end + 1;
        s->whole = sqt_resized(s->whole, count * sizeof(*s->whole));
        memset(s->whole + s->whole_count, 0, (count - s->whole_count) * sizeof(*s->whole));
        s->whole_count = count;
    }
    ++s->whole[first][part];
    --s->whole[end][part];
}

/* Adds the time to each group.  Returns 0 if that time cannot be. */
static int
cover(struct sqt_sweep *s, unsigned part, int64_t begin, int64_t end)
{
    struct sqt_time_group *const last_group = sqt_time_groups_at(&s->groups, end - 1);
    const size_t last = s->groups.near;
    const int wide = !s->groups.halvings;
    if (!last_group)
        return 0;
    while (begin < end) {
        struct sqt_time_group *const group = sqt_time_groups_at(&s->groups, begin);
        if (!group)
            return 0;
        const int64_t group_end = s->groups.base + s->groups.near_until;
        const int64_t upto = end < group_end ? end : group_end;
        for (unsigned c = 0; c < s->curve_count; ++c)
            if (s->curves[c] >> part & 1)
                group->sums[c] += (uint64_t)(upto - begin);
        begin = upto;
        if (wide && s->groups.near + 1 < last) {
            cover_whole(s, part, s->groups.near + 1, last);
            begin = s->groups.base + sqt_time_groups_begin(&s->groups, last);
        }
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
    settle_old(s);
    settle_far(s, until);
    if (from < s->settled) {
        ++s->late;
        raise(s, part, from, until);
        from = s->settled;
    }
    if (from < until)
        change(s, part, from, until);
}

void
sqt_sweep_finish(struct sqt_sweep *s, struct sqt_job *job)
{
    sqt_time_groups_finish(&s->groups, job);
    if (!s->groups.count)
        return;
    /* The last sample is at the end of the trace, or before it. */
    const uint64_t all = (uint64_t)(s->groups.length / s->period) + 1;
    while (s->level_count < s->groups.count) {
        const uint64_t end = sample_at(s, sqt_time_groups_begin(&s->groups, s->level_count + 1));
        sweep_settle(s, end < all ? end : all > s->settled ? all : s->settled);
    }
    settle_raised(s);
    for (size_t g = 1; g < s->whole_count; ++g)
        for (unsigned p = 0; p < s->part_count; ++p)
            s->whole[g][p] += s->whole[g - 1][p];
}

int64_t
sqt_sweep_mean(const struct sqt_sweep *s, size_t group, unsigned curve)
{
    const int64_t covered = sqt_time_groups_covered(&s->groups, group);
    uint64_t time = s->groups.groups[group] ? s->groups.groups[group]->sums[curve] : 0;
    for (unsigned p = 0; group < s->whole_count && p < s->part_count; ++p)
        if (s->curves[curve] >> p & 1)
            time += (uint64_t)s->whole[group][p] * (uint64_t)covered;
    return covered <= 0 ? SQT_CELL_MISSING
                        : (int64_t)(((unsigned __int128)time * 1000 + (uint64_t)covered / 2) / (uint64_t)covered);
}

void
sqt_sweep_free(struct sqt_sweep *s)
{
    for (size_t i = 0; i < s->block_count; ++i)
        sqt_freed(s->blocks[i]);
    for (unsigned c = 0; c < SQT_SWEEP_CURVES; ++c)
        sqt_freed(s->counts[c]);
    sqt_freed(s->blocks);
    sqt_freed(s->levels);
    sqt_freed(s->whole);
    sqt_time_groups_free(&s->groups);
}
