/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * standstill.c - passes of the event loop in which nobody was served, and stops of the process; restart.c has those in which
 * there was no Squid.
 */
#include "standstill.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/loop/seconds.h"

/* A pass of that length is a standstill, ns. */
#define LONG INT64_C(500000000)
/* One in which an administrator's command is carried out is from here on. */
#define LONG_COMMAND INT64_C(150000000)
/* A part of a stop is told up to that time after its end, ns. */
#define TOLD INT64_C(3000000000)

static int
is_activity(const struct sqt_loop_row *pass, const char *begin)
{
    const char *const name =
        pass->activity == UINT32_MAX ? NULL : sqt_origin_text(pass->origin, SQT_DEF_ACTIVITY, pass->activity);
    return name && strncmp(name, begin, strlen(begin)) == 0;
}

static int
is_setup(const struct sqt_standstill *s, const struct sqt_loop_row *pass, enum sqt_event event)
{
    return s->setup == pass->origin && s->setup_event == event && s->setup_at >= pass->work && s->setup_at <= pass->end;
}

static int64_t
standstill_absent(const struct sqt_loop_row *pass)
{
    return pass->parts[SQT_LOOP_QUEUED] + pass->parts[SQT_LOOP_STOPPED];
}

static enum sqt_standing_kind
standstill_kind(const struct sqt_standstill *s, const struct sqt_loop_row *pass)
{
    if (is_activity(pass, "mainReconfigure") || is_setup(s, pass, SQT_EV_RECONFIGURE))
        return SQT_STANDING_RECONFIGURE;
    if (is_activity(pass, "mainRotate") || is_setup(s, pass, SQT_EV_ROTATE))
        return SQT_STANDING_ROTATE;
    return standstill_absent(pass) > (pass->end - pass->work) / 2 ? SQT_STANDING_STOPPED : SQT_STANDING_PASS;
}

/* What a pass did: a disk call, or its longest activity. */
static const char *
standstill_name(const struct sqt_loop_row *pass, char text[SQT_THING_NAME])
{
    const int disk = pass->disk_ns > 0 && pass->disk_ns > pass->activity_ns / 2;
    const struct sqt_thing thing = {
        .activity = pass->activity, .disk_call = disk ? pass->disk_call : SQT_DISK_OTHER, .dir = pass->dir};
    return pass->activity == UINT32_MAX && !disk ? "an unknown activity" : sqt_thing_name(pass->origin, &thing, text);
}

/* The name of a process, if there are several. */
static const char *
standstill_process(const struct sqt_identity *identity, char *text, size_t size)
{
    *text = '\0';
    if (identity->kid_kind == SQT_KID_WORKER)
        snprintf(text, size, "worker %u", (unsigned)identity->kid);
    return text;
}

/* The stop is over, and known in full. */
static void
standstill_stop_ends(struct sqt_standstill *s)
{
    if (s->stop.until - s->stop.since >= LONG)
        sqt_standing_add(s, SQT_STANDING_STOPPED, s->stop_name, s->stop.origin, s->stop.since, s->stop.until);
    s->stop = (struct sqt_standing){NULL, NULL, 0, 0};
}

/* Stops in the work of a pass are that pass's.  A stop may be told several times, in part. */
static void
standstill_stop(void *state, const struct sqt_stop_row *stop)
{
    struct sqt_standstill *const s = state;
    struct sqt_standing *const x = &s->stop;
    if (!stop->waited)
        return;
    if (x->origin != stop->pass->origin || stop->begin > x->until || stop->end < x->since) {
        standstill_stop_ends(s);
        *x = (struct sqt_standing){NULL, stop->pass->origin, stop->begin, stop->end};
        standstill_process(&stop->pass->origin->identity, s->stop_name, sizeof(s->stop_name));
    }
    x->since = stop->begin < x->since ? stop->begin : x->since;
    x->until = stop->end > x->until ? stop->end : x->until;
}

/* Where samples of the process's present pass are kept; NULL: it has no place for them. */
static struct sqt_holders **
standstill_holders(struct sqt_standstill *s, const struct sqt_origin *origin)
{
    return origin->identity.kid < SQT_STANDING_KIDS ? &s->in_pass[origin->identity.kid] : NULL;
}

static void
standstill_forget(struct sqt_holders **held)
{
    if (!held || !*held)
        return;
    sqt_holders_free(*held);
    sqt_freed(*held);
    *held = NULL;
}

/* What samples in a pass show: the call that it was blocked in, or what it computed, whichever took most of it; NULL: they do
 * not show that. */
