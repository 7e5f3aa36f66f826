/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report_sections.c - intervals of medians and means: against tables of Student's t, by hand, and how often they are
 * wrong on requests that depend on each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figure/stat/sections.h"

/* From printed tables of Student's distribution, two-sided 95 %, 99 % and 99.9 %. */
static void
student(void **state)
{
    static const struct {
        double probability, freedom, value;
    } known[] = {
        {0.025, 9, 2.262157},   {0.025, 19, 2.093024},  {0.025, 39, 2.022691}, {0.025, 120, 1.979930},
        {0.005, 9, 3.249836},   {0.005, 19, 2.860935},  {0.005, 60, 2.660283}, {0.0005, 9, 4.780913},
        {0.0005, 19, 3.883406}, {0.0005, 60, 3.460200},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); ++i) {
        const double got = sqt_student_quantile(known[i].probability, known[i].freedom);
        if (fabs(got - known[i].value) > 0.01 * known[i].value)
            fail_msg("t(%g, %g) is %g, not %g", known[i].probability, known[i].freedom, known[i].value, got);
    }
}

static uint64_t seed;

/* 0 to 1 */
static double
uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* Totals of requests, each like the ones before it, skewed, around `scale` ns; half of each is the first part. */
static void
trace(struct sqt_sections *s, struct sqt_distributions *set, unsigned requests, double scale)
{
    memset(set, 0, sizeof(*set));
    set->budget = 1 << 20;
    memset(s, 0, sizeof(*s));
    s->set = set;
    double level = 0;
    for (unsigned i = 0; i < requests; ++i) {
        level = 0.8 * level + 0.6 * (uniform() + uniform() + uniform() - 1.5);
        const int64_t total = (int64_t)(scale * exp(level * 0.3) / pow(uniform() + 0.001, 0.2));
        int64_t parts[SQT_PARTS] = {total / 2};
        parts[SQT_PARTS - 1] = total - total / 2;
        sqt_sections_add(s, total, parts);
    }
    sqt_sections_finish(s);
}

/* 105 requests: 10 sections of 10, the last one takes the 5 that are left. */
static void
by_hand(void **state)
{
    struct sqt_distributions set = {.budget = 1 << 20};
    struct sqt_sections s = {.set = &set};
    (void)state;
    for (int64_t i = 0; i < 105; ++i) {
        int64_t parts[SQT_PARTS] = {i};
        sqt_sections_add(&s, 1000 * (i / 10 % 2) + 500, parts);
    }
    sqt_sections_finish(&s);
    assert_int_equal(s.count, 10);
    assert_int_equal(s.all.count, 105);
    /* 55 totals of 500, 50 of 1500; five sections have each median; the last one's is 1500 still. */
    assert_true(s.median.value == 500);
    assert_true(s.median.freedom == 9);
    assert_true(fabs(s.median.error - sqrt(5 * 1e6 / 90)) < 1e-9);
    assert_true(fabs(s.mean.value - (55 * 500 + 50 * 1500) / 105.0) < 1e-9);
    assert_true(fabs(s.parts[0].value - 52) < 1e-9);
    assert_true(s.p99.value == 1500);
    assert_true(s.p99.freedom == 0); /* ten requests say nothing about the 99th */
    sqt_sections_free(&s);
}

/* However long the trace is, there are 20 to 40 sections, and all requests are in them. */
static void
long_traces(void **state)
{
    struct sqt_distributions set;
    struct sqt_sections s;
    (void)state;
    for (unsigned requests = 400; requests < 100000; requests = requests * 7 / 3) {
        trace(&s, &set, requests, 1e6);
        assert_true(s.count >= 20 && s.count <= SQT_SECTIONS_MOST);
        assert_int_equal(s.all.count, requests);
        assert_true(fabs(s.parts[0].value + s.parts[SQT_PARTS - 1].value - s.mean.value) < 1e-3);
        sqt_sections_free(&s);
        assert_int_equal(set.room, 0);
    }
}

