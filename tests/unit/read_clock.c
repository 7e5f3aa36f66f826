/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_clock.c - ticks become nanoseconds, and origins are merged by them.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read_common.h"

static struct read_result result;

static int
begin(void **state)
{
    (void)state;
    read_directory();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    read_free(&result);
    read_directory_remove();
    return 0;
}

/* A segment of one block for each pair of anchors, a record at each of the given times. */
struct sample {
    uint64_t time;
    struct sqt_anchor from, to;
};

static void
make_samples(const char *path, const struct sqt_identity *who, const struct sample *samples, size_t n)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_pack_table table;
    struct sqt_record record;
    sqt_pack_table_init(&table);
    make_header(&bytes, who, 0);
    make_text(&bytes, NULL);
    for (size_t i = 0; i < n; ++i) {
        read_simple(&record, 1);
        record.time = samples[i].time;
        make_block_with(&bytes, who, i, &record, 1, 0, 0, &samples[i].from, &samples[i].to, &table);
    }
    make_file(path, &bytes);
    make_free(&bytes);
}

#define SECOND MAKE_TICKS_PER_SECOND

static struct sqt_anchor
anchor(uint64_t ticks, uint64_t monotonic_ns)
{
    const struct sqt_anchor a = {ticks, monotonic_ns, MAKE_REALTIME_NS + monotonic_ns - MAKE_MONOTONIC_NS};
    return a;
}

static void
the_anchors_say_the_rate(void **state)
{
    struct sqt_identity who;
    const uint64_t m = MAKE_MONOTONIC_NS, t = MAKE_START;
    /* The clock runs 100 parts in a million fast for a second, then true. */
    const struct sample samples[] = {
        {t, anchor(t, m), anchor(t + SECOND + SECOND / 10000, m + 1000000000)},
        {t + SECOND / 2, anchor(t, m), anchor(t + SECOND + SECOND / 10000, m + 1000000000)},
        {t + SECOND + SECOND / 10000 + 3000, anchor(t + SECOND + SECOND / 10000, m + 1000000000),
         anchor(t + 2 * SECOND + SECOND / 10000, m + 2000000000)},
    };
    (void)state;
    make_identity(&who, 1, 1);
    make_samples(read_path("a.sqt"), &who, samples, 3);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 3);
    assert_int_equal(result.ns[0], 0);
    assert_true(llabs(result.ns[1] - 499950005) <= 1);
    assert_true(llabs(result.ns[2] - 1000001000) <= 1);
}

static void
close_or_wrong_anchors_leave_the_nominal_rate(void **state)
{
    struct sqt_identity who;
    const uint64_t m = MAKE_MONOTONIC_NS, t = MAKE_START;
    const struct sample samples[] = {
        {t + 300, anchor(t, m), anchor(t + 600, m + 900)},              /* too close */
        {t + SECOND, anchor(t, m), anchor(t + SECOND, m + 5000000000)}, /* a rate five times off */
        {t + 2 * SECOND, anchor(t, m), anchor(t, m)},                   /* no rate */
    };
    (void)state;
    make_identity(&who, 1, 1);
    make_samples(read_path("a.sqt"), &who, samples, 3);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 3);
    assert_int_equal(result.start_ns, MAKE_REALTIME_NS + 100);
    assert_int_equal(result.ns[1], 999999900);
    assert_int_equal(result.ns[2], 1999999900);
}

static void
time_never_goes_back_within_an_origin(void **state)
{
    struct sqt_identity who;
    const uint64_t m = MAKE_MONOTONIC_NS, t = MAKE_START;
    const struct sample samples[] = {
        {t, anchor(t, m + 5000), anchor(t + SECOND, m + 1000005000)},
        {t + 300, anchor(t + 300, m + 100), anchor(t + SECOND, m + 1000000000)}, /* an anchor 5 us early */
        {t + 30000, anchor(t + 30000, m + 10000), anchor(t + SECOND, m + 1000000000)},
    };
    (void)state;
    make_identity(&who, 1, 1);
    make_samples(read_path("a.sqt"), &who, samples, 3);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 3);
    assert_false(result.went_back);
    assert_true(result.ns[2] >= result.ns[1] && result.ns[1] >= result.ns[0]);
    assert_int_equal(result.ns[2], 5000);
}

static void
a_stamp_far_away_does_not_overflow(void **state)
{
    const struct sqt_line line = {MAKE_START, INT64_C(6000000000000000000), 1000.0};
    (void)state;
    assert_true(sqt_line_ns(&line, UINT64_MAX / 2 + MAKE_START) > line.base_ns);
    assert_true(sqt_line_ns(&line, UINT64_MAX / 2 + MAKE_START + 2) < line.base_ns);
}

