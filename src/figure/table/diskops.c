/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskops.c - the table of disk operations.
 */
#include "pass/family.h"

static void
diskop_table_print(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    if (sqt_job_wants(job, d->begin, d->row))
        sqt_job_row(job, d->row);
}

const struct sqt_family sqt_family_diskops = {
    .where = {SQT_TABLE_diskops}, .where_count = 1, .diskop = diskop_table_print};
