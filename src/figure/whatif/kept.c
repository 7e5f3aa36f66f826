/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kept.c - what it would bring to keep connections to servers, and DNS answers, or to keep them longer.
 *
 * Connections: requests are taken in the order in which they turned to servers.  One that is over gives its connection
 * back.  The next one for the same server takes the one that was given back last, if it is idle for less than the time-out:
 * so does Squid's pool (PconnPool::popStored()).  A request that may not be sent twice takes none, and closes one.  What is
 * saved is connecting, with TLS, of those that did connect.  To a limit is added by how much servers were slower on new
 * connections than on kept ones, in the mean.  A server keeps a connection no longer than the longest that it left idle
 * and then closed itself, once it has closed a few, and if Squid closed none that was idle for longer.  Else it is taken to
 * keep it.  So a longer time-out brings at most what is computed.
 *
 * DNS answers: a look-up is saved if the name of that server was looked up less than the new time before.  Requests that
 * never came to a server may have failed at the look-up: all their time in DNS counts as saved.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/memory.h"
#include "model/model.h"
#include "ordered.h"
#include "whatif.h"

/* Requests below which nothing is said. */
#define LEAST 1000
/* Connections that are followed for each server: of more, the oldest idle ones are forgotten.  And servers. */
#define IDLE_MOST 4096
#define SERVERS_MOST 4096
/* So many idle connections has a server closed whose own time-out is known. */
#define LEFT_LEAST 5
/* Of more requests, the server is not known: connections cannot be told apart. */
#define UNNAMED_MOST_PCT 5

#define SECOND INT64_C(1000000000)
#define IDLE_DEFAULT 60 /* seconds: server_idle_pconn_timeout */
#define DNS_DEFAULT 60  /* seconds: negative_dns_ttl */

/* server_idle_pconn_timeout: times today's value. */
static const int64_t kept_times[] = {1, 2, 5, 20};
#define TIMES (sizeof(kept_times) / sizeof(*kept_times))
/* negative_dns_ttl: seconds. */
static const int64_t kept_answers[] = {600, 3600, 86400};
#define ANSWERS (sizeof(kept_answers) / sizeof(*kept_answers))

/* What a request wanted from a server. */
struct want {
    int64_t begin, end; /* of the time with servers; without any, begin is when it was over, and end is before */
    uint64_t server;    /* 0: not known */
    int64_t connecting, looking_up;
    unsigned char reused;  /* it was on a kept connection */
    unsigned char may_use; /* it may be sent on a kept connection */
    unsigned char keeps;   /* its connection may be kept */
};

/* Connections of a server that are idle, or will be. */
struct idle {
    int64_t *since; /* when each became idle, in this order */
    size_t first, count, room;
};

struct server {
    struct idle idle[TIMES];
    int64_t asked[ANSWERS]; /* when its name was looked up last; INT64_MIN: never */
    uint64_t left;          /* idle connections that it closed, with or without a reset */
    int64_t left_idle;      /* the longest that one of these was idle, in ns */
    int64_t closed_idle;    /* the same of those that Squid closed */
    struct server *next;
};

struct sqt_whatif_kept {
    struct sqt_job *job;
    struct sqt_ordered wants;
    struct sqt_idmap servers;
    struct server *list;
    size_t server_count;
    const struct sqt_origin *origin; /* of the last request */
    struct sqt_settings settings;
    int begun, of_log;
    int64_t first, last;
    uint64_t requests, unnamed, reused;
    uint64_t would[TIMES], spared[TIMES], lookups, less[ANSWERS];
    double asking[2]; /* ns: on new connections, and on kept ones */
    double saved[TIMES], answers[ANSWERS];
};

static int64_t
kept_timeout(const struct sqt_whatif_kept *k)
{
    return k->settings.idle_timeout == SQT_UNSET ? IDLE_DEFAULT : k->settings.idle_timeout;
}

/* ---- idle connections ---- */

