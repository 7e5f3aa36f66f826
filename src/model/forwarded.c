/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * forwarded.c - tries to send a request to a server, each from its dispatch to its end: with trace_context=forward, the
 * server's span is a child of each.
 */
#include "model-internal.h"

void
sqt_forward_ends(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now, enum sqt_outcome outcome)
{
    struct sqt_context *const c = xact->context;
    if (!c || !c->number)
        return;
    const struct sqt_try_row row = {.xact = xact,
                                    .number = c->number,
                                    .conn = c->conn,
                                    .server = xact->server,
                                    .begin = c->try_begin,
                                    .end = now,
                                    .outcome = outcome};
    c->number = 0;
    if (process->consumer->sent)
        process->consumer->sent(process->consumer->context, &row);
}

void
sqt_forward_begins(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now,
                   const struct sqt_record *record)
{
    struct sqt_context *const c = xact->context;
    if (!c || !c->forwarded)
        return;
    sqt_forward_ends(process, xact, now, SQT_OUTCOME_ERROR);
    c->number = record->aux;
    c->conn = record->arg;
    c->try_begin = now;
}
