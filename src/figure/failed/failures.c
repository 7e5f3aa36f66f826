/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures.c - requests that Squid answered with an error page, by what they failed at; and those that servers answered
 * with one.
 *
 * A request that fails without having asked anybody fails at what failed others shortly before: Squid remembers for a while
 * that a name cannot be looked up, or that a cache_peer is dead.
 */
#include "failures.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/harm/blame.h"
#include "figure/finding/findings.h"

/* Parents that are told by name. */
#define PEERS 4
/* Names of their own, of all that requests fail at. */
#define NAMES 1024
/* Who failed longer ago, in ns, is not blamed for a request that asked nobody. */
#define MINUTE INT64_C(60000000000)
/* While requests could use a dead cache_peer, Squid connects to it again: once a second at most, and one that never answers
 * about once in its connect_timeout.  So long after such an attempt, in ns, it is taken for dead. */
#define PROBES (2 * MINUTE)
/* Who fails within that time, in ns, was not asked over a network. */
#define AT_ONCE INT64_C(1000000)
/* Squid looks a cache_peer up again after so long, ns. */
#define HOUR (60 * MINUTE)
/* Types of queries for addresses. */
#define TYPE_A 1
#define TYPE_AAAA 28

struct failures {
    struct sqt_failed_requests all;
    struct sqt_blames blames;
    struct {
        char name[SQT_TOLD_NAME];
        enum sqt_failed_at failed_at;
        int64_t at; /* 0: never */
        int timed_out;
    } last; /* whom Squid may remember */
    struct {
        char name[SQT_TOLD_NAME];
        int64_t at;
    } own; /* the name server that failed a look-up of Squid's own; at 0: none did */
};

struct sqt_failure *
sqt_failure_get(struct sqt_failed_requests *all, enum sqt_failed_at at, const char *name)
{
    char key[SQT_TOLD_NAME + 8];
    struct sqt_names *const names = &all->names;
    names->size = sizeof(struct sqt_failure);
    /* What is kept of each server does not take the room of failures. */
    const int of_server = at == SQT_FAILED_CONNECT || at == SQT_FAILED_REFUSED || at == SQT_FAILED_ONE_METHOD;
    names->most = of_server ? NAMES : NAMES + NAMES / 4;
    snprintf(key, sizeof(key), "%u %s", at, name ? name : "");
    struct sqt_failure *failure = sqt_names_get(names, key);
    if (sqt_names_is_others(&failure->named)) { /* all others of a kind are of nobody in particular */
        names->most = UINT_MAX;
        snprintf(key, sizeof(key), "%u ", at);
        failure = sqt_names_get(names, key);
    }
    if (!failure->series)
        failure->series = SQT_FAILURES_SERIES + names->count;
    failure->at = at;
    return failure;
}

int
sqt_failed_is_peer(struct sqt_failed_requests *all, const char *name)
{
    return name && sqt_failure_get(all, SQT_FAILED_CONNECT, name)->peer;
}

static void
failures_remember(struct failures *f, enum sqt_failed_at failed_at, const char *name, int64_t at, int timed_out)
{
    f->last.failed_at = failed_at;
    f->last.at = at;
    f->last.timed_out = timed_out;
    snprintf(f->last.name, sizeof(f->last.name), "%s", name ? name : "");
}

/* Texts of a process go with it. */
static void
failures_keep(char kept[SQT_TOLD_NAME], const char *text)
{
    snprintf(kept, SQT_TOLD_NAME, "%s", text ? text : "");
}

static void
failures_wait(void *state, const struct sqt_wait *wait)
{
    struct failures *const f = state;
    sqt_blame_wait(&f->blames, wait);
    if (wait->def == SQT_DEF_WAITED && wait->stage == SQT_NAMED_REDIRECT)
        failures_keep(f->all.rewriter, sqt_origin_text(wait->origin, wait->def, wait->who));
    if (wait->def != SQT_DEF_WAITED || wait->stage != SQT_NAMED_DNS ||
        (wait->outcome != SQT_WAIT_TIMEOUT && wait->outcome != SQT_WAIT_ERR))
        return;
    if (!wait->xact && (wait->query == TYPE_A || wait->query == TYPE_AAAA)) {
        failures_keep(f->own.name, sqt_origin_text(wait->origin, wait->def, wait->who));
        f->own.at = wait->end;
    } else
        failures_remember(f, SQT_FAILED_LOOK_UP, sqt_origin_text(wait->origin, wait->def, wait->who), wait->end,
                          wait->outcome == SQT_WAIT_TIMEOUT);
}