static const char *
standstill_sampled(struct sqt_holders **held, const struct sqt_loop_row *pass)
{
    const int64_t most = (pass->end - pass->work) / 2;
    if (!held || !*held)
        return NULL;
    if (pass->parts[SQT_LOOP_BLOCKED] > most)
        return sqt_holders_known(*held, SQT_HELD_BLOCKED, most);
    return pass->parts[SQT_LOOP_COMPUTING] > most ? sqt_holders_known(*held, SQT_HELD_COMPUTING, most) : NULL;
}

static void
standstill_pass(struct sqt_standstill *s, const struct sqt_loop_row *pass)
{
    char text[SQT_THING_NAME];
    const char *name = "", *sampled = NULL;
    if (pass->unknown || pass->work < pass->begin || pass->end - pass->work < LONG_COMMAND)
        return;
    const enum sqt_standing_kind kind = standstill_kind(s, pass);
    if (pass->end - pass->work < LONG && kind != SQT_STANDING_RECONFIGURE && kind != SQT_STANDING_ROTATE)
        return;
    if (kind == SQT_STANDING_PASS) {
        sampled = standstill_sampled(standstill_holders(s, pass->origin), pass);
        name = sampled ? sampled : standstill_name(pass, text);
    } else if (kind == SQT_STANDING_STOPPED)
        name = standstill_process(&pass->origin->identity, text, sizeof(text));
    struct sqt_standing_group *const group = sqt_standing_add(s, kind, name, pass->origin, pass->work, pass->end);
    group->sampled = sampled != NULL;
    group->queued += pass->parts[SQT_LOOP_QUEUED];
    sqt_standing_worked(s, group, pass->origin, pass->work, pass->end);
    if (kind == SQT_STANDING_RECONFIGURE) /* its ports are closed meanwhile */
        group->missed += sqt_standing_rate(s, pass->work) * (double)(pass->end - pass->work) / 1e9;
}

static void
standstill_loop(void *state, const struct sqt_loop_row *pass)
{
    struct sqt_standstill *const s = state;
    sqt_restart_life(s, pass->origin, pass->end);
    if (s->stop.origin && pass->end - s->stop.until > TOLD)
        standstill_stop_ends(s);
    standstill_pass(s, pass);
    standstill_forget(standstill_holders(s, pass->origin));
}

static void
standstill_loop_sample(void *state, const struct sqt_loop_sample_row *sample)
{
    struct sqt_standstill *const s = state;
    struct sqt_holders **const held = standstill_holders(s, sample->origin);
    if (!s->holders.names.size)
        sqt_holders_init(&s->holders);
    if (sample->held <= 0 || sample->until - sample->from <= 0)
        return;
    sqt_holders_add(&s->holders, sample);
    if (!held)
        return;
    if (!*held)
        sqt_holders_init(*held = sqt_zeroed(1, sizeof(**held)));
    sqt_holders_add(*held, sample);
}

static void
standstill_setup(void *state, const struct sqt_setup_row *row)
{
    struct sqt_standstill *const s = state;
    if (row->event == SQT_EV_RECONFIGURE || row->event == SQT_EV_ROTATE) {
        s->setup = row->origin;
        s->setup_event = row->event;
        s->setup_at = row->at;
    }
    sqt_restart_setup(s, row);
}

static void
standstill_accept(void *state, const struct sqt_accept_row *row)
{
    sqt_restart_client(state, row->origin, row->at);
}

static void
standstill_sample(void *state, const struct sqt_sample_row *sample)
{
    sqt_restart_sample(state, sample);
}

static void
standstill_incident(void *state, const struct sqt_incident_row *row)
{
    sqt_standing_incident(state, row);
}

static void
standstill_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct sqt_standstill *const s = state;
    (void)fact;
    (void)felt;
    sqt_restart_client(s, xact->origin, xact->begin);
    sqt_standing_request(s, xact);
    sqt_restart_left_open(s, xact);
}

static void
standstill_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    standstill_stop_ends(state);
    sqt_restart_finish(state, totals->end);
    sqt_standstill_tell(state, tolds);
}

static void
standstill_end(void *state)
{
    struct sqt_standstill *const s = state;
    sqt_names_free(&s->groups);
    sqt_holders_free(&s->holders);
    for (unsigned i = 0; i < SQT_STANDING_KIDS; ++i)
        standstill_forget(&s->in_pass[i]);
}

const struct sqt_look sqt_look_standstill = {.size = sizeof(struct sqt_standstill),
                                             .request = standstill_request,
                                             .loop = standstill_loop,
                                             .stop = standstill_stop,
                                             .loop_sample = standstill_loop_sample,
                                             .setup = standstill_setup,
                                             .incident = standstill_incident,
                                             .accept = standstill_accept,
                                             .sample = standstill_sample,
                                             .tell = standstill_tell,
                                             .end = standstill_end};
