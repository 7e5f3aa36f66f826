/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-servers.c - see joins-servers.h.
 */
#include "joins-servers.h"

#include "base/memory.h"
#include "joins-rule.h"

struct sqt_joins_servers {
    uint64_t last;              /* number of the newest DNS look-up, attempt or reused connection */
    struct sqt_record answered; /* CONNECT_END whose outcome the next call says; event 0: there is none */
};

struct sqt_joins_servers *
sqt_joins_servers_new(void)
{
    return sqt_zeroed(1, sizeof(struct sqt_joins_servers));
}

void
sqt_joins_servers_forget(struct sqt_joins_servers *servers)
{
    servers->answered.event = 0;
}

/* ---- forwarding, peer selection and DNS ---- */

static void
joins_forward(struct sqt_joins_call *call)
{
    call->xact->forwarded = 1;
    sqt_joins_own(call, SQT_JOINS_ENTRY, 2);
    sqt_joins_close(call, SQT_JOINS_IN_LOOKUP, SQT_EV_LOOKUP_END, 0, 0);
    sqt_joins_emit(call, SQT_EV_FORWARD_BEGIN, 0, 0);
}

static void
joins_forward_ends(struct sqt_joins_call *call)
{
    sqt_joins_close(call, SQT_JOINS_IN_SERVER, SQT_EV_SERVER_DONE, 0, 1);
    sqt_joins_emit(call, SQT_EV_FORWARD_END, 0, call->xact->tries);
}

/* No argument says for which transaction. */
static void
joins_select(struct sqt_joins_call *call)
{
    call->xact = call->joins->current ? sqt_idmap_get(&call->joins->xacts, call->joins->current) : NULL;
    if (!call->xact)
        return;
    sqt_joins_own(call, SQT_JOINS_SELECTOR, 0);
    sqt_joins_open(call, SQT_JOINS_IN_SELECTION, SQT_EV_PEER_SELECT_BEGIN, 0, 0);
}

static void
joins_dns_ask(struct sqt_joins_call *call)
{
    if (call->xact->open & SQT_JOINS_IN_DNS)
        return;
    call->xact->lookup = ++call->joins->servers->last;
    sqt_joins_open(call, SQT_JOINS_IN_DNS, SQT_EV_DNS_BEGIN, call->xact->lookup, 0);
}

static void
joins_dns_answer(struct sqt_joins_call *call)
{
    sqt_joins_close(call, SQT_JOINS_IN_DNS, SQT_EV_DNS_END, call->xact->lookup, 0);
}

/* ---- connections ---- */

static void
joins_connect(struct sqt_joins_call *call)
{
    const uint64_t number = ++call->joins->servers->last;
    sqt_joins_name(call->joins, call->xact, SQT_JOINS_ATTEMPT, call->event->values[1], number);
    sqt_joins_emit(call, SQT_EV_CONNECT_BEGIN, number, 0);
}

/* The number of the attempt that ends; 0: it is not known. */
static uint64_t
joins_attempt_take(const struct sqt_joins_call *call)
{
    const uint64_t address = call->event->values[1], number = sqt_joins_bound(call->joins, SQT_JOINS_ATTEMPT, address);
    sqt_joins_unbind(call->joins, SQT_JOINS_ATTEMPT, address);
    return number;
}

static void
joins_connected(struct sqt_joins_call *call)
{
    const uint64_t number = joins_attempt_take(call);
    if (!number)
        return;
    ++call->xact->tries;
    call->joins->servers->answered = (struct sqt_record){.time = call->time,
                                                         .id = SQT_UNNAMED | call->xact->number,
                                                         .arg = number,
                                                         .aux = SQT_CONNECT_FAILED,
                                                         .event = SQT_EV_CONNECT_END};
}

static void
joins_cancelled(struct sqt_joins_call *call)
{
    const uint64_t number = joins_attempt_take(call);
    if (number)
        sqt_joins_emit(call, SQT_EV_CONNECT_END, number, SQT_CONNECT_CANCELLED);
}

void
sqt_joins_servers_next(const struct sqt_joins *joins, const struct sqt_attach_event *event)
{
    struct sqt_record *const answered = &joins->servers->answered;
    if (!answered->event || event->row == SQT_ATTACH_TAG)
        return;
    if (event->row == SQT_ATTACH_OPENED && !(event->values[1] & 1) &&
        (SQT_UNNAMED | sqt_joins_bound(joins, SQT_JOINS_OPENER, event->values[0])) == answered->id)
        answered->aux = SQT_CONNECT_OK;
    joins->emit(joins->context, answered, 1);
    answered->event = 0;
}

