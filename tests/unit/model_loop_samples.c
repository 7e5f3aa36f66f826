/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_loop_samples.c - samples of the main thread: how its time is divided, and the tables that are made of it.
 */
#include "figure/loop/holders.h"
#include "model_script.h"

#define MS INT64_C(1000000)
#define US UINT64_C(1000)

static struct sqt_loop_sample_row told[SCRIPT_ROWS];
static unsigned told_count;
static union sqt_cell table[SCRIPT_ROWS][16];
static char texts[SCRIPT_ROWS][3][128];
static unsigned rows;

static void
hear(void *context, const struct sqt_loop_sample_row *sample)
{
    (void)context;
    told[told_count++] = *sample;
}

static void
play_samples(void)
{
    const struct sqt_consumer consumer = {.loop_sample = hear};
    told_count = 0;
    play_to(&consumer);
}

static void
wait_ms(int64_t begin, int64_t end)
{
    PUT(begin * MS, WAIT_BEGIN, 0, 1000, 0);
    PUT(end * MS, WAIT_END, 0, 1, 0);
}

/* A sample that is told a nanosecond after it was taken. */
static void
sample(int64_t from, int64_t at, int64_t ran, int64_t queued, uint32_t flags, int64_t since)
{
    PUT(at * MS + 1, LOOP_SAMPLE, (uint64_t)(from * MS), (uint64_t)(at * MS), flags & SQT_LOOP_IN_WAIT ? 0 : 4);
    PART(PART_LOOP_RAN, (uint64_t)(ran * MS), (uint64_t)(queued * MS),
         flags | (uint32_t)((uint64_t)since * US) << SQT_LOOP_FLAG_BITS);
}

static void
is(unsigned which, int64_t computing, int64_t blocked, int64_t queued, int64_t stopped, int64_t idle)
{
    const int64_t wanted[SQT_LOOP_PARTS] = {computing, blocked, queued, stopped, idle};
    assert_true(which < told_count);
    for (unsigned i = 0; i < SQT_LOOP_PARTS; ++i)
        assert_int_equal(told[which].parts[i], wanted[i] * MS);
}

/* Samples of a long pass are told together when it is over. */
static void
each_sample_of_a_long_pass_is_held(void **state)
{
    (void)state;
    static const int64_t at[] = {10, 40, 70, 100};
    wait_ms(0, 10);
    PUT(10 * MS, LOOP_SAMPLE, 5 * MS, 10 * MS, 0);
    PART(PART_LOOP_RAN, 0, 0, SQT_LOOP_IN_WAIT);
    for (unsigned i = 1; i < 4; ++i) {
        PUT(110 * MS, LOOP_SAMPLE, (uint64_t)(at[i - 1] * MS), (uint64_t)(at[i] * MS), 4);
        PART(PART_LOOP_RAN, 30 * MS, 0, 0);
    }
    wait_ms(110, 120);
    play_samples();
    assert_int_equal(told_count, 3);
    for (unsigned i = 0; i < 3; ++i)
        assert_int_equal(told[i].held, 30 * MS);
}

static void
what_is_left_is_blocked(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10); /* the first one: nobody knows what was before it */
    sample(20, 40, 12, 3, 0, 10);
    wait_ms(45, 55);
    sample(40, 60, 2, 0, 0, 10);
    PART(PART_LOOP_HELD, 0, 0, SQT_LOOP_CALLS + 2);
    PART(PART_LOOP_IN, 7, SQT_DISK_READ, 1);
    play_samples();
    assert_int_equal(told_count, 2);
    is(0, 12, 5, 3, 0, 0);
    assert_int_equal(told[0].activity, 4);
    assert_int_equal(told[0].throttled, 0);
    assert_int_equal(told[0].disk_call, SQT_DISK_OTHER);
    is(1, 2, 8, 0, 0, 10);
    assert_int_equal(told[1].since, 10 * MS);
    assert_int_equal(told[1].call, SQT_LOOP_CALLS + 2);
    assert_int_equal(told[1].acl, 7);
    assert_int_equal(told[1].disk_call, SQT_DISK_READ);
    assert_int_equal(told[1].dir, 1);
}