/* n simple records, of which the i-th is at i * step microseconds after `after`. */
static void
make_steps(const char *path, const struct sqt_identity *who, size_t n, uint64_t after_us, uint64_t step_us)
{
    struct sqt_record records[1000];
    read_simple(records, n);
    for (size_t i = 0; i < n; ++i)
        records[i].time = MAKE_START + (after_us + i * step_us) * (SECOND / 1000000);
    make_segment_file(path, who, 0, 0, records, n, NULL, 0);
}

static void
origins_are_merged_by_time(void **state)
{
    struct sqt_identity a, b, c;
    (void)state;
    make_identity(&a, 1, 1);
    make_identity(&b, 2, 2);
    make_identity(&c, 3, 3);
    make_steps(read_path("a.sqt"), &a, 1000, 10, 7);
    make_steps(read_path("b.sqt"), &b, 900, 0, 9);
    make_steps(read_path("c.sqt"), &c, 50, 3000, 1);
    read_all(&result, read_path("c.sqt"), read_path("b.sqt"), read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 1950);
    assert_false(result.went_back);
    assert_int_equal(result.kid[0], 2);
    assert_int_equal(result.ns[0], 0);
    assert_int_equal(result.ns[1949], 899 * 9 * 1000);
    size_t of[4] = {0};
    for (size_t i = 0; i < result.count; ++i)
        assert_int_equal(result.number[i], of[result.kid[i]]++);
    /* What lies together is handed out together. */
    assert_true(result.runs < 1950);
}

static void
another_look_at_an_origin_does_not_turn_time_back(void **state)
{
    struct sqt_identity a, b;
    struct sqt_record records[1000];
    struct sqt_pack_table table;
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_run run;
    int64_t before = 0;
    size_t count = 0;
    (void)state;
    make_identity(&a, 1, 1);
    make_identity(&b, 2, 2);
    make_steps(read_path("a.sqt"), &a, 1000, 0, 1);
    make_steps(read_path("b.sqt"), &b, 1000, 500, 1);
    const char *const directory = read_path("");
    struct sqt_stream *const stream = sqt_stream_open(&directory, 1, NULL, NULL);
    assert_non_null(stream);

    sqt_pack_table_init(&table);
    /* Before the second one's turn, its records come with an anchor that is 100 us earlier: as if they had been
     * flushed from the ring meanwhile. */
    read_simple(records, 1000);
    for (size_t i = 0; i < 1000; ++i)
        records[i].time = MAKE_START + (500 + i) * (SECOND / 1000000);
    struct sqt_anchor from = make_anchor(&b, records[0].time), to = make_anchor(&b, records[999].time);
    from.monotonic_ns -= 100000;
    to.monotonic_ns -= 100000;
    make_header(&bytes, &b, 0);
    make_text(&bytes, NULL);
    make_block_with(&bytes, &b, 0, records, 1000, 0, 0, &from, &to, &table);
    make_file(read_path("b.sqt"), &bytes);
    make_free(&bytes);

    while (sqt_stream_next(stream, &run))
        for (size_t i = 0; i < run.count; ++i, ++count) {
            const int64_t ns = sqt_line_ns(&run.line, run.records[i].time);
            assert_true(ns >= before);
            before = ns;
        }
    assert_int_equal(count, 2000);
    sqt_stream_close(stream);
}

/* The time of day was set after tracing began; what was written before that is not here. */
static void
the_start_is_by_the_nearest_anchor(void **state)
{
    struct sqt_identity who;
    const uint64_t m = MAKE_MONOTONIC_NS, t = MAKE_START, hour = UINT64_C(3600000000000);
    struct sample sample = {t + 9 * SECOND, anchor(t + SECOND, m + 1000000000),
                            anchor(t + 10 * SECOND, m + 10000000000)};
    (void)state;
    make_identity(&who, 1, 1);
    sample.to.realtime_ns += hour;
    make_samples(read_path("a.sqt"), &who, &sample, 1);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.start_ns, MAKE_REALTIME_NS + 9000000000 + hour);
    sample.time = t + 3 * SECOND; /* nearer to the other one, of before */
    make_samples(read_path("a.sqt"), &who, &sample, 1);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.start_ns, MAKE_REALTIME_NS + 3000000000);
}

