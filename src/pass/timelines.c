/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * timelines.c - see timelines.h.
 */
#include "timelines.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FEW 64 /* rows, as most requests have */
#define FIRST_ROWS 8
#define LINE_BYTES ((int64_t)sizeof(struct sqt_timeline) + 64)

/* The line of a transaction; NULL if there is no room for it. */
static struct sqt_timeline *
timelines_line_of(struct sqt_timelines *l, const struct sqt_xact *xact)
{
    struct sqt_timeline *line = sqt_idmap_get(&l->map, (uint64_t)(uintptr_t)xact);
    if (!line) {
        line = l->unused;
        if (!line && l->left < LINE_BYTES) {
            ++l->beyond;
            return NULL;
        }
        if (line) {
            l->unused = line->next;
        } else {
            l->left -= LINE_BYTES;
            line = sqt_zeroed(1, sizeof(*line));
        }
        line->begin = xact->begin;
        line->slice = 1;
        sqt_idmap_put(&l->map, (uint64_t)(uintptr_t)xact, line);
    }
    return line;
}

static void
timelines_free_one(struct sqt_timelines *l, struct sqt_timeline *line)
{
    if (!line)
        return;
    l->left += LINE_BYTES + (int64_t)(line->room * sizeof(*line->rows));
    free(line->rows);
    free(line);
}

/* Puts it aside for another request, unless it is large. */
void
sqt_timelines_put(struct sqt_timelines *l, struct sqt_timeline *line)
{
    if (!line || line->room > FEW) {
        timelines_free_one(l, line);
        return;
    }
    *line = (struct sqt_timeline){.rows = line->rows, .room = line->room, .next = l->unused};
    l->unused = line;
}

/* ---- rows ---- */

static int
timelines_is_short(const struct sqt_timeline *line, const struct sqt_timeline_row *row)
{
    return row->spans > 1 || row->until - row->from < line->slice;
}

static int64_t
timelines_slice(const struct sqt_timeline *line, const struct sqt_timeline_row *row)
{
    return (row->from - line->begin) / line->slice;
}

