/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * step-internal.h - steps of clocks: noticed by the flusher, told by the main thread.
 *
 *     flusher:      readings of all clocks  ->  steps[]            at every look at the ring
 *     main thread:  the next event              steps[]  ->  ring  a CLOCK_STEP record
 *
 * The trace's time never goes back.  Once the clock has, an offset is added to each of its readings, so that time goes on
 * as if the clock had kept its rate.
 */
#ifndef SQT_STEP_INTERNAL_H
#define SQT_STEP_INTERNAL_H

#include "clock-internal.h"

#define SQT_STEPS_PENDING 8

struct sqt_step {
    uint32_t kind; /* enum sqt_step_kind */
    uint64_t size_ns;
    uint64_t from;   /* ticks with the offset of then: the last moment that is known to be before it */
    uint64_t offset; /* ticks to be added to readings from now on */
};

/* Steps that wait to be told.  One thread adds, the other takes. */
struct sqt_steps {
    struct sqt_step steps[SQT_STEPS_PENDING];
    uint32_t added; /* the flusher's */
    uint32_t taken; /* the main thread's */
};

/* What the flusher knows of the clocks. */
struct sqt_clock_watch {
    uint32_t clock;
    uint64_t offset;        /* ticks that are added to readings */
    struct sqt_moment last; /* without the offset */
};

#define SQT_STEPS_AT_ONCE 2

void sqt_clock_watch_init(struct sqt_clock_watch *watch, uint32_t clock, const struct sqt_moment *now);

/* Compares the clocks with the last look.  A difference counts as a step from 2 ms on, and 0.1 % of the time between the
 * looks more: a rate that is a little off is none.  Returns how many steps there were, those that hide durations first. */
unsigned sqt_clock_watch_look(struct sqt_clock_watch *watch, const struct sqt_moment *now, double ns_per_tick,
                              struct sqt_step steps[SQT_STEPS_AT_ONCE]);

#endif
