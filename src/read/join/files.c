/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * files.c - see files.h.
 */
#include "read/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "read/file/clock.h"
#include "stream-internal.h"

struct files_state {
    const struct sqt_origin_reader *reader;
    struct sqt_file file;
};

static int
files_take_frame(void *context, const struct sqt_part_frame *frame)
{
    struct files_state *const state = context;
    const struct sqt_origin_reader *const o = state->reader;
    struct sqt_block block;
    struct sqt_totals totals;
    struct sqt_line line;
    state->file.whole = frame->at + frame->frame.size;
    if (frame->frame.type == SQT_FRAME_END && sqt_part_read(frame, &totals, sizeof(totals)) == 0 &&
        totals.head > state->file.end)
        state->file.end = totals.head;
    if (frame->frame.type != SQT_FRAME_BLOCK || sqt_part_read(frame, &block, sizeof(block)) != 0 ||
        sqt_clock_line(&o->public.identity, &block.from, &block.to, block.time_first, block.time_last, o->offset_ns,
                       &line) != 0)
        return 1;
    if (block.first + block.count > state->file.end)
        state->file.end = block.first + block.count;
    state->file.ticks = block.time_last > state->file.ticks ? block.time_last : state->file.ticks;
    const int64_t from = sqt_line_ns(&line, block.time_first), until = sqt_line_ns(&line, block.time_last);
    state->file.from = from < state->file.from ? from : state->file.from;
    state->file.until = until > state->file.until ? until : state->file.until;
    return 1;
}

/* Whether something else than a frame, or the begin of one, stands there. */
static int
files_damaged(const struct sqt_part *part, uint64_t at)
{
    struct sqt_frame frame;
    const int fd = sqt_open_regular(AT_FDCWD, part->name, O_RDONLY, NULL);
    const int damaged = fd >= 0 && pread(fd, &frame, sizeof(frame), (off_t)at) == (ssize_t)sizeof(frame) &&
                        (frame.magic != SQT_FRAME_MAGIC || frame.size > SQT_FRAME_MAX);
    if (fd >= 0)
        close(fd);
    return damaged;
}

void
sqt_stream_files(struct sqt_stream *s, void *context, void (*take)(void *context, const struct sqt_file *file))
{
    for (size_t i = 0; i < s->sources.origin_count; ++i) {
        struct sqt_origin_reader *const o = s->sources.origins[i];
        sqt_origin_reader_sort(o);
        for (size_t p = 0; p < o->part_count; ++p) {
            const struct sqt_part *const part = o->parts[p];
            struct files_state state = {o,
                                        {.origin = &o->public,
                                         .name = part->name,
                                         .from = INT64_MAX,
                                         .until = INT64_MIN,
                                         .whole = part->header.header_size,
                                         .end = sqt_ring_is_open(&o->ring) ? o->ring.head : 0}};
            if (part->fd >= 0)
                continue;
            state.file.last = p + 1 == o->part_count;
            state.file.ring = sqt_ring_is_open(&o->ring);
            sqt_part_each_frame(part, 0, files_take_frame, &state);
            if (files_damaged(part, state.file.whole)) {
                state.file.whole = UINT64_MAX;
                state.file.until = INT64_MAX;
            }
            take(context, &state.file);
        }
    }
}

/* ---- pieces ---- */

struct files_pieces {
    const struct sqt_origin_reader *reader;
    int64_t since, until;
    struct sqt_piece *pieces;
    size_t count;
    struct sqt_piece before; /* the last block that was left out so far; end 0: none */
    int taken, skipped, cut; /* blocks; left out before the first that was taken, and behind the last */
};

static void
files_add_piece(struct files_pieces *p, uint64_t at, uint64_t end)
{
    if (p->count && p->pieces[p->count - 1].end == at) {
        p->pieces[p->count - 1].end = end;
        return;
    }
    if (!(p->count & (p->count + 1)))
        p->pieces = sqt_resized(p->pieces, 2 * (p->count + 1) * sizeof(*p->pieces));
    p->pieces[p->count++] = (struct sqt_piece){at, end};
}

/* Whether the block is of that time, or says no time. */
static int
files_is_wanted(const struct files_pieces *p, const struct sqt_part_frame *frame)
{
    struct sqt_block block;
    struct sqt_line line;
    const struct sqt_origin_reader *const o = p->reader;
    if (sqt_part_read(frame, &block, sizeof(block)) != 0 ||
        sqt_clock_line(&o->public.identity, &block.from, &block.to, block.time_first, block.time_last, o->offset_ns,
                       &line) != 0)
        return 1;
    return sqt_line_ns(&line, block.time_last) >= p->since && sqt_line_ns(&line, block.time_first) <= p->until;
}

static void
files_take_block(struct files_pieces *p, const struct sqt_part_frame *frame, uint64_t at, uint64_t end)
{
    if (p->cut || !files_is_wanted(p, frame)) {
        p->cut |= p->taken; /* what is copied has no gap */
        p->skipped += !p->taken && p->before.end;
        p->before = (struct sqt_piece){at, end};
        return;
    }
    if (!p->taken && p->before.end)
        files_add_piece(p, p->before.at, p->before.end);
    p->taken = 1;
    files_add_piece(p, at, end);
}

static int
files_take_piece(void *context, const struct sqt_part_frame *frame)
{
    struct files_pieces *const p = context;
    const uint64_t at = frame->at - sizeof(frame->frame), end = frame->at + frame->frame.size;
    if (frame->frame.type == SQT_FRAME_BLOCK)
        files_take_block(p, frame, at, end);
    else if (frame->frame.type != SQT_FRAME_END)
        files_add_piece(p, at, end);
    else if (p->taken && !p->cut)
        files_add_piece(p, at, end);
    return 1;
}

size_t
sqt_file_pieces(const struct sqt_file *file, int64_t since, int64_t until, struct sqt_piece **pieces, int *cut)
{
    const struct sqt_origin_reader *const o = (const struct sqt_origin_reader *)file->origin;
    struct files_pieces p = {.reader = o, .since = since, .until = until};
    for (size_t i = 0; i < o->part_count && file->whole != UINT64_MAX; ++i)
        if (o->parts[i]->fd < 0 && strcmp(o->parts[i]->name, file->name) == 0 &&
            o->parts[i]->header.header_size == sizeof(o->parts[i]->header)) {
            files_add_piece(&p, 0, o->parts[i]->header.header_size);
            sqt_part_each_frame(o->parts[i], 0, files_take_piece, &p);
            break;
        }
    /* What follows the last block is in the ring. */
    if (p.count && !p.taken && p.before.end)
        files_add_piece(&p, p.before.at, p.before.end);
    *pieces = p.pieces;
    *cut = p.skipped > 0;
    return p.count == 1 && p.pieces->end >= file->whole ? 0 : p.count;
}
