/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_stops.c - when the process did not run: from waits that outlast their time-outs, and from late heartbeats.
 */
#include "model_script.h"

#define MS INT64_C(1000000)

static struct sqt_stop_row told[SCRIPT_ROWS];
static struct sqt_loop_row passes[SCRIPT_ROWS];
static unsigned told_count;

static void
hear(void *context, const struct sqt_stop_row *stop)
{
    (void)context;
    passes[told_count] = *stop->pass;
    told[told_count++] = *stop;
}

/* Plays the records up to the end of the trace. */
static void
play_stops(void)
{
    const struct sqt_consumer consumer = {.stop = hear};
    told_count = 0;
    play_to(&consumer);
}

static void
wait_begins(int64_t ms, uint64_t timeout_ms)
{
    PUT(ms * MS, WAIT_BEGIN, 0, timeout_ms, 0);
}

static void
wait_ends(int64_t ms, int interrupted)
{
    PUT(ms * MS, WAIT_END, 0, !interrupted, (uint32_t)interrupted);
}

static void
late(int64_t told_ms, int64_t last_ms, int64_t again_ms, uint32_t main_thread)
{
    PUT(told_ms * MS, HEARTBEAT_LATE, (uint64_t)(last_ms * MS), (uint64_t)(again_ms * MS), main_thread);
}

static void
late_since_due(int64_t told_ms, int64_t last_ms, int64_t due_ms, int64_t again_ms, uint32_t main_thread)
{
    late(told_ms, last_ms, again_ms, main_thread);
    PART(PART_HEARTBEAT_DUE, (uint64_t)(due_ms * MS), 0, 0);
}

static void
is(unsigned which, int waited, int64_t begin_ms, int64_t end_ms, int64_t ns)
{
    assert_true(which < told_count);
    assert_int_equal(told[which].waited, waited);
    assert_int_equal(told[which].begin, begin_ms * MS);
    assert_int_equal(told[which].end, end_ms * MS);
    assert_int_equal(told[which].ns, ns);
}

static void
a_wait_that_outlasts_its_time_out(void **state)
{
    (void)state;
    wait_begins(0, 1000);
    wait_ends(1524, 0);
    wait_begins(1530, 100);
    wait_ends(1654, 0); /* some late is nothing */
    wait_begins(1660, UINT64_MAX);
    wait_ends(99000, 0); /* it waited for as long as it takes */
    wait_begins(99001, 0);
    wait_ends(99026, 0);
    wait_begins(99030, 1000);
    play_stops();
    assert_int_equal(told_count, 2);
    is(0, 1, 1000, 1524, 524 * MS);
    assert_int_equal(passes[0].end, 1530 * MS);
    is(1, 1, 99001, 99026, 25 * MS);
}

/* The flusher was due at 205 ms: the process was stopped between 180 ms and then. */
static void
a_heartbeat_that_was_late_in_a_wait(void **state)
{
    (void)state;
    wait_begins(20, 1000);
    wait_ends(700, 1);
    wait_begins(702, 1000);
    wait_ends(1000, 0);
    late(1001, 180, 701, 100);
    wait_begins(1002, 1000);
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 1, 180, 700, 520 * MS);
    assert_int_equal(passes[0].begin, 20 * MS);
}

/* The flusher slept from 10 ms to 410 ms, and in that time a wait began: the process was stopped at some moment of it. */
static void
a_wait_that_began_while_the_flusher_slept(void **state)
{
    (void)state;
    wait_begins(0, 10);
    wait_ends(10, 0);
    wait_begins(150, 1000);
    wait_ends(700, 1);
    wait_begins(702, 1000);
    wait_ends(900, 0);
    late_since_due(901, 10, 410, 701, 100);
    wait_begins(902, 1000);
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 1, 150, 700, 550 * MS);
}

