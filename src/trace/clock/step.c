/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * step.c - see step-internal.h.
 */
#include "step-internal.h"

#define STEP_NS 2000000.0
#define STEP_SHARE 0.001

void
sqt_clock_watch_init(struct sqt_clock_watch *w, uint32_t clock, const struct sqt_moment *now)
{
    w->clock = clock;
    w->offset = 0;
    w->last = *now;
}

static double
step_between(uint64_t from, uint64_t to)
{
    return (double)(int64_t)(to - from);
}

/* The step of the trace's clock or of the machine, if there was one. */
static uint32_t
step_kind_of(double ticks_off, double suspended, double slack)
{
    if (suspended > slack)
        return SQT_STEP_SUSPEND; /* whatever the counter did meanwhile: it may stop, go on or begin anew */
    return ticks_off < -slack ? SQT_STEP_BACK : ticks_off > slack ? SQT_STEP_FORWARD : 0;
}

unsigned
sqt_clock_watch_look(struct sqt_clock_watch *w, const struct sqt_moment *now, double ns_per_tick,
                     struct sqt_step steps[SQT_STEPS_AT_ONCE])
{
    const double boottime = step_between(w->last.boottime_ns, now->boottime_ns);
    const double monotonic = step_between(w->last.monotonic_ns, now->monotonic_ns);
    /* A CLOCK_MONOTONIC that goes back, which no kernel should have, says nothing of how long it was. */
    const double elapsed = monotonic >= 0 ? monotonic : boottime > 0 ? boottime : 0;
    const double slack = STEP_NS + STEP_SHARE * (elapsed > boottime ? elapsed : boottime);
    const double ticks = step_between(w->last.ticks, now->ticks) * ns_per_tick;
    const double suspended = boottime - elapsed;
    const double wall = step_between(w->last.realtime_ns, now->realtime_ns) - boottime;
    const uint64_t from = w->last.ticks + w->offset;
    unsigned count = 0;

    const uint32_t kind = step_kind_of(ticks - elapsed, suspended, slack);
    if (kind) {
        const double size = kind == SQT_STEP_SUSPEND ? suspended : ticks - elapsed;
        if (ticks - elapsed < -slack)
            w->offset += (uint64_t)((elapsed - ticks) / ns_per_tick);
        steps[count++] = (struct sqt_step){kind, (uint64_t)(size < 0 ? -size : size), from, w->offset};
    }
    if (wall > slack || wall < -slack)
        steps[count++] = (struct sqt_step){wall < 0 ? SQT_STEP_WALL_BACK : SQT_STEP_WALL_FORWARD,
                                           (uint64_t)(wall < 0 ? -wall : wall), from, w->offset};
    w->last = *now;
    return count;
}
