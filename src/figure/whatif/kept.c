/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kept.c - what it would bring to keep connections to servers, or to keep them longer; and DNS answers.
 *
 * Connections: requests are taken in the order in which they turned to servers.  One that is over gives its connection
 * back.  The next one for the same server takes the one that was given back last, as from Squid's pool
 * (PconnPool::popStored()), but here no time-out closes any.  For how long it was idle says which time-outs would have left
 * it: those in front of it in the pool were idle for less, and a time-out that closes it closes all behind it, so the others
 * are the same with each time-out.  What is saved is connecting, with TLS, of those that did connect.  Numbers are kept by
 * server, and in steps of a quarter of an octave of today's time-out.
 *
 * A forecast, of what is off, counts requests that may be sent twice, and a connection that was seen before.  A limit
 * counts all, also those that might have had a connection from before the trace; and by how much that server was slower on
 * new connections than on kept ones, in the mean.  A server keeps a connection no longer than the longest that it left idle
 * and then closed itself, once it has closed a few, and if none was idle for longer that Squid closed or used.  Else it is
 * taken to keep it.
 *
 * DNS answers: a trace does not say which look-ups are of the same name, so all waiting for them counts.
 */
#include <inttypes.h>
#include <math.h>
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
#define SERVERS_MOST 4096
/* Connections of all servers that are followed: 32 MiB, as lists have room to grow. */
#define CONNECTIONS_MOST (1u << 20)
/* A server's own time-out is known from that number of idle connections which it closed. */
#define LEFT_LEAST 5
/* Of more requests, in %, the server is not known: connections cannot be told apart. */
#define UNNAMED_MOST 5
/* Of all requests, in %: by how much today's kept connections may be more, or fewer, than the replay has. */
#define OFF_MOST 20

#define SECOND INT64_C(1000000000)
#define IDLE_DEFAULT 60 /* seconds: server_idle_pconn_timeout */

/* server_idle_pconn_timeout: times today's value.  Steps: the first is below today's value, and OCTAVE of them double it. */
static const unsigned kept_times[] = {2, 4, 16};
#define TIMES (sizeof(kept_times) / sizeof(*kept_times))
#define OCTAVE 4
#define STEPS (1 + 4 * OCTAVE)

/* What a request wanted from a server. */
struct want {
    int64_t begin, end; /* of the time with servers */
    uint64_t server;    /* 0: not known */
    int64_t connecting;
    unsigned char reused;  /* it was on a kept connection */
    unsigned char may_use; /* it may be sent on a kept connection */
    unsigned char keeps;   /* its connection may be kept */
};

/* Times that grow and shrink at the end, or as a heap. */
struct times {
    int64_t *at;
    size_t count, room;
};

struct server {
    struct times used; /* connections in use: when each will be idle, the first as a heap has it */
    struct times idle; /* since when each is idle, the last one at the end */
    struct {
        uint64_t count,
            new; /* requests that have a connection; of these and of those that might have one: who connected */
        double ns, forecast_ns;
        uint64_t forecast;
    } steps[STEPS];
    double asking[2]; /* ns: on new connections, and on kept ones */
    uint64_t asked[2];
    uint64_t left;      /* idle connections that it closed, with or without a reset */
    int64_t left_idle;  /* the longest that one of these was idle, in ns */
    int64_t other_idle; /* the same of those that Squid closed, or used */
    struct server *next;
};

struct sqt_whatif_kept {
    struct sqt_job *job;
    struct sqt_ordered wants;
    struct sqt_idmap servers;
    struct server *list;
    size_t server_count, connections;
    struct sqt_settings settings;
    struct {
        unsigned char *seen; /* by index */
        size_t count;
    } origins; /* whose settings are known */
    int begun, of_log, differ, too_many;
    int64_t begin; /* of the first request that is replayed */
    int64_t first, last;
    uint64_t requests, unnamed, reused, lookups;
    double lookup_ns, unnamed_ns; /* unnamed: connecting */
};

