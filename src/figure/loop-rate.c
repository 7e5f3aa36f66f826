/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loop-rate.c - how often the event loop goes round, and how much of the time it waits, by time group.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/time-groups.h"
#include "figure/table/loops.h"

enum { PASSES, WAIT_NS, WORK_NS, SUMS };

static void
loop_rate_start(struct sqt_job *job)
{
    sqt_time_groups_init(job->state = sqt_zeroed(1, sizeof(struct sqt_time_groups)), job, SUMS, 1);
}

static void
loop_rate_pass(void *context, const struct sqt_loop_row *p)
{
    struct sqt_job *const job = context;
    if (p->unknown || !sqt_job_wants_loop(job, p))
        return;
    struct sqt_time_group *const group = sqt_time_groups_at(job->state, p->begin);
    if (!group)
        return;
    group->sums[PASSES] += 1;
    group->sums[WAIT_NS] += (uint64_t)(p->work - p->begin);
    group->sums[WORK_NS] += (uint64_t)(p->end - p->work);
    sqt_time_groups_add(job->state, group, 0, p->end - p->work);
}

#define CELL(name) row[SQT_CELL(loop_rate, name)]

static void
loop_rate_finish(struct sqt_job *job)
{
    struct sqt_time_groups *const g = job->state;
    sqt_time_groups_finish(g, job);
    sqt_time_groups_note(g, job);
    for (size_t i = 0; i < g->count; ++i) {
        const struct sqt_time_group *const group = g->groups[i];
        if (!group)
            continue;
        const struct sqt_spread *const work = &group->values[0].spread;
        union sqt_cell row[SQT_CELLS(loop_rate)];
        CELL(time_s).number = sqt_time_groups_middle(g, i);
        CELL(passes).number = (int64_t)group->sums[PASSES];
        CELL(passes_per_s).number = sqt_rate(group->sums[PASSES], sqt_time_groups_covered(g, i));
        CELL(work_p50_ms).number = work->p50;
        CELL(work_p99_ms).number = work->p99;
        CELL(longest_ms).number = work->max;
        CELL(waiting_pct).number = sqt_share(group->sums[WAIT_NS], group->sums[WAIT_NS] + group->sums[WORK_NS]);
        sqt_job_row(job, row);
    }
    sqt_time_groups_free(g);
    sqt_freed(g);
}

const struct sqt_family sqt_family_loop_rate = {.where = {SQT_TABLE_loops},
                                                .where_count = 1,
                                                .start = loop_rate_start,
                                                .consumer = {.loop = loop_rate_pass},
                                                .finish = loop_rate_finish};
