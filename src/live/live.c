/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * live.c - windows of findings: see live.h.
 */
#include "live-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/findings.h"

static const struct sqt_family *const live_family = &sqt_family_findings;

/* ---- windows ---- */

static int
live_no_row(void *context, const union sqt_cell *row)
{
    (void)context, (void)row;
    return 1;
}

static void
live_no_note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

static void
live_open(const struct sqt_live *live, struct sqt_live_window *window, int64_t from)
{
    window->on = 1;
    window->job = (struct sqt_job){.table = &sqt_tables[SQT_TABLE_findings],
                                   .where = live->where,
                                   .since = INT64_MIN,
                                   .until = INT64_MAX,
                                   .from = from,
                                   .row = live_no_row,
                                   .note = live_no_note};
    live_family->start(&window->job);
}

static void
live_close(struct sqt_live_window *window)
{
    if (window->on)
        sqt_findings_drop(&window->job);
    window->on = 0;
}

/* The second window becomes the first.  The state of a job moves with it. */
static void
live_shift(struct sqt_live *live)
{
    live_close(&live->windows[0]);
    live->windows[0] = live->windows[1];
    live->windows[1].on = 0;
}

static void
live_follow(struct sqt_live *live, int64_t now)
{
    live_open(live, &live->windows[1], now);
    sqt_findings_inherit(&live->windows[1].job, &live->windows[0].job);
}

/* A time that goes back is that of another process, or of a clock that was set: windows last as long as it takes. */
static void
live_turn(struct sqt_live *live, int64_t now)
{
    const struct sqt_live_window *const first = &live->windows[0], *const second = &live->windows[1];
    if (!second->on && now - first->job.from >= SQT_LIVE_WINDOW / 2)
        live_follow(live, now);
    if (second->on && now - first->job.from >= SQT_LIVE_WINDOW) {
        live_shift(live);
        live_follow(live, now);
    }
}

void
sqt_live_run(struct sqt_live *live, const struct sqt_run *run)
{
    if (!run->count)
        return;
    const int64_t first = sqt_line_ns(&run->line, run->records[0].time);
    const int64_t last = sqt_line_ns(&run->line, run->records[run->count - 1].time);
    live->latest = last > live->latest ? last : live->latest;
    if (!live->windows[0].on)
        live_open(live, &live->windows[0], first);
    live_turn(live, last);
}

/* ---- origins ---- */

void
sqt_live_end(struct sqt_live *live, const struct sqt_origin *origin)
{
    const unsigned at = live->ended_next++ % SQT_LIVE_ENDED;
    live->ended[at].origin = origin;
    live->ended[at].at = live->latest;
}

/* When it ended; the largest time if that is not known. */
static int64_t
live_ended(struct sqt_live *live, const struct sqt_origin *origin)
{
    for (unsigned i = 0; i < SQT_LIVE_ENDED; ++i)
        if (live->ended[i].origin == origin) {
            live->ended[i].origin = NULL;
            return live->ended[i].at;
        }
    return INT64_MAX;
}

/* What a window keeps may point to texts of the origin. */
void
sqt_live_forget(struct sqt_live *live, const struct sqt_origin *origin)
{
    const int64_t ended = live_ended(live, origin);
    for (unsigned i = 0; i < 2; ++i)
        if (live->windows[i].on && live->windows[i].job.from <= ended)
            live_close(&live->windows[i]);
    if (!live->windows[0].on && live->windows[1].on)
        live_shift(live);
}

/* ---- what the model says ---- */

static unsigned
live_windows(const struct sqt_live *live)
{
    return live->alone ? 1 : 2;
}

#define TELL_ALL(name, type) \
    static void live_##name(void *context, type *thing) \
    { \
        struct sqt_live *const live = context; \
        for (unsigned i = 0; i < live_windows(live) && live_family->consumer.name; ++i) \
            if (live->windows[i].on) \
                live_family->consumer.name(&live->windows[i].job, thing); \
        if (live->own.name && !live->alone) \
            live->own.name(live->own.context, thing); \
    }
SQT_CONSUMER_FUNCTIONS(TELL_ALL)
#undef TELL_ALL

/* A request is decoded once for both windows. */
static void
live_request_and_fact(void *context, const struct sqt_xact *xact)
{
    struct sqt_live *const live = context;
    struct sqt_request_fact fact;
    sqt_request_fact(&fact, xact);
    for (unsigned i = 0; i < 2; ++i)
        live->windows[i].job.fact = &fact;
    live_request(context, xact);
}

/* What nobody wants to hear stays out: the model makes nothing of it then. */
static void
live_consume(struct sqt_live *live)
{
    live->consumer.context = live;
#define WANTED(name, type) \
    if (live_family->consumer.name || live->own.name) \
        live->consumer.name = live_##name;
    SQT_CONSUMER_FUNCTIONS(WANTED)
#undef WANTED
    live->consumer.request = live_request_and_fact;
}

struct sqt_live *
sqt_live_new(const struct sqt_consumer *own, const struct sqt_where *where)
{
    struct sqt_live *const live = sqt_zeroed(1, sizeof(*live));
    live->own = *own;
    live->where = where;
    live->pipe = -1;
    live->latest = INT64_MIN;
    live_consume(live);
    return live;
}

const struct sqt_consumer *
sqt_live_consumer(const struct sqt_live *live)
{
    return &live->consumer;
}

void
sqt_live_model(struct sqt_live *live, struct sqt_model *model)
{
    live->model = model;
}

int
sqt_live_is_none(const union sqt_cell *row)
{
    const char *const cause = row[SQT_CELL(findings, cause)].text;
    return strcmp(cause, "healthy") == 0 || strcmp(cause, "too_few") == 0 || strcmp(cause, "none_seen") == 0;
}

/* As hanging-told.c tells it: until now, by what waits or stands still since some time. */
int
sqt_live_is_now(const union sqt_cell *row)
{
    return row[SQT_CELL(findings, lasts)].number == 1;
}

void
sqt_live_free(struct sqt_live *live)
{
    if (!live)
        return;
    sqt_live_stop(live);
    for (unsigned i = 0; i < 2; ++i)
        live_close(&live->windows[i]);
    free(live);
}