static int
is_peer(const struct sqt_attempt *attempt)
{
    const char *const kind = sqt_origin_text(attempt->origin, SQT_DEF_PEER_KIND, attempt->peer_kind);
    return kind && strcmp(kind, "direct") != 0;
}

static void
failures_connected(const struct failures *f, struct sqt_failure *server, const struct sqt_attempt *attempt)
{
    if (server->count || f->all.at_once.count)
        server->connected += !attempt->reused;
    if (server->count)
        return;
    if (attempt->begin - server->made_since > MINUTE) {
        server->made_since = attempt->begin;
        server->made = server->kept = 0;
    }
    server->made += !attempt->reused;
    server->kept += (uint64_t)attempt->reused;
}

static void
failures_connection(void *state, const struct sqt_attempt *attempt)
{
    struct failures *const f = state;
    const char *const server =
        attempt->server == UINT32_MAX ? NULL : sqt_origin_text(attempt->origin, SQT_DEF_SERVER, attempt->server);
    if (is_peer(attempt) && server && strlen(server) < SQT_TOLD_NAME) {
        f->all.peers =
            f->all.peers.size ? f->all.peers : (struct sqt_names){.size = sizeof(struct sqt_name_entry), .most = PEERS};
        sqt_names_get(&f->all.peers, server);
        sqt_failure_get(&f->all, SQT_FAILED_CONNECT, server)->peer = 1;
    }
    f->all.direct |= !is_peer(attempt);
    if (attempt->outcome == SQT_OUTCOME_COMPLETE)
        failures_connected(f, sqt_failure_get(&f->all, SQT_FAILED_CONNECT, server), attempt);
    if (sqt_blame_attempt(&f->blames, attempt) && is_peer(attempt))
        failures_remember(f, SQT_FAILED_CONNECT, server, attempt->end, attempt->outcome == SQT_OUTCOME_TIMEOUT);
}

static void
failures_add(struct failures *f, struct sqt_failure *failure, uint32_t series, const struct sqt_xact *xact,
             int64_t felt)
{
    if (!failure->count) {
        failure->before = f->all.requests - 1;
        failure->reconfigured = f->all.reconfigured;
    }
    sqt_failed_apart_add(failure, xact);
    failure->first = failure->count && failure->first < xact->begin ? failure->first : xact->begin;
    failure->last = failure->count && failure->last > xact->begin ? failure->last : xact->begin;
    failure->status = failure->count ? failure->status : xact->status;
    failure->with_status += failure->status == xact->status;
    failure->fetched += (uint64_t)(xact->fetched > 0 ? xact->fetched : 0);
    failure->sent_least = failure->count && failure->sent_least < xact->sent ? failure->sent_least : xact->sent;
    failure->sent_most = failure->sent_most > xact->sent ? failure->sent_most : xact->sent;
    ++failure->count;
    if (failure->asked >= failure->count) {
        failure->between += failure->asked - failure->count > failure->well;
        failure->well = failure->asked - failure->count;
    }
    failure->felt += (uint64_t)felt;
    sqt_when_add(&f->all.when, series, xact->begin, (uint64_t)felt, 1);
    if (series == failure->series && failure->at == SQT_FAILED_CONNECT)
        sqt_when_add(&f->all.when, SQT_FAILURES_CONNECT, xact->begin, (uint64_t)felt, 1);
    if (series == failure->series && failure->at == SQT_FAILED_ANSWER)
        sqt_when_add(&f->all.when, SQT_FAILURES_ANSWER, xact->begin, (uint64_t)felt, 1);
}

const char *
sqt_failure_server(const struct sqt_xact *xact)
{
    return xact->server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->server);
}

