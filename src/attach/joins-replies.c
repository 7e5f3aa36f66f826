/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-replies.c - replies to clients: when one is ready and where it comes from, and what is written of it.
 */
#include "joins-rule.h"

/* ---- ready ---- */

static void
joins_ready(const struct sqt_joins_call *call, enum sqt_reply_source source)
{
    sqt_joins_close(call, SQT_JOINS_IN_ACCESS, SQT_EV_ACCESS_END, 0, 0);
    sqt_joins_close(call, SQT_JOINS_IN_LOOKUP, SQT_EV_LOOKUP_END, 0, source == SQT_REPLY_STORE);
    if (call->xact->ready == (int)source)
        return;
    call->xact->ready = (int)source;
    sqt_joins_emit(call, SQT_EV_REPLY_READY, 0, source);
}

static void
joins_ready_in_store(struct sqt_joins_call *call)
{
    joins_ready(call, SQT_REPLY_STORE);
}

/* A reply goes to the client's side.  Without a server it is the store's, or Squid's own. */
static void
joins_sends(struct sqt_joins_call *call)
{
    if (call->xact->ready < 0 && !call->xact->forwarded)
        joins_ready(call, call->xact->found ? SQT_REPLY_STORE : SQT_REPLY_MADE);
}

static void
joins_sends_error(struct sqt_joins_call *call)
{
    call->xact->flags |= SQT_XACT_ERROR_PAGE;
}

static void
joins_error_page(struct sqt_joins_call *call)
{
    joins_sends_error(call);
    joins_ready(call, SQT_REPLY_MADE);
}

/* ---- written ---- */

/* The call before says what is written: a header, a piece of a body, or the answer to a CONNECT. */
static void
joins_write(struct sqt_joins_call *call)
{
    const unsigned before = call->joins->before;
    const uint64_t size = call->event->values[1] & UINT32_MAX;
    if (before == SQT_ATTACH_SEND_BODY)
        call->time = call->joins->before_time; /* the bytes were ready then, and nothing was recorded since */
    if (before == SQT_ATTACH_TUNNEL_READY) {
        joins_ready(call, SQT_REPLY_MADE);
        call->xact->sent += size;
        call->xact->wrote = size;
    }
    sqt_joins_open(call, SQT_JOINS_IN_WRITE, SQT_EV_REPLY_WRITE, size, before != SQT_ATTACH_SEND_BODY);
}

static void
joins_written(struct sqt_joins_call *call)
{
    const uint64_t size = call->event->values[1];
    call->xact->sent += size;
    sqt_joins_close(call, SQT_JOINS_IN_WRITE, SQT_EV_REPLY_WRITTEN, size, 0);
}

const struct sqt_joins_rule sqt_joins_reply_rules[] = {
    {CALL(STREAM), OF(XACT, 1), OWNS(STREAM, 0)},
    {CALL(REPLY), OF(XACT, 1), OWNS(REPLY, 0)},
    {CALL(SEND), OF(REPLY, 0), DOES(joins_sends)},
    {CALL(NOT_MODIFIED), OF(REPLY, 0), DOES(joins_ready_in_store)},
    {CALL(SEND_OLD), OF(REPLY, 0), DOES(joins_ready_in_store)},
    {CALL(SEND_ERROR), OF(REPLY, 0), DOES(joins_sends_error)},
    {CALL(START_ERROR), OF(REPLY, 0), DOES(joins_sends_error)},
    {CALL(ERROR_PAGE), AFTER(SEND_ERROR), DOES(joins_error_page)},
    {CALL(ERROR_PAGE), AFTER(START_ERROR), DOES(joins_error_page)},
    {CALL(ERROR_PAGE), OF(ENTRY, 0), DOES(joins_error_page)},
    {CALL(SEND_HEADER), OF(STREAM, 0)},
    {CALL(SEND_BODY), OF(STREAM, 0)},
    {CALL(WRITE), AFTER(SEND_HEADER), DOES(joins_write)},
    {CALL(WRITE), AFTER(SEND_BODY), DOES(joins_write)},
    {CALL(WRITE), AFTER(TUNNEL_READY), DOES(joins_write)},
    {CALL(WRITTEN), OF(STREAM, 0), DOES(joins_written)},
    {CALL(ROWS)},
};
