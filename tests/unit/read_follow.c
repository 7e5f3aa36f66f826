/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_follow.c - a stream that follows real writers: over rotations, restarts, SIGKILL, lost records, a ring that vanishes.
 *
 * Every record carries a serial number, and each process keeps count in memory that it shares with the test.  What the
 * follower got is also compared with what the finished trace has, record by record.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/trace/life/trace-internal.h"
#include "../../src/trace/sqtrace.h"
#include "read/follow.h"
#include "read_common.h"

#define PROCESSES 64
#define SECOND INT64_C(1000000000)

/* A life of a process, as it counts itself. */
struct life {
    volatile pid_t pid;
    volatile uint64_t emitted, rotations;
};
static struct shared {
    struct life lives[PROCESSES];
    volatile unsigned count; /* of lives */
    volatile int stop;       /* kid 2 is to end */
    volatile unsigned ended; /* processes that the follower has seen end */
} * shared;

/* What a reader got of a process. */
struct got {
    uint8_t ring_id[16];
    pid_t pid;
    uint64_t next, serial, lost, sum;
};
static struct reading {
    struct got of[PROCESSES];
    unsigned count, ended, forgotten, largest_index, warnings;
    uint64_t runs, late;
    int64_t start_ns;
} following;

static const char *directory;
static pid_t driver;

/* ---- writers ---- */

static void
follow_log(int level, const char *text)
{
    if (level == 0 && !strstr(text, "the ring was full"))
        fprintf(stderr, "# %s\n", text);
}

static struct life *
begin_life(uint32_t kid, uint64_t ring)
{
    struct sqt_config config;
    const struct sqt_process process = {kid, SQT_KID_WORKER, "squid", "7.7", NULL};
    struct life *const life = &shared->lives[__atomic_fetch_add(&shared->count, 1, __ATOMIC_SEQ_CST)];
    sqt_config_init(&config);
    snprintf(config.directory, sizeof(config.directory), "%s", directory);
    config.ring = ring;
    config.segment = 1u << 20;
    config.groups = SQT_GROUP_TRACE | SQT_GROUP_CLIENT; /* samples would come in between */
    life->pid = getpid();
    if (sqt_start(&config, &process, follow_log) != 0)
        _exit(9);
    return life;
}

static void
emit_some(struct life *life, uint64_t count)
{
    for (uint64_t i = 0; i < count; ++i) {
        struct sqt_record unit[2];
        memset(unit, 0, sizeof(unit));
        unit[0].event = unit[1].event = SQT_EV_ACCESS_BEGIN;
        unit[0].id = life->emitted;
        unit[1].id = life->emitted + 1;
        if (i % 3) {
            sqt_emit(SQT_EV_ACCESS_END, life->emitted, 7, 0);
            life->emitted += 1;
        } else {
            sqt_emit_unit(unit, 2);
            life->emitted += 2;
        }
    }
}

/* About 200,000 records a second, with a rotation now and then. */
static void
emit_slowly(struct life *life, uint64_t count)
{
    for (uint64_t done = 0; done < count; done += 200) {
        emit_some(life, 200);
        usleep(1000);
        sqt_poll();
        if (done % 2000 == 0) {
            ++life->rotations;
            sqt_rotate();
        }
    }
}

static void
end_life(void)
{
    sqt_stop();
    _exit(0);
}

/* Runs a process to its end; or kills it once it has emitted something. */
static void
one_process(uint32_t kid, uint64_t count, int kill_it)
{
    const unsigned number = shared->count;
    const pid_t child = fork();
    if (child == 0) {
        alarm(100);
        emit_slowly(begin_life(kid, 4u << 20), kill_it ? UINT64_MAX : count);
        end_life();
    }
    while (kill_it && shared->lives[number].emitted < count)
        usleep(1000);
    if (kill_it)
        kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- the reader ---- */

static int64_t
wall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    struct reading *const reading = context;
    if (severity == SQT_NOTE)
        return;
    ++reading->warnings;
    fprintf(stderr, "# %s\n", text);
}

