/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock-internal.h - which clock stamps the records, and how it lies to the system's clocks.
 */
#ifndef SQT_CLOCK_INTERNAL_H
#define SQT_CLOCK_INTERNAL_H

#include "sqtrace.h"

/* The cheapest clock that can be trusted: the TSC if it is invariant, the kernel keeps time with it and 1,000
 * readings cost less than 50 ns each; else CLOCK_MONOTONIC.  Returns enum sqt_clock. */
uint32_t sqt_clock_pick(void);

/* Whether a kernel that keeps time with the clocksource of that name vouches for the TSC. */
int sqt_clock_source_is_tsc(const char *clocksource);

/* Ticks of the clock in a second, measured for about 20 ms. */
uint64_t sqt_clock_calibrate(uint32_t clock);

/* The present moment on three clocks: the tightest of several bracketed readings.  offset: what is added to the
 * ticks, because the clock went back. */
struct sqt_anchor sqt_clock_anchor(uint32_t clock, uint64_t offset);

/* One moment on all clocks, without an offset; good to about 20 us, which is enough to notice a step. */
struct sqt_moment {
    uint64_t ticks;
    uint64_t monotonic_ns, boottime_ns, realtime_ns;
};
struct sqt_moment sqt_clock_moment(uint32_t clock);

uint64_t sqt_monotonic_ns(void);

/* How fast ticks go, learnt from one anchor to the next. */
struct sqt_clock_rate {
    struct sqt_anchor last;
    double ns_per_tick;
    unsigned suspects; /* in a row */
};

/* Begins with the nominal rate. */
void sqt_clock_rate_init(struct sqt_clock_rate *rate, const struct sqt_anchor *start, uint64_t ticks_per_second);

/* Whether the anchors disagree with the rate by more than 50 us.  Those that agree make the rate better; after several
 * in a row that do not, theirs is believed. */
int sqt_clock_suspect(struct sqt_clock_rate *rate, const struct sqt_anchor *from, const struct sqt_anchor *to);

#endif
