/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_passes.c - a process that traces its event loop, one pass of which is as asked, for loop_time.py.
 *
 *     make_passes DIRECTORY compute|acl|read|stop [WORD]...
 *
 * A WORD is one of sqtrace_log.  After a second of short passes comes that one, and a second of short ones follows.  It prints what the kernel says of
 * the pass: how long it was, the processor time of the main thread, and its wait for a processor, in ns.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/life/trace-internal.h"
#include "trace/sqtrace.h"

#define MS UINT64_C(1000000)
#define LENGTH (100 * MS)

static void
say(int level, const char *text)
{
    (void)level;
    fprintf(stderr, "%s\n", text);
}

static uint64_t
now(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

static void
compute(uint64_t ns)
{
    const uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (now(CLOCK_THREAD_CPUTIME_ID) < until)
        ;
}

static uint64_t
queued(void)
{
    uint64_t ns = 0;
    FILE *const file = fopen("/proc/thread-self/schedstat", "re");
    if (file) {
        if (fscanf(file, "%*u %" SCNu64, &ns) != 1)
            ns = 0;
        fclose(file);
    }
    return ns;
}

static void
be_blocked(void)
{
    const struct itimerspec once = {.it_value = {0, (long)LENGTH}};
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    uint64_t count;
    timerfd_settime(fd, 0, &once, NULL);
    if (read(fd, &count, sizeof(count)) < 0)
        say(0, "the timer cannot be read");
    close(fd);
}

/* A child stops this process for 100 ms while it computes. */
static void
be_stopped(void)
{
    const pid_t self = getpid();
    const pid_t child = fork();
    if (!child) {
        usleep(20000);
        kill(self, SIGSTOP);
        usleep(LENGTH / 1000);
        kill(self, SIGCONT);
        _exit(0);
    }
    compute(60 * MS);
    waitpid(child, NULL, 0);
}

static void
hold(const char *how)
{
    if (strcmp(how, "acl") == 0) {
        if (sqt_has_new_sample())
            sqt_part_begins();
        compute(LENGTH);
        if (sqt_has_new_sample())
            sqt_part_was_acl("bad_sites", 9);
    } else if (strcmp(how, "compute") == 0) {
        compute(LENGTH);
    } else if (strcmp(how, "read") == 0) {
        be_blocked();
    } else {
        be_stopped();
    }
}

static void
one_pass(const char *how)
{
    sqt_loop_waits(20);
    poll(NULL, 0, 20);
    sqt_loop_works(1);
    if (!how)
        return;
    const uint64_t begin = now(CLOCK_MONOTONIC), ran = now(CLOCK_THREAD_CPUTIME_ID), waited = queued();
    hold(how);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", now(CLOCK_MONOTONIC) - begin, now(CLOCK_THREAD_CPUTIME_ID) - ran,
           queued() - waited);
    sqt_activity_ends("the pass");
}

int
main(int argc, char **argv)
{
    const struct sqt_process process = {0, SQT_KID_WORKER, "passes", "7.7", getenv("SQT_SQUID_HOST")};
    struct sqt_config config;
    char error[256];
    sqt_patience_ns = UINT64_C(30000000000); /* the machine may be busy */
    sqt_config_init(&config);
    if (argc < 3 || sqt_config_word(&config, argv[1], error, sizeof(error)) != 0 ||
        sqt_config_word(&config, "ring=1MB", error, sizeof(error)) != 0)
        return 1;
    for (int i = 3; i < argc; ++i)
        if (sqt_config_word(&config, argv[i], error, sizeof(error)) != 0)
            return 1;
    if (sqt_start(&config, &process, say) != 0)
        return 1;
    for (unsigned i = 0; i < 50; ++i)
        one_pass(NULL);
    one_pass(argv[2]);
    for (unsigned i = 0; i < 55; ++i)
        one_pass(NULL);
    sqt_stop();
    return 0;
}
