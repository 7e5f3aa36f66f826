// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * holdups - says when the machine held its processors up.
 *
 *     holdups >FILE
 *
 * A thread on each processor, before all ordinary work where that is permitted, sleeps for half a millisecond again and
 * again.  Each time that it wakes late, a line says the processor, and between which two moments (CLOCK_MONOTONIC, ns)
 * it should have run and could not: somebody else's work had the processor, inside this machine or outside it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 500000, LATE_NS = 100000, PRIORITY = 50, MAX_PROCESSORS = 1024 };

static long long
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *
watch(void *argument)
{
    long processor = (long)argument;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((int)processor, &only);
    if (sched_setaffinity(0, sizeof(only), &only) != 0)
        return NULL; // a processor that we may not use
    struct sched_param first = {.sched_priority = PRIORITY};
    sched_setscheduler(0, SCHED_FIFO, &first);

    for (long long due = now() + PERIOD_NS;; due += PERIOD_NS) {
        struct timespec t = {.tv_sec = due / 1000000000LL, .tv_nsec = due % 1000000000LL};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        long long woke = now();
        if (woke - due >= LATE_NS) {
            printf("%ld %lld %lld\n", processor, due, woke);
            due = woke;
        }
    }
    return NULL;
}

int
main(void)
{
    long count = sysconf(_SC_NPROCESSORS_CONF);
    pthread_t thread;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (long processor = 0; processor < count && processor < MAX_PROCESSORS; processor++)
        if (pthread_create(&thread, NULL, watch, (void *)processor) != 0)
            return 1;
    pause();
    return 0;
}
