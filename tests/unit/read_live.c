/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_live.c - the reader beside a real writer: while it runs, after SIGKILL, after the next start.
 *
 * Every record carries a serial number, and the writer keeps count in memory that it shares with the test.  So each
 * reading can be checked: decoded plus lost is what was emitted, nothing is missing, doubled or out of order.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/trace/life/trace-internal.h"
#include "../../src/trace/sqtrace.h"
#include "read/final.h"
#include "read/follow.h"
#include "read_common.h"

#define KIDS 2
#define FAST_RECORDS 500000

static struct shared {
    volatile uint64_t emitted[KIDS + 1];
    volatile uint64_t rotations[KIDS + 1];
    int64_t begun; /* ns since 1970 */
} * shared;
static const char *directory;
static pid_t writers[KIDS + 1];
static uint64_t random_state = 4711;

static uint64_t
below(uint64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % limit;
}

static void
say(int level, const char *text)
{
    if (level == 0 && !strstr(text, "the ring was full"))
        fprintf(stderr, "# %s\n", text);
}

static int
start(uint32_t kid, uint64_t ring)
{
    struct sqt_config config;
    const struct sqt_process process = {kid, SQT_KID_WORKER, "squid", "7.7", NULL};
    sqt_config_init(&config);
    snprintf(config.directory, sizeof(config.directory), "%s", directory);
    config.ring = ring;
    config.segment = 1u << 20;
    config.compression = (int)kid % 3;
    config.groups = SQT_GROUP_TRACE | SQT_GROUP_CLIENT; /* samples would come in between */
    return sqt_start(&config, &process, say);
}

/* Emits for ever, or until `most` records and then ends in order.  Never returns. */
static void
writer(uint32_t kid, uint64_t ring, uint64_t most)
{
    uint64_t n = 0, round = 0;
    alarm(500);
    if (start(kid, ring) != 0)
        _exit(9);
    while (n < most) {
        struct sqt_record unit[3];
        memset(unit, 0, sizeof(unit));
        for (unsigned i = 0; i < 3; ++i) {
            unit[i].event = SQT_EV_ACCESS_BEGIN;
            unit[i].id = n + i;
        }
        if (round % 4 == 0) {
            sqt_emit_unit(unit, 3);
            n += 3;
        } else
            sqt_emit(SQT_EV_ACCESS_END, n++, kid, 0);
        shared->emitted[kid] = n;
        /* On a slow machine the readings must come to an end too: what has been written grows slowly then. */
        if (++round % (n < FAST_RECORDS ? 5000 : 100) == 0) {
            usleep(500);
            sqt_poll();
        }
        if (round % 50000 == 0) {
            ++shared->rotations[kid];
            sqt_rotate();
        }
    }
    sqt_stop();
    _exit(0);
}

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    unsigned *const notes = context;
    ++*notes;
    if (severity != SQT_NOTE) {
        fprintf(stderr, "# %s\n", text);
        assert_int_equal(severity, SQT_NOTE);
    }
}

/* Reads the directory whole and checks serials and numbers.  ended: no writer lives, so the counts are final. */
static void
read_and_check(int ended)
{
    struct sqt_run run;
    uint64_t next[16] = {0}, serial[16] = {0};
    int64_t before = INT64_MIN;
    unsigned notes = 0, seen = 0;
    struct sqt_stream *const stream = sqt_stream_open(&directory, 1, hear, &notes);
    assert_non_null(stream);
    while (sqt_stream_next(stream, &run)) {
        const unsigned o = run.origin->index;
        const uint32_t kid = run.origin->identity.kid;
        assert_true(o < 16);
        if (run.first != UINT64_MAX) {
            assert_int_equal(run.first, next[o]);
            next[o] += run.count;
        }
        for (size_t i = 0; i < run.count; ++i) {
            const struct sqt_record *const r = &run.records[i];
            const int64_t ns = sqt_line_ns(&run.line, r->time);
            assert_true(ns >= before);
            before = ns;
            if (r->event == SQT_EV_LOST) {
                assert_int_equal(r->aux, SQT_LOSS_RING_FULL);
                serial[o] += r->arg;
            } else if (r->event == SQT_EV_ACCESS_BEGIN || r->event == SQT_EV_ACCESS_END) {
                /* Lost records may have been the trace's own about rotations, which carry no serial. */
                assert_true(r->id <= serial[o] && serial[o] - r->id <= shared->rotations[kid] + 1);
                ++serial[o];
            }
        }
    }
    for (size_t i = 0; ended && i < sqt_stream_origins(stream); ++i) {
        const struct sqt_origin *const origin = sqt_stream_origin(stream, i);
        const uint32_t kid = origin->identity.kid;
        if (kid > KIDS)
            continue;
        ++seen;
        /* A kill may fall between a record and the test's own count of it. */
        const uint64_t emitted = shared->emitted[kid], known = serial[origin->index];
        assert_true(known >= emitted);
        assert_true(known - emitted <= 3 + shared->rotations[kid] + 2);
    }
    if (ended)
        assert_int_equal(seen, KIDS);
    sqt_stream_close(stream);
}

static void
wait_for(uint32_t kid, uint64_t emitted)
{
    while (shared->emitted[kid] < emitted) {
        assert_int_equal(waitpid(writers[kid], NULL, WNOHANG), 0); /* it could not start */
        usleep(200);
    }
}

/* Waits for the end of a writer, and returns its status. */
static int
wait_end(uint32_t kid)
{
    int status = -1;
    waitpid(writers[kid], &status, 0);
    writers[kid] = 0;
    return status;
}

static void
kill_writer(uint32_t kid)
{
    if (writers[kid] == 0)
        return;
    kill(writers[kid], SIGKILL);
    wait_end(kid);
}

