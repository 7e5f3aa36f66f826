/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_requests.c - requests of all classes for make_traffic, from the client's first byte to its log line.
 */
#include "traffic-internal.h"

#define OBJECTS (1u << 20) /* distinct ones; each is asked for again and again */

struct request {
    struct make_traffic_slot *slot;
    uint64_t xact, object;
    unsigned column, tries;
    int answered; /* if it could not be parsed */
    uint32_t flags;
    struct traffic_swap swap; /* and its blocks that are left; a swap-out may end after the transaction */
    unsigned blocks;
};

#define ADD(event, arg, aux) traffic_add(r->slot, SQT_EV_##event, r->xact, arg, aux)
#define TIMES(event) traffic_times(t, r->column, SQT_EV_##event)

/* ---- the client ---- */

static void
connect_client(struct make_traffic *t, struct make_traffic_slot *slot)
{
    unsigned fresh = traffic_times(t, TRAFFIC_ALL, SQT_EV_CONN_ACCEPT);
    const unsigned tls = traffic_times(t, TRAFFIC_ALL, SQT_EV_CLIENT_TLS_BEGIN);
    t->owed[SQT_EV_CONN_ACCEPT][TRAFFIC_ALL] -= !fresh && !slot->conn;
    if (!fresh && slot->conn && !tls)
        return;
    if (slot->conn)
        traffic_add(slot, SQT_EV_CONN_CLOSE, slot->conn, 0, 0);
    slot->conn = ++t->conn;
    traffic_add(slot, SQT_EV_CONN_ACCEPT, slot->conn, 12 + traffic_random(t, 90), tls ? 3129 : 3128);
    traffic_part(slot, SQT_EV_PART_LISTENER, 0, traffic_random(t, 20) ? 0 : 4,
                 tls ? TRAFFIC_HTTPS_PORT : TRAFFIC_HTTP_PORT);
    if (tls) {
        traffic_add(slot, SQT_EV_CLIENT_TLS_BEGIN, slot->conn, 0, 0);
        traffic_wait(slot);
        traffic_add(slot, SQT_EV_CLIENT_TLS_END, slot->conn, 0, SQT_CONNECT_OK);
    }
}

static void
begin(struct make_traffic *t, struct request *r)
{
    const uint64_t unnamed = SQT_UNNAMED | ++t->xact, size = 120 + traffic_random(t, 200);
    connect_client(t, r->slot);
    for (unsigned n = traffic_once_or_more(t, TRAFFIC_ALL, SQT_EV_CLIENT_READ); n; --n) {
        traffic_wait(r->slot);
        traffic_add(r->slot, SQT_EV_CLIENT_READ, r->slot->conn, size / n, 0);
    }
    if (r->column == TRAFFIC_error) {
        r->xact = unnamed;
        traffic_add(r->slot, SQT_EV_XACT_BEGIN, unnamed, r->slot->conn, 0);
        return;
    }
    traffic_add(r->slot, SQT_EV_REQUEST_PARSED, r->slot->conn, size, 0);
    traffic_add(r->slot, SQT_EV_XACT_BEGIN, unnamed, r->slot->conn, 0);
    r->xact = t->xact;
    ADD(XACT_NAMED, unnamed, r->column == TRAFFIC_tunnel ? 2 : 1);
    ADD(ACCESS_BEGIN, 0, 0);
    traffic_helpers(t, r->slot, r->xact, r->column);
    ADD(ACCESS_END, 0, 0);
}

/* Why the look-up was no hit, as the parts of XACT_END say it; 0 if it was one. */
static uint32_t
reason(struct make_traffic *t, unsigned column)
{
    static const struct {
        unsigned column;
        uint32_t number;
        double share;
    } reasons[] = {
#define TRAFFIC_REASON(class, REASON, share) {TRAFFIC_##class, SQT_MISS_##REASON, share},
#include "traffic.def"
    };
    double left = (double)traffic_random(t, 1000);
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(*reasons); ++i)
        if (reasons[i].column == column && (left -= reasons[i].share) < 0)
            return reasons[i].number << SQT_XACT_MISS_SHIFT;
    return 0;
}

