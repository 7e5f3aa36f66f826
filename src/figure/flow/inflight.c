/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * inflight.c - requests for an object that is on its way already, because another request fetches it.
 *
 *     joined          it is sent what has come of the reply, and waits for the rest: for that fetch's server
 *     fetched, too    Squid asks the server again; if that takes much longer than a fetch alone, they are in each other's way
 *     in vain         with collapsed_forwarding it waits for the reply, may not have it, and asks the server after all
 *
 * Of a reply that several requests share Squid reads no more than read_ahead_gap beyond what the slowest client has taken: then
 * those that joined wait for that client.
 *
 * Requests are known when they end: one that joined may end before the fetch does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"
#include "figure/stat/sparse.h"

/* Objects that are remembered: one takes the place of another. */
#define OBJECTS 8192
#define SERVERS 1024
/* A reply that waits less is not on its way from a server, ns. */
#define JOINED INT64_C(1000000)
/* So many requests, and that part of the time of all, in %. */
#define LEAST 10
#define SHARE 20
/* A fetch beside others takes so many times as long as one alone. */
#define TIMES 2
/* A client that takes a reply for so long, ns, is slow if that is so much of its time, in %.  It is told where so much of what
 * those who joined wait for is such a client's, in %. */
#define TAKES INT64_C(1000000000)
#define TAKES_SHARE 60
#define HELD_SHARE 60

struct inflight_server {
    struct sqt_name_entry named;
    struct inflight_kind {
        uint64_t count;
        double ns;
        int64_t since, until;
    } alone, beside, joined, vain, held; /* held: those of joined whose fetch a slow client shares */
    uint64_t most;                       /* fetches of an object at once */
};

struct inflight_object {
    uint64_t object;
    const struct sqt_origin *origin;
    struct inflight_server *server; /* of the last fetch that has ended; NULL: none has */
    int64_t until, alive;           /* its client's end, and the last end of those who joined it */
    uint64_t at_once;               /* fetches that overlap with it, one by one */
    struct inflight_kind waiting;   /* requests that joined, and whose fetch has not ended */
    int64_t slow_until;             /* a client took it slowly up to then; 0: none did */
    struct inflight_kind last;      /* requests that joined the last fetch */
    int held;                       /* a slow client took its reply, too */
};

struct inflight {
    struct sqt_sparse objects; /* OBJECTS of struct inflight_object */
    struct sqt_names servers;
};

static struct inflight_object *
inflight_object(struct inflight *f, const struct sqt_xact *xact)
{
    f->servers.size = sizeof(struct inflight_server);
    f->servers.most = SERVERS;
    struct inflight_object *const o =
        sqt_sparse_at(&f->objects, OBJECTS, sizeof(struct inflight_object), xact->object % OBJECTS);
    if (o->object != xact->object || o->origin != xact->origin)
        *o = (struct inflight_object){.object = xact->object, .origin = xact->origin};
    return o;
}

static void
inflight_add(struct inflight_kind *kind, uint64_t count, double ns, int64_t since, int64_t until)
{
    kind->since = !kind->count || since < kind->since ? since : kind->since;
    kind->until = until > kind->until ? until : kind->until;
    kind->count += count;
    kind->ns += ns;
}

/* Whether its client took the reply slowly. */
static int
is_taken_slowly(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const int64_t writing = sqt_row_sum(fact->row, SQT_NS(proxy_reply));
    return writing >= TAKES && (double)writing * 100 >= (double)(xact->end - xact->begin) * TAKES_SHARE;
}

/* Those who joined the last fetch wait for a slow client. */
static void
inflight_hold(struct inflight_object *o)
{
    if (!o->held && o->last.count)
        inflight_add(&o->server->held, o->last.count, o->last.ns, o->last.since, o->last.until);
    o->held = 1;
}

/* Who takes a reply slowly that another request fetches; it may do so for longer than that one. */
static void
inflight_slow(struct inflight_object *o, const struct sqt_xact *xact)
{
    o->slow_until = xact->end;
    if (o->server && xact->begin < o->alive)
        inflight_hold(o);
}

/* Who waits for the rest of a reply that another request fetches. */
static void
inflight_joined(struct inflight_object *o, const struct sqt_xact *xact, int64_t waited)
{
    if (o->server && xact->begin < o->alive && xact->end >= o->until) {
        inflight_add(&o->server->joined, 1, (double)waited, xact->begin, xact->end);
        if (o->held)
            inflight_add(&o->server->held, 1, (double)waited, xact->begin, xact->end);
        else
            inflight_add(&o->last, 1, (double)waited, xact->begin, xact->end);
        o->alive = xact->end; /* the fetch goes on, though its client has left */
    } else {
        if (xact->begin > o->waiting.until) /* of a fetch that was over */
            o->waiting = (struct inflight_kind){0, 0, 0, 0};
        inflight_add(&o->waiting, 1, (double)waited, xact->begin, xact->end);
    }
}

