/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * out.c - see out.h.
 */
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

void
sqt_out_init(struct sqt_out *out, int fd)
{
    memset(out, 0, sizeof(*out));
    out->fd = fd;
    out->buffer = sqt_zeroed(1, SQT_OUT_BUFFER);
}

void
sqt_out_flush(struct sqt_out *out)
{
    const char *p = out->buffer;
    while (out->used && !out->error && !out->gone) {
        const ssize_t n = write(out->fd, p, out->used);
        if (n >= 0) {
            p += n;
            out->used -= (size_t)n;
        } else if (errno == EPIPE) {
            out->gone = 1;
        } else if (errno != EINTR) {
            out->error = errno;
        }
    }
    out->used = 0;
}

void
sqt_out_free(struct sqt_out *out)
{
    free(out->buffer);
    out->buffer = NULL;
}
