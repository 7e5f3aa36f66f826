/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * again.c - counts work that is done more than once: revalidations, new connections, tries on kept connections that servers
 * close, misses of what was a hit before, and challenges.
 */
#include "again.h"

#include "figure/why/misses.h"

/* Servers of their own. */
#define SERVERS 1024
/* What takes longer to connect to is slow, and counts as no more than that, ns. */
#define SLOW INT64_C(250000000)
/* A connection that was free within that time, in ns, could have been kept. */
#define KEPT INT64_C(5000000000)
/* The first series of a kind. */
#define KINDS 2

/* Servers that a trace does not name are one. */
static struct sqt_again_server *
again_server(struct sqt_again *a, const struct sqt_xact *xact, uint32_t server)
{
    const char *const name = server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, server);
    a->servers.size = sizeof(struct sqt_again_server);
    a->servers.most = SERVERS;
    return sqt_names_get(&a->servers, name ? name : SQT_AGAIN_UNNAMED);
}

static void
again_add(struct sqt_again *a, enum sqt_again_kind kind, const struct sqt_xact *xact, struct sqt_again_server *server,
          int64_t ns)
{
    ++a->sums[kind].count;
    a->sums[kind].ns += (uint64_t)ns;
    if (server) {
        ++server->sums[kind].count;
        server->sums[kind].ns += (uint64_t)ns;
    }
    sqt_when_add(&a->when, KINDS + kind, xact->begin, (uint64_t)ns, 1);
}

static uint64_t *
again_object(struct sqt_again *a, uint64_t object)
{
    return sqt_sparse_at(&a->hits, SQT_AGAIN_OBJECTS, sizeof(uint64_t), object % SQT_AGAIN_OBJECTS);
}

/* A hit is remembered; a miss of the same object, which is not there any more, counts once. */
static void
again_store(struct sqt_again *a, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    uint64_t *const object = again_object(a, xact->object);
    if (!xact->object)
        return;
    if (SQT_HITS >> fact->class & 1)
        *object = xact->object;
    else if (*object == xact->object && (xact->miss == SQT_MISS_ABSENT || xact->miss == SQT_MISS_SWAP_FAIL)) {
        again_add(a, SQT_AGAIN_MISSED, xact, NULL, felt);
        *object = 0;
    }
}

/* Whether another request was done with the server shortly before. */
static int
was_free(const struct sqt_again_server *server, int64_t begin)
{
    for (unsigned i = 0; i < SQT_AGAIN_ENDS; ++i)
        if (server->ends[i] && server->ends[i] < begin && begin - server->ends[i] < KEPT)
            return 1;
    return 0;
}

static void
again_server_time(struct sqt_again *a, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const int64_t connecting = sqt_row_sum(fact->row, SQT_PROXY_CONNECT);
    if (xact->reused < 0 || xact->flags & SQT_XACT_TUNNEL)
        return;
    struct sqt_again_server *const server = again_server(a, xact, xact->server);
    ++a->asked_server;
    a->reused += (uint64_t)xact->reused;
    if (!xact->reused && server && was_free(server, xact->begin)) {
        again_add(a, SQT_AGAIN_CONNECTED, xact, server, connecting < SLOW ? connecting : SLOW);
        a->connect_ns += (uint64_t)sqt_row_sum(fact->row, SQT_NS(connect));
        a->handshake_ns += (uint64_t)sqt_row_sum(fact->row, SQT_NS(tls));
    }
    if (server)
        server->ends[server->end_count++ % SQT_AGAIN_ENDS] = xact->end;
}

static void
again_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct sqt_again *const a = state;
    ++a->requests;
    a->purged += sqt_misses_is_purge(xact);
    sqt_when_add(&a->when, 1, xact->begin, (uint64_t)felt, 1);
    if (fact->class == SQT_CLASS_REFRESH_HIT && xact->reused >= 0)
        again_add(a, SQT_AGAIN_UNCHANGED, xact, again_server(a, xact, xact->server), felt);
    a->changed += fact->class == SQT_CLASS_REFRESH_MISS;
    if (xact->failed_reused && xact->failed_server != UINT32_MAX)
        again_add(a, SQT_AGAIN_CLOSED, xact, again_server(a, xact, xact->failed_server),
                  sqt_row_sum(fact->row, SQT_NS(failed_tries)));
    if (xact->status == 407)
        again_add(a, SQT_AGAIN_ASKED, xact, NULL, felt);
    again_store(a, xact, fact, felt);
    again_server_time(a, xact, fact);
}

static void
again_accept(void *state, const struct sqt_accept_row *row)
{
    (void)row;
    ++((struct sqt_again *)state)->accepted;
}

static void
again_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    sqt_again_tell(state, totals, tolds);
}

static void
again_end(void *state)
{
    struct sqt_again *const a = state;
    sqt_names_free(&a->servers);
    sqt_when_free(&a->when);
    sqt_sparse_free(&a->hits);
}

const struct sqt_look sqt_look_again = {.size = sizeof(struct sqt_again),
                                        .request = again_request,
                                        .accept = again_accept,
                                        .tell = again_tell,
                                        .end = again_end};
