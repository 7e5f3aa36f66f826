/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * load_generators.c - what sqtrace-load draws fits what it is drawn from: tests at 1 %, with fixed seeds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/load/object/sizes.h"
#include "../../tools/load/load.h"

#define DRAWS 100000

/* Above what a chi-squared sum of so many degrees of freedom is in 1 % of all cases (Wilson and Hilferty). */
static double
chi_limit(unsigned freedom)
{
    const double k = freedom, root = 1 - 2 / (9 * k) + 2.326348 * sqrt(2 / (9 * k));
    return k * root * root * root;
}

static int
ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest distance of the values' distribution from cdf, times the root of their count: above 1.63 in 1 %. */
static double
kolmogorov(double *values, size_t count, double (*cdf)(double))
{
    double most = 0;
    qsort(values, count, sizeof(*values), ascending);
    for (size_t i = 0; i < count; ++i) {
        const double f = cdf(values[i]);
        most = fmax(most, fmax(f - (double)i / (double)count, (double)(i + 1) / (double)count - f));
    }
    return most * sqrt((double)count);
}

static double values[DRAWS];

/* ---- sizes ---- */

static double
pareto_cdf(double x)
{
    return 1 - pow(3072 / x, 1.1);
}

static void
pareto(void **state)
{
    struct sqt_random r = sqt_random_of(1, 1);
    double logs = 0;
    (void)state;
    for (unsigned i = 0; i < DRAWS; ++i) {
        values[i] = (double)sizes_pareto(&r) + 0.5; /* it was cut to whole bytes */
        assert_true(values[i] > 3072);
        logs += log(values[i] / 3072);
    }
    const double alpha = DRAWS / logs; /* by maximum likelihood */
    assert_true(fabs(alpha / 1.1 - 1) < 0.01);
    assert_true(kolmogorov(values, DRAWS, pareto_cdf) < 1.63);
}

static double
uniform_cdf(double x)
{
    return x / 40961;
}

static void
uniform(void **state)
{
    struct sqt_random r = sqt_random_of(1, 2);
    unsigned large = 0, count = 0;
    (void)state;
    for (unsigned i = 0; i < DRAWS; ++i) {
        const uint64_t size = sizes_uniform(&r);
        if (size == 1 << 20)
            ++large;
        else
            values[count++] = (double)size + 0.5;
    }
    assert_true(fabs(large - 0.01 * DRAWS) < 2.58 * sqrt(0.0099 * DRAWS));
    assert_true(values[0] <= 40961 && kolmogorov(values, count, uniform_cdf) < 1.63);
}

static void
means(void **state)
{
    struct sqt_random r = sqt_random_of(1, 3);
    double sum[4] = {0}, squares[4] = {0};
    (void)state;
    for (unsigned i = 0; i < DRAWS; ++i) {
        const double x[4] = {sqt_random_exponential(&r, 4.5), sqt_random_normal(&r, 2.5, 1),
                             sqt_random_lognormal(&r, 25, 10), sqt_random_unit(&r)};
        for (unsigned k = 0; k < 4; ++k) {
            sum[k] += x[k];
            squares[k] += x[k] * x[k];
        }
        assert_true(x[3] > 0 && x[3] < 1);
    }
    const double mean[4] = {4.5, 2.5, 25, 0.5}, deviation[4] = {4.5, 1, 10, sqrt(1.0 / 12)};
    for (unsigned k = 0; k < 4; ++k) {
        const double m = sum[k] / DRAWS, d = sqrt(squares[k] / DRAWS - m * m);
        assert_true(fabs(m - mean[k]) < 2.58 * deviation[k] / sqrt(DRAWS));
        assert_true(fabs(d / deviation[k] - 1) < 0.02);
    }
}

static void
below(void **state)
{
    struct sqt_random r = sqt_random_of(7, 0);
    unsigned seen[37] = {0};
    double sum = 0;
    (void)state;
    for (unsigned i = 0; i < DRAWS; ++i)
        ++seen[sqt_random_below(&r, 37)];
    for (unsigned i = 0; i < 37; ++i)
        sum += pow(seen[i] - DRAWS / 37.0, 2) / (DRAWS / 37.0);
    assert_true(sum < chi_limit(36));
}

