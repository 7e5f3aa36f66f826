/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * losses.c - the table of records that were lost.
 */
#include "pass/family.h"

#define CELL(name) row[SQT_CELL(losses, name)]

static void
loss_row(void *context, const struct sqt_loss_row *l)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(losses)];
    CELL(time_s).number = l->from;
    CELL(until_s).number = l->until;
    CELL(kid).number = l->origin->identity.kid;
    CELL(records).number = (int64_t)l->records;
    CELL(reason).text = sqt_loss_reason(l->reason);
    if (sqt_job_wants(job, l->from, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_losses = {
    .where = {SQT_TABLE_losses}, .where_count = 1, .consumer = {.loss = loss_row}};
