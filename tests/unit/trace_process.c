/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_process.c - tracing and what a process goes through: forks, its own death, threads and signals.
 */
#include "trace_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in a child: nothing of the parent's trace may be touched there. */
static int
child_is_quiet(void)
{
    struct sqt_status status;
    const uint64_t head = __atomic_load_n(&sqt_groups, __ATOMIC_RELAXED);
    if (head != 0)
        return 1;
    sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3); /* a hook that forgot to ask */
    sqt_define(SQT_DEF_DIR, 9, "child");
    sqt_rotate();
    sqt_poll();
    sqt_get_status(&status);
    if (strcmp(status.state, "off") != 0)
        return 2;
    sqt_stop();
    return 0;
}

static void
a_forked_child_is_off_and_harmless(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    emit_mixed(0, 100);
    for (unsigned i = 0; i < 5; ++i) {
        const pid_t child = fork();
        if (child == 0)
            _exit(child_is_quiet());
        int result;
        emit_mixed(100 + 100 * i, 100);
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
    }
    assert_true(sqt_groups != 0);
    assert_int_equal(sqt_defined(SQT_DEF_DIR, 9), 0);
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    check_mixed(&d, 0, 600);
    assert_null(strstr(d.text, "child"));
    decode_free(&d);
}

#ifndef __SANITIZE_THREAD__ /* which knows no threads of a forked child */
static void
a_forked_child_may_trace_on_its_own(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    emit_mixed(0, 100);
    const pid_t child = fork();
    if (child == 0) {
        struct sqt_process process = place_process;
        struct sqt_config config;
        process.kid = 4;
        place_config(place, NULL, &config);
        if (sqt_start(&config, &process, place_log) != 0)
            _exit(1);
        emit_mixed(5000, 1000);
        sqt_stop();
        _exit(0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    emit_mixed(100, 100);
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, "test.3.");
    check_mixed(&d, 0, 200);
    decode_free(&d);
    decode(&d, place->directory, "test.4.");
    check_mixed(&d, 5000, 6000);
    decode_free(&d);
}
#endif

static void
crash(int number)
{
    (void)number;
    sqt_off();
}

/* In a child, because it is for good. */
static void
off_is_for_good_and_leaves_the_ring(void **state)
{
    struct place *const place = *state;
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(place, NULL) != 0)
            _exit(1);
        emit_mixed(0, 1000);
        signal(SIGUSR1, crash);
        raise(SIGUSR1);
        if (sqt_groups != 0)
            _exit(2);
        sqt_stop();
        struct sqt_config config;
        place_config(place, NULL, &config);
        sqt_reconfigure(&config, &place_process, place_log);
        if (sqt_groups != 0 || sqt_start(&config, &place_process, place_log) != -1)
            _exit(3);
        _exit(0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(place_count(place->ringdir, ".ring"), 1);
    struct decoded d;
    decode(&d, place->directory, NULL);
    check_mixed(&d, 0, 1000);
    decode_free(&d);
}

/* A signal to the process must find its handler in the main thread, never in the flusher. */
static pthread_t signalled;
static void
note_thread(int number)
{
    (void)number;
    signalled = pthread_self();
}

static void
the_flusher_takes_no_signals(void **state)
{
    struct place *const place = *state;
    sigset_t usr1;
    assert_int_equal(place_start(place, NULL), 0);
    signal(SIGUSR1, note_thread);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    memset(&signalled, 0, sizeof(signalled));
    kill(getpid(), SIGUSR1); /* any thread that does not block it would run the handler now */
    usleep(20000);
    sigset_t pending;
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    assert_true(pthread_equal(signalled, pthread_self()));
    signal(SIGUSR1, SIG_DFL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_forked_child_is_off_and_harmless),
#ifndef __SANITIZE_THREAD__
        PLACE_TEST(a_forked_child_may_trace_on_its_own),
#endif
        PLACE_TEST(off_is_for_good_and_leaves_the_ring),
        PLACE_TEST(the_flusher_takes_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