/* ---- 1/t ---- */

#define BINS 40

/* Single distances up to 20, then doubling. */
static unsigned
bin_of(uint64_t t)
{
    unsigned bin = 20;
    if (t <= 20)
        return (unsigned)t - 1;
    for (uint64_t end = 40; t > end; end *= 2)
        ++bin;
    return bin;
}

static void
harmonic(void **state)
{
    enum { MOST = 5000 };
    struct sqt_random r = sqt_random_of(1, 4);
    double expected[BINS] = {0}, all = 0, sum = 0;
    unsigned seen[BINS] = {0}, bins = 0;
    (void)state;
    for (uint64_t t = 1; t <= MOST; ++t)
        all += 1.0 / (double)t;
    for (uint64_t t = 1; t <= MOST; ++t)
        expected[bin_of(t)] += DRAWS / (double)t / all;
    for (unsigned i = 0; i < DRAWS; ++i) {
        const uint64_t t = sqt_random_harmonic(&r, MOST);
        assert_in_range(t, 1, MOST);
        ++seen[bin_of(t)];
    }
    for (unsigned i = 0; i < BINS; ++i)
        if (expected[i] > 0) {
            sum += pow(seen[i] - expected[i], 2) / expected[i];
            ++bins;
        }
    assert_true(sum < chi_limit(bins - 1));
    assert_int_equal(sqt_random_harmonic(&r, 1), 1);
}

/* ---- wpb ---- */

static struct load *
workload(const char *name, const char *const *words, unsigned count)
{
    static struct load load;
    static struct place place = {.authority = (char *)(uintptr_t) "127.0.0.1:1"};
    char *argv[16] = {(char *)(uintptr_t) "sqtrace-load", (char *)(uintptr_t)name}, error[256];
    for (unsigned i = 0; i < count; ++i)
        argv[2 + i] = (char *)(uintptr_t)words[i];
    assert_int_equal(load_parse(&load, (int)count + 2, argv, error, sizeof(error)), 0);
    places_free(&load.listen);
    load.servers = (struct places){&place, 1};
    assert_int_equal(load.workload->plan(&load, error, sizeof(error)), 0);
    return &load;
}

static struct load *
wpb(const char *const *words, unsigned count)
{
    return workload("--workload=wpb", words, count);
}

static struct load *
poly(const char *const *words, unsigned count)
{
    return workload("--workload=poly", words, count);
}

static void
end(struct load *load)
{
    load->workload->end(load);
    free(load->fields);
    free(load->words);
}

/* The number of the file that is asked for, and its size. */
static unsigned
file_of(const struct request *r, unsigned long long *size)
{
    unsigned client, file;
    assert_int_equal(sscanf(r->path, "/size=%llu/c%uf%u", size, &client, &file), 3);
    assert_int_equal(client, r->client);
    return file;
}

