/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loop.c - the event loop and lost records as tracks, and how busy the loop was as a counter.
 */
#include "chrome.h"
#include "figure/table/loops.h"

#include <stdio.h>

#define WINDOW INT64_C(100000000) /* ns that a value of the counter is of */

#define CELL(name) row[SQT_CELL(loops, name)]

static void
loop_show_value(struct sqt_chrome *c, const struct sqt_origin *origin, int64_t window, int64_t percent)
{
    static const char *const series[] = {"percent"};
    struct sqt_chrome_process *const process = sqt_process_of(&c->tracks, origin);
    if (process->loop.shown == percent)
        return;
    process->loop.shown = percent;
    sqt_event_count(&c->events, "event loop busy", origin->index + 1, window * WINDOW, series, &percent, 1);
}

/* Shows what is known of the window that ends, and goes on to another one.  Between the two all is `between` percent. */
static void
loop_next_window(struct sqt_chrome *c, const struct sqt_origin *origin, int64_t window, int64_t between)
{
    struct sqt_chrome_process *const process = sqt_process_of(&c->tracks, origin);
    const int64_t before = process->loop.window;
    loop_show_value(c, origin, before, (process->loop.busy * 100 + WINDOW / 2) / WINDOW);
    if (window > before + 1)
        loop_show_value(c, origin, before + 1, between);
    process->loop.window = window;
    process->loop.busy = 0;
}

/* Passes of a process come in their order. */
static void
loop_count(struct sqt_chrome *c, const struct sqt_origin *origin, int64_t from, int64_t until)
{
    struct sqt_chrome_process *const process = sqt_process_of(&c->tracks, origin);
    if (!process->loop.origin)
        process->loop.window = from / WINDOW;
    process->loop.origin = origin;
    if (from / WINDOW > process->loop.window)
        loop_next_window(c, origin, from / WINDOW, 0);
    if (until / WINDOW > process->loop.window) {
        process->loop.busy += (process->loop.window + 1) * WINDOW - from;
        loop_next_window(c, origin, until / WINDOW, 100);
        from = process->loop.window * WINDOW;
    }
    process->loop.busy += until - from;
}

void
sqt_chrome_loop_finish(struct sqt_chrome *c)
{
    for (size_t i = 0; i < c->tracks.process_count; ++i) {
        const struct sqt_chrome_process *const process = c->tracks.processes[i];
        if (process && process->loop.origin)
            loop_next_window(c, process->loop.origin, process->loop.window + 2, 0);
    }
}

/* Whatever else waits while a pass works for so long. */
static const char *
loop_colour(int64_t work)
{
    return work >= SQT_LOOP_LONG ? "terrible" : "thread_state_running";
}

void
sqt_chrome_loop(void *context, const struct sqt_loop_row *pass)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    union sqt_cell row[SQT_CELLS(loops)];
    struct sqt_longest longest;
    char name[SQT_LONGEST_NAME + 16] = "work";
    if (!sqt_chrome_wants(job, pass->begin))
        return;
    sqt_sink_header(c->sink);
    sqt_loop_cells(row, pass, &longest);
    if (!pass->unknown && pass->end - pass->work >= SQT_LOOP_LONG && longest.name[0])
        snprintf(name, sizeof(name), "held by %s", longest.name);
    const struct sqt_chrome_place place =
        pass->unknown ? (struct sqt_chrome_place){0, 0}
                      : sqt_track_place(&c->tracks, pass->origin, SQT_TRACK_LOOP, pass->work, pass->end);
    if (place.thread)
        sqt_event_slice(&c->events, "loop", name, loop_colour(pass->end - pass->work), place, pass->work, pass->end);
    else
        sqt_event_instant(&c->events, "loop", name, sqt_track_first(&c->tracks, pass->origin, SQT_TRACK_LOOP),
                          pass->begin);
    sqt_json_text(c->events.out, ",\"args\":{");
    sqt_json_cells(c->events.out, &sqt_tables[SQT_TABLE_loops], row, SQT_CELL(loops, wait_ns), SQT_CELLS(loops), 0);
    sqt_json_text(c->events.out, "}");
    sqt_event_end(&c->events);
    if (place.thread)
        loop_count(c, pass->origin, pass->work, pass->end);
}

void
sqt_chrome_loss(void *context, const struct sqt_loss_row *loss)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    if (loss->from < job->since || loss->from >= job->until)
        return;
    sqt_sink_header(c->sink);
    const struct sqt_chrome_place place =
        sqt_track_place(&c->tracks, loss->origin, SQT_TRACK_LOSSES, loss->from, loss->until);
    if (place.thread)
        sqt_event_slice(&c->events, "loss", "records lost", "terrible", place, loss->from, loss->until);
    else
        sqt_event_instant(&c->events, "loss", "records lost",
                          sqt_track_first(&c->tracks, loss->origin, SQT_TRACK_LOSSES), loss->from);
    sqt_json_print(c->events.out, ",\"args\":{\"records\":%llu,\"reason\":\"%s\"}", (unsigned long long)loss->records,
                   sqt_loss_reason(loss->reason));
    sqt_event_end(&c->events);
}
