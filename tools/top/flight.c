/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flight.c - the requests in flight: the stage that each is in, since when, and on whom it waits.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/visible.h"
#include "top.h"

/* ---- on whom a request waits ---- */

static void
flight_put(char *to, size_t size, const char *text)
{
    sqt_visible_text(to, size, text ? text : "");
}

/* The kind and the name, from a definition such as "auth basic". */
static void
flight_put_both(struct top_flight *f, const char *text)
{
    const char *const space = text ? strchr(text, ' ') : NULL;
    if (!space)
        return;
    snprintf(f->on, sizeof(f->on), "%.*s", (int)(space - text), text);
    flight_put(f->whom, sizeof(f->whom), space + 1);
}

static const char *
flight_server(const struct sqt_xact *x)
{
    return x->server == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_SERVER, x->server);
}

static void
flight_wait(struct top_flight *f, const struct sqt_wait *wait)
{
    if (!wait)
        return;
    if (wait->def == SQT_DEF_SERVICE)
        flight_put(f->whom, sizeof(f->whom), sqt_origin_text(wait->origin, SQT_DEF_SERVICE, wait->who));
    else
        flight_put_both(f, sqt_origin_text(wait->origin, SQT_DEF_WAITED, wait->who));
}

/* A query names its server only when it is over: at the latest when it is sent again. */
static void
flight_name_server(struct top_flight *f, const struct sqt_xact *x)
{
    const struct sqt_longest_wait *const asked = &x->longest[SQT_NAMED_DNS];
    if (asked->def)
        flight_put_both(f, sqt_origin_text(x->origin, asked->def, asked->who));
}

static void
flight_leader(struct top_flight *f, const struct sqt_xact *leader)
{
    char server[TOP_NAME / 2];
    if (!leader)
        return;
    const unsigned stage = sqt_spans_charged(&leader->stages);
    flight_put(server, sizeof(server), flight_server(leader));
    snprintf(f->whom, sizeof(f->whom), "%llu (%s%s%s)", (unsigned long long)(leader->id & ~SQT_UNNAMED),
             stage < SQT_STAGES ? sqt_stages[stage].name : "-", *server ? " " : "", server);
}

/* What is waited for in each stage. */
enum flight_on { ON_NOTHING, ON_SERVER, ON_DIR, ON_CLIENT, ON_HELPER, ON_SERVICE, ON_NAMES, ON_POOL, ON_LEADER };
static const struct {
    enum flight_on on;
    const char *name;
} flight_ons[SQT_STAGES + 1] = {
    [SQT_STAGE_CONNECT] = {ON_SERVER, "server"},         [SQT_STAGE_TLS] = {ON_SERVER, "server"},
    [SQT_STAGE_REQUEST_SEND] = {ON_SERVER, "server"},    [SQT_STAGE_SERVER_WAIT] = {ON_SERVER, "server"},
    [SQT_STAGE_SERVER_REPLY] = {ON_SERVER, "server"},    [SQT_STAGE_TUNNEL] = {ON_SERVER, "server"},
    [SQT_STAGE_SWAP_IN_OPEN] = {ON_DIR, "cache_dir"},    [SQT_STAGE_SWAP_IN_FIRST] = {ON_DIR, "cache_dir"},
    [SQT_STAGE_SWAP_IN_REST] = {ON_DIR, "cache_dir"},    [SQT_STAGE_PROXY_REPLY] = {ON_CLIENT, "client"},
    [SQT_STAGE_CLIENT_BODY] = {ON_CLIENT, "client"},     [SQT_STAGE_HELPER] = {ON_HELPER, "helper"},
    [SQT_STAGE_REDIRECT] = {ON_HELPER, "url_rewrite"},   [SQT_STAGE_ADAPT] = {ON_SERVICE, "adaptation"},
    [SQT_STAGE_DNS] = {ON_NAMES, "name_server"},         [SQT_STAGE_HELD_BACK] = {ON_POOL, "delay_pool"},
    [SQT_STAGE_COLLAPSED_WAIT] = {ON_LEADER, "request"},
};

