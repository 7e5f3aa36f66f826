/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hanging.c - what hangs when the trace ends, or now: requests that all wait for one server, helper, service, name server
 * or cache_dir, and main threads that serve nobody.
 *
 * How long a request has waited is how long its present stage has been charged: a body that comes, however slowly, is
 * charged anew with each piece.
 */
#include "hanging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/loop/seconds.h"

/* Names of their own. */
#define NAMES 1024
/* A main thread that works on one thing for so long, or a process that shows no life for so long, serves nobody.  ns */
#define BLOCKED INT64_C(1000000000)
#define SILENT INT64_C(1500000000)
/* Whose process has said nothing for so long, while another one has, waits for nobody, ns. */
#define GONE INT64_C(10000000000)
/* Passes of that length with no more than that between them are as good as one.  ns */
#define LONG INT64_C(500000000)
#define BETWEEN INT64_C(250000000)

static struct sqt_hanging_on *
hanging_on(struct sqt_hanging *h, const char *name)
{
    h->names.size = sizeof(struct sqt_hanging_on);
    h->names.most = NAMES;
    struct sqt_hanging_on *const on = sqt_names_get(&h->names, name);
    on->series = on->series ? on->series : h->names.count;
    return on;
}

static void
hanging_answer(struct sqt_hanging *h, const char *name, int64_t at, int64_t ns)
{
    struct sqt_hanging_on *const on = hanging_on(h, name);
    ++on->answers;
    on->longest = ns > on->longest ? ns : on->longest;
    sqt_when_add(&h->answers, on->series, at, 0, 1);
}

/* ---- whom requests wait for ---- */

static const char *
hanging_server(const struct sqt_xact *x)
{
    if (x->stages.stage == SQT_STAGE_COLLAPSED_WAIT)
        return x->follow && x->follow->origin && x->follow->server != UINT32_MAX
                   ? sqt_origin_text(x->follow->origin, SQT_DEF_SERVER, x->follow->server)
                   : NULL;
    return x->server == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_SERVER, x->server);
}

/* As other findings call it. */
static const char *
hanging_waited(const struct sqt_xact *x, enum sqt_named_stage stage, char name[SQT_TOLD_NAME])
{
    const struct sqt_longest_wait *const longest = &x->longest[stage];
    const char *const text = longest->def ? sqt_origin_text(x->origin, longest->def, longest->who) : NULL;
    snprintf(name, SQT_TOLD_NAME, "%s%s", longest->def == SQT_DEF_SERVICE ? "adaptation " : "", text ? text : "");
    return text ? name : NULL;
}

/* A query names its server when it is over, or sent again: before that, it is taken for the one that was asked last. */
static const char *
hanging_name_server(const struct sqt_hanging *h, const struct sqt_xact *x, char name[SQT_TOLD_NAME])
{
    if (!hanging_waited(x, SQT_NAMED_DNS, name))
        snprintf(name, SQT_TOLD_NAME, "%s", *h->name_server ? h->name_server : "the name server");
    return name;
}