static struct got *
got_of(struct reading *reading, const struct sqt_identity *who)
{
    for (unsigned i = 0; i < reading->count; ++i)
        if (memcmp(reading->of[i].ring_id, who->ring_id, 16) == 0)
            return &reading->of[i];
    assert_true(reading->count < PROCESSES);
    struct got *const got = &reading->of[reading->count++];
    memcpy(got->ring_id, who->ring_id, 16);
    got->pid = (pid_t)who->pid;
    return got;
}

static void
take_run(struct reading *reading, const struct sqt_run *run)
{
    struct got *const got = got_of(reading, &run->origin->identity);
    if (run->first != UINT64_MAX) {
        assert_int_equal(run->first, got->next);
        got->next += run->count;
    }
    for (size_t i = 0; i < run->count; ++i) {
        const struct sqt_record *const r = &run->records[i];
        if (run->first != UINT64_MAX)
            got->sum = (got->sum ^ (r->event * UINT64_C(1000003) + r->id)) * UINT64_C(1099511628211);
        if (r->event == SQT_EV_LOST) {
            assert_int_equal(r->aux, SQT_LOSS_RING_FULL);
            got->serial += r->arg;
            got->lost += r->arg;
        } else if (r->event == SQT_EV_ACCESS_BEGIN || r->event == SQT_EV_ACCESS_END) {
            assert_true(r->id <= got->serial);
            assert_true(got->lost ? got->serial - r->id <= 1000 : r->id == got->serial);
            ++got->serial;
        }
    }
    ++reading->runs;
    reading->late += wall_now() - reading->start_ns - sqt_line_ns(&run->line, run->records[0].time) > SECOND;
    if (run->origin->index > reading->largest_index)
        reading->largest_index = run->origin->index;
}

static void
count_ended(void *context, const struct sqt_origin *origin)
{
    struct reading *const reading = context;
    assert_non_null(sqt_origin_event_name(origin, SQT_EV_START));
    shared->ended = ++reading->ended;
}

static void
count_forgotten(void *context, const struct sqt_origin *origin)
{
    struct reading *const reading = context;
    assert_non_null(sqt_origin_event_name(origin, SQT_EV_START));
    ++reading->forgotten;
}

static struct sqt_stream *
follow(void)
{
    const struct sqt_following told = {&following, count_ended, count_forgotten};
    for (unsigned i = 0; !shared->count || !shared->lives[0].emitted; ++i) {
        assert_true(i < 10000);
        usleep(1000);
    }
    struct sqt_stream *const stream = sqt_stream_open(&directory, 1, hear, &following);
    assert_non_null(stream);
    assert_int_equal(sqt_stream_follow(stream, &told), 0);
    following.start_ns = (int64_t)sqt_stream_start_ns(stream);
    return stream;
}

/* Follows until so many processes have ended. */
static void
follow_until(struct sqt_stream *stream, unsigned ended)
{
    const int64_t deadline = wall_now() + 90 * SECOND;
    struct sqt_run run;
    while (following.ended < ended) {
        while (sqt_stream_next(stream, &run))
            take_run(&following, &run);
        sqt_stream_wait(stream, 20);
        assert_true(wall_now() < deadline);
    }
}

/* The finished trace has the same records, and each process emitted those. */
static void
compare_with_the_end(int vanished)
{
    struct reading finished;
    struct sqt_run run;
    memset(&finished, 0, sizeof(finished));
    struct sqt_stream *const stream = sqt_stream_open(&directory, 1, hear, &finished);
    assert_non_null(stream);
    while (sqt_stream_next(stream, &run))
        take_run(&finished, &run);
    sqt_stream_close(stream);
    assert_int_equal(finished.count, following.count);
    assert_int_equal(following.count, shared->count);
    for (unsigned i = 0; i < following.count; ++i) {
        const struct got *const got = &following.of[i];
        struct got *again = NULL;
        const struct life *life = NULL;
        for (unsigned k = 0; k < finished.count; ++k)
            if (memcmp(finished.of[k].ring_id, got->ring_id, 16) == 0)
                again = &finished.of[k];
        for (unsigned k = 0; k < shared->count; ++k)
            if (shared->lives[k].pid == got->pid)
                life = &shared->lives[k];
        assert_non_null(again);
        assert_non_null(life);
        assert_int_equal(again->next, got->next);
        assert_int_equal(again->sum, got->sum);
        assert_true(got->serial >= life->emitted);
        assert_true(got->serial - life->emitted <= 4 + life->rotations);
    }
    assert_int_equal(following.warnings, 0);
    assert_true(vanished || finished.warnings == 0);
}

