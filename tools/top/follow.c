/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follow.c - reads what the processes of a Squid write, and keeps what is shown of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "live/live.h"
#include "model/model.h"
#include "row/cells.h"
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
follow_count_request(struct top *top, const struct sqt_xact *x)
{
    struct sqt_request_fact fact;
    const union sqt_cell *const rows[] = {fact.row};
    if (x->begin == SQT_MISSING) {
        ++top->begun_before;
        return;
    }
    if (sqt_durations_unknown(x->outcome) || x->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_fact(&fact, x);
    const char *const server = fact.row[SQT_CELL(requests, server)].text;
    if (server)
        top_waited_use(top, "server", server, x->end, sqt_row_sum(fact.row, SQT_SERVER_TIME), x->status >= 500);
    if (sqt_where_match(top->where, rows))
        window_add_request(&top->window, x->end, fact.class, x->end - x->begin);
}

static void
follow_request(void *context, const struct sqt_xact *x)
{
    struct top *const top = context;
    top_waterfall_take(top, x, 1);
    follow_count_request(top, x);
    sqt_keep_drop(&top->keep, x->user);
}

static void
follow_unlogged(void *context, const struct sqt_xact *x)
{
    struct top *const top = context;
    sqt_keep_drop(&top->keep, x->user);
}

static void
follow_wait(void *context, const struct sqt_wait *wait)
{
    union sqt_cell row[SQT_CELLS(waits)];
    const char *on, *whom;
    if (sqt_wait_unknown(wait) || wait->outcome == SQT_WAIT_UNFINISHED)
        return;
    sqt_wait_cells(row, wait);
    on = row[SQT_CELL(waits, kind)].text;
    whom = row[SQT_CELL(waits, name)].text;
    top_waited_use(context, on ? on : "-", whom, wait->end, wait->end - wait->begin,
                   wait->outcome != SQT_WAIT_OK && wait->outcome != SQT_WAIT_ERR && wait->outcome != SQT_WAIT_SHARED);
}

static void
follow_io(void *context, const struct sqt_io *io)
{
    const struct sqt_swap *const swap = io->swap;
    const char *const dir = sqt_origin_text(swap->origin, SQT_DEF_DIR, swap->dir);
    if (!sqt_durations_unknown(io->outcome))
        top_waited_use(context, "cache_dir", dir, io->done, io->done - io->asked, io->outcome != SQT_OUTCOME_COMPLETE);
}

static void
follow_loss(void *context, const struct sqt_loss_row *loss)
{
    struct top *const top = context;
    window_add_lost(&top->window, loss->until, loss->records);
}

static void
follow_loop(void *context, const struct sqt_loop_row *row)
{
    struct top_process *const p = row->origin->user;
    const int64_t number = row->end / WINDOW_SECOND, busy = row->end - row->work;
    struct top_work *const work = p ? &p->seconds[(uint64_t)number % WINDOW_SECONDS] : NULL;
    (void)context;
    if (!p || row->unknown || work->number > number)
        return;
    if (work->number < number)
        *work = (struct top_work){.number = number, .activity = UINT32_MAX};
    ++work->passes;
    work->busy += busy;
    if (busy <= work->longest)
        return;
    work->longest = busy;
    work->activity = row->activity;
}

/* ---- processes ---- */

static void
top_ended(void *context, const struct sqt_origin *origin)
{
    struct top *const top = context;
    if (origin->user)
        ((struct top_process *)origin->user)->ended = 1;
    sqt_model_end(top->model, origin);
    sqt_live_end(top->live, origin);
}

static void
top_forgotten(void *context, const struct sqt_origin *origin)
{
    struct top *const top = context;
    sqt_live_forget(top->live, origin);
    sqt_model_forget(top->model, origin);
    free(origin->user);
}

static struct top_process *
follow_process(struct sqt_origin *origin)
{
    if (!origin->user) {
        struct top_process *const p = origin->user = sqt_zeroed(1, sizeof(*p));
        p->origin = origin;
    }
    return origin->user;
}

/* ---- reading ---- */

static void
follow_run(struct top *top, const struct sqt_run *run)
{
    struct top_process *const p = follow_process(run->origin);
    size_t last = run->count - 1;
    const int64_t first_ns = sqt_line_ns(&run->line, run->records[0].time);
    top->begin = first_ns < top->begin ? first_ns : top->begin;
    const int64_t last_ns = sqt_line_ns(&run->line, run->records[last].time);
    top->latest = last_ns > top->latest ? last_ns : top->latest;
    sqt_live_run(top->live, run);
    sqt_model_run(top->model, run);
    while (last && run->records[last].flags & SQT_FLAG_PART)
        --last;
    snprintf(p->last_event, sizeof(p->last_event), "%s", sqt_origin_event_name(run->origin, run->records[last].event));
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
    const int64_t now = sqt_stream_now(top->stream);
    top->live_now = now != INT64_MIN;
    top->now = top->live_now ? now : top->latest;
    window_free(&top->open);
    window_init(&top->open);
    top_flights(top);
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
                                          .wait = follow_wait,
                                          .io = follow_io,
                                          .loss = follow_loss,
                                          .loop = follow_loop};
    window_init(&top->window);
    window_init(&top->open);
    top->waited.size = sizeof(struct top_waited);
    top->waited.most = TOP_WAITED_MOST;
    top->keep.left = TOP_KEEP_BYTES;
    top->begin = INT64_MAX;
    top->live = sqt_live_new(&consumer, NULL);
    top->model = sqt_model_new(sqt_live_consumer(top->live));
    sqt_live_model(top->live, top->model);
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
    if (!top->stream || sqt_stream_follow(top->stream, &following) != 0) {
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
    const size_t origins = top->stream ? sqt_stream_origins(top->stream) : 0;
    for (size_t i = 0; i < origins; ++i)
        free(sqt_stream_origin(top->stream, i)->user);
    sqt_live_free(top->live);
    sqt_model_free(top->model);
    sqt_keep_free(&top->keep);
    sqt_names_free(&top->waited);
    window_free(&top->window);
    window_free(&top->open);
    sqt_where_free(top->where);
    free(top->flights);
    sqt_stream_close(top->stream);
}
