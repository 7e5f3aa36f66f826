/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.c - one request's stages and the blocks that it waited for, on a time line.
 *
 * Which: the slowest that is no tunnel, or the slowest of those that the condition picks.  The model says what it
 * charges to which stage, and that is kept for each request until it ends.
 *
 * A request of thousands of spans, as is a large hit read in blocks of 4 KB, is more than can be kept of each request
 * or told apart in a picture.  So its time is cut into slices, and spans of one lane that are shorter than a slice and
 * begin in the same one are a row together:
 *
 *     slice    |       |       |       |
 *     lane     |== = ==|===    |  =====|====  ==
 *     rows      5 in 7   3 in 3    8 alone   2 in 2
 *
 * A slice begins as 1 ns, and is doubled whenever there are too many rows; as it is the least power of two that does,
 * the rows do not depend on the order in which that came about.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/memory.h"
#include "pass/family.h"

#define MOST 1000 /* rows of a request */
#define FEW 64    /* as most requests have */
#define FIRST_ROWS 8
#define LINE_BYTES ((int64_t)sizeof(struct line) + 64)

/* A lane is a stage, SQT_UNACCOUNTED, or BLOCKS. */
#define BLOCKS (SQT_UNACCOUNTED + 1)
#define LANES (BLOCKS + 1)

/* One span, or some of one lane. */
struct row {
    unsigned lane;
    uint32_t spans;
    uint32_t index;      /* of the first block */
    int64_t from, until; /* ns */
    int64_t busy;        /* ns of it that are in spans; more than there are if blocks overlap */
    int64_t queue, service, notice, size;
};

struct line {
    int64_t begin, slice; /* ns */
    struct row now;       /* what time is charged to; no spans: nothing yet */
    struct row *rows;
    unsigned count, room;
    int cut;              /* there was no room for a row */
    unsigned last[LANES]; /* the last row of each lane, from 1; 0: none */
    uint64_t spans;
    struct line *next; /* of those that are not used */
};

struct figure {
    struct sqt_idmap lines; /* by the transaction's place in memory */
    struct line *unused;
    int64_t left;                 /* bytes */
    uint64_t beyond;              /* spans for which there was no room */
    struct line *best;            /* NULL: none yet */
    struct sqt_request_fact fact; /* of the best */
};

static void
waterfall_start(struct sqt_job *job)
{
    struct figure *const f = job->state = sqt_zeroed(1, sizeof(*f));
    f->left = sqt_job_open_room(job);
}

/* The line of a transaction; NULL if there is no room for it. */
static struct line *
line_of(struct figure *f, const struct sqt_xact *xact)
{
    struct line *line = sqt_idmap_get(&f->lines, (uint64_t)(uintptr_t)xact);
    if (!line) {
        line = f->unused;
        if (!line && f->left < LINE_BYTES) {
            ++f->beyond;
            return NULL;
        }
        if (line) {
            f->unused = line->next;
        } else {
            f->left -= LINE_BYTES;
            line = sqt_zeroed(1, sizeof(*line));
        }
        line->begin = xact->begin;
        line->slice = 1;
        sqt_idmap_put(&f->lines, (uint64_t)(uintptr_t)xact, line);
    }
    return line;
}

static void
line_free(struct figure *f, struct line *line)
{
    if (!line)
        return;
    f->left += LINE_BYTES + (int64_t)(line->room * sizeof(*line->rows));
    free(line->rows);
    free(line);
}

/* Puts it aside for another request, unless it is large. */
static void
line_put(struct figure *f, struct line *line)
{
    if (!line || line->room > FEW) {
        line_free(f, line);
        return;
    }
    *line = (struct line){.rows = line->rows, .room = line->room, .next = f->unused};
    f->unused = line;
}

/* ---- rows ---- */

static int
is_short(const struct line *line, const struct row *row)
{
    return row->spans > 1 || row->until - row->from < line->slice;
}

