/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep-internal.h - the bound on closed segments.
 */
#ifndef SQT_KEEP_INTERNAL_H
#define SQT_KEEP_INTERNAL_H

#include "trace/leftover/leftover-internal.h"

/* Whose segments: of the leftovers' directory, service and owner. */
struct sqt_keep {
    struct sqt_leftovers *leftovers; /* their base is that of this run */
    uint32_t kid;
    uint64_t open;  /* sequence of this run's segment that is being written; UINT64_MAX: none */
    uint64_t bytes; /* bound; 0: none */
};

/* Deletes the oldest closed segments of the service and kid, earlier runs included, until the others fit the bound.
 * Older is what has the lower run number, and within a run the lower sequence; runs without a number are the oldest,
 * by their names.  This run is the newest.  Segments of another run whose process lives are left alone, and so are
 * those of other owners.  What cannot be deleted still counts, and one line says so.  Returns how many were deleted. */
unsigned sqt_keep_apply(const struct sqt_keep *keep);

#endif
