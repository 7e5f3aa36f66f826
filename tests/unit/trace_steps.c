/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_steps.c - clocks that step: told in the trace, and no row claims a duration across a step.
 *
 * libsqtrace is compiled into this program with a counter and a clock_gettime() of the test's own: the true ones, moved by
 * what the test says.  The counter ticks once a nanosecond.
 */
#define _GNU_SOURCE
#include "trace_support.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "trace_leftovers.h"
#include "trace/ring/emit-internal.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

/* ns by which each clock is moved. */
static int64_t counter, monotonic, boottime, realtime;

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

static int64_t
true_ns(clockid_t id)
{
    struct timespec ts;
    __real_clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * SECOND + ts.tv_nsec;
}

int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    const int64_t *const moved = id == CLOCK_MONOTONIC ? &monotonic : id == CLOCK_BOOTTIME ? &boottime : &realtime;
    const int64_t ns = true_ns(id) + __atomic_load_n(moved, __ATOMIC_SEQ_CST);
    ts->tv_sec = ns / SECOND;
    ts->tv_nsec = ns % SECOND;
    return 0;
}

uint64_t
sqt_test_cycles(void)
{
    return (uint64_t)(true_ns(CLOCK_MONOTONIC) + 24 * HOUR + __atomic_load_n(&counter, __ATOMIC_SEQ_CST));
}

static void
move(int64_t *clock, int64_t ns)
{
    __atomic_fetch_add(clock, ns, __ATOMIC_SEQ_CST);
}

static void
pause_ms(int64_t ms)
{
    usleep((useconds_t)(1000 * ms));
}

/* ---- a trace, and what is read in it ---- */

static void
begin(uint64_t id)
{
    sqt_emit(SQT_EV_XACT_BEGIN, id, 0, 0);
}

static void
end(uint64_t id)
{
    sqt_emit(SQT_EV_XACT_END, id, 0, 200);
}

#define REQUESTS 16
static struct {
    struct sqt_xact requests[REQUESTS]; /* by id */
    struct sqt_step_row steps[8];
    unsigned step_count, problems, passes, unknown_passes, losses;
    int64_t longest_wait;
} found;

static void
take_request(void *context, const struct sqt_xact *x)
{
    (void)context;
    assert_true(x->id < REQUESTS);
    found.requests[x->id] = *x;
}

static void
take_step(void *context, const struct sqt_step_row *s)
{
    (void)context;
    assert_true(found.step_count < 8);
    found.steps[found.step_count++] = *s;
}

static void
take_loss(void *context, const struct sqt_loss_row *l)
{
    (void)context, (void)l;
    ++found.losses;
}

static void
take_pass(void *context, const struct sqt_loop_row *p)
{
    (void)context;
    ++found.passes;
    found.unknown_passes += p->unknown != 0;
    if (!p->unknown && p->work - p->begin > found.longest_wait)
        found.longest_wait = p->work - p->begin;
}

static void
report(void *context, enum sqt_severity severity, const char *text)
{
    (void)context;
    if (severity != SQT_NOTE)
        print_message("# %s\n", text);
    found.problems += severity != SQT_NOTE;
}

static void
read_trace(const struct place *place)
{
    const struct sqt_consumer consumer = {
        .request = take_request, .step = take_step, .loss = take_loss, .loop = take_pass};
    const char *const paths[] = {place->directory};
    struct sqt_run run;
    int64_t last = 0;
    memset(&found, 0, sizeof(found));
    struct sqt_stream *const stream = sqt_stream_open(paths, 1, report, NULL);
    assert_non_null(stream);
    struct sqt_model *const model = sqt_model_new(&consumer);
    while (sqt_stream_next(stream, &run)) {
        for (size_t i = 0; i < run.count; ++i) {
            const int64_t ns = sqt_line_ns(&run.line, run.records[i].time);
            assert_true(ns >= last - 1000);
            last = ns;
        }
        sqt_model_run(model, &run);
    }
    sqt_model_finish(model);
    sqt_model_free(model);
    sqt_stream_close(stream);
    assert_int_equal(found.problems, 0);
    assert_int_equal(found.losses, 0);
}

/* True times at which requests began and ended. */
static int64_t began[REQUESTS], ended[REQUESTS];

static void
begin_now(uint64_t id)
{
    began[id] = true_ns(CLOCK_MONOTONIC);
    begin(id);
}

static void
end_now(uint64_t id)
{
    end(id);
    ended[id] = true_ns(CLOCK_MONOTONIC);
}

static uint32_t
steps_added(void)
{
    return __atomic_load_n(&sqt_emitter.steps->added, __ATOMIC_ACQUIRE);
}

