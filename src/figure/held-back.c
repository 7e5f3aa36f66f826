/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * held-back.c - what each delay pool held back, by time group.
 *
 * A request belongs to the group in which it began, and to the pool that held it back last: Squid chooses one pool for a
 * request.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/time-groups.h"

/* Pools that get rows of their own; all others together have the last ones. */
#define POOLS 16
enum { REQUESTS, HELD_NS, TOTAL_NS, SUMS };

struct held_back {
    struct sqt_time_groups groups;
    unsigned count;
    uint32_t pools[POOLS];
};

static void
held_back_start(struct sqt_job *job)
{
    struct held_back *const h = job->state = sqt_zeroed(1, sizeof(*h));
    sqt_time_groups_init(&h->groups, job, (POOLS + 1) * SUMS, 1);
}

/* The place of a pool among those that are told apart. */
static unsigned
held_back_pool(struct held_back *h, uint32_t pool)
{
    unsigned i = 0;
    while (i < h->count && h->pools[i] != pool)
        ++i;
    if (i == h->count && i < POOLS)
        h->pools[h->count++] = pool;
    return i;
}

static void
held_back_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct held_back *const h = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    if (!xact->pool || sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_cells(row, xact);
    if (!sqt_job_wants(job, xact->begin, row))
        return;
    struct sqt_time_group *const group = sqt_time_groups_at(&h->groups, xact->begin);
    if (!group)
        return;
    uint64_t *const sums = &group->sums[SUMS * held_back_pool(h, xact->pool)];
    sums[REQUESTS] += 1;
    sums[HELD_NS] += (uint64_t)xact->stages.ns[SQT_STAGE_HELD_BACK];
    sums[TOTAL_NS] += (uint64_t)(xact->end - xact->begin);
}

#define CELL(name) row[SQT_CELL(held_back, name)]

static void
held_back_print(struct sqt_job *job, const struct held_back *h, size_t index, unsigned place)
{
    const uint64_t *const sums = &h->groups.groups[index]->sums[SUMS * place];
    union sqt_cell row[SQT_CELLS(held_back)];
    if (!sums[REQUESTS])
        return;
    CELL(time_s).number = sqt_time_groups_middle(&h->groups, index);
    CELL(pool).number = place < h->count ? (int64_t)h->pools[place] : SQT_CELL_MISSING;
    CELL(count).number = (int64_t)sums[REQUESTS];
    CELL(held_s).number = (int64_t)sums[HELD_NS];
    CELL(held_mean_ms).number = (int64_t)(sums[HELD_NS] / sums[REQUESTS]);
    CELL(held_pct).number = sqt_share(sums[HELD_NS], sums[TOTAL_NS]);
    sqt_job_row(job, row);
}

/* The places of the pools by their numbers; the last one is of all others. */
static void
held_back_sort(const struct held_back *h, unsigned places[POOLS + 1])
{
    for (unsigned i = 0; i < h->count; ++i) {
        unsigned at = i;
        for (; at && h->pools[places[at - 1]] > h->pools[i]; --at)
            places[at] = places[at - 1];
        places[at] = i;
    }
    places[h->count] = POOLS;
}

static void
held_back_finish(struct sqt_job *job)
{
    struct held_back *const h = job->state;
    unsigned places[POOLS + 1];
    held_back_sort(h, places);
    sqt_time_groups_finish(&h->groups, job);
    sqt_time_groups_note(&h->groups, job);
    for (size_t i = 0; i < h->groups.count; ++i)
        for (unsigned p = 0; h->groups.groups[i] && p <= h->count; ++p)
            held_back_print(job, h, i, places[p]);
    sqt_time_groups_free(&h->groups);
    sqt_freed(h);
}

const struct sqt_family sqt_family_held_back = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = held_back_start,
    .consumer = {.request = held_back_request},
    .finish = held_back_finish,
};
