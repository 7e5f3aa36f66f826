/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * groups.c - see groups.h.
 */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "../model/pool.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Neighbours are merged beyond this many groups, so at least half as many are left. */
#define MOST_NARROW 24
/* The first width is at least this: 1 ms. */
#define LEAST_WIDTH 1000000
/* A trace of fewer groups than this gets narrower ones. */
#define FEW_GROUPS 4
/* A trace of more groups than this has a damaged clock. */
#define MOST_GROUPS ((size_t)1 << 22)
/* Once values are histograms, this many of the newest groups stay open. */
#define OPEN_GROUPS 3

void
sqt_groups_init(struct sqt_groups *g, int64_t width, unsigned value_count)
{
    memset(g, 0, sizeof(*g));
    g->set.budget = BUDGET;
    g->asked = width;
    g->value_count = value_count;
    while (width >> (g->halvings + 1) >= LEAST_WIDTH)
        ++g->halvings;
}

/* Groups of half the width are exactly two and two within those of the whole: floor(floor(2x) / 2) = floor(x). */
static size_t
index_of(const struct sqt_groups *g, int64_t time)
{
    return (size_t)(((unsigned __int128)time << g->halvings) / (uint64_t)g->asked);
}

static void
close_group(struct sqt_groups *g, struct sqt_time_group *group)
{
    if (!group || group->closed)
        return;
    group->closed = 1;
    for (unsigned i = 0; i < g->value_count; ++i) {
        group->medians[i] = sqt_distribution_median(&group->values[i]);
        sqt_distribution_drop(&g->set, &group->values[i]);
    }
}

static void
merge_neighbours(struct sqt_groups *g)
{
    for (size_t i = 0; i < g->count; i += 2) {
        struct sqt_time_group *left = g->groups[i];
        struct sqt_time_group *const right = i + 1 < g->count ? g->groups[i + 1] : NULL;
        if (left && right) {
            for (unsigned v = 0; v < g->value_count; ++v)
                sqt_distribution_merge(&g->set, &left->values[v], &right->values[v]);
            left->count += right->count;
            free(right);
        } else if (!left) {
            left = right;
        }
        g->groups[i / 2] = left;
    }
    g->count = (g->count + 1) / 2;
    --g->halvings;
}

/* NULL if that time cannot be. */
static struct sqt_time_group *
group_at(struct sqt_groups *g, int64_t time)
{
    if (time / g->asked >= (int64_t)MOST_GROUPS)
        return NULL;
    while (g->halvings && index_of(g, time) >= MOST_NARROW)
        merge_neighbours(g);
    const size_t index = index_of(g, time);
    if (index >= g->count) {
        g->groups = sqt_resized(g->groups, (index + 1) * sizeof(*g->groups));
        while (g->count <= index)
            g->groups[g->count++] = NULL;
        for (size_t i = 0; g->set.coarse && !g->halvings && i + OPEN_GROUPS < g->count; ++i)
            close_group(g, g->groups[i]);
    }
    if (!g->groups[index])
        g->groups[index] = sqt_zeroed(1, sizeof(struct sqt_time_group));
    return g->groups[index];
}

void
sqt_groups_add(struct sqt_groups *g, int64_t time, const int64_t *values)
{
    if (time < 0)
        time = 0;
    struct sqt_time_group *const group = group_at(g, time);
    if (!group || group->closed) {
        ++g->late;
        return;
    }
    if (time > g->length)
        g->length = time;
    ++group->count;
    for (unsigned i = 0; i < g->value_count; ++i)
        sqt_distribution_add(&g->set, &group->values[i], values[i]);
}

void
sqt_groups_finish(struct sqt_groups *g)
{
    while (g->halvings && g->length / FEW_GROUPS >= g->asked)
        merge_neighbours(g);
    for (size_t i = 0; i < g->count; ++i)
        close_group(g, g->groups[i]);
}

void
sqt_groups_free(struct sqt_groups *g)
{
    for (size_t i = 0; i < g->count; ++i) {
        close_group(g, g->groups[i]);
        free(g->groups[i]);
    }
    free(g->groups);
}
