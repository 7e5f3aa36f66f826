/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digest-figures.c - how long cache digests are busy, by activity; and what one run says of their cost.
 *
 * What is lost or unfinished is left out.
 */
#include <stdlib.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "figure/table/digests.h"
#include "figure/table/loops.h"
#include "figure/table/samples.h"

/* The time that is asked for, as far as the trace goes (ns). */
static int64_t
asked_length(const struct sqt_job *job)
{
    const int64_t from = job->since > 0 ? job->since : 0;
    const int64_t until = job->until < job->length ? job->until : job->length;
    return until > from ? until - from : 0;
}

/* ---- busy time by activity ---- */

struct activity {
    uint64_t count, busy, max;
};

static void
start_activities(struct sqt_job *job)
{
    job->state = sqt_zeroed(SQT_DIGEST_ACTIVITIES, sizeof(struct activity));
}

static void
add_activity(void *context, const struct sqt_digest *d)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(digests)];
    sqt_digest_cells(row, d);
    if (d->result == SQT_DIGEST_RESULT_LOST || d->result == SQT_DIGEST_RESULT_UNFINISHED ||
        !sqt_job_wants(job, d->begin, row))
        return;
    struct activity *const a = &((struct activity *)job->state)[d->activity];
    if (row[SQT_CELL(digests, busy_ns)].number == SQT_CELL_MISSING)
        return;
    const uint64_t busy = (uint64_t)d->busy;
    a->count += d->count;
    a->busy += busy;
    a->max = busy > a->max ? busy : a->max;
}

#define CELL(name) row[SQT_CELL(digest_activity, name)]

static void
finish_activities(struct sqt_job *job)
{
    struct activity *const activities = job->state;
    const int64_t length = asked_length(job);
    for (unsigned i = 0; i < SQT_DIGEST_ACTIVITIES; ++i) {
        const struct activity *const a = &activities[i];
        union sqt_cell row[SQT_CELLS(digest_activity)];
        if (!a->count)
            continue;
        CELL(activity).text = sqt_digest_activities[i].name;
        CELL(count).number = (int64_t)a->count;
        CELL(busy_ms).number = (int64_t)a->busy;
        CELL(mean_ms).number = (int64_t)(a->busy / a->count);
        CELL(max_ms).number = (int64_t)a->max;
        CELL(share_pct).number = sqt_share(a->busy, (uint64_t)length);
        sqt_job_row(job, row);
    }
    sqt_freed(activities);
}

/* ---- what one run says of the cost ---- */

/* Totals kept before they become a histogram: 4 MiB. */
#define BUDGET ((size_t)1 << 19)

struct cost {
    struct sqt_distributions set;
    struct sqt_distribution totals;
    uint64_t passes;
    struct sqt_sampled *processes;
};

static void
start_cost(struct sqt_job *job)
{
    struct cost *const c = sqt_zeroed(1, sizeof(*c));
    c->set.budget = BUDGET;
    job->state = c;
}

static void
add_request(void *context, const struct sqt_xact *x)
{
    struct sqt_job *const job = context;
    struct cost *const c = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    if (sqt_durations_unknown(x->outcome) || x->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    if (job->where)
        sqt_request_cells(row, x);
    if (sqt_job_wants(job, x->begin, row))
        sqt_distribution_add(&c->set, &c->totals, x->end - x->begin);
}

static void
add_sample(void *context, const struct sqt_sample_row *sample)
{
    struct sqt_job *const job = context;
    sqt_sampled_add(&((struct cost *)job->state)->processes, job, sample, SQT_SOURCE_PROCESS, 1);
}

/* Processor time by requests (ns), as if it went on before the first sample and after the last as between them. */
static int64_t
cpu_by_request(struct cost *c, struct sqt_job *job)
{
    unsigned __int128 cpu = 0;
    uint64_t longest = 0;
    sqt_sampled_finish(c->processes, job);
    for (const struct sqt_sampled_source *s = sqt_sampled_first(c->processes); s; s = s->next) {
        uint64_t sampled = 0;
        for (size_t i = 0; i < s->groups.count; ++i)
            if (s->groups.groups[i]) {
                const uint64_t *const sums = s->groups.groups[i]->sums;
                cpu += sums[SQT_SUM_OF(SQT_SAMPLE_PROCESS_cpu_user_us)];
                cpu += sums[SQT_SUM_OF(SQT_SAMPLE_PROCESS_cpu_system_us)];
                sampled += sums[SQT_WEIGHT_OF(SQT_SAMPLE_PROCESS_cpu_user_us)];
            }
        longest = sampled > longest ? sampled : longest;
    }
    sqt_sampled_free(c->processes);
    const unsigned __int128 whole = (unsigned __int128)longest * c->totals.count;
    return whole ? (int64_t)((cpu * 1000 * (uint64_t)asked_length(job) + whole / 2) / whole) : SQT_CELL_MISSING;
}

/* Passes are counted whatever the condition says of requests. */
static void
add_pass(void *context, const struct sqt_loop_row *pass)
{
    struct sqt_job *const job = context;
    if (pass->begin >= job->since && pass->begin < job->until)
        ++((struct cost *)job->state)->passes;
}

#undef CELL
#define CELL(name) row[SQT_CELL(digest_cost, name)]

static void
finish_cost(struct sqt_job *job)
{
    struct cost *const c = job->state;
    struct sqt_distribution *const totals = &c->totals;
    union sqt_cell row[SQT_CELLS(digest_cost)];
    CELL(requests).number = (int64_t)totals->count;
    CELL(requests_per_s).number = sqt_rate(totals->count, asked_length(job));
    CELL(passes).number = (int64_t)c->passes;
    CELL(passes_per_request).number =
        totals->count ? (int64_t)((c->passes * 1000 + totals->count / 2) / totals->count) : SQT_CELL_MISSING;
    CELL(p50_ms).number = sqt_distribution_median(totals);
    CELL(p95_ms).number = sqt_distribution_quantile(totals, 950);
    CELL(p99_ms).number = sqt_distribution_quantile(totals, 990);
    CELL(mean_ms).number = totals->count ? (int64_t)(totals->sum / totals->count) : SQT_CELL_MISSING;
    CELL(cpu_ms_per_request).number = cpu_by_request(c, job);
    sqt_job_note_coarse(job, "percentiles", c->set.coarse);
    if (totals->count)
        sqt_job_row(job, row);
    sqt_distribution_drop(&c->set, totals);
    sqt_freed(c);
}

const struct sqt_family sqt_family_digest_activity = {.where = {SQT_TABLE_digests},
                                                      .where_count = 1,
                                                      .start = start_activities,
                                                      .consumer = {.digest = add_activity},
                                                      .finish = finish_activities};
const struct sqt_family sqt_family_digest_cost = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .unpicked = 1,
    .start = start_cost,
    .consumer = {.request = add_request, .loop = add_pass, .sample = add_sample},
    .finish = finish_cost};
