/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_servers.c - tries at servers for make_traffic: peer selection, connections, replies.
 */
#include "traffic-internal.h"

#define ADD(event, arg, aux) traffic_add(f->slot, SQT_EV_##event, f->xact, arg, aux)
#define TIMES(event) traffic_times(t, f->column, SQT_EV_##event)

uint64_t
traffic_connect(struct make_traffic *t, const struct traffic_forward *f)
{
    const uint64_t conn = ++t->conn;
    ADD(CONNECT_BEGIN, conn, 0);
    traffic_wait(f->slot);
    ADD(CONNECT_END, conn, SQT_CONNECT_OK);
    if (traffic_take(t, f->column, SQT_EV_TLS_BEGIN, 1)) {
        ADD(TLS_BEGIN, conn, 0);
        traffic_wait(f->slot);
        ADD(TLS_END, conn, SQT_CONNECT_OK);
    }
    return conn;
}

/* A connection for a try: one that is kept, or a new one in its place. */
static uint64_t
connection(struct make_traffic *t, struct traffic_forward *f)
{
    uint64_t *const server = &f->slot->servers[traffic_random(t, MAKE_TRAFFIC_SERVERS)];
    const int fresh = traffic_take(t, f->column, SQT_EV_CONNECT_BEGIN, 1);
    if (*server && !fresh) {
        ADD(CONNECT_REUSED, *server, 0);
        return *server;
    }
    t->owed[SQT_EV_CONNECT_BEGIN][f->column] -= !fresh;
    if (*server)
        traffic_add(f->slot, SQT_EV_SERVER_CLOSE, *server, 0, 0);
    return *server = traffic_connect(t, f);
}

static void
digests(struct make_traffic *t, struct traffic_forward *f)
{
    traffic_owe(t, f->column, SQT_EV_DIGEST_LOOKUP);
    traffic_owe(t, f->column, SQT_EV_DIGEST_NONE);
    if (!TIMES(DIGEST_KEY))
        return;
    ADD(DIGEST_KEY, 800 + traffic_random(t, 900), 0);
    if (traffic_take(t, f->column, SQT_EV_DIGEST_LOOKUP, 0.5))
        ADD(DIGEST_LOOKUP, 1500 + traffic_random(t, 5000), 1 | (f->says_hit ? SQT_DIGEST_SAYS_HIT : 0));
    else if (traffic_take(t, f->column, SQT_EV_DIGEST_NONE, 0.5))
        ADD(DIGEST_NONE, 300 + traffic_random(t, 900), 1);
}

static void
select_peer(struct make_traffic *t, struct traffic_forward *f)
{
    ADD(PEER_SELECT_BEGIN, 0, 0);
    digests(t, f);
    if (TIMES(DNS_BEGIN)) {
        ADD(DNS_BEGIN, ++t->lookup, 0);
        traffic_wait(f->slot);
        ADD(DNS_END, t->lookup, 0);
    }
    ADD(PEER_SELECT_END, 0, 1);
}

static void
send_request(struct make_traffic *t, struct traffic_forward *f, uint64_t conn, unsigned try)
{
    ADD(DISPATCH, conn, try);
    if (try == 1 && f->says_hit)
        ADD(DIGEST_HIT, 0, 1);
    for (unsigned n = try == 1 ? TIMES(BODY_WAIT_BEGIN) : 0; n; --n) {
        ADD(BODY_WAIT_BEGIN, 0, 0);
        traffic_wait(f->slot);
        ADD(BODY_WAIT_END, 5000, 0);
    }
    traffic_wait(f->slot);
    ADD(REQUEST_SENT, conn, 0);
}

static void
receive_header(struct make_traffic *t, struct traffic_forward *f, uint32_t status)
{
    traffic_wait(f->slot);
    ADD(SERVER_READ, 300 + traffic_random(t, 4096), 0);
    ADD(SERVER_HEADER, 100 + traffic_random(t, 200), status);
    ADD(REPLY_READY, 0, SQT_REPLY_SERVER);
}

void
traffic_forward_begin(struct make_traffic *t, struct traffic_forward *f)
{
    f->says_hit = TIMES(DIGEST_HIT) > 0;
    ADD(FORWARD_BEGIN, 0, 0);
    select_peer(t, f);
    traffic_owe(t, f->column, SQT_EV_CONNECT_BEGIN);
    traffic_owe(t, f->column, SQT_EV_TLS_BEGIN);
    f->tries = traffic_once_or_more(t, f->column, SQT_EV_DISPATCH);
    f->reads = traffic_times(t, f->column, SQT_EV_SERVER_READ);
    f->held = TIMES(SERVER_HELD);
    if (f->reads < f->tries) {
        t->owed[SQT_EV_SERVER_READ][f->column] -= f->tries - f->reads;
        f->reads = f->tries;
    }
    for (unsigned try = 1;; ++try) {
        f->conn = connection(t, f);
        send_request(t, f, f->conn, try);
        receive_header(t, f, try < f->tries ? 504 : 200);
        if (try == f->tries)
            return;
        ADD(SERVER_DONE, f->conn, 0);
        ADD(RETRY, 0, try);
    }
}

void
traffic_forward_end(struct make_traffic *t, struct traffic_forward *f)
{
    for (unsigned n = f->held; n; --n) {
        ADD(SERVER_HELD, 0, 0);
        traffic_wait(f->slot);
    }
    for (unsigned n = f->tries; n < f->reads; ++n) {
        traffic_wait(f->slot);
        ADD(SERVER_READ, 1000 + traffic_random(t, 60000), 0);
    }
    ADD(SERVER_DONE, f->conn, 0);
    ADD(FORWARD_END, 0, f->tries);
}