/* ns */
static int64_t
kept_timeout(const struct sqt_whatif_kept *k)
{
    return (k->settings.idle_timeout == SQT_UNSET ? IDLE_DEFAULT : k->settings.idle_timeout) * SECOND;
}

/* ---- connections ---- */

static void
times_add(struct times *times, int64_t at)
{
    if (times->count == times->room) {
        times->room = times->room ? 2 * times->room : 8;
        times->at = sqt_resized(times->at, times->room * sizeof(*times->at));
    }
    times->at[times->count++] = at;
}

static void
heap_put(struct times *heap, int64_t at)
{
    times_add(heap, at);
    size_t place = heap->count - 1;
    for (size_t up; place && heap->at[up = (place - 1) / 2] > at; place = up)
        heap->at[place] = heap->at[up];
    heap->at[place] = at;
}

static int64_t
heap_take(struct times *heap)
{
    const int64_t first = heap->at[0], last = heap->at[--heap->count];
    size_t place = 0;
    for (size_t next; (next = 2 * place + 1) < heap->count; place = next) {
        next += next + 1 < heap->count && heap->at[next + 1] < heap->at[next];
        if (heap->at[next] >= last)
            break;
        heap->at[place] = heap->at[next];
    }
    heap->at[place] = last;
    return first;
}

/* How long the connection was idle that a request takes; -1: there is none. */
static int64_t
server_takes(struct sqt_whatif_kept *k, struct server *s, int64_t now)
{
    while (s->used.count && s->used.at[0] <= now)
        times_add(&s->idle, heap_take(&s->used));
    if (!s->idle.count)
        return -1;
    const int64_t since = s->idle.at[--s->idle.count];
    --k->connections;
    return since < now ? now - since : 0;
}

static void
server_keeps(struct sqt_whatif_kept *k, struct server *s, int64_t until)
{
    if (k->connections == CONNECTIONS_MOST) {
        k->too_many = 1;
        return;
    }
    ++k->connections;
    heap_put(&s->used, until);
}

/* Where a step begins, in ns. */
static double
kept_step_begin(unsigned step, int64_t timeout)
{
    static const double parts[OCTAVE] = {1, 1.189207115002721, 1.414213562373095, 1.681792830507429};
    return step ? (double)timeout * (double)(1u << (step - 1) / OCTAVE) * parts[(step - 1) % OCTAVE] : 0;
}

/* STEPS: longer than any time-out that is tried. */
static unsigned
kept_step(int64_t idle, int64_t timeout)
{
    unsigned step = 0;
    while (step < STEPS && (double)idle >= kept_step_begin(step + 1, timeout))
        ++step;
    return step;
}

static void
kept_connection(struct sqt_whatif_kept *k, struct server *s, const struct want *w)
{
    const int64_t timeout = kept_timeout(k), idle = server_takes(k, s, w->begin);
    const unsigned step = kept_step(idle >= 0 ? idle : w->begin - k->begin, timeout);
    if (idle >= 0 && w->reused && idle > s->other_idle && idle < timeout)
        s->other_idle = idle;
    if (w->keeps)
        server_keeps(k, s, w->end);
    if (step == STEPS)
        return;
    s->steps[step].count += idle >= 0;
    if (!w->reused) {
        ++s->steps[step].new;
        s->steps[step].ns += (double)w->connecting;
    }
    if (idle >= 0 && w->may_use) {
        ++s->steps[step].forecast;
        s->steps[step].forecast_ns += w->reused ? 0 : (double)w->connecting;
    }
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
    s->next = k->list;
    k->list = s;
    ++k->server_count;
    sqt_idmap_put(&k->servers, id, s);
    return s;
}

static void
kept_want(void *context, const void *item)
{
    struct sqt_whatif_kept *const k = context;
    const struct want *const w = item;
    struct server *const s = kept_server(k, w->server);
    if (!k->begun) {
        k->begun = 1;
        k->begin = w->begin;
    }
    if (s)
        kept_connection(k, s, w);
}

