/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * closes.c - the table of server connections that were closed.
 */
#include "pass/family.h"

#define CELL(name) row[SQT_CELL(closes, name)]

/* SQT_MISSING is a cell's own word for that, too. */
SQT_ASSERT(SQT_MISSING == SQT_CELL_MISSING, "what is not known");

static void
closes_closed(void *context, const struct sqt_closed_row *c)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(closes)];
    CELL(time_s).number = c->at;
    CELL(kid).number = c->origin->identity.kid;
    CELL(conn).number = c->conn ? (int64_t)c->conn : SQT_CELL_MISSING;
    CELL(server).text = c->server == UINT32_MAX ? NULL : sqt_origin_text(c->origin, SQT_DEF_SERVER, c->server);
    CELL(ip_version).number = c->version ? c->version : SQT_CELL_MISSING;
    CELL(open_ns).number = c->begin == SQT_MISSING ? SQT_CELL_MISSING : c->at - c->begin;
    CELL(received_bytes).number = c->received;
    CELL(rtt_ns).number = c->rtt;
    CELL(least_rtt_ns).number = c->least_rtt;
    CELL(sent_again).number = c->sent_again;
    CELL(out_of_order).number = c->out_of_order;
    CELL(idle_ns).number = c->idle;
    CELL(closed_by).text = c->idle == SQT_MISSING ? NULL : sqt_closer_names[c->closer];
    if (sqt_job_wants(job, c->at, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_closes = {
    .where = {SQT_TABLE_closes}, .where_count = 1, .consumer = {.closed = closes_closed}};