static void
end(struct make_traffic *t, struct request *r)
{
    static const uint32_t status[TRAFFIC_COLUMNS] = {
        [TRAFFIC_ims_hit] = 304, [TRAFFIC_negative_hit] = 404, [TRAFFIC_denied] = 403, [TRAFFIC_error] = 400};
    static const uint32_t flags[TRAFFIC_COLUMNS] = {[TRAFFIC_tunnel] = SQT_XACT_TUNNEL,
                                                    [TRAFFIC_error] = SQT_XACT_ERROR_PAGE | SQT_XACT_INTERNAL,
                                                    [TRAFFIC_denied] = SQT_XACT_ERROR_PAGE | SQT_XACT_INTERNAL};
    const int unanswered = r->column == TRAFFIC_error && !r->answered, bodiless = r->column == TRAFFIC_ims_hit;
    uint64_t size = bodiless ? 0 : 300 + traffic_random(t, 40000), sent = size + 300;
    if (r->column == TRAFFIC_tunnel || unanswered) {
        size = UINT64_MAX;
        sent = unanswered ? 0 : 39;
    }
    ADD(XACT_END, r->flags & SQT_XACT_COLLAPSED ? TRAFFIC_TAG_COLLAPSED : r->column,
        unanswered          ? 0
        : status[r->column] ? status[r->column]
                            : 200);
    traffic_part(r->slot, SQT_EV_PART_XACT_SIZES, size, sent, r->tries);
    traffic_part(r->slot, SQT_EV_PART_XACT_FLAGS, r->object, r->slot->conn,
                 r->flags | (unanswered ? 0 : flags[r->column]) | reason(t, r->column));
}

/* ---- the reply ---- */

/* How many pieces the reply is written in. */
static unsigned
count_pieces(struct make_traffic *t, const struct request *r)
{
    return traffic_varied(t, r->column, SQT_EV_REPLY_WRITE);
}

/* Moves the next block of the swap, of which so many are left.  A swap-out opens with its first one. */
static void
next_block(struct make_traffic *t, const struct request *r, struct traffic_swap *swap, unsigned *blocks)
{
    if (!*blocks)
        return;
    if (!swap->sio)
        traffic_swap_open(t, swap, r->xact, r->object, *blocks);
    --*blocks;
    traffic_swap_block(t, swap);
}

/* Moves the blocks that are left, and closes. */
static void
finish_swap(struct make_traffic *t, struct request *r)
{
    while (r->blocks)
        next_block(t, r, &r->swap, &r->blocks);
    if (r->swap.sio)
        traffic_swap_close(t, &r->swap);
    r->swap.sio = 0;
}

/* Writes the reply.  While a piece is written, the next block is read or stored, and more comes from the server. */
static void
reply(struct make_traffic *t, struct request *r, unsigned pieces, struct traffic_swap *swap, unsigned blocks,
      struct traffic_forward *forward)
{
    for (unsigned i = 0; i < pieces; ++i) {
        if (forward && forward->reads && i && i + 1 == pieces &&
            !forward->held) { /* the client has all that there is */
            traffic_wait(r->slot);
            traffic_forward_more(t, forward, 1);
        }
        ADD(REPLY_WRITE, i ? 4096 : 300 + traffic_random(t, 3000), i == 0);
        next_block(t, r, swap, &blocks);
        traffic_wait(r->slot);
        if (forward)
            traffic_forward_more(t, forward, i + 1 == pieces);
        ADD(REPLY_WRITTEN, 4096, 0);
    }
    r->blocks = blocks;
    if (swap)
        r->swap = *swap;
    if (swap && !swap->out)
        finish_swap(t, r);
}

static void
reply_made(struct make_traffic *t, struct request *r)
{
    ADD(REPLY_READY, 0, SQT_REPLY_MADE);
    reply(t, r, count_pieces(t, r), NULL, 0, NULL);
}

/* ---- classes ---- */

