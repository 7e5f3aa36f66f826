/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follow.c - reads what the processes of a Squid write, and keeps what is shown of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "live/live.h"
#include "model/model.h"
#include "top.h"

/* Bytes of segments that are read of each process before the first screen: some million records. */
#define FOLLOW_BYTES (UINT64_C(8) << 20)
/* A little longer than records are held back. */
#define FOLLOW_CATCH_UP_MS (SQT_FOLLOW_BACK_MS + 10)

/* ---- what the reader and the model say ---- */

static void
follow_report(void *context, enum sqt_severity severity, const char *text)
{
    struct top *const top = context;
    if (severity == SQT_NOTE)
        return;
    if (top->drawn)
        snprintf(top->message, sizeof(top->message), "%s", text);
    else if (severity == SQT_ERROR || !top->request->given[TOP_quiet])
        fprintf(stderr, "sqtrace-top: %s%s\n", severity == SQT_WARNING ? "warning: " : "", text);
}

static void
follow_charge(void *context, const struct sqt_charge *charge)
{
    struct top *const top = context;
    sqt_keep_charge(&top->keep, charge);
    window_add_stage(&top->window, charge->stage, charge->from, charge->until);
}

static void
follow_recharge(void *context, const struct sqt_charge *charge)
{
    (void)context;
    if (charge->xact->user)
        sqt_keep_recharge(charge);
}

static void
follow_request(void *context, const struct sqt_xact *x)
{
    struct top *const top = context;
    struct sqt_request_fact fact;
    top_waterfall_take(top, x, 1);
    sqt_request_fact(&fact, x);
    top_watch_request(top, &fact);
    top_ended_take(top, &fact, x);
    sqt_keep_drop(&top->keep, x->user);
}

static void
follow_unlogged(void *context, const struct sqt_xact *x)
{
    struct top *const top = context;
    sqt_keep_drop(&top->keep, x->user);
}

/* ---- processes ---- */

static void
top_ended(void *context, const struct sqt_origin *origin)
{
    struct top *const top = context;
    top_watch_ended(origin);
    sqt_model_end(top->model, origin);
    sqt_live_end(top->live, origin);
}

static void
top_forgotten(void *context, const struct sqt_origin *origin)
{
    struct top *const top = context;
    sqt_live_forget(top->live, origin);
    top_ended_forget(top, origin);
    sqt_model_forget(top->model, origin);
    free(origin->user);
}

/* ---- reading ---- */

static void
follow_run(struct top *top, const struct sqt_run *run)
{
    top_watch_run(top, run);
    sqt_live_run(top->live, run);
    sqt_model_run(top->model, run);
}

static void
top_drain(struct top *top)
{
    struct sqt_run run;
    while (sqt_stream_next(top->stream, &run))
        if (run.count)
            follow_run(top, &run);
}

void
top_read(struct top *top)
{
    sqt_stream_wait(top->stream, 0);
    top_drain(top);
}

void
top_look(struct top *top, int milliseconds)
{
    if (top->request->given[TOP_once])
        sqt_stream_wait_for_none(top->stream);
    else
        sqt_stream_wait(top->stream, milliseconds);
    top_drain(top);
    top_watch_look(top);
    top_ended_look(top);
    top_findings_look(top);
}

/* ---- the begin and the end ---- */

static void
follow_model(struct top *top)
{
    const struct sqt_consumer consumer = {.context = top,
                                          .charge = follow_charge,
                                          .recharge = follow_recharge,
                                          .request = follow_request,
                                          .unlogged = follow_unlogged,
                                          .wait = top_watch_wait,
                                          .io = top_watch_io,
                                          .loss = top_watch_loss,
                                          .loop = top_watch_loop};
    top_watch_begin(top);
    top->keep.left = TOP_KEEP_BYTES;
    top->live = sqt_live_new(&consumer, NULL);
    top->model = sqt_model_new(sqt_live_consumer(top->live));
    sqt_live_model(top->live, top->model);
}

/* The access.log beside the trace, if there is one.  Returns 0, or -1 after a report. */
static int
follow_log(struct top *top)
{
    const struct top_request *const r = top->request;
    const struct sqt_log_request log = {
        .files = r->logs, .count = r->log_count, .format = r->given[TOP_log_format], .follow = 1};
    if (!r->log_count)
        return 0;
    sqt_model_join(top->model, sqt_stream_logged, top->stream);
    return sqt_stream_join_log(top->stream, &log);
}

int
top_open(struct top *top, const struct top_request *r)
{
    const struct sqt_following following = {.context = top, .ended = top_ended, .forgotten = top_forgotten};
    char error[8];
    top->request = r;
    top->sort = r->sort;
    top->where = r->given[TOP_where] ? top_where_parse(r->given[TOP_where], error, sizeof(error)) : NULL;
    top->waterfall.wanted = r->xid >= 0;
    top->waterfall.xid = (uint64_t)r->xid;
    top->waterfall.kid = r->kid >= 0 ? (uint32_t)r->kid : UINT32_MAX;
    follow_model(top);
    top->stream = sqt_stream_open(r->traces, r->trace_count, follow_report, top);
    if (top->stream && r->kid >= 0)
        sqt_stream_keep_kids(top->stream, &(uint32_t){(uint32_t)r->kid}, 1);
    if (!top->stream || follow_log(top) != 0 || sqt_stream_follow(top->stream, &following) != 0) {
        top_close(top);
        return -1;
    }
    sqt_stream_begin_late(top->stream, r->last, FOLLOW_BYTES);
    top_drain(top);
    top_look(top, FOLLOW_CATCH_UP_MS);
    return 0;
}

void
top_close(struct top *top)
{
    top_watch_end(top);
    sqt_live_free(top->live);
    sqt_model_free(top->model);
    sqt_keep_free(&top->keep);
    top_ended_clear(top);
    sqt_where_free(top->where);
    sqt_stream_close(top->stream);
}
