/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * watch.c - keeps what is shown of a running Squid: sums of what ends, by second.  sqtrace-exporter keeps the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "row/cells.h"
#include "top.h"

/* ---- what ends ---- */

void
top_watch_request(struct top *top, const struct sqt_request_fact *fact)
{
    const union sqt_cell *const rows[] = {fact->row};
    if (fact->begin == SQT_MISSING) {
        ++top->begun_before;
        return;
    }
    if (sqt_durations_unknown(fact->outcome) || fact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    const char *const server = fact->row[SQT_CELL(requests, server)].text;
    if (server)
        top_waited_use(top, "server", server, fact->end, sqt_row_sum(fact->row, SQT_SERVER_TIME), fact->got_error);
    if (sqt_where_match(top->where, rows))
        window_add_request(&top->window, fact->end, fact->class, fact->end - fact->begin);
}

void
top_watch_wait(void *context, const struct sqt_wait *wait)
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

void
top_watch_io(void *context, const struct sqt_io *io)
{
    const struct sqt_swap *const swap = io->swap;
    const char *const dir = sqt_origin_text(swap->origin, SQT_DEF_DIR, swap->dir);
    if (!sqt_durations_unknown(io->outcome))
        top_waited_use(context, "cache_dir", dir, io->done, io->done - io->asked, io->outcome != SQT_OUTCOME_COMPLETE);
}

void
top_watch_loss(void *context, const struct sqt_loss_row *loss)
{
    struct top *const top = context;
    window_add_lost(&top->window, loss->until, loss->records);
}

void
top_watch_loop(void *context, const struct sqt_loop_row *row)
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

static struct top_process *
watch_process(struct sqt_origin *origin)
{
    if (!origin->user) {
        struct top_process *const p = origin->user = sqt_zeroed(1, sizeof(*p));
        p->origin = origin;
    }
    return origin->user;
}

void
top_watch_run(struct top *top, const struct sqt_run *run)
{
    struct top_process *const p = watch_process(run->origin);
    size_t last = run->count - 1;
    const int64_t first_ns = sqt_line_ns(&run->line, run->records[0].time);
    const int64_t last_ns = sqt_line_ns(&run->line, run->records[last].time);
    top->begin = first_ns < top->begin ? first_ns : top->begin;
    top->latest = last_ns > top->latest ? last_ns : top->latest;
    p->last = last_ns;
    while (last && run->records[last].flags & SQT_FLAG_PART)
        --last;
    snprintf(p->last_event, sizeof(p->last_event), "%s", sqt_origin_event_name(run->origin, run->records[last].event));
}

void
top_watch_ended(const struct sqt_origin *origin)
{
    if (origin->user)
        ((struct top_process *)origin->user)->ended = 1;
}

void
top_watch_begin(struct top *top)
{
    window_init(&top->window);
    window_init(&top->open);
    top->waited.size = sizeof(struct top_waited);
    top->waited.most = TOP_WAITED_MOST;
    top->begin = INT64_MAX;
}

void
top_watch_look(struct top *top)
{
    const int64_t now = sqt_stream_now(top->stream);
    top->live_now = now != INT64_MIN;
    top->now = top->live_now ? now : top->latest;
    window_free(&top->open);
    window_init(&top->open);
    top_flights(top);
}

void
top_watch_end(struct top *top)
{
    const size_t origins = top->stream ? sqt_stream_origins(top->stream) : 0;
    for (size_t i = 0; i < origins; ++i)
        free(sqt_stream_origin(top->stream, i)->user);
    sqt_names_free(&top->waited);
    window_free(&top->window);
    window_free(&top->open);
    free(top->flights);
}
