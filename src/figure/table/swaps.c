/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * swaps.c - the table of swaps.
 */
#include "pass/family.h"

static void
swap_row(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    if (sqt_job_wants(job, s->begin, s->row))
        sqt_job_row(job, s->row);
}

const struct sqt_family sqt_family_swaps = {.where = {SQT_TABLE_swaps}, .where_count = 1, .swap = swap_row};