/* The store is asked.  Returns how many blocks are still to be read of a swap-in that it needs. */
static unsigned
look_up(struct make_traffic *t, struct request *r, struct traffic_swap *swap, int found)
{
    unsigned blocks = 0;
    *swap = (struct traffic_swap){.slot = r->slot, .column = r->column};
    r->object = (1 + traffic_random(t, OBJECTS)) * UINT64_C(0x9e3779b97f4a7c15);
    ADD(LOOKUP_BEGIN, 0, 0);
    traffic_owe(t, r->column, SQT_EV_SWAPIN_OPEN);
    if (r->flags & SQT_XACT_COLLAPSED) {
        ADD(COLLAPSED, 0, 0);
        traffic_wait(r->slot);
        traffic_owe(t, r->column, SQT_EV_SWAPIN_READ);
    } else if (traffic_take(t, r->column, SQT_EV_SWAPIN_OPEN, 1)) {
        blocks = traffic_varied(t, r->column, SQT_EV_SWAPIN_READ) - 1;
        traffic_swap_open(t, swap, r->xact, r->object, 0);
        traffic_swap_block(t, swap);
    } else
        traffic_owe(t, r->column, SQT_EV_SWAPIN_READ);
    ADD(LOOKUP_END, r->object, (uint32_t)found);
    return blocks;
}

static void
hit(struct make_traffic *t, struct request *r)
{
    struct traffic_swap swap;
    r->flags = TIMES(COLLAPSED) ? SQT_XACT_COLLAPSED : 0;
    const unsigned blocks = look_up(t, r, &swap, 1);
    traffic_owe(t, r->column, SQT_EV_MEM_HIT);
    if (!(r->flags & SQT_XACT_COLLAPSED) && !swap.sio && traffic_take(t, r->column, SQT_EV_MEM_HIT, 0.5))
        ADD(MEM_HIT, 4096, 0);
    ADD(REPLY_READY, 0, SQT_REPLY_STORE);
    reply(t, r, count_pieces(t, r), &swap, blocks, NULL);
}

/* How many blocks of the reply are stored. */
static unsigned
swap_out(struct make_traffic *t, const struct request *r, struct traffic_swap *swap)
{
    *swap = (struct traffic_swap){.slot = r->slot, .column = r->column, .out = 1};
    if (TIMES(SWAPOUT_OPEN))
        return traffic_varied(t, r->column, SQT_EV_SWAPOUT_WRITE);
    traffic_owe(t, r->column, SQT_EV_SWAPOUT_WRITE);
    return 0;
}

/* A miss, or a hit that a server must confirm. */
static void
asked_server(struct make_traffic *t, struct request *r)
{
    struct traffic_swap in, out;
    struct traffic_forward forward = {.slot = r->slot, .xact = r->xact, .column = r->column};
    const int refresh = r->column == TRAFFIC_refresh_hit;
    const unsigned blocks = look_up(t, r, &in, r->column != TRAFFIC_miss), pieces = count_pieces(t, r);
    if (in.sio && !refresh)
        traffic_swap_close(t, &in);
    traffic_forward_begin(t, &forward);
    r->tries = forward.tries;
    traffic_forward_rest(t, &forward, pieces);
    if (refresh) {
        ADD(REPLY_READY, 0, SQT_REPLY_STORE);
        reply(t, r, pieces, &in, blocks, &forward);
    } else {
        const unsigned stored = swap_out(t, r, &out);
        reply(t, r, pieces, &out, stored, &forward);
    }
}

static void
tunnel(struct make_traffic *t, struct request *r)
{
    const struct traffic_forward forward = {.slot = r->slot, .xact = r->xact, .column = r->column};
    ADD(PEER_SELECT_BEGIN, 0, 0);
    ADD(PEER_SELECT_END, 0, 1);
    const uint64_t conn = traffic_connect(t, &forward, TRAFFIC_TO_echo);
    reply_made(t, r);
    ADD(TUNNEL_BEGIN, conn, 0);
    for (unsigned i = 0; i < 3; ++i)
        traffic_wait(r->slot);
    ADD(TUNNEL_END, 0, 0);
    traffic_add(r->slot, SQT_EV_SERVER_CLOSE, conn, 0, 0);
    r->tries = 1;
}

