/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * closed-ports.c - a listening port that clients use, and that is open no more, while others of its process are: as after a
 * reconfiguration without its line.
 *
 * Workers share a port: it is told once, with what all of them miss, and not while one has it open.  Open ports are sampled
 * once a second.  Who is refused is in no trace: as many as came before.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/port/ports.h"

/* A port is closed if other ports of its process were sampled for so long after its last sample, ns. */
#define CLOSED INT64_C(3000000000)
/* What came in so many ns before says how many would have come. */
#define BEFORE INT64_C(10000000000)
/* Fewer connections than that, which would have come, do not matter. */
#define MISSED 5
/* If so many come at other ports instead, in %, nobody misses it. */
#define ELSEWHERE 50
/* A reconfiguration so shortly around the last sample closed it, ns. */
#define SOON INT64_C(1500000000)
#define SETUPS 16
#define ALL 1

struct open_port {
    struct sqt_name_entry named; /* the kid's number, a space, and its name */
    const struct sqt_origin *origin;
    uint32_t series;
    int64_t sampled; /* last */
    int told;        /* with another worker's */
};

/* A port of all workers that closed it at the same time. */
struct closed_sum {
    int64_t sampled, alive; /* last; until when other ports of these workers were open */
    int64_t at, before;     /* until when it counts as open, and what came in so many ns before says its rate */
    double rate, missed;    /* connections a second; that would have come since then */
};

struct closed_ports {
    struct sqt_names ports; /* of struct open_port */
    struct sqt_when accepts;
    int64_t setups[SETUPS]; /* reconfigurations, the last ones */
    unsigned setup_count;
};

static struct open_port *
closed_port(struct closed_ports *c, const struct sqt_origin *origin, uint32_t listener)
{
    char name[SQT_TOLD_NAME];
    const char *const text = sqt_listener_text(origin, listener);
    if (!text)
        return NULL;
    c->ports.size = sizeof(struct open_port);
    c->ports.most = SQT_PORTS;
    snprintf(name, sizeof(name), "%u %s", (unsigned)origin->identity.kid, text);
    struct open_port *const port = sqt_names_get(&c->ports, name);
    port->series = port->series ? port->series : ALL + c->ports.count;
    port->origin = origin;
    return port;
}

static void
closed_accept(void *state, const struct sqt_accept_row *row)
{
    struct closed_ports *const c = state;
    const struct open_port *const port = closed_port(c, row->origin, row->listener);
    if (!port)
        return;
    sqt_when_add(&c->accepts, ALL, row->at, 0, 1);
    sqt_when_add(&c->accepts, port->series, row->at, 0, 1);
}

static void
closed_sample(void *state, const struct sqt_sample_row *sample)
{
    uint32_t listener;
    struct open_port *const port =
        sqt_listener_sampled(sample, &listener) ? closed_port(state, sample->origin, listener) : NULL;
    if (port && sample->at > 0)
        port->sampled = sample->at;
}

static void
closed_setup(void *state, const struct sqt_setup_row *row)
{
    struct closed_ports *const c = state;
    if (row->event == SQT_EV_RECONFIGURE)
        c->setups[c->setup_count++ % SETUPS] = row->at;
}

/* Connections of a series that came from one time to another. */
static uint64_t
closed_count(const struct closed_ports *c, uint32_t series, int64_t from, int64_t until)
{
    size_t count;
    uint64_t found = 0;
    const struct sqt_when_sum *const sums = c->accepts.sums ? sqt_when_of(&c->accepts, series, &count) : NULL;
    for (size_t i = 0; sums && i < count; ++i)
        found +=
            (int64_t)sums[i].window * c->accepts.width >= from && (int64_t)sums[i].window * c->accepts.width < until
                ? sums[i].count
                : 0;
    return found;
}

/* Until when other ports of its process were open; 0: there are none. */
static int64_t
closed_alive(const struct closed_ports *c, const struct open_port *port)
{
    int64_t alive = 0;
    for (const struct sqt_name_entry *named = c->ports.first; named; named = named->next) {
        const struct open_port *const other = (const struct open_port *)named;
        if (other != port && other->origin == port->origin && other->sampled > alive)
            alive = other->sampled;
    }
    return alive;
}

static int
is_reconfigured(const struct closed_ports *c, int64_t at)
{
    for (unsigned i = 0; i < c->setup_count && i < SETUPS; ++i)
        if (c->setups[i] > at - SOON && c->setups[i] < at + SOON)
            return 1;
    return 0;
}

static const char *
closed_name(const struct open_port *port)
{
    return strchr(port->named.name, ' ') + 1;
}

/* The next port of that name from that one on, of whichever worker; NULL: there is none. */
static struct open_port *
closed_worker(struct sqt_name_entry *from, const char *name)
{
    for (; from; from = from->next)
        if (!sqt_names_is_others(from) && strcmp(closed_name((struct open_port *)from), name) == 0)
            return (struct open_port *)from;
    return NULL;
}