static void
flight_on_whom(struct top_flight *f, const struct sqt_open_request *open)
{
    const struct sqt_xact *const x = open->xact;
    flight_put(f->on, sizeof(f->on), flight_ons[open->stage].name);
    switch (flight_ons[open->stage].on) {
    case ON_SERVER:
        flight_put(f->whom, sizeof(f->whom), flight_server(x));
        break;
    case ON_DIR:
        flight_put(f->whom, sizeof(f->whom),
                   x->dir == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_DIR, x->dir));
        break;
    case ON_HELPER:
    case ON_SERVICE:
        flight_wait(f, open->wait);
        break;
    case ON_NAMES:
        flight_name_server(f, x);
        break;
    case ON_POOL:
        snprintf(f->whom, sizeof(f->whom), "%u", x->pool);
        break;
    case ON_LEADER:
        flight_leader(f, open->leader);
        break;
    case ON_NOTHING:
    case ON_CLIENT:
        break;
    }
}

/* ---- one request ---- */

/* Whether the filter takes it, as if it ended now. */
static int
flight_matches(const struct top *top, const struct sqt_xact *open)
{
    union sqt_cell row[SQT_CELLS(requests)];
    const union sqt_cell *const rows[] = {row};
    struct sqt_xact x = *open;
    if (!top->where)
        return 1;
    if (top->now > x.stages.last)
        sqt_spans_charge(&x.stages, top->now);
    x.end = x.stages.last;
    x.outcome = SQT_OUTCOME_UNFINISHED;
    sqt_request_cells(row, &x);
    return sqt_where_match(top->where, rows);
}

static struct top_flight *
flight_new(struct top *top)
{
    if (top->flight_count == top->flight_room) {
        top->flight_room = top->flight_room ? 2 * top->flight_room : 256;
        top->flights = sqt_resized(top->flights, top->flight_room * sizeof(*top->flights));
    }
    struct top_flight *const f = &top->flights[top->flight_count++];
    memset(f, 0, sizeof(*f));
    return f;
}

static void
flight_count_wait(struct top *top, const struct top_flight *f)
{
    struct top_waited *const waited = top_waited_of(top, f->on, f->whom, top->now);
    const int64_t age = top->now - f->since;
    ++waited->waiting;
    waited->oldest = age > waited->oldest ? age : waited->oldest;
}

static void
flight_take(void *context, const struct sqt_open_request *open)
{
    struct top *const top = context;
    const struct sqt_xact *const x = open->xact;
    const struct top_process *const process = x->origin->user;
    if (!process || process->ended || (top->request->kid >= 0 && x->origin->identity.kid != top->request->kid))
        return;
    top_waterfall_take(top, x, 0);
    window_add_stage(&top->open, open->stage, x->stages.last, top->now);
    if (!flight_matches(top, x) || ++top->in_flight > TOP_FLIGHTS_MOST)
        return;
    struct top_flight *const f = flight_new(top);
    *f = (struct top_flight){.begin = x->begin,
                             .since = open->since,
                             .xid = x->id,
                             .conn = x->conn,
                             .kid = x->origin->identity.kid,
                             .stage = open->stage,
                             .sure = open->sure};
    flight_put(f->method, sizeof(f->method),
               x->method == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_METHOD, x->method));
    flight_on_whom(f, open);
    if (*f->on)
        flight_count_wait(top, f);
}

/* ---- all of them ---- */

static int
flight_compare(const void *one, const void *two, void *context)
{
    const struct top_flight *const a = one, *const b = two;
    int order = 0;
    switch (*(const enum top_sort *)context) {
    case TOP_SORT_stage_ns:
        order = (a->since > b->since) - (a->since < b->since);
        break;
    case TOP_SORT_stage:
        order = strcmp(a->stage < SQT_STAGES ? sqt_stages[a->stage].name : "",
                       b->stage < SQT_STAGES ? sqt_stages[b->stage].name : "");
        break;
    case TOP_SORT_whom:
        order = strcmp(a->on, b->on);
        order = order ? order : strcmp(a->whom, b->whom);
        break;
    case TOP_SORT_kid:
        order = (a->kid > b->kid) - (a->kid < b->kid);
        break;
    case TOP_SORT_age_ns:
    case TOP_SORT_COUNT:
        break;
    }
    return order ? order : (a->begin > b->begin) - (a->begin < b->begin);
}

void
top_flight_sort(struct top *top)
{
    if (top->flight_count)
        qsort_r(top->flights, top->flight_count, sizeof(*top->flights), flight_compare, &top->sort);
}

void
top_flights(struct top *top)
{
    top->flight_count = top->in_flight = 0;
    for (struct sqt_name_entry *e = top->waited.first; e; e = e->next)
        ((struct top_waited *)e)->waiting = 0, ((struct top_waited *)e)->oldest = 0;
    sqt_model_open_requests(top->model, flight_take, top);
    top_flight_sort(top);
}