/* The loop went on after the flusher was due: the flusher alone had no processor. */
static void
a_wait_that_began_after_the_flusher_was_due(void **state)
{
    (void)state;
    wait_begins(0, 1000);
    wait_ends(430, 0);
    wait_begins(431, 1000);
    wait_ends(600, 0);
    late_since_due(601, 10, 400, 460, 100); /* 30 ms of one wait, and 29 ms of the next */
    wait_begins(602, 1000);
    wait_ends(700, 0);
    wait_begins(710, 1000);
    wait_ends(900, 0);
    late_since_due(901, 300, 700, 740, 100); /* 30 ms of a wait, and 10 ms before it */
    wait_begins(902, 1000);
    play_stops();
    assert_int_equal(told_count, 0);
}

/* Of a Squid that works a wait is short, and tells better when it was stopped. */
static void
a_heartbeat_that_was_late_in_a_wait_that_begins_after_it(void **state)
{
    (void)state;
    wait_begins(191, 1000);
    wait_ends(700, 0);
    wait_begins(702, 0);
    wait_ends(702, 0);
    late(703, 180, 701, 11000);
    wait_begins(704, 0);
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 1, 191, 700, 509 * MS);
}

/* The flusher alone had no processor. */
static void
a_heartbeat_that_was_late_while_the_loop_went_on(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 1000; at += 200) {
        wait_begins(at, 1000);
        wait_ends(at + 190, 0);
    }
    late(995, 100, 500, 0);
    late(996, 100, 260, 0); /* 90 ms of one wait, 60 ms of the next */
    wait_begins(1000, 1000);
    play_stops();
    assert_int_equal(told_count, 0);
}

static void
a_flusher_that_was_at_work(void **state)
{
    (void)state;
    wait_begins(0, 1000);
    wait_ends(700, 0);
    wait_begins(701, 1000);
    wait_ends(1200, 1);
    late(1201, 100, 650, SQT_HEARTBEAT_AT_WORK);  /* its disk was slow */
    late(1202, 720, 1199, SQT_HEARTBEAT_AT_WORK); /* and here the process was stopped, as the wait tells */
    wait_begins(1203, 1000);
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 1, 720, 1199, 479 * MS);
}

static void
a_heartbeat_that_was_late_in_work(void **state)
{
    (void)state;
    wait_begins(0, 1000);
    wait_ends(10, 0);
    wait_begins(530, 1000); /* stopped for 500 ms, and worked for 20 ms */
    wait_ends(531, 0);
    wait_begins(1031, 1000); /* worked for 500 ms, and the flusher had no processor */
    wait_ends(1032, 0);
    late(1033, 8, 520, 12500);
    late(1033, 540, 1031, 490000);
    late(1033, 540, 1031, SQT_HEARTBEAT_AT_WORK);
    wait_begins(1034, 1000);
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 0, 10, 520, 510 * MS - 10500000); /* of 12.5 ms, 2 ms may have been before */
    assert_int_equal(passes[0].work, 10 * MS);
}

/* Plays a pass that waits, works and ends at those times, and a late heartbeat with what the main thread computed. */
static void
play_pass(int64_t begin_ms, int64_t work_ms, int64_t end_ms, int64_t last_ms, int64_t again_ms, uint32_t us)
{
    wait_begins(begin_ms, 1000);
    wait_ends(work_ms, 0);
    wait_begins(end_ms, 0);
    wait_ends(end_ms, 0);
    late(end_ms + 1, last_ms, again_ms, us);
    wait_begins(end_ms + 2, 0);
    play_stops();
}

/* The flusher had no processor while the main thread worked, before the process was stopped for 500 ms. */
static void
a_heartbeat_that_was_late_before(void **state)
{
    (void)state;
    play_pass(0, 80, 580, 5, 581, 73000);
    assert_int_equal(told_count, 1);
    is(0, 0, 80, 580, 500 * MS);
}

