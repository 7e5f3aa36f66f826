/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring.c - see ring.h.
 */
#define _GNU_SOURCE /* F_OFD_GETLK, SEEK_HOLE */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "clock.h"
#include "words.h"

#define AT(field) offsetof(struct sqt_ring_header, field)

/* ---- what libsqtrace can have made ---- */

/* Whether the area lies in the file, after the header and in steps of 8 bytes. */
static int
area_fits(uint64_t offset, uint64_t size, uint64_t file_size)
{
    return offset >= SQT_RING_HEADER && offset % 8 == 0 && offset <= file_size && size <= file_size - offset;
}

/* Whether the file has bytes of its own there.  Where no file can have holes, it has. */
static int
ring_has_bytes(const struct sqt_ring *ring, uint64_t offset, uint64_t size)
{
    const off_t hole = size ? lseek(ring->fd, (off_t)offset, SEEK_HOLE) : (off_t)offset;
    return hole < 0 ? errno == EINVAL : (uint64_t)hole >= offset + size;
}

/* Of `count` records from number `from`, those that stand one after the other before the end of the area. */
static uint64_t
ring_straight(const struct sqt_ring *ring, uint64_t from, uint64_t count)
{
    const uint64_t left = ring->capacity - (from & (ring->capacity - 1));
    return count < left ? count : left;
}

static uint64_t
ring_offset_of(const struct sqt_ring *ring, uint64_t number)
{
    return ring->records_offset + (number & (ring->capacity - 1)) * sizeof(struct sqt_record);
}

/* The same of records.  Whatever else the file has may be holes: a copy need not have what is free. */
static int
ring_has_records(const struct sqt_ring *ring, uint64_t from, uint64_t end)
{
    const uint64_t straight = ring_straight(ring, from, end - from);
    return ring_has_bytes(ring, ring_offset_of(ring, from), straight * sizeof(struct sqt_record)) &&
           ring_has_bytes(ring, ring->records_offset, (end - from - straight) * sizeof(struct sqt_record));
}

/* ---- words that its owner stores ---- */

/* The head was taken between the two readings of the tail, which never overtakes it and by the second one has reached what
 * the head needed to have room. */
static int
words_make_sense(const struct sqt_ring *ring, const struct sqt_words *words)
{
    const uint64_t head = words->totals.head;
    return head <= UINT64_MAX / 2 && words->tail <= head && head >= ring->head &&
           (head <= words->tail_now || head - words->tail_now <= ring->capacity);
}

/* Sets what is wrong by errno. */
static int
ring_fail(struct sqt_ring *ring)
{
    ring->wrong = errno == ENODATA  ? "it was cut off while it was read"
                  : errno == EAGAIN ? "its head and tail never stand still"
                                    : "it cannot be read";
    return -1;
}

static int
ring_take_words(struct sqt_ring *ring, struct sqt_words *words)
{
    if (sqt_words_take(ring->fd, words, ring->identity.ticks_per_second) != 0)
        return errno == EAGAIN && ring->text ? 0
                                             : ring_fail(ring); /* one that was opened: the next look is another try */
    if (!words_make_sense(ring, words)) {
        ring->wrong = "its head and tail are impossible";
        return -1;
    }
    ring->totals = words->totals;
    ring->head = words->totals.head;
    ring->text_used = words->text_used < ring->text_size ? words->text_used : ring->text_size;
    return 0;
}

int
sqt_ring_refresh(struct sqt_ring *ring)
{
    struct sqt_words words;
    return ring_take_words(ring, &words);
}

/* ---- opening ---- */