/* Somebody failed it who is known. */
static struct sqt_failure *
failures_blamed(struct failures *f, const struct sqt_xact *xact, const struct sqt_blame *blame, int64_t felt)
{
    static const enum sqt_failed_at at[SQT_BLAMED] = {SQT_FAILED_SERVICE, SQT_FAILED_CONNECT, SQT_FAILED_TLS,
                                                      SQT_FAILED_LOOK_UP, SQT_FAILED_HELPER};
    const enum sqt_blamed blamed = (enum sqt_blamed)__builtin_ctz(blame->failed);
    const char *const name = sqt_blame_name(blame, blamed);
    const int data = !name && blamed == SQT_BLAMED_CONNECT && sqt_failure_server(xact);
    struct sqt_failure *const failure = sqt_failure_get(&f->all, at[blamed], data ? sqt_failure_server(xact) : name);
    failure->data += (unsigned)data;
    const int at_once = (blamed == SQT_BLAMED_CONNECT || blamed == SQT_BLAMED_SERVICE) && blame->took[blamed] < AT_ONCE;
    const enum sqt_why why = blamed != SQT_BLAMED_CONNECT ? SQT_WHY_UNKNOWN
                             : blame->begun || !at_once   ? sqt_why_of(blame->error)
                                                          : SQT_WHY_NO_SOCKET;
    ++failure->whys[why];
    failure->timed_out += blame->timed_out >> blamed & 1;
    if (blame->timed_out >> blamed & 1)
        sqt_failed_late(failure, blame->took[blamed]);
    failure->broken += blame->broken >> blamed & 1;
    failure->at_once += at_once;
    if (at_once && blamed == SQT_BLAMED_CONNECT) {
        ++f->all.at_once.whys[why];
        failures_add(f, &f->all.at_once, SQT_FAILURES_AT_ONCE, xact, felt);
    }
    return failure;
}

/* When Squid tried a dead neighbour last; 0: none is. */
static int64_t
failures_probed(const struct failures *f)
{
    int64_t at = 0;
    for (unsigned i = 0; i < SQT_FAILED_PEERS; ++i)
        if (*f->all.dead[i].name && !f->all.dead[i].lives && f->all.dead[i].at > at)
            at = f->all.dead[i].at;
    return at;
}

/* Squid makes a 504 without looking for a server only for a client that wants no server asked. */
static int
is_only_if_cached(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    return xact->status == 504 && xact->reused < 0 &&
           !sqt_row_sum(fact->row, SQT_NS(peer_select) | SQT_NS(dns) | SQT_NS(connect));
}

/* Nobody failed it who is known. */
static struct sqt_failure *
failures_unexplained(struct failures *f, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const struct sqt_longest_wait *const looked_up = &xact->longest[SQT_NAMED_DNS];
    if (is_only_if_cached(xact, fact))
        return sqt_failure_get(&f->all, SQT_FAILED_BY_SQUID, "only-if-cached");
    if (xact->reused < 0 && looked_up->def && sqt_row_sum(fact->row, SQT_NS(dns)))
        return sqt_failure_get(&f->all, SQT_FAILED_NO_ADDRESS,
                               sqt_origin_text(xact->origin, looked_up->def, looked_up->who));
    if (xact->reused >= 0) {
        struct sqt_failure *const failure = sqt_failure_get(&f->all, SQT_FAILED_ANSWER, sqt_failure_server(xact));
        failure->reused += xact->reused == 1;
        if (xact->status == 504) {
            ++failure->timed_out;
            if (xact->tries <= 1) /* else it may be the sum of several time-outs */
                sqt_failed_late(failure, sqt_row_sum(fact->row, SQT_NS(server_wait)));
        }
        return failure;
    }
    const int64_t probed = failures_probed(f);
    if (probed && probed >= f->last.at && xact->end - probed < PROBES)
        return sqt_failure_get(&f->all, SQT_FAILED_PEER, NULL);
    if (f->last.at && xact->end - f->last.at < MINUTE) {
        struct sqt_failure *const failure = sqt_failure_get(&f->all, f->last.failed_at, f->last.name);
        failure->timed_out += (uint64_t)f->last.timed_out;
        failure->kept_failure += f->last.failed_at == SQT_FAILED_LOOK_UP && !sqt_row_sum(fact->row, SQT_NS(dns));
        return failure;
    }
    if (f->own.at && xact->end - f->own.at < HOUR)
        return sqt_failure_get(&f->all, SQT_FAILED_OWN_NAME, f->own.name);
    return sqt_failure_get(&f->all, SQT_FAILED_NO_SERVER, NULL);
}

