/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cdf.c - the share of values up to each: over the whole trace, or over its busiest window.
 *
 * Values are kept in histograms only; a row stands for 16 buckets, so there are 32 to the doubling, and what it counts
 * is exact.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/objects.h"
#include "figure/stat/curves.h"
#include "figure/stat/time-groups.h"
#include "figure/stat/peak.h"

#define STEP 16

struct cdf {
    struct sqt_distributions set;
    struct sqt_distribution values[SQT_CURVES_MOST];
    struct sqt_objects objects;
    struct sqt_peak peak;
};

static void
cdf_start(struct sqt_job *job)
{
    struct cdf *const c = job->state = sqt_zeroed(1, sizeof(*c));
    c->set.coarse = 1;
}

/* Whether it is the first access to the object in that curve, if that matters. */
static int
counts(struct cdf *c, const struct sqt_population *p, unsigned curve, uint64_t object)
{
    return !p->first || (object && !(sqt_objects_mark(&c->objects, object, 1u << curve) >> curve & 1));
}

static void
cdf_expect(struct sqt_job *job, const struct sqt_request_fact *r)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    struct cdf *const state = job->state;
    if (curves[0].part.first)
        sqt_objects_expect(&state->objects, (uint64_t)r->row[SQT_CELL(requests, object)].number);
}

static void
cdf_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct cdf *const state = job->state;
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    if (!sqt_job_wants_request(job, r))
        return;
    const int64_t object = r->row[SQT_CELL(requests, object)].number;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_request(&curves[c].part, r) &&
            counts(state, &curves[c].part, c, object == SQT_CELL_MISSING ? 0 : (uint64_t)object))
            sqt_distribution_add(&state->set, &state->values[c], sqt_population_value(&curves[c].part, r->row));
}

static void
cdf_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    struct cdf *const state = job->state;
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    /* A condition is about requests, so with one swaps are left out. */
    if (job->where || !sqt_job_wants_swap(job, s))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_swap(&curves[c].part, s) && counts(state, &curves[c].part, c, s->object))
            sqt_distribution_add(&state->set, &state->values[c], sqt_population_value(&curves[c].part, s->row));
}

/* Highest value of a row. */
static int64_t
upper(unsigned step)
{
    const unsigned steps = SQT_OCTAVE_BUCKETS / STEP;
    const unsigned octave = step / steps, last = step % steps * STEP + STEP; /* behind the last bucket */
    if (!octave)
        return last - 1;
    return (int64_t)(((uint64_t)(SQT_OCTAVE_BUCKETS + last) << (octave - 1)) - 1);
}

static void
cdf_print(struct sqt_job *job, struct sqt_distribution *values)
{
    unsigned count;
    sqt_curves_of(job->table, &count);
    const unsigned steps = SQT_OCTAVES * SQT_OCTAVE_BUCKETS / STEP;
    uint64_t upto[SQT_CURVES_MOST] = {0}, all = 0, before = 0;
    for (unsigned c = 0; c < count; ++c) {
        all += values[c].count;
        upto[c] = values[c].zeros;
    }
    for (unsigned step = 0; before < all && step < steps; ++step) {
        union sqt_cell row[1 + 2 * SQT_CURVES_MOST];
        uint64_t now = 0;
        row[0].number = upper(step);
        for (unsigned c = 0; c < count; ++c) {
            const unsigned first = step * STEP;
            const uint32_t *const octave = sqt_distribution_octave(&values[c], first / SQT_OCTAVE_BUCKETS);
            for (unsigned i = 0; octave && i < STEP; ++i)
                upto[c] += octave[first % SQT_OCTAVE_BUCKETS + i];
            now += upto[c];
            row[1 + 2 * c].number = (int64_t)upto[c];
            row[2 + 2 * c].number = sqt_share(upto[c], values[c].count);
        }
        /* Steps below the lowest value say nothing. */
        if (now)
            sqt_job_row(job, row);
        before = now;
    }
}

static void
cdf_finish(struct sqt_job *job)
{
    struct cdf *const c = job->state;
    sqt_job_note_bound(job, c->objects.beyond, "accesses to objects are left out, because there are too many objects");
    cdf_print(job, c->values);
    for (unsigned i = 0; i < SQT_CURVES_MOST; ++i)
        if (c->values[i].count)
            sqt_distribution_drop(&c->set, &c->values[i]);
    sqt_objects_free(&c->objects);
    sqt_freed(c);
}

/* ---- of the busiest window ---- */

static void
peak_start(struct sqt_job *job)
{
    struct sqt_peak *const p = job->state = sqt_zeroed(1, sizeof(*p));
    unsigned count;
    sqt_curves_of(job->table, &count);
    sqt_peak_init(p, job, count);
    p->set.coarse = 1;
}

static void
peak_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    if (!sqt_job_counts_request(job, r))
        return;
    sqt_peak_request(job->state, r->begin);
    if (!sqt_job_wants_request(job, r))
        return;
    for (unsigned c = 0; c < count; ++c)
        if (sqt_population_has_request(&curves[c].part, r))
            sqt_peak_add(job->state, r->begin, c, sqt_population_value(&curves[c].part, r->row));
}

static void
peak_finish(struct sqt_job *job)
{
    struct sqt_peak *const p = job->state;
    sqt_peak_finish(p, job);
    cdf_print(job, p->best);
    sqt_peak_free(p);
    sqt_freed(p);
}

const struct sqt_family sqt_family_cdf = {.where = {SQT_TABLE_requests},
                                          .where_count = 1,
                                          .start = cdf_start,
                                          .request = cdf_request,
                                          .expect = cdf_expect,
                                          .swap = cdf_swap,
                                          .finish = cdf_finish};
const struct sqt_family sqt_family_cdf_peak = {.where = {SQT_TABLE_requests},
                                               .where_count = 1,
                                               .start = peak_start,
                                               .unpicked = 1, /* the peak is of all requests */
                                               .request = peak_request,
                                               .finish = peak_finish};
