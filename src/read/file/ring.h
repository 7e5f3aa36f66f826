/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring.h - a live or left-over ring, read without writing to it.
 *
 * The writer may overwrite a record only once the tail has passed it, and the tail passes it only once it is in a
 * segment.  So records are copied first and the tail is read after: if it has not passed the first of them, the copy
 * is whole; if it has, they are in a segment by now.
 */
#ifndef SQT_RING_H
#define SQT_RING_H

#include "diagnose.h"

struct sqt_ring {
    const uint8_t *map;
    size_t size;
    struct sqt_identity identity; /* a copy that was checked */
    uint64_t capacity;            /* the same */
    uint64_t text_offset, text_size, records_offset;
    uint64_t text_taken;      /* bytes of the text area that were handed out */
    int owned;                /* when it was opened, its writer lived */
    uint64_t head;            /* then: no record after it is read */
    struct sqt_totals totals; /* the account of losses then */
};

/* Returns 0, or -1 after a report.  fd stays the caller's. */
int sqt_ring_open(struct sqt_ring *ring, int fd, const char *name, struct sqt_diagnostics *diagnostics);
void sqt_ring_close(struct sqt_ring *ring);

/* Takes the head and the account of losses as they are now, for a reader that follows the writer.  Returns 0, or -1 if
 * they make no sense; then those from before stay. */
int sqt_ring_refresh(struct sqt_ring *ring);

/* Copies up to room records from number `from`, not beyond the head.  Returns how many; 0 with *tail > from if some
 * are in segments now, 0 with *tail <= from at the head. */
size_t sqt_ring_copy(const struct sqt_ring *ring, uint64_t from, size_t room, struct sqt_record *records,
                     uint64_t *tail);

/* The lines of the text area that were not handed out yet. */
const char *sqt_ring_text(struct sqt_ring *ring, size_t *size);

/* The anchor of the last block; 0 if there is none that makes sense. */
int sqt_ring_anchor(const struct sqt_ring *ring, struct sqt_anchor *anchor);

/* CLOCK_MONOTONIC, ns, of when the flusher looked at the ring last. */
uint64_t sqt_ring_heartbeat(const struct sqt_ring *ring);

#endif
