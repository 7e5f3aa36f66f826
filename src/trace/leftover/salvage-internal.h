/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * salvage-internal.h - a dead process's ring as a segment.
 */
#ifndef SQT_SALVAGE_INTERNAL_H
#define SQT_SALVAGE_INTERNAL_H

#include "trace/ring/ring-internal.h"

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

#endif