/* Anchors in reverse order: the records are between the two, and a reader is told. */
static void
a_step_between_the_anchors(void **state)
{
    struct sqt_identity who;
    const uint64_t m = MAKE_MONOTONIC_NS, t = MAKE_START, hour = 3600 * SECOND;
    const struct sample samples[] = {
        {t + 300, anchor(t, m), anchor(t + SECOND / 5, m + 200000000)},
        {t + SECOND / 5 + 300, anchor(t + SECOND / 5 * 2 + hour, m + 400000000), anchor(t + SECOND / 5, m + 200000000)},
        {t + SECOND / 5 * 2 + hour - 300, anchor(t + SECOND / 5 * 2 + hour, m + 400000000),
         anchor(t + SECOND / 5, m + 200000000)},
        {t + SECOND + hour, anchor(t + SECOND / 5 * 2 + hour, m + 400000000),
         anchor(t + SECOND + hour, m + 1000000000)},
    };
    const int64_t expected[] = {0, 200000000, 400000000, 1000000000};
    struct sqt_run run;
    size_t count = 0;
    (void)state;
    make_identity(&who, 1, 1);
    make_samples(read_path("a.sqt"), &who, samples, 4);
    const char *const path = read_path("a.sqt");
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, NULL, NULL);
    assert_non_null(stream);
    for (; sqt_stream_next(stream, &run); ++count) {
        assert_int_equal(run.count, 1);
        assert_int_equal(run.unsure, count == 1 || count == 2);
        assert_true(llabs(sqt_line_ns(&run.line, run.records->time) - expected[count]) < 1000);
    }
    assert_int_equal(count, 4);
    sqt_stream_close(stream);
}

static void
boots_are_aligned_by_the_time_of_day(void **state)
{
    struct sqt_identity a, b;
    (void)state;
    make_identity(&a, 1, 1);
    make_identity(&b, 2, 2);
    /* After a restart: the clocks begin anew, the time of day goes on. */
    b.boot_id[0] ^= 1;
    b.start.monotonic_ns = 5000000000;
    b.start.realtime_ns += 60000000000;
    make_steps(read_path("b.sqt"), &b, 10, 0, 1);
    make_steps(read_path("a.sqt"), &a, 10, 0, 1);
    read_all(&result, read_path(""), NULL);
    assert_int_equal(result.count, 20);
    assert_int_equal(result.kid[0], 1);
    assert_int_equal(result.kid[19], 2);
    assert_int_equal(result.ns[10], 60000000000);
    assert_false(result.went_back);
}

static void
one_boot_is_aligned_by_the_monotonic_clock(void **state)
{
    struct sqt_identity a, b;
    (void)state;
    make_identity(&a, 1, 1);
    make_identity(&b, 2, 2);
    /* The time of day was set back by an hour between the two starts. */
    b.start = make_anchor(&b, MAKE_START + SECOND);
    b.start.realtime_ns -= UINT64_C(3600000000000);
    make_steps(read_path("a.sqt"), &a, 10, 0, 1);
    make_steps(read_path("b.sqt"), &b, 10, 2000000, 1);
    read_all(&result, read_path(""), NULL);
    assert_int_equal(result.count, 20);
    assert_int_equal(result.kid[10], 2);
    assert_int_equal(result.ns[10], 2000000000);
}

static void
a_unit_is_never_split_by_the_merge(void **state)
{
    struct make_traffic traffic;
    struct sqt_identity who;
    static struct sqt_record records[5000];
    (void)state;
    /* Parts of a unit as far apart in time as records are, so that time alone would split them. */
    for (unsigned kid = 1; kid <= 3; ++kid) {
        char name[16];
        make_traffic_init(&traffic, kid);
        const size_t n = make_traffic_records(&traffic, records, 5000);
        for (size_t i = 0; i < n; ++i)
            records[i].time = MAKE_START + i * 1000 + kid;
        make_identity(&who, kid, kid);
        snprintf(name, sizeof(name), "%u.sqt", kid);
        make_segment_file(read_path(name), &who, 0, 0, records, n, NULL, MAKE_ZLIB);
    }
    read_all(&result, read_path(""), NULL);
    assert_true(result.count > 14000);
    assert_false(result.split);
    for (size_t i = 0; i < result.count; ++i)
        for (unsigned m = result.records[i].flags & SQT_FLAG_MORE; m; --m)
            assert_int_equal(result.kid[i + m], result.kid[i]);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_anchors_say_the_rate),
        TEST(close_or_wrong_anchors_leave_the_nominal_rate),
        TEST(time_never_goes_back_within_an_origin),
        TEST(a_stamp_far_away_does_not_overflow),
        TEST(origins_are_merged_by_time),
        TEST(another_look_at_an_origin_does_not_turn_time_back),
        TEST(the_start_is_by_the_nearest_anchor),
        TEST(a_step_between_the_anchors),
        TEST(boots_are_aligned_by_the_time_of_day),
        TEST(one_boot_is_aligned_by_the_monotonic_clock),
        TEST(a_unit_is_never_split_by_the_merge),
    };
    return cmocka_run_group_tests_name("read_clock", tests, NULL, NULL);
}
