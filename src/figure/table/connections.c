/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * connections.c - the tables of server connections, of losses and of steps of clocks.
 */
#include "pass/family.h"

static void
connection_table_connection(void *context, const struct sqt_attempt *a)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(connections)];
    sqt_connection_cells(row, a);
    if (sqt_job_wants(job, a->begin, row))
        sqt_job_row(job, row);
}

#define CELL(name) row[SQT_CELL(losses, name)]

static void
connection_table_loss(void *context, const struct sqt_loss_row *l)
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

#undef CELL
#define CELL(name) row[SQT_CELL(clock_steps, name)]

static void
connection_table_step(void *context, const struct sqt_step_row *s)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(clock_steps)];
    CELL(time_s).number = s->from;
    CELL(until_s).number = s->until;
    CELL(kid).number = s->origin->identity.kid;
    CELL(kind).text = sqt_step_kind_name(s->kind);
    CELL(step_ns).number = sqt_step_ns(s);
    if (sqt_job_wants(job, s->from, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_connections = {
    .where = {SQT_TABLE_connections}, .where_count = 1, .consumer = {.connection = connection_table_connection}};
const struct sqt_family sqt_family_losses = {
    .where = {SQT_TABLE_losses}, .where_count = 1, .consumer = {.loss = connection_table_loss}};
const struct sqt_family sqt_family_clock_steps = {
    .where = {SQT_TABLE_clock_steps}, .where_count = 1, .consumer = {.step = connection_table_step}};