/* A sample that is taken in a wait is told after it. */
static void
a_wait_goes_on_at_the_sample(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 12, 2, 0, 0, 10);
    PUT(20 * MS, WAIT_BEGIN, 0, 1000, 0);
    PUT(50 * MS, WAIT_END, 0, 1, 0);
    PUT(51 * MS, LOOP_SAMPLE, 12 * MS, 32 * MS, 0);
    PART(PART_LOOP_RAN, 8 * MS, 0, SQT_LOOP_IN_WAIT);
    sample(32, 52, 2, 0, 0, 10);
    play_samples();
    assert_int_equal(told_count, 2);
    is(0, 8, 0, 0, 0, 12);
    assert_true(told[0].waits);
    is(1, 2, 0, 0, 0, 18);
}

/* The kernel tells how long a thread waited for a processor once it has one. */
static void
a_wait_for_a_processor_that_is_told_late(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, 30, 2, 0, SQT_LOOP_RUNNABLE, 10);
    sample(30, 40, 5, 13, 0, 10);
    sample(40, 50, 4, 0, SQT_LOOP_RUNNABLE | SQT_LOOP_THROTTLING_UNKNOWN, 10);
    sample(50, 60, 5, 11, 0, 10);
    play_samples();
    assert_int_equal(told_count, 4);
    is(0, 2, 0, 8, 0, 0);
    is(1, 5, 0, 5, 0, 0);
    is(2, 4, 0, 6, 0, 0);
    is(3, 5, 0, 5, 0, 0);
    assert_int_equal(told[2].throttled, SQT_MISSING);
}

/* The flusher was due 10 ms after it looked, and came 80 ms late: the process was stopped for 80 to 90 ms. */
static void
a_stop(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, 110, 4, 0, 0, 90);
    PART(PART_LOOP_HELD, 80 * MS, 0, 0);
    wait_ms(120, 190);
    sample(110, 200, 10, 0, 0, 90); /* in a wait nothing tells when it began */
    PART(PART_LOOP_HELD, 50 * MS, 0, 0);
    play_samples();
    is(0, 4, 0, 0, 86, 0);
    is(1, 10, 0, 0, 50, 30);
}

static void
a_throttled_group(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, 120, 20, 80, 0, 100);
    PART(PART_LOOP_HELD, 0, 160 * MS, 0); /* of two processors */
    play_samples();
    is(0, 20, 0, 80, 0, 0);
    assert_int_equal(told[0].throttled, 80 * MS);
}

/* The kernel tells both when the thread runs again: 8 ms of the first sample, 5 ms of the second. */
static void
throttling_that_is_told_late(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, 30, 2, 0, SQT_LOOP_RUNNABLE, 10);
    sample(30, 40, 5, 13, 0, 10);
    PART(PART_LOOP_HELD, 0, 20 * MS, 0); /* of two processors */
    play_samples();
    is(0, 2, 0, 8, 0, 0);
    is(1, 5, 0, 5, 0, 0);
    assert_int_equal(told[0].throttled, 0);
    assert_int_equal(told[1].throttled, 13 * MS);
}

static void
samples_that_do_not_follow_each_other(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(30, 40, 10, 0, 0, 10); /* what was before it is missing */
    PUT(41 * MS, LOST, (uint64_t)(40 * MS), 10, SQT_LOSS_RING_FULL);
    sample(40, 50, 10, 0, 0, 10);
    sample(50, 60, 10, 0, 0, 10);
    play_samples();
    assert_int_equal(told_count, 1);
    is(0, 10, 0, 0, 0, 0);
    assert_int_equal(told[0].from, 50 * MS);
}

static struct sqt_loop_row passed[SCRIPT_ROWS];
static unsigned passed_count;

static void
hear_pass(void *context, const struct sqt_loop_row *pass)
{
    (void)context;
    passed[passed_count++] = *pass;
}

/* Only a damaged trace has two samples of the same time: the pass keeps the first.  Of the two more, the first does not
 * follow the one before it, so that it tells only where the second begins. */
