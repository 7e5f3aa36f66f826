/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wallstep.c - sets the time of day of a process forward while a file exists, for LD_PRELOAD.
 *
 *   WALLSTEP_IF   the file
 *   WALLSTEP_S    so many seconds
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t
step(void)
{
    const char *const file = getenv("WALLSTEP_IF"), *const seconds = getenv("WALLSTEP_S");
    return file && seconds && access(file, F_OK) == 0 ? atol(seconds) : 0;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*next)(clockid_t, struct timespec *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    const int result = next(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += step();
    return result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0)
        return -1;
    *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return 0;
}

time_t
time(time_t *result)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
