/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep-internal.h - the bound on closed segments.
 */
#ifndef SQT_KEEP_INTERNAL_H
#define SQT_KEEP_INTERNAL_H

#include <stdint.h>

/* Whose segments. */
struct sqt_keep {
    int directory;
    const char *service;
    uint32_t kid;
    const char *base;     /* of this run */
    uint64_t open;        /* sequence of this run's segment that is being written; UINT64_MAX: none */
    uint64_t bytes;       /* bound; 0: none */
};

/* Deletes the oldest closed segments of the service and kid, earlier runs included, until the others fit the bound.
 * Segments of another run that still has a ring are left alone: its process may be alive, and its leftover ring is
 * not a segment yet.  Returns how many were deleted. */
unsigned sqt_keep_apply(const struct sqt_keep *keep);

#endif
