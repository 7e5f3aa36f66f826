/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spool.c - see spool.h.
 */
#define _GNU_SOURCE
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/format.h"

#define COPY_BYTES (256u << 10)

/* A file that is gone when it is closed. */
static int
open_nameless(char *path, size_t size)
{
    const char *directory = getenv("TMPDIR");
    if (!directory || !*directory)
        directory = "/tmp";
    if (snprintf(path, size, "%s/sqtrace-dump-XXXXXX", directory) >= (int)size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int
write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int
sqt_spool(int fd, const char *name, struct sqt_diagnostics *diagnostics)
{
    struct stat st;
    char path[512];
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0)
            sqt_diagnose(diagnostics, SQT_ERROR, "%s: cannot be read: %s", name, strerror(errno));
        return copy;
    }
    if (isatty(fd)) {
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: is a terminal, not a trace", name);
        return -1;
    }
    const int spool = open_nameless(path, sizeof(path));
    uint8_t *const bytes = sqt_allocated(COPY_BYTES);
    if (spool < 0) {
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: cannot be copied to %s: %s", name, path, strerror(errno));
        free(bytes);
        return -1;
    }
    for (;;) {
        const ssize_t n = read(fd, bytes, COPY_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            sqt_diagnose(diagnostics, SQT_WARNING, "%s: cannot be read to its end: %s", name, strerror(errno));
        if (n <= 0)
            break;
        if (write_all(spool, bytes, (size_t)n) != 0) {
            sqt_diagnose(diagnostics, SQT_WARNING,
                         "%s: cannot be copied whole to %s: %s; "
                         "set TMPDIR to a place with more room",
                         name, path, strerror(errno));
            break;
        }
    }
    free(bytes);
    /* Nobody else writes to it. */
    futimens(spool, (const struct timespec[2]){{.tv_sec = 0}, {.tv_sec = 0}});
    return spool;
}

uint64_t
sqt_spool_next_segment(struct sqt_input *input, uint64_t from)
{
    const size_t magic_size = sizeof(SQT_SEGMENT_MAGIC) - 1;
    for (uint64_t offset = from;;) {
        size_t got;
        const uint8_t *const bytes = sqt_input_at(input, offset, COPY_BYTES, &got);
        if (!bytes || got < magic_size)
            return UINT64_MAX;
        const uint8_t *const hit = memmem(bytes, got, SQT_SEGMENT_MAGIC, magic_size);
        if (hit) {
            struct sqt_segment_header header;
            offset += (uint64_t)(hit - bytes);
            const uint8_t *const at = sqt_input_at(input, offset, sizeof(header), &got);
            if (at && got >= sizeof(header)) {
                memcpy(&header, at, sizeof(header));
                if (header.version && header.version < 256 && header.header_size >= sizeof(header) &&
                    header.header_size <= 4096)
                    return offset;
            }
            ++offset;
        } else
            offset = sqt_input_data(input, offset + got - (magic_size - 1));
    }
}
