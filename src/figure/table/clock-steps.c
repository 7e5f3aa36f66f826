/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock-steps.c - the table of steps of clocks.
 */
#include "pass/family.h"

#define CELL(name) row[SQT_CELL(clock_steps, name)]

static void
step_row(void *context, const struct sqt_step_row *s)
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

const struct sqt_family sqt_family_clock_steps = {
    .where = {SQT_TABLE_clock_steps}, .where_count = 1, .consumer = {.step = step_row}};
