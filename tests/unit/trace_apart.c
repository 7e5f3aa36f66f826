/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/clock/clock-internal.h"
#include "trace/file/apart-internal.h"

#define NOBODY 65534
#define SLEEP_MS 3000

static int
setup(void **state)
{
    (void)state;
    sqt_apart_begin();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    sqt_apart_end();
    return 0;
}

/* Where there is no helper (another processor, ThreadSanitizer, Valgrind), the calling thread does the work itself. */
static pid_t
worker(void)
{
    return sqt_apart_pid() ? sqt_apart_pid() : getpid();
}

static long
who_am_i(void *context)
{
    *(char **)context = malloc(100); /* the memory is shared */
    errno = EXDEV;
    return syscall(SYS_getpid);
}

static void
work_is_done_by_the_helper(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; ++i) {
        char *memory = NULL;
        errno = 0;
        assert_int_equal(sqt_apart_call(who_am_i, &memory), worker());
        assert_int_equal(errno, EXDEV);
        assert_non_null(memory);
        free(memory);
    }
}

static long
call_again(void *context)
{
    return sqt_apart_call(who_am_i, context);
}

static void
work_may_ask_for_more_work(void **state)
{
    char *memory = NULL;
    (void)state;
    assert_int_equal(sqt_apart_call(call_again, &memory), worker());
    free(memory);
}

static long
sleep_for_a_while(void *context)
{
    return usleep(*(const useconds_t *)context);
}

static long
sleep_again(void *context)
{
    sqt_apart_call(sleep_for_a_while, context);
    return sqt_apart_call(sleep_for_a_while, context);
}

/* The time of work is at least that long, and not longer than it took from here. */
static void
work_takes(sqt_apart_work *work, useconds_t us, uint64_t least_ns)
{
    const uint64_t worked = sqt_apart_worked_ns(), begin = sqt_monotonic_ns();
    sqt_apart_call(work, &us);
    const uint64_t took = sqt_monotonic_ns() - begin;
    assert_in_range(sqt_apart_worked_ns() - worked, least_ns, took);
}

static void
the_time_of_work_is_known(void **state)
{
    (void)state;
    work_takes(sleep_for_a_while, 20000, 20000000);
    usleep(20000);
    work_takes(sleep_again, 20000, 40000000);
}

static __attribute__((unused)) void
a_helper_that_was_killed_is_done_without(void **state)
{
    char *memory = NULL;
    (void)state;
    if (!sqt_apart_pid())
        skip();
    assert_int_equal(kill(sqt_apart_pid(), SIGKILL), 0);
    assert_int_equal(sqt_apart_call(who_am_i, &memory), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(sqt_apart_pid(), 0);
    assert_int_equal(sqt_apart_call(who_am_i, &memory), getpid());
    free(memory);
}

/* As uid NOBODY alone.  Exit status: 0: kept out; 1: could write to that process's memory; 2: could trace it. */
static int
break_in(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return 3;
    if (open(path, O_RDWR) >= 0)
        return 1;
    return ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 2 : 0;
}

/* Squid, started by root, can become root again, and lets itself be dumped.  Exit status as of break_in(). */
static int
be_squid(void)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(0, NOBODY, 0) != 0)
        return 3;
    sqt_apart_begin();
    if (prctl(PR_SET_DUMPABLE, 1) != 0 || !sqt_apart_pid())
        return sqt_apart_pid() ? 3 : 0;
    char *memory;
    (void)sqt_apart_call(who_am_i, &memory); /* it has its user by now */
    const pid_t attacker = fork();
    if (attacker == 0)
        _exit(break_in(sqt_apart_pid()));
    int status = 0;
    waitpid(attacker, &status, 0);
    sqt_apart_end();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

/* Through the memory that they share it would be a way to root. */
static void
other_processes_of_squids_user_cannot_get_at_it(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    const pid_t squid = fork();
    if (squid == 0)
        _exit(be_squid());
    int status = 0;
    assert_int_equal(waitpid(squid, &status, 0), squid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Sleeps uninterruptibly: the parent of a vfork() waits so for its child. */
static long
sleep_deeply(void *context)
{
    (void)context;
    const struct timespec sleep = {SLEEP_MS / 1000, SLEEP_MS % 1000 * 1000000L};
    const pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_nanosleep, &sleep, NULL);
        _exit(0);
    }
    syscall(SYS_wait4, child, NULL, 0, NULL);
    return 0;
}

static int sleeping;

static void *
hang(void *context)
{
    int *const has_helper = context;
    sqt_apart_begin();
    *has_helper = sqt_apart_pid() != 0;
    __atomic_store_n(&sleeping, 1, __ATOMIC_RELEASE);
    if (*has_helper)
        sqt_apart_call(sleep_deeply, NULL);
    sqt_apart_end();
    return NULL;
}

/* The C library has each thread follow, and waits for it. */
static __attribute__((unused)) void
a_helper_that_hangs_does_not_hold_setresuid(void **state)
{
    const struct timespec pause = {0, 100000000};
    struct timespec begin, end;
    pthread_t thread;
    int has_helper = 0;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, hang, &has_helper), 0);
    while (!__atomic_load_n(&sleeping, __ATOMIC_ACQUIRE))
        nanosleep(&pause, NULL);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(seteuid(geteuid()), 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    pthread_join(thread, NULL);
    if (!has_helper)
        skip();
    assert_true((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 < SLEEP_MS / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(work_is_done_by_the_helper, setup, teardown),
        cmocka_unit_test_setup_teardown(work_may_ask_for_more_work, setup, teardown),
        cmocka_unit_test_setup_teardown(the_time_of_work_is_known, setup, teardown),
#ifndef __SANITIZE_THREAD__ /* which allows no helper */
        cmocka_unit_test_setup_teardown(a_helper_that_was_killed_is_done_without, setup, teardown),
        cmocka_unit_test(a_helper_that_hangs_does_not_hold_setresuid),
#endif
        cmocka_unit_test(other_processes_of_squids_user_cannot_get_at_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