/* ---- requests ---- */

/* 0: not known, also where it is one of those that have no name of their own because there are too many. */
static uint64_t
kept_server_id(const struct sqt_origin *origin, uint32_t server)
{
    return server == UINT32_MAX || !server ? 0 : ((uint64_t)origin->index << 32) + server + 1;
}

/* Squid keeps a body for no second try, so it sends a request with one on a new connection only. */
static int
kept_may_use(const struct sqt_xact *x)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "CONNECT"};
    const char *const method = x->method == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_METHOD, x->method);
    for (unsigned i = 0; method && i < sizeof(methods) / sizeof(*methods); ++i)
        if (strcmp(method, methods[i]) == 0)
            return 0;
    return method != NULL;
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

/* Takes the settings of the first process, and compares those of the others. */
static void
kept_settings(struct sqt_whatif_kept *k, const struct sqt_origin *origin)
{
    struct sqt_settings settings;
    if (origin->index < k->origins.count && k->origins.seen[origin->index])
        return;
    if (origin->index >= k->origins.count) {
        const size_t count = origin->index + 16;
        k->origins.seen = sqt_resized(k->origins.seen, count);
        memset(k->origins.seen + k->origins.count, 0, count - k->origins.count);
        k->origins.count = count;
    }
    k->origins.seen[origin->index] = 1;
    sqt_whatif_settings(k->job, &settings);
    sqt_whatif_settings_of(k->job, &settings, origin);
    if (k->requests)
        k->differ |= settings.server_persistent != k->settings.server_persistent ||
                     settings.idle_timeout != k->settings.idle_timeout;
    else
        k->settings = settings;
}

void
sqt_whatif_kept_request(struct sqt_whatif_kept *k, const struct sqt_xact *x)
{
    k->of_log |= x->of_log;
    if (x->of_log || sqt_durations_unknown(x->outcome))
        return;
    const int64_t lookup = x->stages.ns[SQT_STAGE_DNS];
    k->lookups += lookup > 0;
    k->lookup_ns += (double)lookup;
    k->first = x->begin < k->first ? x->begin : k->first;
    k->last = x->end > k->last ? x->end : k->last;
    if (x->server_from == SQT_MISSING || x->server_until == SQT_MISSING)
        return;
    const struct want want = {
        .begin = x->server_from,
        .end = x->server_until,
        .server = kept_server_id(x->origin, x->server),
        .connecting = x->stages.ns[SQT_STAGE_CONNECT] + x->stages.ns[SQT_STAGE_TLS],
        .reused = x->reused == 1,
        .may_use = (unsigned char)kept_may_use(x),
        .keeps = x->outcome == SQT_OUTCOME_COMPLETE && !(x->flags & SQT_XACT_TUNNEL),
    };
    if (!sqt_whatif_believes(x->begin, want.begin) || want.end < want.begin || want.end > x->end)
        return;
    kept_settings(k, x->origin);
    ++k->requests;
    k->unnamed += !want.server;
    k->unnamed_ns += want.server ? 0 : (double)want.connecting;
    k->reused += want.reused;
    struct server *const s = kept_server(k, want.server);
    if (s) {
        ++s->asked[want.reused];
        s->asking[want.reused] += (double)(x->stages.ns[SQT_STAGE_REQUEST_SEND] + x->stages.ns[SQT_STAGE_SERVER_WAIT] +
                                           x->stages.ns[SQT_STAGE_SERVER_REPLY]);
    }
    sqt_ordered_put(&k->wants, &want, x->end);
}

void
sqt_whatif_kept_closed(struct sqt_whatif_kept *k, const struct sqt_closed_row *row)
{
    struct server *const s = row->idle == SQT_MISSING ? NULL : kept_server(k, kept_server_id(row->origin, row->server));
    if (!s)
        return;
    int64_t *const most = row->closer == SQT_CLOSER_SQUID ? &s->other_idle : &s->left_idle;
    s->left += row->closer != SQT_CLOSER_SQUID;
    if (row->idle > *most)
        *most = row->idle;
}