static void
inflight_fetched(struct inflight_object *o, struct inflight_server *server, const struct sqt_xact *xact, double ns,
                 int keeps, int slow)
{
    const int64_t from = xact->server_from;
    const int beside = o->server == server && from < o->until;
    const int held = slow || o->slow_until > from;
    o->last = (struct inflight_kind){0, 0, 0, 0};
    if (o->waiting.count && o->waiting.until > from) {
        o->last = o->waiting;
        inflight_add(&server->joined, o->last.count, o->last.ns, o->last.since, o->last.until);
    }
    o->waiting = (struct inflight_kind){0, 0, 0, 0};
    o->slow_until = o->held = 0;
    o->at_once = beside ? o->at_once + 1 : 1;
    if (keeps)
        inflight_add(beside ? &server->beside : &server->alone, 1, ns, xact->begin, xact->end);
    server->most = keeps && o->at_once > server->most ? o->at_once : server->most;
    o->server = server;
    o->until = o->alive = xact->end;
    if (held)
        inflight_hold(o);
}

static void
inflight_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    const int64_t waited = sqt_row_sum(fact->row, SQT_NS(reply_wait));
    (void)felt;
    if (!xact->object || fact->class == SQT_CLASS_TUNNEL)
        return;
    struct inflight_object *const o = inflight_object(state, xact);
    if (xact->server_from == SQT_MISSING) {
        if (is_taken_slowly(xact, fact))
            inflight_slow(o, xact);
        else if (waited >= JOINED)
            inflight_joined(o, xact, waited);
        return;
    }
    struct inflight_server *const server = sqt_names_get(&((struct inflight *)state)->servers, name ? name : "");
    const int64_t followed = sqt_row_sum(fact->row, SQT_NS(collapsed_wait));
    if (followed >= JOINED)
        inflight_add(&server->vain, 1, (double)followed, xact->begin, xact->end);
    inflight_fetched(o, server, xact, (double)sqt_row_sum(fact->row, SQT_SERVER_TIME),
                     !reason || strcmp(reason, "uncacheable") != 0, is_taken_slowly(xact, fact));
}

static int
inflight_is_felt(const struct inflight_kind *kind, const struct sqt_look_totals *totals)
{
    return kind->count >= LEAST && kind->ns * 100 >= (double)totals->total_ns * SHARE;
}

/* A finding of that kind; NULL: no room. */
static struct sqt_told *
inflight_told(struct sqt_tolds *tolds, const char *cause, const struct inflight_server *server,
              const struct inflight_kind *kind, double ns, const struct sqt_look_totals *totals)
{
    struct sqt_told *const told = sqt_tolds_add(tolds, cause, SQT_HARM_WAITING, sqt_told_ns(ns));
    if (!told)
        return NULL;
    snprintf(told->culprit, sizeof(told->culprit), "%s", server->named.name);
    told->since = kind->since;
    told->until = kind->until;
    told->requests = kind->count;
    told->waiting = sqt_told_ns(ns);
    told->share = sqt_percent(ns, (double)totals->total_ns);
    sqt_told_print(told->command, "sqtrace-dump --where='reply_wait_ns > 1ms or collapsed_wait_ns > 1ms' TRACE");
    return told;
}

static const char *
inflight_name(const struct inflight_server *server)
{
    return *server->named.name ? server->named.name : "a server";
}

/* Where most of them wait for a slow client, that is said instead. */
static void
inflight_tell_held(const struct inflight_server *server, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM];
    const struct inflight_kind *const kind = &server->held;
    struct sqt_told *const told = inflight_told(tolds, "slow_reader", server, kind, kind->ns, totals);
    if (!told)
        return;
    told->apart = 1;
    snprintf(told->culprit, sizeof(told->culprit), "clients");
    sqt_told_print(
        told->sentence,
        "%llu requests wait for the rest of a reply of %s that a slow client takes, too: %s each. Squid reads no more "
        "of a reply than read_ahead_gap beyond what the slowest of its clients has taken.",
        (unsigned long long)kind->count, inflight_name(server),
        sqt_human_time(each, kind->ns / (double)kind->count, " ", "us"));
    sqt_told_print(
        told->advice,
        "read_ahead_gap: larger, so that quick clients get ahead of the slow one; each reply may take as much "
        "memory. Which client that is: a request for the same object with a long proxy_reply_ns. What is in "
        "the cache as a whole waits for nobody.");
    sqt_told_print(told->command,
                   "sqtrace-dump --columns=time_s,object,server,total_ns,proxy_reply_ns --where='reply_wait_ns > 1s or "
                   "proxy_reply_ns > 1s' TRACE");
}

