/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * extent.c - how much a stream holds, from the headers of its frames alone.
 *
 * What is damaged is passed over in silence here: the real pass says it.
 */
#include <string.h>

#include "read/file/clock.h"
#include "origin.h"

struct walk {
    struct sqt_origin_reader *reader;
    struct sqt_part *part;
    struct sqt_extent *extent;
    uint64_t next; /* number of the first record that was not counted yet */
    uint64_t lost;
    int lost_known; /* nothing came after that number was told */
    struct sqt_index_walk order;
    int begun;    /* a record was counted */
    int recorder; /* a flight recorder made it */
};

static void
take_records(struct walk *w, uint64_t first, uint64_t count)
{
    const uint64_t end = first + count;
    if (!w->begun && w->recorder)
        w->extent->overwritten += first;
    if (!w->begun)
        w->reader->extent_from = first;
    w->begun = 1;
    if (end <= w->next)
        return; /* they are in two files */
    w->extent->records += end - (first > w->next ? first : w->next);
    w->next = end;
    w->reader->extent_to = end;
    w->lost_known = 0;
}

static void
extent_take_block(struct walk *w, const struct sqt_part_frame *frame)
{
    struct sqt_block block;
    struct sqt_line line;
    sqt_index_take_block(&w->reader->index, &w->order, w->reader, frame);
    if (sqt_part_read(frame, &block, sizeof(block)) != 0)
        return;
    if (block.count > SQT_BLOCK_RECORDS ||
        sqt_clock_line(&w->reader->public.identity, &block.from, &block.to, block.time_first, block.time_last,
                       w->reader->offset_ns, &line) != 0)
        return;
    if (!w->part->begun) {
        w->part->begun = 1;
        w->part->first = block.first;
    }
    take_records(w, block.first, block.count);
    const int64_t last = sqt_line_ns(&line, block.time_last);
    if (last > w->extent->last_ns)
        w->extent->last_ns = last;
}

static int
extent_take_frame(void *context, const struct sqt_part_frame *frame)
{
    struct walk *const w = context;
    struct sqt_totals totals;
    if (frame->frame.type == SQT_FRAME_BLOCK) {
        extent_take_block(w, frame);
    } else if (frame->frame.type == SQT_FRAME_TEXT) {
        sqt_index_take_text(&w->reader->index, w->order.part, frame);
    } else if (frame->frame.type == SQT_FRAME_END && sqt_part_read(frame, &totals, sizeof(totals)) == 0) {
        w->lost = totals.lost;
        w->lost_known = 1;
    }
    return 1;
}

/* What the ring holds beyond the segments. */
static void
extent_take_ring(struct walk *w, struct sqt_ring *ring)
{
    struct sqt_record last;
    struct sqt_anchor anchor;
    uint64_t tail;
    w->lost = ring->totals.lost;
    w->recorder |= ring->recorder;
    if (ring->head > w->next && sqt_ring_copy(ring, ring->head - 1, 1, &last, &tail)) {
        const uint64_t first = tail > w->next ? tail : w->next;
        take_records(w, first, ring->head - first);
        if (!sqt_ring_anchor(ring, &anchor))
            anchor = ring->identity.start;
        const struct sqt_line line = {anchor.ticks, (int64_t)anchor.monotonic_ns + w->reader->offset_ns,
                                      1e9 / (double)ring->identity.ticks_per_second};
        const int64_t ns = sqt_line_ns(&line, last.time);
        if (ns > w->extent->last_ns)
            w->extent->last_ns = ns;
    }
    w->lost_known = 1;
}

static void
extent_walk(struct sqt_origin_reader *reader, struct sqt_extent *extent)
{
    struct walk w = {.reader = reader, .extent = extent, .order = sqt_index_walk_begin(reader->first_ns)};
    sqt_origin_reader_sort(reader);
    sqt_index_free(&reader->index);
    for (size_t i = 0; i < reader->part_count; ++i) {
        w.part = reader->parts[i];
        w.part->begun = 0;
        w.order.part = i;
        w.recorder |= (w.part->header.compatible & SQT_RECORDER) != 0;
        const uint64_t end = sqt_part_each_frame(w.part, 0, extent_take_frame, &w);
        w.part->whole = end == (w.part->fd < 0 ? w.part->size : w.part->end);
    }
    struct sqt_ring ring = reader->ring; /* what is wrong with it, the real pass says */
    if (sqt_ring_is_open(&ring))
        extent_take_ring(&w, &ring);
    extent->recorder = w.recorder;
    extent->lost = w.lost;
    extent->lost_known = w.lost_known;
}

const struct sqt_extent *
sqt_origin_reader_extent(struct sqt_origin_reader *reader)
{
    if (!reader->walked || reader->followed) {
        reader->extent = (struct sqt_extent){.lost_known = 1};
        reader->extent_from = reader->extent_to = 0;
        extent_walk(reader, &reader->extent);
        reader->walked = 1;
    }
    return &reader->extent;
}

/* ---- the time of day ---- */

int64_t
sqt_origin_wall_ns(const struct sqt_origin *origin)
{
    const struct sqt_anchor *const start = &origin->identity.start;
    int64_t wall, sum;
    /* Times of the origin are those of its boot's monotonic clock, moved by offset_ns. */
    if (__builtin_sub_overflow((int64_t)start->realtime_ns, (int64_t)start->monotonic_ns, &wall) ||
        __builtin_sub_overflow(wall, ((const struct sqt_origin_reader *)origin)->offset_ns, &sum))
        return INT64_MIN;
    return sum;
}
