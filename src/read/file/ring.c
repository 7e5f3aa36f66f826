/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring.c - see ring.h.
 */
#define _GNU_SOURCE /* F_OFD_GETLK */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "clock.h"

static const struct sqt_ring_header *
header_of(const struct sqt_ring *ring)
{
    return (const struct sqt_ring_header *)ring->map;
}

static uint64_t
load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Whether the area lies in the file, after the header and in steps of 8 bytes. */
static int
area_fits(uint64_t offset, uint64_t size, uint64_t file_size)
{
    return offset >= SQT_RING_HEADER && offset % 8 == 0 && offset <= file_size && size <= file_size - offset;
}

int
sqt_ring_refresh(struct sqt_ring *ring)
{
    /* The tail is read before the head, which it never overtakes, and again after it: by then it has reached what
     * the head needed to have room. */
    const struct sqt_ring_header *const live = header_of(ring);
    const uint64_t tail = load(&live->flusher.tail);
    struct sqt_totals totals;
    sqt_ring_totals(live, &totals);
    const uint64_t tail_now = load(&live->flusher.tail);
    if (totals.head > UINT64_MAX / 2 || tail > totals.head || totals.head < ring->head ||
        (totals.head > tail_now && totals.head - tail_now > ring->capacity))
        return -1;
    ring->totals = totals;
    ring->head = totals.head;
    return 0;
}

/* Copies what the reader relies on out of the shared memory, and checks the copy.  Returns NULL or what is wrong. */
static const char *
ring_take_header(struct sqt_ring *ring)
{
    struct sqt_ring_header h;
    memcpy(&h, ring->map, sizeof(h));
    ring->identity = h.identity;
    ring->capacity = h.capacity;
    ring->text_offset = h.text_offset;
    ring->text_size = h.text_size;
    ring->records_offset = h.records_offset;
    if (h.header_size != SQT_RING_HEADER)
        return "the header's size is impossible";
    if (h.capacity < SQT_UNIT_MAX || (h.capacity & (h.capacity - 1)) ||
        h.capacity > ring->size / sizeof(struct sqt_record))
        return "the capacity is impossible";
    if (!area_fits(h.text_offset, h.text_size, ring->size) ||
        !area_fits(h.records_offset, h.capacity * sizeof(struct sqt_record), ring->size))
        return "an area lies outside of the file";
    if (!sqt_clock_makes_sense(&h.identity))
        return "the clock is impossible";

    return sqt_ring_refresh(ring) == 0 ? NULL : "its head and tail are impossible";
}

/* Whether its writer lives: see SQT_RING_LOCKED. */
static int
ring_is_owned(const struct sqt_ring_header *live, int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct timespec now;
    if (live->compatible & SQT_RING_LOCKED)
        return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    const uint64_t heartbeat_ns = load(&live->flusher.heartbeat_ns); /* before the clock is read */
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return now_ns - heartbeat_ns < SQT_RING_STALE_NS;
}

int
sqt_ring_open(struct sqt_ring *ring, int fd, const char *name, struct sqt_diagnostics *diagnostics)
{
    struct stat st;
    memset(ring, 0, sizeof(*ring));
    if (fstat(fd, &st) != 0 || st.st_size < (off_t)SQT_RING_HEADER) {
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: a ring that is cut off within its header", name);
        return -1;
    }
    void *const map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        sqt_unless_no_memory();
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: cannot map the ring: %s", name, strerror(errno));
        return -1;
    }
    ring->map = map;
    ring->size = (size_t)st.st_size;

    const struct sqt_ring_header *const live = header_of(ring);
    const char *wrong = NULL;
    if (live->version > SQT_VERSION)
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: written by a newer sqtrace (format %" PRIu32 ", this reads %d)", name,
                     live->version, SQT_VERSION);
    else if (live->incompatible)
        sqt_diagnose(diagnostics, SQT_ERROR,
                     "%s: written by a newer sqtrace (it needs features 0x%" PRIx32 " that this does not know)", name,
                     live->incompatible);
    else if ((wrong = ring_take_header(ring)) != NULL)
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: damaged ring: %s", name, wrong);
    else {
        ring->owned = ring_is_owned(live, fd);
        return 0;
    }
    sqt_ring_close(ring);
    return -1;
}

void
sqt_ring_close(struct sqt_ring *ring)
{
    if (ring->map)
        munmap((void *)(uintptr_t)ring->map, ring->size);
    memset(ring, 0, sizeof(*ring));
}

/* Copies words that the other process may be storing.  What it overwrote meanwhile is discarded by the caller. */
static void
copy_words(void *to, const void *from, size_t size)
{
    typedef uint64_t __attribute__((may_alias)) word;
    word *const target = to;
    const word *const source = from;
    for (size_t i = 0; i < size / sizeof(word); ++i)
        target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

size_t
sqt_ring_copy(const struct sqt_ring *ring, uint64_t from, size_t room, struct sqt_record *records, uint64_t *tail)
{
    const struct sqt_ring_header *const live = header_of(ring);
    const uint8_t *const slots = ring->map + ring->records_offset;

    *tail = load(&live->flusher.tail);
    if (*tail > from || from >= ring->head)
        return 0;
    uint64_t count = ring->head - from;
    if (count > ring->capacity)
        count = ring->capacity; /* the tail lies, as it did not when the ring was opened */
    if (count > room)
        count = room;
    const uint64_t slot = from & (ring->capacity - 1);
    const uint64_t straight = count < ring->capacity - slot ? count : ring->capacity - slot;
    copy_words(records, slots + slot * sizeof(*records), straight * sizeof(*records));
    copy_words(records + straight, slots, (count - straight) * sizeof(*records));

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    *tail = load(&live->flusher.tail);
    return *tail > from ? 0 : count;
}

const char *
sqt_ring_text(struct sqt_ring *ring, size_t *size)
{
    uint64_t used = load(&header_of(ring)->writer.text_used);
    if (used > ring->text_size)
        used = ring->text_size;
    const char *const text = (const char *)ring->map + ring->text_offset + ring->text_taken;
    *size = used > ring->text_taken ? (size_t)(used - ring->text_taken) : 0;
    ring->text_taken += *size;
    return text;
}

int
sqt_ring_anchor(const struct sqt_ring *ring, struct sqt_anchor *anchor)
{
    const struct sqt_ring_header *const live = header_of(ring);
    struct sqt_anchor again;

    /* The flusher may be writing it: two equal readings are a whole one. */
    for (unsigned tries = 0; tries < 4; ++tries) {
        copy_words(anchor, &live->flusher.last, sizeof(*anchor));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        copy_words(&again, &live->flusher.last, sizeof(again));
        if (memcmp(anchor, &again, sizeof(again)) == 0)
            return anchor->monotonic_ns != 0 && anchor->monotonic_ns < SQT_MONOTONIC_MAX;
    }
    return 0;
}

uint64_t
sqt_ring_heartbeat(const struct sqt_ring *ring)
{
    return load(&header_of(ring)->flusher.heartbeat_ns);
}