static void
failures_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct failures *const f = state;
    struct sqt_blame blame = {.failed = 0};
    struct sqt_failure *failure = NULL;
    const int blamed = sqt_blame_take(&f->blames, xact, &blame);
    const int made = (xact->flags & SQT_XACT_ERROR_PAGE) || xact->reply_source == SQT_REPLY_MADE;
    const int error = sqt_xact_got_error(xact);
    ++f->all.requests;
    sqt_failed_apart_all(&f->all, xact);
    if (sqt_failure_server(xact))
        ++sqt_failure_get(&f->all, SQT_FAILED_CONNECT, sqt_failure_server(xact))->asked;
    sqt_when_add(&f->all.when, SQT_FAILURES_ALL, xact->begin, (uint64_t)felt, 1);
    if (xact->status >= 400 && fact->class == SQT_CLASS_NEGATIVE_HIT)
        failure = error ? sqt_failure_get(&f->all, SQT_FAILED_KEPT, "negative_ttl") : NULL;
    else if (error && !made && xact->reused >= 0) {
        failure = sqt_failure_get(&f->all, SQT_FAILED_BY_SERVER, sqt_failure_server(xact));
        sqt_failure_answered(&f->all, xact, 1);
    } else if (error && !made)
        failure = NULL;
    else if (error)
        failure = blamed ? failures_blamed(f, xact, &blame, felt) : failures_unexplained(f, xact, fact);
    else
        failure = sqt_failure_other(&f->all, xact, fact, &blame);
    if (failure)
        failures_add(f, failure, failure->series, xact, felt);
    else
        sqt_failed_apart_well(&f->all, xact);
    sqt_limit_add(&f->all.spans, xact->begin, xact->end, failure && failure->at == SQT_FAILED_DENIED);
    if (failure && failure->at == SQT_FAILED_CUT)
        failures_add(f, &f->all.cut, SQT_FAILURES_CUT, xact, felt);
}

/* A neighbour was tried again; those that find no place are left out. */
static void
failures_probe(struct failures *f, const struct sqt_incident_row *row)
{
    const char *const name = sqt_incident_who(row);
    struct sqt_failed_peer *const peers = f->all.dead;
    unsigned i = 0;
    while (name && i < SQT_FAILED_PEERS && *peers[i].name && strcmp(peers[i].name, name) != 0)
        ++i;
    if (!name || i == SQT_FAILED_PEERS)
        return;
    snprintf(peers[i].name, sizeof(peers[i].name), "%s", name);
    peers[i].lives = !row->code;
    if (row->code)
        peers[i].error = (unsigned)row->code;
    peers[i].at = row->at;
}

/* Squid stops to use a service, or begins again. */
static void
failures_suspend(struct failures *f, const struct sqt_incident_row *row)
{
    struct sqt_failed_suspensions *const x =
        &sqt_failure_get(&f->all, SQT_FAILED_SERVICE, sqt_incident_who(row))->suspended;
    if (row->code != SQT_SERVICE_UP && !x->since) {
        ++x->count;
        x->since = row->at + !row->at;
    } else if (row->code == SQT_SERVICE_UP && x->since) {
        x->ns += row->at - x->since;
        x->since = 0;
    }
}

static void
failures_incident(void *state, const struct sqt_incident_row *row)
{
    if (row->event == SQT_EV_PEER_PROBED)
        failures_probe(state, row);
    if (row->event == SQT_EV_SERVICE_STATE)
        failures_suspend(state, row);
}

static void
failures_setup(void *state, const struct sqt_setup_row *row)
{
    struct failures *const f = state;
    if (row->event == SQT_EV_RECONFIGURE)
        f->all.reconfigured = row->at;
}

static void
failures_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct failures *const f = state;
    sqt_failures_tell(&f->all, totals->end, tolds);
}

static void
failures_end(void *state)
{
    struct failures *const f = state;
    sqt_names_free(&f->all.names);
    sqt_names_free(&f->all.peers);
    sqt_names_free(&f->all.methods);
    sqt_freed(f->all.spans.spans);
    sqt_when_free(&f->all.when);
    sqt_when_free(&f->all.kept);
    sqt_blames_free(&f->blames);
}

const struct sqt_look sqt_look_failures = {.size = sizeof(struct failures),
                                           .request = failures_request,
                                           .connection = failures_connection,
                                           .wait = failures_wait,
                                           .setup = failures_setup,
                                           .incident = failures_incident,
                                           .tell = failures_tell,
                                           .end = failures_end};