/* The same in a wait, after which the main thread worked. */
static void
a_heartbeat_that_was_late_after(void **state)
{
    (void)state;
    play_pass(322, 822, 866, 313, 865, 50000);
    assert_int_equal(told_count, 1);
    is(0, 1, 322, 822, 500 * MS);
}

/* So long the flusher may not be late without a reason. */
static void
a_heartbeat_that_was_late_before_for_nothing(void **state)
{
    (void)state;
    play_pass(0, 80, 580, 5, 581, 20000);
    assert_int_equal(told_count, 0);
}

/* The flusher had no processor for long while the main thread worked, and perhaps in the wait, too. */
static void
a_heartbeat_that_was_late_elsewhere(void **state)
{
    (void)state;
    play_pass(0, 300, 500, 5, 500, 195000);
    assert_int_equal(told_count, 0);
}

/* A quarter of the time, but more than 100 ms. */
static void
a_heartbeat_that_was_late_for_longer_elsewhere(void **state)
{
    (void)state;
    play_pass(0, 110, 610, 5, 611, 110000);
    assert_int_equal(told_count, 0);
}

/* A pass may be the one in which its heartbeat is told, and is known when it is over. */
static void
told_within_its_pass(void **state)
{
    (void)state;
    wait_begins(0, 1000);
    wait_ends(10, 0);
    late(600, 5, 550, 100);
    wait_begins(610, 1000);
    wait_ends(1600, 0);
    late(1601, 900, 1599, 100); /* the trace ends first: the pass is not known */
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 0, 10, 550, 540 * MS);
}

/* What is remembered of passes is bounded, and so is what waits for one. */
static void
many(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 1000; ++i) {
        wait_begins(i * 100, 1000);
        wait_ends(i * 100 + 99, 0);
    }
    late(99999, 0, 99, 0); /* forgotten */
    late(99999, 98800, 98899, 0);
    for (unsigned i = 0; i < 200; ++i)
        late(99999, 99999, 100000, 0);
    wait_begins(100000, 1000);
    play_stops();
    assert_int_equal(told_count, 1);
    is(0, 1, 98800, 98899, 99 * MS);
}

/* ---- in words ---- */

static char said[SCRIPT_ROWS][160];
static union sqt_cell rows[SCRIPT_ROWS][SQT_CELLS(stalls)];
static unsigned said_count;

static int
hear_row(void *context, const union sqt_cell *row)
{
    (void)context;
    snprintf(said[said_count], sizeof(said[0]), "%s", row[SQT_CELL(stalls, stall)].text);
    memcpy(rows[said_count++], row, sizeof(rows[0]));
    return 1;
}

static void
say_stop(struct sqt_job *job, const struct sqt_loop_row *pass, int waited, int64_t begin, int64_t length)
{
    sqt_family_stalls.consumer.stop(
        job,
        &(struct sqt_stop_row){.pass = pass, .waited = waited, .begin = begin, .end = begin + length, .ns = length});
}