/* In what an open request waits, and for whom; NULL: for nobody who has a name. */
static const char *
hanging_whom(const struct sqt_hanging *h, const struct sqt_xact *x, enum sqt_hanging_part *part,
             char name[SQT_TOLD_NAME])
{
    switch (x->stages.stage) {
    case SQT_STAGE_CONNECT:
        *part = SQT_HANGING_CONNECT;
        return hanging_server(x);
    case SQT_STAGE_TLS:
        *part = SQT_HANGING_TLS;
        return hanging_server(x);
    case SQT_STAGE_REQUEST_SEND:
    case SQT_STAGE_SERVER_WAIT:
    case SQT_STAGE_COLLAPSED_WAIT:
        *part = SQT_HANGING_ANSWER;
        return hanging_server(x);
    case SQT_STAGE_SERVER_REPLY:
        *part = SQT_HANGING_BODY;
        return hanging_server(x);
    case SQT_STAGE_DNS:
        *part = SQT_HANGING_NAMES;
        return hanging_name_server(h, x, name);
    case SQT_STAGE_HELPER:
        *part = SQT_HANGING_HELPER;
        return hanging_waited(x, SQT_NAMED_HELPER, name);
    case SQT_STAGE_REDIRECT:
        *part = SQT_HANGING_HELPER;
        return hanging_waited(x, SQT_NAMED_REDIRECT, name);
    case SQT_STAGE_ADAPT:
        *part = SQT_HANGING_SERVICE;
        return hanging_waited(x, SQT_NAMED_ADAPT, name);
    case SQT_STAGE_SWAP_IN_OPEN:
    case SQT_STAGE_SWAP_IN_FIRST:
    case SQT_STAGE_SWAP_IN_REST:
        *part = SQT_HANGING_DISK;
        return sqt_finding_place_name(x, name) ? name : NULL;
    default:
        return NULL;
    }
}

/* ---- main threads ---- */

static struct sqt_hanging_kid *
hanging_kid(struct sqt_hanging *h, const struct sqt_origin *origin)
{
    return &h->kids[origin->identity.kid % SQT_HANGING_KIDS];
}

/* The ACL that is being checked, if the ring shows it.  Returns whether it does. */
static int
hanging_acl(const struct sqt_open_loop *loop, const struct sqt_now *now, struct sqt_hanging_kid *kid)
{
    const uint32_t acl = now->acl ? now->acl(loop->origin) : 0;
    const char *const text = acl ? sqt_origin_text(loop->origin, SQT_DEF_ACL, acl) : NULL;
    if (text)
        snprintf(kid->name, sizeof(kid->name), "acl %s", text);
    return text != NULL;
}

/* An access check computes, and the ring does not show the ACL: samples of earlier ones may know it. */
static void
hanging_access(const struct sqt_hanging *h, struct sqt_hanging_kid *kid)
{
    const char *const acl = h->holders.names.size ? sqt_holders_name(&h->holders, SQT_HELD_COMPUTING) : "";
    snprintf(kid->name, sizeof(kid->name), "%s", strncmp(acl, "acl ", 4) == 0 ? acl : "an access check");
}

/* What a main thread does that does not go on: its last record announced it, or a sample in this pass saw it. */
static void
hanging_name(const struct sqt_hanging *h, const struct sqt_open_loop *loop, const struct sqt_now *now,
             struct sqt_hanging_kid *kid)
{
    char text[SQT_THING_NAME];
    const struct sqt_thing thing = {.activity = UINT32_MAX, .disk_call = loop->disk_call, .dir = loop->dir};
    if (kid->stopped)
        snprintf(kid->name, sizeof(kid->name), "not running");
    else if (hanging_acl(loop, now, kid))
        return;
    else if (loop->disk_call != SQT_DISK_OTHER)
        snprintf(kid->name, sizeof(kid->name), "%s", sqt_thing_name(loop->origin, &thing, text));
    else if (loop->xact && sqt_spans_charged(&loop->xact->stages) == SQT_STAGE_ACCESS)
        hanging_access(h, kid);
    else if (h->sampled == loop->origin && h->sampled_at > loop->since)
        snprintf(kid->name, sizeof(kid->name), "%s", sqt_holders_name(&h->holders, sqt_holders_most(&h->holders)));
    else
        snprintf(kid->name, sizeof(kid->name), "what came after the event %s",
                 sqt_origin_event_name(loop->origin, loop->event));
}

/* Since when the pass goes on, with long ones that came just before it. */
static int64_t
hanging_since(const struct sqt_hanging *h, const struct sqt_open_loop *loop)
{
    const struct sqt_hanging_passes *const p = &h->passes[loop->origin->identity.kid % SQT_HANGING_KIDS];
    return p->origin == loop->origin && loop->since - p->until < BETWEEN ? p->since : loop->since;
}

