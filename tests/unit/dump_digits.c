/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_digits.c - numbers as text are what printf makes of them.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digits.h"
#include "base/whole.h"

/* From any double to an integer, and sums of any integers. */
static void
any_size(void **state)
{
    (void)state;
    assert_int_equal(sqt_whole(0.9), 0);
    assert_int_equal(sqt_whole(-1.9), -1);
    assert_int_equal(sqt_whole(9.1e18), INT64_C(9100000000000000000));
    assert_int_equal(sqt_whole(9.2e18), INT64_MAX);
    assert_int_equal(sqt_whole(-9.2e18), -INT64_MAX);
    assert_int_equal(sqt_whole(INFINITY), INT64_MAX);
    assert_int_equal(sqt_whole(-INFINITY), -INT64_MAX);
    assert_int_equal(sqt_whole(NAN), 0);
    assert_int_equal(sqt_sum(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(sqt_sum(INT64_MIN, -1), -INT64_MAX);
    assert_int_equal(sqt_sum(INT64_MAX, -INT64_MAX), 0);
}

/* Each power of ten and of two, and their neighbours. */
static unsigned
interesting(uint64_t values[256])
{
    unsigned n = 0;
    for (uint64_t ten = 1; n < 60; ten *= 10) {
        values[n++] = ten - 1;
        values[n++] = ten;
        values[n++] = ten + 1;
    }
    for (unsigned bit = 1; bit < 64; ++bit) {
        values[n++] = (UINT64_C(1) << bit) - 1;
        values[n++] = UINT64_C(1) << bit;
    }
    values[n++] = UINT64_MAX;
    return n;
}

static void
numbers(void **state)
{
    uint64_t values[256];
    char got[64], want[64];
    (void)state;
    const unsigned n = interesting(values);
    for (unsigned i = 0; i < n; ++i) {
        *sqt_put_unsigned(got, values[i]) = '\0';
        snprintf(want, sizeof(want), "%" PRIu64, values[i]);
        assert_string_equal(got, want);
        *sqt_put_signed(got, (int64_t)values[i]) = '\0';
        snprintf(want, sizeof(want), "%" PRId64, (int64_t)values[i]);
        assert_string_equal(got, want);
        *sqt_put_signed(got, (int64_t)(0 - values[i])) = '\0';
        snprintf(want, sizeof(want), "%" PRId64, (int64_t)(0 - values[i]));
        assert_string_equal(got, want);
        *sqt_put_hex(got, values[i]) = '\0';
        snprintf(want, sizeof(want), "%016" PRIx64, values[i]);
        assert_string_equal(got, want);
    }
    for (unsigned i = 0; i < 1000; ++i) {
        *sqt_put_head(got, i) = '\0';
        snprintf(want, sizeof(want), "%u", i);
        assert_string_equal(got, want);
        *sqt_put_three(got, i) = '\0';
        snprintf(want, sizeof(want), "%03u", i);
        assert_string_equal(got, want);
    }
}

static void
seconds(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0.000000000"},
        {1, "0.000000001"},
        {999999999, "0.999999999"},
        {1000000000, "1.000000000"},
        {-1, "-0.000000001"},
        {-1500000000, "-1.500000000"},
        {123456789012345678, "123456789.012345678"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        char got[SQT_DIGITS_MAX];
        *sqt_put_seconds(got, cases[i].ns) = '\0';
        assert_string_equal(got, cases[i].text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_size), cmocka_unit_test(numbers),
                                       cmocka_unit_test(seconds)};
    return cmocka_run_group_tests_name("dump: digits", tests, NULL, NULL);
}