static int
idle_take(struct idle *idle, int64_t now, int64_t keep)
{
    while (idle->first < idle->count && idle->since[idle->first] <= now - keep)
        ++idle->first;
    for (size_t i = idle->count; i > idle->first; --i)
        if (idle->since[i - 1] <= now) {
            memmove(&idle->since[i - 1], &idle->since[i], (idle->count-- - i) * sizeof(*idle->since));
            return 1;
        }
    return 0;
}

static void
idle_make_room(struct idle *idle)
{
    if (idle->count < idle->room)
        return;
    if (!idle->first && idle->room < IDLE_MOST) {
        idle->room = idle->room ? 2 * idle->room : 8;
        idle->since = sqt_resized(idle->since, idle->room * sizeof(*idle->since));
        return;
    }
    if (!idle->first)
        idle->first = 1;
    idle->count -= idle->first;
    memmove(idle->since, idle->since + idle->first, idle->count * sizeof(*idle->since));
    idle->first = 0;
}

static void
idle_put(struct idle *idle, int64_t since)
{
    idle_make_room(idle);
    size_t place = idle->count++;
    for (; place > idle->first && idle->since[place - 1] > since; --place)
        idle->since[place] = idle->since[place - 1];
    idle->since[place] = since;
}

/* ---- replay ---- */

/* NULL: too many. */
static struct server *
kept_server(struct sqt_whatif_kept *k, uint64_t id)
{
    struct server *s = id ? sqt_idmap_get(&k->servers, id) : NULL;
    if (s || !id || k->server_count == SERVERS_MOST)
        return s;
    s = sqt_zeroed(1, sizeof(*s));
    for (unsigned i = 0; i < ANSWERS; ++i)
        s->asked[i] = INT64_MIN;
    s->next = k->list;
    k->list = s;
    ++k->server_count;
    sqt_idmap_put(&k->servers, id, s);
    return s;
}

static int
server_leaves(const struct server *s)
{
    return s->left >= LEFT_LEAST && s->left_idle >= s->closed_idle;
}

static void
kept_connection(struct sqt_whatif_kept *k, struct server *s, const struct want *w)
{
    const int64_t timeout = kept_timeout(k) * SECOND;
    for (unsigned i = 0; i < TIMES; ++i) {
        const int64_t kept = timeout * kept_times[i];
        const int found =
            idle_take(&s->idle[i], w->begin, server_leaves(s) && s->left_idle < kept ? s->left_idle : kept);
        if (found && w->may_use) {
            ++k->would[i];
            if (!w->reused) {
                ++k->spared[i];
                k->saved[i] += (double)w->connecting;
            }
        }
        if (w->keeps)
            idle_put(&s->idle[i], w->end);
    }
}

static void
kept_answer(struct sqt_whatif_kept *k, struct server *s, const struct want *w)
{
    ++k->lookups;
    for (unsigned i = 0; i < ANSWERS; ++i) {
        if (!s || (s->asked[i] != INT64_MIN && w->begin - w->looking_up - s->asked[i] < kept_answers[i] * SECOND)) {
            ++k->less[i];
            k->answers[i] += (double)w->looking_up;
        } else {
            s->asked[i] = w->begin;
        }
    }
}

static void
kept_want(void *context, const void *item)
{
    struct sqt_whatif_kept *const k = context;
    const struct want *const w = item;
    if (!k->begun) {
        k->begun = 1;
        sqt_whatif_settings_of(k->job, &k->settings, k->origin);
    }
    struct server *const s = kept_server(k, w->server);
    if (s && w->end >= w->begin)
        kept_connection(k, s, w);
    if (w->looking_up > 0)
        kept_answer(k, s, w);
}

/* ---- requests ---- */

/* 0: not known. */
static uint64_t
kept_server_id(const struct sqt_origin *origin, uint32_t server)
{
    return server == UINT32_MAX ? 0 : ((uint64_t)origin->index << 32) + server + 1;
}