/* The sum of what is known. */
static int64_t
timelines_sum(int64_t a, int64_t b)
{
    int64_t both;
    if (a == SQT_CELL_MISSING || b == SQT_CELL_MISSING)
        return a == SQT_CELL_MISSING ? b : a;
    return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

static void
timelines_place(struct sqt_timeline *line, const struct sqt_timeline_row *row)
{
    struct sqt_timeline_row *const last = line->last[row->lane] ? &line->rows[line->last[row->lane] - 1] : NULL;
    if (!last || !timelines_is_short(line, last) || !timelines_is_short(line, row) ||
        timelines_slice(line, last) != timelines_slice(line, row)) {
        line->rows[line->count++] = *row;
        line->last[row->lane] = line->count;
        return;
    }
    last->spans += row->spans;
    last->from = row->from < last->from ? row->from : last->from;
    last->until = row->until > last->until ? row->until : last->until;
    last->busy = timelines_sum(last->busy, row->busy);
    last->queue = timelines_sum(last->queue, row->queue);
    last->service = timelines_sum(last->service, row->service);
    last->notice = timelines_sum(last->notice, row->notice);
    last->size = timelines_sum(last->size, row->size);
}

/* Places all rows from that one on anew, after the slice or their lanes changed. */
static void
timelines_place_again(struct sqt_timeline *line, unsigned from)
{
    const unsigned count = line->count;
    line->count = from;
    memset(line->last, 0, sizeof(line->last));
    for (unsigned i = 0; i < from; ++i)
        line->last[line->rows[i].lane] = i + 1;
    for (unsigned i = from; i < count; ++i) {
        const struct sqt_timeline_row row = line->rows[i];
        timelines_place(line, &row);
    }
}

static void
timelines_shorten(struct sqt_timeline *line, unsigned most)
{
    while (line->count > most) {
        line->slice *= 2;
        timelines_place_again(line, 0);
    }
}

static void
timelines_add(struct sqt_timelines *l, struct sqt_timeline *line, const struct sqt_timeline_row *row)
{
    if (line->count == line->room) {
        const unsigned more = line->room ? line->room : FIRST_ROWS;
        if (l->left < (int64_t)(more * sizeof(*line->rows))) {
            line->cut = 1;
            return;
        }
        l->left -= (int64_t)(more * sizeof(*line->rows));
        line->room += more;
        line->rows = sqt_resized(line->rows, line->room * sizeof(*line->rows));
    }
    line->spans += row->spans;
    timelines_place(line, row);
    timelines_shorten(line, SQT_TIMELINE_ROWS);
}

/* ---- what the model says ---- */

void
sqt_timelines_charge(struct sqt_timelines *l, const struct sqt_charge *c)
{
    struct sqt_timeline *const line = timelines_line_of(l, c->xact);
    if (!line)
        return;
    struct sqt_timeline_row *const now = &line->now;
    if (now->spans && now->lane == c->stage) {
        now->until = c->until;
        now->busy += c->until - c->from;
        return;
    }
    if (now->spans)
        timelines_add(l, line, now);
    *now = (struct sqt_timeline_row){c->stage,
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
timelines_recharge_row(struct sqt_timeline_row *row, const struct sqt_charge *c)
{
    if (row->lane != c->was || row->from < c->from)
        return 0;
    row->lane = c->stage;
    return 1;
}

/* Some time that was charged to one stage turns out to be another's.  It is the last of that stage: an interim
 * response, which shares a row with what came before only if a reply broke off within the same slice. */
void
sqt_timelines_recharge(struct sqt_timelines *l, const struct sqt_charge *c)
{
    struct sqt_timeline *const line = timelines_line_of(l, c->xact);
    if (!line)
        return;
    unsigned first = line->count;
    /* Rows of stages stand in the order of time. */
    for (unsigned i = line->count; i-- && (line->rows[i].lane == SQT_TIMELINE_BLOCKS || line->rows[i].from >= c->from);)
        if (timelines_recharge_row(&line->rows[i], c))
            first = i;
    if (first < line->count)
        timelines_place_again(line, first);
    timelines_recharge_row(&line->now, c);
}

void
sqt_timelines_io(struct sqt_timelines *l, const struct sqt_io *i)
{
    const struct sqt_swap *const s = i->swap;
    struct sqt_xact *const reader = s->out ? NULL : sqt_swap_reader(s);
    struct sqt_timeline *const line = reader ? timelines_line_of(l, reader) : NULL;
    if (line)
        timelines_add(l, line,
                      &(struct sqt_timeline_row){SQT_TIMELINE_BLOCKS, 1, i->index, i->asked, i->done,
                                                 i->done - i->asked, i->queue, i->service, i->notice, i->size});
}

/* ---- the end of a request ---- */

struct sqt_timeline *
sqt_timelines_take(struct sqt_timelines *l, const struct sqt_xact *x)
{
    struct sqt_timeline *const line = sqt_idmap_take(&l->map, (uint64_t)(uintptr_t)x);
    if (!line)
        return NULL;
    if (line->now.spans)
        timelines_add(l, line, &line->now);
    line->now.spans = 0;
    l->beyond += (unsigned)line->cut;
    return line;
}

void
sqt_timeline_copy(struct sqt_timeline *to, const struct sqt_timeline *line)
{
    struct sqt_timeline_row *rows = to->rows;
    unsigned room = to->room;
    if (line->count > room) {
        room = line->count;
        rows = sqt_resized(rows, room * sizeof(*rows));
    }
    *to = *line;
    to->rows = rows;
    to->room = room;
    to->next = NULL;
    memcpy(rows, line->rows, line->count * sizeof(*rows));
}

const struct sqt_timeline *
sqt_timeline_coarse(const struct sqt_timeline *line, unsigned most, struct sqt_timeline *coarser)
{
    if (line->count <= most)
        return line;
    sqt_timeline_copy(coarser, line);
    timelines_shorten(coarser, most);
    return coarser;
}

void
sqt_timelines_free(struct sqt_timelines *l)
{
    for (size_t i = 0; i < l->map.room; ++i)
        timelines_free_one(l, l->map.slots[i].value);
    while (l->unused) {
        struct sqt_timeline *const line = l->unused;
        l->unused = line->next;
        timelines_free_one(l, line);
    }
    sqt_idmap_free(&l->map);
}
