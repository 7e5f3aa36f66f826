/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * watch.c - follows a trace, and makes a snapshot when a condition holds.
 *
 * A snapshot that is due too soon after the last one waits; what its condition was about is in the trace meanwhile.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "base/memory.h"
#include "model/model.h"
#include "read/follow.h"
#include "row/facts.h"
#include "row/where.h"

#include "base/idmap.h"
#include "snapshot.h"

#define SECOND INT64_C(1000000000)
#define WATCH_LOOK_MS 100
/* What is read of the time before the start: requests that are open have their begins there. */
#define WATCH_LAST (300 * SECOND)
/* Requests that are open and known to have been a reason: while there are so many, no other open one becomes one. */
#define WATCH_OPEN 4096
#define WATCH_BYTES (UINT64_C(8) << 20)

struct watch {
    const struct snapshot_request *request;
    struct program_voice voice;
    struct snapshot_condition *conditions; /* request->when_count */
    struct sqt_stream *stream;
    struct sqt_model *model;
    int begun;             /* what was there before the start has been read */
    struct sqt_idmap open; /* requests that were a reason while they were open, by watch_key(); the value is w */
    size_t open_count;
    int64_t now, looked; /* ns of the stream; by CLOCK_MONOTONIC, when open requests were looked at */

    /* The snapshot that is to be made. */
    int due;
    int64_t due_at;       /* by CLOCK_MONOTONIC */
    int64_t begin;        /* ns since 1970 */
    char why[256];        /* the first reason */
    char hint[128];       /* how to see it */
    uint64_t more;        /* reasons besides */
    int64_t made_at;      /* by CLOCK_MONOTONIC; INT64_MIN: none yet */
    uint64_t made, wrong; /* snapshots; those that could not be made */
};

static volatile sig_atomic_t watch_stop;

static void
watch_signal(int number)
{
    (void)number;
    watch_stop = 1;
}

static int64_t
watch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void
watch_report(void *context, enum sqt_severity severity, const char *text)
{
    struct watch *const w = context;
    if (severity == SQT_ERROR)
        program_fail(&w->voice, "%s", text);
    else if (severity == SQT_WARNING)
        program_say(&w->voice, "warning: %s", text);
}

/* ---- reasons ---- */

/* Something that began then, in ns since the start of the stream, is a reason.  Returns whether it is to be worded. */
static int
watch_reason(struct watch *w, int64_t begin)
{
    const int64_t now = watch_now(), from = (int64_t)sqt_stream_start_ns(w->stream) + begin;
    if (w->due) {
        w->begin = from < w->begin ? from : w->begin;
        ++w->more;
        return 0;
    }
    w->due = 1;
    w->due_at = now + w->request->after;
    if (w->made_at != INT64_MIN && w->due_at < w->made_at + w->request->every)
        w->due_at = w->made_at + w->request->every;
    w->begin = from;
    w->more = 0;
    return 1;
}

/* A request that was a reason while it was open. */
static uint64_t
watch_key(const struct sqt_xact *x)
{
    return (x->pooled.serial << 16 | (x->origin->index & UINT16_MAX)) + 1;
}

static void
watch_remember(struct watch *w, const struct sqt_xact *x)
{
    if (sqt_idmap_get(&w->open, watch_key(x)))
        return;
    sqt_idmap_put(&w->open, watch_key(x), w);
    ++w->open_count;
}

/* open: it is not over, and is what it would be if it ended now. */
static void
watch_one(struct watch *w, const struct sqt_xact *x, int open)
{
    struct sqt_request_fact fact;
    const union sqt_cell *const rows[] = {fact.row};
    char took[SQT_HUMAN_ROOM];
    int known = 0;
    for (size_t i = 0; i < w->request->when_count; ++i) {
        const struct snapshot_condition *const c = &w->conditions[i];
        if (c->kind != SNAPSHOT_REQUEST)
            continue;
        if (!known++)
            sqt_request_fact(&fact, x);
        if (!sqt_where_match(c->where, rows))
            continue;
        if (open)
            watch_remember(w, x);
        if (!watch_reason(w, x->begin == SQT_MISSING ? x->end : x->begin))
            return;
        const uint32_t kid = x->origin->identity.kid;
        const int timed = x->begin != SQT_MISSING && !sqt_durations_unknown(x->outcome);
        snprintf(w->why, sizeof(w->why), "request %" PRIu64 " of kid %" PRIu32 " %s%s: --when='%.120s'", x->id, kid,
                 open    ? "has taken "
                 : timed ? "took "
                         : "ended",
                 timed ? sqt_human_time(took, (double)(x->end - x->begin), " ", "us") : "", c->text);
        snprintf(w->hint, sizeof(w->hint), "--kid=%" PRIu32 " --where='xid == %" PRIu64 "'", kid, x->id);
        return;
    }
}

static void
watch_request(void *context, const struct sqt_xact *x)
{
    struct watch *const w = context;
    if (sqt_idmap_take(&w->open, watch_key(x)))
        --w->open_count;
    else if (w->begun && x->outcome != SQT_OUTCOME_UNFINISHED)
        watch_one(w, x, 0);
}

static void
watch_open_request(void *context, const struct sqt_open_request *open)
{
    struct watch *const w = context;
    struct sqt_xact x = *open->xact;
    if (w->open_count >= WATCH_OPEN || sqt_idmap_get(&w->open, watch_key(&x)) || x.begin == SQT_MISSING || !open->sure)
        return;
    if (w->now > x.stages.last)
        sqt_spans_charge(&x.stages, w->now);
    x.end = x.stages.last;
    x.outcome = SQT_OUTCOME_UNFINISHED;
    watch_one(w, &x, 1);
}