/* Squid keeps a body for no second try, so it sends such a request on a new connection only. */
static int
kept_may_use(const struct sqt_xact *x)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"};
    const char *const method = x->method == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_METHOD, x->method);
    for (unsigned i = 0; method && i < sizeof(methods) / sizeof(*methods); ++i)
        if (strcmp(method, methods[i]) == 0)
            return 1;
    return 0;
}

struct sqt_whatif_kept *
sqt_whatif_kept_new(struct sqt_job *job)
{
    struct sqt_whatif_kept *const k = sqt_zeroed(1, sizeof(*k));
    k->job = job;
    k->first = INT64_MAX;
    k->last = INT64_MIN;
    sqt_whatif_settings(job, &k->settings);
    sqt_ordered_init(&k->wants, sizeof(struct want), kept_want, k);
    return k;
}

void
sqt_whatif_kept_request(struct sqt_whatif_kept *k, const struct sqt_xact *x)
{
    k->of_log |= x->of_log;
    const int64_t looking_up = x->stages.ns[SQT_STAGE_DNS];
    const int with_server = x->server_from != SQT_MISSING && x->server_until != SQT_MISSING;
    if (x->of_log || sqt_durations_unknown(x->outcome) || (!with_server && !looking_up))
        return;
    const struct want want = {
        .begin = with_server ? x->server_from : x->end,
        .end = with_server ? x->server_until : x->end - 1,
        .server = kept_server_id(x->origin, x->server),
        .connecting = x->stages.ns[SQT_STAGE_CONNECT] + x->stages.ns[SQT_STAGE_TLS],
        .looking_up = looking_up,
        .reused = x->reused == 1,
        .may_use = (unsigned char)kept_may_use(x),
        .keeps = x->outcome == SQT_OUTCOME_COMPLETE && !(x->flags & SQT_XACT_TUNNEL),
    };
    if (!sqt_whatif_believes(x->begin, want.begin) || want.end > x->end)
        return;
    ++k->requests;
    k->unnamed += !want.server;
    k->reused += want.reused;
    k->asking[want.reused] += (double)(x->stages.ns[SQT_STAGE_REQUEST_SEND] + x->stages.ns[SQT_STAGE_SERVER_WAIT] +
                                       x->stages.ns[SQT_STAGE_SERVER_REPLY]);
    k->origin = x->origin;
    k->first = x->begin < k->first ? x->begin : k->first;
    k->last = x->end > k->last ? x->end : k->last;
    sqt_ordered_put(&k->wants, &want, x->end);
}

void
sqt_whatif_kept_closed(struct sqt_whatif_kept *k, const struct sqt_closed_row *row)
{
    struct server *const s = row->idle == SQT_MISSING ? NULL : kept_server(k, kept_server_id(row->origin, row->server));
    if (!s)
        return;
    int64_t *const most = row->closer == SQT_CLOSER_SQUID ? &s->closed_idle : &s->left_idle;
    s->left += row->closer != SQT_CLOSER_SQUID;
    if (row->idle > *most)
        *most = row->idle;
}

/* ---- rows ---- */

#define CELL(name) row[SQT_CELL(whatif, name)]

static void
kept_row(const struct sqt_whatif_kept *k, const char *setting, const char *value, const char *now, double saved_ns,
         const char *bound, const char *method)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    const double hours = sqt_whatif_hours(k->first, k->last);
    sqt_whatif_clear(row);
    CELL(setting).text = setting;
    CELL(value).text = value;
    CELL(now_value).text = now;
    CELL(bound).text = bound;
    CELL(method).text = method;
    if (strcmp(bound, "refused") != 0 && hours > 0)
        CELL(saved_s_per_h).number = sqt_whatif_whole(saved_ns / hours);
    sqt_whatif_row(k->job, row, 1, 0);
}

static const char *
kept_refusal(const struct sqt_whatif_kept *k)
{
    return k->requests < LEAST ? "fewer than 1000 requests turn to servers"
           : k->unnamed * 100 > k->requests * UNNAMED_MOST_PCT
               ? "the servers of more than 5 % of the requests are not known: see names= of sqtrace_log"
           : k->server_count == SERVERS_MOST ? "more than 4096 servers"
                                             : NULL;
}

