/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.c - one request's stages and the blocks that it waited for, on a time line (timelines.h).
 *
 * Which: the slowest that is no tunnel, or the slowest of those that the condition picks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "pass/family.h"
#include "pass/timelines.h"

struct figure {
    struct sqt_timeline best;
    struct sqt_request_fact fact; /* of the best */
    int found;
};

static void
waterfall_start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct figure));
}

static void
waterfall_line(struct sqt_job *job, const struct sqt_xact *x, const struct sqt_request_fact *fact,
               const struct sqt_timeline *line)
{
    (void)x;
    struct figure *const f = job->state;
    if (!line || line->cut || (f->found && fact->end - fact->begin <= f->fact.end - f->fact.begin) ||
        !sqt_job_wants_request(job, fact) || (!job->where && fact->class == SQT_CLASS_TUNNEL))
        return;
    f->found = 1;
    f->fact = *fact;
    sqt_timeline_copy(&f->best, line);
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
    const struct sqt_timeline *const line = &f->best;
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
    if (f->found)
        waterfall_print(job, f);
    sqt_job_note_bound(job, job->lines->beyond, "spans of requests are left out, because too many were open at once");
    sqt_freed(f->best.rows);
    sqt_freed(f);
}

const struct sqt_family sqt_family_waterfall = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = waterfall_start,
    .line = waterfall_line,
    .finish = waterfall_finish,
};
