/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dead-ring.c - what a dead process left: its pointer file and its ring, see ring-internal.h.
 */
#include "ring-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies the value of "name=" at the start of a line. */
static int
dead_ring_value_of(const char *text, const char *name, char *value, size_t size)
{
    const size_t name_size = strlen(name);
    for (const char *line = text; line && *line;) {
        const char *const end = strchr(line, '\n');
        if (!end)
            return -1;
        if ((size_t)(end - line) > name_size && memcmp(line, name, name_size) == 0) {
            const size_t n = (size_t)(end - line) - name_size;
            if (n >= size)
                return -1;
            memcpy(value, line + name_size, n);
            value[n] = '\0';
            return 0;
        }
        line = end + 1;
    }
    return -1;
}

int
sqt_pointer_read(struct sqt_pointer *pointer, int fd)
{
    char text[SQT_RING_PATH_MAX + 128];
    const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return dead_ring_value_of(text, "ring=", pointer->ring, sizeof(pointer->ring)) == 0 &&
                   dead_ring_value_of(text, "id=", pointer->id, sizeof(pointer->id)) == 0 &&
                   dead_ring_value_of(text, "boot=", pointer->boot, sizeof(pointer->boot)) == 0
               ? 0
               : -1;
}

/* Whether all that is used later holds, so that the copy can be believed from then on. */
static int
makes_sense(const struct sqt_ring_header *h, uint64_t size)
{
    return h->header_size == SQT_RING_HEADER && h->capacity && !(h->capacity & (h->capacity - 1)) &&
           h->capacity <= size / sizeof(struct sqt_record) && h->text_offset >= SQT_RING_HEADER &&
           h->text_offset <= size && h->text_size <= size - h->text_offset && h->text_size <= SQT_FRAME_MAX &&
           h->records_offset >= SQT_RING_HEADER && h->records_offset <= size &&
           h->capacity * sizeof(struct sqt_record) <= size - h->records_offset && h->writer.text_used <= h->text_size &&
           h->flusher.tail <= h->writer.head && h->writer.head - h->flusher.tail <= h->capacity &&
           h->identity.ticks_per_second >= 1000000 && h->identity.ticks_per_second <= UINT64_C(1000000000000);
}

static int
dead_ring_read_at(int fd, void *to, size_t size, uint64_t offset)
{
    for (char *p = to; size;) {
        const ssize_t n = pread(fd, p, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : ENODATA;
            return -1;
        }
        p += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

/* Whether the ring's process died before it wrote the magic. */
static int
is_unfinished(int fd)
{
    static const char nothing[8];
    char magic[sizeof(nothing)];
    return dead_ring_read_at(fd, magic, sizeof(magic), 0) != 0 ? errno == ENODATA
                                                               : memcmp(magic, nothing, sizeof(magic)) == 0;
}

static int
check_header(const struct sqt_ring_header *h, uint64_t size, struct sqt_error *error)
{
    if (memcmp(h->magic, SQT_RING_MAGIC, sizeof(h->magic)) != 0)
        return sqt_fail(error, "it is not a ring");
    if (h->version != SQT_VERSION || h->incompatible)
        return sqt_fail(error, "its format is version %u with flags %x; known is version %u", (unsigned)h->version,
                        (unsigned)h->incompatible, SQT_VERSION);
    if (!makes_sense(h, size))
        return sqt_fail(error, "its header does not fit a file of %" PRIu64 " bytes", size);
    return 0;
}

int
sqt_dead_ring_read(struct sqt_dead_ring *ring, int fd, struct sqt_error *error)
{
    struct sqt_ring_header header;
    struct stat st;
    *ring = (struct sqt_dead_ring){.fd = fd};
    if (is_unfinished(fd))
        return 1;
    if (fstat(fd, &st) != 0 || dead_ring_read_at(fd, &header, sizeof(header), 0) != 0)
        return sqt_fail(error, "its header cannot be read: %s", strerror(errno));
    if (check_header(&header, (uint64_t)st.st_size, error) != 0)
        return -1;
    ring->header = malloc(SQT_RING_HEADER + header.writer.text_used);
    if (!ring->header) {
        errno = ENOMEM;
        return sqt_fail(error, "%s", strerror(ENOMEM));
    }
    char *const text = (char *)ring->header + SQT_RING_HEADER;
    if (dead_ring_read_at(fd, text, header.writer.text_used, header.text_offset) != 0) {
        sqt_fail(error, "its text cannot be read: %s", strerror(errno));
        sqt_dead_ring_free(ring);
        return -1;
    }
    header.text_offset = SQT_RING_HEADER;
    header.text_size = header.writer.text_used;
    header.identity.service[sizeof(header.identity.service) - 1] = '\0';
    memcpy(ring->header, &header, sizeof(header));
    return 0;
}

int
sqt_dead_ring_records(const struct sqt_dead_ring *ring, uint64_t first, size_t count, struct sqt_record *to)
{
    const struct sqt_ring_header *const h = ring->header;
    const uint64_t at = first & (h->capacity - 1);
    const size_t before = count < h->capacity - at ? count : (size_t)(h->capacity - at);
    if (dead_ring_read_at(ring->fd, to, before * sizeof(*to), h->records_offset + at * sizeof(*to)) != 0)
        return -1;
    return dead_ring_read_at(ring->fd, to + before, (count - before) * sizeof(*to), h->records_offset);
}

void
sqt_dead_ring_free(struct sqt_dead_ring *ring)
{
    free(ring->header);
    ring->header = NULL;
}
