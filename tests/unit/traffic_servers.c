/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_servers.c - tries at servers for make_traffic: peer selection, connections, replies.
 */
#include "traffic-internal.h"

#define ADD(event, arg, aux) traffic_add(f->slot, SQT_EV_##event, f->xact, arg, aux)
#define TIMES(event) traffic_times(t, f->column, SQT_EV_##event)

#define LONG_REPLY 8  /* pieces; of one that comes in several reads */
#define FAST_CLIENT 8 /* of so many, one takes all that comes */

static const struct {
    unsigned kind;
    double share;
} servers[] = {
#define TRAFFIC_SERVER(name, kind, text, share) {TRAFFIC_##kind, share},
#include "traffic.def"
};

/* Adds an event of a connection, and to which server it is. */
static void
of_connection(const struct traffic_forward *f, unsigned event, uint64_t conn, unsigned server)
{
    traffic_add(f->slot, event, f->xact, conn, servers[server].kind);
    traffic_part(f->slot, SQT_EV_PART_SERVER, 0, 0, TRAFFIC_SERVER_NUMBER(server));
}

/* Notes that a connection to that server is used. */
static void
count_use(struct make_traffic *t, unsigned server)
{
    for (unsigned s = 0; s < TRAFFIC_SERVERS; ++s)
        t->servers[s] += servers[s].share / 1000;
    t->servers[server] -= 1;
}

uint64_t
traffic_connect(struct make_traffic *t, const struct traffic_forward *f, unsigned server)
{
    const uint64_t conn = ++t->conn;
    of_connection(f, SQT_EV_CONNECT_BEGIN, conn, server);
    if (server == TRAFFIC_TO_echo)
        count_use(t, server);
    traffic_wait(f->slot);
    ADD(CONNECT_END, conn, SQT_CONNECT_OK);
    if (server == TRAFFIC_TO_tls) {
        t->owed[SQT_EV_TLS_BEGIN][f->column] -= 1;
        ADD(TLS_BEGIN, conn, 0);
        traffic_wait(f->slot);
        ADD(TLS_END, conn, SQT_CONNECT_OK);
    }
    return conn;
}

/* The sibling if its digest says hit; over TLS if a handshake is due, or the connection is kept; else the server that was
 * used too rarely. */
static unsigned
choose_server(const struct make_traffic *t, const struct traffic_forward *f)
{
    unsigned chosen = TRAFFIC_TO_near;
    if (f->says_hit)
        return TRAFFIC_TO_sibling;
    if (t->owed[SQT_EV_TLS_BEGIN][f->column] >= 1)
        return TRAFFIC_TO_tls;
    for (unsigned s = 0; s < TRAFFIC_SERVERS; ++s)
        if (t->servers[s] > t->servers[chosen] && s != TRAFFIC_TO_sibling && s != TRAFFIC_TO_echo &&
            (s != TRAFFIC_TO_tls || f->slot->servers[s]))
            chosen = s;
    return chosen;
}

/* A connection for a try: one that is kept, or a new one in its place. */
static uint64_t
connection(struct make_traffic *t, struct traffic_forward *f)
{
    const unsigned server = choose_server(t, f);
    uint64_t *const kept = &f->slot->servers[server];
    const int handshake = server == TRAFFIC_TO_tls && t->owed[SQT_EV_TLS_BEGIN][f->column] >= 1;
    const int due = server != TRAFFIC_TO_tls && t->owed[SQT_EV_CONNECT_BEGIN][f->column] >= 1;
    count_use(t, server);
    if (*kept && !handshake && !due) {
        of_connection(f, SQT_EV_CONNECT_REUSED, *kept, server);
        return *kept;
    }
    t->owed[SQT_EV_CONNECT_BEGIN][f->column] -= 1;
    if (*kept)
        traffic_add(f->slot, SQT_EV_SERVER_CLOSE, *kept, 0, 0);
    return *kept = traffic_connect(t, f, server);
}

static void
no_digest(struct make_traffic *t, struct traffic_forward *f, unsigned peer)
{
    if (traffic_take(t, f->column, SQT_EV_DIGEST_NONE, 0.5))
        ADD(DIGEST_NONE, 300 + traffic_random(t, 900), TRAFFIC_SERVER_NUMBER(peer));
}

