/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loop.c - what the event loop does, see sqtrace.h.
 */
#include "emit-internal.h"

struct sqt_loop_watch sqt_loop;

void
sqt_loop_begins(void)
{
    sqt_loop.last = sqt_emitter.last;
    sqt_loop.longest.name = NULL;
    sqt_loop.longest.took = 0;
}

static inline void
ends_at(const char *name, uint64_t now)
{
    const uint64_t took = now - sqt_loop.last;
    if (took > sqt_loop.longest.took) {
        sqt_loop.longest.name = name;
        sqt_loop.longest.begin = sqt_loop.last;
        sqt_loop.longest.took = took;
    }
    sqt_loop.last = now;
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
#if defined(__x86_64__)
    if (sqt_clock == SQT_CLOCK_TSC) {
        ends_at(name, __rdtsc());
        return;
    }
#endif
    ends_by_another_clock(name);
}
