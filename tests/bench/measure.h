/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * measure.h - what the micro-benchmarks share: clocks, percentiles, and how a figure is printed.
 *
 * A figure is a line "name<TAB>value<TAB>unit".
 */
#ifndef SQT_MEASURE_H
#define SQT_MEASURE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t
measure_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static inline uint64_t
measure_now(void)
{
    return measure_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread, ns. */
static inline uint64_t
measure_cpu(void)
{
    return measure_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void
measure_print(const char *name, double value, const char *unit)
{
    printf("%s\t%.2f\t%s\n", name, value, unit);
    fflush(stdout);
}

/* CPU time of all threads but the calling one, ns. */
static inline uint64_t
measure_other_threads_ns(void)
{
    return measure_ns(CLOCK_PROCESS_CPUTIME_ID) - measure_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline int
measure_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double
measure_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), measure_compare);
    return values[count / 2];
}

/* A histogram of nanoseconds up to 1 ms in steps of 1/4 ns below 1 us, of 1 ns above. */
#define MEASURE_FINE 4000u
#define MEASURE_STEPS (MEASURE_FINE + 999000u)

struct measure_histogram {
    uint64_t count;
    uint64_t steps[MEASURE_STEPS + 1];
};

static inline void
measure_add(struct measure_histogram *h, double ns)
{
    const uint64_t step = ns < 1000 ? (uint64_t)(ns * 4) : MEASURE_FINE + (uint64_t)(ns - 1000);
    ++h->steps[step < MEASURE_STEPS ? step : MEASURE_STEPS];
    ++h->count;
}

/* The value below which the share lies. */
static inline double
measure_percentile(const struct measure_histogram *h, double share)
{
    const double want = share * (double)h->count;
    uint64_t seen = 0;
    for (uint64_t i = 0; i <= MEASURE_STEPS; ++i) {
        seen += h->steps[i];
        if ((double)seen >= want)
            return i < MEASURE_FINE ? (double)(i + 1) / 4 : (double)(i - MEASURE_FINE) + 1001;
    }
    return 0;
}

#endif
