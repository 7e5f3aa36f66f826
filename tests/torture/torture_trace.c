/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * torture_trace.c - a process that traces as Squid does, while allocations fail.
 *
 * usage: torture_trace DIRECTORY RINGDIR
 *
 * An earlier process leaves its ring.  Then allocations are counted: tracing starts, adopts that ring, is rotated and
 * reconfigured, and ends.  Then memory is there again: tracing starts once more, and all must be as ever.
 * Prints what libsqtrace said, one line each with "said" before it, and "emitted FROM TO" for the ids of the events that it
 * took.  torture.py compares them with what is in the trace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "failing.h"
#include "trace/file/file-internal.h"
#include "trace/life/trace-internal.h"
#include "trace/sqtrace.h"

#pragma weak failing_arm

#define EVENTS 400 /* of each stretch: several blocks with a ring of 64 KB */

/* The sampler and the watch of a kid 1 look at the machine, too. */
static const struct sqt_process torture_process = {1, SQT_KID_WORKER, "test", "7.7", "proxy.example"};
static const char *directory, *ringdir;

static void
torture_arm(int armed)
{
    if (failing_arm)
        failing_arm(armed);
}

/* Without stdio's buffer, which an allocation would make. */
static void
torture_log(int level, const char *text)
{
    char line[SQT_MESSAGE_MAX + 16];
    const int size = snprintf(line, sizeof(line), "said %d %s\n", level, text);
    if (write(1, line, (size_t)size) != size)
        abort();
}

static void
torture_emit(uint64_t from)
{
    char line[64];
    uint64_t id = from;
    for (; id < from + EVENTS && sqt_on(SQT_GROUP_CLIENT); ++id)
        sqt_emit(SQT_EV_CLIENT_READ, id, 2 * id, 3);
    const int size = snprintf(line, sizeof(line), "emitted %u %u\n", (unsigned)from, (unsigned)id);
    if (write(1, line, (size_t)size) != size)
        abort();
}

static struct sqt_config
torture_config(const char *const *words)
{
    struct sqt_config config;
    char error[512], place[300];
    sqt_config_init(&config);
    snprintf(place, sizeof(place), "ringdir=%s", ringdir);
    if (sqt_config_word(&config, directory, error, sizeof(error)) != 0 ||
        sqt_config_word(&config, place, error, sizeof(error)) != 0)
        abort();
    for (; *words; ++words)
        if (sqt_config_word(&config, *words, error, sizeof(error)) != 0)
            abort();
    return config;
}

static int
torture_start(const char *const *words)
{
    const struct sqt_config config = torture_config(words);
    return sqt_start(&config, &torture_process, torture_log);
}

static void
torture_wait_flushed(void)
{
    struct sqt_status status;
    for (unsigned i = 0; i < 300; ++i) {
        sqt_get_status(&status);
        if (!status.waiting)
            return;
        usleep(1000);
    }
}

/* A process that traces and is gone. */
static void
torture_leave_ring(void)
{
    static const char *const words[] = {"ring=64KB", NULL};
    const pid_t child = fork();
    if (child == 0) {
        if (torture_start(words) != 0)
            abort();
        /* Some of it is in a segment, and the rest only in the ring. */
        torture_emit(1);
        sqt_rotate();
        torture_wait_flushed();
        torture_emit(10000);
        torture_wait_flushed();
        torture_emit(20000);
        syscall(SYS_exit_group, 0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        abort();
}

/* What Squid calls in a few seconds of its life. */
static void
torture_live(void)
{
    static const char *const first[] = {"ring=64KB", "events=all", NULL}, *const then[] = {"ring=64KB", "compress=zlib",
                                                                                           "keep=1MB", "age=1d", NULL};
    if (torture_start(first) != 0)
        torture_log(9, "off");
    sqt_sample_dir(0, directory);
    for (unsigned i = 0; i < 3 && sqt_on(SQT_GROUP_LOOP); ++i) {
        sqt_loop_waits(0);
        sqt_loop_works(1);
        sqt_activity_ends("work");
    }
    torture_emit(1000);
    torture_wait_flushed();
    sqt_poll();
    sqt_rotate();
    const struct sqt_config changed = torture_config(then);
    sqt_reconfigure(&changed, &torture_process, torture_log);
    torture_emit(2000);
    torture_wait_flushed();
    sqt_poll();
    sqt_stop();
}

int
main(int argc, char **argv)
{
    static const char *const words[] = {"ring=64KB", NULL};
    struct sqt_status status;
    if (argc != 3)
        return 2;
    directory = argv[1];
    ringdir = argv[2];
    sqt_patience_ns = UINT64_C(10000000000); /* the machine may be busy */
    torture_leave_ring();
    torture_arm(1);
    torture_live();
    torture_arm(0);
    torture_log(9, "memory is there again");
    if (torture_start(words) != 0)
        return 3;
    torture_emit(3000);
    /* What could not be adopted is adopted now, at the second try at the latest. */
    for (unsigned i = 0; i < 200 && access(argv[1], F_OK) == 0; ++i) {
        sqt_poll();
        sqt_get_status(&status);
        usleep(2000);
        if (!status.waiting && i > 25)
            break;
    }
    sqt_stop();
    sqt_get_status(&status);
    return status.left_behind || strcmp(status.state, "off") != 0 ? 4 : 0;
}
