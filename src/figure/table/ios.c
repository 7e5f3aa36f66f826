/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ios.c - the table of blocks of swaps.
 */
#include "pass/family.h"

static void
io_row(struct sqt_job *job, const struct sqt_io_fact *io)
{
    if (sqt_job_wants(job, io->row[SQT_CELL(ios, time_s)].number, io->row))
        sqt_job_row(job, io->row);
}

const struct sqt_family sqt_family_ios = {.where = {SQT_TABLE_ios}, .where_count = 1, .io = io_row};
