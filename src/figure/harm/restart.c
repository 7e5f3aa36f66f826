/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * restart.c - the time in which no port is open: from a shutdown to the first client after the next start; and processes
 * that died.
 *
 *     last client ... ports are closed ...(shutdown_lifetime)... STOP ... START ... first client
 *
 * An open port is sampled once a second, so the last sample says when ports were closed.  Before a START without a STOP,
 * the process died.
 */
#include <stdio.h>

#include "figure/table/samples.h"
#include "standstill.h"

/* A client that comes later after the start was not waiting for it, ns. */
#define PROMPT INT64_C(2000000000)
/* Nobody comes any more if nobody came for that long, in ns, and for so many times as long as from one client to the next. */
#define QUIET 300e6
#define QUIET_TURNS 10
/* A shutdown that takes longer waits for clients, ns. */
#define LINGERS INT64_C(1000000000)

static int
is_server(uint32_t kind)
{
    return kind == SQT_KID_SINGLE || kind == SQT_KID_WORKER;
}

static struct sqt_standing_kid *
restart_kid(struct sqt_standstill *s, const struct sqt_origin *origin)
{
    return origin->identity.kid < SQT_STANDING_KIDS ? &s->kids[origin->identity.kid] : NULL;
}

/* The first that is read of a kid need not be its start: reading may begin later. */
static void
restart_knows(struct sqt_standing_kid *kid, const struct sqt_origin *origin, int64_t at)
{
    if (!kid->known)
        *kid = (struct sqt_standing_kid){.origin = origin, .known = 1, .kind = origin->identity.kid_kind, .seen = at};
}

/* Whether any kid serves clients. */
static int
is_served(const struct sqt_standstill *s)
{
    for (unsigned i = 0; i < SQT_STANDING_KIDS; ++i)
        if ((s->kids[i].origin || s->kids[i].untraced) && is_server(s->kids[i].kind))
            return 1;
    return 0;
}

static int64_t
restart_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The kid does not run from then on; perhaps nobody does. */
static void
restart_ends(struct sqt_standstill *s, struct sqt_standing_kid *kid, int64_t closed, int64_t stopped)
{
    s->ended = kid->origin;
    s->ended_open = kid->left_open;
    s->ending = kid->ending;
    kid->origin = NULL;
    if (is_server(kid->kind) && !is_served(s)) {
        s->serving = SQT_SERVING_STOPPED;
        s->closed = closed < stopped ? closed : stopped;
        s->stopped = stopped;
    }
}

static const char *
restart_name(const struct sqt_standing_kid *kid, uint32_t number, char name[64])
{
    static const char *const kinds[] = {[SQT_KID_SINGLE] = "Squid",
                                        [SQT_KID_WORKER] = "worker",
                                        [SQT_KID_DISKER] = "disker",
                                        [SQT_KID_COORDINATOR] = "coordinator"};
    snprintf(name, 64, "Squid");
    if (kid->kind != SQT_KID_SINGLE && kid->kind < sizeof(kinds) / sizeof(*kinds))
        snprintf(name, 64, "%s %u", kinds[kid->kind], number);
    return name;
}

static struct sqt_standing_group *
restart_died(struct sqt_standstill *s, struct sqt_standing_kid *kid, uint32_t number, int64_t now)
{
    char name[64];
    const int64_t since = *kid->ending.why ? kid->ending.at : kid->seen;
    struct sqt_standing_group *const group =
        sqt_standing_add(s, SQT_STANDING_DIED, restart_name(kid, number, name), kid->origin, since, now);
    group->failures += kid->left_open;
    if (*kid->ending.why)
        group->ending = kid->ending;
    restart_ends(s, kid, since, since);
    return group;
}

/* Squid starts a process again within that time after it died, ns. */
#define STARTED_AGAIN INT64_C(2000000000)
/* Who shows life that long after it ended itself did not, ns. */
#define LIVES INT64_C(5000000000)
/* Nobody knows what clients did when Squid was gone: as if they had come for so many ns. */
#define UNKNOWN INT64_C(10000000000)

/* Nobody is served from then on. */
static void
restart_gone(const struct sqt_standstill *s, struct sqt_standing_group *group, int64_t end)
{
    const int64_t since = group->ending.at;
    group->gone = 1;
    group->rate = sqt_standing_rate(s, since);
    group->missed += group->rate * (double)(end - since > UNKNOWN ? end - since : UNKNOWN) / 1e9;
}

/* A kid that ended itself, and whose trace has no end. */
static void
restart_finish_kid(struct sqt_standstill *s, struct sqt_standing_kid *kid, uint32_t number, int64_t end)
{
    const int64_t since = kid->ending.at;
    const int server = is_server(kid->kind);
    if (!kid->origin || !*kid->ending.why || kid->seen - since > LIVES)
        return;
    struct sqt_standing_group *const group = restart_died(s, kid, number, end > since ? end : since);
    group->early = end - since < STARTED_AGAIN;
    if (server && !is_served(s))
        restart_gone(s, group, end);
}