static void
samples_of_the_same_time(void **state)
{
    (void)state;
    const struct sqt_consumer consumer = {.loop = hear_pass};
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, 100, 5, 0, 0, 80);
    for (int64_t from = 50; from < 90; from += 20) {
        PUT(110 * MS, LOOP_SAMPLE, (uint64_t)(from * MS), (uint64_t)((from + 20) * MS), 4);
        PART(PART_LOOP_RAN, 5 * MS, 0, 0);
    }
    wait_ms(120, 130);
    passed_count = 0;
    play_to(&consumer);
    assert_int_equal(passed_count, 1);
    assert_int_equal(passed[0].parts[SQT_LOOP_COMPUTING], 5 * MS + 20 * MS * 5 / 90);
    assert_int_equal(passed[0].parts[SQT_LOOP_BLOCKED], 75 * MS + 20 * MS * 75 / 90);
}

/* Only a damaged trace has samples that add up to more than 292 years. */
static void
sums_of_any_size(void **state)
{
    (void)state;
    const struct sqt_loop_sample_row row = {
        .held = INT64_MAX,
        .waits = 1,
        .throttled = INT64_MAX / 2,
        .parts = {[SQT_LOOP_BLOCKED] = INT64_C(1) << 60, [SQT_LOOP_QUEUED] = INT64_C(1) << 61}};
    struct sqt_holders holders;
    sqt_holders_init(&holders);
    for (unsigned i = 0; i < 10; ++i)
        sqt_holders_add(&holders, &row);
    assert_int_equal(holders.parts[SQT_LOOP_BLOCKED], INT64_MAX);
    assert_int_equal(holders.parts[SQT_LOOP_QUEUED], INT64_MAX);
    assert_int_equal(holders.throttled, INT64_MAX);
    assert_int_equal(sqt_holders_most(&holders), SQT_HELD_NOT_RUNNING);
    sqt_holders_free(&holders);
}

/* ---- the tables ---- */

static int
keep_row(void *context, const union sqt_cell *row)
{
    const struct sqt_job *const job = context;
    unsigned t = 0;
    for (unsigned i = 0; i < job->table->column_count; ++i) {
        table[rows][i] = row[i];
        if (job->table->columns[i].type == SQT_TYPE_TEXT && row[i].text) {
            strcpy(texts[rows][t], row[i].text);
            table[rows][i].text = texts[rows][t++];
        }
    }
    ++rows;
    return 1;
}

static void
play_table(const char *name)
{
    struct sqt_job job = {.table = sqt_table_find(name, 0), .since = INT64_MIN, .until = INT64_MAX, .row = keep_row};
    const struct sqt_family *const family = sqt_family_of(job.table);
    struct sqt_consumer consumer = family->consumer;
    job.context = &job;
    consumer.context = &job;
    rows = 0;
    family->start(&job);
    play_to(&consumer);
    family->finish(&job);
}

/* A second and a half: 500 ms of an ACL, 240 ms of reads, and a wait. */
static void
put_seconds(void)
{
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    for (int64_t at = 20; at < 520; at += 20) {
        sample(at, at + 20, 20, 0, 0, 20);
        PART(PART_LOOP_IN, 7, 0, UINT32_MAX);
    }
    for (int64_t at = 520; at < 760; at += 20) {
        sample(at, at + 20, 0, 0, 0, 20);
        PART(PART_LOOP_HELD, 0, 0, SQT_LOOP_CALLS + 2);
        PART(PART_LOOP_IN, 0, SQT_DISK_READ, 1);
    }
    wait_ms(760, 1500);
    sample(760, 1520, 20, 0, 0, 20);
}

#define OF(row, t, name) table[row][SQT_CELL(t, name)]

static void
a_second_is_divided(void **state)
{
    (void)state;
    put_seconds();
    play_table("loop_time");
    assert_int_equal(rows, 2);
    assert_int_equal(OF(0, loop_time, time_s).number, 0);
    /* the 20 ms of the last sample came after the look before, 20 ms before its end */
    assert_in_range(OF(0, loop_time, computing_pct).number, 51000, 51050);
    assert_in_range(OF(0, loop_time, blocked_pct).number, 24480, 24500);
    assert_int_equal(OF(0, loop_time, not_running_pct).number, 0);
    assert_string_equal(OF(0, loop_time, blocked_on).text, "read on cache_dir 1 (diskd)");
    assert_in_range(OF(0, loop_time, idle_pct).number, 24480, 24500);
    assert_int_equal(OF(1, loop_time, time_s).number, 1000 * MS);
    assert_in_range(OF(1, loop_time, computing_pct).number, 3840, 3850);
    assert_null(OF(1, loop_time, blocked_on).text);
}