static void
joins_opened(struct sqt_joins_call *call)
{
    if (!(call->event->values[1] & 1))
        return;
    ++call->xact->tries;
    sqt_joins_emit(call, SQT_EV_CONNECT_REUSED, ++call->joins->servers->last, 0);
}

/* Its object may have the address of one that is gone. */
static void
joins_handshake_unknown(struct sqt_joins_call *call)
{
    sqt_joins_unbind(call->joins, SQT_JOINS_HANDSHAKE, call->event->values[0]);
}

/* ---- the exchange ---- */

static void
joins_dispatch(struct sqt_joins_call *call)
{
    call->xact->tries += !call->xact->tries; /* over a pinned connection */
    sqt_joins_open(call, SQT_JOINS_IN_SERVER, SQT_EV_DISPATCH, 0, call->xact->tries);
}

static void
joins_header(struct sqt_joins_call *call)
{
    call->xact->ready = SQT_REPLY_SERVER;
    sqt_joins_emit(call, SQT_EV_REPLY_READY, 0, SQT_REPLY_SERVER);
}

const struct sqt_joins_rule sqt_joins_server_rules[] = {
    {CALL(FORWARD), OF(REQUEST, 1), OWNS(FORWARD, 0), DOES(joins_forward)},
    {CALL(FORWARD_GONE), OF(FORWARD, 0), ENDS, DOES(joins_forward_ends)},
    {CALL(SELECT), DOES(joins_select)},
    {CALL(SELECTED), OF(SELECTOR, 0), ENDS, CLOSES(SELECTION, PEER_SELECT_END, 0)},
    {CALL(RESOLVE), OF(SELECTOR, 0)},
    {CALL(DNS_ASK), AFTER(RESOLVE), DOES(joins_dns_ask)},
    {CALL(DNS_ANSWER), OF(SELECTOR, 0), DOES(joins_dns_answer)},
    {CALL(OPENER), OF(REQUEST, 1), OWNS(OPENER, 0)},
    {CALL(CONNECT), OF(OPENER, 0), DOES(joins_connect)},
    {CALL(CONNECTED), OF(OPENER, 0), DOES(joins_connected)},
    {CALL(CANCELLED), OF(OPENER, 0), DOES(joins_cancelled)},
    {CALL(OPENED), OF(OPENER, 0), DOES(joins_opened)},
    {CALL(SECURE), OF(FORWARD, 0)},
    {CALL(SECURE_TUNNEL), OF(TUNNEL, 0)},
    {CALL(TLS), AFTER(SECURE), OWNS(HANDSHAKE, 0)},
    {CALL(TLS), AFTER(SECURE_TUNNEL), OWNS(HANDSHAKE, 0)},
    {CALL(TLS), DOES(joins_handshake_unknown)},
    {CALL(TLS_BEGIN), OF(HANDSHAKE, 0), OPENS(TLS, TLS_BEGIN, 0)},
    {CALL(TLS_DONE), OF(HANDSHAKE, 0), CLOSES(TLS, TLS_END, SQT_CONNECT_OK)},
    {CALL(TLS_FAILED), OF(HANDSHAKE, 0), CLOSES(TLS, TLS_END, SQT_CONNECT_FAILED)},
    {CALL(TLS_GONE), OF(HANDSHAKE, 0), CLOSES(TLS, TLS_END, SQT_CONNECT_CANCELLED)},
    {CALL(SERVER), OF(FORWARD, 1), OWNS(SERVER, 0), DOES(joins_dispatch)},
    {CALL(SENT), OF(SERVER, 0), EMITS(REQUEST_SENT, 0)},
    {CALL(READS), OF(SERVER, 0), EMITS(SERVER_READ, 0)},
    {CALL(HEADER), OF(SERVER, 0), EMITS(SERVER_HEADER, 0), DOES(joins_header)},
    {CALL(HELD), OF(SERVER, 0), EMITS(SERVER_HELD, 0)},
    {CALL(READ_BEGINS), OF(SERVER, 0)},
    {CALL(DEFERRED), AFTER(READ_BEGINS), EMITS(SERVER_HELD, 0)}, /* Squid 5 */
    {CALL(DEFERRED), AFTER(READS), EMITS(SERVER_HELD, 0)},
    {CALL(DEFERRED), AFTER(HEADER), EMITS(SERVER_HELD, 0)},
    {CALL(DONE), OF(SERVER, 0), CLOSES(SERVER, SERVER_DONE, 0)},
    {CALL(ROWS)},
};
