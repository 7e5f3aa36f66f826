/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nap.c - see nap-internal.h.
 *
 * No wake-up is lost: the sleeper stores its state and then looks for work, and the waker stores the work and then looks
 * at the state, with a full barrier between the two on either side.  So at least one of them sees what the other stored.
 */
#define _GNU_SOURCE /* tgkill */
#include "nap-internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* One that Squid and its libraries have no use for.  A run-time signal is not merged with others of its number. */
#define NAP_SIGNAL (SIGRTMAX - 2)

/* ---- the flusher's thread ---- */

static int
nap_make_timer(const struct sqt_nap *nap, clockid_t clock, timer_t *timer)
{
    struct sigevent event;
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = nap->signal;
    event.sigev_notify_thread_id = nap->thread;
    return timer_create(clock, &event, timer);
}

static int
nap_set_timer(timer_t timer, uint64_t first_ns, uint64_t period_ns)
{
    const struct itimerspec when = {.it_value = sqt_timespec(first_ns), .it_interval = sqt_timespec(period_ns)};
    return timer_settime(timer, 0, &when, NULL);
}

void
sqt_nap_open(struct sqt_nap *nap, clockid_t main_clock, int known, uint64_t period_ns)
{
    sigset_t set;
    nap->process = getpid();
    nap->thread = gettid();
    nap->signal = NAP_SIGNAL;
    nap->has_timers = 0;
    sigemptyset(&set);
    sigaddset(&set, nap->signal);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (!known || nap_make_timer(nap, main_clock, &nap->ran) != 0)
        return;
    if (nap_make_timer(nap, CLOCK_MONOTONIC, &nap->pass) != 0) {
        timer_delete(nap->ran);
        return;
    }
    nap->has_timers = 1;
    if (nap_set_timer(nap->ran, period_ns, period_ns) != 0)
        sqt_nap_close(nap);
}

void
sqt_nap_close(struct sqt_nap *nap)
{
    if (nap->has_timers) {
        timer_delete(nap->ran);
        timer_delete(nap->pass);
    }
    nap->has_timers = 0;
}

void
sqt_nap_lie_down(struct sqt_nap *nap, enum sqt_nap_state state)
{
    __atomic_store_n(&nap->state, state, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void
sqt_nap_get_up(struct sqt_nap *nap)
{
    __atomic_store_n(&nap->state, SQT_NAP_AWAKE, __ATOMIC_RELAXED);
}

void
sqt_nap_sleep(struct sqt_nap *nap, uint64_t until_ns)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, nap->signal);
    const uint64_t now = sqt_monotonic_ns();
    const struct timespec most = sqt_timespec(until_ns > now ? until_ns - now : 0);
    sigtimedwait(&set, NULL, &most);
    sqt_nap_get_up(nap);
}

/* ---- any thread ---- */

void
sqt_nap_end_in(struct sqt_nap *nap, uint64_t ns)
{
    if (nap->has_timers)
        nap_set_timer(nap->pass, ns, 0);
}

/* The kernel queues no more signals than RLIMIT_SIGPENDING, for all processes of a user together.  The signal of a timer
 * has its place in that queue from the start.  Without timers the thread looks by the clock. */
static void
nap_signal(struct sqt_nap *nap)
{
    if (tgkill(nap->process, nap->thread, nap->signal) != 0)
        sqt_nap_end_in(nap, 1);
}

static void
nap_wake(struct sqt_nap *nap, uint32_t from)
{
    const int saved = errno;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&nap->state, __ATOMIC_RELAXED) == from &&
        __atomic_compare_exchange_n(&nap->state, &from, SQT_NAP_AWAKE, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        nap_signal(nap);
    errno = saved; /* Squid's */
}

void
sqt_nap_work(struct sqt_nap *nap)
{
    nap_wake(nap, SQT_NAP_FOR_WORK);
}

void
sqt_nap_order(struct sqt_nap *nap)
{
    nap_wake(nap, SQT_NAP_FOR_WORK);
    nap_wake(nap, SQT_NAP_FOR_ORDERS);
}