/* ---- rows ---- */

#define CELL(name) row[SQT_CELL(whatif, name)]

static void
kept_row(const struct sqt_whatif_kept *k, const char *setting, const char *value, const char *now, double saved_ns,
         double off, const char *bound, const char *method)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    const double hours = sqt_whatif_hours(k->first, k->last);
    sqt_whatif_words(row, setting, value, now, bound, method);
    if (!isnan(off))
        CELL(calibration_pct).number = sqt_whatif_whole(off * 1000);
    if (strcmp(bound, "refused") != 0 && hours > 0)
        CELL(saved_s_per_h).number = sqt_whatif_whole(saved_ns / hours);
    sqt_whatif_row(k->job, row, 1, 0);
}

/* Whether it closes connections itself that are idle for longer than left_idle. */
static int
server_leaves(const struct server *s)
{
    return s->left >= LEFT_LEAST && s->left_idle >= s->other_idle;
}

/* By how many ns the server was slower on new connections; of one that is not known, all are. */
static double
kept_slower(const struct sqt_whatif_kept *k, const struct server *one)
{
    double asking[2] = {0, 0}, asked[2] = {0, 0};
    for (const struct server *s = one ? one : k->list; s; s = one ? NULL : s->next)
        for (unsigned kept = 0; kept < 2; ++kept) {
            asking[kept] += s->asking[kept];
            asked[kept] += (double)s->asked[kept];
        }
    if (asked[0] <= 0 || asked[1] <= 0)
        return one ? kept_slower(k, NULL) : 0;
    const double slower = asking[0] / asked[0] - asking[1] / asked[1];
    return slower > 0 ? slower : 0;
}

static const char *
kept_refusal(const struct sqt_whatif_kept *k)
{
    return k->of_log             ? "an access.log does not say how long connecting takes"
           : k->requests < LEAST ? "fewer than 1000 requests turn to servers"
           : k->unnamed * 100 > k->requests * UNNAMED_MOST
               ? "the servers of more than 5 % of the requests are not known: see names= of sqtrace_log"
           : k->server_count == SERVERS_MOST ? "4096 servers or more"
           : k->too_many                     ? "more than a million connections are in use or idle at once"
           : k->differ ? "processes have different values: give the trace of one of them, or --squid-conf"
                       : NULL;
}

/* How many requests have a connection today as the replay has it, less how many did: in % of all. */
static double
kept_off(const struct sqt_whatif_kept *k)
{
    double count = -(double)k->reused;
    for (const struct server *s = k->list; s; s = s->next)
        count += (double)s->steps[0].count;
    return k->requests ? 100 * count / (double)k->requests : 0;
}

static void
kept_forecast(const struct sqt_whatif_kept *k)
{
    static const char setting[] = "server_persistent_connections";
    const int64_t set = k->settings.server_persistent;
    const char *const refusal = kept_refusal(k);
    const char *const why = refusal            ? refusal
                            : set == SQT_UNSET ? "the trace does not say whether it is on"
                            : set              ? "it is on"
                            : k->reused        ? "it is off, and kept connections were used all the same"
                                               : NULL;
    char method[200];
    uint64_t count = 0;
    double ns = 0;
    for (const struct server *s = k->list; s; s = s->next) {
        count += s->steps[0].forecast;
        ns += s->steps[0].forecast_ns;
    }
    snprintf(method, sizeof(method),
             "%" PRIu64 " of %" PRIu64 " requests would have a kept connection, if servers keep them for %" PRId64
             " seconds, as Squid does",
             count, k->requests, kept_timeout(k) / SECOND);
    kept_row(k, setting, "on",
             refusal || set == SQT_UNSET ? NULL
             : set                       ? "on"
                                         : "off",
             ns, NAN, why ? "refused" : "forecast", why ? why : method);
}

