/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_clock.c - the choice of a clock, anchors, and blocks whose anchors cannot be believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/clock-internal.h"

#define SECOND UINT64_C(1000000000)

static void
only_the_tsc_is_the_tsc(void **state)
{
    (void)state;
    static const char *const others[] = {"hpet", "acpi_pm", "hyperv_clocksource_tsc_page", "xen", "jiffies", "", "tsc-early"};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); ++i)
        assert_false(sqt_clock_source_is_tsc(others[i]));
#if defined(__x86_64__)
    assert_true(sqt_clock_source_is_tsc("tsc"));
#endif
}

static void
the_clock_that_is_picked_can_be_read(void **state)
{
    (void)state;
    const uint32_t clock = sqt_clock_pick();
    assert_true(clock == SQT_CLOCK_TSC || clock == SQT_CLOCK_MONOTONIC);
    assert_true(sqt_read_clock(clock) != 0);
    assert_int_equal(sqt_read_clock(0), 0);
    assert_int_equal(sqt_read_clock(99), 0);
}

/* Two anchors and the calibrated rate tell the same time between them. */
static void
anchors_agree_with_the_rate(void **state)
{
    (void)state;
    const uint32_t clocks[] = {sqt_clock_pick(), SQT_CLOCK_MONOTONIC};
    for (unsigned i = 0; i < 2; ++i) {
        const struct sqt_anchor from = sqt_clock_anchor(clocks[i], 0);
        const uint64_t rate = sqt_clock_calibrate(clocks[i]);
        const struct sqt_anchor to = sqt_clock_anchor(clocks[i], 0);
        assert_true(to.ticks > from.ticks && to.monotonic_ns > from.monotonic_ns);
        const double by_ticks = (double)(to.ticks - from.ticks) * 1e9 / (double)rate;
        const double by_system = (double)(to.monotonic_ns - from.monotonic_ns);
        assert_true(by_ticks > by_system * 0.99 && by_ticks < by_system * 1.01);
        assert_true(to.realtime_ns > UINT64_C(1600000000) * SECOND);
    }
    assert_int_equal(sqt_clock_calibrate(SQT_CLOCK_MONOTONIC), SECOND);
}

/* A clock of 2 ticks a nanosecond, after `ns`, with the system's clock `off_ns` ahead. */
static struct sqt_anchor
at(uint64_t ns, int64_t off_ns)
{
    return (struct sqt_anchor){1000 + 2 * ns, 5000 + ns + (uint64_t)off_ns, 9000 + ns};
}

static int
suspect(struct sqt_clock_rate *rate, struct sqt_anchor from, struct sqt_anchor to)
{
    return sqt_clock_suspect(rate, &from, &to);
}

static void
a_jump_is_suspect_once(void **state)
{
    (void)state;
    struct sqt_clock_rate rate;
    const struct sqt_anchor start = at(0, 0);
    sqt_clock_rate_init(&rate, &start, 2 * SECOND);
    assert_false(suspect(&rate, at(0, 0), at(SECOND / 5, 0)));
    assert_false(suspect(&rate, at(SECOND / 5, 0), at(2 * SECOND / 5, 49000)));
    assert_true(suspect(&rate, at(2 * SECOND / 5, 0), at(3 * SECOND / 5, 51000)));
    assert_true(suspect(&rate, at(3 * SECOND / 5, 51000), at(4 * SECOND / 5, 0)));
    for (uint64_t t = 4; t < 100; ++t)
        assert_false(suspect(&rate, at(t * SECOND / 5, 0), at((t + 1) * SECOND / 5, 0)));
}

/* What the kernel steers by is followed: 100 ppm over an hour would be 360 ms. */
static void
a_slow_drift_is_followed(void **state)
{
    (void)state;
    struct sqt_clock_rate rate;
    const struct sqt_anchor start = at(0, 0);
    sqt_clock_rate_init(&rate, &start, 2 * SECOND);
    for (uint64_t t = 0; t < 3600; ++t) {
        const int64_t before = (int64_t)(t * SECOND / 5 / 10000), after = (int64_t)((t + 1) * SECOND / 5 / 10000);
        assert_false(suspect(&rate, at(t * SECOND / 5, before), at((t + 1) * SECOND / 5, after)));
    }
    /* So a stretch of a minute without a look is believed too. */
    assert_false(suspect(&rate, at(720 * SECOND, 72000000), at(780 * SECOND, 78000000)));
}

static void
a_wrong_rate_is_corrected(void **state)
{
    (void)state;
    struct sqt_clock_rate rate;
    const struct sqt_anchor start = at(0, 0);
    unsigned suspects = 0;
    sqt_clock_rate_init(&rate, &start, 2 * SECOND + 2 * SECOND / 1000); /* calibration was disturbed: 0.1 % off */
    for (uint64_t t = 0; t < 50; ++t)
        suspects += (unsigned)suspect(&rate, at(t * SECOND / 5, 0), at((t + 1) * SECOND / 5, 0));
    assert_int_equal(suspects, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_tsc_is_the_tsc),
        cmocka_unit_test(the_clock_that_is_picked_can_be_read),
        cmocka_unit_test(anchors_agree_with_the_rate),
        cmocka_unit_test(a_jump_is_suspect_once),
        cmocka_unit_test(a_slow_drift_is_followed),
        cmocka_unit_test(a_wrong_rate_is_corrected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