/* What hangs never ends by itself: it is looked at once a second. */
static void
watch_hanging(struct watch *w)
{
    const int64_t clock = watch_now();
    w->now = sqt_stream_now(w->stream);
    if (w->now == INT64_MIN || clock < w->looked + SECOND)
        return;
    w->looked = clock;
    sqt_model_open_requests(w->model, watch_open_request, w);
}

static void
watch_loop(void *context, const struct sqt_loop_row *row)
{
    struct watch *const w = context;
    char took[SQT_HUMAN_ROOM];
    if (!w->begun || row->unknown)
        return;
    for (size_t i = 0; i < w->request->when_count; ++i) {
        const struct snapshot_condition *const c = &w->conditions[i];
        if (c->kind != SNAPSHOT_STALL || row->end - row->work <= c->longer)
            continue;
        if (!watch_reason(w, row->begin))
            return;
        snprintf(w->why, sizeof(w->why), "a pass of the event loop of kid %" PRIu32 " worked for %s: --when='%.120s'",
                 row->origin->identity.kid, sqt_human_time(took, (double)(row->end - row->work), " ", "us"), c->text);
        snprintf(w->hint, sizeof(w->hint), "--table=stalls");
        return;
    }
}

static void
watch_loss(void *context, const struct sqt_loss_row *loss)
{
    struct watch *const w = context;
    for (size_t i = 0; w->begun && i < w->request->when_count; ++i) {
        if (w->conditions[i].kind != SNAPSHOT_LOST)
            continue;
        if (!watch_reason(w, loss->from == SQT_MISSING ? loss->until : loss->from))
            return;
        snprintf(w->why, sizeof(w->why), "kid %" PRIu32 " lost %" PRIu64 " records: %s", loss->origin->identity.kid,
                 loss->records, sqt_loss_reason(loss->reason));
        snprintf(w->hint, sizeof(w->hint), "--table=losses");
        return;
    }
}

/* ---- following ---- */

static void
watch_ended(void *context, const struct sqt_origin *origin)
{
    sqt_model_end(((struct watch *)context)->model, origin);
}

static void
watch_forgotten(void *context, const struct sqt_origin *origin)
{
    sqt_model_forget(((struct watch *)context)->model, origin);
}

static void
watch_drain(struct watch *w)
{
    struct sqt_run run;
    while (sqt_stream_next(w->stream, &run))
        if (run.count)
            sqt_model_run(w->model, &run);
}

static int
watch_open(struct watch *w)
{
    const struct sqt_following following = {.context = w, .ended = watch_ended, .forgotten = watch_forgotten};
    const struct sqt_consumer consumer = {
        .context = w, .request = watch_request, .loop = watch_loop, .loss = watch_loss};
    w->stream = sqt_stream_open(w->request->directories, 1, watch_report, w);
    if (!w->stream)
        return -1;
    w->model = sqt_model_new(&consumer);
    if (sqt_stream_follow(w->stream, &following) != 0)
        return -1;
    sqt_stream_begin_late(w->stream, WATCH_LAST, WATCH_BYTES);
    watch_drain(w);
    w->begun = 1;
    return 0;
}

static void
snapshot_watch_take(struct watch *w)
{
    struct snapshot_request request = *w->request;
    struct snapshot_reason reason = {.why = w->why, .hint = w->hint};
    request.since = (struct moment){.form = MOMENT_SINCE_1970, .ns = w->begin - w->request->before};
    w->due = 0;
    const size_t length = strlen(w->why);
    if (w->more)
        snprintf(w->why + length, sizeof(w->why) - length, " (and %" PRIu64 " more)", w->more);
    w->wrong += snapshot_take(&request, &reason) != SNAPSHOT_DONE;
    ++w->made;
    w->made_at = watch_now();
}

static void
watch_run(struct watch *w)
{
    program_say(&w->voice, "watching %s", w->request->directories[0]);
    while (!watch_stop) {
        sqt_stream_wait(w->stream, WATCH_LOOK_MS);
        watch_drain(w);
        watch_hanging(w);
        if (w->due && watch_now() >= w->due_at)
            snapshot_watch_take(w);
    }
    if (w->due)
        snapshot_watch_take(w);
    program_say(&w->voice, "snapshots made: %" PRIu64, w->made - w->wrong);
}

static int
watch_conditions(struct watch *w)
{
    char error[512];
    w->conditions = sqt_zeroed(w->request->when_count, sizeof(*w->conditions));
    for (size_t i = 0; i < w->request->when_count; ++i)
        if (snapshot_condition_parse(&w->conditions[i], w->request->when[i], error, sizeof(error)) != 0)
            return program_fail(&w->voice, "--when: %s", error);
    return 0;
}

static void
watch_close(struct watch *w)
{
    for (size_t i = 0; i < w->request->when_count; ++i)
        snapshot_condition_free(&w->conditions[i]);
    free(w->conditions);
    sqt_idmap_free(&w->open);
    if (w->model)
        sqt_model_free(w->model);
    if (w->stream)
        sqt_stream_close(w->stream);
}

enum snapshot_status
snapshot_watch(const struct snapshot_request *request)
{
    const struct sigaction action = {.sa_handler = watch_signal};
    struct watch w = {.request = request,
                      .voice = {.program = "sqtrace-snapshot", .quiet = request->given[SNAPSHOT_quiet] != NULL},
                      .made_at = INT64_MIN};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const int failed = watch_conditions(&w) != 0 || watch_open(&w) != 0;
    if (!failed)
        watch_run(&w);
    watch_close(&w);
    return failed || w.wrong ? SNAPSHOT_FAILED : SNAPSHOT_DONE;
}
