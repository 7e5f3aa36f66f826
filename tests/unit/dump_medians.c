/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_medians.c - medians and percentiles, exact and by histogram, and time groups of a trace of unknown length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "figure/stat/time-groups.h"

static void
exact(void **state)
{
    (void)state;
    struct sqt_distributions set = {.budget = 100000};
    struct sqt_distribution d = {0};
    assert_int_equal(sqt_distribution_median(&d), 0);
    for (int64_t v = 1000; v >= 1; --v)
        sqt_distribution_add(&set, &d, v);
    assert_int_equal(d.count, 1000);
    assert_int_equal(d.sum, 500500);
    assert_int_equal(d.max, 1000);
    assert_int_equal(sqt_distribution_median(&d), 500); /* of 500 and 501 */
    assert_int_equal(sqt_distribution_quantile(&d, 900), 900);
    assert_int_equal(sqt_distribution_quantile(&d, 999), 999);
    assert_int_equal(sqt_distribution_quantile(&d, 1000), 1000);
    assert_int_equal(sqt_distribution_quantile(&d, 0), 1);
    sqt_distribution_add(&set, &d, 0); /* also after it was sorted */
    assert_int_equal(sqt_distribution_median(&d), 500);
    assert_int_equal(sqt_distribution_quantile(&d, 0), 0);
    sqt_distribution_drop(&set, &d);
    assert_int_equal(set.room, 0);
}

/* Beyond the budget every answer is within 0.1 % of the exact one. */
static void
coarse(void **state)
{
    (void)state;
    struct sqt_distributions exact_set = {.budget = 1u << 30}, coarse_set = {.budget = 1000};
    struct sqt_distribution e = {0}, c = {0}, other = {0};
    uint64_t random = 12345;
    sqt_distribution_add(&coarse_set, &other, 77);
    for (unsigned i = 0; i < 100000; ++i) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const int64_t v = (int64_t)(random >> (20 + random % 40)); /* over many octaves */
        sqt_distribution_add(&exact_set, &e, v);
        sqt_distribution_add(&coarse_set, &c, v);
    }
    assert_false(exact_set.coarse);
    assert_true(coarse_set.coarse);
    assert_int_equal(sqt_distribution_median(&other), 77);
    assert_int_equal(c.count, e.count);
    assert_int_equal(c.sum, e.sum);
    assert_int_equal(c.max, e.max);
    for (unsigned q = 0; q <= 1000; ++q) {
        const int64_t want = sqt_distribution_quantile(&e, q), got = sqt_distribution_quantile(&c, q);
        assert_true(llabs(got - want) * 1000 <= want);
    }
    assert_true(sqt_distribution_quantile(&c, 1000) <= c.max);
    assert_true(sqt_distribution_quantile(&other, 1000) == 77);
    sqt_distribution_drop(&exact_set, &e);
    sqt_distribution_drop(&coarse_set, &c);
    sqt_distribution_drop(&coarse_set, &other);
}

/* Many histograms over many octaves: with a bound for these, their buckets become wider, and memory stays. */
static void
octaves_have_a_bound(void **state)
{
    enum { MANY = 300, EACH = 2000 };
    (void)state;
    struct sqt_distributions exact_set = {.budget = 1u << 30}, set = {.budget = 1000, .octaves_most = 400};
    struct sqt_distribution *const all = calloc(MANY, sizeof(*all)), exact_one = {0}, whole = {0};
    uint64_t random = 12345;
    for (unsigned i = 0; i < MANY * EACH; ++i) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const int64_t v = 1 << 20 | (int64_t)(random >> (34 + random % 10));
        sqt_distribution_add(&set, &all[i % MANY], v);
        if (i % MANY == 7)
            sqt_distribution_add(&exact_set, &exact_one, v);
        assert_true(set.octaves >> set.halvings <= set.octaves_most);
    }
    assert_in_range(set.halvings, 1, 4);
    for (unsigned q = 0; q <= 1000; ++q) {
        const int64_t want = sqt_distribution_quantile(&exact_one, q), got = sqt_distribution_quantile(&all[7], q);
        assert_true(llabs(got - want) * 1000 <= want << set.halvings);
    }
    assert_int_equal(sqt_distribution_upto(&all[7], exact_one.max), EACH);
    for (unsigned i = 0; i < MANY; ++i)
        sqt_distribution_merge(&set, &whole, &all[i]);
    assert_int_equal(whole.count, MANY * EACH);
    assert_int_equal(sqt_distribution_upto(&whole, whole.max), MANY * EACH);
    sqt_distribution_drop(&set, &whole);
    assert_int_equal(set.octaves, 0);
    sqt_distribution_drop(&exact_set, &exact_one);
    free(all);
}