/* Waits for so long, and on a busy machine until the flusher has noticed one more step than before. */
static void
pause_until_noticed(uint32_t before, int64_t ms)
{
    pause_ms(ms);
    for (unsigned i = 0; i < 100 && steps_added() == before; ++i)
        pause_ms(20);
}

/* Requests before, across, and after a step; 3 ends right after it, mostly before anyone can know, 4 begins there. */
static void
requests_around(void (*step)(void))
{
    begin_now(1);
    begin_now(2);
    begin_now(3);
    pause_ms(40);
    end_now(1);
    wait_flushed();
    begin_now(6);
    const uint32_t before = steps_added();
    step();
    end_now(3);
    begin_now(4);
    end_now(6);
    pause_until_noticed(before, 300);
    end_now(4);
    end_now(2);
    begin_now(5);
    pause_ms(60);
    end_now(5);
}

static void
expect_unknown(unsigned id)
{
    const struct sqt_xact *const x = &found.requests[id];
    assert_int_equal(x->id, id);
    if (x->outcome != SQT_OUTCOME_CLOCK)
        fail_msg("request %u has outcome %d, and took %" PRId64 " ns", id, (int)x->outcome, x->end - x->begin);
}

static void
expect_true(unsigned id)
{
    const struct sqt_xact *const x = &found.requests[id];
    assert_int_equal(x->outcome, SQT_OUTCOME_COMPLETE);
    const int64_t took = ended[id] - began[id];
    if (x->end - x->begin > took || x->end - x->begin < took - 10 * MS)
        fail_msg("request %u took %" PRId64 " ns, and the trace says %" PRId64, id, took, x->end - x->begin);
}

static void
expect_step(unsigned i, uint32_t kind, int64_t size)
{
    assert_true(i < found.step_count);
    const struct sqt_step_row *const s = &found.steps[i];
    assert_string_equal(sqt_step_kind_name(s->kind), sqt_step_kind_name(kind));
    /* A step of the counter is as long as its rate says, and that is measured within the 20 ms of a start: 1.5 millionths
     * off were seen beside other work, 5 ms of an hour. */
    const int64_t off = sqt_step_ns(s) - size, most = 2 * MS + (size < 0 ? -size : size) / 10000;
    if (off > most || off < -most)
        fail_msg("a step of %" PRId64 " ns, and the trace says %" PRId64, size, sqt_step_ns(s));
    assert_true(s->from <= s->until);
}

/* The trace's time goes on: from the first request's begin to the last one's end it is as long as it truly was. */
static void
expect_true_time(void)
{
    const int64_t all = found.requests[5].end - found.requests[1].begin, truly = ended[5] - began[1];
    if (all > truly + 30 * MS || all < truly - 30 * MS)
        fail_msg("%" PRId64 " ns, and the trace says %" PRId64, truly, all);
}

static void
try(struct place *place, void (*step)(void), const char *clock)
{
    counter = monotonic = boottime = realtime = 0;
    setenv("SQTRACE_CLOCK", clock, 1);
    assert_int_equal(place_start(place, NULL), 0);
    requests_around(step);
    sqt_stop();
    read_trace(place);
}

static void
expect_hidden(uint32_t kind, int64_t size)
{
    expect_true(1);
    expect_unknown(2);
    expect_unknown(3);
    if (found.requests[4].outcome != SQT_OUTCOME_COMPLETE) /* it is where the flusher looked in the instant before it */
        expect_unknown(4);
    else
        expect_true(4);
    expect_true(5);
    expect_unknown(6);
    expect_step(0, kind, size);
    expect_true_time();
}

/* ---- the steps ---- */

static void
counter_back(void)
{
    move(&counter, -SECOND);
}

static void
a_counter_that_goes_back(void **state)
{
    try(*state, counter_back, "tsc");
    expect_hidden(SQT_STEP_BACK, -SECOND);
    assert_int_equal(found.step_count, 1);
}

static void
counter_forward(void)
{
    move(&counter, HOUR);
}

static void
a_counter_that_jumps_forward(void **state)
{
    try(*state, counter_forward, "tsc");
    expect_hidden(SQT_STEP_FORWARD, HOUR);
    assert_int_equal(found.step_count, 1);
}

static void
monotonic_back(void)
{
    move(&monotonic, -SECOND);
}

static void
a_monotonic_clock_that_goes_back(void **state)
{
    try(*state, monotonic_back, "monotonic");
    expect_hidden(SQT_STEP_BACK, -SECOND);
    assert_int_equal(found.step_count, 1);
}

/* The counter stands still while the machine is suspended, goes on, or begins anew. */
static void
suspend_still(void)
{
    move(&boottime, HOUR);
    move(&realtime, HOUR);
}

static void
suspend_going_on(void)
{
    suspend_still();
    move(&counter, HOUR);
}

