/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_clock.c - the choice of a clock, anchors, steps, and blocks whose anchors cannot be believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/clock/clock-internal.h"
#include "trace/clock/step-internal.h"

#define SECOND UINT64_C(1000000000)

/* ---- the rules, with made files and made readings ---- */

static uint64_t made_ns, reading_ns;

static uint64_t
made_now(void)
{
    return made_ns;
}

static uint64_t
made_reading(void)
{
    made_ns += reading_ns;
    return made_ns;
}

/* A machine that names that clocksource; NULL: none. */
static void
make_machine(const char *root, const char *clocksource)
{
    char path[256];
    static const char *const folders[] = {"/sys", "/devices", "/system", "/clocksource", "/clocksource0"};
    snprintf(path, sizeof(path), "%s", root);
    for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); ++i) {
        strcat(path, folders[i]);
        mkdir(path, 0700);
    }
    strcat(path, "/current_clocksource");
    unlink(path);
    if (!clocksource)
        return;
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", clocksource);
    fclose(file);
}

static void
remove_machine(const char *root)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static int
is_good(struct sqt_counter counter, const char *clocksource)
{
    make_machine(counter.root, clocksource);
    return sqt_counter_is_good(&counter);
}

static void
when_the_tsc_is_taken(void **state)
{
    (void)state;
    char root[] = "/tmp/sqtrace-clock-XXXXXX";
    assert_non_null(mkdtemp(root));
    const struct sqt_counter tsc = {
        .root = root, .kind = SQT_COUNTER_TSC, .invariant = 1, .read = made_reading, .now_ns = made_now};
    static const char *const others[] = {
        "hpet",      "acpi_pm", "hyperv_clocksource_tsc_page", "xen", "jiffies", "", "tsc-early", "arch_sys_counter",
        "kvm-clock", NULL};
    struct sqt_counter other = tsc;
    reading_ns = 49;
    assert_true(is_good(tsc, "tsc"));
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); ++i)
        assert_false(is_good(tsc, others[i]));
    other.kvm_clock_is_stable = 1;
    assert_true(is_good(other, "kvm-clock"));
    other.invariant = 0;
    assert_false(is_good(other, "kvm-clock"));
    assert_false(is_good(other, "tsc"));
    reading_ns = 50;
    assert_false(is_good(tsc, "tsc"));
    remove_machine(root);
}

static void
when_the_generic_timer_is_taken(void **state)
{
    (void)state;
    char root[] = "/tmp/sqtrace-clock-XXXXXX";
    assert_non_null(mkdtemp(root));
    struct sqt_counter timer = {.root = root,
                                .kind = SQT_COUNTER_GENERIC_TIMER,
                                .frequency = 24000000,
                                .read = made_reading,
                                .now_ns = made_now};
    static const char *const others[] = {"jiffies", "timer0", "", "arch_mem_counter", "tsc", NULL};
    reading_ns = 49;
    assert_true(is_good(timer, "arch_sys_counter"));
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); ++i)
        assert_false(is_good(timer, others[i]));
    timer.frequency = 10000000;
    assert_true(is_good(timer, "arch_sys_counter"));
    timer.frequency = 9999999; /* 100 ns are too coarse */
    assert_false(is_good(timer, "arch_sys_counter"));
    timer.frequency = 0; /* the firmware did not set it */
    assert_false(is_good(timer, "arch_sys_counter"));
    timer.frequency = 1000000000;
    assert_true(is_good(timer, "arch_sys_counter"));
    reading_ns = 50; /* the kernel emulates it */
    assert_false(is_good(timer, "arch_sys_counter"));
    timer.kind = SQT_COUNTER_NONE;
    reading_ns = 1;
    assert_false(is_good(timer, "arch_sys_counter"));
    remove_machine(root);
}

static void
this_machine_has_a_counter(void **state)
{
    (void)state;
    struct sqt_counter counter;
    sqt_counter_of_machine(&counter);
#if defined(__x86_64__)
    assert_int_equal(counter.kind, SQT_COUNTER_TSC);
#elif defined(__aarch64__)
    assert_int_equal(counter.kind, SQT_COUNTER_GENERIC_TIMER);
    /* Calibration finds what the firmware says. */
    const double measured = (double)sqt_clock_calibrate(SQT_CLOCK_TSC), said = (double)counter.frequency;
    assert_true(measured > said * 0.98 && measured < said * 1.02);
#endif
    if (counter.kind == SQT_COUNTER_NONE)
        return;
    const uint64_t before = counter.read();
    for (unsigned i = 0; i < 1000; ++i)
        assert_true(counter.read() >= before);
    assert_string_equal(counter.root, "");
}