/* The digests of the peers are asked, in any order.  The parent makes none.  Returns whether they are: a request with a
 * body is not looked up. */
static int
digests(struct make_traffic *t, struct traffic_forward *f)
{
    const int parent_first = (int)traffic_random(t, 2);
    traffic_owe(t, f->column, SQT_EV_DIGEST_LOOKUP);
    traffic_owe(t, f->column, SQT_EV_DIGEST_NONE);
    if (!TIMES(DIGEST_KEY) && !f->says_hit)
        return 0;
    ADD(DIGEST_KEY, 800 + traffic_random(t, 900), 0);
    if (parent_first)
        no_digest(t, f, TRAFFIC_TO_parent);
    if (traffic_take(t, f->column, SQT_EV_DIGEST_LOOKUP, 0.5))
        ADD(DIGEST_LOOKUP, 1500 + traffic_random(t, 5000),
            TRAFFIC_SERVER_NUMBER(TRAFFIC_TO_sibling) | (f->says_hit ? SQT_DIGEST_SAYS_HIT : 0));
    if (!parent_first)
        no_digest(t, f, TRAFFIC_TO_parent);
    no_digest(t, f, TRAFFIC_TO_sibling);
    return 1;
}

static void
select_peer(struct make_traffic *t, struct traffic_forward *f)
{
    ADD(PEER_SELECT_BEGIN, 0, 0);
    f->has_body = !digests(t, f);
    traffic_look_up_name(t, f->slot, f->xact, f->column, !f->has_body);
    ADD(PEER_SELECT_END, 0, f->says_hit ? 2 : 1);
}

static void
send_request(struct make_traffic *t, struct traffic_forward *f, uint64_t conn, unsigned try)
{
    ADD(DISPATCH, conn, try);
    if (try == 1 && f->says_hit)
        ADD(DIGEST_HIT, 0, TRAFFIC_SERVER_NUMBER(TRAFFIC_TO_sibling));
    while (f->has_body && try == 1 && traffic_take(t, f->column, SQT_EV_BODY_WAIT_BEGIN, 0.5)) {
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
    t->owed[SQT_EV_SERVER_READ][f->column] -= 1;
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
    traffic_owe(t, f->column, SQT_EV_SERVER_READ);
    traffic_owe(t, f->column, SQT_EV_BODY_WAIT_BEGIN);
    for (unsigned try = 1;; ++try) {
        f->conn = connection(t, f);
        send_request(t, f, f->conn, try);
        receive_header(t, f, try < f->tries ? 504 : 200);
        if (try == f->tries)
            break;
        ADD(SERVER_DONE, f->conn, 0);
        ADD(RETRY, 0, try);
    }
}

/* Reads once more.  After the last read the server is done. */
static void
read_more(struct make_traffic *t, struct traffic_forward *f)
{
    ADD(SERVER_READ, 1000 + traffic_random(t, 60000), 0);
    f->held = 0;
    if (--f->reads == 0)
        ADD(SERVER_DONE, f->conn, 0);
}

void
traffic_forward_rest(struct make_traffic *t, struct traffic_forward *f, unsigned pieces)
{
    const int adapts = traffic_adapt_begin(t, f->slot, f->xact, f->column);
    traffic_owe(t, f->column, SQT_EV_SERVER_HELD);
    while (!adapts && pieces >= LONG_REPLY && traffic_take(t, f->column, SQT_EV_SERVER_READ, 1))
        ++f->reads;
    f->fast = !traffic_random(t, FAST_CLIENT);
    if (f->reads)
        return;
    ADD(SERVER_DONE, f->conn, 0);
    if (adapts)
        traffic_adapt(t, f->slot, f->xact, f->column);
    ADD(FORWARD_END, 0, f->tries);
}

void
traffic_forward_more(struct make_traffic *t, struct traffic_forward *f, int last)
{
    if (!f->reads || (f->fast && !last))
        return;
    if (!last && !f->fast && traffic_take(t, f->column, SQT_EV_SERVER_HELD, 1)) {
        ADD(SERVER_HELD, 0, 0);
        f->held = 1;
        return;
    }
    do
        read_more(t, f);
    while (last && f->reads);
    if (!f->reads)
        ADD(FORWARD_END, 0, f->tries);
}
