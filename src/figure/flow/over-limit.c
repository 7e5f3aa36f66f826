/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * over-limit.c - connections that Squid closes at once, because their client has as many as client_ip_max_connections
 * allows.
 */
#include <stdio.h>

#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

/* Fewer are no finding; nor is a smaller part of all connections in that time, in %. */
#define LEAST 5
#define SHARE 2
#define PORTS 64
/* Series of sums by time. */
enum { ALL = 1, OVER };

struct over_limit {
    struct sqt_names ports; /* of struct over_port */
    struct sqt_when when;
    uint64_t count;
};

struct over_port {
    struct sqt_name_entry named;
    uint64_t count;
};

static void
over_accept(void *state, const struct sqt_accept_row *row)
{
    sqt_when_add(&((struct over_limit *)state)->when, ALL, row->at, 0, 1);
}

static void
over_incident(void *state, const struct sqt_incident_row *row)
{
    struct over_limit *const o = state;
    const char *const port = row->event == SQT_EV_CONN_OVER_LIMIT ? sqt_incident_who(row) : NULL;
    if (row->event != SQT_EV_CONN_OVER_LIMIT)
        return;
    o->ports.size = sizeof(struct over_port);
    o->ports.most = PORTS;
    ++((struct over_port *)sqt_names_get(&o->ports, port ? port : "a port"))->count;
    sqt_when_add(&o->when, ALL, row->at, 0, 1);
    sqt_when_add(&o->when, OVER, row->at, 0, 1);
    ++o->count;
}

/* The port that most of them came to. */
static const char *
over_port(const struct over_limit *o)
{
    const struct over_port *most = NULL;
    for (const struct sqt_name_entry *named = o->ports.first; named; named = named->next)
        if (!most || ((const struct over_port *)named)->count > most->count)
            most = (const struct over_port *)named;
    return most && !sqt_names_is_others(&most->named) ? most->named.name : "other ports";
}

static void
over_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct over_limit *const o = state;
    struct sqt_told probe = {.since = 0};
    char when[128];
    (void)totals;
    if (o->count < LEAST)
        return;
    sqt_when_sort(&o->when);
    const struct sqt_spell spell = sqt_spell_tell(&probe, &o->when, OVER, ALL);
    if (sqt_spell_percent(spell.met, spell.all) < SHARE)
        return;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "over_limit", SQT_HARM_FAILURE, o->count * (uint64_t)SQT_FAILURE_NS);
    if (!told)
        return;
    told->since = probe.since;
    told->until = probe.until;
    told->pattern = probe.pattern;
    snprintf(told->culprit, sizeof(told->culprit), "client_ip_max_connections");
    sqt_told_print(told->sentence,
                   "%s, %llu of %llu connections of clients were closed at once: their client had as many as "
                   "client_ip_max_connections allows. Most of them came to %s.",
                   sqt_told_when(when, sizeof(when), told), (unsigned long long)spell.met,
                   (unsigned long long)spell.all, over_port(o));
    sqt_told_print(
        told->advice,
        "client_ip_max_connections: more, if many people share an address (NAT, another proxy). cache.log "
        "names the clients (attempting more than). If it is one client that should not: deny it with an ACL.");
    sqt_told_print(told->command, "sqtrace-dump --table=incidents --where='incident == over_limit' TRACE");
}

static void
over_end(void *state)
{
    struct over_limit *const o = state;
    sqt_names_free(&o->ports);
    sqt_when_free(&o->when);
}

const struct sqt_look sqt_look_over_limit = {.size = sizeof(struct over_limit),
                                             .accept = over_accept,
                                             .incident = over_incident,
                                             .tell = over_tell,
                                             .end = over_end};
