/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock.c - see clock-internal.h.
 */
#define _GNU_SOURCE
#include "clock-internal.h"

#include <time.h>

#define CALIBRATION_NS 20000000L
#define BRACKETS 16
#define MOMENT_NS 20000 /* readings that took no longer are of one moment */
#define TOLERANCE_NS 50000.0
#define SUSPECTS 3 /* in a row, after which it is the rate that is doubted */

static uint64_t
read_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

uint64_t
sqt_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

struct sqt_anchor
sqt_clock_anchor(uint32_t clock, uint64_t offset)
{
    struct sqt_anchor anchor = {0, 0, 0};
    uint64_t tightest = UINT64_MAX;
    for (unsigned i = 0; i < BRACKETS; ++i) {
        const uint64_t before = sqt_read_clock(clock);
        const uint64_t monotonic = read_ns(CLOCK_MONOTONIC);
        const uint64_t after = sqt_read_clock(clock);
        if (after - before < tightest) {
            tightest = after - before;
            anchor.ticks = before + (after - before) / 2;
            anchor.monotonic_ns = monotonic;
        }
    }
    if (clock == SQT_CLOCK_MONOTONIC)
        anchor.ticks = anchor.monotonic_ns;
    anchor.ticks += offset;

    tightest = UINT64_MAX;
    for (unsigned i = 0; i < BRACKETS; ++i) {
        const uint64_t before = read_ns(CLOCK_MONOTONIC);
        const uint64_t realtime = read_ns(CLOCK_REALTIME);
        const uint64_t after = read_ns(CLOCK_MONOTONIC);
        if (after - before < tightest) {
            tightest = after - before;
            anchor.realtime_ns = anchor.monotonic_ns + (realtime - before - (after - before) / 2);
        }
    }
    if (clock == SQT_CLOCK_MONOTONIC)
        anchor.monotonic_ns = anchor.ticks; /* it is the trace's clock, and never goes back */
    return anchor;
}

struct sqt_moment
sqt_clock_moment(uint32_t clock)
{
    struct sqt_moment best = {0, 0, 0, 0};
    uint64_t tightest = UINT64_MAX;
    for (unsigned i = 0; i < BRACKETS && tightest > MOMENT_NS; ++i) {
        const uint64_t before = read_ns(CLOCK_MONOTONIC);
        const struct sqt_moment m = {sqt_read_clock(clock), before, read_ns(CLOCK_BOOTTIME), read_ns(CLOCK_REALTIME)};
        const uint64_t took = read_ns(CLOCK_MONOTONIC) - before;
        if (took < tightest) {
            tightest = took;
            best = m;
        }
    }
    if (clock == SQT_CLOCK_MONOTONIC)
        best.ticks = best.monotonic_ns;
    return best;
}

uint64_t
sqt_clock_calibrate(uint32_t clock)
{
    if (clock != SQT_CLOCK_TSC)
        return UINT64_C(1000000000);
    const struct timespec pause = {0, CALIBRATION_NS};
    const struct sqt_anchor from = sqt_clock_anchor(clock, 0);
    nanosleep(&pause, NULL);
    const struct sqt_anchor to = sqt_clock_anchor(clock, 0);
    return (uint64_t)((double)(to.ticks - from.ticks) * 1e9 / (double)(to.monotonic_ns - from.monotonic_ns) + 0.5);
}

void
sqt_clock_rate_init(struct sqt_clock_rate *rate, const struct sqt_anchor *start, uint64_t ticks_per_second)
{
    rate->last = *start;
    rate->suspects = 0;
    rate->ns_per_tick = 1e9 / (double)ticks_per_second;
}

int
sqt_clock_suspect(struct sqt_clock_rate *rate, const struct sqt_anchor *from, const struct sqt_anchor *to)
{
    const double elapsed_ns = (double)(int64_t)(to->monotonic_ns - from->monotonic_ns);
    const double ticks = (double)(int64_t)(to->ticks - from->ticks);
    const double off = elapsed_ns - ticks * rate->ns_per_tick;
    if (off > TOLERANCE_NS || off < -TOLERANCE_NS) {
        /* A jump, from which the rate has nothing to learn; or the rate itself is wrong, if this goes on. */
        if (++rate->suspects >= SUSPECTS && elapsed_ns > 0 && ticks > 0)
            rate->ns_per_tick = elapsed_ns / ticks;
        rate->last = *to;
        return 1;
    }
    rate->suspects = 0;
    /* The kernel steers CLOCK_MONOTONIC by up to 500 ppm; follow it over stretches of a second and more, where the
     * error of an anchor is small. */
    const double since_ns = (double)(int64_t)(to->monotonic_ns - rate->last.monotonic_ns);
    if (since_ns >= 1e9) {
        rate->ns_per_tick = since_ns / (double)(int64_t)(to->ticks - rate->last.ticks);
        rate->last = *to;
    }
    return 0;
}
