/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring.c - a copy of a live ring, as its writer would leave it if it were killed now.
 *
 * The head is taken first, then records are copied, then the tail is known.  Records before the tail may have been
 * overwritten, and are in segments by then, which are taken afterwards.  Room that holds no records stays a hole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "read/file/listing.h"
#include "read/file/pointer.h"
#include "read/file/ring.h"

#include "snapshot.h"

#define RING_CHUNK 8192 /* records */

/* Writes records to their slots. */
static int
ring_put(struct snapshot_out *out, int fd, const struct sqt_ring *ring, uint64_t first, size_t count,
         const struct sqt_record *records)
{
    const uint64_t slot = first & (ring->capacity - 1), left = ring->capacity - slot;
    const size_t straight = count < left ? count : (size_t)left;
    return snapshot_out_write(out, fd, records, straight * sizeof(*records),
                              ring->records_offset + slot * sizeof(*records)) != 0
               ? -1
               : snapshot_out_write(out, fd, records + straight, (count - straight) * sizeof(*records),
                                    ring->records_offset);
}

static int
ring_write(struct snapshot_out *out, int fd, struct sqt_ring *ring)
{
    struct sqt_record *const records = sqt_zeroed(RING_CHUNK, sizeof(*records));
    struct sqt_ring_header *const header = sqt_zeroed(1, sizeof(*header));
    uint64_t tail = 0;
    size_t size, count;
    int failed = ftruncate(fd, (off_t)sqt_ring_size(ring)) != 0;
    sqt_ring_copy(ring, 0, 1, records, &tail);
    for (uint64_t at = tail; !failed && at < ring->head; at = count ? at + count : tail) {
        count = sqt_ring_copy(ring, at, RING_CHUNK, records, &tail);
        if (!count && tail <= at)
            break;
        failed = ring_put(out, fd, ring, at, count, records) != 0;
    }
    const char *const text = sqt_ring_text(ring, &size);
    failed = failed || sqt_ring_header_left(ring, tail < ring->head ? tail : ring->head, size, header) != 0 ||
             snapshot_out_write(out, fd, text, size, ring->text_offset) != 0 ||
             snapshot_out_write(out, fd, header, sizeof(*header), 0) != 0;
    const int cause = errno;
    free(records);
    free(header);
    errno = cause;
    return failed ? -1 : 0;
}

static int
ring_copy(struct snapshot_out *out, struct sqt_ring *ring, const char *name, int like)
{
    const int fd = snapshot_out_create(out, name, like);
    const int failed = fd < 0 || ring_write(out, fd, ring) != 0;
    const int cause = errno;
    const int closed = fd >= 0 ? snapshot_out_finish(fd) : 0;
    if (failed || closed != 0)
        return snapshot_out_fail(out, name, failed ? cause : errno);
    return 0;
}

static void
ring_report(void *context, enum sqt_severity severity, const char *text)
{
    struct snapshot_out *const out = context;
    if (severity != SQT_NOTE)
        program_say(&out->voice, "warning: %s", text);
}

/* The ring that a file of the directory is, or names.  Returns a descriptor, or -1. */
static int
ring_open(const char *path)
{
    struct sqt_pointer_text text;
    uint8_t bytes[4096];
    const int fd = sqt_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    const ssize_t got = fd >= 0 ? pread(fd, bytes, sizeof(bytes), 0) : -1;
    if (got >= 8 && memcmp(bytes, SQT_RING_MAGIC, 8) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return got > 0 && sqt_pointer_parse(bytes, (size_t)got, &text) == 0
               ? sqt_open_regular(AT_FDCWD, text.ring, O_RDONLY | O_NOFOLLOW, NULL)
               : -1;
}

/* A ring that is being made, or is gone, has nothing that is not in segments. */
static int
ring_take(struct snapshot_out *out, const char *path, const char *name)
{
    struct sqt_diagnostics diagnostics = {.function = ring_report, .context = out};
    struct sqt_ring ring;
    char magic[8] = "";
    const int fd = ring_open(path);
    int result = 0;
    if (fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
        memcmp(magic, SQT_RING_MAGIC, sizeof(magic)) == 0 && sqt_ring_open(&ring, fd, path, &diagnostics) == 0) {
        result = ring_copy(out, &ring, name, fd);
        if (ring.wrong)
            sqt_diagnose(&diagnostics, SQT_WARNING, "%s: damaged ring: %s", path, ring.wrong);
        sqt_ring_close(&ring);
    }
    if (fd >= 0)
        close(fd);
    return result;
}

int
snapshot_rings(struct snapshot_out *out, const char *directory)
{
    struct sqt_listing names;
    int result = 0;
    if (sqt_listing_read(&names, directory, sqt_listing_ends, ".ring", SQT_LISTING_MOST) != 0)
        return program_fail(&out->voice, "%s: cannot be read: %s", directory, strerror(errno));
    if (names.left_out)
        program_say(&out->voice, "warning: %s: more than %zu files *.ring; the last %zu of them are left out",
                    directory, SQT_LISTING_MOST, names.left_out);
    for (size_t i = 0; i < names.count && result == 0; ++i) {
        char path[4096];
        if (snprintf(path, sizeof(path), "%s/%s", directory, names.names[i]) < (int)sizeof(path))
            result = ring_take(out, path, names.names[i]);
    }
    sqt_listing_free(&names);
    return result;
}
