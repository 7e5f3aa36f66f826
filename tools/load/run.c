/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run.c - phases: who sends the next request, and when.
 *
 * In a closed loop a client sends its next request when its last one ended; a phase ends when all clients have.
 * With a rate, request number i of a phase is due at a time that follows from i and the seed.  It is sent then, or as
 * soon after that as a connection is free, and its latency counts from when it was due: what waits in front of a slow
 * proxy is seen.  A phase ends at its time, with what was not sent, and the next one begins at that time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "load.h"

volatile sig_atomic_t load_stop;

struct run {
    struct load *load;
    struct event_base *base;
    struct clients *clients;
    struct event *tick, *second;
    const struct phase *phase;
    struct phase_stats *stats;
    int64_t begin;    /* of the phase */
    int closing;      /* no more requests in this phase */
    uint64_t *given;  /* requests of this phase, by client */
    unsigned *unused; /* clients that are free, the last freed last */
    unsigned unused_count;
    struct request ahead; /* scheduled: the next request, */
    int has_ahead;        /* which waits for its time */
    uint64_t seen;        /* sent when progress was told last */
};

int64_t
load_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * LOAD_SECOND + t.tv_nsec;
}

struct event_base *
load_base(void)
{
    struct event_config *const config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_PRECISE_TIMER |
                                      EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    struct event_base *const base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static int
phase_over(const struct run *r, int64_t now)
{
    const struct phase *const p = r->phase;
    return (p->duration && now - r->begin >= p->duration) ||
           (p->miss_bytes && r->stats->body_bytes - r->stats->classes[LOAD_HIT].bytes >= p->miss_bytes);
}

/* ---- sending ---- */

static void
send_as(struct run *r, unsigned client, struct request *request)
{
    request->client = client;
    request->phase = (unsigned)(r->phase - r->load->phases);
    ++r->given[client];
    clients_send(r->clients, request);
}

/* Makes the workload's next request. */
static int
load_make(struct run *r, unsigned client, struct request *request)
{
    request->client = client;
    request->kind = REQUEST_PLAIN;
    request->path = request->made;
    return r->load->workload->next(r->load, request);
}

static void
closed_next(struct run *r, unsigned client)
{
    struct request request;
    const int64_t now = load_now();
    if (r->closing || load_stop || r->load->broken || phase_over(r, now) ||
        (r->phase->requests && r->given[client] >= r->phase->requests) || !load_make(r, client, &request)) {
        if (!clients_busy(r->clients))
            event_base_loopbreak(r->base);
        return;
    }
    request.due = now;
    ++r->stats->due;
    send_as(r, client, &request);
}

/* The part of a request's interval that is over when it is due: loads at the same rate do not keep step, then. */
static double
spread_of(const struct load *load, uint64_t index)
{
    struct sqt_random random = sqt_random_of((uint64_t)load->number[LOAD_seed], index);
    return load->given[LOAD_spread] ? sqt_random_unit(&random) : 0;
}

/* The next request of an open loop if it is due: its time, and 1; else 0, with the time that it will be due at; -1 if
 * none will. */
static int
load_open_due(struct run *r, int64_t now, int64_t *due)
{
    const uint64_t index = r->stats->due;
    if (r->phase->scheduled) {
        if (!r->has_ahead && !(r->has_ahead = load_make(r, 0, &r->ahead)))
            return -1;
        *due = r->begin + r->ahead.due;
    } else {
        if (r->phase->requests && index >= r->phase->requests)
            return -1;
        *due = r->begin + phase_due_time(r->phase, (double)index + spread_of(r->load, index));
    }
    if (r->phase->duration && *due - r->begin >= r->phase->duration)
        return -1;
    return *due <= now;
}

static void
open_ended(struct run *r)
{
    if (!r->phase->scheduled && r->phase->rate + r->phase->end_rate > 0) {
        const uint64_t should = phase_due_count(r->phase, load_now() - r->begin);
        if (should > r->stats->due)
            r->stats->due = should; /* what was not sent */
    }
    r->closing = 1;
    event_base_loopbreak(r->base);
}

static void
open_go_on(struct run *r)
{
    const int64_t now = load_now();
    int64_t due = 0;
    int state = -1;
    if (r->closing)
        return;
    while (!load_stop && !r->load->broken && r->unused_count && (state = load_open_due(r, now, &due)) > 0) {
        struct request request = r->ahead;
        const unsigned client = r->unused[r->unused_count - 1];
        if (!r->phase->scheduled && !load_make(r, client, &request)) {
            state = -1;
            break;
        }
        if (r->phase->scheduled && r->ahead.path == r->ahead.made)
            request.path = request.made;
        r->has_ahead = 0;
        request.due = due;
        --r->unused_count;
        ++r->stats->due;
        send_as(r, client, &request);
    }
    if (load_stop || r->load->broken || phase_over(r, now) || (r->unused_count && state < 0 && !r->phase->duration)) {
        open_ended(r);
        return;
    }
    /* Asleep until the next one is due; without a free client, until there is one. */
    int64_t wake = r->unused_count && state == 0 ? due : now + LOAD_SECOND / 10;
    if (r->phase->duration && wake > r->begin + r->phase->duration)
        wake = r->begin + r->phase->duration;
    const int64_t pause = wake > now ? wake - now : 0;
    const struct timeval time = {pause / LOAD_SECOND, pause % LOAD_SECOND / 1000};
    event_base_update_cache_time(r->base);
    event_add(r->tick, &time);
}

static void
on_tick(evutil_socket_t none, short what, void *context)
{
    (void)none, (void)what;
    open_go_on(context);
}

static void
on_freed(void *context, unsigned client)
{
    struct run *const r = context;
    r->unused[r->unused_count++] = client;
    if (r->closing || load_stop || r->load->broken) {
        if (!clients_busy(r->clients) || load_stop || r->load->broken)
            event_base_loopbreak(r->base);
    } else if (phase_is_open(r->phase)) {
        if (r->unused_count == 1) /* some may have waited for it */
            open_go_on(r);
    } else {
        --r->unused_count;
        closed_next(r, client);
    }
}

/* ---- phases ---- */

static void
on_second(evutil_socket_t none, short what, void *context)
{
    struct run *const r = context;
    const struct phase_stats *const s = r->stats;
    (void)none, (void)what;
    if (load_stop)
        event_base_loopbreak(r->base);
    const uint64_t errors = stats_errors(s);
    load_progress(r->load, "%s (%u of %u): %llu requests, %llu/s, hits %.1f %%, %llu errors, %u under way",
                  r->phase->name, (unsigned)(r->phase - r->load->phases) + 1, r->load->phase_count,
                  (unsigned long long)s->sent, (unsigned long long)(s->sent - r->seen),
                  s->heads ? 100.0 * (double)s->hits / (double)s->heads : 0, (unsigned long long)errors,
                  clients_busy(r->clients));
    r->seen = s->sent;
}

/* Phases of a rate follow each other without a gap; before and after a closed loop nothing is under way. */
static void
run_phase(struct run *r, int64_t begin)
{
    r->stats = &r->load->stats[r->phase - r->load->phases];
    r->load->phase = (unsigned)(r->phase - r->load->phases);
    r->stats->begin = r->begin = begin;
    r->closing = 0;
    r->seen = 0;
    memset(r->given, 0, (size_t)r->load->number[LOAD_clients] * sizeof(*r->given));
    if (phase_is_open(r->phase)) {
        open_go_on(r);
        if (!r->closing)
            event_base_dispatch(r->base);
        event_del(r->tick);
    } else {
        r->unused_count = 0;
        for (unsigned i = 0; i < (unsigned)r->load->number[LOAD_clients]; ++i)
            closed_next(r, i);
        if (clients_busy(r->clients))
            event_base_dispatch(r->base);
        r->closing = 1;
    }
    r->stats->end = load_now();
}

/* Lets what is under way come to its end. */
static void
load_drain(struct run *r)
{
    r->closing = 1;
    while (clients_busy(r->clients) && !load_stop && !r->load->broken)
        event_base_dispatch(r->base);
}

int
run_all(struct load *load)
{
    const unsigned count = (unsigned)load->number[LOAD_clients];
    const struct timeval second = {1, 0};
    struct run r = {.load = load, .base = load_base()};
    r.given = sqt_zeroed(count, sizeof(*r.given));
    r.unused = sqt_zeroed(count, sizeof(*r.unused));
    r.tick = evtimer_new(r.base, on_tick, &r);
    r.second = event_new(r.base, -1, EV_PERSIST, on_second, &r);
    event_add(r.second, &second);
    r.clients = clients_new(load, r.base, on_freed, &r);
    load->start = load_now();
    int64_t begin = load->start;
    for (unsigned i = 0; i < load->phase_count && !load_stop && !load->broken; ++i) {
        const int follows = i && phase_is_open(&load->phases[i]) && phase_is_open(&load->phases[i - 1]);
        if (!follows) {
            load_drain(&r);
            begin = load_now();
            r.unused_count = 0;
            for (unsigned k = count; k-- > 0;)
                r.unused[r.unused_count++] = k;
        }
        r.phase = &load->phases[i];
        run_phase(&r, begin);
        const int64_t wanted = begin + r.phase->duration;
        begin = phase_is_open(r.phase) && r.phase->duration && r.stats->end >= wanted ? wanted : r.stats->end;
    }
    load_drain(&r);
    clients_give_up(r.clients);
    clients_free(r.clients);
    event_free(r.tick);
    event_free(r.second);
    event_base_free(r.base);
    free(r.given);
    free(r.unused);
    if (!load->broken)
        return 0;
    if (load_lost_origin(load))
        return -1;
    return load_fail(load, "%s%s", load->connected ? "given up, no connection succeeds any more; first: " : "",
                     load->first_error);
}