static void
wpb_recurs(void **state)
{
    enum { CLIENTS = 10, EACH = 10000 };
    struct load *const load = wpb((const char *[]){"--clients=10", "--requests=10000", "--hit-ratio=0.6"}, 3);
    static unsigned files[2 * EACH + 1], last[2 * EACH + 1];
    static unsigned long long sizes[2 * EACH + 1];
    double distances[BINS] = {0}, expected[BINS] = {0}, sum = 0;
    static double harmonics[2 * EACH + 1], shares[2 * EACH + 1][24];
    unsigned repeats = 0, bins = 0;
    (void)state;
    for (unsigned n = 1; n <= 2 * EACH; ++n) {
        harmonics[n] = harmonics[n - 1] + 1.0 / n;
        memcpy(shares[n], shares[n - 1], sizeof(shares[n]));
        shares[n][bin_of(n) < 24 ? bin_of(n) : 23] += 1.0 / n;
    }
    for (unsigned c = 0; c < CLIENTS; ++c) {
        memset(sizes, 255, sizeof(sizes));
        memset(last, 0, sizeof(last));
        for (unsigned i = 1; i <= 2 * EACH; ++i) {
            struct request r = {.client = c};
            unsigned long long size;
            load->phase = i > EACH;
            r.path = r.made;
            assert_int_equal(load->workload->next(load, &r), 1);
            files[i] = file_of(&r, &size);
            assert_in_range(files[i], 1, 2 * EACH);
            const int repeated = last[files[i]] != 0;
            if (i <= EACH)
                assert_false(repeated);
            if (repeated) {
                assert_true(sizes[files[i]] == size);
                ++repeats;
            }
            sizes[files[i]] = size;
            last[files[i]] = i;
        }
    }
    assert_true(fabs(repeats / (double)(CLIENTS * EACH) - 0.6) < 0.01);
    end(load);
    /* How far back: seen in the first request of phase 2, before which each file was asked for once. */
    struct load *const many = wpb((const char *[]){"--clients=3000", "--requests=200", "--hit-ratio=1"}, 3);
    for (unsigned c = 0; c < 3000; ++c)
        for (unsigned i = 1; i <= 201; ++i) {
            struct request r = {.client = c};
            unsigned long long size;
            many->phase = i > 200;
            r.path = r.made;
            assert_int_equal(many->workload->next(many, &r), 1);
            const unsigned file = file_of(&r, &size);
            if (i <= 200)
                assert_int_equal(file, i);
            else
                ++distances[bin_of(i - file)];
        }
    for (unsigned b = 0; b < 24; ++b)
        expected[b] = 3000 * shares[200][b] / harmonics[200];
    for (unsigned b = 0; b < 24; ++b)
        if (expected[b] > 0) {
            sum += pow(distances[b] - expected[b], 2) / expected[b];
            ++bins;
        }
    assert_true(sum < chi_limit(bins - 1));
    end(many);
}

static void
wpb_repeats_with_its_seed(void **state)
{
    char paths[2][3][LOAD_PATH_MAX];
    (void)state;
    for (unsigned run = 0; run < 3; ++run) {
        struct load *const load = wpb((const char *[]){run == 2 ? "--seed=6" : "--seed=5", "--requests=5"}, 2);
        for (unsigned i = 0; i < 3; ++i) {
            struct request r = {.client = 3};
            r.path = r.made;
            load->workload->next(load, &r);
            if (run < 2)
                strcpy(paths[run][i], r.path);
            else
                assert_string_not_equal(paths[0][i], r.path);
        }
        end(load);
    }
    assert_memory_equal(paths[0][0], paths[1][0], strlen(paths[0][0]) + 1);
    assert_string_equal(paths[0][2], paths[1][2]);
}

/* ---- poly ---- */

enum { CONTENTS = 4, POLY_DRAWS = 200000 };

static void
near(double got, double wanted, double within)
{
    if (fabs(got - wanted) > within)
        print_error("%g is not %g within %g\n", got, wanted, within);
    assert_true(fabs(got - wanted) <= within);
}

