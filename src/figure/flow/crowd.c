/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * crowd.c - servers that answer so many requests a second and no more: requests queue there, though one alone is answered
 * soon.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "ceiling.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* Servers that are looked at: each takes 64 KB. */
#define SERVERS 64
/* So many requests, that part of the time of all in %, and so many times as long as the quickest. */
#define LEAST 50
#define SHARE 10
#define TIMES 4
/* One after the other: so many answers, each to a request that had come before the DEPTH answers before it.  They come in
 * steps that deviate by that part of their mean at most, in %, and requests come in that part of it. */
#define DEPTH 4
#define STEPS 50
#define DEVIATE 50
#define FASTER 50
/* Answers that are kept, and how many of them show that a slow request did not hold up others: they came that part of its
 * time after it, and took that part of it at most, and were there before.  That is so of so many slow requests, in %. */
#define LAST 16
#define PASS 2
#define PART 4
#define PASSED 50
/* That part of those that wait ask for the same object, in %. */
#define ONE_OBJECT 60

struct crowd_server {
    struct sqt_name_entry named;
    struct sqt_ceiling ceiling;
    uint64_t count;
    double ns;
    int64_t quickest, since, until;
    struct {
        int64_t begin, answered[DEPTH]; /* the last ones, the newest first; 0: none */
        uint64_t count;
        double step, squares, begins; /* step: ns from answer to answer; begins: from request to request */
    } queue;
    struct crowd_span {
        int64_t begin, took;
    } last[LAST];          /* the last answers */
    uint64_t slow, passed; /* requests that took TIMES the quickest; of them, which others passed */
    struct {
        uint64_t object, votes, count, stale;
    } one; /* the object that most of the slow ones ask for, if one is; those that may be stored, and of them those that ask
              whether it has changed */
};

struct crowd {
    struct sqt_names servers;
};

/* Answers to requests that waited together. */
static void
crowd_step(struct crowd_server *server, const struct sqt_xact *xact)
{
    int64_t *const answered = server->queue.answered;
    if (xact->begin < answered[DEPTH - 1] && xact->end >= answered[0]) {
        const double step = (double)(xact->end - answered[0]);
        const int64_t begin = xact->begin - server->queue.begin;
        ++server->queue.count;
        server->queue.step += step;
        server->queue.squares += step * step;
        server->queue.begins += (double)(begin < 0 ? -begin : begin);
    }
    server->queue.begin = xact->begin;
    memmove(answered + 1, answered, (DEPTH - 1) * sizeof(*answered));
    answered[0] = xact->end;
}

/* Who comes later and is answered soon has not waited behind the slow one: it is slow itself, and no queue makes it so. */
static void
crowd_pass(struct crowd_server *server, const struct sqt_xact *xact, int64_t took)
{
    unsigned others = 0;
    const int64_t begin = xact->server_from;
    if (took / TIMES >= server->quickest) {
        for (unsigned i = 0; i < LAST; ++i)
            others += server->last[i].took && server->last[i].begin - begin >= took / PART &&
                      server->last[i].took <= took / PART;
        ++server->slow;
        server->passed += others >= PASS;
    }
    server->last[server->count % LAST] = (struct crowd_span){begin, took};
}

/* Most of those that wait may ask for the same object. */
static void
crowd_object(struct crowd_server *server, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    if (!server->one.votes) {
        server->one.object = xact->object;
        server->one.count = server->one.stale = 0;
    }
    const int same = server->one.object == xact->object;
    server->one.votes = same ? server->one.votes + 1 : server->one.votes - 1;
    if (!same || !xact->object || (reason && strcmp(reason, "uncacheable") == 0))
        return;
    ++server->one.count;
    server->one.stale += reason && strcmp(reason, "stale") == 0;
}

/* Adds that one request of them would do. */
static void
crowd_add_object(const struct crowd_server *server, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    char rest[sizeof(told->advice)];
    if (server->one.count < LEAST || server->one.count * 100 < server->slow * ONE_OBJECT)
        return;
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " %llu of the %llu that wait longest ask for one object, while others fetch it%s.",
             (unsigned long long)server->one.count, (unsigned long long)server->slow,
             2 * server->one.stale > server->one.count
                 ? ": it had expired (stale), and each asks again until an answer is here"
                 : "");
    snprintf(rest, sizeof(rest), "%s", told->advice);
    sqt_told_print(told->advice,
                   "collapsed_forwarding on: one request asks the server for that object, and the others wait for its "
                   "answer, but not for whether an object with Vary has changed. A longer max-age, or refresh_pattern, "
                   "lets it expire less often. Else: %.600s",
                   rest);
}

/* Whether most slow requests are passed by others. */
static int
is_passed(const struct crowd_server *server)
{
    return server->passed * 100 > server->slow * PASSED;
}

