/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * frames.c - the frames of a part, one after the other, by their headers; see origin.h.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"
#include "origin.h"

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
