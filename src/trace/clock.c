/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock.c - see clock-internal.h.
 */
#define _GNU_SOURCE
#include "clock-internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define READINGS 1000
#define AFFORDABLE_NS 50
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

#if defined(__x86_64__)
/* The processor's word that the TSC ticks at one rate in all power states: what Linux shows as constant_tsc and
 * nonstop_tsc. */
static int
tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Whether the hypervisor says that kvm-clock is a straight function of the TSC, the same on all processors. */
static int
kvm_clock_is_stable(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 31)))
        return 0;
    __cpuid(0x40000000, a, b, c, d);
    if (b != 0x4b4d564b || c != 0x564b4d56 || d != 0x4d) /* "KVMKVMKVM" */
        return 0;
    __cpuid(0x40000001, a, b, c, d);
    return (a & (1u << 24)) != 0;
}

int
sqt_clock_source_is_tsc(const char *clocksource)
{
    return strcmp(clocksource, "tsc") == 0 || (strcmp(clocksource, "kvm-clock") == 0 && kvm_clock_is_stable());
}

static int
tsc_is_affordable(void)
{
    const uint64_t begin = sqt_monotonic_ns();
    for (unsigned i = 0; i < READINGS; ++i)
        (void)*(volatile uint64_t *)&(uint64_t){sqt_read_clock(SQT_CLOCK_TSC)};
    return sqt_monotonic_ns() - begin < (uint64_t)READINGS * AFFORDABLE_NS;
}

static int
kernel_trusts_tsc(void)
{
    char name[64];
    const int fd = open(CLOCKSOURCE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t n = read(fd, name, sizeof(name) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    name[n] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return sqt_clock_source_is_tsc(name);
}

/* What SQTRACE_CLOCK asks for, which is for tests and benchmarks: an instrument may read the TSC slowly. */
static uint32_t
asked_for(void)
{
    const char *const name = secure_getenv("SQTRACE_CLOCK");
    return !name ? 0 : strcmp(name, "tsc") == 0 ? SQT_CLOCK_TSC : SQT_CLOCK_MONOTONIC;
}

uint32_t
sqt_clock_pick(void)
{
    const uint32_t asked = asked_for();
    if (asked)
        return asked;
    if (tsc_is_invariant() && kernel_trusts_tsc() && tsc_is_affordable())
        return SQT_CLOCK_TSC;
    return SQT_CLOCK_MONOTONIC;
}
#else
int
sqt_clock_source_is_tsc(const char *clocksource)
{
    (void)clocksource;
    return 0;
}

uint32_t
sqt_clock_pick(void)
{
    return SQT_CLOCK_MONOTONIC;
}
#endif

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