static int64_t
slice_of(const struct line *line, const struct row *row)
{
    return (row->from - line->begin) / line->slice;
}

/* The sum of what is known. */
static int64_t
sum(int64_t a, int64_t b)
{
    int64_t both;
    if (a == SQT_CELL_MISSING || b == SQT_CELL_MISSING)
        return a == SQT_CELL_MISSING ? b : a;
    return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

static void
waterfall_place(struct line *line, const struct row *row)
{
    struct row *const last = line->last[row->lane] ? &line->rows[line->last[row->lane] - 1] : NULL;
    if (!last || !is_short(line, last) || !is_short(line, row) || slice_of(line, last) != slice_of(line, row)) {
        line->rows[line->count++] = *row;
        line->last[row->lane] = line->count;
        return;
    }
    last->spans += row->spans;
    last->from = row->from < last->from ? row->from : last->from;
    last->until = row->until > last->until ? row->until : last->until;
    last->busy = sum(last->busy, row->busy);
    last->queue = sum(last->queue, row->queue);
    last->service = sum(last->service, row->service);
    last->notice = sum(last->notice, row->notice);
    last->size = sum(last->size, row->size);
}

/* Places all rows from that one on anew, after the slice or their lanes changed. */
static void
place_again(struct line *line, unsigned from)
{
    const unsigned count = line->count;
    line->count = from;
    memset(line->last, 0, sizeof(line->last));
    for (unsigned i = 0; i < from; ++i)
        line->last[line->rows[i].lane] = i + 1;
    for (unsigned i = from; i < count; ++i) {
        const struct row row = line->rows[i];
        waterfall_place(line, &row);
    }
}

static void
waterfall_add(struct figure *f, struct line *line, const struct row *row)
{
    if (line->count == line->room) {
        const unsigned more = line->room ? line->room : FIRST_ROWS;
        if (f->left < (int64_t)(more * sizeof(*line->rows))) {
            line->cut = 1;
            return;
        }
        f->left -= (int64_t)(more * sizeof(*line->rows));
        line->room += more;
        line->rows = sqt_resized(line->rows, line->room * sizeof(*line->rows));
    }
    line->spans += row->spans;
    waterfall_place(line, row);
    while (line->count > MOST) {
        line->slice *= 2;
        place_again(line, 0);
    }
}

/* ---- what the model says ---- */

static void
waterfall_charge(void *context, const struct sqt_charge *c)
{
    const struct sqt_job *const job = context;
    struct line *const line = line_of(job->state, c->xact);
    if (!line)
        return;
    struct row *const now = &line->now;
    if (now->spans && now->lane == c->stage) {
        now->until = c->until;
        now->busy += c->until - c->from;
        return;
    }
    if (now->spans)
        waterfall_add(job->state, line, now);
    *now = (struct row){c->stage,
                        1,
                        0,
                        c->from,
                        c->until,
                        c->until - c->from,
                        SQT_CELL_MISSING,
                        SQT_CELL_MISSING,
                        SQT_CELL_MISSING,
                        SQT_CELL_MISSING};
}

static int
recharge_row(struct row *row, const struct sqt_charge *c)
{
    if (row->lane != c->was || row->from < c->from)
        return 0;
    row->lane = c->stage;
    return 1;
}

/* Some time that was charged to one stage turns out to be another's.  It is the last of that stage: an interim
 * response, which shares a row with what came before only if a reply broke off within the same slice. */
static void
waterfall_recharge(void *context, const struct sqt_charge *c)
{
    const struct sqt_job *const job = context;
    struct line *const line = line_of(job->state, c->xact);
    if (!line)
        return;
    unsigned first = line->count;
    /* Rows of stages stand in the order of time. */
    for (unsigned i = line->count; i-- && (line->rows[i].lane == BLOCKS || line->rows[i].from >= c->from);)
        if (recharge_row(&line->rows[i], c))
            first = i;
    if (first < line->count)
        place_again(line, first);
    recharge_row(&line->now, c);
}

static void
waterfall_io(void *context, const struct sqt_io *i)
{
    const struct sqt_job *const job = context;
    const struct sqt_swap *const s = i->swap;
    struct sqt_xact *const reader = s->out ? NULL : sqt_swap_reader(s);
    struct line *const line = reader ? line_of(job->state, reader) : NULL;
    if (line)
        waterfall_add(job->state, line,
                      &(struct row){BLOCKS, 1, i->index, i->asked, i->done, i->done - i->asked, i->queue, i->service,
                                    i->notice, i->size});
}

static void
waterfall_request(void *context, const struct sqt_xact *x)
{
    struct sqt_job *const job = context;
    struct figure *const f = job->state;
    struct line *const line = sqt_idmap_take(&f->lines, (uint64_t)(uintptr_t)x);
    f->beyond += line && line->cut;
    if (line && !line->cut && !sqt_durations_unknown(x->outcome) &&
        (!f->best || x->end - x->begin > f->fact.end - f->fact.begin)) {
        struct sqt_request_fact fact;
        sqt_request_fact(&fact, x);
        if (sqt_job_wants_request(job, &fact) && (job->where || fact.class != SQT_CLASS_TUNNEL)) {
            line_put(f, f->best);
            f->best = line;
            f->fact = fact;
            return;
        }
    }
    line_put(f, line);
}

static void
waterfall_unlogged(void *context, const struct sqt_xact *x)
{
    const struct sqt_job *const job = context;
    struct figure *const f = job->state;
    line_put(f, sqt_idmap_take(&f->lines, (uint64_t)(uintptr_t)x));
}

/* ---- printing ---- */

#define CELL(name) row[SQT_CELL(waterfall, name)]

static void
waterfall_print_row(struct sqt_job *job, const struct line *line, const struct row *r)
{
    union sqt_cell row[SQT_CELLS(waterfall)];
    const int block = r->lane == BLOCKS;
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
    struct line *const line = f->best;
    char text[256];
    snprintf(text, sizeof(text), "request %llu of kid %lld, %s, %lld bytes, began at %.6f s, %.3f ms",
             (unsigned long long)f->fact.xact, (long long)OF(kid).number, OF(tag).text ? OF(tag).text : "-",
             (long long)(OF(size_bytes).number == SQT_CELL_MISSING ? 0 : OF(size_bytes).number),
             (double)f->fact.begin / 1e9, (double)(f->fact.end - f->fact.begin) / 1e6);
    job->note(job->context, "request", text);
    if (line->now.spans)
        waterfall_add(f, line, &line->now);
    if (line->slice > 1) {
        snprintf(text, sizeof(text),
                 "%llu spans in %u rows: those of a stage, or blocks, that are shorter than %.6f ms and begin in the "
                 "same slice of that length are one row",
                 (unsigned long long)line->spans, line->count, (double)line->slice / 1e6);
        job->note(job->context, "merged", text);
    }
    for (unsigned blocks = 0; blocks < 2; ++blocks)
        for (unsigned i = 0; i < line->count; ++i)
            if ((line->rows[i].lane == BLOCKS) == (int)blocks)
                waterfall_print_row(job, line, &line->rows[i]);
}

static void
waterfall_finish(struct sqt_job *job)
{
    struct figure *const f = job->state;
    if (f->best)
        waterfall_print(job, f);
    sqt_job_note_bound(job, f->beyond, "spans of requests are left out, because too many were open at once");
    for (size_t i = 0; i < f->lines.room; ++i)
        line_free(f, f->lines.slots[i].value);
    while (f->unused) {
        struct line *const line = f->unused;
        f->unused = line->next;
        line_free(f, line);
    }
    sqt_idmap_free(&f->lines);
    line_free(f, f->best);
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