static void
suspend_anew(void)
{
    suspend_still();
    move(&counter, -(int64_t)sqt_test_cycles() + SECOND);
}

static void
a_suspended_machine(void **state)
{
    void (*const steps[])(void) = {suspend_still, suspend_going_on, suspend_anew};
    struct place *const place = *state;
    for (unsigned i = 0; i < 3; ++i) {
        try(place, steps[i], "tsc");
        expect_hidden(SQT_STEP_SUSPEND, HOUR);
        assert_int_equal(found.step_count, 1);
        place_remove(place);
        place_make(place);
    }
    try(place, suspend_still, "monotonic");
    expect_hidden(SQT_STEP_SUSPEND, HOUR);
}

static void
wall_forward(void)
{
    move(&realtime, HOUR);
}

static void
wall_back(void)
{
    move(&realtime, -HOUR);
}

static void
a_time_of_day_that_is_set(void **state)
{
    for (int forward = 0; forward < 2; ++forward) {
        try(*state, forward ? wall_forward : wall_back, forward ? "tsc" : "monotonic");
        for (unsigned id = 1; id <= 6; ++id)
            expect_true(id);
        assert_int_equal(found.step_count, 1);
        expect_step(0, forward ? SQT_STEP_WALL_FORWARD : SQT_STEP_WALL_BACK, forward ? HOUR : -HOUR);
        expect_true_time();
        place_remove(*state);
        place_make(*state);
    }
}

static void
suspend_and_set(void)
{
    suspend_still();
    wall_back();
}

static void
both_at_once(void **state)
{
    try(*state, suspend_and_set, "tsc");
    assert_int_equal(found.step_count, 2);
    expect_hidden(SQT_STEP_SUSPEND, HOUR);
    expect_step(1, SQT_STEP_WALL_BACK, -HOUR);
}

static void
there_and_back(void)
{
    const uint32_t before = steps_added();
    counter_back();
    pause_until_noticed(before, 100);
    counter_forward();
    pause_until_noticed(before + 1, 100);
    counter_back();
}

static void
several_steps(void **state)
{
    try(*state, there_and_back, "tsc");
    assert_int_equal(found.step_count, 3);
    expect_hidden(SQT_STEP_BACK, -SECOND);
    expect_step(1, SQT_STEP_FORWARD, HOUR);
    expect_step(2, SQT_STEP_BACK, -SECOND);
}

static const char *const with_loop[] = {"events=client,loop", NULL};

/* A reading that another thread took, told after the step; and passes of the loop, which have their own. */
static void
readings_from_elsewhere(void **state)
{
    struct place *const place = *state;
    counter = monotonic = boottime = realtime = 0;
    setenv("SQTRACE_CLOCK", "tsc", 1);
    assert_int_equal(place_start(place, with_loop), 0);
    sqt_loop_waits(10);
    const uint32_t added = steps_added();
    counter_back();
    pause_until_noticed(added, 50);
    for (unsigned i = 0; i < 3; ++i) {
        sqt_loop_works(1);
        sqt_activity_ends("a call");
        sqt_loop_waits(10);
        pause_ms(20);
    }
    sqt_loop_works(1);
    const uint64_t before = sqt_read_clock(sqt_clock);
    pause_ms(30);
    const uint64_t now = sqt_read_clock(sqt_clock);
    sqt_emit(SQT_EV_SAMPLE, 7, before, 0);
    const uint64_t newest = sqt_emitter.last + sqt_emitter.offset;
    sqt_emit(SQT_EV_SAMPLE, 8, now + 2000000000, 0); /* later than the record: it was taken before the step */
    sqt_stop();

    struct sqt_run run;
    const char *const paths[] = {place->directory};
    struct sqt_stream *const stream = sqt_stream_open(paths, 1, report, NULL);
    unsigned samples = 0;
    while (sqt_stream_next(stream, &run))
        for (size_t i = 0; i < run.count; ++i) {
            const struct sqt_record *const r = &run.records[i];
            if (r->event != SQT_EV_SAMPLE)
                continue;
            ++samples;
            if (r->id == 7) {
                assert_int_equal(r->time, newest);
                assert_true(r->time - r->arg >= (uint64_t)(30 * MS) && r->time - r->arg < (uint64_t)SECOND);
            } else {
                assert_int_equal(r->arg, r->time);
            }
        }
    sqt_stream_close(stream);
    assert_int_equal(samples, 2);
    read_trace(place);
    assert_int_equal(found.passes, 3);
    assert_int_equal(found.unknown_passes, 1);
    assert_true(found.longest_wait >= 20 * MS && found.longest_wait < SECOND);
}

