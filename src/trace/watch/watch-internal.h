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
 *
 * The flusher sleeps while nothing happens.  Two timers end its sleep (nap-internal.h):
 * - one follows the processor time of the main thread: each 10 ms of it are sampled once (SQT_LOOP_BY_PROCESSOR);
 * - the other is set by the main thread, when a pass begins that serves descriptors, because the flusher asked for it.
 *   If the main thread is blocked 20 ms later, or has no processor, that is sampled, and again each 10 ms while the pass
 *   lasts.  If not, the flusher asks again and sleeps.
 * Without timers it looks each 10 ms while the main thread works, and each 25 ms else.
 */
#ifndef SQT_WATCH_INTERNAL_H
#define SQT_WATCH_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "trace/clock/heartbeat-internal.h"
#include "trace/clock/nap-internal.h"
#include "trace/sqtrace.h"

#define SQT_WATCH_WAITING 1024                 /* samples: 10 s of one activity */
#define SQT_WATCH_BUSY_NS UINT64_C(10000000)   /* between samples while the main thread is busy */
#define SQT_WATCH_PASS_NS UINT64_C(20000000)   /* after a pass began, it is looked at */
#define SQT_WATCH_IDLE_NS UINT64_C(1000000000) /* the longest stretch without a sample */

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
    uint64_t since_ns;          /* for how long a sample stands; 0: for nothing, it only tells what grew */
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

    /* shared, without a lock */
    uint32_t asked; /* 1: the next pass that serves descriptors is to be looked at */
    uint64_t armed; /* ticks: when the last one began for which the main thread set the timer */

    /* the thread's own */
    struct sqt_nap *nap; /* the flusher's; also the main thread's, to set its timer.  NULL: none */
    double ns_per_tick;
    int queue_fd, self_fd, call_fd, state_fd; /* of /proc; -1: not open */
    int began;                                /* the rest is known */
    struct sqt_accounts before;
    uint64_t before_ticks, before_ns;
    uint64_t asked_self_ns;         /* how long the flusher had waited for a processor when that was asked last */
    uint64_t looked_ns, looked_ran; /* when the main thread was looked at last, sampled or not */
    uint64_t sampled_ran;           /* processor time that samples by it tell of */
    int busy;                       /* look again soon, if there are no timers */
    uint64_t throttled_ns;          /* CLOCK_MONOTONIC of when the control groups were read */
    int throttled_known;
};

/* Called by the main thread, before the flusher starts. */
void sqt_watch_init(struct sqt_watch *watch, const char *root, uint32_t clock);

/* ---- the flusher's thread ---- */

/* What the loop does, by loop-internal.h. */
struct sqt_watch_pass {
    int works;      /* it is in the work of a pass */
    uint64_t began; /* then: since when, ticks */
};

/* Asks the main thread to set the timer.  To be called before a sleep, and before it is seen what the loop does. */
void sqt_watch_ask(struct sqt_watch *watch, int on);

/* How long to sleep at most, if the flusher has no reason to wake earlier than in ns. */
uint64_t sqt_watch_pace(const struct sqt_watch *watch, const struct sqt_watch_pass *pass, uint64_t ns);

/* The begin of the pass for which the timer was set last.  Returns whether there was one. */
int sqt_watch_armed(const struct sqt_watch *watch, struct sqt_beat *beat);

/* Looks at the main thread, if group loop is on.  heart: of the wait that ended just now. */
void sqt_watch_look(struct sqt_watch *watch, int on, const struct sqt_watch_pass *pass,
                    const struct sqt_heartbeat *heart);
void sqt_watch_close(struct sqt_watch *watch);

/* watch-read.c: opens the files that are read again and again, unless they are open.  What is in a missing file is not
 * known. */
void sqt_watch_open(struct sqt_watch *watch);
/* Processor time of the main thread, ns; 0: not known. */
uint64_t sqt_watch_ran(const struct sqt_watch *watch);
/* Fills in queued and self.  Returns whether the wait for a processor is known. */
int sqt_watch_accounts(struct sqt_watch *watch, struct sqt_accounts *accounts);
/* How long the flusher's thread waited for a processor since the last such call; 0: not known. */
uint64_t sqt_watch_queued_ns(struct sqt_watch *watch);
/* The call in which the main thread is blocked, and 1; 0: none, or not known.  runs: whether it is on a processor or waits
 * for one. */
uint32_t sqt_watch_call(struct sqt_watch *watch, int *runs);
/* Time for which the control groups of the process were throttled.  Returns whether that is known. */
int sqt_watch_throttled(const struct sqt_watch *watch, uint64_t *ns);
/* The name of a call. */
const char *sqt_watch_call_name(uint32_t call, char text[32]);

/* ---- the main thread ---- */

/* That of the present trace; NULL: none. */
extern struct sqt_watch *sqt_watched __attribute__((visibility("hidden")));

/* Whether a pass that begins is to be looked at. */
static inline int
sqt_watch_is_asked(void)
{
    return sqt_watched && __atomic_load_n(&sqt_watched->asked, __ATOMIC_ACQUIRE);
}

/* A pass that serves descriptors began at that time. */
void sqt_watch_pass_begins(uint64_t ticks);

/* What was sampled is told from now on; NULL: not. */
void sqt_watch_use(struct sqt_watch *watch);

/* An activity of that name is over: tells what was sampled in it.  Call if sqt_has_sample(). */
void sqt_watch_tell(const char *activity);

#endif