static void
inflight_tell_joined(const struct inflight_server *server, const char *place, const struct sqt_look_totals *totals,
                     struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"reply_wait", NULL};
    char each[SQT_HUMAN_ROOM];
    const struct inflight_kind *const kind = &server->joined;
    if (!inflight_is_felt(kind, totals))
        return;
    sqt_instead(tolds, rules, sqt_told_ns(kind->ns), SQT_INSTEAD);
    if (100 * server->held.ns >= HELD_SHARE * kind->ns) {
        inflight_tell_held(server, totals, tolds);
        return;
    }
    struct sqt_told *const told = inflight_told(tolds, "joined_fetch", server, kind, kind->ns, totals);
    if (!told)
        return;
    told->apart = 1;
    sqt_told_print(
        told->sentence,
        "%llu requests wait for the rest of a reply that another request fetches from %s already: %s each. What "
        "they wait for is %s, or the way there.",
        (unsigned long long)kind->count, inflight_name(server),
        sqt_human_time(each, kind->ns / (double)kind->count, " ", "us"), place);
    sqt_told_print(told->advice,
                   "Look at %s, and at the way there. A reply that stops halfway, while small ones pass, "
                   "is a path that loses large packets (MTU).",
                   place);
}

static void
inflight_tell_beside(const struct inflight_server *server, const struct sqt_look_totals *totals,
                     struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM], single[SQT_HUMAN_ROOM];
    const struct inflight_kind *const kind = &server->beside, *const alone = &server->alone;
    const double lone = alone->count ? alone->ns / (double)alone->count : 0;
    if (!inflight_is_felt(kind, totals) || !alone->count || kind->ns < TIMES * lone * (double)kind->count)
        return;
    struct sqt_told *const told =
        inflight_told(tolds, "fetched_at_once", server, kind, kind->ns - lone * (double)kind->count, totals);
    if (!told)
        return;
    sqt_told_print(
        told->sentence,
        "%llu fetches from %s are of an object that another request fetches already, up to %llu at once: they "
        "take %s, one alone %s.",
        (unsigned long long)kind->count, inflight_name(server), (unsigned long long)server->most,
        sqt_human_time(each, kind->ns / (double)kind->count, " ", "us"), sqt_human_time(single, lone, " ", "us"));
    sqt_told_print(told->advice,
                   "collapsed_forwarding on: one request asks the server, and the others wait for its reply.");
    sqt_told_print(told->command, "sqtrace-dump --columns=time_s,object,server,total_ns --where='tries > 0' TRACE");
    sqt_tolds_supersede(tolds, told);
}

static void
inflight_tell_vain(const struct inflight_server *server, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM];
    const struct inflight_kind *const kind = &server->vain;
    if (!inflight_is_felt(kind, totals))
        return;
    struct sqt_told *const told = inflight_told(tolds, "collapsed_in_vain", server, kind, kind->ns, totals);
    if (!told)
        return;
    sqt_told_print(
        told->sentence,
        "%llu requests wait %s each for the reply of another one (collapsed_forwarding), may not have it, and then "
        "ask %s themselves: they wait twice.",
        (unsigned long long)kind->count, sqt_human_time(each, kind->ns / (double)kind->count, " ", "us"),
        inflight_name(server));
    sqt_told_print(told->advice, "Replies of that server may not be stored or shared (private, no-store, Vary). "
                                 "collapsed_forwarding off spares the first wait.");
    sqt_tolds_supersede(tolds, told);
}

static void
inflight_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct inflight *const f = state;
    char name[] = "several servers";
    struct inflight_server all = {.named = {.name = name}};
    int one = 0;
    for (const struct sqt_name_entry *named = f->servers.first; named; named = named->next) {
        const struct inflight_server *const server = (const struct inflight_server *)named;
        const struct inflight_kind *const kind = &server->joined;
        if (kind->count)
            inflight_add(&all.joined, kind->count, kind->ns, kind->since, kind->until);
        if (server->held.count)
            inflight_add(&all.held, server->held.count, server->held.ns, server->held.since, server->held.until);
        one |= inflight_is_felt(kind, totals);
        if (sqt_names_is_others(named))
            continue;
        inflight_tell_joined(server, "that server", totals, tolds);
        inflight_tell_beside(server, totals, tolds);
        inflight_tell_vain(server, totals, tolds);
    }
    if (!one)
        inflight_tell_joined(&all, "those servers", totals, tolds);
}

static void
inflight_end(void *state)
{
    struct inflight *const f = state;
    sqt_names_free(&f->servers);
    sqt_sparse_free(&f->objects);
}

const struct sqt_look sqt_look_inflight = {
    .size = sizeof(struct inflight), .request = inflight_request, .tell = inflight_tell, .end = inflight_end};
