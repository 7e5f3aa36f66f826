/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * connections.c - the table of server connections.
 */
#include "pass/family.h"

static void
connection_row(void *context, const struct sqt_attempt *a)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(connections)];
    sqt_connection_cells(row, a);
    if (sqt_job_wants(job, a->begin, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_connections = {
    .where = {SQT_TABLE_connections}, .where_count = 1, .consumer = {.connection = connection_row}};