/* By how many ns servers were slower on new connections. */
static double
kept_slower(const struct sqt_whatif_kept *k)
{
    const uint64_t new = k->requests - k->reused;
    const double slower = new && k->reused ? k->asking[0] / (double)new - k->asking[1] / (double)k->reused : 0;
    return slower > 0 ? slower : 0;
}

static void
kept_connections(const struct sqt_whatif_kept *k)
{
    static const char setting[] = "server_persistent_connections";
    const int64_t set = k->settings.server_persistent;
    const char *const refusal = kept_refusal(k);
    char method[200], now[32], value[32];
    const char *const why = refusal            ? refusal
                            : set == SQT_UNSET ? "the trace does not say whether it is on"
                            : set              ? "it is on"
                            : k->reused        ? "it is off, and kept connections were used all the same"
                                               : NULL;
    snprintf(method, sizeof(method),
             "%" PRIu64 " of %" PRIu64 " requests would have a kept connection, if servers keep them for %" PRId64
             " seconds, as Squid does",
             k->would[0], k->requests, kept_timeout(k));
    kept_row(k, setting, "on",
             set == SQT_UNSET ? NULL
             : set            ? "on"
                              : "off",
             k->saved[0], why ? "refused" : "forecast", why ? why : method);
    if (refusal || !set)
        return;
    snprintf(now, sizeof(now), "%" PRId64 " seconds", kept_timeout(k));
    const double slower = kept_slower(k);
    size_t leaving = 0;
    for (const struct server *s = k->list; s; s = s->next)
        leaving += server_leaves(s);
    for (unsigned i = 1; i < TIMES; ++i) {
        snprintf(value, sizeof(value), "%" PRId64 " seconds", kept_timeout(k) * kept_times[i]);
        snprintf(method, sizeof(method),
                 "%" PRIu64 " of %" PRIu64 " requests would have a kept connection instead of %" PRIu64
                 ", if servers keep them that long; of %zu servers, %zu close them earlier",
                 k->would[i] > k->reused ? k->would[i] : k->reused, k->requests, k->reused, k->server_count, leaving);
        kept_row(k, "server_idle_pconn_timeout", value, now, k->saved[i] + slower * (double)k->spared[i], "at_most",
                 method);
    }
}

static void
kept_dns(const struct sqt_whatif_kept *k)
{
    const int64_t set = k->settings.negative_dns_ttl == SQT_UNSET ? DNS_DEFAULT : k->settings.negative_dns_ttl;
    char method[200], now[32], value[32];
    snprintf(now, sizeof(now), "%" PRId64 " seconds", set);
    for (unsigned i = 0; i < ANSWERS; ++i) {
        if (kept_answers[i] <= set)
            continue;
        snprintf(value, sizeof(value), "%" PRId64 " seconds", kept_answers[i]);
        snprintf(method, sizeof(method),
                 "%" PRIu64 " of %" PRIu64
                 " requests that wait for DNS would not: it is the least time that Squid keeps "
                 "an answer; servers may have moved meanwhile",
                 k->less[i], k->lookups);
        kept_row(k, "negative_dns_ttl", value, now, k->answers[i], "at_most", method);
    }
}

void
sqt_whatif_kept_finish(struct sqt_whatif_kept *k)
{
    sqt_ordered_finish(&k->wants);
    if (k->of_log)
        kept_row(k, "server_persistent_connections", "on", NULL, 0, "refused",
                 "an access.log does not say how long connecting takes");
    else if (k->requests) {
        kept_connections(k);
        if (k->requests >= LEAST && k->server_count < SERVERS_MOST)
            kept_dns(k);
    }
    for (struct server *s = k->list, *next; s; s = next) {
        next = s->next;
        for (unsigned i = 0; i < TIMES; ++i)
            free(s->idle[i].since);
        free(s);
    }
    sqt_idmap_free(&k->servers);
    free(k);
}
