/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waits.c - the table of waits.
 */
#include "pass/family.h"

static void
waits_wait(void *context, const struct sqt_wait *wait)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(waits)];
    sqt_wait_cells(row, wait);
    if (sqt_job_wants(job, wait->begin, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_waits = {
    .where = {SQT_TABLE_waits}, .where_count = 1, .consumer = {.wait = waits_wait}};