void
sqt_restart_finish(struct sqt_standstill *s, int64_t end)
{
    const int stopped = s->serving == SQT_SERVING_STOPPED && *s->ending.why;
    for (unsigned i = 0; i < SQT_STANDING_KIDS; ++i)
        restart_finish_kid(s, &s->kids[i], i, end);
    if (!stopped)
        return;
    struct sqt_standing_group *const group =
        sqt_standing_add(s, SQT_STANDING_DIED, "Squid", NULL, s->ending.at, end > s->ending.at ? end : s->ending.at);
    group->ending = s->ending;
    group->failures += s->ended_open;
    restart_gone(s, group, end);
}

void
sqt_restart_setup(struct sqt_standstill *s, const struct sqt_setup_row *row)
{
    struct sqt_standing_kid *const kid = restart_kid(s, row->origin);
    if (!kid)
        return;
    restart_knows(kid, row->origin, row->at);
    if (row->event == SQT_EV_STOP && row->goes_on && kid->origin == row->origin)
        /* What comes next may be the same process. */
        *kid = (struct sqt_standing_kid){.known = 1, .untraced = 1, .kind = kid->kind};
    else if (row->event == SQT_EV_STOP && kid->origin == row->origin)
        restart_ends(s, kid, restart_later(s->last, s->listened), row->at);
    if (row->event != SQT_EV_START)
        return;
    if (kid->origin && kid->origin != row->origin)
        ++restart_died(s, kid, (uint32_t)row->origin->identity.kid, row->at)->again;
    *kid = (struct sqt_standing_kid){
        .origin = row->origin, .known = 1, .kind = row->origin->identity.kid_kind, .seen = row->at, .left_open = 0};
    if (is_server(kid->kind) && s->serving == SQT_SERVING_STOPPED) {
        s->serving = SQT_SERVING_STARTED;
        s->started = row->at;
    }
}

/* Whether clients had stopped coming before the ports were closed. */
static int
is_quiet(const struct sqt_standstill *s, double rate)
{
    const double quiet = (double)(s->closed - s->last);
    return rate > 0 && quiet > QUIET && quiet > QUIET_TURNS * 1e9 / rate;
}

/* The first client after a start.  Those that would have come count only if clients come as soon as they can. */
static void
restart_over(struct sqt_standstill *s, int64_t at)
{
    const double rate = sqt_standing_rate(s, s->closed);
    const int prompt = at - s->started < PROMPT && !is_quiet(s, rate);
    const int64_t shut = s->stopped - s->closed;
    struct sqt_standing_group *const group =
        sqt_standing_add(s, SQT_STANDING_RESTART, "shutdown", NULL, s->closed, prompt ? at : s->started);
    if (*s->ending.why)
        group->ending = s->ending;
    sqt_standing_worked(s, group, NULL, s->started, at);
    if (__builtin_add_overflow(group->shutdown, shut, &group->shutdown))
        group->shutdown = INT64_MAX;
    group->clients += shut > LINGERS ? sqt_standing_open(s, s->closed, s->closed + shut / 4 * 3) : 0;
    group->missed += prompt ? rate * (double)(at - s->closed) / 1e9 : 0;
    s->serving = SQT_SERVING;
}

void
sqt_restart_client(struct sqt_standstill *s, const struct sqt_origin *origin, int64_t at)
{
    if (s->serving == SQT_SERVING_STARTED && at >= s->started)
        restart_over(s, at);
    s->last = restart_later(s->last, at);
    sqt_restart_life(s, origin, at);
}

void
sqt_restart_life(struct sqt_standstill *s, const struct sqt_origin *origin, int64_t at)
{
    struct sqt_standing_kid *const kid = restart_kid(s, origin);
    if (kid)
        restart_knows(kid, origin, at);
    if (kid && kid->origin == origin && at > kid->seen)
        kid->seen = at;
}

void
sqt_restart_sample(struct sqt_standstill *s, const struct sqt_sample_row *sample)
{
    enum sqt_sample_value what;
    char source[SQT_SOURCE_NAME];
    sqt_sample_split(sample, source, &what);
    if (what == SQT_SAMPLE_LISTENER_backlog)
        s->listened = restart_later(s->listened, sample->at);
    if (what == SQT_SAMPLE_SQUID_disk_objects)
        s->objects = sample->value;
}

/* A request that has no end: its process may have died, or dies as far as the trace tells later. */
void
sqt_restart_left_open(struct sqt_standstill *s, const struct sqt_xact *xact)
{
    struct sqt_standing_kid *const kid = restart_kid(s, xact->origin);
    if (xact->outcome != SQT_OUTCOME_UNFINISHED)
        return;
    if (kid && kid->origin == xact->origin)
        ++kid->left_open;
    else if (s->ended == xact->origin)
        ++s->ended_open;
    for (uint64_t i = 0; i < s->standing_count && i < SQT_STANDINGS; ++i)
        if (s->standings[i].origin == xact->origin && s->standings[i].group->kind == SQT_STANDING_DIED) {
            ++s->standings[i].group->failures;
            return;
        }
}
