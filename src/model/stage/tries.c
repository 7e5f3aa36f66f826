/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tries.c - tries to forward a request after which another one followed.
 *
 * When a try fails, its stages become failed_tries.  So the columns of the servers' stages are those of the last try.
 *
 *     charged      1 1 1 2 2 2 2        1 1 2 2 2 3 3 3
 *     RETRY                     |
 *     afterwards   f f f f f f f        1 1 2 2 2 3 3 3
 */
#include "model/model-internal.h"

/* The stages of a try, in the order of sqt_tries.ns. */
static const unsigned tries_stages[SQT_TRY_STAGES] = {SQT_STAGE_CONNECT,      SQT_STAGE_TLS,
                                                      SQT_STAGE_REQUEST_SEND, SQT_STAGE_CLIENT_BODY,
                                                      SQT_STAGE_SERVER_WAIT,  SQT_STAGE_SERVER_REPLY};

/* Forwarding begins: what the stages have now is no part of its tries. */
static void
tries_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = sqt_idmap_get(&process->xacts.ids, record->id);
    if (!xact)
        return;
    sqt_xact_charge(process, xact, now);
    xact->reply_charged = SQT_MISSING; /* no interim response takes back what came before */
    xact->before.until = now;
    xact->bytes_came = 0;
    xact->before.seen = xact->stages.seen;
    for (unsigned i = 0; i < SQT_TRY_STAGES; ++i)
        xact->before.ns[i] = xact->stages.ns[tries_stages[i]];
}

static void
tries_move(const struct sqt_process_state *process, struct sqt_xact *xact, unsigned i)
{
    struct sqt_spans *const s = &xact->stages;
    const unsigned stage = tries_stages[i];
    const int64_t ns = s->ns[stage] - xact->before.ns[i];
    s->ns[stage] -= ns;
    s->ns[SQT_STAGE_FAILED_TRIES] += ns;
    s->seen &= ~(1u << stage) | xact->before.seen | s->open;
    if (ns && process->consumer->recharge)
        process->consumer->recharge(process->consumer->context, &(struct sqt_charge){.xact = xact,
                                                                                     .stage = SQT_STAGE_FAILED_TRIES,
                                                                                     .from = xact->before.until,
                                                                                     .until = s->last,
                                                                                     .was = stage});
}

/* The try is over, and the time of its stages is charged. */
void
sqt_tries_fail(const struct sqt_process_state *process, struct sqt_xact *xact)
{
    xact->stages.seen |= 1u << SQT_STAGE_FAILED_TRIES;
    xact->failed_server = xact->server;
    xact->failed_answered =
        xact->bytes_came || ((xact->stages.seen & ~xact->before.seen) >> SQT_STAGE_SERVER_REPLY & 1);
    xact->bytes_came = 0;
    xact->failed_reused = xact->reused == 1 && !xact->failed_answered;
    xact->reply_charged = SQT_MISSING;
    for (unsigned i = 0; i < SQT_TRY_STAGES; ++i)
        tries_move(process, xact, i);
    xact->before.until = xact->stages.last; /* what came before is moved: no later failure looks at it again */
}

const struct sqt_thing_kind sqt_thing_tries = {
    .events = (const struct sqt_subscription[]){{SQT_EV_FORWARD_BEGIN, tries_begin}, {0}}};