/* Whether requests come faster than answers, which come in even steps: that is a queue. */
static int
is_queue(const struct crowd_server *server)
{
    const double count = (double)server->queue.count, mean = count > 0 ? server->queue.step / count : 0;
    const double variance = count > 0 ? server->queue.squares / count - mean * mean : 0;
    return server->queue.count >= STEPS && server->queue.begins * 100 <= server->queue.step * FASTER &&
           variance * 10000 <= mean * mean * DEVIATE * DEVIATE;
}

static void
crowd_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct crowd *const c = state;
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    const int64_t took = sqt_row_sum(fact->row, SQT_NS(server_wait));
    (void)felt;
    if (!name || took <= 0 || xact->server_from == SQT_MISSING || fact->class == SQT_CLASS_TUNNEL || xact->begin < 0)
        return;
    c->servers.size = sizeof(struct crowd_server);
    c->servers.most = SERVERS;
    struct crowd_server *const server = sqt_names_get(&c->servers, name);
    sqt_ceiling_add(&server->ceiling, xact->server_from, xact->server_from + took, 1);
    server->quickest = !server->count || took < server->quickest ? took : server->quickest;
    server->since = !server->count || xact->begin < server->since ? xact->begin : server->since;
    server->until = xact->end > server->until ? xact->end : server->until;
    crowd_pass(server, xact, took);
    if (took / TIMES >= server->quickest)
        crowd_object(server, xact, fact);
    server->ns += (double)took;
    ++server->count;
    crowd_step(server, xact);
}

static void
crowd_told(const struct crowd_server *server, const struct sqt_ceiling_mean *few, const struct sqt_ceiling_mean *many,
           const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char alone[SQT_HUMAN_ROOM], each[SQT_HUMAN_ROOM], step[SQT_HUMAN_ROOM];
    const double beyond = server->ns - (double)server->quickest * (double)server->count;
    struct sqt_told *const told = sqt_tolds_add(tolds, "queue_at_server", SQT_HARM_WAITING, sqt_told_ns(beyond));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", server->named.name);
    told->since = server->since;
    told->until = server->until;
    told->requests = server->count;
    told->waiting = sqt_told_ns(beyond);
    told->share = sqt_percent(beyond, (double)totals->total_ns);
    sqt_human_time(each, server->ns / (double)server->count, " ", "us");
    sqt_human_time(alone, (double)server->quickest, " ", "us");
    if (!few)
        sqt_told_print(
            told->sentence,
            "Requests queue at %s: several come at once, and it answers one at a time, one every %s. They wait %s "
            "each; the quickest was answered after %s.",
            server->named.name, sqt_human_time(step, server->queue.step / (double)server->queue.count, " ", "us"), each,
            alone);
    else
        sqt_told_print(
            told->sentence,
            "Requests queue at %s: with %.0f at once it answers %.0f a second, with %.0f at once %.0f. They wait %s "
            "each; the quickest was answered after %s.",
            server->named.name, few->at_once, few->rate, many->at_once, many->rate, each, alone);
    sqt_told_print(
        told->advice,
        "That server is full, not slow: send it less, or give it more room. cache_peer: a second one, if it is a "
        "parent; max-conn= bounds what it gets at once. collapsed_forwarding and longer refresh_pattern ask it less "
        "often.");
    crowd_add_object(server, told);
    sqt_finding_text(told->command, SQT_TOLD_TEXT, "sqtrace-dump --where='{server}' TRACE",
                     &(struct sqt_finding_values){.culprit = server->named.name});
    sqt_tolds_supersede(tolds, told);
}

/* Whether all that come at once want one object: then that is told. */
static int
is_one_object(const struct sqt_tolds *tolds, const char *server)
{
    static const char *const causes[] = {"fetched_at_once", "collapsed_in_vain", "joined_fetch"};
    for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); ++i)
        if (sqt_tolds_find(tolds, causes[i], server, 0))
            return 1;
    return 0;
}

static void
crowd_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct crowd *const c = state;
    struct sqt_ceiling_mean few, many;
    for (struct sqt_name_entry *named = c->servers.first; named; named = named->next) {
        struct crowd_server *const server = (struct crowd_server *)named;
        if (!sqt_names_is_others(named) && server->count >= LEAST && !is_passed(server) &&
            server->ns * 100 >= (double)totals->total_ns * SHARE &&
            server->ns >= (double)server->quickest * TIMES * (double)server->count) {
            if (sqt_ceiling_is_reached(&server->ceiling, &few, &many))
                crowd_told(server, &few, &many, totals, tolds);
            else if (is_queue(server) && !is_one_object(tolds, named->name))
                crowd_told(server, NULL, NULL, totals, tolds);
        }
    }
}

static void
crowd_end(void *state)
{
    struct crowd *const c = state;
    for (struct sqt_name_entry *named = c->servers.first; named; named = named->next)
        sqt_ceiling_free(&((struct crowd_server *)named)->ceiling);
    sqt_names_free(&c->servers);
}

const struct sqt_look sqt_look_crowd = {
    .size = sizeof(struct crowd), .request = crowd_request, .tell = crowd_tell, .end = crowd_end};