/* Nothing that can be parsed came; about half of such clients wait for the answer. */
static void
unparsed(struct make_traffic *t, struct request *r)
{
    r->answered = traffic_take(t, TRAFFIC_ALL, SQT_EV_REPLY_READY, 1);
    for (int part = 0; r->answered && part < 2; ++part) {
        if (part == 0)
            ADD(REPLY_READY, 0, SQT_REPLY_MADE);
        ADD(REPLY_WRITE, 300, (uint32_t)(part == 0));
        traffic_wait(r->slot);
        ADD(REPLY_WRITTEN, 300, 0);
    }
}

/* The digest of a peer is fetched, which no client asked for. */
static void
fetch_digest(struct make_traffic *t, struct request *r)
{
    const uint64_t conn = r->slot->servers[TRAFFIC_TO_sibling];
    const uint32_t sibling = TRAFFIC_SERVER_NUMBER(TRAFFIC_TO_sibling);
    r->xact = ++t->xact;
    ADD(DIGEST_FETCH_BEGIN, 0, sibling);
    ADD(FORWARD_BEGIN, 0, 0);
    ADD(PEER_SELECT_BEGIN, 0, 0);
    ADD(PEER_SELECT_END, 0, 1);
    ADD(CONNECT_REUSED, conn, TRAFFIC_SIBLING);
    traffic_part(r->slot, SQT_EV_PART_SERVER, 0, 0, sibling);
    ADD(DISPATCH, conn, 1);
    ADD(REQUEST_SENT, conn, 0);
    traffic_wait(r->slot);
    ADD(SERVER_READ, 2000, 0);
    ADD(SERVER_HEADER, 300, 200);
    ADD(REPLY_READY, 0, SQT_REPLY_SERVER);
    ADD(SERVER_DONE, conn, 0);
    ADD(FORWARD_END, 0, 1);
    ADD(DIGEST_FETCH_END, 1800, SQT_DIGEST_NEW);
}

static void
one_of_a_class(struct make_traffic *t, struct request *r)
{
    switch (r->column) {
    case TRAFFIC_miss:
    case TRAFFIC_refresh_hit:
    case TRAFFIC_refresh_miss:
        asked_server(t, r);
        break;
    case TRAFFIC_tunnel:
        tunnel(t, r);
        break;
    case TRAFFIC_denied:
        reply_made(t, r);
        break;
    case TRAFFIC_error:
        unparsed(t, r);
        break;
    default:
        hit(t, r);
    }
}

void
traffic_request(struct make_traffic *t, struct make_traffic_slot *slot)
{
    static const unsigned of_the_loop[] = {
        SQT_EV_WAIT_BEGIN,  SQT_EV_CALLS_TOLD,     SQT_EV_SAMPLE,         SQT_EV_RELEASE,     SQT_EV_UNLINK,
        SQT_EV_UNLINKED,    SQT_EV_DIGEST_REBUILD, SQT_EV_DIGEST_REWRITE, SQT_EV_REPLY_READY, SQT_EV_QUERY_END,
        SQT_EV_LOOP_SAMPLE, SQT_EV_PART_LOOP_HELD, SQT_EV_PART_LOOP_IN};
    struct request r = {.slot = slot};
    slot->count = slot->next = 0;
    if (traffic_take(t, TRAFFIC_ALL, SQT_EV_DIGEST_FETCH_BEGIN, 1) && slot->servers[TRAFFIC_TO_sibling]) {
        fetch_digest(t, &r);
        return;
    }
    traffic_owe(t, TRAFFIC_ALL, SQT_EV_DIGEST_FETCH_BEGIN);
    for (unsigned i = 0; i < sizeof(of_the_loop) / sizeof(*of_the_loop); ++i)
        traffic_owe(t, TRAFFIC_ALL, of_the_loop[i]);
    r.column = traffic_class(t);
    traffic_owe(t, r.column, SQT_EV_DISKOP_QUEUED);
    begin(t, &r);
    one_of_a_class(t, &r);
    end(t, &r);
    finish_swap(t, &r);
}
