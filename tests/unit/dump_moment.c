/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_moment.c - times of --since and --until: days, zones, and the hour that summer time repeats or leaves out.
 *
 * The zone is that of Central Europe by its rule, so no list of zones is needed.  In 2026 summer time begins there on
 * 29 March and ends on 25 October, both at 01:00 UTC.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../tools/program/moment.h"

#define S INT64_C(1000000000)
#define H (3600 * S)
/* 2026-10-24T12:00:00Z and 2026-03-28T12:00:00Z. */
#define OCTOBER (INT64_C(1792843200) * S)
#define MARCH (INT64_C(1774699200) * S)

static char error[512];

static int
zone(void **state)
{
    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return 0;
}

/* Of a trace that begins then and lasts so long: the time after its start, or INT64_MIN if there is none. */
static int64_t
after(const char *text, int64_t start, int64_t last)
{
    const struct moment_trace trace = {.start_ns = start, .last_ns = last};
    struct moment m;
    int64_t ns;
    if (moment_parse(&m, text, error, sizeof(error)) != 0 || moment_resolve(&m, &trace, &ns, error, sizeof(error)) != 0)
        return INT64_MIN;
    return ns;
}

static void
times_are_counted_from_start_end_and_1970(void **state)
{
    (void)state;
    assert_int_equal(after("90s", OCTOBER, H), 90 * S);
    assert_int_equal(after("12.5", OCTOBER, H), 25 * S / 2);
    assert_int_equal(after("15min", OCTOBER, H), 900 * S);
    assert_int_equal(after("-10min", OCTOBER, H), 3000 * S);
    assert_int_equal(after("-0.5", OCTOBER, H), H - S / 2);
    assert_int_equal(after("1792843201.25", OCTOBER, H), 5 * S / 4);
    assert_int_equal(after("999999999", OCTOBER, H), 999999999 * S);
    assert_int_equal(after("-1s", OCTOBER, -1), INT64_MIN);
    assert_non_null(strstr(error, "the end is not known"));
}

static void
dates_have_the_readers_zone_or_their_own(void **state)
{
    (void)state;
    assert_int_equal(after("2026-10-24T14:00:00", OCTOBER, H), 0);
    assert_int_equal(after("2026-10-24 14:30", OCTOBER, H), H / 2);
    assert_int_equal(after("2026-10-24T12:00:00.000000001Z", OCTOBER, H), 1);
    assert_int_equal(after("2026-10-24T17:30:00+05:30", OCTOBER, H), 0);
    assert_int_equal(after("2026-10-24T07:00-05", OCTOBER, H), 0);
    assert_int_equal(after("2026-10-24T07:00-0500", OCTOBER, H), 0);
    assert_int_equal(after("2026-10-24", OCTOBER, H), -14 * H);
    assert_int_equal(after("2026-10-26", OCTOBER, H), 35 * H); /* the 25th has 25 hours */
    assert_int_equal(after("2024-02-29", OCTOBER, H) % S, 0);
}

static void
a_time_of_day_is_on_the_days_of_the_trace(void **state)
{
    (void)state;
    assert_int_equal(after("14:00", OCTOBER, H), 0);
    assert_int_equal(after("14:20:30.25", OCTOBER, H), 1230 * S + S / 4);
    assert_int_equal(after("13:00", OCTOBER, H), -H); /* that day, before the trace */
    assert_int_equal(after("01:00", OCTOBER, 20 * H), 11 * H);
    assert_int_equal(after("15:00", OCTOBER, 20 * H), H);
    assert_int_equal(after("15:00", OCTOBER, 80 * H), INT64_MIN);
    assert_string_equal(error, "that time was more than once; write one of 2026-10-24T15:00:00+0200, "
                               "2026-10-25T15:00:00+0100, 2026-10-26T15:00:00+0100, 2026-10-27T15:00:00+0100");
    assert_int_equal(after("12:00", OCTOBER, 20 * H), INT64_MIN); /* on neither of its days within it */
}

