/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.c - one request's stages and the blocks that it waited for, on a time line.
 *
 * Which: the slowest that is no tunnel, or the slowest of those that the condition picks.  The model says what it
 * charges to which stage, and that is kept for each request until it ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/idmap.h"
#include "family.h"

/* Most spans and blocks that are kept of a request: 64 B each. */
#define MOST 20000

struct span {
    unsigned stage; /* SQT_BLOCK: a block */
    uint32_t index;
    int64_t from, until;
    int64_t queue, service, notice, size;
};
#define SQT_BLOCK (SQT_UNACCOUNTED + 1)

struct line {
    struct span *spans;
    size_t count, room;
    uint64_t cut; /* more that were not kept */
};

struct figure {
    struct sqt_idmap lines; /* by the transaction's place in memory */
    struct line best;
    struct sqt_request_fact fact; /* of the best */
    int found;
};

static void
start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct figure));
}

static struct line *
line_of(struct figure *f, const struct sqt_xact *xact)
{
    struct line *line = sqt_idmap_get(&f->lines, (uint64_t)(uintptr_t)xact);
    if (!line) {
        line = sqt_zeroed(1, sizeof(*line));
        sqt_idmap_put(&f->lines, (uint64_t)(uintptr_t)xact, line);
    }
    return line;
}

static void
add(struct line *line, struct span span)
{
    if (line->count == MOST) {
        ++line->cut;
        return;
    }
    if (line->count == line->room) {
        line->room = line->room ? line->room * 2 : 8;
        line->spans = sqt_resized(line->spans, line->room * sizeof(*line->spans));
    }
    line->spans[line->count++] = span;
}

static void
charge(void *context, const struct sqt_charge *c)
{
    const struct sqt_job *const job = context;
    struct line *const line = line_of(job->state, c->xact);
    for (size_t i = line->count; i-- > 0;) {
        struct span *const last = &line->spans[i];
        if (last->stage == SQT_BLOCK)
            continue;
        if (last->stage == c->stage && last->until == c->from) {
            last->until = c->until;
            return;
        }
        break;
    }
    add(line, (struct span){.stage = c->stage, .from = c->from, .until = c->until});
}

/* Some time that was charged to one stage turns out to be another's. */
static void
recharge(void *context, const struct sqt_charge *c)
{
    const struct sqt_job *const job = context;
    struct line *const line = line_of(job->state, c->xact);
    for (size_t i = line->count; i-- > 0 && line->spans[i].until > c->from;)
        if (line->spans[i].stage == c->was && line->spans[i].from >= c->from)
            line->spans[i].stage = c->stage;
}

static void
io(void *context, const struct sqt_io *i)
{
    const struct sqt_job *const job = context;
    const struct sqt_swap *const s = i->swap;
    if (!s->out && s->reader && s->reader->pooled.serial == s->reader_serial)
        add(line_of(job->state, s->reader),
            (struct span){SQT_BLOCK, i->index, i->asked, i->done, i->queue, i->service, i->notice, i->size});
}

static void
line_free(struct line *line)
{
    if (line)
        free(line->spans);
    free(line);
}

static void
request(void *context, const struct sqt_xact *x)
{
    struct sqt_job *const job = context;
    struct figure *const f = job->state;
    struct line *const line = sqt_idmap_take(&f->lines, (uint64_t)(uintptr_t)x);
    if (line && x->outcome != SQT_OUTCOME_LOST && (!f->found || x->end - x->begin > f->fact.end - f->fact.begin)) {
        struct sqt_request_fact fact;
        sqt_request_fact(&fact, x);
        if (sqt_job_wants_request(job, &fact) && (job->where || fact.class != SQT_CLASS_TUNNEL)) {
            free(f->best.spans);
            f->best = *line;
            f->fact = fact;
            f->found = 1;
            free(line);
            return;
        }
    }
    line_free(line);
}

#define CELL(name) row[SQT_CELL(waterfall, name)]

static void
print_span(struct sqt_job *job, const struct figure *f, const struct span *s)
{
    union sqt_cell row[SQT_CELLS(waterfall)];
    const int block = s->stage == SQT_BLOCK;
    CELL(kind).text = block ? "block" : "stage";
    CELL(name).text = block ? "block" : s->stage == SQT_UNACCOUNTED ? "unaccounted" : sqt_stages[s->stage].name;
    CELL(index).number = block ? (int64_t)s->index : SQT_CELL_MISSING;
    CELL(from_ms).number = s->from - f->fact.begin;
    CELL(until_ms).number = s->until - f->fact.begin;
    CELL(queue_ms).number = block ? s->queue : SQT_CELL_MISSING;
    CELL(service_ms).number = block ? s->service : SQT_CELL_MISSING;
    CELL(notice_ms).number = block ? s->notice : SQT_CELL_MISSING;
    CELL(size_bytes).number = block ? s->size : SQT_CELL_MISSING;
    sqt_job_row(job, row);
}

#undef CELL
#define OF(name) f->fact.row[SQT_CELL(requests, name)]

static void
print(struct sqt_job *job, const struct figure *f)
{
    char text[256];
    snprintf(text, sizeof(text), "request %llu of kid %lld, %s, %lld bytes, began at %.6f s, %.3f ms",
             (unsigned long long)f->fact.xact, (long long)OF(kid).number, OF(tag).text ? OF(tag).text : "-",
             (long long)(OF(size_bytes).number == SQT_CELL_MISSING ? 0 : OF(size_bytes).number),
             (double)f->fact.begin / 1e9, (double)(f->fact.end - f->fact.begin) / 1e6);
    job->note(job->context, "request", text);
    if (f->best.cut) {
        snprintf(text, sizeof(text), "%llu spans more than are kept", (unsigned long long)f->best.cut);
        job->note(job->context, "cut", text);
    }
    for (unsigned blocks = 0; blocks < 2; ++blocks)
        for (size_t i = 0; i < f->best.count; ++i)
            if ((f->best.spans[i].stage == SQT_BLOCK) == (int)blocks)
                print_span(job, f, &f->best.spans[i]);
}

static void
finish(struct sqt_job *job)
{
    struct figure *const f = job->state;
    if (f->found)
        print(job, f);
    for (size_t i = 0; i < f->lines.room; ++i)
        line_free(f->lines.slots[i].value);
    sqt_idmap_free(&f->lines);
    free(f->best.spans);
    free(f);
}

const struct sqt_family sqt_family_waterfall = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = start,
    .consumer = {.charge = charge, .recharge = recharge, .request = request, .io = io},
    .finish = finish,
};
