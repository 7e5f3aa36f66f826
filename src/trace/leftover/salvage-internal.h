/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * salvage-internal.h - a dead process's ring as a segment.
 */
#ifndef SQT_SALVAGE_INTERNAL_H
#define SQT_SALVAGE_INTERNAL_H

#include "trace/ring/ring-internal.h"
#include "trace/segment/segment-internal.h"

/* Where a run's segments belong. */
struct sqt_trace_place {
    int directory;
    uid_t owner;
    const char *base; /* of the run */
};

/* Writes the records of a ring whose writer is dead, and which the caller has locked, to the next segment of its run.
 * Records that the dead process's last segment holds already are left out, and a torn frame at that segment's end is
 * cut off.  The new segment ends with the ring's account, and is made for that alone if there is nothing else.  Returns
 * 0 and how many records were written, or -1 with errno and nothing changed; ENODATA: the ring's file got shorter. */
int sqt_salvage(const struct sqt_dead_ring *ring, const struct sqt_trace_place *place, uint64_t *records);

/* ---- for salvage-recorder.c ---- */

/* Writes blocks of the records first..end between two anchors.  Returns 0, or -1 with errno. */
int sqt_salvage_blocks(struct sqt_segment_writer *writer, const struct sqt_dead_ring *ring, uint64_t first,
                       uint64_t end, const struct sqt_anchor *from, const struct sqt_anchor *to, unsigned flags);

/* The anchor at which the ring ends, by the rate up to `from`.  Returns 0, or -1 with errno. */
int sqt_salvage_end(const struct sqt_dead_ring *ring, const struct sqt_anchor *from, struct sqt_anchor *to);

/* Writes blocks of the records of a flight recorder from number `first` on, whose ANCHOR records say what the clocks said.
 * Returns 0, or -1 with errno. */
int sqt_salvage_recorded(struct sqt_segment_writer *writer, const struct sqt_dead_ring *ring, uint64_t first);

#endif
