/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flight.c - what is there at the moment: requests in flight as gauges, whether Squid lives, and of what version it is.
 *
 * What the page shows besides is kept as sqtrace-top keeps it.
 */
#include <string.h>

#include "base/visible.h"
#include "exporter.h"

/* Without a sign of life for so long, a process is down, in ns. */
#define FLIGHT_SILENT (10 * EXPORTER_SECOND)
/* What "now" is on the page, in ns. */
#define FLIGHT_NOW (10 * EXPORTER_SECOND)

/* ---- what is kept ---- */

void
exporter_watch_begin(struct exporter *e)
{
    memset(&e->watch, 0, sizeof(e->watch));
    e->watch_request = (struct top_request){.kid = -1, .xid = -1, .now = FLIGHT_NOW};
    e->watch.request = &e->watch_request;
    e->watch.stream = e->trace.stream;
    e->watch.model = e->trace.model;
    e->watch.live = e->trace.live;
    top_watch_begin(&e->watch);
}

void
exporter_watch_request(struct exporter *e, const struct sqt_request_fact *fact)
{
    if (exporter_has_page(e))
        top_watch_request(&e->watch, fact);
}

static void
inflight_charge(void *context, const struct sqt_charge *charge)
{
    struct exporter *const e = context;
    exporter_spans_charge(e, charge);
    if (exporter_has_page(e))
        window_add_stage(&e->watch.window, charge->stage, charge->from, charge->until);
}

static void
inflight_io(void *context, const struct sqt_io *io)
{
    struct exporter *const e = context;
    exporter_spans_io(e, io);
    if (exporter_has_page(e))
        top_watch_io(&e->watch, io);
}

void
exporter_watch_consume(const struct exporter *e, struct sqt_consumer *consumer)
{
    if (!exporter_has_page(e) && !e->sender)
        return;
    consumer->charge = inflight_charge;
    consumer->io = inflight_io;
}

/* ---- requests in flight ---- */

static struct export_child *
inflight_child(struct exporter *e, uint32_t kid, unsigned stage)
{
    char number[16];
    snprintf(number, sizeof(number), "%u", kid);
    const char *const labels[] = {number, stage < SQT_STAGES ? sqt_stages[stage].name : "unaccounted"};
    return export_series_get(e->series, EXPORT_FAMILY_flight, labels);
}

static void
inflight_take(void *context, const struct sqt_open_request *open)
{
    struct exporter *const e = context;
    const struct sqt_xact *const x = open->xact;
    const int64_t age = e->watch.now - x->begin;
    struct export_child *const child = inflight_child(e, x->origin->identity.kid, open->stage);
    export_series_raise(child, EXPORT_flight_requests, 1);
    export_series_most(child, EXPORT_flight_oldest, x->begin == SQT_MISSING ? 0 : age);
    child->origin = x->origin;
}

/* A stage that was seen once is 0 while nobody is in it; before that, no stage is. */
static void
inflight_zero(struct exporter *e)
{
    export_series_zero(e->series, EXPORT_FAMILY_flight);
    for (size_t i = 0; i < sqt_stream_origins(e->trace.stream); ++i) {
        const struct sqt_origin *const origin = sqt_stream_origin(e->trace.stream, i);
        const struct top_process *const process = origin->user;
        if (!process || process->ended)
            continue;
        struct export_child *const child = inflight_child(e, origin->identity.kid, SQT_STAGES);
        export_series_raise(child, EXPORT_flight_requests, 0);
        export_series_most(child, EXPORT_flight_oldest, 0);
        child->origin = origin;
    }
}

/* ---- versions ---- */

static void
inflight_build(struct exporter *e)
{
    export_series_clear(e->series, EXPORT_FAMILY_build);
    const size_t count = e->trace.stream ? sqt_stream_origins(e->trace.stream) : 0;
    char squid[64] = "";
    if (count)
        sqt_visible_text(squid, sizeof(squid), sqt_stream_origin(e->trace.stream, count - 1)->identity.squid_version);
    const char *const labels[] = {PACKAGE_VERSION, squid};
    export_series_set(export_series_get(e->series, EXPORT_FAMILY_build, labels), EXPORT_build_info, 1);
}

void
exporter_flight_take(struct exporter *e)
{
    const int64_t now = e->trace.stream ? sqt_stream_now(e->trace.stream) : INT64_MIN;
    inflight_build(e);
    if (now == INT64_MIN) {
        export_series_clear(e->series, EXPORT_FAMILY_flight);
        return;
    }
    e->watch.now = now;
    inflight_zero(e);
    sqt_model_open_requests(e->trace.model, inflight_take, e);
}

/* ---- whether Squid lives ---- */

/* For how long neither its flusher nor its main thread did anything; -1: it has no ring. */
static int64_t
inflight_silent(const struct exporter *e, const struct top_process *process)
{
    const int64_t silent = sqt_origin_silent(process->origin), now = sqt_stream_now(e->trace.stream);
    const int64_t quiet = now == INT64_MIN ? INT64_MAX : now - process->last;
    return silent < quiet ? silent : quiet;
}

/* How many processes did not end and are silent; least: what those that did not end are silent at least. */
static unsigned
inflight_processes(const struct exporter *e, int64_t *least)
{
    unsigned count = 0;
    for (size_t i = 0; e->trace.stream && i < sqt_stream_origins(e->trace.stream); ++i) {
        const struct top_process *const process = sqt_stream_origin(e->trace.stream, i)->user;
        const int64_t silent = process && !process->ended ? inflight_silent(e, process) : -1;
        if (silent >= 0 && silent < *least)
            *least = silent;
        count += silent >= FLIGHT_SILENT;
    }
    return count;
}

void
exporter_flight_look(struct exporter *e, int64_t monotonic)
{
    int64_t silent = FLIGHT_SILENT;
    inflight_processes(e, &silent);
    if (silent < FLIGHT_SILENT)
        e->trace.lived = monotonic - silent;
}

int
exporter_squid_is_up(const struct exporter *e)
{
    return e->trace.lived && exporter_now(CLOCK_MONOTONIC) - e->trace.lived < FLIGHT_SILENT;
}

unsigned
exporter_silent_processes(const struct exporter *e)
{
    int64_t silent = 0;
    return inflight_processes(e, &silent);
}
