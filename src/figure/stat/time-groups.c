/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * time-groups.c - see time-groups.h.
 */
#include "time-groups.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours are merged beyond this many groups, so at least half as many are left. */
#define MOST_NARROW 24
/* The first width is at least this: 1 ms. */
#define LEAST_WIDTH 1000000
/* A trace of fewer groups than this gets narrower ones. */
#define FEW_GROUPS 4
/* More groups than this are not told apart: 2.5 years of the usual width. */
#define MOST_GROUPS ((size_t)1 << 16)
/* Once values do not fit, this many of the newest groups stay open. */
#define OPEN_GROUPS 3

void
sqt_time_groups_init(struct sqt_time_groups *g, const struct sqt_job *job, unsigned sum_count, unsigned value_count)
{
    memset(g, 0, sizeof(*g));
    g->set.budget = SQT_GROUP_BUDGET;
    g->base = job->since > 0 ? job->since : 0;
    g->asked = job->group;
    g->sum_count = sum_count;
    g->value_count = value_count;
    g->own = sqt_job_room(job);
    g->left = &g->own;
    while (g->asked >> (g->halvings + 1) >= LEAST_WIDTH)
        ++g->halvings;
}

void
sqt_time_groups_share(struct sqt_time_groups *g, int64_t *left, size_t each)
{
    g->left = left;
    g->each = each;
}

/* Groups of half the width are exactly two and two within those of the whole: floor(floor(2x) / 2) = floor(x). */
static size_t
index_of(const struct sqt_time_groups *g, int64_t time)
{
    return (size_t)(((unsigned __int128)time << g->halvings) / (uint64_t)g->asked);
}

int64_t
sqt_time_groups_begin(const struct sqt_time_groups *g, size_t index)
{
    const unsigned __int128 whole = (unsigned __int128)index * (uint64_t)g->asked;
    return (int64_t)((whole + ((UINT64_C(1) << g->halvings) - 1)) >> g->halvings);
}

static void
close_group(struct sqt_time_groups *g, struct sqt_time_group *group)
{
    if (!group || group->closed)
        return;
    group->closed = 1;
    for (unsigned i = 0; i < g->value_count; ++i) {
        const struct sqt_spread spread = sqt_distribution_spread(&group->values[i].values);
        if (group->values[i].values.count)
            sqt_distribution_drop(&g->set, &group->values[i].values);
        group->values[i].spread = spread;
    }
}

static void
free_group(struct sqt_time_group *group)
{
    if (group)
        sqt_freed(group->values);
    sqt_freed(group);
}

static size_t
group_bytes(const struct sqt_time_groups *g)
{
    return sizeof(struct sqt_time_group) + g->sum_count * sizeof(uint64_t) +
           (g->value_count + 1) * sizeof(struct sqt_group_value);
}

static void
merge_neighbours(struct sqt_time_groups *g)
{
    for (size_t i = 0; i < g->count; i += 2) {
        struct sqt_time_group *left = g->groups[i];
        struct sqt_time_group *const right = i + 1 < g->count ? g->groups[i + 1] : NULL;
        if (left && right) {
            for (unsigned v = 0; v < g->value_count; ++v)
                sqt_distribution_merge(&g->set, &left->values[v].values, &right->values[v].values);
            for (unsigned s = 0; s < g->sum_count; ++s)
                left->sums[s] += right->sums[s];
            free_group(right);
            *g->left += (int64_t)group_bytes(g);
        } else if (!left) {
            left = right;
        }
        g->groups[i / 2] = left;
    }
    *g->left += (int64_t)(g->count / 2 * (sizeof(*g->groups) + g->each));
    g->count = (g->count + 1) / 2;
    --g->halvings;
    g->near_until = g->near_from = 0;
}

void
sqt_time_groups_widen(struct sqt_time_groups *g)
{
    while (g->halvings)
        merge_neighbours(g);
}

/* Closes all but the newest. */
static void
close_old(struct sqt_time_groups *g)
{
    for (; !g->halvings && g->closed + OPEN_GROUPS < g->count; ++g->closed)
        close_group(g, g->groups[g->closed]);
}

/* Takes bytes of the room; 0 if there are not so many. */
static int
take_room(struct sqt_time_groups *g, size_t bytes)
{
    if (*g->left < (int64_t)bytes)
        return 0;
    *g->left -= (int64_t)bytes;
    return 1;
}

