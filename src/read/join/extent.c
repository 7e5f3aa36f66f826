/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * extent.c - how much a stream holds, from the headers of its frames alone.
 *
 * What is damaged is passed over in silence here: the real pass says it.
 */
#include <string.h>
#include <unistd.h>

#include "read/file/clock.h"
#include "origin.h"
#include "read/file/pointer.h"

struct walk {
    const struct sqt_joined *joined;
    struct sqt_extent *extent;
    uint64_t next; /* number of the first record that was not counted yet */
    uint64_t lost;
    int lost_known; /* nothing came after that number was told */
};

static int
extent_read_at(int fd, uint64_t offset, void *to, size_t size)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size ? 0 : -1;
}

static void
take_records(struct walk *w, uint64_t first, uint64_t count)
{
    const uint64_t end = first + count;
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
        sqt_clock_line(&w->joined->public.identity, &block->from, &block->to, block->time_first, block->time_last,
                       w->joined->offset_ns, &line) != 0)
        return;
    take_records(w, block->first, block->count);
    const int64_t last = sqt_line_ns(&line, block->time_last);
    if (last > w->extent->last_ns)
        w->extent->last_ns = last;
}

static void
take_part(struct walk *w, const struct sqt_part *part)
{
    const int fd = part->fd >= 0 ? part->fd : sqt_open_regular(part->name, 0);
    uint64_t at = part->begin + part->header.header_size;
    struct sqt_frame frame;
    while (fd >= 0 && at < part->end && extent_read_at(fd, at, &frame, sizeof(frame)) == 0 &&
           frame.magic == SQT_FRAME_MAGIC && frame.size <= SQT_FRAME_MAX) {
        struct sqt_block block;
        struct sqt_totals totals;
        uint8_t end;
        at += sizeof(frame);
        if (frame.size && extent_read_at(fd, at + frame.size - 1, &end, 1) != 0)
            break; /* it is cut off */
        if (frame.type == SQT_FRAME_BLOCK && frame.size >= sizeof(block) &&
            extent_read_at(fd, at, &block, sizeof(block)) == 0) {
            extent_take_block(w, &block);
        } else if (frame.type == SQT_FRAME_END && frame.size >= sizeof(totals) &&
                   extent_read_at(fd, at, &totals, sizeof(totals)) == 0) {
            w->lost = totals.lost;
            w->lost_known = 1;
        }
        at += frame.size;
    }
    if (fd >= 0 && part->fd < 0)
        close(fd);
}

/* What the ring holds beyond the segments. */
static void
extent_take_ring(struct walk *w, const struct sqt_ring *ring)
{
    struct sqt_record last;
    struct sqt_anchor anchor;
    uint64_t tail;
    w->lost = ring->totals.lost;
    if (ring->head > w->next && sqt_ring_copy(ring, ring->head - 1, 1, &last, &tail)) {
        const uint64_t first = tail > w->next ? tail : w->next;
        take_records(w, first, ring->head - first);
        if (!sqt_ring_anchor(ring, &anchor))
            anchor = ring->identity.start;
        const struct sqt_line line = {anchor.ticks, (int64_t)anchor.monotonic_ns + w->joined->offset_ns,
                                      1e9 / (double)ring->identity.ticks_per_second};
        const int64_t ns = sqt_line_ns(&line, last.time);
        if (ns > w->extent->last_ns)
            w->extent->last_ns = ns;
    }
    w->lost_known = 1;
}

void
sqt_joined_extent(const struct sqt_joined *joined, struct sqt_extent *extent)
{
    struct walk w = {.joined = joined, .extent = extent};
    for (size_t i = 0; i < joined->part_count; ++i)
        take_part(&w, joined->parts[i]);
    if (joined->ring.map)
        extent_take_ring(&w, &joined->ring);
    extent->lost += w.lost;
    extent->lost_known &= w.lost_known;
}