/* Takes what the reader relies on out of a copy of the header, and checks it.  Returns NULL or what is wrong. */
static const char *
ring_take_header(struct sqt_ring *ring, const struct sqt_ring_header *h, uint64_t size)
{
    ring->identity = h->identity;
    ring->text_offset = h->text_offset;
    ring->text_size = h->text_size;
    ring->records_offset = h->records_offset;
    ring->recorder = (h->compatible & SQT_RECORDER) != 0;
    if (h->header_size != SQT_RING_HEADER)
        return "the header's size is impossible";
    if (h->capacity < SQT_UNIT_MAX || (h->capacity & (h->capacity - 1)) ||
        h->capacity > size / sizeof(struct sqt_record) ||
        h->capacity > SQT_RING_RECORDS_MAX / sizeof(struct sqt_record))
        return "the capacity is impossible";
    if (!area_fits(h->text_offset, h->text_size, size) ||
        !area_fits(h->records_offset, h->capacity * sizeof(struct sqt_record), size))
        return "an area lies outside of the file";
    if (h->text_size > SQT_RING_TEXT_MAX || h->text_offset > SQT_RING_FILE_MAX || h->records_offset > SQT_RING_FILE_MAX)
        return "its areas are larger than any";
    if (!sqt_clock_makes_sense(&h->identity))
        return "the clock is impossible";
    ring->capacity = h->capacity;
    return NULL;
}

/* Takes head and tail for the first time, and looks whether what they speak of is there. */
static const char *
ring_take_contents(struct sqt_ring *ring)
{
    struct sqt_words words;
    if (ring_take_words(ring, &words) != 0)
        return ring->wrong;
    if (!ring_has_bytes(ring, ring->text_offset, ring->text_used) ||
        (words.tail_now < ring->head && !ring_has_records(ring, words.tail_now, ring->head)))
        return "records or text of it lie in a hole of the file";
    ring->text = sqt_allocated(ring->text_size + 1);
    return NULL;
}

/* Whether its writer lives: see SQT_RING_LOCKED. */
static int
ring_is_owned(const struct sqt_ring_header *h, int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET}; /* only a write lock conflicts with it */
    uint64_t heartbeat_ns;
    if (h->compatible & SQT_RING_LOCKED)
        return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    if (sqt_words_agree(fd, &heartbeat_ns, sizeof(heartbeat_ns), AT(flusher.heartbeat_ns)) != 0)
        return 0;
    return (uint64_t)sqt_monotonic_ns() - heartbeat_ns < SQT_RING_STALE_NS; /* after the heartbeat was read */
}

int
sqt_ring_open(struct sqt_ring *ring, int fd, const char *name, struct sqt_diagnostics *diagnostics)
{
    struct sqt_ring_header h;
    struct stat st;
    memset(ring, 0, sizeof(*ring));
    if (fstat(fd, &st) != 0 || st.st_size < (off_t)SQT_RING_HEADER || sqt_words_read(fd, &h, sizeof(h), 0) != 0) {
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: a ring that is cut off within its header", name);
        return -1;
    }
    ring->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const char *wrong = NULL;
    if (ring->fd < 0)
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: the ring cannot be opened: %s", name, strerror(errno));
    else if (h.version > SQT_VERSION)
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: written by a newer sqtrace (format %" PRIu32 ", this reads %d)", name,
                     h.version, SQT_VERSION);
    else if (h.incompatible)
        sqt_diagnose(diagnostics, SQT_ERROR,
                     "%s: written by a newer sqtrace (it needs features 0x%" PRIx32 " that this does not know)", name,
                     h.incompatible);
    else if ((wrong = ring_take_header(ring, &h, (uint64_t)st.st_size)) != NULL ||
             (wrong = ring_take_contents(ring)) != NULL)
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: damaged ring: %s", name, wrong);
    else {
        ring->owned = ring_is_owned(&h, fd);
        return 0;
    }
    if (ring->fd >= 0)
        close(ring->fd);
    ring->capacity = 0;
    return -1;
}

void
sqt_ring_close(struct sqt_ring *ring)
{
    if (sqt_ring_is_open(ring))
        close(ring->fd);
    free(ring->text);
    memset(ring, 0, sizeof(*ring));
}

/* ---- reading ---- */

/* Reads the tail; 0 after setting ring->wrong. */
static int
ring_tail(struct sqt_ring *ring, uint64_t *tail)
{
    if (sqt_words_agree(ring->fd, tail, sizeof(*tail), AT(flusher.tail)) == 0)
        return 1;
    ring_fail(ring);
    *tail = 0;
    return 0;
}

