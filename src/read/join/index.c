/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * index.c - see index.h.
 */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "origin.h"
#include "read/file/clock.h"

/* ---- blocks one after the other ---- */

struct sqt_index_walk
sqt_index_walk_begin(int64_t first_ns)
{
    return (struct sqt_index_walk){.last_ns = first_ns};
}

struct sqt_index_walk
sqt_index_walk_behind(const struct sqt_index_block *block)
{
    return (struct sqt_index_walk){block->part, block->next, block->last_ticks, block->last_ns};
}

/* The line of what comes after a block: around a step its slope says nothing. */
static struct sqt_line
index_line_after(const struct sqt_identity *who, const struct sqt_block *block, const struct sqt_line *line)
{
    if (!sqt_clock_stepped(&block->from, &block->to))
        return *line;
    return (struct sqt_line){block->time_last, sqt_line_ns(line, block->time_last),
                             1e9 / (double)who->ticks_per_second};
}

/* The time of its first record that reading takes: the records that it shares with the blocks before it are passed over. */
static uint64_t
index_time_first(const struct sqt_index_walk *w, const struct sqt_block *block)
{
    return block->first < w->expected && block->time_first < w->last_ticks ? w->last_ticks : block->time_first;
}

/* The same as origin_take() and keep_time() in origin.c do.  Of a block that shares records, the time of the first new one is not
 * in the header, so its times are at least not too early. */
int
sqt_index_walk_take(struct sqt_index_walk *w, const struct sqt_origin_reader *reader,
                    const struct sqt_part_frame *frame, struct sqt_index_block *b)
{
    const struct sqt_identity *const who = &reader->public.identity;
    struct sqt_block block;
    struct sqt_line line;
    if (sqt_part_read(frame, &block, sizeof(block)) != 0 ||
        memcmp(block.ring_id, who->ring_id, sizeof(block.ring_id)) != 0 || block.count > SQT_BLOCK_RECORDS ||
        block.first > UINT64_MAX / 2 || block.count == 0 || block.first + block.count <= w->expected ||
        block.time_last < block.time_first || index_time_first(w, &block) < w->last_ticks ||
        block.time_last < w->last_ticks ||
        sqt_clock_line(who, &block.from, &block.to, block.time_first, block.time_last, reader->offset_ns, &line) != 0)
        return 0;
    const int pushed = sqt_origin_push(&line, index_time_first(w, &block), w->last_ns);
    const int shares = block.first < w->expected;
    sqt_origin_bound(&line);
    w->expected = block.first + block.count;
    w->last_ticks = block.time_last;
    w->last_ns = sqt_line_ns(&line, block.time_last);
    *b = (struct sqt_index_block){.at = frame->at - sizeof(frame->frame),
                                  .next = w->expected,
                                  .last_ticks = w->last_ticks,
                                  .last_ns = w->last_ns,
                                  .line = index_line_after(who, &block, &line),
                                  .part = (uint32_t)w->part,
                                  .pushed = pushed || shares,
                                  .shares = shares,
                                  .size = (uint32_t)sizeof(frame->frame) + frame->frame.size};
    return 1;
}

/* ---- the list ---- */

/* Every other block leaves the list. */
static void
index_thin(struct sqt_index *i)
{
    for (size_t n = 0; 2 * n + 1 < i->count; ++n)
        i->blocks[n] = i->blocks[2 * n + 1];
    i->count /= 2;
    i->stride *= 2;
}

void
sqt_index_take_block(struct sqt_index *i, struct sqt_index_walk *walk, const struct sqt_origin_reader *reader,
                     const struct sqt_part_frame *frame)
{
    struct sqt_index_block block;
    if (!sqt_index_walk_take(walk, reader, frame, &block)) {
        i->odd = 1;
        return;
    }
    i->odd |= block.shares;
    if (!i->blocks) {
        i->blocks = sqt_allocated(SQT_INDEX_BLOCKS * sizeof(*i->blocks));
        i->stride = 1;
    }
    if (++i->seen % i->stride)
        return;
    if (i->count == SQT_INDEX_BLOCKS) {
        index_thin(i);
        if (i->seen % i->stride)
            return;
    }
    i->blocks[i->count++] = block;
}

void
sqt_index_take_text(struct sqt_index *i, size_t part, const struct sqt_part_frame *frame)
{
    if (i->text_count == SQT_INDEX_TEXTS) {
        i->texts_many = 1;
        return;
    }
    if (!(i->text_count & (i->text_count + 1)))
        i->texts = sqt_resized(i->texts, 2 * (i->text_count + 1) * sizeof(*i->texts));
    i->texts[i->text_count++] = (struct sqt_index_text){frame->at - sizeof(frame->frame), (uint32_t)part};
}

uint64_t
sqt_index_next_text(const struct sqt_index *i, size_t part, uint64_t at, uint64_t until)
{
    size_t low = 0, high = i->text_count; /* they are in the order of the walk */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct sqt_index_text *const text = &i->texts[middle];
        if (text->part < part || (text->part == part && text->at < at))
            low = middle + 1;
        else
            high = middle;
    }
    return low < i->text_count && i->texts[low].part == part && i->texts[low].at < until ? i->texts[low].at : until;
}

void
sqt_index_free(struct sqt_index *i)
{
    free(i->blocks);
    free(i->texts);
    memset(i, 0, sizeof(*i));
}

/* ---- searching ---- */

struct index_search {
    const struct sqt_origin_reader *reader;
    struct sqt_index_walk walk;
    int64_t before;  /* ns */
    uint64_t number; /* it ends with an earlier record */
    struct sqt_index_block *found;
    int count; /* of those that were found */
    int over;
};

static int
index_is_early(const struct sqt_index_block *b, int64_t before, uint64_t number)
{
    return b->last_ns < before && b->next <= number;
}

static int
index_search_frame(void *context, const struct sqt_part_frame *frame)
{
    struct index_search *const s = context;
    struct sqt_index_block block;
    if (frame->frame.type != SQT_FRAME_BLOCK || !sqt_index_walk_take(&s->walk, s->reader, frame, &block))
        return 1;
    s->over = !index_is_early(&block, s->before, s->number);
    if (s->over)
        return 0;
    *s->found = block;
    ++s->count;
    return 1;
}

/* How many of the listed blocks are early enough: times and numbers grow. */
static size_t
index_count_early(const struct sqt_index *i, int64_t before, uint64_t number)
{
    size_t low = 0, high = i->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (index_is_early(&i->blocks[middle], before, number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int
sqt_index_search(const struct sqt_origin_reader *o, int64_t before, uint64_t number, struct sqt_index_block *block)
{
    const size_t early = index_count_early(&o->index, before, number);
    struct index_search s = {.reader = o,
                             .walk = sqt_index_walk_begin(o->first_ns),
                             .before = before,
                             .number = number,
                             .found = block,
                             .count = early != 0};
    uint64_t at = 0;
    if (early) {
        *block = o->index.blocks[early - 1];
        s.walk = sqt_index_walk_behind(block);
        at = block->at + block->size;
    }
    if (o->index.stride == 1)
        return early != 0;
    for (; s.walk.part < o->part_count && !s.over; ++s.walk.part, at = 0)
        sqt_part_each_frame(o->parts[s.walk.part], at, index_search_frame, &s);
    return s.count != 0;
}
