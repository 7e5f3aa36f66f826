/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nap-internal.h - the sleep of the flusher's thread, and who ends it.
 *
 *     flusher:      asleep = 1, looks for work again, sleeps
 *     main thread:  wrote another quarter of the ring  ->  a signal, if asleep
 *                   rotates, ends                      ->  a signal, if asleep
 *                   a pass of the loop begins          ->  sets a timer of 20 ms, if the flusher asked for that
 *     kernel:       the main thread ran for 10 ms more ->  a signal
 *
 * The signal is blocked in the flusher's thread, sent to that thread alone, and taken by sigtimedwait().  So nobody's
 * handler sees it, and one that comes too early ends the next sleep.  If the kernel queues no more signals, the timer of
 * the pass wakes the flusher; without timers the flusher sleeps for some milliseconds only.
 */
#ifndef SQT_NAP_INTERNAL_H
#define SQT_NAP_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum sqt_nap_state {
    SQT_NAP_AWAKE,
    SQT_NAP_FOR_WORK,  /* whoever has work wakes it */
    SQT_NAP_FOR_ORDERS /* only a rotation and the end do: it waits for a disk */
};

struct sqt_nap {
    /* made by sqt_nap_open(), then unchanged while the thread runs */
    pid_t process, thread; /* thread 0: it does not run yet */
    int signal;
    int has_timers; /* 0: the kernel gave none, and the thread must look by the clock */
    timer_t ran, pass;

    uint32_t state; /* enum sqt_nap_state; shared */
};

/* ---- the flusher's thread ---- */

/* The calling thread is the one that sleeps.  main_clock: processor time of the main thread; each period_ns of it ends a
 * sleep.  known: whether there is such a clock. */
void sqt_nap_open(struct sqt_nap *nap, clockid_t main_clock, int known, uint64_t period_ns);
void sqt_nap_close(struct sqt_nap *nap);

/* From here on, whoever wakes it is heard.  To be called before the last look for work. */
void sqt_nap_lie_down(struct sqt_nap *nap, enum sqt_nap_state state);

/* Sleeps until CLOCK_MONOTONIC is until_ns at most, and gets up. */
void sqt_nap_sleep(struct sqt_nap *nap, uint64_t until_ns);

/* Gets up without a sleep. */
void sqt_nap_get_up(struct sqt_nap *nap);

/* ---- any thread ---- */

/* There is work: what is to be seen must be stored already. */
void sqt_nap_work(struct sqt_nap *nap);

/* There is an order. */
void sqt_nap_order(struct sqt_nap *nap);

/* Ends a sleep in that many ns. */
void sqt_nap_end_in(struct sqt_nap *nap, uint64_t ns);

#endif