/* What is counted as taken is what is kept: exact values give place to histograms, and in the end nothing is left. */
static void
memory_is_counted(void **state)
{
    (void)state;
    enum { MANY = 1 << 17 };
    struct sqt_distributions set = {.budget = MANY};
    struct sqt_distribution one = {0};
    const int64_t before = sqt_memory_taken();
    for (unsigned i = 0; i < MANY; ++i)
        sqt_distribution_add(&set, &one, 1000 + i);
    const int64_t exactly = sqt_memory_taken() - before;
    assert_true(exactly >= MANY * (int64_t)sizeof(int64_t));
    sqt_distribution_add(&set, &one, 1000);
    assert_in_range(sqt_memory_taken() - before, 1, exactly / 4);
    sqt_distribution_drop(&set, &one);
    assert_int_equal(sqt_memory_taken(), before);
}

static void
merged(void **state)
{
    for (unsigned budget = 100; budget <= 100000; budget *= 1000) {
        (void)state;
        struct sqt_distributions set = {.budget = budget};
        struct sqt_distribution a = {0}, b = {0};
        for (int64_t v = 1; v <= 300; ++v)
            sqt_distribution_add(&set, v % 2 ? &a : &b, v);
        sqt_distribution_merge(&set, &a, &b);
        assert_int_equal(a.count, 300);
        assert_int_equal(b.count, 0);
        assert_int_equal(sqt_distribution_quantile(&a, 500), 150);
        assert_int_equal(a.max, 300);
        sqt_distribution_drop(&set, &a);
        assert_null(set.first);
    }
}

#define ZEROS_MOST 600

static int
by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Each rank, and each count up to a value, against a sorted list.  The values are so small that a histogram is exact. */
static void
check_list(struct sqt_distribution *d, int64_t *list, size_t count)
{
    uint64_t sum = 0;
    qsort(list, count, sizeof(*list), by_value);
    for (size_t i = 0; i < count; ++i)
        sum += (uint64_t)list[i];
    assert_int_equal(d->count, count);
    assert_int_equal(d->sum, sum);
    for (unsigned q = 0; q <= 1000; ++q) {
        const size_t rank = (count * q + 999) / 1000;
        assert_int_equal(sqt_distribution_quantile(d, q), list[rank ? rank - 1 : 0]);
    }
    for (int64_t v = 0; v < 130; ++v) {
        size_t upto = 0;
        while (upto < count && list[upto] <= v)
            ++upto;
        assert_int_equal(sqt_distribution_upto(d, v), upto);
    }
}

/* Values of 0 are counted apart: alone, beside others, before and behind the change to histograms, merged and not. */
static void
zeros(void **state)
{
    (void)state;
    for (unsigned budget = 0; budget <= 3000; budget += 100) {
        struct sqt_distributions set = {.budget = budget};
        struct sqt_distribution a = {0}, b = {0}, none = {0}, all = {0};
        int64_t of_a[ZEROS_MOST], of_b[ZEROS_MOST], of_all[3 * ZEROS_MOST];
        size_t a_count = 0, b_count = 0;
        for (unsigned i = 0; i < ZEROS_MOST; ++i) {
            const int64_t value = i % 3 ? 0 : i % 127;
            sqt_distribution_add(&set, i % 2 ? &a : &b, value);
            sqt_distribution_add(&set, &none, 0);
            if (i % 2)
                of_a[a_count++] = value;
            else
                of_b[b_count++] = value;
        }
        check_list(&a, of_a, a_count);
        check_list(&b, of_b, b_count);
        assert_int_equal(sqt_distribution_median(&none), 0);
        assert_int_equal(sqt_distribution_quantile(&none, 1000), 0);
        assert_null(none.values);
        memset(of_all, 0, sizeof(of_all)); /* those of `none` */
        memcpy(of_all + ZEROS_MOST, of_a, a_count * sizeof(*of_a));
        memcpy(of_all + ZEROS_MOST + a_count, of_b, b_count * sizeof(*of_b));
        sqt_distribution_add_all(&set, &all, &none);
        sqt_distribution_add_all(&set, &all, &a);
        sqt_distribution_merge(&set, &all, &b);
        check_list(&all, of_all, ZEROS_MOST + a_count + b_count);
        check_list(&a, of_a, a_count);
        sqt_distribution_merge(&set, &all, &a);
        sqt_distribution_merge(&set, &all, &none);
        sqt_distribution_drop(&set, &all);
        assert_null(set.first);
        assert_int_equal(set.room, 0);
    }
}

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)

static void
add(struct sqt_time_groups *g, int64_t time, int64_t value)
{
    struct sqt_time_group *const group = sqt_time_groups_at(g, time);
    if (!group)
        return;
    ++group->sums[0];
    sqt_time_groups_add(g, group, 0, value);
}