/* Whether that worker has it open no more: it was not sampled again, and other ports of its process were. */
static int
is_closed(const struct closed_ports *c, const struct open_port *port, const struct closed_sum *sum)
{
    return sum->sampled - port->sampled < CLOSED && closed_alive(c, port) - port->sampled >= CLOSED;
}

/* The times of a port that no worker has open any more.  Returns 0 if there is no such time. */
static int
closed_since(const struct closed_ports *c, const char *name, struct closed_sum *sum)
{
    const int64_t width = c->accepts.width, most = BEFORE > 2 * width ? BEFORE : 2 * width;
    struct open_port *port;
    for (port = closed_worker(c->ports.first, name); port; port = closed_worker(port->named.next, name))
        sum->sampled = port->sampled > sum->sampled ? port->sampled : sum->sampled;
    for (port = closed_worker(c->ports.first, name); port; port = closed_worker(port->named.next, name)) {
        const int64_t alive = is_closed(c, port, sum) ? closed_alive(c, port) : 0;
        sum->alive = alive > sum->alive ? alive : sum->alive;
    }
    if (sum->sampled <= 0 || sum->sampled > INT64_MAX - 2 * width - CLOSED)
        return 0;
    sum->at = (sum->sampled / width + 1) * width;
    sum->before = sum->at < most ? sum->at : most;
    return sum->alive - sum->at >= CLOSED;
}

/* Connections that would have come to it since it was closed; 0: clients come elsewhere, or it is open somewhere. */
static double
closed_missed(const struct closed_ports *c, const char *name, struct closed_sum *sum)
{
    if (!closed_since(c, name, sum))
        return 0;
    uint64_t came = 0;
    const struct open_port *port;
    for (port = closed_worker(c->ports.first, name); port; port = closed_worker(port->named.next, name)) {
        if (closed_count(c, port->series, sum->at + CLOSED / 2, INT64_MAX))
            return 0;
        came += is_closed(c, port, sum) ? closed_count(c, port->series, sum->at - sum->before, sum->at) : 0;
    }
    const int64_t after = sum->alive - sum->at;
    const uint64_t all = closed_count(c, ALL, sum->at - sum->before, sum->at);
    const double others = (double)(all - came) * 1e9 / (double)sum->before;
    const double now = (double)closed_count(c, ALL, sum->at, sum->alive) * 1e9 / (double)after;
    sum->rate = (double)came * 1e9 / (double)sum->before;
    return (now - others) * 100 >= sum->rate * ELSEWHERE ? 0 : sum->rate * (double)after / 1e9;
}

static void
closed_told(const struct closed_ports *c, const char *name, const struct closed_sum *sum, struct sqt_tolds *tolds)
{
    const int reconfigured = is_reconfigured(c, sum->sampled);
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "closed_port", SQT_HARM_FAILURE, (uint64_t)sum->missed * (uint64_t)SQT_FAILURE_NS);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", name);
    told->since = sum->sampled;
    told->until = sum->alive;
    told->pattern = SQT_PATTERN_SINCE;
    sqt_told_print(
        told->sentence,
        "Since %.1f s of the trace, %s is not open any more, so nobody can connect to it.%s %.0f connections a "
        "second had come until then. How many were refused is not known: at that rate, %.0f.",
        (double)sum->sampled / 1e9, name,
        reconfigured ? " Squid was reconfigured just then (squid -k reconfigure)." : "", sum->rate, sum->missed);
    sqt_told_print(told->advice,
                   "Look for its line (http_port, https_port) in squid.conf, and in cache.log for an error when "
                   "Squid opened its ports.");
    sqt_told_print(told->command, "sqtrace-dump --table=listeners TRACE");
}

static void
closed_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct closed_ports *const c = state;
    (void)totals;
    if (c->accepts.sums)
        sqt_when_sort(&c->accepts);
    for (struct sqt_name_entry *named = c->accepts.sums ? c->ports.first : NULL; named; named = named->next) {
        struct open_port *port = (struct open_port *)named;
        struct closed_sum sum = {0};
        if (sqt_names_is_others(named) || port->told)
            continue;
        const char *const name = closed_name(port);
        for (; port; port = closed_worker(port->named.next, name))
            port->told = 1;
        sum.missed = closed_missed(c, name, &sum);
        if (sum.missed >= MISSED)
            closed_told(c, name, &sum, tolds);
    }
}

static void
closed_end(void *state)
{
    struct closed_ports *const c = state;
    sqt_names_free(&c->ports);
    sqt_when_free(&c->accepts);
}

const struct sqt_look sqt_look_closed_ports = {.size = sizeof(struct closed_ports),
                                               .accept = closed_accept,
                                               .sample = closed_sample,
                                               .setup = closed_setup,
                                               .tell = closed_tell,
                                               .end = closed_end};