static void
the_hour_that_summer_time_repeats(void **state)
{
    (void)state;
    assert_int_equal(after("2026-10-25T02:30", OCTOBER, 20 * H), INT64_MIN);
    assert_string_equal(error, "that time was more than once; write one of 2026-10-25T02:30:00+0200, "
                               "2026-10-25T02:30:00+0100");
    assert_int_equal(after("02:30", OCTOBER, 20 * H), INT64_MIN);
    assert_int_equal(after("2026-10-25T02:30:00+0200", OCTOBER, 20 * H), 25 * H / 2);
    assert_int_equal(after("2026-10-25T02:30:00+0100", OCTOBER, 20 * H), 27 * H / 2);
    /* The trace has only one of the two. */
    assert_int_equal(after("2026-10-25T02:30", OCTOBER, 13 * H), 25 * H / 2);
    assert_int_equal(after("02:30", OCTOBER, 13 * H), 25 * H / 2);
    assert_int_equal(after("2026-10-25T01:59:59", OCTOBER, 20 * H), 12 * H - S);
    assert_int_equal(after("2026-10-25T03:00", OCTOBER, 20 * H), 14 * H);
}

static void
the_hour_that_summer_time_leaves_out(void **state)
{
    (void)state;
    assert_int_equal(after("2026-03-29T02:30", MARCH, 20 * H), INT64_MIN);
    assert_string_equal(error, "the clocks never showed that time: summer time began");
    assert_int_equal(after("2026-03-29T01:59:59", MARCH, 20 * H), 13 * H - S);
    assert_int_equal(after("2026-03-29T03:00", MARCH, 20 * H), 13 * H);
}

static void
what_is_no_time(void **state)
{
    static const char *const wrong[] = {
        "",
        "noon",
        "24:00",
        "12:60",
        "12:00:60",
        "1:00",
        "12:",
        "12:00:",
        "12:00x",
        "2026-13-01",
        "2026-02-30",
        "2026-02-29",
        "2100-02-29",
        "2026-1-01",
        "2026-10-24T",
        "2026-10-24T12",
        "2026-10-24T12:00+15",
        "2026-10-24T12:00+1",
        "2026-10-24T12:00z",
        "2026-10-24x",
        "5 parsecs",
        "3KB",
        "99999999999999999999",
        "-",
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); ++i) {
        struct moment m;
        error[0] = 0;
        if (moment_parse(&m, wrong[i], error, sizeof(error)) == 0)
            fail_msg("'%s' is taken for a time", wrong[i]);
        assert_true(error[0]);
    }
}

static void
windows_have_an_order(void **state)
{
    const struct moment_trace trace = {.start_ns = OCTOBER, .last_ns = H};
    struct moment since, until, none = {.form = MOMENT_NONE};
    int64_t from, to;
    (void)state;
    assert_int_equal(moment_parse(&since, "14:30", error, sizeof(error)), 0);
    assert_int_equal(moment_parse(&until, "-20min", error, sizeof(error)), 0);
    assert_int_equal(moment_window(&since, &until, &trace, &from, &to, error, sizeof(error)), 0);
    assert_int_equal(from, H / 2);
    assert_int_equal(to, 2400 * S);
    assert_int_equal(moment_window(&until, &since, &trace, &from, &to, error, sizeof(error)), -1);
    assert_string_equal(error, "--since is not before --until");
    assert_int_equal(moment_window(&none, &none, &trace, &from, &to, error, sizeof(error)), 0);
    assert_true(from == INT64_MIN && to == INT64_MAX);
    assert_false(moment_misses(&trace, from, to, error, sizeof(error)));
    assert_true(moment_misses(&trace, 2 * H, to, error, sizeof(error)));
    assert_string_equal(error, "--since is after its end: the trace is from 2026-10-24T14:00:00+0200 to "
                               "2026-10-24T15:00:00+0200");
    assert_true(moment_misses(&trace, from, 0, error, sizeof(error)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_counted_from_start_end_and_1970),
        cmocka_unit_test(dates_have_the_readers_zone_or_their_own),
        cmocka_unit_test(a_time_of_day_is_on_the_days_of_the_trace),
        cmocka_unit_test(the_hour_that_summer_time_repeats),
        cmocka_unit_test(the_hour_that_summer_time_leaves_out),
        cmocka_unit_test(what_is_no_time),
        cmocka_unit_test(windows_have_an_order),
    };
    return cmocka_run_group_tests(tests, zone, NULL);
}
