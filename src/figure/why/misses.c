/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * misses.c - requests that are never hits because squid.conf forbids it, while others are: `cache deny` and send_hit.
 *
 * A request that matches `cache deny` has no key in the store, so the trace does not say whether its object was asked for
 * before.  As many of them would be hits as of the others are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "misses.h"
#include "figure/stat/names.h"
#include "row/facts.h"

/* So many requests, that share of the time of all requests in %, and ns of servers for each in the mean. */
#define LEAST 20
#define LEAST_SHARE 20
#define LEAST_EACH INT64_C(20000000)
/* A server is the culprit if that part of them is its own, in %. */
#define OF_ONE 90
#define SERVERS 1024
/* That part of what waits for servers, in %, is told first. */
#define LARGE 40

enum misses_kind { CACHE_DENY, SEND_HIT, KINDS };

static const struct misses_words {
    const char *reason, *cause, *directive, *because, *advice, *command;
} misses_words[KINDS] = {
    [CACHE_DENY] = {"cache_deny", "cache_denied", "cache deny",
                    "because a rule `cache deny` of squid.conf matches them",
                    "cache: is that rule still meant? Its ACL matches what clients ask for again and again.",
                    "sqtrace-dump --where='miss_reason == cache_deny' TRACE"},
    [SEND_HIT] = {
        "unusable", "hits_denied", "send_hit or unusable entries",
        "although the cache has an entry for what they ask for: send_hit forbids it, or the entry cannot be used "
        "(it is being removed, was cut off, or is an error past its negative_ttl)",
        "send_hit: is that rule still meant? Without one: look in cache.log for entries that are damaged, and "
        "at negative_ttl if servers answer with errors.",
        "sqtrace-dump --where='miss_reason == unusable' TRACE"}};

struct misses_group {
    uint64_t count, ns; /* ns: of servers */
    int64_t since, until;
};

struct misses_server {
    struct sqt_name_entry named;
    struct misses_group of[KINDS];
};

struct misses {
    struct sqt_names servers; /* of struct misses_server */
    struct misses_group of[KINDS];
    uint64_t hits, others; /* and requests that no rule forbids to be hits */
};

static void
misses_add(struct misses_group *g, const struct sqt_xact *xact, int64_t ns)
{
    g->since = g->count && g->since < xact->begin ? g->since : xact->begin;
    g->until = g->until > xact->end ? g->until : xact->end;
    ++g->count;
    g->ns += (uint64_t)ns;
}

static void
misses_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct misses *const m = state;
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    const char *const server = fact->row[SQT_CELL(requests, server)].text;
    unsigned kind = 0;
    (void)felt; /* a hit saves what the server takes */
    while (kind < KINDS && !(reason && strcmp(reason, misses_words[kind].reason) == 0))
        ++kind;
    if (kind == KINDS || !server) {
        m->hits += 1u << fact->class & SQT_HITS ? 1 : 0;
        m->others += 1u << fact->class & (SQT_HITS | SQT_MISSES) ? 1 : 0;
        return;
    }
    m->servers.size = sizeof(struct misses_server);
    m->servers.most = SERVERS;
    const int64_t ns = sqt_row_sum(fact->row, SQT_SERVER_TIME);
    misses_add(&m->of[kind], xact, ns);
    misses_add(&((struct misses_server *)sqt_names_get(&m->servers, server))->of[kind], xact, ns);
}

/* The server that has nearly all of them; NULL: several have. */
static const char *
misses_server(const struct misses *m, enum misses_kind kind)
{
    for (const struct sqt_name_entry *named = m->servers.first; named; named = named->next)
        if (!sqt_names_is_others(named) &&
            ((const struct misses_server *)named)->of[kind].count * 100 >= m->of[kind].count * OF_ONE)
            return named->name;
    return NULL;
}

const char sqt_misses_purge_advice[] = "Who sends PURGE, and for what has not changed? The lines of that method in "
                                       "access.log say it. What changes often may "
                                       "rather have a short max-age, so that it is asked about and not fetched again.";

int
sqt_misses_is_purge(const struct sqt_xact *xact)
{
    const char *const method =
        xact->method == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_METHOD, xact->method);
    return xact->status == 200 && method && strcmp(method, "PURGE") == 0;
}

int
sqt_misses_about(const struct sqt_told *told, const char *server)
{
    static const char *const all[] = {"slow_servers", "far_servers"}, *const one[] = {"slow_server", "far_server",
                                                                                      "only_server"};
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); ++i)
        if (strcmp(told->cause, all[i]) == 0)
            return 1;
    for (unsigned i = 0; server && i < sizeof(one) / sizeof(*one); ++i)
        if (strcmp(told->cause, one[i]) == 0 && strcmp(told->culprit, server) == 0)
            return 1;
    return 0;
}

void
sqt_misses_take(struct sqt_tolds *tolds, const char *server, uint64_t servers, uint64_t ns)
{
    for (unsigned i = 0; i < tolds->count; ++i) {
        uint64_t *const weight = &tolds->told[i]->weight;
        if (!sqt_misses_about(tolds->told[i], server))
            continue;
        const int large = (double)ns * 100 >= (double)*weight * LARGE;
        *weight -= servers < *weight ? servers : *weight;
        *weight = large && ns && *weight >= ns ? ns - 1 : *weight;
    }
}

static void
misses_tell_one(const struct misses *m, enum misses_kind kind, const struct sqt_look_totals *totals,
                struct sqt_tolds *tolds)
{
    const struct misses_group *const g = &m->of[kind];
    const struct misses_words *const w = &misses_words[kind];
    const double hits = m->others ? (double)m->hits / (double)m->others : 0;
    const uint64_t ns = kind == CACHE_DENY ? (uint64_t)((double)g->ns * hits) : g->ns;
    const char *const server = misses_server(m, kind);
    char each[SQT_HUMAN_ROOM], whose[SQT_TOLD_NAME + 8] = "";
    if (g->count < LEAST || g->ns / g->count < (uint64_t)LEAST_EACH ||
        100.0 * (double)ns < (double)totals->total_ns * LEAST_SHARE)
        return;
    sqt_misses_take(tolds, server, g->ns, ns);
    struct sqt_told *const told = sqt_tolds_add(tolds, w->cause, SQT_HARM_WAITING, ns);
    if (!told)
        return;
    if (server)
        snprintf(whose, sizeof(whose), " to %s", server);
    snprintf(told->culprit, sizeof(told->culprit), "%s", server ? server : w->directive);
    told->since = g->since;
    told->until = g->until;
    told->requests = g->count;
    told->waiting = ns;
    told->share = sqt_percent((double)ns, (double)totals->total_ns);
    sqt_told_print(
        told->sentence,
        "%llu requests%s are no hits, %s. %s %s for each, again and again. Of all other requests, %.0f %% are "
        "hits.",
        (unsigned long long)g->count, whose, w->because, server ? "The server takes" : "Servers take",
        sqt_human_time(each, (double)g->ns / (double)g->count, " ", "us"), 100 * hits);
    sqt_told_print(told->advice, "%s", w->advice);
    sqt_told_print(told->command, "%s", w->command);
}

static void
misses_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    for (unsigned kind = 0; kind < KINDS; ++kind)
        misses_tell_one(state, (enum misses_kind)kind, totals, tolds);
}

static void
misses_end(void *state)
{
    sqt_names_free(&((struct misses *)state)->servers);
}

const struct sqt_look sqt_look_misses = {
    .size = sizeof(struct misses), .request = misses_request, .tell = misses_tell, .end = misses_end};