/* How many rings the directory names. */
static size_t
pointer_files(void)
{
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/*.ring", directory);
    const size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static void
one_round(uint64_t ring, uint64_t most, int kill_them)
{
    int status;
    memset(shared, 0, sizeof(*shared));
    directory = read_directory();
    for (uint32_t kid = 1; kid <= KIDS; ++kid)
        if ((writers[kid] = fork()) == 0)
            writer(kid, ring, most);
    for (uint32_t kid = 1; kid <= KIDS; ++kid)
        wait_for(kid, 1);
    for (unsigned i = 0; i < 3; ++i)
        read_and_check(0);
    if (kill_them) {
        wait_for(1, 100000 + below(100000));
        kill_writer(1);
        read_and_check(0); /* one is dead, the other lives */
        kill_writer(2);
    } else
        for (uint32_t kid = 1; kid <= KIDS; ++kid)
            assert_int_equal(wait_end(kid), 0);
    read_and_check(1);

    /* The next start turns what was left into segments; a reader meanwhile sees the same. */
    const pid_t next = fork();
    if (next == 0) {
        alarm(500);
        if (start(7, 1u << 20) != 0)
            _exit(9);
        while (pointer_files() > 1)
            usleep(1000);
        sqt_stop();
        _exit(0);
    }
    read_and_check(1);
    waitpid(next, &status, 0);
    assert_int_equal(status, 0);
    read_and_check(1);
    read_directory_remove();
}

static void
after_a_kill_with_a_small_ring(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; ++i)
        one_round(1u << 20, UINT64_MAX, 1);
}

static void
after_a_kill_with_a_large_ring(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; ++i)
        one_round(16u << 20, UINT64_MAX, 1);
}

static void
after_an_orderly_end(void **state)
{
    (void)state;
    one_round(4u << 20, 300000, 0);
}

/* ---- what is final ---- */

#define FEW 50

/* Emits a few records, stops with all its threads, and when it goes on lives until the test has seen enough. */
static void
stopping_writer(uint32_t kid)
{
    alarm(500);
    if (start(kid, 1u << 20) != 0)
        _exit(9);
    for (unsigned n = 0; n < FEW; ++n)
        sqt_emit(SQT_EV_ACCESS_END, n, kid, 0);
    shared->emitted[kid] = FEW;
    raise(SIGSTOP);
    while (shared->emitted[kid] == FEW)
        usleep(1000);
    sqt_stop();
    _exit(0);
}

static void
never(void *context, const struct sqt_origin *origin)
{
    (void)context;
    (void)origin;
}

/* Records, and the sum of their times since the test began. */
struct handed {
    uint64_t count;
    int64_t ns;
};

static struct handed
final_of(struct sqt_stream *stream)
{
    struct sqt_run run;
    struct handed found = {0, 0};
    sqt_stream_only_final(stream, NULL, never);
    while (sqt_stream_next(stream, &run))
        for (size_t i = 0; i < run.count; ++i, ++found.count)
            found.ns += sqt_origin_wall_ns(run.origin) + sqt_line_ns(&run.line, run.records[i].time) - shared->begun;
    sqt_stream_close(stream);
    return found;
}

static struct sqt_stream *
opened(unsigned *notes)
{
    struct sqt_stream *const stream = sqt_stream_open(&directory, 1, hear, notes);
    assert_non_null(stream);
    return stream;
}

/* When the stream was opened, all records were in the ring; then they come into a segment, with other times.  These are
 * final, but a stream whose merge has the old ones must not say so. */
static void
a_record_that_leaves_the_ring_meanwhile(void **state)
{
    (void)state;
    unsigned notes = 0, placed = 0;
    for (unsigned round = 0; round < 10; ++round) {
        int status;
        memset(shared, 0, sizeof(*shared));
        shared->begun = (int64_t)time(NULL) * 1000000000;
        directory = read_directory();
        if ((writers[1] = fork()) == 0)
            stopping_writer(1);
        assert_int_equal(waitpid(writers[1], &status, WUNTRACED), writers[1]);
        assert_true(WIFSTOPPED(status));
        usleep((SQT_FOLLOW_BACK_MS + 50) * 1000); /* younger records are not final in any case */
        struct sqt_stream *const stream = opened(&notes);
        kill(writers[1], SIGCONT);
        struct handed late;
        do {
            usleep(20000);
            late = final_of(opened(&notes));
        } while (late.count < FEW); /* the alarm is the limit */
        const struct handed early = final_of(stream);
        if (early.count) { /* the flusher had been faster */
            assert_int_equal(early.count, late.count);
            assert_int_equal(early.ns, late.ns);
        } else
            ++placed;
        shared->emitted[1] = FEW + 1;
        assert_int_equal(wait_end(1), 0);
        const struct handed all = final_of(opened(&notes));
        assert_true(all.count >= late.count);
        read_directory_remove();
    }
    assert_true(placed > 0);
}

/* A check that fails leaves writers running. */
static int
end(void **state)
{
    (void)state;
    for (uint32_t kid = 1; kid <= KIDS; ++kid)
        kill_writer(kid);
    return 0;
}

int
main(void)
{
    sqt_patience_ns = UINT64_C(30000000000); /* the machine may be busy */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(after_a_kill_with_a_small_ring, end),
        cmocka_unit_test_teardown(after_a_kill_with_a_large_ring, end),
        cmocka_unit_test_teardown(after_an_orderly_end, end),
        cmocka_unit_test_teardown(a_record_that_leaves_the_ring_meanwhile, end),
    };
    alarm(600);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("read_live", tests, NULL, NULL);
}
