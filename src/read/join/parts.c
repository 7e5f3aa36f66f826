/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parts.c - what an origin is made of; see origin.h.
 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sources.h"

void
sqt_part_free(struct sqt_part *part)
{
    free(part->name);
    free(part);
}

/* By sequence; those of the same sequence (a left-over of an unfinished segment) by their names. */
static int
before(const struct sqt_part *a, const struct sqt_part *b)
{
    if (a->header.sequence != b->header.sequence)
        return a->header.sequence < b->header.sequence;
    if (a->fd >= 0 && a->fd == b->fd)
        return a->begin < b->begin;
    return strcmp(a->name, b->name) < 0;
}

int
sqt_origin_reader_add(struct sqt_origin_reader *o, struct sqt_part *part)
{
    if (o->part_count == o->part_room) {
        const size_t room = o->part_room ? o->part_room * 2 : 8;
        o->parts = sqt_resized(o->parts, room * sizeof(*o->parts));
        o->part_room = room;
    }
    for (size_t i = 0; part->fd < 0 && i < o->part_count; ++i)
        if (o->parts[i]->fd < 0 && o->parts[i]->device == part->device && o->parts[i]->inode == part->inode) {
            sqt_part_free(part);
            return 0;
        }
    o->unsorted |= o->part_count > o->part_next && before(part, o->parts[o->part_count - 1]);
    o->earlier |= o->segment_open && o->part_next && before(part, o->parts[o->part_next - 1]);
    o->parts[o->part_count++] = part;
    return 1;
}

void
sqt_origin_reader_drop_parts(struct sqt_origin_reader *o, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (o->segment.name == o->parts[i]->name)
            o->segment.name = NULL; /* messages name where it was read last */
        sqt_part_free(o->parts[i]);
    }
    memmove(o->parts, o->parts + count, (o->part_count - count) * sizeof(struct sqt_part *));
    o->part_count -= count;
    o->part_next = o->part_next > count ? o->part_next - count : 0;
    sqt_sources_forget_segments(o->sources, count);
}

static int
by_sequence(const void *a, const void *b)
{
    const struct sqt_part *const x = *(struct sqt_part *const *)a, *const y = *(struct sqt_part *const *)b;
    return before(x, y) ? -1 : before(y, x);
}

void
sqt_origin_reader_sort(struct sqt_origin_reader *o)
{
    if (o->unsorted)
        qsort(o->parts + o->part_next, o->part_count - o->part_next, sizeof(*o->parts), by_sequence);
    o->unsorted = 0;
}

void
sqt_origin_reader_leave(struct sqt_origin_reader *o)
{
    if (!o->segment_open)
        return;
    sqt_segment_leave(&o->segment);
    o->segment_open = 0;
    --o->sources->segments_open;
}

void
sqt_origin_reader_drop_buffer(struct sqt_origin_reader *o)
{
    if (o->unpacker && !o->unpacker->spare && o->room == SQT_BLOCK_RECORDS)
        o->unpacker->spare = o->buffer;
    else
        free(o->buffer);
    o->buffer = NULL;
    o->room = 0;
}

void
sqt_origin_reader_rewind(struct sqt_origin_reader *o)
{
    sqt_ahead_drop(o);
    sqt_origin_reader_leave(o);
    for (size_t i = 0; i < o->part_next; ++i)
        o->parts[i]->resume = 0;
    sqt_origin_reader_drop_buffer(o);
    o->sources->kept -= o->kept;
    o->kept = 0;
    o->part_next = o->resumed.part;
    o->damaged = o->finished = o->lost_pending = o->totals_valid = 0;
    o->told_suspect = o->told_table = o->told_open = o->told_gone = o->told_refused = o->told_hosts = o->told_ring = 0;
    o->started = o->resumed.next != 0;
    o->next = o->resumed.next;
    o->last_ticks = o->resumed.last_ticks;
    o->last_line = o->resumed.line;
    o->gap_seen = UINT64_MAX;
    o->last_ns = o->started ? o->resumed.last_ns : o->first_ns;
    o->count = o->skip = o->left = 0;
    o->ring.text_taken = 0;
}

void
sqt_origin_reader_free(struct sqt_origin_reader *o)
{
    sqt_origin_reader_rewind(o);
    for (size_t i = 0; i < o->part_count; ++i)
        sqt_part_free(o->parts[i]);
    free(o->parts);
    sqt_ring_close(&o->ring);
    free(o->ring_name);
    free(o->named_by);
    sqt_index_free(&o->index);
    if (o->accepted)
        o->accepted_free(o->accepted);
    sqt_dictionary_free(&o->dictionary);
    free(o);
}