static void
hanging_loop(void *state, const struct sqt_loop_row *pass)
{
    struct sqt_hanging *const h = state;
    struct sqt_hanging_passes *const p = &h->passes[pass->origin->identity.kid % SQT_HANGING_KIDS];
    if (pass->unknown || pass->end - pass->work < LONG)
        return;
    if (p->origin != pass->origin || pass->work - p->until >= BETWEEN)
        p->since = pass->work;
    p->origin = pass->origin;
    p->until = pass->end;
}

static void
hanging_open_loop(void *state, const struct sqt_open_loop *loop, const struct sqt_now *now)
{
    struct sqt_hanging *const h = state;
    const struct sqt_identity *const identity = &loop->origin->identity;
    const int64_t silent = now->silent(loop->origin);
    const int stopped = silent >= SILENT;
    const int64_t since = hanging_since(h, loop);
    const struct sqt_sampled_counter *const faults = &h->faults[identity->kid % SQT_HANGING_KIDS];
    h->now = now->ns;
    if (h->ended[identity->kid % SQT_HANGING_KIDS] == loop->origin)
        return; /* it ended itself */
    if (silent < 0 || silent >= SQT_NOW_SILENT || (!stopped && (loop->works != 1 || now->ns - since < BLOCKED)))
        return;
    struct sqt_hanging_kid *const kid = hanging_kid(h, loop->origin);
    *kid = (struct sqt_hanging_kid){
        .origin = loop->origin,
        .kid = identity->kid,
        .kind = identity->kid_kind,
        .pid = identity->pid,
        .stopped = stopped,
        .faults = stopped && sqt_page_faults_stop(faults, &h->pages, loop->origin) ? faults->rate : 0,
        .since = stopped ? now->ns - silent : since,
        .oldest = now->ns};
    hanging_name(h, loop, now, kid);
}

/* ---- what the model says ---- */

static void
hanging_open(struct sqt_hanging *h, const struct sqt_xact *x)
{
    struct sqt_hanging_kid *const kid = hanging_kid(h, x->origin);
    char text[SQT_TOLD_NAME];
    enum sqt_hanging_part part;
    if (h->ended[x->origin->identity.kid % SQT_HANGING_KIDS] == x->origin || h->now - x->end > GONE)
        return; /* its process is gone */
    if (kid->origin == x->origin) {
        ++kid->open;
        kid->oldest = x->begin < kid->oldest ? x->begin : kid->oldest;
        kid->waited_ns += (double)(x->end - (x->begin > kid->since ? x->begin : kid->since));
        return;
    }
    const char *const name = hanging_whom(h, x, &part, text);
    if (!name)
        return;
    struct sqt_hanging_on *const on = hanging_on(h, name);
    const int64_t since = x->stages.since > x->begin ? x->stages.since : x->begin;
    on->oldest = !on->open || since < on->oldest ? since : on->oldest;
    on->waited_ns += (double)(x->end - since);
    ++on->parts[part];
    ++on->open;
}

static void
hanging_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct sqt_hanging *const h = state;
    char text[SQT_TOLD_NAME];
    (void)felt;
    h->now = xact->end > h->now ? xact->end : h->now;
    if (xact->outcome == SQT_OUTCOME_UNFINISHED) {
        hanging_open(h, xact);
        return;
    }
    if (xact->outcome != SQT_OUTCOME_COMPLETE)
        return;
    const char *const server = fact->row[SQT_CELL(requests, server)].text;
    if (server && xact->status && xact->status < 500)
        hanging_answer(h, server, xact->end,
                       sqt_row_sum(fact->row, SQT_NS(connect) | SQT_NS(tls) | SQT_NS(server_wait)));
    if (sqt_finding_place_name(xact, text))
        hanging_answer(h, text, xact->end, sqt_row_sum(fact->row, SQT_SWAP_IN));
}