/* As published: share, mean KB, and what caches may store. */
static void
poly_mix(void **state)
{
    static const struct {
        const char *name;
        double share, mean, deviation, stored;
    } wanted[CONTENTS] = {{"image", 0.65, 4.5, 4.5, 0.80},
                          {"html", 0.15, 8.5, 8.5, 0.90},
                          {"download", 0.005, 300, 300, 0.95},
                          {"other", 0.195, 25, 10, 0.72}};
    static unsigned char seen[POLY_DRAWS + 1];
    struct load *const load = poly((const char *[]){"--rate=250", "--phases=top1"}, 2);
    double count[CONTENTS] = {0}, kb[CONTENTS] = {0}, stored[CONTENTS] = {0}, wait = 0, waits = 0;
    unsigned repeats = 0, hot = 0, kinds[4] = {0}, objects = 0;
    (void)state;
    for (unsigned i = 0; i < POLY_DRAWS; ++i) {
        struct request r = {.path = NULL};
        char name[16];
        struct sqt_object object;
        unsigned number, c = 0;
        assert_int_equal(load->workload->next(load, &r), 1);
        assert_int_equal(sqt_object_parse(&object, r.made, strlen(r.made)), 0);
        assert_int_equal(sscanf(strrchr(r.made, '/'), "/%15[a-z]%u", name, &number), 2);
        assert_in_range(number, 1, POLY_DRAWS);
        hot += number % 100 == 0;
        ++kinds[r.kind];
        if (seen[number]) {
            ++repeats;
            continue;
        }
        seen[number] = 1;
        ++objects;
        while (strcmp(wanted[c].name, name) != 0)
            assert_true(++c < CONTENTS);
        ++count[c];
        kb[c] += (double)object.words[SQT_OBJECT_size] / 1024;
        stored[c] += (double)object.words[SQT_OBJECT_store];
        wait += (double)object.words[SQT_OBJECT_wait];
        waits += pow((double)object.words[SQT_OBJECT_wait], 2);
    }
    for (unsigned c = 0; c < CONTENTS; ++c) {
        near(count[c] / objects, wanted[c].share, 2.58 * sqrt(wanted[c].share / objects));
        near(kb[c] / count[c], wanted[c].mean, 2.58 * wanted[c].deviation / sqrt(count[c]) + 0.001);
        near(stored[c] / count[c], wanted[c].stored, 2.58 * 0.5 / sqrt(count[c]));
    }
    near(repeats / (double)POLY_DRAWS, 0.72, 0.005);
    near(hot / (double)POLY_DRAWS, 0.10 + 0.28 / 100, 0.005); /* a new object is hot as often as any */
    near(kinds[REQUEST_SINCE_OLDER] / (double)POLY_DRAWS, 0.05, 0.002);
    near(kinds[REQUEST_SINCE_SAME] / (double)POLY_DRAWS, 0.10, 0.003);
    near(kinds[REQUEST_RELOAD] / (double)POLY_DRAWS, 0.05, 0.002);
    near(wait / objects, 2500, 20); /* 0.6 % of the normal distribution are below 0, and cut to that */
    near(sqrt(waits / objects - pow(wait / objects, 2)), 1000, 20);
    end(load);
}

/* After `fill` the working set stays as large as it is. */
static void
poly_freezes(void **state)
{
    struct load *const load = poly((const char *[]){"--rate=250", "--phases=fill,top1"}, 2);
    unsigned newest = 0, frozen = 0, oldest = UINT32_MAX;
    (void)state;
    assert_int_equal(load->phase_count, 2);
    for (unsigned i = 0; i < 60000; ++i) {
        struct request r = {.path = NULL};
        char name[16];
        unsigned number;
        load->phase = i >= 20000;
        frozen = i == 20000 ? newest : frozen;
        load->workload->next(load, &r);
        assert_int_equal(sscanf(strrchr(r.made, '/'), "/%15[a-z]%u", name, &number), 2);
        newest = number > newest ? number : newest;
        if (i >= 50000) { /* it has moved on */
            assert_true(number + frozen + 1 > newest);
            oldest = number < oldest ? number : oldest;
        }
    }
    assert_true(frozen > 5000 && newest - oldest > frozen * 9 / 10);
    end(load);
}

/* ---- rates ---- */

static void
rates(void **state)
{
    static const struct phase phases[] = {{.rate = 250, .end_rate = 250, .duration = 8 * LOAD_SECOND},
                                          {.rate = 10, .end_rate = 500, .duration = 8 * LOAD_SECOND},
                                          {.rate = 500, .end_rate = 20, .duration = 8 * LOAD_SECOND},
                                          {.rate = 0, .end_rate = 300, .duration = 8 * LOAD_SECOND}};
    (void)state;
    for (unsigned k = 0; k < 4; ++k) {
        const struct phase *const p = &phases[k];
        const uint64_t all = phase_due_count(p, p->duration);
        assert_int_equal(all, (uint64_t)((p->rate + p->end_rate) * 4));
        for (uint64_t i = 0; i < all; ++i) {
            const int64_t at = phase_due_time(p, (double)i);
            const double t = (double)at / 1e9, rate = p->rate + (p->end_rate - p->rate) * t / 8;
            assert_true(at >= 0 && at < p->duration);
            assert_true(fabs(p->rate * t + (p->end_rate - p->rate) * t * t / 16 - (double)i) < 1e-4);
            assert_in_range(phase_due_count(p, at + 1000), i, i + 1);
            if (i > 10) /* neighbours are one over the rate apart */
                assert_true(fabs((double)(at - phase_due_time(p, (double)i - 1)) * rate / 1e9 - 1) < 0.15);
        }
        assert_true(phase_due_time(p, (double)all + 1) >= p->duration - 5);
    }
}

