/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parts.c - what an origin is made of; see origin.h.
 */
#include "origin.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
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
    o->parts[o->part_count++] = part;
    return 1;
}

void
sqt_origin_reader_drop_parts(struct sqt_origin_reader *o, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        sqt_part_free(o->parts[i]);
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

/* ---- frames ---- */

/* Bytes that are read at once, and where the last ones had several frames, as in a quiet trace. */
#define PARTS_AT_ONCE 4096
#define PARTS_AT_ONCE_SMALL 32768
#define PARTS_SEVERAL 4

/* A window on the file that moves from frame to frame. */
struct parts_window {
    int fd;
    uint64_t at; /* offset of its first byte */
    size_t used;
    unsigned frames; /* that began in it */
    uint8_t bytes[PARTS_AT_ONCE_SMALL];
};

int
sqt_part_read(const struct sqt_part_frame *frame, void *to, size_t size)
{
    if (frame->frame.size < size || frame->got < size)
        return -1;
    memcpy(to, frame->bytes, size);
    return 0;
}

/* Frames of more bytes are not read ahead: only their heads are wanted. */
#define PARTS_LARGE 65536

/* The bytes at that offset, at least as many as heads take unless the file ends before. */
static const uint8_t *
parts_look(struct parts_window *w, uint64_t at, size_t *got)
{
    const size_t enough = sizeof(struct sqt_frame) + sizeof(struct sqt_block);
    if (at < w->at || at + enough > w->at + w->used) {
        const size_t room = w->frames >= PARTS_SEVERAL ? sizeof(w->bytes) : PARTS_AT_ONCE;
        const ssize_t n = pread(w->fd, w->bytes, room, (off_t)at);
        w->at = at;
        w->frames = 0;
        w->used = n > 0 ? (size_t)n : 0;
    }
    ++w->frames;
    *got = w->used - (size_t)(at - w->at);
    return w->bytes + (at - w->at);
}

/* The frame that begins at that offset.  Returns 0, or -1 if no whole one does. */
static int
parts_frame_at(struct parts_window *w, uint64_t at, uint64_t limit, struct sqt_part_frame *f)
{
    size_t got;
    const uint8_t *const bytes = parts_look(w, at, &got);
    if (got < sizeof(f->frame))
        return -1;
    memcpy(&f->frame, bytes, sizeof(f->frame));
    f->at = at + sizeof(f->frame);
    if (f->frame.magic != SQT_FRAME_MAGIC || f->frame.size > SQT_FRAME_MAX || f->frame.size > limit - f->at)
        return -1;
    f->bytes = bytes + sizeof(f->frame);
    f->got = got - sizeof(f->frame);
    return 0;
}

uint64_t
sqt_part_each_frame(const struct sqt_part *part, uint64_t at, sqt_part_function *take, void *context)
{
    struct parts_window window;
    window.fd = part->fd;
    window.at = window.used = window.frames = 0;
    if (window.fd < 0)
        window.fd = sqt_open_regular(AT_FDCWD, part->name, O_RDONLY, NULL);
    if (!at)
        at = part->begin + part->header.header_size;
    struct sqt_part_frame frame;
    int random = part->fd >= 0;
    struct stat st;
    /* Not what is added meanwhile: somebody may add to it all the time. */
    const uint64_t size = window.fd >= 0 && fstat(window.fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    const uint64_t limit = size < part->end ? size : part->end;
    while (at < limit && limit - at >= sizeof(frame.frame) && parts_frame_at(&window, at, limit, &frame) == 0) {
        at = frame.at + frame.frame.size;
        if (!random && frame.frame.size > PARTS_LARGE)
            random = posix_fadvise(window.fd, 0, 0, POSIX_FADV_RANDOM) == 0;
        if (!take(context, &frame))
            break;
    }
    if (window.fd >= 0 && part->fd < 0)
        close(window.fd);
    return at;
}

/* ---- order ---- */

void
sqt_origin_reader_sort(struct sqt_origin_reader *o)
{
    if (o->unsorted)
        qsort(o->parts + o->part_next, o->part_count - o->part_next, sizeof(*o->parts), by_sequence);
    o->unsorted = 0;
}

void
sqt_origin_reader_rewind(struct sqt_origin_reader *o)
{
    sqt_ahead_drop(o);
    if (o->segment_open)
        sqt_segment_leave(&o->segment);
    o->segment_open = 0;
    for (size_t i = 0; i < o->part_next; ++i)
        o->parts[i]->resume = 0;
    if (o->unpacker && !o->unpacker->spare)
        o->unpacker->spare = o->buffer;
    else
        free(o->buffer);
    o->buffer = NULL;
    o->part_next = o->resumed.part;
    o->damaged = o->finished = o->lost_pending = o->totals_valid = 0;
    o->told_suspect = o->told_table = o->told_open = o->told_gone = o->told_refused = o->told_hosts = o->told_ring = 0;
    o->rescans = 0;
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
    sqt_accepted_free(o->accepted);
    sqt_dictionary_free(&o->dictionary);
    free(o);
}
