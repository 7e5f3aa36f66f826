/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tunnels.c - tunnels that open, and in which the server never says anything, or that it closes without a word.
 *
 * The client got the reply to CONNECT, which is not much longer than a line, and nothing behind it.  Who closes such a tunnel
 * shows in what TCP has received: the end of the connection counts as a byte.
 */
#include <stdio.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

/* Bytes of a reply to CONNECT alone. */
#define REPLY 300
/* So many tunnels of a server, that part of them in %, that long each in the mean, in ns. */
#define LEAST 5
#define SHARE 50
/* Of at least as many to other servers, at most that part, in %: else it is what clients do that leaves them silent. */
#define OTHERS 20
#define EACH INT64_C(1000000000)
/* Received from a server that closed the connection, and sent nothing. */
#define ONLY_AN_END 1
#define SERVERS 1024
/* Tunnels that were open for so long in the mean, ns, and brought something, may have been slow. */
#define LONG INT64_C(1000000000)

struct tunnels {
    struct sqt_names names;
    struct sqt_when when; /* series 1: all requests; then each server's silent ones */
    uint64_t count, silent;
    double open;      /* ns, of those that are not silent */
    uint64_t unknown; /* of them, those of which the trace does not say what was waited for */
};

struct tunnel_server {
    struct sqt_name_entry named;
    uint32_t series;
    uint64_t count, silent;
    uint64_t closed; /* connections that the server closed, and on which it had sent nothing */
    double open;     /* ns, of the silent ones */
};

static struct tunnel_server *
tunnels_server(struct tunnels *t, const char *name)
{
    t->names.size = sizeof(struct tunnel_server);
    t->names.most = SERVERS;
    struct tunnel_server *const server = sqt_names_get(&t->names, name);
    if (!server->series)
        server->series = 1 + t->names.count;
    return server;
}

static void
tunnels_closed(void *state, const struct sqt_closed_row *row)
{
    const char *const name =
        row->server == UINT32_MAX ? NULL : sqt_origin_text(row->origin, SQT_DEF_SERVER, row->server);
    if (name && row->received == ONLY_AN_END)
        ++tunnels_server(state, name)->closed;
}

static void
tunnels_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct tunnels *const t = state;
    const char *const name =
        xact->server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->server);
    sqt_when_add(&t->when, 1, xact->begin, (uint64_t)felt, 1);
    if (fact->class != SQT_CLASS_TUNNEL || !name || xact->status != 200 || xact->sent == SQT_MISSING)
        return;
    struct tunnel_server *const server = tunnels_server(t, name);
    ++server->count;
    ++t->count;
    if (xact->sent > REPLY) {
        t->open += (double)sqt_row_sum(fact->row, SQT_NS(tunnel));
        t->unknown += xact->tunnel_rest == SQT_MISSING;
        return;
    }
    ++server->silent;
    ++t->silent;
    server->open += (double)sqt_row_sum(fact->row, SQT_NS(tunnel));
    sqt_when_add(&t->when, server->series, xact->begin, 0, 1);
}

static void
tunnels_told(const struct tunnels *t, const struct tunnel_server *server, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM], when[128];
    struct sqt_told *const told = sqt_tolds_add(tolds, "silent_tunnels", SQT_HARM_FAILURE,
                                                server->silent * SQT_FAILURE_NS + sqt_told_ns(server->open));
    if (!told)
        return;
    sqt_spell_tell(told, &t->when, server->series, 1);
    snprintf(told->culprit, sizeof(told->culprit), "%s", server->named.name);
    told->requests = told->failures = server->silent;
    told->waiting = sqt_told_ns(server->open);
    sqt_told_print(
        told->sentence,
        "%s, in %llu of %llu tunnels to %s nothing but the reply to CONNECT came back: they were open for %s each.",
        sqt_told_when(when, sizeof(when), told), (unsigned long long)server->silent, (unsigned long long)server->count,
        server->named.name, sqt_human_time(each, server->open / (double)server->silent, " ", "us"));
    sqt_told_print(
        told->advice,
        "The connection stands, and what lies behind it is silent: ask that server by hand, without Squid. If it "
        "answers there, look at what stands between (a firewall that lets the handshake pass, a path that loses "
        "large packets: MTU).");
    sqt_told_print(told->command, "sqtrace-dump --where='class == tunnel and sent_bytes <= %d' TRACE", REPLY);
}