/* A rate, a speed or a scale of the command line may make any time: it is one that can be added to a clock's. */
static void
rates_too_slow(void **state)
{
    static const struct phase even = {.rate = 1e-11, .end_rate = 1e-11},
                              rising = {.rate = 0, .end_rate = 1e-9, .duration = LOAD_NEVER},
                              fast = {.rate = 1e9, .end_rate = 4e9, .duration = LOAD_NEVER};
    (void)state;
    assert_int_equal(phase_due_time(&even, 0), 0);
    assert_int_equal(phase_due_time(&even, 1), LOAD_NEVER);
    assert_int_equal(phase_due_time(&rising, 1e300), LOAD_NEVER);
    assert_int_equal(phase_due_count(&fast, LOAD_NEVER), INT64_MAX);
    assert_int_equal(load_ns(30. * 60 * 1e9 * LOAD_SECOND), LOAD_NEVER);
    assert_int_equal(load_ns(1.5e9), 1500000000);
}

/* ---- percentiles ---- */

static void
latencies(void **state)
{
    static struct load load = {.distributions.budget = 1 << 20, .phase_count = 1};
    struct request r = {.due = 500};
    load.phases[0] = (struct phase){.name = "p", .rate = 1, .end_rate = 1};
    load.number[LOAD_late] = 100000;
    (void)state;
    for (int64_t i = 1000; i >= 1; --i) {
        const struct outcome o = {.request = &r,
                                  .sent = 500 + (i <= 40 ? 100001 : 99999),
                                  .first = 500 + i,
                                  .end = 500 + 10 * i,
                                  .status = 200,
                                  .bytes = 7,
                                  .error = LOAD_FINE,
                                  .cache = i % 4 ? SQT_CACHE_MISS : SQT_CACHE_HIT};
        stats_take(&load, &o);
    }
    const struct outcome failed = {.request = &r, .end = 900, .error = LOAD_ERROR_connect};
    stats_take(&load, &failed);
    struct phase_stats *const s = &load.stats[0];
    s->due = 1001;
    assert_int_equal(sqt_distribution_quantile(&s->classes[LOAD_ALL].total, 990), 9900);
    assert_int_equal(sqt_distribution_quantile(&s->classes[LOAD_ALL].first_byte, 999), 999);
    assert_int_equal(sqt_distribution_quantile(&s->classes[LOAD_HIT].total, 500), 5000);
    assert_int_equal(s->classes[LOAD_HIT].total.count, 250);
    assert_int_equal(s->classes[LOAD_MISS].total.count, 750);
    assert_int_equal(s->hits, 250);
    assert_int_equal(s->errors[LOAD_ERROR_connect], 1);
    assert_int_equal(s->late, 40);
    assert_int_equal(stats_unsent(s), 41);
    assert_true(stats_invalid(&load)); /* 41 of 1,001 */
    s->late = 9;
    assert_false(stats_invalid(&load)); /* 10 of 1,001 */
    stats_free(&load);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pareto),
        cmocka_unit_test(uniform),
        cmocka_unit_test(means),
        cmocka_unit_test(below),
        cmocka_unit_test(harmonic),
        cmocka_unit_test(wpb_recurs),
        cmocka_unit_test(wpb_repeats_with_its_seed),
        cmocka_unit_test(poly_mix),
        cmocka_unit_test(poly_freezes),
        cmocka_unit_test(rates),
        cmocka_unit_test(rates_too_slow),
        cmocka_unit_test(latencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