size_t
sqt_ring_copy(struct sqt_ring *ring, uint64_t from, size_t room, struct sqt_record *records, uint64_t *tail)
{
    if (!ring_tail(ring, tail) || *tail > from || from >= ring->head)
        return 0;
    uint64_t count = ring->head - from;
    if (count > ring->capacity) { /* there was room for the head: the tail had passed `from` */
        ring->wrong = "its tail went back";
        return 0;
    }
    if (count > room)
        count = room;
    const uint64_t straight = ring_straight(ring, from, count);
    if (sqt_words_read(ring->fd, records, straight * sizeof(*records), ring_offset_of(ring, from)) != 0 ||
        sqt_words_read(ring->fd, records + straight, (count - straight) * sizeof(*records), ring->records_offset) !=
            0) {
        ring_fail(ring);
        return 0;
    }
    return !ring_tail(ring, tail) || *tail > from ? 0 : count;
}

const char *
sqt_ring_text(struct sqt_ring *ring, size_t *size)
{
    *size = ring->text_used > ring->text_taken ? (size_t)(ring->text_used - ring->text_taken) : 0;
    if (*size && sqt_words_read(ring->fd, ring->text, *size, ring->text_offset + ring->text_taken) != 0) {
        ring_fail(ring);
        *size = 0;
    }
    ring->text_taken += *size;
    return ring->text;
}

int
sqt_ring_header_left(const struct sqt_ring *ring, uint64_t tail, uint64_t text_used, struct sqt_ring_header *h)
{
    if (sqt_words_read(ring->fd, h, sizeof(*h), 0) != 0)
        return -1;
    memcpy(h->magic, SQT_RING_MAGIC, sizeof(h->magic));
    h->version = SQT_VERSION;
    h->header_size = SQT_RING_HEADER;
    h->incompatible = 0;
    h->compatible |= SQT_RING_LOCKED; /* and nobody holds the lock */
    h->capacity = ring->capacity;
    h->text_offset = ring->text_offset;
    h->text_size = ring->text_size;
    h->records_offset = ring->records_offset;
    h->identity = ring->identity;
    h->writer.episodes = 0; /* so what follows counts */
    h->writer.head = ring->totals.head;
    h->writer.lost = ring->totals.lost;
    h->writer.marks = ring->totals.marks;
    h->writer.lost_from = ring->totals.lost_from;
    h->writer.lost_open = ring->totals.lost_open;
    h->writer.lost_until = ring->totals.lost_from +
                           (uint64_t)((double)ring->totals.lost_us * 1e-6 * (double)ring->identity.ticks_per_second);
    h->writer.text_used = text_used;
    h->flusher.tail = tail;
    if (!sqt_ring_anchor(ring, &h->flusher.last))
        memset(&h->flusher.last, 0, sizeof(h->flusher.last));
    return 0;
}

uint64_t
sqt_ring_size(const struct sqt_ring *ring)
{
    const uint64_t text = ring->text_offset + ring->text_size;
    const uint64_t records = ring->records_offset + ring->capacity * sizeof(struct sqt_record);
    return text > records ? text : records;
}

int
sqt_ring_anchor(const struct sqt_ring *ring, struct sqt_anchor *anchor)
{
    return sqt_words_agree(ring->fd, anchor, sizeof(*anchor), AT(flusher.last)) == 0 && anchor->monotonic_ns != 0 &&
           anchor->monotonic_ns < SQT_MONOTONIC_MAX;
}

uint64_t
sqt_ring_heartbeat(const struct sqt_ring *ring)
{
    uint64_t heartbeat_ns;
    return sqt_words_agree(ring->fd, &heartbeat_ns, sizeof(heartbeat_ns), AT(flusher.heartbeat_ns)) == 0 ? heartbeat_ns
                                                                                                         : 0;
}

uint32_t
sqt_ring_acl(const struct sqt_ring *ring)
{
    uint32_t acl;
    return sqt_words_agree(ring->fd, &acl, sizeof(acl), AT(writer.acl)) == 0 ? acl : 0;
}
