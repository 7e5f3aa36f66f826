/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * watch-internal.h - whether the main thread computes, is blocked in a call, or does not run: seen by the flusher's thread.
 *
 *     flusher:      the kernel's accounts of the main thread  ->  waiting[]
 *     main thread:  ACL, disk call or log write ends              part of what was sampled in it
 *                   activity ends                                 activity, and  ->  ring
 *
 * So the flusher never looks at names or objects of Squid, and the main thread pays one test of sqt_sample_waits where
 * something begins or ends.  A sample holds the differences to the sample before it; the reader divides.
 */
#ifndef SQT_WATCH_INTERNAL_H
#define SQT_WATCH_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "trace/clock/heartbeat-internal.h"
#include "trace/sqtrace.h"

#define SQT_WATCH_WAITING 1024                 /* samples: 10 s of one activity */
#define SQT_WATCH_BUSY_NS UINT64_C(10000000)   /* between samples while the main thread is busy */
#define SQT_WATCH_IDLE_NS UINT64_C(1000000000) /* the longest stretch that an idle main thread is not told of */

/* The kernel's accounts, as counters in ns. */
struct sqt_accounts {
    uint64_t ran;       /* processor time of the main thread */
    uint64_t queued;    /* how long it waited for a processor */
    uint64_t self;      /* how long the flusher's thread did */
    uint64_t throttled; /* how long the control groups were */
};

/* A sample of the main thread. */
struct sqt_look {
    uint64_t from, at;          /* ticks: of the sample before it, and of this one */
    struct sqt_accounts amount; /* from..at; self: stopped for at least that long */
    uint64_t since_ns;          /* since the main thread was looked at before, told or not */
    uint32_t flags;             /* SQT_LOOP_IN_WAIT and so on */
    uint32_t call;              /* system call that it was blocked in, and 1; 0: none, or not known */

    /* by the main thread */
    int tagged;
    uint32_t activity; /* definition; UINT32_MAX: that of the whole */
    uint32_t acl;      /* definition; 0: none */
    uint32_t op, dir;  /* enum sqt_disk_op; UINT32_MAX: none */
};

struct sqt_watch {
    /* unchanged while the thread runs */
    const char *root; /* what stands before /proc and /sys: tests plant files */
    uint32_t clock;
    pid_t main_thread;
    clockid_t main_clock;
    int main_clock_known;

    /* shared, under the mutex */
    pthread_mutex_t mutex;
    struct sqt_look waiting[SQT_WATCH_WAITING];
    unsigned count;

    /* the thread's own */
    int queue_fd, self_fd, call_fd, state_fd; /* of /proc; -1: not open */
    int began;                                /* the rest is known */
    struct sqt_accounts before;
    uint64_t before_ticks, before_ns, looked_ns, looked_self_ns;
    int worked;            /* what was told last was no idle wait */
    int busy;              /* look again soon */
    uint64_t throttled_ns; /* CLOCK_MONOTONIC of when the control groups were read */
    int throttled_known;
};

/* Called by the main thread, before the flusher starts. */
void sqt_watch_init(struct sqt_watch *watch, const char *root, uint32_t clock);

/* ---- the flusher's thread ---- */

/* How long to wait before the next look, if the flusher has no reason to look earlier than ns. */
uint64_t sqt_watch_pace(const struct sqt_watch *watch, uint64_t ns);

/* Looks at the main thread, if group loop is on.  waits: whether it waits for descriptors.  heart: of the wait that ended
 * just now. */
void sqt_watch_look(struct sqt_watch *watch, int on, int waits, const struct sqt_heartbeat *heart);
void sqt_watch_close(struct sqt_watch *watch);

/* watch-read.c: opens what is read again and again; what is not there is not known. */
void sqt_watch_open(struct sqt_watch *watch);
/* Fills in all but throttled.  Returns whether the wait for a processor is known. */
int sqt_watch_accounts(struct sqt_watch *watch, struct sqt_accounts *accounts);
/* How long the flusher's thread waited for a processor since the last look; 0: not known. */
uint64_t sqt_watch_queued_ns(const struct sqt_watch *watch);
/* The call in which the main thread is blocked, and 1; 0: none, or not known.  runs: whether it is on a processor or waits
 * for one. */
uint32_t sqt_watch_call(struct sqt_watch *watch, int *runs);
/* Time for which the control groups of the process were throttled.  Returns whether that is known. */
int sqt_watch_throttled(const struct sqt_watch *watch, uint64_t *ns);
/* The name of a call. */
const char *sqt_watch_call_name(uint32_t call, char text[32]);

/* ---- the main thread ---- */

/* What was sampled is told from now on; NULL: not. */
void sqt_watch_use(struct sqt_watch *watch);

/* An activity of that name is over: tells what was sampled in it.  Call if sqt_has_sample(). */
void sqt_watch_tell(const char *activity);

#endif