/* Adds a request each step; its value is its number. */
static void
fill(struct sqt_time_groups *g, int64_t width, int64_t length, int64_t step)
{
    const struct sqt_job job = {.group = width, .since = INT64_MIN, .until = INT64_MAX, .length = length - 1};
    sqt_time_groups_init(g, &job, 1, 1);
    int64_t number = 0;
    for (int64_t t = 0; t < length; t += step, ++number)
        add(g, t, number);
    sqt_time_groups_finish(g, &job);
}

static uint64_t
counted(const struct sqt_time_groups *g)
{
    uint64_t count = g->late, sum = 0;
    for (size_t i = 0; i < g->count; ++i) {
        count += g->groups[i] ? g->groups[i]->values[0].spread.count : 0;
        sum += g->groups[i] ? g->groups[i]->sums[0] : 0;
    }
    assert_int_equal(sum, count);
    return count;
}

static void
a_long_trace_has_the_width_asked_for(void **state)
{
    (void)state;
    struct sqt_time_groups g;
    fill(&g, 20 * MINUTE, 100 * MINUTE, SECOND);
    assert_int_equal(g.halvings, 0);
    assert_int_equal(g.count, 5);
    assert_int_equal(g.groups[0]->values[0].spread.count, 1200);
    assert_int_equal(g.groups[4]->values[0].spread.count, 1200);
    assert_int_equal(g.groups[0]->values[0].spread.p50, 599); /* of 599 and 600 */
    assert_int_equal(g.groups[3]->values[0].spread.p50, 3 * 1200 + 599);
    assert_int_equal(counted(&g), 6000);
    sqt_time_groups_free(&g);
}

static void
a_short_trace_has_at_least_twelve_groups(void **state)
{
    (void)state;
    for (int64_t length = 2 * SECOND; length < 79 * MINUTE; length = length * 3 / 2) {
        struct sqt_time_groups g;
        fill(&g, 20 * MINUTE, length, length / 1000);
        assert_in_range(g.count, 12, 25);
        assert_true(counted(&g) >= 1000);
        /* Groups are where their width says. */
        const struct sqt_time_group *const second = g.groups[1];
        const double first = sqt_time_groups_width(&g) / (double)(length / 1000);
        assert_true((double)second->values[0].spread.p50 > first && (double)second->values[0].spread.p50 < 2 * first);
        sqt_time_groups_free(&g);
    }
}

static void
empty_groups_stay_empty(void **state)
{
    (void)state;
    struct sqt_time_groups g;
    const struct sqt_job job = {.group = MINUTE, .since = INT64_MIN, .until = INT64_MAX, .length = 10 * MINUTE + 1};
    sqt_time_groups_init(&g, &job, 1, 1);
    add(&g, 10 * MINUTE + 1, 5);
    add(&g, 1, 5);
    sqt_time_groups_finish(&g, &job);
    assert_int_equal(g.count, 11);
    assert_null(g.groups[5]);
    add(&g, INT64_MAX / 4, 5); /* a clock gone wild makes no room for it */
    assert_int_equal(g.count, 11);
    assert_int_equal(g.groups[0]->values[0].spread.count, 1);
    assert_int_equal(g.groups[10]->values[0].spread.count, 1);
    sqt_time_groups_free(&g);
}

/* With more values than are kept, old groups are closed, and what comes too late for them is counted. */
static void
many_values(void **state)
{
    (void)state;
    struct sqt_time_groups g;
    const struct sqt_job job = {.group = SECOND, .since = INT64_MIN, .until = INT64_MAX, .length = 100 * SECOND - 1};
    sqt_time_groups_init(&g, &job, 1, 2);
    for (int64_t t = 0; t < 100 * SECOND; t += SECOND / 20000) {
        add(&g, t, t % SECOND);
        sqt_time_groups_add(&g, sqt_time_groups_at(&g, t), 1, 1000000);
    }
    add(&g, 3 * SECOND, 1);
    sqt_time_groups_finish(&g, &job);
    assert_true(g.set.coarse);
    assert_int_equal(g.count, 100);
    assert_int_equal(g.late, 1);
    assert_int_equal(counted(&g), 2000001);
    for (size_t i = 0; i < g.count; ++i) {
        assert_in_range(g.groups[i]->values[0].spread.p50, SECOND / 2 - SECOND / 1000, SECOND / 2 + SECOND / 1000);
        assert_in_range(g.groups[i]->values[1].spread.p50, 999000, 1001000);
    }
    sqt_time_groups_free(&g);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),
        cmocka_unit_test(coarse),
        cmocka_unit_test(octaves_have_a_bound),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(merged),
        cmocka_unit_test(zeros),
        cmocka_unit_test(a_long_trace_has_the_width_asked_for),
        cmocka_unit_test(a_short_trace_has_at_least_twelve_groups),
        cmocka_unit_test(empty_groups_stay_empty),
        cmocka_unit_test(many_values),
    };
    return cmocka_run_group_tests_name("dump: medians", tests, NULL, NULL);
}
