/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * heartbeat-internal.h - whether the process runs: the flusher's thread wakes when it is due, or the process was stopped
 * or had no processor.
 *
 *     flusher:      rests        due     wakes late
 *                   |------------|.......|            ->  waiting[]
 *     main thread:  sqt_poll()                            waiting[]  ->  ring
 *
 * The flusher's wake-ups are those that it needs anyway.  It may sleep for long, so a record says when it was due, too.
 */
#ifndef SQT_HEARTBEAT_INTERNAL_H
#define SQT_HEARTBEAT_INTERNAL_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define SQT_HEARTBEAT_WAITING 64 /* more than can be late between two polls */

/* A moment of the flusher's thread. */
struct sqt_beat {
    uint64_t ns;    /* CLOCK_MONOTONIC */
    uint64_t ticks; /* of the trace's clock */
};

struct sqt_heartbeat {
    /* unchanged while the thread runs */
    uint32_t clock;
    clockid_t main_thread; /* its processor time */
    int main_thread_known;

    /* shared, under the mutex */
    pthread_mutex_t mutex;
    struct sqt_late {
        uint64_t last, due, again; /* ticks: ran last, was due, ran again; due is last if it did not sleep meanwhile */
        uint32_t main_thread;      /* as in the record */
    } waiting[SQT_HEARTBEAT_WAITING];
    unsigned count;

    /* the thread's own */
    struct sqt_beat rested, woke; /* ns: 0 before the first */
    uint64_t due_ns;              /* CLOCK_MONOTONIC */
    uint64_t main_thread_ns;      /* processor time of the main thread when the flusher rested or woke */
    uint64_t own_ns, disk_ns;     /* processor time of the thread, and what its disk had taken, when it woke */
};

/* Called by the main thread, before the flusher starts.  clock: enum sqt_clock. */
void sqt_heartbeat_init(struct sqt_heartbeat *heartbeat, uint32_t clock);

/* ---- the flusher's thread ---- */

/* It will wait for that long now.  disk_ns: what its disk has taken since it began.  queued_ns: how long it waited for a
 * processor since it woke.  Returns until when, by CLOCK_MONOTONIC. */
uint64_t sqt_heartbeat_rests(struct sqt_heartbeat *heartbeat, uint64_t ns, uint64_t disk_ns, uint64_t queued_ns);

/* It has woken, perhaps before its time.  ran: a moment at which the main thread ran and set a timer that ends the rest
 * in_ns later; NULL: there was none.  Returns whether it is late. */
int sqt_heartbeat_wakes(struct sqt_heartbeat *heartbeat, const struct sqt_beat *ran, uint64_t in_ns);

/* Then: notes that it is late, if it is.  queued_ns: how long it waited for a processor since it rested; a flusher that
 * waited for one when it was due was not stopped before. */
void sqt_heartbeat_beats(struct sqt_heartbeat *heartbeat, uint64_t disk_ns, uint64_t queued_ns);

/* ---- the main thread ---- */

/* Tells what waits, if group loop is on. */
void sqt_heartbeat_tell(struct sqt_heartbeat *heartbeat);

#endif
