/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sections.c - see sections.h.
 */
#include "sections.h"

#include <math.h>

/* ---- sections that grow ---- */

static void
merge(struct sqt_sections *s, unsigned into, unsigned from)
{
    struct sqt_section *const a = &s->sections[into], *const b = &s->sections[from];
    sqt_distribution_merge(s->set, &a->totals, &b->totals);
    a->count += b->count;
    for (unsigned i = 0; i < SQT_PARTS; ++i)
        a->parts[i] += b->parts[i];
    *b = (struct sqt_section){0};
}

/* Joins neighbours, to half as many sections of twice the length. */
static void
double_length(struct sqt_sections *s)
{
    for (unsigned i = 0; i < SQT_SECTIONS_MOST / 2; ++i) {
        if (i)
            merge(s, i, 2 * i);
        merge(s, i, 2 * i + 1);
    }
    s->count = SQT_SECTIONS_MOST / 2;
    s->length *= 2;
}

void
sqt_sections_add(struct sqt_sections *s, int64_t total, const int64_t *parts)
{
    if (!s->length)
        s->length = SQT_SECTION_LEAST;
    if (!s->count || s->sections[s->count - 1].count == s->length) {
        if (s->count == SQT_SECTIONS_MOST)
            double_length(s);
        ++s->count;
    }
    struct sqt_section *const section = &s->sections[s->count - 1];
    sqt_distribution_add(s->set, &section->totals, total);
    ++section->count;
    for (unsigned i = 0; i < SQT_PARTS; ++i)
        section->parts[i] += (uint64_t)parts[i];
}

/* ---- estimates ---- */

static double
sections_mean(uint64_t sum, uint64_t count)
{
    return count ? (double)sum / (double)count : 0;
}

/* From the statistic of all requests and of each section. */
static struct sqt_estimate
estimate(double all, const double *sections, unsigned count)
{
    double squares = 0;
    for (unsigned i = 0; i < count; ++i)
        squares += (sections[i] - all) * (sections[i] - all);
    struct sqt_estimate e = {.value = all};
    if (count >= SQT_SECTIONS_LEAST) {
        e.error = sqrt(squares / ((double)count * (count - 1)));
        e.freedom = count - 1;
    }
    return e;
}

/* A quantile from a histogram is up to 0.1 % off, however often it is looked up. */
static void
allow_for_buckets(const struct sqt_sections *s, struct sqt_estimate *e)
{
    if (s->set->coarse)
        e->error = hypot(e->error, e->value / 1000);
}

void
sqt_sections_finish(struct sqt_sections *s)
{
    double medians[SQT_SECTIONS_MOST], p99s[SQT_SECTIONS_MOST], means[SQT_SECTIONS_MOST];
    double parts[SQT_PARTS][SQT_SECTIONS_MOST];
    if (s->count > 1 && s->sections[s->count - 1].count < s->length) {
        merge(s, s->count - 2, s->count - 1);
        --s->count;
    }
    for (unsigned i = 0; i < s->count; ++i) {
        struct sqt_section *const section = &s->sections[i];
        medians[i] = (double)sqt_distribution_median(&section->totals);
        p99s[i] = (double)sqt_distribution_quantile(&section->totals, 990);
        means[i] = sections_mean(section->totals.sum, section->count);
        for (unsigned p = 0; p < SQT_PARTS; ++p)
            parts[p][i] = sections_mean(section->parts[p], section->count);
    }
    struct sqt_section *const all = &s->all;
    for (unsigned i = 0; i < s->count; ++i) {
        struct sqt_section *const section = &s->sections[i];
        sqt_distribution_merge(s->set, &all->totals, &section->totals);
        all->count += section->count;
        for (unsigned p = 0; p < SQT_PARTS; ++p)
            all->parts[p] += section->parts[p];
    }
    s->median = estimate((double)sqt_distribution_median(&all->totals), medians, s->count);
    allow_for_buckets(s, &s->median);
    s->p99 = estimate((double)sqt_distribution_quantile(&all->totals, 990), p99s,
                      s->length >= SQT_SECTION_P99_LEAST ? s->count : 0);
    allow_for_buckets(s, &s->p99);
    s->mean = estimate(sections_mean(all->totals.sum, all->count), means, s->count);
    for (unsigned p = 0; p < SQT_PARTS; ++p)
        s->parts[p] = estimate(sections_mean(all->parts[p], all->count), parts[p], s->count);
}

void
sqt_sections_free(struct sqt_sections *s)
{
    for (unsigned i = 0; i < SQT_SECTIONS_MOST; ++i)
        sqt_distribution_drop(s->set, &s->sections[i].totals);
    sqt_distribution_drop(s->set, &s->all.totals);
}

/* ---- differences ---- */

/* The value that a normal variable exceeds with that probability. */
static double
normal_quantile(double probability)
{
    double low = 0, high = 40;
    if (probability > 0.5)
        return -normal_quantile(1 - probability);
    for (int i = 0; i < 80; ++i) {
        const double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) / 2 > probability)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The expansion of Cornish and Fisher. */
double
sqt_student_quantile(double probability, double n)
{
    const double z = normal_quantile(probability), z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
           (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * n * n * n * n);
}

struct sqt_difference
sqt_sections_difference(const struct sqt_estimate *a, const struct sqt_estimate *b, double confidence)
{
    struct sqt_difference d = {.value = b->value - a->value};
    if (a->freedom <= 0 || b->freedom <= 0)
        return d;
    const double va = a->error * a->error, vb = b->error * b->error, sum = va + vb;
    const double freedom = sum > 0 ? sum * sum / (va * va / a->freedom + vb * vb / b->freedom) : a->freedom;
    const double half = sqrt(sum) * sqt_student_quantile((1 - confidence) / 2, freedom);
    d.low = d.value - half;
    d.high = d.value + half;
    d.verdict = d.low <= 0 && d.high >= 0 ? SQT_VERDICT_SAME : SQT_VERDICT_DIFFERENT;
    return d;
}