static void
a_pass_of_the_loop_across_a_step(void **state)
{
    counter = monotonic = boottime = realtime = 0;
    setenv("SQTRACE_CLOCK", "tsc", 1);
    assert_int_equal(place_start(*state, with_loop), 0);
    sqt_loop_waits(10);
    sqt_loop_works(1);
    const uint32_t added = steps_added();
    counter_forward();
    pause_until_noticed(added, 300);
    sqt_loop_waits(10);
    sqt_loop_works(1);
    sqt_loop_waits(10);
    sqt_stop();
    read_trace(*state);
    assert_int_equal(found.passes, 2);
    assert_int_equal(found.unknown_passes, 1);
}

/* The process is killed after the step was told and before the flusher had anything in a segment. */
static void
die_after(struct place *place, void (*step)(void))
{
    const pid_t child = fork();
    if (!child) {
        static const char *const words[] = {"ring=1MB", NULL};
        counter = monotonic = boottime = realtime = 0;
        setenv("SQTRACE_CLOCK", "tsc", 1);
        if (place_start(place, words) != 0)
            _exit(1);
        requests_around(step);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void
a_ring_that_is_left_over(void **state)
{
    struct place *const place = *state;
    for (int forward = 0; forward < 2; ++forward) {
        /* The child's begin times: the same pauses, so its own requests are judged by outcome alone. */
        die_after(place, forward ? counter_forward : counter_back);
        for (int adopted = 0; adopted < 2; ++adopted) {
            read_trace(place);
            assert_int_equal(found.step_count, 1);
            expect_step(0, forward ? SQT_STEP_FORWARD : SQT_STEP_BACK, forward ? HOUR : -SECOND);
            assert_int_equal(found.requests[1].outcome, SQT_OUTCOME_COMPLETE);
            assert_int_equal(found.requests[5].outcome, SQT_OUTCOME_COMPLETE);
            const int64_t took = found.requests[5].end - found.requests[5].begin;
            assert_true(took >= 55 * MS && took < SECOND);
            expect_unknown(2);
            expect_unknown(3);
            expect_unknown(6);
            const struct sqt_xact *const at_once = &found.requests[4]; /* as in expect_hidden() */
            assert_int_equal(at_once->id, 4);
            if (at_once->outcome != SQT_OUTCOME_COMPLETE)
                expect_unknown(4);
            else
                assert_true(at_once->end - at_once->begin >= 295 * MS && at_once->end - at_once->begin < SECOND);
            const int64_t all = found.requests[5].end - found.requests[1].begin;
            assert_true(all >= 300 * MS && all < 10 * SECOND);
            if (adopted)
                break;
            counter = 0;
            assert_int_equal(place_start(place, NULL), 0);
            for (unsigned i = 0; i < 100 && place_count(place->directory, ".ring") > 1; ++i)
                pause_ms(20);
            sqt_stop();
            assert_int_equal(place_count(place->directory, ".ring"), 0);
        }
        place_remove(place);
        place_make(place);
    }
}

/* ---- time that goes by ---- */

/* age= holds while a process runs: it looks once a minute. */
static void
what_is_too_old_goes_after_a_minute(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"age=1h", NULL};
    static const char *const old = "test.7.20250101T000000Z.cccccccc.000000.sqt",
                             *const young = "test.7.20250101T000000Z.cccccccc.000001.sqt";
    counter = monotonic = boottime = realtime = 0;
    assert_int_equal(place_start(place, words), 0);
    pause_ms(300); /* what the start looks after is over */
    place_segment(place, old, 1, 2 * HOUR, 1000);
    place_segment(place, young, 1, HOUR / 2, 1000);
    pause_ms(500);
    assert_true(place_has(place, old));
    move(&counter, 61 * SECOND);
    move(&monotonic, 61 * SECOND);
    move(&boottime, 61 * SECOND);
    move(&realtime, 61 * SECOND);
    for (unsigned i = 0; i < 250 && place_has(place, old); ++i)
        pause_ms(20);
    assert_false(place_has(place, old));
    assert_true(place_has(place, young));
    sqt_stop();
    counter = monotonic = boottime = realtime = 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_counter_that_goes_back),
        PLACE_TEST(a_counter_that_jumps_forward),
        PLACE_TEST(a_monotonic_clock_that_goes_back),
        PLACE_TEST(a_suspended_machine),
        PLACE_TEST(a_time_of_day_that_is_set),
        PLACE_TEST(both_at_once),
        PLACE_TEST(several_steps),
        PLACE_TEST(readings_from_elsewhere),
        PLACE_TEST(a_pass_of_the_loop_across_a_step),
        PLACE_TEST(a_ring_that_is_left_over),
        PLACE_TEST(what_is_too_old_goes_after_a_minute),
    };
    return cmocka_run_group_tests_name("trace_steps", tests, NULL, NULL);
}