static void
kept_longer(const struct sqt_whatif_kept *k, unsigned times, const char *now, double off)
{
    char method[200], value[32];
    uint64_t count = 0;
    size_t leaving = 0;
    double ns = k->unnamed_ns;
    for (const struct server *s = k->list; s; s = s->next) {
        const double slower = kept_slower(k, s);
        leaving += server_leaves(s);
        for (unsigned step = 0;
             step < STEPS && kept_step_begin(step, kept_timeout(k)) < (double)kept_timeout(k) * times; ++step) {
            if (step && server_leaves(s) && kept_step_begin(step, kept_timeout(k)) >= (double)s->left_idle)
                break;
            count += s->steps[step].count;
            ns += s->steps[step].ns + slower * (double)s->steps[step].new;
        }
    }
    snprintf(value, sizeof(value), "%" PRId64 " seconds", kept_timeout(k) / SECOND * times);
    snprintf(method, sizeof(method),
             "%" PRIu64 " of %" PRIu64 " requests would have a kept connection instead of %" PRIu64
             ", if servers keep them that long; %zu of %zu servers close theirs earlier",
             count > k->reused ? count : k->reused, k->requests, k->reused, leaving, k->server_count);
    kept_row(k, "server_idle_pconn_timeout", value, now, ns, off, "at_most", method);
}

static void
kept_timeouts(const struct sqt_whatif_kept *k)
{
    const char *const refusal = kept_refusal(k);
    const double off = kept_off(k);
    char now[32], text[200];
    const char *const why = refusal                          ? refusal
                            : !k->settings.server_persistent ? "server_persistent_connections is off"
                            : !kept_timeout(k)               ? "it is 0 seconds, so no connection is kept"
                            : fabs(off) > OFF_MOST           ? text
                                                             : NULL;
    snprintf(now, sizeof(now), "%" PRId64 " seconds", kept_timeout(k) / SECOND);
    snprintf(
        text, sizeof(text),
        "today's value gives %.0f %% of the requests %s with a kept connection than measured: servers may close theirs "
        "at once",
        fabs(off), off > 0 ? "more" : "fewer");
    if (why)
        kept_row(k, "server_idle_pconn_timeout", NULL, refusal ? NULL : now, 0, why == text ? off : NAN, "refused",
                 why);
    for (unsigned i = 0; i < TIMES && !why; ++i)
        kept_longer(k, kept_times[i], now, off);
}

static void
kept_dns(const struct sqt_whatif_kept *k)
{
    static const char setting[] = "negative_dns_ttl";
    const int64_t set = k->settings.negative_dns_ttl;
    char method[200], now[32];
    snprintf(now, sizeof(now), "%" PRId64 " seconds", set);
    snprintf(method, sizeof(method),
             "all waiting of %" PRIu64
             " requests for DNS; Squid keeps each answer at least that long, also if the server has "
             "moved",
             k->lookups);
    kept_row(k, setting, "longer", set == SQT_UNSET ? NULL : now, k->lookup_ns, NAN,
             k->of_log || !k->lookups ? "refused" : "at_most",
             k->of_log     ? "an access.log does not say how long look-ups take"
             : !k->lookups ? "no request waited for DNS"
                           : method);
}

void
sqt_whatif_kept_finish(struct sqt_whatif_kept *k)
{
    sqt_ordered_finish(&k->wants);
    if (k->of_log || k->first <= k->last) {
        kept_forecast(k);
        kept_timeouts(k);
        kept_dns(k);
    }
    for (struct server *s = k->list, *next; s; s = next) {
        next = s->next;
        sqt_freed(s->used.at);
        sqt_freed(s->idle.at);
        sqt_freed(s);
    }
    sqt_idmap_free(&k->servers);
    sqt_freed(k->origins.seen);
    sqt_freed(k);
}
