/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * live.c - --follow --table=findings: a row when a finding begins, changes or ends.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "live/track.h"
#include "read/follow.h"
#include "run.h"

/* Between two looks for findings, ns. */
#define LIVE_EVERY INT64_C(1000000000)
/* Of what is there already so much is read: what a window needs, and how long answers took before. */
#define LIVE_BEFORE (2 * SQT_LIVE_WINDOW)
#define LIVE_BEFORE_BYTES (UINT64_C(64) << 20)

/* The cause that lasts when no process writes the trace any more. */
#define DIED "died"

struct dump_live {
    struct sqt_live *live;
    struct sqt_model *model;
    struct sqt_track track;
    int64_t now;    /* ns of the stream: when a process wrote the trace last */
    int64_t clock;  /* the same by CLOCK_MONOTONIC; 0: none did */
    int asked_last; /* for findings of when the last process ended */
};

static void
dump_live_run(struct sqt_job *job, const struct sqt_run *run)
{
    struct dump_live *const l = job->state;
    sqt_live_run(l->live, run);
    sqt_model_run(l->model, run);
}

static const struct sqt_family dump_live_family = {.run = dump_live_run};

int
dump_live_wanted(const struct dump_request *r)
{
    return r->given[DUMP_follow] && r->table == &sqt_tables[SQT_TABLE_findings];
}

void
dump_live_begin(struct dump *d, struct sqt_job *job, struct sqt_stream *stream)
{
    static const struct sqt_consumer none;
    if (!dump_live_wanted(d->request))
        return;
    d->live = sqt_zeroed(1, sizeof(*d->live));
    d->live->live = sqt_live_new(&none, d->request->where);
    d->live->model = sqt_model_new(sqt_live_consumer(d->live->live));
    sqt_live_model(d->live->live, d->live->model);
    job->family = &dump_live_family;
    job->state = d->live;
    if (!d->request->given[DUMP_since])
        sqt_stream_begin_late(stream, LIVE_BEFORE, LIVE_BEFORE_BYTES);
}

static void
dump_live_row(void *context, const struct sqt_live_finding *finding, enum sqt_track_state state)
{
    struct dump *const d = context;
    union sqt_cell row[SQT_CELLS(findings)];
    memcpy(row, finding->row, sizeof(row));
    row[SQT_CELL(findings, state)].text = sqt_track_state_names[state];
    if (state == SQT_TRACK_ENDS) {
        row[SQT_CELL(findings, rank)].number = SQT_CELL_MISSING;
        row[SQT_CELL(findings, lasts)].number = 0;
    }
    dump_row(d, row);
}

static int64_t
dump_live_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* What was found at that time.  Of the last state of a process that is gone, only that it died is news. */
static void
dump_live_take(struct dump *d, int64_t at)
{
    struct dump_live *const l = d->live;
    unsigned count;
    const struct sqt_live_finding *const found = sqt_live_found(l->live, &count);
    if (!l->asked_last)
        sqt_track_take(&l->track, found, count, at, dump_live_row, d);
    for (unsigned i = 0; i < count && l->asked_last; ++i)
        if (strcmp(SQT_LIVE_TEXT(&found[i], cause), DIED) == 0)
            sqt_track_take(&l->track, &found[i], 1, at, dump_live_row, d);
}

/* While no process writes the trace: what it had until its end is asked for once.  Then, or if it cannot be asked, what
 * was found ends, except that Squid died and was not started again. */
static void
dump_live_gone(struct dump *d, int64_t now)
{
    struct dump_live *const l = d->live;
    if (!l->asked_last && (l->asked_last = sqt_live_ask(l->live, NULL, 0)))
        return;
    sqt_track_hold(&l->track, DIED, now);
    sqt_track_take(&l->track, NULL, 0, now, dump_live_row, d);
}

void
dump_live_look(struct dump *d, struct sqt_stream *stream)
{
    const struct sqt_now now = {sqt_stream_now(stream), sqt_origin_silent, sqt_origin_acl};
    const int lives = now.ns != INT64_MIN;
    struct dump_live *const l = d->live;
    if (!l)
        return;
    if (lives) {
        l->now = now.ns;
        l->clock = dump_live_clock();
        l->asked_last = 0;
    }
    const int64_t at = l->now + (l->clock ? dump_live_clock() - l->clock : 0);
    if (sqt_live_take(l->live, 0) > 0)
        dump_live_take(d, at);
    if (lives)
        sqt_live_ask(l->live, &now, LIVE_EVERY);
    else if (l->clock)
        dump_live_gone(d, at);
}

void
dump_live_end_origin(struct dump *d, const struct sqt_origin *origin)
{
    if (!d->live)
        return;
    sqt_model_end(d->live->model, origin);
    sqt_live_end(d->live->live, origin);
}

void
dump_live_forget_origin(struct dump *d, const struct sqt_origin *origin)
{
    if (!d->live)
        return;
    sqt_live_forget(d->live->live, origin);
    sqt_model_forget(d->live->model, origin);
}

void
dump_live_free(struct dump *d)
{
    if (!d->live)
        return;
    sqt_live_free(d->live->live);
    sqt_model_free(d->live->model);
    sqt_track_free(&d->live->track);
    free(d->live);
    d->live = NULL;
}
