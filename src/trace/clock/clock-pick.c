/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock-pick.c - which clock stamps the records; see clock-internal.h.
 */
#define _GNU_SOURCE
#include "clock-internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define READINGS 1000
#define AFFORDABLE_NS 50
#define FREQUENCY_LEAST UINT64_C(10000000)

/* ---- this machine ---- */

#if SQT_HAVE_CYCLES
static uint64_t
read_counter(void)
{
    return sqt_read_cycles();
}
#endif

#if defined(__x86_64__)
/* What Linux shows as constant_tsc and nonstop_tsc. */
static int
tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

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
#endif

void
sqt_counter_of_machine(struct sqt_counter *counter)
{
    *counter = (struct sqt_counter){.root = "", .kind = SQT_COUNTER_NONE};
#if SQT_HAVE_CYCLES
    counter->read = read_counter;
    counter->now_ns = sqt_monotonic_ns;
#endif
#if defined(__x86_64__)
    counter->kind = SQT_COUNTER_TSC;
    counter->invariant = tsc_is_invariant();
    counter->kvm_clock_is_stable = kvm_clock_is_stable();
#elif defined(__aarch64__)
    counter->kind = SQT_COUNTER_GENERIC_TIMER;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(counter->frequency));
#endif
}

/* ---- the rules ---- */

static void
kernels_clocksource(const char *root, char *name, size_t size)
{
    char path[512];
    name[0] = '\0';
    if ((size_t)snprintf(path, sizeof(path), "%s%s", root, CLOCKSOURCE) >= sizeof(path))
        return;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    const ssize_t n = read(fd, name, size - 1);
    close(fd);
    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

static int
is_trusted(const struct sqt_counter *c)
{
    char source[64];
    kernels_clocksource(c->root, source, sizeof(source));
    switch (c->kind) {
    case SQT_COUNTER_TSC:
        return c->invariant &&
               (strcmp(source, "tsc") == 0 || (strcmp(source, "kvm-clock") == 0 && c->kvm_clock_is_stable));
    case SQT_COUNTER_GENERIC_TIMER:
        return c->frequency >= FREQUENCY_LEAST && strcmp(source, "arch_sys_counter") == 0;
    case SQT_COUNTER_NONE:
        break;
    }
    return 0;
}

static int
is_affordable(const struct sqt_counter *c)
{
    const uint64_t begin = c->now_ns();
    for (unsigned i = 0; i < READINGS; ++i)
        (void)c->read();
    return c->now_ns() - begin < (uint64_t)READINGS * AFFORDABLE_NS;
}

int
sqt_counter_is_good(const struct sqt_counter *counter)
{
    return is_trusted(counter) && is_affordable(counter);
}

static uint32_t
asked_for(void)
{
    const char *const name = secure_getenv("SQTRACE_CLOCK");
    if (!name)
        return 0;
    return strcmp(name, "tsc") == 0 || strcmp(name, "counter") == 0 ? SQT_CLOCK_TSC : SQT_CLOCK_MONOTONIC;
}

uint32_t
sqt_clock_pick(void)
{
    struct sqt_counter counter;
    const uint32_t asked = asked_for();
    sqt_counter_of_machine(&counter);
    if (counter.kind != SQT_COUNTER_NONE && asked)
        return asked;
    return sqt_counter_is_good(&counter) ? SQT_CLOCK_TSC : SQT_CLOCK_MONOTONIC;
}