static void
the_environment_says_which(void **state)
{
    (void)state;
    setenv("SQTRACE_CLOCK", "monotonic", 1);
    assert_int_equal(sqt_clock_pick(), SQT_CLOCK_MONOTONIC);
#if defined(__x86_64__) || defined(__aarch64__)
    setenv("SQTRACE_CLOCK", "tsc", 1);
    assert_int_equal(sqt_clock_pick(), SQT_CLOCK_TSC);
    setenv("SQTRACE_CLOCK", "counter", 1);
    assert_int_equal(sqt_clock_pick(), SQT_CLOCK_TSC);
#endif
    unsetenv("SQTRACE_CLOCK");
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

/* ---- steps ---- */

#define MILLI UINT64_C(1000000)

/* Looks every 25 ms at clocks that agree, for an hour, apart from what NTP steers by and from readings that were disturbed
 * by less than a step: nothing is a step. */
static void
clocks_that_agree(void **state)
{
    (void)state;
    struct sqt_clock_watch watch;
    struct sqt_step steps[SQT_STEPS_AT_ONCE];
    struct sqt_moment m = {1000000, 5 * SECOND, 7 * SECOND, 9 * SECOND};
    sqt_clock_watch_init(&watch, SQT_CLOCK_TSC, &m);
    for (unsigned i = 0; i < 144000; ++i) {
        const uint64_t noise = i * 7919 % 1900000 / 2, ns = 25 * MILLI + 12500; /* 500 ppm */
        m.ticks += 3 * 25 * MILLI;
        m.monotonic_ns += ns;
        m.boottime_ns += ns;
        m.realtime_ns += ns;
        struct sqt_moment disturbed = m;
        if (i % 2)
            disturbed.ticks += 3 * noise;
        else
            disturbed.realtime_ns += noise;
        assert_int_equal(sqt_clock_watch_look(&watch, &disturbed, 1.0 / 3, steps), 0);
    }
    assert_int_equal(watch.offset, 0);
    /* A process that was stopped for an hour. */
    const uint64_t hour = 3600 * SECOND;
    m.ticks += 3 * hour + 3 * hour / 2000;
    m.monotonic_ns += hour;
    m.boottime_ns += hour;
    m.realtime_ns += hour;
    assert_int_equal(sqt_clock_watch_look(&watch, &m, 1.0 / 3, steps), 0);
}

/* An offset of ticks makes up for what the counter lost, on top of the one before. */
static void
a_counter_goes_back_twice(void **state)
{
    (void)state;
    struct sqt_clock_watch watch;
    struct sqt_step steps[SQT_STEPS_AT_ONCE];
    struct sqt_moment m = {90000000000, 5 * SECOND, 5 * SECOND, 9 * SECOND};
    sqt_clock_watch_init(&watch, SQT_CLOCK_TSC, &m);
    for (unsigned i = 1; i <= 2; ++i) {
        const uint64_t from = m.ticks + watch.offset;
        m.ticks += 3 * 25 * MILLI - 3 * SECOND;
        m.monotonic_ns += 25 * MILLI;
        m.boottime_ns += 25 * MILLI;
        m.realtime_ns += 25 * MILLI;
        assert_int_equal(sqt_clock_watch_look(&watch, &m, 1.0 / 3, steps), 1);
        assert_int_equal(steps[0].kind, SQT_STEP_BACK);
        assert_true(steps[0].size_ns > SECOND - 10 && steps[0].size_ns < SECOND + 10);
        assert_int_equal(steps[0].from, from);
        assert_int_equal(steps[0].offset, watch.offset);
        assert_true(watch.offset > i * 3 * SECOND - 10 && watch.offset < i * 3 * SECOND + 10);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_the_tsc_is_taken),
        cmocka_unit_test(when_the_generic_timer_is_taken),
        cmocka_unit_test(this_machine_has_a_counter),
        cmocka_unit_test(the_environment_says_which),
        cmocka_unit_test(the_clock_that_is_picked_can_be_read),
        cmocka_unit_test(anchors_agree_with_the_rate),
        cmocka_unit_test(a_jump_is_suspect_once),
        cmocka_unit_test(a_slow_drift_is_followed),
        cmocka_unit_test(a_wrong_rate_is_corrected),
        cmocka_unit_test(clocks_that_agree),
        cmocka_unit_test(a_counter_goes_back_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
