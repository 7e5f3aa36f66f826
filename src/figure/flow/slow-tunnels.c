/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slow-tunnels.c - tunnels that a delay pool holds back, whose server is late with its first bytes, or sends or takes slowly.
 *
 * A tunnel may be open for an hour and idle, so how long it is open says nothing, and neither does the pause between two
 * of its bytes.  Four things are never idleness: bytes come as soon as an empty pool lets Squid read again; the client has
 * sent its first bytes (in TLS its hello, which is answered at once), and the server has not; bytes wait to be taken; and a
 * TLS record has begun to come, and its rest has not.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

/* So many tunnels, that long each in the mean beyond what is no fault, ns, and that many times as long as others. */
#define LEAST 5
#define EACH 300000000.0
#define TIMES 3
/* What a write or the rest of a record takes as a rule (a pass of the event loop, a round trip) adds up in a long tunnel, too:
 * so these are no matter below that part of the time in which the tunnel is open, in %. */
#define OF_TUNNEL 10
/* Of all tunnels that a pool may hold back, that part, in %. */
#define SHARE 10
/* Of a server's tunnels, or those of all servers, that part, in %. */
#define SHARE_OF_SERVER 50
#define SERVERS 1024

enum slow_kind { POOL, FIRST, UPLOAD, REST, KINDS };

static const struct slow_words {
    const char *cause, *before, *what, *after, *advice, *command;
} slow_words[KINDS] = {
    [POOL] = {"held_tunnels", "Tunnels are held back by ", "Squid reads nothing from their servers for ", "",
              "delay_parameters: more bytes a second for that pool. delay_access: which requests are in it.",
              "sqtrace-dump --columns=time_s,xid,server,tunnel_ns,tunnel_held_ns,sent_bytes "
              "--where='tunnel_held_ns > 300ms' TRACE"},
    [FIRST] =
        {"late_tunnels", "Tunnels wait for the first bytes of ", "they come ", " after the client's",
         "In TLS that is its handshake. Ask that server without Squid (openssl s_client). If it is quick there, look "
         "at the way from Squid to it.",
         "sqtrace-dump --columns=time_s,xid,server,tunnel_first_ns --where='tunnel_first_ns > 300ms' TRACE"},
    [UPLOAD] = {"slow_tunnel_uploads", "What clients send through tunnels waits to be taken by ", "it waits ",
                " longer than its bytes need at 1 MB/s",
                "That server, or the way to it. If tunnels to all servers are so: the line.",
                "sqtrace-dump --columns=time_s,xid,server,tunnel_unsent_ns --where='tunnel_unsent_ns > 300ms' TRACE"},
    [REST] =
        {"slow_tunnels", "What comes through tunnels is slow from ",
         "the rest of what the server had begun to send comes ", " later than its bytes need at 1 MB/s",
         "That server, or the way to it: ask it without Squid. If tunnels to all servers are so: the line.",
         "sqtrace-dump --columns=time_s,xid,server,tunnel_rest_ns,sent_bytes --where='tunnel_rest_ns > 300ms' TRACE"},
};

struct slow_name {
    struct sqt_name_entry named;
    uint32_t series;
    uint64_t count, slow; /* tunnels that the kind is known of */
    double ns, slow_ns;
};

struct slow_tunnels {
    struct sqt_names names[KINDS];
    struct slow_name all[KINDS]; /* has no name */
    uint32_t series;
    struct sqt_when when; /* series 1: all tunnels; then each name's slow ones */
};

static void
slow_tunnels_count(struct slow_tunnels *t, struct slow_name *n, int64_t begin, double ns)
{
    if (!n->series)
        n->series = 2 + t->series++;
    ++n->count;
    n->ns += ns;
    if (ns < EACH)
        return;
    ++n->slow;
    n->slow_ns += ns;
    sqt_when_add(&t->when, n->series, begin, (uint64_t)ns, 1);
}

static void
slow_tunnels_add(struct slow_tunnels *t, enum slow_kind kind, const char *name, int64_t begin, double ns)
{
    t->names[kind].size = sizeof(struct slow_name);
    t->names[kind].most = SERVERS;
    slow_tunnels_count(t, sqt_names_get(&t->names[kind], name), begin, ns);
    slow_tunnels_count(t, &t->all[kind], begin, ns);
}

/* What it took beyond what its bytes need at SQT_FINDING_RATE. */
static double
slow_tunnels_beyond(const struct sqt_request_fact *fact, int64_t ns, int64_t bytes)
{
    const int64_t open = fact->row[SQT_CELL(requests, tunnel_ns)].number;
    const double beyond = (double)ns - (double)bytes / SQT_FINDING_RATE * 1e9;
    return bytes == SQT_MISSING || open == SQT_CELL_MISSING || beyond * 100 < (double)open * OF_TUNNEL ? 0 : beyond;
}

