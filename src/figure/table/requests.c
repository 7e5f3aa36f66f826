/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * requests.c - the table of client transactions.
 */
#include "pass/family.h"

static void
request_table_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    const int open = job->open_now && r->outcome == SQT_OUTCOME_UNFINISHED;
    if (sqt_job_wants(job, open || r->begin == SQT_MISSING ? r->end : r->begin, r->row))
        sqt_job_row(job, r->row);
}

const struct sqt_family sqt_family_requests = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .request = request_table_request};