static void
drive(void (*function)(void))
{
    memset(shared, 0, sizeof(*shared));
    memset(&following, 0, sizeof(following));
    directory = read_directory();
    driver = fork();
    if (driver == 0) {
        function();
        _exit(0);
    }
}

static void
driver_has_ended(void)
{
    int status = -1;
    waitpid(driver, &status, 0);
    driver = 0;
    assert_int_equal(status, 0);
}

/* ---- tests ---- */

static void
kid_2(void)
{
    struct life *const life = begin_life(2, 4u << 20);
    while (!shared->stop)
        emit_slowly(life, 1000);
    end_life();
}

static void
drive_restarts(void)
{
    const pid_t other = fork();
    if (other == 0)
        kid_2();
    while (!shared->lives[0].emitted)
        usleep(1000);
    one_process(1, 20000, 0);
    one_process(1, 4000, 0);
    one_process(1, 30000, 1);
    one_process(1, 200000, 0); /* adopts the ring of the one before, whose lock may be held for a moment */
    shared->stop = 1;
    waitpid(other, NULL, 0);
}

static void
restarts_and_a_kill(void **state)
{
    (void)state;
    drive(drive_restarts);
    struct sqt_stream *const stream = follow();
    follow_until(stream, 5);
    sqt_stream_close(stream);
    driver_has_ended();
    compare_with_the_end(0);
    assert_true(following.runs > 50);
    fprintf(stderr, "# %llu of %llu runs were later than 1 s\n", (unsigned long long)following.late,
            (unsigned long long)following.runs);
    assert_true(following.late * 2 <= following.runs); /* end-to-end tests ask for p99, on a machine that is quiet */
    read_directory_remove();
}

/* No process begins while the follower has more than five to see: it keeps what is open apart from what has ended. */
static void
drive_many(void)
{
    const pid_t other = fork();
    if (other == 0)
        kid_2();
    while (!shared->lives[0].emitted)
        usleep(1000);
    for (unsigned i = 0; i < 40; ++i) {
        while (i > shared->ended + 5)
            usleep(1000);
        one_process(1, 200, 0);
    }
    shared->stop = 1;
    waitpid(other, NULL, 0);
}

static void
many_restarts_take_no_more_room(void **state)
{
    (void)state;
    drive(drive_many);
    struct sqt_stream *const stream = follow();
    follow_until(stream, 41);
    assert_int_equal(following.forgotten, 41 - SQT_FOLLOW_ENDED);
    assert_true(following.largest_index < SQT_FOLLOW_ENDED + 10);
    assert_true(sqt_stream_origins(stream) <= SQT_FOLLOW_ENDED);
    sqt_stream_close(stream);
    driver_has_ended();
    compare_with_the_end(0);
    read_directory_remove();
}

#define ALIVE 60

/* All of them run until the follower has read each. */
static void
drive_together(void)
{
    for (uint32_t kid = 1; kid <= ALIVE; ++kid)
        if (fork() == 0) {
            alarm(100);
            struct life *const life = begin_life(kid, 1u << 20);
            emit_some(life, 100);
            while (!shared->stop) {
                sqt_poll();
                usleep(10000);
            }
            end_life();
        }
    while (wait(NULL) > 0)
        ;
}

