/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * medians.c - medians and percentiles of each curve, by time group or by size.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/curves.h"
#include "figure/stat/time-groups.h"

/* Columns of a curve: count, p50, p75, p90, p99, mean. */
#define SPREAD 6

static void
print_spread(union sqt_cell *cell, const struct sqt_spread *s)
{
    const int64_t values[SPREAD] = {(int64_t)s->count, s->p50, s->p75, s->p90, s->p99, s->mean};
    for (unsigned i = 0; i < SPREAD; ++i)
        cell[i].number = i && s->count < SQT_GROUP_LEAST ? SQT_CELL_MISSING : values[i];
}

/* ---- by time ---- */

static void
time_start(struct sqt_job *job)
{
    unsigned count;
    sqt_curves_of(job->table, &count);
    sqt_time_groups_init(job->state = sqt_zeroed(1, sizeof(struct sqt_time_groups)), job, 0, count);
}

static void
time_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    struct sqt_time_group *group = NULL;
    if (!sqt_job_wants_request(job, r))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_request(&curves[c].part, r) &&
            (group || (group = sqt_time_groups_at(job->state, r->begin))))
            sqt_time_groups_add(job->state, group, c, sqt_population_value(&curves[c].part, r->row));
}

static void
time_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    struct sqt_time_group *group = NULL;
    if (!sqt_job_wants_swap(job, s))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_swap(&curves[c].part, s) &&
            (group || (group = sqt_time_groups_at(job->state, s->begin))))
            sqt_time_groups_add(job->state, group, c, sqt_population_value(&curves[c].part, s->row));
}

static void
time_finish(struct sqt_job *job)
{
    struct sqt_time_groups *const g = job->state;
    sqt_time_groups_finish(g, job);
    sqt_time_groups_note(g, job);
    for (size_t i = 0; i < g->count; ++i) {
        union sqt_cell row[1 + SPREAD * SQT_CURVES_MOST];
        int enough = 0;
        if (!g->groups[i])
            continue;
        row[0].number = sqt_time_groups_middle(g, i);
        for (unsigned c = 0; c < g->value_count; ++c) {
            const struct sqt_spread *const s = &g->groups[i]->values[c].spread;
            print_spread(&row[1 + SPREAD * c], s);
            enough |= s->count >= SQT_GROUP_LEAST;
        }
        if (enough)
            sqt_job_row(job, row);
    }
    sqt_time_groups_free(g);
    sqt_freed(g);
}

/* ---- by size ---- */

/* A bin holds sizes above `from` and up to `to`: an object that fills its last block belongs to that block. */
struct bins {
    struct sqt_distributions set;
    unsigned curve_count;
    struct sqt_distribution *of_bin[256]; /* one for each curve; NULL: empty */
};

/* 1 KB wide to 16 KB, 2 KB wide to 256 KB, then twice as wide as the one before. */
#define KB INT64_C(1024)
#define FINE 16
#define WIDE 120

static unsigned
bin_of(int64_t size)
{
    const uint64_t last = size > 0 ? (uint64_t)size - 1 : 0; /* the last byte */
    if (last < FINE * KB)
        return (unsigned)(last / KB);
    if (last < 256 * KB)
        return FINE + (unsigned)((last - FINE * KB) / (2 * KB));
    return FINE + WIDE + (63 - (unsigned)__builtin_clzll(last)) - 18;
}

static int64_t
bin_begin(unsigned bin)
{
    if (bin <= FINE)
        return bin * KB;
    if (bin <= FINE + WIDE)
        return FINE * KB + (bin - FINE) * 2 * KB;
    const unsigned doublings = bin - FINE - WIDE;
    return doublings < 45 ? 256 * KB << doublings : INT64_MAX;
}

#define SMALL 512
#define SMALL_BINS 16

static unsigned
small_bin_of(int64_t size)
{
    return size > 0 ? (unsigned)((size - 1) / SMALL) : 0;
}

static void
size_start(struct sqt_job *job)
{
    struct bins *const b = job->state = sqt_zeroed(1, sizeof(*b));
    b->set.budget = SQT_GROUP_BUDGET;
    sqt_curves_of(job->table, &b->curve_count);
}

static void
medians_add(struct bins *b, unsigned bin, unsigned curve, int64_t value)
{
    if (!b->of_bin[bin])
        b->of_bin[bin] = sqt_zeroed(b->curve_count, sizeof(**b->of_bin));
    sqt_distribution_add(&b->set, &b->of_bin[bin][curve], value);
}

static void
size_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    const int64_t size = r->row[SQT_CELL(requests, size_bytes)].number;
    if (!sqt_job_wants_request(job, r))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_request(&curves[c].part, r))
            medians_add(job->state, bin_of(size), c, sqt_population_value(&curves[c].part, r->row));
}

static void
small_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    const int64_t size = r->row[SQT_CELL(requests, size_bytes)].number;
    if (size > SMALL * SMALL_BINS || !sqt_job_wants_request(job, r))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_request(&curves[c].part, r))
            medians_add(job->state, small_bin_of(size), c, sqt_population_value(&curves[c].part, r->row));
}

static void
size_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    if (!sqt_job_wants_swap(job, s))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_swap(&curves[c].part, s))
            medians_add(job->state, bin_of(s->row[SQT_CELL(swaps, size_bytes)].number), c,
                        sqt_population_value(&curves[c].part, s->row));
}

static void
print_bins(struct sqt_job *job, int small)
{
    struct bins *const b = job->state;
    sqt_job_note_coarse(job, "medians", b->set.coarse);
    for (unsigned i = 0; i < sizeof(b->of_bin) / sizeof(*b->of_bin); ++i) {
        union sqt_cell row[2 + SPREAD * SQT_CURVES_MOST];
        int enough = 0;
        if (!b->of_bin[i])
            continue;
        row[0].number = small ? i * SMALL : bin_begin(i);
        row[1].number = small ? (i + 1) * SMALL : bin_begin(i + 1);
        for (unsigned c = 0; c < b->curve_count; ++c) {
            const struct sqt_spread s = sqt_distribution_spread(&b->of_bin[i][c]);
            print_spread(&row[2 + SPREAD * c], &s);
            enough |= s.count >= SQT_GROUP_LEAST;
            if (s.count)
                sqt_distribution_drop(&b->set, &b->of_bin[i][c]);
        }
        if (enough)
            sqt_job_row(job, row);
        sqt_freed(b->of_bin[i]);
    }
    sqt_freed(b);
}

static void
size_finish(struct sqt_job *job)
{
    print_bins(job, 0);
}

static void
small_finish(struct sqt_job *job)
{
    print_bins(job, 1);
}

const struct sqt_family sqt_family_request_medians_by_time = {.where = {SQT_TABLE_requests},
                                                              .where_count = 1,
                                                              .start = time_start,
                                                              .request = time_request,
                                                              .finish = time_finish};
const struct sqt_family sqt_family_swap_medians_by_time = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = time_start, .swap = time_swap, .finish = time_finish};
const struct sqt_family sqt_family_request_medians_by_size = {.where = {SQT_TABLE_requests},
                                                              .where_count = 1,
                                                              .start = size_start,
                                                              .request = size_request,
                                                              .finish = size_finish};
const struct sqt_family sqt_family_request_medians_by_small_size = {.where = {SQT_TABLE_requests},
                                                                    .where_count = 1,
                                                                    .start = size_start,
                                                                    .request = small_request,
                                                                    .finish = small_finish};
const struct sqt_family sqt_family_swap_medians_by_size = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = size_start, .swap = size_swap, .finish = size_finish};
