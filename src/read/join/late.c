/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * late.c - a stream that begins late: the headers of frames say where, and what lies before is not unpacked.
 *
 * Reading begins at a segment, whose first frame has all definitions so far, and passes over the blocks in it that are too
 * old.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "read/file/clock.h"
#include "stream-internal.h"

/* A block of a segment. */
struct late_block {
    uint64_t next; /* number of the record behind it */
    uint64_t size; /* bytes */
    int64_t until; /* ns */
};

struct late_blocks {
    const struct sqt_origin_reader *reader;
    struct late_block *of;
    size_t count, room;
};

static int
late_take_frame(void *context, const struct sqt_part_frame *frame)
{
    struct late_blocks *const blocks = context;
    const struct sqt_origin_reader *const o = blocks->reader;
    struct sqt_block block;
    struct sqt_line line;
    if (frame->frame.type != SQT_FRAME_BLOCK || sqt_part_read(frame, &block, sizeof(block)) != 0 ||
        block.count > SQT_BLOCK_RECORDS ||
        sqt_clock_line(&o->public.identity, &block.from, &block.to, block.time_first, block.time_last, o->offset_ns,
                       &line) != 0)
        return 1;
    if (blocks->count == blocks->room) {
        blocks->room = blocks->room ? 2 * blocks->room : 256;
        blocks->of = sqt_resized(blocks->of, blocks->room * sizeof(*blocks->of));
    }
    blocks->of[blocks->count++] =
        (struct late_block){block.first + block.count, frame->frame.size, sqt_line_ns(&line, block.time_last)};
    return 1;
}

static struct late_blocks
late_blocks_of(const struct sqt_origin_reader *o, size_t part)
{
    struct late_blocks blocks = {.reader = o};
    sqt_part_each_frame(o->parts[part], 0, late_take_frame, &blocks);
    return blocks;
}

/* When the latest block of all origins ended; INT64_MIN: there is none. */
static int64_t
late_end(const struct sqt_stream *s)
{
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < s->sources.origin_count; ++i) {
        const struct sqt_origin_reader *const o = s->sources.origins[i];
        if (!o->part_count)
            continue;
        const struct late_blocks blocks = late_blocks_of(o, o->part_count - 1);
        for (size_t b = 0; b < blocks.count; ++b)
            end = blocks.of[b].until > end ? blocks.of[b].until : end;
        free(blocks.of);
    }
    return end;
}

/* Whether one of the part's blocks, the latest first, is not wanted.  Then *from is the record behind it. */
static int
late_cut(const struct sqt_origin_reader *o, size_t part, int64_t since, uint64_t *bytes, uint64_t *from)
{
    const struct late_blocks blocks = late_blocks_of(o, part);
    size_t b = blocks.count;
    while (b && blocks.of[b - 1].until >= since && blocks.of[b - 1].size <= *bytes)
        *bytes -= blocks.of[--b].size;
    *from = b ? blocks.of[b - 1].next : 0;
    free(blocks.of);
    return b != 0;
}

static void
late_begin(struct sqt_origin_reader *o, int64_t since, uint64_t bytes)
{
    sqt_origin_reader_sort(o);
    for (size_t part = o->part_count; part-- > 0;) {
        const uint64_t left = bytes;
        if (!late_cut(o, part, since, &bytes, &o->late_from))
            continue;
        o->unwanted = !sqt_ring_is_open(&o->ring) && part + 1 == o->part_count && bytes == left;
        sqt_origin_reader_drop_parts(o, part);
        return;
    }
}

void
sqt_stream_begin_late(struct sqt_stream *s, int64_t last_ns, uint64_t bytes)
{
    int64_t end = sqt_stream_now(s), since;
    if (end == INT64_MIN)
        end = late_end(s);
    if (end == INT64_MIN || __builtin_sub_overflow(end, last_ns, &since))
        return;
    for (size_t i = 0; i < s->sources.origin_count; ++i)
        late_begin(s->sources.origins[i], since, bytes);
}
