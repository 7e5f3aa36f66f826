/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * late.c - a stream that begins late: the headers of frames say where, and what lies before is not unpacked.
 *
 * Reading begins at a segment, whose first frame has all definitions so far, and passes over the blocks in it that are too
 * old.
 */
#include "read/file/clock.h"
#include "stream-internal.h"

/* What is asked of the blocks of a segment. */
struct late_look {
    const struct sqt_origin_reader *reader;
    int64_t since;     /* ns */
    uint64_t most;     /* bytes */
    uint64_t all, old; /* bytes of all blocks that may be wanted; of those up to the last that ended before `since` */
    uint64_t next;     /* number of the record behind those that are not wanted; 0: all are */
    int64_t until;     /* when the latest block ended; INT64_MIN: there is none */
};

/* When the block ended, in ns; 0 and *size 0: it is none. */
static int64_t
late_block(const struct late_look *look, const struct sqt_part_frame *frame, uint64_t *next, uint64_t *size)
{
    const struct sqt_origin_reader *const o = look->reader;
    struct sqt_block block;
    struct sqt_line line;
    *size = 0;
    if (frame->frame.type != SQT_FRAME_BLOCK || sqt_part_read(frame, &block, sizeof(block)) != 0 ||
        block.count > SQT_BLOCK_RECORDS ||
        sqt_clock_line(&o->public.identity, &block.from, &block.to, block.time_first, block.time_last, o->offset_ns,
                       &line) != 0)
        return 0;
    *next = block.first + block.count;
    *size = frame->frame.size;
    return sqt_line_ns(&line, block.time_last);
}

static int
late_take_time(void *context, const struct sqt_part_frame *frame)
{
    struct late_look *const look = context;
    uint64_t next, size;
    const int64_t until = late_block(look, frame, &next, &size);
    if (!size)
        return 1;
    look->all += size;
    look->until = until > look->until ? until : look->until;
    if (until < look->since) {
        look->old = look->all;
        look->next = next;
    }
    return 1;
}

/* Leaves out blocks at the begin until the others are few enough. */
static int
late_take_size(void *context, const struct sqt_part_frame *frame)
{
    struct late_look *const look = context;
    uint64_t next, size;
    late_block(look, frame, &next, &size);
    if (!size)
        return 1;
    look->all -= size;
    look->next = next;
    return look->all > look->most;
}

static struct late_look
late_look_at(const struct sqt_origin_reader *o, size_t part, int64_t since)
{
    struct late_look look = {.reader = o, .since = since, .until = INT64_MIN};
    sqt_part_each_frame(o->parts[part], 0, late_take_time, &look);
    return look;
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
        const struct late_look look = late_look_at(o, o->part_count - 1, INT64_MIN);
        end = look.until > end ? look.until : end;
    }
    return end;
}

/* Whether one of the part's blocks, the latest first, is not wanted.  Then *from is the record behind it.  Nothing is kept
 * of each block: somebody may have written a file of small ones. */
static int
late_cut(const struct sqt_origin_reader *o, size_t part, int64_t since, uint64_t *bytes, uint64_t *from)
{
    struct late_look look = late_look_at(o, part, since);
    look.most = *bytes;
    if (look.all - look.old > look.most)
        sqt_part_each_frame(o->parts[part], 0, late_take_size, &look);
    else
        look.all -= look.old;
    *bytes -= look.all < *bytes ? look.all : *bytes;
    *from = look.next;
    return look.next != 0;
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
