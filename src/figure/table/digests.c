/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digests.c - the table of what cache digests are busy with.
 */
#include "digests.h"

#define CELL(name) row[SQT_CELL(digests, name)]

void
sqt_digest_cells(union sqt_cell *row, const struct sqt_digest *d)
{
    CELL(time_s).number = d->begin;
    CELL(kid).number = d->origin->identity.kid;
    CELL(xid).number = d->xact && !(d->xact & SQT_UNNAMED) ? (int64_t)d->xact : SQT_CELL_MISSING;
    CELL(activity).text = sqt_digest_activities[d->activity].name;
    CELL(peer).text = d->peer == UINT32_MAX ? NULL : sqt_origin_text(d->origin, SQT_DEF_PEER, d->peer);
    CELL(result).text = d->result < SQT_DIGEST_RESULTS ? sqt_digest_results[d->result].name : NULL;
    CELL(busy_ns).number =
        d->result == SQT_DIGEST_RESULT_LOST || d->result == SQT_DIGEST_RESULT_CLOCK ? SQT_CELL_MISSING : d->busy;
    CELL(bytes).number = d->bytes;
    CELL(count).number = (int64_t)d->count;
}

static void
digest(void *context, const struct sqt_digest *d)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(digests)];
    sqt_digest_cells(row, d);
    if (sqt_job_wants(job, d->begin, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_digests = {
    .where = {SQT_TABLE_digests}, .where_count = 1, .consumer = {.digest = digest}};