static void
stops_in_words(void **state)
{
    (void)state;
    const int64_t s = 1000 * MS;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = hear_row};
    struct sqt_loop_row pass = {.origin = script.origins,
                                .begin = 12 * s,
                                .work = 14 * s,
                                .end = 14 * s + 520 * MS,
                                .activity = 4,
                                .activity_ns = 519 * MS};
    said_count = 0;
    sqt_family_stalls.start(&job);
    sqt_family_stalls.consumer.loop(&job, &pass);
    say_stop(&job, &pass, 0, pass.work, 300 * MS);
    say_stop(&job, &pass, 0, pass.work + 310 * MS, 200 * MS);
    say_stop(&job, &pass, 1, 13 * s, s);                     /* its time was up */
    say_stop(&job, &pass, 1, 13 * s - 70 * MS, s + 70 * MS); /* its heartbeat tells more */
    say_stop(&job, &pass, 1, 13 * s, s);
    say_stop(&job, &pass, 1, 12 * s, 40 * MS); /* another one, in the same wait */
    pass.begin += 3 * s;
    pass.work = pass.begin + s;
    pass.end = pass.work + 800 * MS;
    pass.activity_ns = 790 * MS;
    sqt_family_stalls.consumer.loop(&job, &pass);
    say_stop(&job, &pass, 0, pass.work, 300 * MS); /* most of the pass it worked */
    pass.begin += 3 * s;
    pass.work = pass.begin + s;
    pass.end = pass.work + 30 * MS;
    sqt_family_stalls.consumer.loop(&job, &pass);
    for (unsigned i = 0; i < 100; ++i)
        say_stop(&job, &pass, 0, pass.work, 29 * MS);
    sqt_family_stalls.finish(&job);
    assert_int_equal(said_count, 5);
    assert_string_equal(said[4], "19.000 s: 30 ms, of which 30 ms not running (stopped, or no processor)");
    assert_string_equal(said[0], "12.930 s: 1.07 s not running (stopped, or no processor)");
    assert_string_equal(said[1], "16.000 s: 790 ms in a call");
    assert_string_equal(said[2], "14.000 s: 520 ms, of which 500 ms not running (stopped, or no processor)");
    assert_string_equal(said[3], "12.000 s: 40 ms not running (stopped, or no processor)");
    assert_int_equal(rows[0][SQT_CELL(stalls, work_ms)].number, s + 70 * MS);
    assert_int_equal(rows[0][SQT_CELL(stalls, longest_ms)].number, s + 70 * MS);
    assert_int_equal(rows[2][SQT_CELL(stalls, longest_ms)].number, 500 * MS);
}

/* Twenty of all are kept, and a stop of a pass that is not among them changes nothing. */
static void
the_worst_are_kept(void **state)
{
    (void)state;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = hear_row};
    struct sqt_loop_row pass = {.origin = script.origins, .activity = UINT32_MAX};
    said_count = 0;
    sqt_family_stalls.start(&job);
    for (int64_t i = 0; i < 40; ++i) {
        pass.begin = i * 1000 * MS;
        pass.work = pass.begin + 900 * MS;
        pass.end = pass.work + 2 * i * MS;
        sqt_family_stalls.consumer.loop(&job, &pass);
        say_stop(&job, &pass, 1, pass.begin, (2 * i + 1) * MS);
    }
    sqt_family_stalls.finish(&job);
    assert_int_equal(said_count, 20);
    for (unsigned i = 0; i < 20; ++i)
        assert_int_equal(rows[i][SQT_CELL(stalls, work_ms)].number, (79 - (int64_t)i) * MS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_wait_that_outlasts_its_time_out),
        SCRIPT_TEST(a_heartbeat_that_was_late_in_a_wait),
        SCRIPT_TEST(a_wait_that_began_while_the_flusher_slept),
        SCRIPT_TEST(a_wait_that_began_after_the_flusher_was_due),
        SCRIPT_TEST(a_heartbeat_that_was_late_in_a_wait_that_begins_after_it),
        SCRIPT_TEST(a_heartbeat_that_was_late_while_the_loop_went_on),
        SCRIPT_TEST(a_flusher_that_was_at_work),
        SCRIPT_TEST(a_heartbeat_that_was_late_in_work),
        SCRIPT_TEST(a_heartbeat_that_was_late_before),
        SCRIPT_TEST(a_heartbeat_that_was_late_after),
        SCRIPT_TEST(a_heartbeat_that_was_late_before_for_nothing),
        SCRIPT_TEST(a_heartbeat_that_was_late_elsewhere),
        SCRIPT_TEST(a_heartbeat_that_was_late_for_longer_elsewhere),
        SCRIPT_TEST(told_within_its_pass),
        SCRIPT_TEST(many),
        SCRIPT_TEST(stops_in_words),
        SCRIPT_TEST(the_worst_are_kept),
    };
    return cmocka_run_group_tests_name("model_stops", tests, NULL, NULL);
}
