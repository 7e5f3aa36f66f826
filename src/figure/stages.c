/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stages.c - the figures of what requests spend their time on: medians by time group, and their shares.
 *
 * A request belongs to the group in which it began.  A stage that it did not enter took no time: 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../model/class.h"
#include "family.h"
#include "groups.h"

#define BIT(stage) (1u << SQT_STAGE_##stage)

/* What is drawn, in the order of the columns; the stages that it is made of.  The first is client_connect. */
static const uint32_t curves[] = {
    0,
    BIT(CONNECT) | BIT(TLS),
    BIT(REQUEST_SEND) | BIT(CLIENT_BODY) | BIT(SERVER_WAIT) | BIT(SERVER_REPLY),
    BIT(SWAP_IN_OPEN) | BIT(SWAP_IN_FIRST) | BIT(SWAP_IN_REST),
    BIT(REPLY_WAIT) | BIT(PROXY_REPLY),
    BIT(ACCESS),
    BIT(REDIRECT),
    BIT(ADAPT),
    BIT(LOOKUP),
    BIT(PEER_SELECT),
    BIT(DNS),
    BIT(TUNNEL),
    1u << SQT_UNACCOUNTED,
};
#define CURVES (sizeof(curves) / sizeof(*curves))
/* Besides the curves: the total. */
#define VALUES (CURVES + 1)
SQT_ASSERT(VALUES <= SQT_GROUP_VALUES, "groups.h has room");
SQT_ASSERT(SQT_CELL(hit_stages, stages_ms) - SQT_CELL(hit_stages, client_connect_ms) == CURVES, "a column a curve");
SQT_ASSERT(SQT_CELL(miss_stages, total_ms) == SQT_CELL(hit_stages, total_ms), "one row for both");

static const uint32_t hits = 1u << SQT_CLASS_MEM_HIT | 1u << SQT_CLASS_DISK_HIT | 1u << SQT_CLASS_IMS_HIT |
                             1u << SQT_CLASS_NEGATIVE_HIT | 1u << SQT_CLASS_REFRESH_HIT;
static const uint32_t misses = 1u << SQT_CLASS_MISS | 1u << SQT_CLASS_REFRESH_MISS;

static void
start(struct sqt_job *job)
{
    struct sqt_groups *const g = job->state = sqt_zeroed(1, sizeof(*g));
    sqt_groups_init(g, job->group, VALUES);
}

static void
take(struct sqt_job *job, const struct sqt_xact *x, uint32_t classes, uint32_t status)
{
    if (x->outcome == SQT_OUTCOME_LOST || x->outcome == SQT_OUTCOME_UNFINISHED || (status && x->status != status))
        return;
    union sqt_cell row[SQT_CELLS(requests)];
    sqt_request_cells(row, x);
    const char *const tag = row[SQT_CELL(requests, tag)].text;
    if (!(classes >> sqt_class_of(tag, x->disk_reads, x->flags) & 1) || !sqt_job_wants(job, x->begin, row))
        return;
    int64_t values[VALUES] = {0};
    values[0] = x->client_connect == SQT_MISSING ? 0 : x->client_connect;
    for (unsigned c = 1; c < CURVES; ++c)
        for (uint32_t stages = curves[c]; stages; stages &= stages - 1)
            values[c] += x->stages.ns[__builtin_ctz(stages)];
    values[CURVES] = x->end - x->begin;
    sqt_groups_add(job->state, x->begin, values);
}

static void
hit(void *context, const struct sqt_xact *x)
{
    take(context, x, hits, 200);
}

static void
miss(void *context, const struct sqt_xact *x)
{
    take(context, x, misses, 0);
}

static void
notes(struct sqt_job *job, const struct sqt_groups *g)
{
    char text[160];
    if (g->halvings)
        snprintf(text, sizeof(text), "%.9g s, because the trace is shorter than four groups of %.9g s",
                 sqt_groups_width(g) / 1e9, (double)g->asked / 1e9);
    else
        snprintf(text, sizeof(text), "%.9g s", (double)g->asked / 1e9);
    job->note(job->context, "group", text);
    job->note(job->context, "medians", g->set.coarse ? "at most 0.1 % off (log-linear histogram)" : "exact");
    if (g->late) {
        snprintf(text, sizeof(text), "%llu requests that outlived their group are left out",
                 (unsigned long long)g->late);
        job->note(job->context, "late", text);
    }
}

#define CELL(name) row[SQT_CELL(hit_stages, name)]

static void
print(struct sqt_job *job, const struct sqt_groups *g, size_t index)
{
    const struct sqt_time_group *const group = g->groups[index];
    union sqt_cell row[SQT_CELLS(hit_stages)];
    int64_t sum = 0;
    for (unsigned c = 0; c < CURVES; ++c)
        sum += group->medians[c];
    CELL(time_s).number = (int64_t)(((double)index + 0.5) * sqt_groups_width(g));
    CELL(count).number = (int64_t)group->count;
    for (unsigned c = 0; c < CURVES; ++c) {
        (&CELL(client_connect_ms))[c].number = group->medians[c];
        (&CELL(client_connect_pct))[c].number =
            sum ? (int64_t)((double)group->medians[c] / (double)sum * 100000 + 0.5) : SQT_CELL_MISSING;
    }
    CELL(stages_ms).number = sum;
    CELL(total_ms).number = group->medians[CURVES];
    sqt_job_row(job, row);
}

static void
finish(struct sqt_job *job)
{
    struct sqt_groups *const g = job->state;
    sqt_groups_finish(g);
    notes(job, g);
    for (size_t i = 0; i < g->count; ++i)
        if (g->groups[i] && g->groups[i]->count >= SQT_GROUP_LEAST)
            print(job, g, i);
    sqt_groups_free(g);
    free(g);
}

const struct sqt_family sqt_family_hit_stages = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .start = start, .consumer = {.request = hit}, .finish = finish};
const struct sqt_family sqt_family_miss_stages = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .start = start, .consumer = {.request = miss}, .finish = finish};