/* The server closes them, and no client waits. */
static void
tunnels_told_closed(const struct tunnels *t, const struct tunnel_server *server, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM], when[128];
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "closed_tunnels", SQT_HARM_FAILURE, server->silent * SQT_FAILURE_NS);
    if (!told)
        return;
    sqt_spell_tell(told, &t->when, server->series, 1);
    snprintf(told->culprit, sizeof(told->culprit), "%s", server->named.name);
    told->requests = told->failures = server->silent;
    sqt_told_print(
        told->sentence,
        "%s, %llu of %llu tunnels to %s were closed by that server, or by who answers for it, and nothing had come "
        "through them: %s after they were opened.",
        sqt_told_when(when, sizeof(when), told), (unsigned long long)server->silent, (unsigned long long)server->count,
        server->named.name, sqt_human_time(each, server->open / (double)server->silent, " ", "us"));
    sqt_told_print(
        told->advice,
        "The connection is taken, and closed as soon as the client says something: a firewall that looks at the name "
        "in "
        "the TLS hello (SNI), a load balancer with nobody behind it, or a port that speaks no TLS. Ask that server by "
        "hand, without Squid.");
    sqt_told_print(told->command, "sqtrace-dump --where='class == tunnel and sent_bytes <= %d' TRACE", REPLY);
}

/* Whether hardly a tunnel to it brings anything, though those to others do. */
static int
is_mute(const struct tunnels *t, const struct tunnel_server *server)
{
    const uint64_t others = t->count - server->count, silent = t->silent - server->silent;
    return server->silent >= LEAST && server->silent * 100 >= server->count * SHARE && others >= LEAST &&
           silent * 100 <= others * OTHERS;
}

static int
is_open_long(const struct tunnel_server *server)
{
    return server->open >= (double)EACH * (double)server->silent;
}

static int
is_closed_by_it(const struct tunnel_server *server)
{
    return server->closed >= LEAST && server->closed * 100 >= server->silent * SHARE;
}

/* Where nothing else is wrong, it is said what is not known. */
static void
tunnels_note(const struct tunnels *t, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM], meant[sizeof(tolds->meant)];
    const uint64_t count = t->count - t->silent;
    if (count < LEAST || t->open < (double)LONG * (double)count)
        return;
    snprintf(meant, sizeof(meant), "%s", tolds->meant);
    snprintf(tolds->meant, sizeof(tolds->meant),
             " Not looked at: what came through %llu tunnels, which were open for %s in the mean. %s.%.700s",
             (unsigned long long)count, sqt_human_time(each, t->open / (double)count, " ", "us"),
             t->unknown ? "Whether it came slowly (a delay pool, the line) is not known"
                        : "A server that sends late is seen only by its first bytes, and within TLS records",
             meant);
}

static void
tunnels_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct tunnels *const t = state;
    (void)totals;
    sqt_when_sort(&t->when);
    tunnels_note(t, tolds);
    for (const struct sqt_name_entry *named = t->names.first; named; named = named->next) {
        const struct tunnel_server *const server = (const struct tunnel_server *)named;
        if (sqt_names_is_others(named) || !is_mute(t, server))
            continue;
        if (is_open_long(server))
            tunnels_told(t, server, tolds);
        else if (is_closed_by_it(server))
            tunnels_told_closed(t, server, tolds);
    }
    sqt_when_free(&t->when);
}

static void
tunnels_end(void *state)
{
    struct tunnels *const t = state;
    sqt_names_free(&t->names);
    sqt_when_free(&t->when);
}

const struct sqt_look sqt_look_tunnels = {.size = sizeof(struct tunnels),
                                          .request = tunnels_request,
                                          .closed = tunnels_closed,
                                          .tell = tunnels_tell,
                                          .end = tunnels_end};
