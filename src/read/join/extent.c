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
    const struct sqt_origin_reader *reader;
    struct sqt_extent *extent;
    uint64_t next; /* number of the first record that was not counted yet */
    uint64_t lost;
    int lost_known; /* nothing came after that number was told */
    int begun;      /* a record was counted */
    int recorder;   /* a flight recorder made it */
};

static void
take_records(struct walk *w, uint64_t first, uint64_t count)
{
    const uint64_t end = first + count;
    if (!w->begun && w->recorder)
        w->extent->overwritten += first;
    w->begun = 1;
    if (end <= w->next)
        return; /* they are in two files */
    w->extent->records += end - (first > w->next ? first : w->next);
    w->next = end;
    w->lost_known = 0;
}

static void
extent_take_block(struct walk *w, const struct sqt_block *block)
{
    struct sqt_line line;
    if (block->count > SQT_BLOCK_RECORDS ||
        sqt_clock_line(&w->reader->public.identity, &block->from, &block->to, block->time_first, block->time_last,
                       w->reader->offset_ns, &line) != 0)
        return;
    take_records(w, block->first, block->count);
    const int64_t last = sqt_line_ns(&line, block->time_last);
    if (last > w->extent->last_ns)
        w->extent->last_ns = last;
}

static void
extent_take_frame(void *context, int fd, const struct sqt_frame *frame, uint64_t at)
{
    struct walk *const w = context;
    struct sqt_block block;
    struct sqt_totals totals;
    if (frame->type == SQT_FRAME_BLOCK && sqt_part_read(fd, frame, at, &block, sizeof(block)) == 0) {
        extent_take_block(w, &block);
    } else if (frame->type == SQT_FRAME_END && sqt_part_read(fd, frame, at, &totals, sizeof(totals)) == 0) {
        w->lost = totals.lost;
        w->lost_known = 1;
    }
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

void
sqt_origin_reader_extent(const struct sqt_origin_reader *reader, struct sqt_extent *extent)
{
    struct walk w = {.reader = reader, .extent = extent};
    for (size_t i = 0; i < reader->part_count; ++i) {
        w.recorder |= (reader->parts[i]->header.compatible & SQT_RECORDER) != 0;
        sqt_part_each_frame(reader->parts[i], extent_take_frame, &w);
    }
    struct sqt_ring ring = reader->ring; /* what is wrong with it, the real pass says */
    if (sqt_ring_is_open(&ring))
        extent_take_ring(&w, &ring);
    extent->recorder |= w.recorder;
    extent->lost += w.lost;
    extent->lost_known &= w.lost_known;
}