static void
slow_tunnels_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct slow_tunnels *const t = state;
    char pool[32];
    const char *const server =
        xact->server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->server);
    (void)felt; /* the time until it was open */
    if (fact->class != SQT_CLASS_TUNNEL || xact->tunnel_held == SQT_MISSING || xact->tunnel_unsent == SQT_MISSING)
        return;
    sqt_when_add(&t->when, 1, xact->begin, 0, 1);
    snprintf(pool, sizeof(pool), "delay pool %u", (unsigned)xact->tunnel_pool);
    if (xact->tunnel_pool)
        slow_tunnels_add(t, POOL, pool, xact->begin, (double)xact->tunnel_held);
    if (!server)
        return;
    slow_tunnels_add(t, UPLOAD, server, xact->begin,
                     slow_tunnels_beyond(fact, xact->tunnel_unsent, xact->tunnel_uploaded));
    if (xact->tunnel_rest == SQT_MISSING)
        return; /* it has no TLS */
    slow_tunnels_add(t, REST, server, xact->begin, slow_tunnels_beyond(fact, xact->tunnel_rest, xact->tunnel_came));
    if (xact->tunnel_first != SQT_MISSING && xact->tunnel_uploaded > 0) {
        /* What a pool held back may be the first bytes. */
        const double first = (double)xact->tunnel_first - (double)xact->tunnel_held;
        slow_tunnels_add(t, FIRST, server, xact->begin, first < 0 ? 0 : first);
    }
}

static int
slow_tunnels_are_slow(enum slow_kind kind, const struct slow_name *n)
{
    return n->slow >= LEAST && n->slow * 100 >= n->count * (kind == POOL ? SHARE : SHARE_OF_SERVER);
}

/* Whether its tunnels are slow, and those of others are not so slow. */
static int
slow_tunnels_stands_out(const struct slow_tunnels *t, enum slow_kind kind, const struct slow_name *n)
{
    const double others = t->all[kind].ns - n->ns, count = (double)(t->all[kind].count - n->count);
    return !sqt_names_is_others(&n->named) && slow_tunnels_are_slow(kind, n) &&
           (kind == POOL || count < LEAST || n->ns * count >= TIMES * others * (double)n->count);
}

static void
slow_tunnels_told(const struct slow_tunnels *t, enum slow_kind kind, const struct slow_name *n, const char *name,
                  struct sqt_tolds *tolds)
{
    const struct slow_words *const words = &slow_words[kind];
    char each[SQT_HUMAN_ROOM];
    struct sqt_told *const told = sqt_tolds_add(tolds, words->cause, SQT_HARM_WAITING, sqt_told_ns(n->slow_ns));
    if (!told)
        return;
    sqt_spell_tell(told, &t->when, n->series, 1);
    snprintf(told->culprit, sizeof(told->culprit), "%s", name);
    told->requests = n->slow;
    told->waiting = sqt_told_ns(n->slow_ns);
    sqt_human_time(each, n->slow_ns / (double)n->slow, " ", "us");
    sqt_told_print(told->sentence, "%s%s: in %llu of %llu %s%s%s.", words->before,
                   n == &t->all[kind] ? "servers" : name, (unsigned long long)n->slow, (unsigned long long)n->count,
                   words->what, each, words->after);
    sqt_told_print(told->advice, "%s", words->advice);
    sqt_told_print(told->command, "%s", words->command);
}

static void
slow_tunnels_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const all[KINDS] = {
        [FIRST] = "servers", [UPLOAD] = "line to servers", [REST] = "line to servers"};
    struct slow_tunnels *const t = state;
    (void)totals;
    sqt_when_sort(&t->when);
    for (unsigned kind = 0; kind < KINDS; ++kind) {
        int told = 0;
        for (const struct sqt_name_entry *named = t->names[kind].first; named; named = named->next) {
            const struct slow_name *const n = (const struct slow_name *)named;
            if (!slow_tunnels_stands_out(t, (enum slow_kind)kind, n))
                continue;
            slow_tunnels_told(t, (enum slow_kind)kind, n, named->name, tolds);
            told = 1;
        }
        if (!told && all[kind] && slow_tunnels_are_slow((enum slow_kind)kind, &t->all[kind]))
            slow_tunnels_told(t, (enum slow_kind)kind, &t->all[kind], all[kind], tolds);
    }
    sqt_when_free(&t->when);
}

static void
slow_tunnels_end(void *state)
{
    struct slow_tunnels *const t = state;
    for (unsigned kind = 0; kind < KINDS; ++kind)
        sqt_names_free(&t->names[kind]);
    sqt_when_free(&t->when);
}

const struct sqt_look sqt_look_slow_tunnels = {.size = sizeof(struct slow_tunnels),
                                               .request = slow_tunnels_request,
                                               .tell = slow_tunnels_tell,
                                               .end = slow_tunnels_end};
