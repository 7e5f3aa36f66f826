/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stages.c - the figures of what requests spend their time on: medians by time group, and their shares.
 *
 * A request belongs to the group in which it began.  A stage that it did not enter took no time: 0.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/time-groups.h"
#include "pass/family.h"

/* What is drawn, in the order of the columns. */
static const uint64_t stages_curves[] = {
    SQT_NS(client_connect), SQT_PROXY_CONNECT, SQT_SERVER_REPLY, SQT_SWAP_IN,         SQT_PROXY_REPLY, SQT_ACCESS,
    SQT_NS(redirect),       SQT_NS(adapt),     SQT_NS(lookup),   SQT_NS(peer_select), SQT_NS(dns),     SQT_NS(tunnel),
    SQT_NS(unaccounted),
};
#define CURVES (sizeof(stages_curves) / sizeof(*stages_curves))
/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Besides the curves: the total. */
#define VALUES (CURVES + 1)
SQT_ASSERT(SQT_CELL(hit_stages, stages_ms) - SQT_CELL(hit_stages, client_connect_ms) == CURVES, "a column a curve");
SQT_ASSERT(SQT_CELL(miss_stages, total_ms) == SQT_CELL(hit_stages, total_ms), "one row for both");

static void
stages_start(struct sqt_job *job)
{
    struct sqt_time_groups *const g = job->state = sqt_zeroed(1, sizeof(*g));
    sqt_time_groups_init(g, job, 0, VALUES);
    g->set.budget = BUDGET;
}

static void
stages_take(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct sqt_time_groups *const g = job->state;
    struct sqt_time_group *const group = sqt_time_groups_at(g, r->begin);
    if (!group)
        return;
    for (unsigned c = 0; c < CURVES; ++c)
        sqt_time_groups_add(g, group, c, sqt_row_sum(r->row, stages_curves[c]));
    sqt_time_groups_add(g, group, CURVES, r->end - r->begin);
}

static void
hit(struct sqt_job *job, const struct sqt_request_fact *r)
{
    if (SQT_HITS >> r->class & 1 && r->row[SQT_CELL(requests, status)].number == 200 && sqt_job_wants_request(job, r))
        stages_take(job, r);
}

static void
miss(struct sqt_job *job, const struct sqt_request_fact *r)
{
    if (SQT_MISSES >> r->class & 1 && sqt_job_wants_request(job, r))
        stages_take(job, r);
}

#define CELL(name) row[SQT_CELL(hit_stages, name)]

static void
stages_print(struct sqt_job *job, const struct sqt_time_groups *g, size_t index)
{
    const struct sqt_group_value *const values = g->groups[index]->values;
    union sqt_cell row[SQT_CELLS(hit_stages)];
    int64_t sum = 0;
    for (unsigned c = 0; c < CURVES; ++c)
        sum += values[c].spread.p50;
    CELL(time_s).number = sqt_time_groups_middle(g, index);
    CELL(count).number = (int64_t)values[0].spread.count;
    for (unsigned c = 0; c < CURVES; ++c) {
        (&CELL(client_connect_ms))[c].number = values[c].spread.p50;
        (&CELL(client_connect_pct))[c].number = sqt_percent((double)values[c].spread.p50, (double)sum);
    }
    CELL(stages_ms).number = sum;
    CELL(total_ms).number = values[CURVES].spread.p50;
    sqt_job_row(job, row);
}

static void
stages_finish(struct sqt_job *job)
{
    struct sqt_time_groups *const g = job->state;
    sqt_time_groups_finish(g, job);
    sqt_time_groups_note(g, job);
    for (size_t i = 0; i < g->count; ++i)
        if (g->groups[i] && g->groups[i]->values[0].spread.count >= SQT_GROUP_LEAST)
            stages_print(job, g, i);
    sqt_time_groups_free(g);
    sqt_freed(g);
}

const struct sqt_family sqt_family_hit_stages = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .start = stages_start, .request = hit, .finish = stages_finish};
const struct sqt_family sqt_family_miss_stages = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .start = stages_start, .request = miss, .finish = stages_finish};
