/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-tunnels.c - tunnels of CONNECT requests.
 */
#include "joins-rule.h"

static void
joins_tunnel(struct sqt_joins_call *call)
{
    call->xact->forwarded = 1;
}

/* Bytes are read from the server for the first time: the answer to the CONNECT is written. */
static void
joins_tunnel_reads(struct sqt_joins_call *call)
{
    struct sqt_joins_xact *const xact = call->xact;
    sqt_joins_close(call, SQT_JOINS_IN_WRITE, SQT_EV_REPLY_WRITTEN, xact->wrote, 0);
    if (call->joins->tag_unclaimed) /* Squid 5 changes it just before */
        xact->tag = call->joins->tag_unclaimed;
    if (xact->open & SQT_JOINS_IN_TUNNEL)
        return;
    xact->flags |= SQT_XACT_TUNNEL;
    sqt_joins_open(call, SQT_JOINS_IN_TUNNEL, SQT_EV_TUNNEL_BEGIN, 0, 0);
}

static void
joins_tunnel_written(struct sqt_joins_call *call)
{
    call->xact->sent += call->event->values[1];
}

const struct sqt_joins_rule sqt_joins_tunnel_rules[] = {
    {CALL(TUNNEL), OF(XACT, 1), OWNS(TUNNEL, 0), DOES(joins_tunnel)},
    {CALL(TUNNEL_READY), OF(TUNNEL, 0)},
    {CALL(TUNNEL_READS), OF(TUNNEL, 0), DOES(joins_tunnel_reads)},
    {CALL(TUNNEL_WRITTEN), OF(TUNNEL, 0), DOES(joins_tunnel_written)},
    {CALL(TUNNEL_GONE), OF(TUNNEL, 0), ENDS, CLOSES(TUNNEL, TUNNEL_END, 0)},
    {CALL(ROWS)},
};
