/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring.h - a live or left-over ring, read without writing to it.
 *
 * The writer may overwrite a record only once the tail has passed it, and the tail passes it only once it is in a
 * segment.  So records are copied first and the tail is read after: if it has not passed the first of them, the copy
 * is whole; if it has, they are in a segment by now.  Of a flight recorder they are nowhere: its writer moves the tail
 * before it overwrites anything.
 *
 * A ring belongs to somebody else, who may cut it off, or make it as large as he likes.  So it is read into buffers and
 * never mapped, and what libsqtrace cannot have made is refused.
 */
#ifndef SQT_RING_H
#define SQT_RING_H

#include "diagnose.h"

struct sqt_ring {
    int fd;                       /* its own */
    struct sqt_identity identity; /* a copy that was checked */
    uint64_t capacity;            /* the same; 0: none is open */
    uint64_t text_offset, text_size, records_offset;
    char *text;               /* room for the text area */
    uint64_t text_taken;      /* bytes of the text area that were handed out */
    int owned;                /* when it was opened, its writer lived */
    int recorder;             /* a flight recorder's: what the tail has passed is nowhere */
    uint64_t head;            /* then: no record after it is read */
    uint64_t text_used;       /* then: valid bytes of the text area */
    struct sqt_totals totals; /* the account of losses then */
    const char *wrong;        /* why no more can be read of it: ends the message "damaged ring: ..."; NULL: more can */
};

static inline int
sqt_ring_is_open(const struct sqt_ring *ring)
{
    return ring->capacity != 0;
}

/* Returns 0, or -1 after a report; then it is not open.  fd stays the caller's. */
int sqt_ring_open(struct sqt_ring *ring, int fd, const char *name, struct sqt_diagnostics *diagnostics);
void sqt_ring_close(struct sqt_ring *ring);

/* Takes the head and the account of losses as they are now, for a reader that follows the writer.  Returns 0, or -1 with
 * ring->wrong if they make no sense; then those from before stay. */
int sqt_ring_refresh(struct sqt_ring *ring);

/* Copies up to room records from number `from`, not beyond the head.  Returns how many; 0 with *tail > from if some
 * are in segments now, 0 with *tail <= from at the head, or if ring->wrong is set now. */
size_t sqt_ring_copy(struct sqt_ring *ring, uint64_t from, size_t room, struct sqt_record *records, uint64_t *tail);

/* The lines of the text area that were not handed out yet, as of the head.  Valid until the next call.  If they cannot be
 * read, ring->wrong is set. */
const char *sqt_ring_text(struct sqt_ring *ring, size_t *size);

/* The header as its writer would leave it if it were killed now, all records before `tail` being in segments, and with
 * text_used bytes of text.  Returns 0, or -1 with errno. */
int sqt_ring_header_left(const struct sqt_ring *ring, uint64_t tail, uint64_t text_used,
                         struct sqt_ring_header *header);

/* Where the areas end: the least size of its file. */
uint64_t sqt_ring_size(const struct sqt_ring *ring);

/* The anchor of the last block; 0 if there is none that makes sense. */
int sqt_ring_anchor(const struct sqt_ring *ring, struct sqt_anchor *anchor);

/* CLOCK_MONOTONIC, ns, of when the flusher looked at the ring last; 0 if that cannot be read. */
uint64_t sqt_ring_heartbeat(const struct sqt_ring *ring);

/* The ACL that its main thread checks now (definition); 0: none, or not known. */
uint32_t sqt_ring_acl(const struct sqt_ring *ring);

#endif
