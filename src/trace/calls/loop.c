/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loop.c - what the event loop does, see sqtrace.h.
 *
 * A pass is told by three records and two readings of the clock, and by one more for each activity but the last.
 */
#include "calls-internal.h"
#include "trace/ring/emit-internal.h"
#include "loop-internal.h"
#include "trace/watch/watch-internal.h"

/* What Squid does between the last activity of a pass and the wait. */
static const char REST[] = "event loop";

/* The pass so far. */
static struct {
    uint64_t last;  /* ticks: end of the wait, or of the latest activity */
    uint64_t began; /* ticks: end of the wait */
    struct {
        const char *name; /* NULL between the passes, and while they are not traced */
        uint64_t begin;   /* ticks */
        int64_t took;     /* ticks */
    } longest;
} pass __attribute__((aligned(64))) = {.longest.took = INT64_MAX};

/* The flusher's thread looks whether there is a name. */
static inline void
set_longest(const char *name)
{
    __atomic_store_n(&pass.longest.name, name, __ATOMIC_RELAXED);
}

int
sqt_loop_is_working(uint64_t *began)
{
    if (began)
        *began = __atomic_load_n(&pass.began, __ATOMIC_RELAXED);
    return __atomic_load_n(&pass.longest.name, __ATOMIC_ACQUIRE) != NULL;
}

/* An activity of that name began at pass.last and ends now.  The clock of another core may be a little behind. */
static inline void
ends_at(const char *name, uint64_t now)
{
    if (sqt_has_sample())
        sqt_watch_tell(name);
    const int64_t took = (int64_t)(now - pass.last);
    if (took > pass.longest.took) {
        set_longest(name);
        pass.longest.begin = pass.last;
        pass.longest.took = took;
    }
    pass.last = now;
}

/* Apart, so that what meets a TSC saves no registers for it. */
static __attribute__((noinline, cold)) void
ends_by_another_clock(const char *name)
{
    ends_at(name, sqt_read_clock(sqt_clock));
}

void
sqt_activity_ends(const char *name)
{
#if SQT_HAVE_CYCLES
    if (sqt_clock == SQT_CLOCK_TSC) {
        ends_at(name, sqt_read_cycles());
        return;
    }
#endif
    ends_by_another_clock(name);
}

void
sqt_loop_restart(void)
{
    set_longest(NULL);
    pass.longest.took = INT64_MAX; /* nothing is longer */
}

/* sqt_loop_waits() for the group loop. */
static inline void
waits(uint64_t most)
{
    if (pass.longest.name) {
        const uint64_t now = sqt_read_clock(sqt_clock);
        ends_at(REST, now);
        const uint64_t begin = pass.longest.begin, end = begin + (uint64_t)pass.longest.took;
        sqt_emit_pair_at(now, SQT_PAIR(SQT_EV_WAIT_BEGIN, SQT_EV_PART_ACTIVITY), 0, most, 0, begin, end,
                         sqt_name(SQT_DEF_ACTIVITY, pass.longest.name));
    } else {
        sqt_emit(SQT_EV_WAIT_BEGIN, 0, most, 0);
    }
    sqt_loop_restart();
}

void
sqt_loop_waits(int msec)
{
    if (sqt_on(SQT_GROUP_SYSCALL))
        sqt_calls_tell();
    if (sqt_on(SQT_GROUP_LOOP))
        waits(msec < 0 ? UINT64_MAX : (uint64_t)msec);
}

void
sqt_loop_works(int ready)
{
    sqt_emit(SQT_EV_WAIT_END, 0, ready < 0 ? 0 : (uint64_t)ready, ready < 0);
    pass.last = pass.longest.begin = sqt_emitter.last;
    __atomic_store_n(&pass.began, sqt_emitter.last, __ATOMIC_RELAXED);
    set_longest(REST);
    pass.longest.took = 0;
    if (ready > 0 && sqt_watch_is_asked())
        sqt_watch_pass_begins(sqt_emitter.last);
}