/* Makes place for the group of that number; 0 if there is no room for it. */
static int
reach(struct sqt_time_groups *g, size_t index)
{
    if (index < g->count)
        return 1;
    if (!take_room(g, (index + 1 - g->count) * (sizeof(*g->groups) + g->each)))
        return 0;
    if (index >= g->rooms) {
        g->rooms = index + 1 < MOST_NARROW ? MOST_NARROW : index + 1 + index / 4;
        g->groups = sqt_resized(g->groups, g->rooms * sizeof(*g->groups));
    }
    while (g->count <= index)
        g->groups[g->count++] = NULL;
    if (g->set.coarse)
        close_old(g);
    return 1;
}

static struct sqt_time_group *
new_group(struct sqt_time_groups *g)
{
    if (!take_room(g, group_bytes(g)))
        return NULL;
    struct sqt_time_group *const group = sqt_zeroed(1, sizeof(*group) + g->sum_count * sizeof(*group->sums));
    group->values = sqt_zeroed(g->value_count + 1, sizeof(*group->values));
    return group;
}

struct sqt_time_group *
sqt_time_groups_at(struct sqt_time_groups *g, int64_t time)
{
    time = time > g->base ? time - g->base : 0;
    if (time < g->near_from || time >= g->near_until) {
        while (g->halvings && time / g->asked < (int64_t)MOST_GROUPS && index_of(g, time) >= MOST_NARROW)
            merge_neighbours(g);
        if (time / g->asked >= (int64_t)MOST_GROUPS || !reach(g, index_of(g, time))) {
            ++g->beyond;
            return NULL;
        }
        g->near = index_of(g, time);
        g->near_from = sqt_time_groups_begin(g, g->near);
        g->near_until = sqt_time_groups_begin(g, g->near + 1);
    }
    struct sqt_time_group **const group = &g->groups[g->near];
    if (!*group && !(*group = new_group(g)))
        ++g->beyond;
    return *group;
}

void
sqt_time_groups_add(struct sqt_time_groups *g, struct sqt_time_group *group, unsigned which, int64_t value)
{
    if (!group->closed && !sqt_distribution_fits(&g->set, &group->values[which].values))
        close_old(g);
    if (group->closed)
        ++g->late;
    else
        sqt_distribution_add(&g->set, &group->values[which].values, value);
}

void
sqt_time_groups_finish(struct sqt_time_groups *g, const struct sqt_job *job)
{
    const int64_t end = job->until < job->length ? job->until : job->length;
    g->length = end > g->base ? end - g->base : 0;
    while (g->halvings && (g->length / FEW_GROUPS >= g->asked || index_of(g, g->length) >= MOST_NARROW))
        merge_neighbours(g);
    if (g->length / g->asked < (int64_t)MOST_GROUPS)
        (void)reach(g, index_of(g, g->length));
    for (size_t i = 0; i < g->count; ++i)
        close_group(g, g->groups[i]);
}

void
sqt_time_groups_note(const struct sqt_time_groups *g, struct sqt_job *job)
{
    char text[160];
    if (g->halvings)
        snprintf(text, sizeof(text), "%.9g s, because the trace is shorter than four groups of %.9g s",
                 sqt_time_groups_width(g) / 1e9, (double)g->asked / 1e9);
    else
        snprintf(text, sizeof(text), "%.9g s", (double)g->asked / 1e9);
    job->note(job->context, "group", text);
    if (g->value_count)
        sqt_job_note_coarse(job, "medians", g->set.coarse);
    if (g->late) {
        snprintf(text, sizeof(text), "%llu that outlived their group are left out", (unsigned long long)g->late);
        job->note(job->context, "late", text);
    }
    sqt_job_note_bound(job, g->beyond, "are left out, because there are too many groups; a larger --group= has fewer");
}

int64_t
sqt_time_groups_middle(const struct sqt_time_groups *g, size_t index)
{
    return g->base + (int64_t)(((double)index + 0.5) * sqt_time_groups_width(g));
}

int64_t
sqt_time_groups_covered(const struct sqt_time_groups *g, size_t index)
{
    const int64_t from = sqt_time_groups_begin(g, index), until = sqt_time_groups_begin(g, index + 1);
    return (until < g->length ? until : g->length) - from;
}

void
sqt_time_groups_free(struct sqt_time_groups *g)
{
    for (size_t i = 0; i < g->count; ++i) {
        close_group(g, g->groups[i]);
        free_group(g->groups[i]);
    }
    sqt_freed(g->groups);
}