static void
too_few(void **state)
{
    struct sqt_distributions set[2];
    struct sqt_sections s[2];
    (void)state;
    trace(&s[0], &set[0], 99, 1e6);
    trace(&s[1], &set[1], 5000, 9e6);
    assert_int_equal(sqt_sections_difference(&s[0].median, &s[1].median, 0.95).verdict, SQT_VERDICT_UNKNOWN);
    assert_int_equal(sqt_sections_difference(&s[1].median, &s[0].median, 0.95).verdict, SQT_VERDICT_UNKNOWN);
    sqt_sections_free(&s[0]);
    sqt_sections_free(&s[1]);
}

/* Of 400 equal pairs about 5 % seem to differ at 95 %: not many more, and the interval is not so wide that none do.
 * A shift of 20 % of medians and means is found. */
static void
pairs(void **state)
{
    unsigned wrong[3] = {0}, found[3] = {0};
    (void)state;
    seed = 42;
    for (unsigned i = 0; i < 400; ++i) {
        struct sqt_distributions set[3];
        struct sqt_sections s[3];
        for (unsigned k = 0; k < 3; ++k)
            trace(&s[k], &set[k], 4000, k == 2 ? 1.2e6 : 1e6);
        wrong[0] += sqt_sections_difference(&s[0].median, &s[1].median, 0.95).verdict == SQT_VERDICT_DIFFERENT;
        wrong[1] += sqt_sections_difference(&s[0].mean, &s[1].mean, 0.95).verdict == SQT_VERDICT_DIFFERENT;
        wrong[2] += sqt_sections_difference(&s[0].p99, &s[1].p99, 0.95).verdict == SQT_VERDICT_DIFFERENT;
        const struct sqt_estimate *const a[] = {&s[0].median, &s[0].mean, &s[0].p99};
        const struct sqt_estimate *const b[] = {&s[2].median, &s[2].mean, &s[2].p99};
        for (unsigned q = 0; q < 3; ++q) {
            const struct sqt_difference d = sqt_sections_difference(a[q], b[q], 0.9999);
            found[q] += d.verdict == SQT_VERDICT_DIFFERENT && d.value > 0 && d.low < 0.2 * a[q]->value &&
                        d.high > 0.2 * a[q]->value;
        }
        for (unsigned k = 0; k < 3; ++k)
            sqt_sections_free(&s[k]);
    }
    print_message("# differ though equal, of 400: medians %u, means %u, 99th percentiles %u\n", wrong[0], wrong[1],
                  wrong[2]);
    print_message("# 20 %% found, of 400: medians %u, means %u, 99th percentiles %u\n", found[0], found[1], found[2]);
    for (unsigned q = 0; q < 3; ++q) {
        assert_true(wrong[q] >= 4 && wrong[q] <= 40);
        assert_true(found[q] >= (q < 2 ? 380 : 100)); /* 4000 requests say little about the 99th percentile */
    }
}

/* Histograms are 0.1 % off: a difference of that size is none, though each section says the same. */
static void
buckets(void **state)
{
    struct sqt_distributions set[2] = {{.budget = 16}, {.budget = 16}};
    struct sqt_sections s[2] = {{.set = &set[0]}, {.set = &set[1]}};
    (void)state;
    for (unsigned i = 0; i < 1000; ++i) {
        const int64_t parts[SQT_PARTS] = {0};
        sqt_sections_add(&s[0], 1000000, parts);
        sqt_sections_add(&s[1], 1001000, parts);
    }
    for (unsigned k = 0; k < 2; ++k)
        sqt_sections_finish(&s[k]);
    assert_true(set[0].coarse && set[1].coarse);
    assert_int_equal(sqt_sections_difference(&s[0].median, &s[1].median, 0.95).verdict, SQT_VERDICT_SAME);
    for (unsigned k = 0; k < 2; ++k)
        sqt_sections_free(&s[k]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student), cmocka_unit_test(by_hand), cmocka_unit_test(long_traces),
        cmocka_unit_test(too_few), cmocka_unit_test(pairs),   cmocka_unit_test(buckets),
    };
    return cmocka_run_group_tests_name("report_sections", tests, NULL, NULL);
}
