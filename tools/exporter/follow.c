/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follow.c - the trace: opened, followed, and tried again while it cannot be read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter.h"

/* How long one turn may read, in ns: HTTP waits meanwhile. */
#define TURN (50 * 1000000)
/* Pause between two tries to open a trace, in ns. */
#define RETRY EXPORTER_SECOND
/* For so long after all was read, what ended before the start may still come: a reader holds records back. */
#define LATE EXPORTER_SECOND
/* Of what was written before the start, so much is read of each process, for the begins of what is still open. */
#define BEFORE_NS (300 * EXPORTER_SECOND)
#define BEFORE_BYTES (UINT64_C(64) << 20)
/* How often rows of long ago begin to count half. */
#define AGE (600 * EXPORTER_SECOND)

int64_t
exporter_now(int clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * EXPORTER_SECOND + now.tv_nsec;
}

/* ---- opening ---- */

static void
follow_bound(void *context, const struct sqt_bound_row *bound)
{
    char text[128];
    snprintf(text, sizeof(text), "too many %s are open at once in kid %u: the oldest ones count as lost", bound->what,
             bound->origin->identity.kid);
    exporter_report(context, SQT_WARNING, text);
}

static void
exporter_ended(void *context, const struct sqt_origin *origin)
{
    struct exporter *const e = context;
    top_watch_ended(origin);
    sqt_model_end(e->trace.model, origin);
    sqt_live_end(e->trace.live, origin);
    export_series_end(e->series, origin);
}

static void
exporter_forgotten(void *context, const struct sqt_origin *origin)
{
    struct exporter *const e = context;
    sqt_live_forget(e->trace.live, origin);
    sqt_model_forget(e->trace.model, origin);
    export_series_end(e->series, origin);
    free(origin->user);
}

/* What ended before the start does not count.  A trace that could be opened only later is read from the start on. */
static void
follow_begin(struct exporter_trace *t)
{
    const int64_t late = exporter_now(CLOCK_REALTIME) - t->started_ns;
    sqt_stream_begin_late(t->stream, BEFORE_NS + (late > 0 ? late : 0),
                          late < EXPORTER_SECOND ? BEFORE_BYTES : UINT64_MAX);
}

/* Returns 0, or -1 after a report. */
static int
follow_open(struct exporter *e)
{
    struct exporter_trace *const t = &e->trace;
    const struct sqt_following following = {.context = e, .ended = exporter_ended, .forgotten = exporter_forgotten};
    struct sqt_consumer consumer = exporter_consumer;
    consumer.context = e;
    consumer.bound = follow_bound;
    exporter_spans_consume(e, &consumer);
    exporter_watch_consume(e, &consumer);
    t->stream = sqt_stream_open(&e->request.trace, 1, exporter_report, e);
    if (!t->stream)
        return -1;
    t->live = sqt_live_new(&consumer, NULL);
    t->model = sqt_model_new(sqt_live_consumer(t->live));
    sqt_live_model(t->live, t->model);
    t->counted_from = t->started_ns - (int64_t)sqt_stream_start_ns(t->stream);
    exporter_spans_begin(e);
    exporter_watch_begin(e);
    if (sqt_stream_follow(t->stream, &following) != 0) {
        exporter_unfollow(e);
        return -1;
    }
    follow_begin(t);
    exporter_recovered(e, "follows");
    return 0;
}

void
exporter_unfollow(struct exporter *e)
{
    exporter_spans_end(e);
    exporter_findings_forget(e);
    if (e->trace.stream)
        top_watch_end(&e->watch);
    export_series_clear(e->series, EXPORT_FAMILY_flight);
    sqt_live_free(e->trace.live);
    sqt_model_free(e->trace.model);
    if (e->trace.stream)
        sqt_stream_close(e->trace.stream);
    e->trace.live = NULL;
    e->trace.model = NULL;
    e->trace.stream = NULL;
}

/* ---- reading ---- */

/* A directory that goes away, or may be read no more, is looked for until it is back. */
static void
follow_check(struct exporter *e, int64_t now)
{
    char text[256];
    if (now < e->trace.retry)
        return;
    e->trace.retry = now + RETRY;
    const int gone = access(e->request.trace, R_OK) != 0;
    snprintf(text, sizeof(text), "%.200s: %s", e->request.trace, gone ? strerror(errno) : "");
    if (gone) {
        exporter_report(e, SQT_ERROR, text);
        snprintf(e->messages.error, sizeof(e->messages.error), "%s", text);
    } else if (*e->messages.error)
        exporter_recovered(e, "can read again:");
}

/* All has been read.  What ends from now on is counted, whatever its time says: a clock may be set back. */
static void
follow_caught_up(struct exporter_trace *t, int64_t now)
{
    if (!t->caught_up)
        t->caught_up = now;
    else if (now - t->caught_up > LATE && t->counted_from != INT64_MIN) {
        t->counted_from = INT64_MIN;
        t->sent_from = t->last_ns < t->sent_from ? t->last_ns : t->sent_from;
    }
}

static void
follow_age(struct exporter *e, int64_t now)
{
    if (now - e->trace.aged < AGE)
        return;
    e->trace.aged = now;
    export_series_age(e->series);
}

int
exporter_follow(struct exporter *e)
{
    struct exporter_trace *const t = &e->trace;
    const int64_t begin = exporter_now(CLOCK_MONOTONIC);
    struct sqt_run run;
    follow_age(e, begin);
    if (!t->stream && begin < t->retry)
        return 0;
    if (t->stream)
        follow_check(e, begin);
    else if (follow_open(e) != 0) {
        t->retry = begin + RETRY;
        return 0;
    }
    sqt_stream_wait(t->stream, 0);
    while (sqt_stream_next(t->stream, &run)) {
        exporter_take_records(e, &run);
        if (run.count)
            top_watch_run(&e->watch, &run);
        sqt_live_run(t->live, &run);
        sqt_model_run(t->model, &run);
        if (exporter_now(CLOCK_MONOTONIC) - begin > TURN) {
            exporter_flight_look(e, begin);
            return 1;
        }
    }
    follow_caught_up(t, begin);
    exporter_flight_look(e, begin);
    exporter_findings_look(e, begin);
    return 0;
}