static void
hanging_wait(void *state, const struct sqt_wait *wait)
{
    struct sqt_hanging *const h = state;
    const char *const text = sqt_origin_text(wait->origin, wait->def, wait->who);
    char name[SQT_TOLD_NAME];
    if (!text || sqt_wait_unknown(wait))
        return;
    if (wait->stage == SQT_NAMED_DNS)
        snprintf(h->name_server, sizeof(h->name_server), "%s", text);
    if (wait->outcome != SQT_WAIT_OK && wait->outcome != SQT_WAIT_ERR)
        return;
    snprintf(name, sizeof(name), "%s%s", wait->def == SQT_DEF_SERVICE ? "adaptation " : "", text);
    hanging_answer(h, name, wait->end, wait->end - wait->begin);
}

static void
hanging_loop_sample(void *state, const struct sqt_loop_sample_row *sample)
{
    struct sqt_hanging *const h = state;
    if (!h->holders.names.size)
        sqt_holders_init(&h->holders);
    if (sample->held <= 0)
        return;
    sqt_holders_add(&h->holders, sample);
    h->sampled = sample->origin;
    h->sampled_at = sample->until;
}

static void
hanging_sample(void *state, const struct sqt_sample_row *sample)
{
    struct sqt_hanging *const h = state;
    char source[SQT_SOURCE_NAME];
    enum sqt_sample_value what;
    sqt_sample_split(sample, source, &what);
    if (what == SQT_SAMPLE_PROCESS_major_faults)
        sqt_sampled_count(&h->faults[sample->origin->identity.kid % SQT_HANGING_KIDS], sample);
    else if (what == SQT_SAMPLE_MACHINE_swapped_in_pages)
        sqt_sampled_count(&h->pages, sample);
}

/* What a process leaves open that was told to stop does not hang. */
static void
hanging_setup(void *state, const struct sqt_setup_row *row)
{
    struct sqt_hanging *const h = state;
    if (row->event == SQT_EV_STOP && !row->goes_on)
        h->ended[row->origin->identity.kid % SQT_HANGING_KIDS] = row->origin;
}

/* Who ended itself neither. */
static void
hanging_incident(void *state, const struct sqt_incident_row *row)
{
    struct sqt_hanging *const h = state;
    if (row->event == SQT_EV_FATAL)
        h->ended[row->origin->identity.kid % SQT_HANGING_KIDS] = row->origin;
}

static void
hanging_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    sqt_hanging_tell(state, totals, tolds);
}

static void
hanging_end(void *state)
{
    struct sqt_hanging *const h = state;
    sqt_names_free(&h->names);
    sqt_when_free(&h->answers);
    sqt_holders_free(&h->holders);
}

/* How long answers took before is known for longer than a window lasts. */
static void
hanging_inherit(void *state, const void *from)
{
    struct sqt_hanging *const h = state;
    const struct sqt_hanging *const before = from;
    snprintf(h->name_server, sizeof(h->name_server), "%s", before->name_server);
    memcpy(h->ended, before->ended, sizeof(h->ended));
    memcpy(h->faults, before->faults, sizeof(h->faults));
    h->pages = before->pages;
    for (const struct sqt_name_entry *named = before->names.first; named; named = named->next) {
        const struct sqt_hanging_on *const old = (const struct sqt_hanging_on *)named;
        struct sqt_hanging_on *const on = hanging_on(h, named->name);
        on->answers = old->answers;
        on->longest = old->longest;
    }
}

const struct sqt_look sqt_look_hanging = {.size = sizeof(struct sqt_hanging),
                                          .request = hanging_request,
                                          .wait = hanging_wait,
                                          .loop = hanging_loop,
                                          .loop_sample = hanging_loop_sample,
                                          .sample = hanging_sample,
                                          .open_loop = hanging_open_loop,
                                          .setup = hanging_setup,
                                          .incident = hanging_incident,
                                          .inherit = hanging_inherit,
                                          .tell = hanging_tell,
                                          .end = hanging_end};
