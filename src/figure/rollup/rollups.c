/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rollups.c - the table of requests counted in buckets of durations.
 *
 * Requests that are lost or unfinished are left out: their stages are not what they would have been.
 */
#include "pass/family.h"
#include "rollup.h"

static void
rollups_start(struct sqt_job *job)
{
    job->state = sqt_rollups_new(job->start_ns);
}

static void
rollups_take(void *context, const struct sqt_row_source *source, const union sqt_cell *row)
{
    struct sqt_job *const job = context;
    job->source = *source;
    sqt_job_row(job, row);
}

static void
rollups_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct sqt_rollups *const rollups = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    if (sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_cells(row, xact);
    if (!sqt_job_wants(job, xact->begin, row))
        return;
    const uint64_t record = job->sourced ? job->source.record : UINT64_MAX;
    if (sqt_rollups_full(rollups))
        sqt_rollups_emit(rollups, rollups_take, job);
    sqt_rollups_add(rollups, xact->origin, record, row);
}

static void
rollups_finish(struct sqt_job *job)
{
    sqt_rollups_emit(job->state, rollups_take, job);
    sqt_rollups_free(job->state);
}

const struct sqt_family sqt_family_rollups = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = rollups_start,
    .consumer = {.request = rollups_request},
    .finish = rollups_finish,
};
