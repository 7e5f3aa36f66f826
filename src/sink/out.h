/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * out.h - bytes on their way to a file or pipe, in large pieces.
 */
#ifndef SQT_OUT_H
#define SQT_OUT_H

#include <stddef.h>

/* Most that may be asked for at once. */
#define SQT_OUT_ROOM 65536

struct sqt_out {
    int fd;
    char *buffer;
    size_t used;
    int error; /* errno of a failed write; nothing is written after it */
    int gone;  /* the reader went away (EPIPE): not an error */
};

void sqt_out_init(struct sqt_out *out, int fd);

/* Writes what is in the buffer. */
void sqt_out_flush(struct sqt_out *out);

void sqt_out_free(struct sqt_out *out);

#define SQT_OUT_BUFFER ((size_t)1 << 18)

/* Where the next size bytes go, size <= SQT_OUT_ROOM; the caller moves used on. */
static inline char *
sqt_out_room(struct sqt_out *out, size_t size)
{
    if (__builtin_expect(out->used + size > SQT_OUT_BUFFER, 0))
        sqt_out_flush(out);
    return out->buffer + out->used;
}

#endif
