/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock.h - ticks to nanoseconds, and the time now.
 */
#ifndef SQT_CLOCK_H
#define SQT_CLOCK_H

#include <time.h>

#include "read/stream.h"

/* Larger times are damage: 9 years since a boot, the year 2116. */
#define SQT_MONOTONIC_MAX (UINT64_C(1) << 58)
#define SQT_REALTIME_MAX (UINT64_C(1) << 62)
/* No process may write longer than 73 years after the first: so times lie between -2^59 and 2^62, and neither their
 * differences nor sums of two of those overflow. */
#define SQT_LATER_MAX (INT64_C(1) << 61)
/* And larger readings of the trace's clock: differences of two below it have the right sign. */
#define SQT_TICKS_MAX (UINT64_C(1) << 63)

/* CLOCK_MONOTONIC now, in ns.  Any thread. */
static inline int64_t
sqt_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Whether the rate and the start of a writer's clock can be true. */
int sqt_clock_makes_sense(const struct sqt_identity *identity);

/* Whether the clock stepped between a block's anchors, which then stand in reverse order. */
static inline int
sqt_clock_stepped(const struct sqt_anchor *from, const struct sqt_anchor *to)
{
    return to->monotonic_ns < from->monotonic_ns;
}

/* The line through a block's anchors, or with the nominal rate when they are close to each other or do not agree
 * with it at all; around a step the line through both, however flat.  offset_ns turns the monotonic clock of the machine's boot into the stream's time.
 * Returns -1 if the anchors and times cannot be true. */
int sqt_clock_line(const struct sqt_identity *identity, const struct sqt_anchor *from, const struct sqt_anchor *to,
                   uint64_t time_first, uint64_t time_last, int64_t offset_ns, struct sqt_line *line);

#endif
