/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * heldpass.c - holds the event loop where a request says so, for LD_PRELOAD.
 *
 * A request with the field X-Pass is read, and then:
 *
 *   compute   the main thread computes for 100 ms of its processor time
 *   read      it is blocked in a read for 100 ms
 *
 *   HELDPASS_MS    how long instead of 100 ms
 *   HELDPASS_LOG   a file that gets a line for each: its begin, and when it is over its end, by CLOCK_MONOTONIC in ns
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long
length_ns(void)
{
    const char *const ms = getenv("HELDPASS_MS");
    return (ms ? atol(ms) : 100) * 1000000L;
}

static long long
now(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void
tell(const char *what)
{
    const char *const path = getenv("HELDPASS_LOG");
    FILE *const log = path ? fopen(path, "ae") : NULL;
    if (!log)
        return;
    fprintf(log, "%s %lld\n", what, now(CLOCK_MONOTONIC));
    fclose(log);
}

static void
compute(void)
{
    const long long until = now(CLOCK_THREAD_CPUTIME_ID) + length_ns();
    while (now(CLOCK_THREAD_CPUTIME_ID) < until)
        ;
}

static void
be_blocked(void)
{
    const struct itimerspec once = {.it_value = {0, length_ns()}};
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    unsigned long long count;
    timerfd_settime(fd, 0, &once, NULL);
    syscall(SYS_read, fd, &count, sizeof(count));
    close(fd);
}

ssize_t
read(int fd, void *buffer, size_t size)
{
    const ssize_t n = syscall(SYS_read, fd, buffer, size);
    const int saved = errno;
    const char *const field = n > 0 ? memmem(buffer, (size_t)n, "X-Pass: ", 8) : NULL;
    if (field) {
        tell("begin");
        if (field[8] == 'c')
            compute();
        else
            be_blocked();
        tell("end");
    }
    errno = saved;
    return n;
}