static void
a_profile_names_the_acl_and_the_cache_dir(void **state)
{
    (void)state;
    put_seconds();
    play_table("profile");
    assert_int_equal(rows, 3);
    assert_string_equal(OF(0, profile, activity).text, "a call");
    assert_string_equal(OF(0, profile, acl).text, "bad_sites");
    assert_int_equal(OF(0, profile, samples).number, 25);
    assert_in_range(OF(0, profile, share_pct).number, 51000, 51100);
    assert_int_equal(OF(0, profile, computing_pct).number, OF(0, profile, share_pct).number);
    assert_string_equal(OF(1, profile, activity).text, "read on cache_dir 1 (diskd)");
    assert_null(OF(1, profile, acl).text);
    assert_string_equal(OF(1, profile, call).text, "write");
    assert_int_equal(OF(1, profile, blocked_pct).number, OF(1, profile, share_pct).number);
    assert_int_equal(OF(2, profile, time_s).number, 1000 * MS);
}

static void
put_blocked(uint32_t call, int64_t ran)
{
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, 40, ran, 0, 0, 20);
    PART(PART_LOOP_HELD, 0, 0, SQT_LOOP_CALLS + call);
    wait_ms(40, 1500);
    sample(40, 1520, 20, 0, 0, 20);
}

/* In traces from before, a sample may name the loop's own wait. */
static void
the_wait_of_the_loop_blocks_nothing(void **state)
{
    (void)state;
    put_blocked(233, 10);
    play_table("profile");
    assert_null(OF(0, profile, call).text);
}

/* Seen in a call, but no time of the second is left for it. */
static void
what_is_blocked_for_no_time_is_not_named(void **state)
{
    (void)state;
    put_blocked(2, 20);
    play_table("loop_time");
    assert_int_equal(OF(0, loop_time, blocked_pct).number, 0);
    assert_null(OF(0, loop_time, blocked_on).text);
}

/* A trace says what it likes: a sample of years gives no more rows than one of seconds. */
static void
a_sample_of_years(void **state)
{
    (void)state;
    wait_ms(0, 10);
    sample(0, 20, 10, 0, 0, 10);
    sample(20, INT64_C(1000) * 86400000, 10, 0, 0, 10);
    play_table("loop_time");
    assert_in_range(rows, 2, 6);
}

/* A sample is recorded after it is taken.  If records in between are lost, so may be waits that the next sample needs. */
static void
waits_among_the_lost(void **state)
{
    (void)state;
    PUT(40 * MS, LOST, 25 * MS, 2, SQT_LOSS_RING_FULL); /* a wait from 25 to 35 ms */
    PUT(41 * MS, LOOP_SAMPLE, 2 * MS, 22 * MS, 4);
    PART(PART_LOOP_RAN, 10 * MS, 0, SQT_LOOP_RUNNABLE);
    wait_ms(50, 60);
    sample(22, 70, 28, 0, SQT_LOOP_RUNNABLE, 0);
    wait_ms(80, 85);
    sample(70, 90, 15, 0, SQT_LOOP_RUNNABLE, 0);
    play_samples();
    assert_int_equal(told_count, 1);
    is(0, 15, 0, 0, 0, 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_sample_of_a_long_pass_is_held, script_begin, script_end),
        cmocka_unit_test_setup_teardown(what_is_left_is_blocked, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_wait_goes_on_at_the_sample, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_wait_for_a_processor_that_is_told_late, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_stop, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_throttled_group, script_begin, script_end),
        cmocka_unit_test_setup_teardown(throttling_that_is_told_late, script_begin, script_end),
        cmocka_unit_test_setup_teardown(samples_that_do_not_follow_each_other, script_begin, script_end),
        cmocka_unit_test_setup_teardown(samples_of_the_same_time, script_begin, script_end),
        cmocka_unit_test(sums_of_any_size),
        cmocka_unit_test_setup_teardown(a_second_is_divided, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_profile_names_the_acl_and_the_cache_dir, script_begin, script_end),
        cmocka_unit_test_setup_teardown(the_wait_of_the_loop_blocks_nothing, script_begin, script_end),
        cmocka_unit_test_setup_teardown(what_is_blocked_for_no_time_is_not_named, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_sample_of_years, script_begin, script_end),
        cmocka_unit_test_setup_teardown(waits_among_the_lost, script_begin, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
