/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.c - one request's stages and the blocks that it waited for, on a time line (timelines.h).
 *
 * Which: the slowest that is no tunnel, or the slowest of those that the condition picks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/timelines.h"
#include "pass/family.h"

#define MOST 1000 /* rows of a request */

struct figure {
    struct sqt_timelines lines;
    struct sqt_timeline *best;    /* NULL: none yet */
    struct sqt_request_fact fact; /* of the best */
};

static void
waterfall_start(struct sqt_job *job)
{
    struct figure *const f = job->state = sqt_zeroed(1, sizeof(*f));
    f->lines.most = MOST;
    f->lines.left = sqt_job_open_room(job);
}

static void
waterfall_charge(void *context, const struct sqt_charge *charge)
{
    struct figure *const f = ((const struct sqt_job *)context)->state;
    sqt_timelines_charge(&f->lines, charge);
}

static void
waterfall_recharge(void *context, const struct sqt_charge *charge)
{
    struct figure *const f = ((const struct sqt_job *)context)->state;
    sqt_timelines_recharge(&f->lines, charge);
}

static void
waterfall_io(void *context, const struct sqt_io *io)
{
    struct figure *const f = ((const struct sqt_job *)context)->state;
    sqt_timelines_io(&f->lines, io);
}

static void
waterfall_request(void *context, const struct sqt_xact *x)
{
    struct sqt_job *const job = context;
    struct figure *const f = job->state;
    struct sqt_timeline *const line = sqt_timelines_take(&f->lines, x);
    if (line && !line->cut && !sqt_durations_unknown(x->outcome) &&
        (!f->best || x->end - x->begin > f->fact.end - f->fact.begin)) {
        struct sqt_request_fact fact;
        sqt_request_fact(&fact, x);
        if (sqt_job_wants_request(job, &fact) && (job->where || fact.class != SQT_CLASS_TUNNEL)) {
            sqt_timelines_put(&f->lines, f->best);
            f->best = line;
            f->fact = fact;
            return;
        }
    }
    sqt_timelines_put(&f->lines, line);
}

static void
waterfall_unlogged(void *context, const struct sqt_xact *x)
{
    const struct sqt_job *const job = context;
    struct figure *const f = job->state;
    sqt_timelines_put(&f->lines, sqt_timelines_take(&f->lines, x));
}

/* ---- printing ---- */

#define CELL(name) row[SQT_CELL(waterfall, name)]

static void
waterfall_print_row(struct sqt_job *job, const struct sqt_timeline *line, const struct sqt_timeline_row *r)
{
    union sqt_cell row[SQT_CELLS(waterfall)];
    const int block = r->lane == SQT_TIMELINE_BLOCKS;
    CELL(kind).text = block ? "block" : "stage";
    CELL(name).text = block ? "block" : r->lane == SQT_UNACCOUNTED ? "unaccounted" : sqt_stages[r->lane].name;
    CELL(index).number = block ? (int64_t)r->index : SQT_CELL_MISSING;
    CELL(from_ms).number = r->from - line->begin;
    CELL(until_ms).number = r->until - line->begin;
    CELL(queue_ms).number = r->queue;
    CELL(service_ms).number = r->service;
    CELL(notice_ms).number = r->notice;
    CELL(size_bytes).number = r->size;
    CELL(spans).number = r->spans;
    CELL(busy_ms).number = r->busy;
    sqt_job_row(job, row);
}

#undef CELL
#define OF(name) f->fact.row[SQT_CELL(requests, name)]

static void
waterfall_print(struct sqt_job *job, struct figure *f)
{
    struct sqt_timeline *const line = f->best;
    char text[256];
    snprintf(text, sizeof(text), "request %llu of kid %lld, %s, %lld bytes, began at %.6f s, %.3f ms",
             (unsigned long long)f->fact.xact, (long long)OF(kid).number, OF(tag).text ? OF(tag).text : "-",
             (long long)(OF(size_bytes).number == SQT_CELL_MISSING ? 0 : OF(size_bytes).number),
             (double)f->fact.begin / 1e9, (double)(f->fact.end - f->fact.begin) / 1e6);
    job->note(job->context, "request", text);
    if (line->slice > 1) {
        snprintf(text, sizeof(text),
                 "%llu spans in %u rows: those of a stage, or blocks, that are shorter than %.6f ms and begin in the "
                 "same slice of that length are one row",
                 (unsigned long long)line->spans, line->count, (double)line->slice / 1e6);
        job->note(job->context, "merged", text);
    }
    for (unsigned blocks = 0; blocks < 2; ++blocks)
        for (unsigned i = 0; i < line->count; ++i)
            if ((line->rows[i].lane == SQT_TIMELINE_BLOCKS) == (int)blocks)
                waterfall_print_row(job, line, &line->rows[i]);
}

static void
waterfall_finish(struct sqt_job *job)
{
    struct figure *const f = job->state;
    if (f->best)
        waterfall_print(job, f);
    sqt_job_note_bound(job, f->lines.beyond, "spans of requests are left out, because too many were open at once");
    sqt_timelines_put(&f->lines, f->best);
    sqt_timelines_free(&f->lines);
    free(f);
}

const struct sqt_family sqt_family_waterfall = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = waterfall_start,
    .consumer = {.charge = waterfall_charge,
                 .recharge = waterfall_recharge,
                 .request = waterfall_request,
                 .unlogged = waterfall_unlogged,
                 .io = waterfall_io},
    .finish = waterfall_finish,
};
