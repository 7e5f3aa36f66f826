/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * files.c - see files.h.
 */
#include "read/files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/open.h"
#include "read/file/clock.h"
#include "stream-internal.h"

struct files_state {
    const struct sqt_origin_reader *reader;
    struct sqt_file file;
};

static void
files_take_frame(void *context, int fd, const struct sqt_frame *frame, uint64_t at)
{
    struct files_state *const state = context;
    const struct sqt_origin_reader *const o = state->reader;
    struct sqt_block block;
    struct sqt_totals totals;
    struct sqt_line line;
    state->file.whole = at + frame->size;
    if (frame->type == SQT_FRAME_END && sqt_part_read(fd, frame, at, &totals, sizeof(totals)) == 0 &&
        totals.head > state->file.end)
        state->file.end = totals.head;
    if (frame->type != SQT_FRAME_BLOCK || sqt_part_read(fd, frame, at, &block, sizeof(block)) != 0 ||
        sqt_clock_line(&o->public.identity, &block.from, &block.to, block.time_first, block.time_last, o->offset_ns,
                       &line) != 0)
        return;
    if (block.first + block.count > state->file.end)
        state->file.end = block.first + block.count;
    state->file.ticks = block.time_last > state->file.ticks ? block.time_last : state->file.ticks;
    const int64_t from = sqt_line_ns(&line, block.time_first), until = sqt_line_ns(&line, block.time_last);
    state->file.from = from < state->file.from ? from : state->file.from;
    state->file.until = until > state->file.until ? until : state->file.until;
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
            sqt_part_each_frame(part, files_take_frame, &state);
            if (files_damaged(part, state.file.whole)) {
                state.file.whole = UINT64_MAX;
                state.file.until = INT64_MAX;
            }
            take(context, &state.file);
        }
    }
}