static void
all_that_live_at_a_time_are_read(void **state)
{
    (void)state;
    drive(drive_together);
    struct sqt_stream *const stream = follow();
    const int64_t deadline = wall_now() + 60 * SECOND;
    struct sqt_run run;
    while (following.count < ALIVE && wall_now() < deadline) {
        while (sqt_stream_next(stream, &run))
            take_run(&following, &run);
        sqt_stream_wait(stream, 20);
    }
    assert_int_equal(following.count, ALIVE);
    shared->stop = 1;
    follow_until(stream, ALIVE);
    sqt_stream_close(stream);
    driver_has_ended();
    assert_int_equal(following.warnings, 0);
    read_directory_remove();
}

/* Removes the only ring, as somebody who tidies up would. */
static void
remove_ring(void)
{
    char pattern[256], text[2048] = "";
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/*.ring", directory);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    FILE *const file = fopen(found.gl_pathv[0], "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    globfree(&found);
    text[strcspn(text, "\n")] = '\0';
    assert_int_equal(unlink(strchr(text, '/')), 0);
}

static void
drive_one(void)
{
    struct life *const life = begin_life(1, 4u << 20);
    while (!shared->stop)
        emit_slowly(life, 1000);
    emit_slowly(life, 20000);
    end_life();
}

static void
a_ring_that_vanishes(void **state)
{
    (void)state;
    drive(drive_one);
    struct sqt_stream *const stream = follow();
    struct sqt_run run;
    for (unsigned i = 0; i < 10; ++i) {
        while (sqt_stream_next(stream, &run))
            take_run(&following, &run);
        sqt_stream_wait(stream, 20);
    }
    remove_ring();
    shared->stop = 1;
    follow_until(stream, 1);
    sqt_stream_close(stream);
    driver_has_ended();
    compare_with_the_end(1);
    read_directory_remove();
}

static void
drive_bursts(void)
{
    struct life *const life = begin_life(1, 1u << 20);
    emit_slowly(life, 2000);
    emit_some(life, 300000);
    emit_slowly(life, 200000); /* six times the ring, while the reader sleeps */
    end_life();
}

static void
a_ring_that_overran_and_a_reader_that_is_slow(void **state)
{
    (void)state;
    drive(drive_bursts);
    struct sqt_stream *const stream = follow();
    sleep(2);
    follow_until(stream, 1);
    sqt_stream_close(stream);
    driver_has_ended();
    assert_true(following.of[0].lost > 0);
    compare_with_the_end(0);
    read_directory_remove();
}

static void
what_is_held_back_comes_at_the_end(void **state)
{
    (void)state;
    drive(drive_one);
    struct sqt_stream *const stream = follow();
    struct sqt_run run;
    while (sqt_stream_next(stream, &run))
        take_run(&following, &run);
    usleep(100000);
    const uint64_t emitted = shared->lives[0].emitted;
    sqt_stream_unfollow(stream);
    while (sqt_stream_next(stream, &run))
        take_run(&following, &run);
    assert_true(following.of[0].serial >= emitted);
    assert_int_equal(following.ended, 1);
    sqt_stream_close(stream);
    shared->stop = 1;
    driver_has_ended();
    read_directory_remove();
}

/* A check that fails leaves writers running. */
static int
end(void **state)
{
    (void)state;
    shared->stop = 1;
    for (unsigned i = 0; driver && i < shared->count; ++i)
        if (shared->lives[i].pid > 0)
            kill(shared->lives[i].pid, SIGKILL);
    if (driver)
        waitpid(driver, NULL, 0);
    driver = 0;
    return 0;
}

int
main(void)
{
    sqt_patience_ns = UINT64_C(30000000000); /* the machine may be busy */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(restarts_and_a_kill, end),
        cmocka_unit_test_teardown(many_restarts_take_no_more_room, end),
        cmocka_unit_test_teardown(all_that_live_at_a_time_are_read, end),
        cmocka_unit_test_teardown(a_ring_that_vanishes, end),
        cmocka_unit_test_teardown(a_ring_that_overran_and_a_reader_that_is_slow, end),
        cmocka_unit_test_teardown(what_is_held_back_comes_at_the_end, end),
    };
    alarm(400);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("read: follow", tests, NULL, NULL);
}
