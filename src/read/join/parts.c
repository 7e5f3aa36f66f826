/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parts.c - what an origin is made of; see origin.h.
 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/file/pointer.h"
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
sqt_joined_add(struct sqt_joined *j, struct sqt_part *part)
{
    if (j->part_count == j->part_room) {
        const size_t room = j->part_room ? j->part_room * 2 : 8;
        struct sqt_part **const larger = realloc(j->parts, room * sizeof(*larger));
        if (!larger) {
            sqt_part_free(part);
            return -1;
        }
        j->parts = larger;
        j->part_room = room;
    }
    for (size_t i = 0; part->fd < 0 && i < j->part_count; ++i)
        if (j->parts[i]->fd < 0 && j->parts[i]->device == part->device && j->parts[i]->inode == part->inode) {
            sqt_part_free(part);
            return 0;
        }
    j->unsorted |= j->part_count > j->part_next && before(part, j->parts[j->part_count - 1]);
    j->parts[j->part_count++] = part;
    return 1;
}

void
sqt_joined_drop_parts(struct sqt_joined *j, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        sqt_part_free(j->parts[i]);
    memmove(j->parts, j->parts + count, (j->part_count - count) * sizeof(struct sqt_part *));
    j->part_count -= count;
    j->part_next = j->part_next > count ? j->part_next - count : 0;
    sqt_sources_forget_segments(j->sources, count);
}

static int
by_sequence(const void *a, const void *b)
{
    const struct sqt_part *const x = *(struct sqt_part *const *)a, *const y = *(struct sqt_part *const *)b;
    return before(x, y) ? -1 : before(y, x);
}

/* ---- frames ---- */

static int
parts_read_at(int fd, uint64_t offset, void *to, size_t size)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size ? 0 : -1;
}

int
sqt_part_read(int fd, const struct sqt_frame *frame, uint64_t at, void *to, size_t size)
{
    return frame->size >= size ? parts_read_at(fd, at, to, size) : -1;
}

void
sqt_part_each_frame(const struct sqt_part *part,
                    void (*take)(void *context, int fd, const struct sqt_frame *frame, uint64_t at), void *context)
{
    const int fd = part->fd >= 0 ? part->fd : sqt_open_regular(part->name, 0);
    uint64_t at = part->begin + part->header.header_size;
    struct sqt_frame frame;
    while (fd >= 0 && at < part->end && parts_read_at(fd, at, &frame, sizeof(frame)) == 0 &&
           frame.magic == SQT_FRAME_MAGIC && frame.size <= SQT_FRAME_MAX) {
        uint8_t end;
        at += sizeof(frame);
        if (frame.size && parts_read_at(fd, at + frame.size - 1, &end, 1) != 0)
            break; /* it is cut off */
        take(context, fd, &frame, at);
        at += frame.size;
    }
    if (fd >= 0 && part->fd < 0)
        close(fd);
}

/* ---- order ---- */

void
sqt_joined_sort(struct sqt_joined *j)
{
    if (j->unsorted)
        qsort(j->parts + j->part_next, j->part_count - j->part_next, sizeof(*j->parts), by_sequence);
    j->unsorted = 0;
}

void
sqt_joined_rewind(struct sqt_joined *j)
{
    sqt_ahead_drop(j);
    if (j->segment_open)
        sqt_segment_leave(&j->segment);
    j->segment_open = 0;
    for (size_t i = 0; i < j->part_next; ++i)
        j->parts[i]->resume = 0;
    if (j->unpacker && !j->unpacker->spare)
        j->unpacker->spare = j->buffer;
    else
        free(j->buffer);
    j->buffer = NULL;
    j->part_next = 0;
    j->started = j->damaged = j->finished = j->lost_pending = j->totals_valid = 0;
    j->told_suspect = j->told_table = j->told_open = j->told_gone = j->told_refused = 0;
    j->rescans = 0;
    j->next = j->last_ticks = 0;
    j->gap_seen = UINT64_MAX;
    j->last_ns = j->first_ns;
    j->count = j->skip = j->left = 0;
    j->ring.text_taken = 0;
}

void
sqt_joined_free(struct sqt_joined *j)
{
    sqt_joined_rewind(j);
    for (size_t i = 0; i < j->part_count; ++i)
        sqt_part_free(j->parts[i]);
    free(j->parts);
    sqt_ring_close(&j->ring);
    free(j->ring_name);
    free(j->named_by);
    sqt_dictionary_free(&j->dictionary);
    free(j);
}
