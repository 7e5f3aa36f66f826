/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock-internal.h - which clock stamps the records, and how it lies to the system's clocks.
 */
#ifndef SQT_CLOCK_INTERNAL_H
#define SQT_CLOCK_INTERNAL_H

#include "trace/sqtrace.h"

/* What a processor's counter must have to stamp records, and how the tests make one up. */
struct sqt_counter {
    const char *root; /* what stands before /sys: tests plant files */
    enum sqt_counter_kind { SQT_COUNTER_NONE, SQT_COUNTER_TSC, SQT_COUNTER_GENERIC_TIMER } kind;
    int invariant;            /* TSC: it ticks at one rate in all power states, says the processor */
    int kvm_clock_is_stable;  /* TSC: kvm-clock is a straight function of it, says the hypervisor */
    uint64_t frequency;       /* generic timer: ticks a second, says the firmware */
    uint64_t (*read)(void);   /* one reading, which is timed */
    uint64_t (*now_ns)(void); /* by this clock */
};

/* That of this machine. */
void sqt_counter_of_machine(struct sqt_counter *counter);

/* Whether records are stamped with it:
 * - TSC: it is invariant, and the kernel keeps time with it, or with a kvm-clock that is made of it;
 * - generic timer: the kernel keeps time with it, and it ticks at least 10 million times a second;
 * - either: 1,000 readings cost less than 50 ns each.  A counter that the kernel must emulate (errata) does not. */
int sqt_counter_is_good(const struct sqt_counter *counter);

/* The cheapest clock that can be trusted: the processor's counter if it is good, else CLOCK_MONOTONIC.  For tests and
 * benchmarks the environment's SQTRACE_CLOCK says which: counter (or tsc) or monotonic.  Returns enum sqt_clock. */
uint32_t sqt_clock_pick(void);

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

static inline struct timespec
sqt_timespec(uint64_t ns)
{
    const struct timespec ts = {(time_t)(ns / UINT64_C(1000000000)), (long)(ns % UINT64_C(1000000000))};
    return ts;
}

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
