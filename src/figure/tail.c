/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tail.c - the figures of the slow end: what stages contribute at each percentile, and the slowest requests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/octaves.h"
#include "figure/stat/time-groups.h"

/* ---- tail-stages ----
 *
 * Totals are sorted into steps, 32 to the doubling.  A percentile is the requests of the step that it falls into. */

#define OCTAVE_BITS 5
#define OCTAVE (1 << OCTAVE_BITS)
#define STEPS (60 * OCTAVE)

#define STAGES (SQT_STAGES + 1) /* and unaccounted, which follows the early ones */
SQT_ASSERT(SQT_CELL(tail_stages, failed_tries_ms) - SQT_CELL(tail_stages, access_ms) == SQT_STAGES, "a column a stage");

/* The column of `requests` that is so many after access, in tail-stages. */
static unsigned
tail_cell(unsigned i)
{
    return i < SQT_EARLY_STAGES    ? SQT_STAGE_CELL(i)
           : i == SQT_EARLY_STAGES ? SQT_CELL(requests, unaccounted_ns)
                                   : SQT_STAGE_CELL(i - 1);
}

struct tail_step {
    uint64_t count;
    uint64_t total;          /* ns, of all */
    uint64_t stages[STAGES]; /* ns, of all */
};

struct tail {
    struct tail_class {
        uint64_t count;
        struct tail_step *steps[STEPS]; /* NULL: none */
    } classes[SQT_CLASSES + 1];         /* the last: all */
};

static unsigned
step_of(int64_t total)
{
    unsigned bucket;
    const unsigned octave = sqt_octave_of(total > 0 ? (uint64_t)total : 0, OCTAVE_BITS, &bucket);
    return octave * OCTAVE + bucket;
}

static void
tail_start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct tail));
}

static void
tail_add(struct tail_class *class, unsigned step, const struct sqt_request_fact *r)
{
    struct tail_step *s = class->steps[step];
    if (!s)
        s = class->steps[step] = sqt_zeroed(1, sizeof(*s));
    ++class->count;
    ++s->count;
    s->total += (uint64_t)(r->end - r->begin);
    for (unsigned i = 0; i < STAGES; ++i)
        if (r->row[tail_cell(i)].number != SQT_CELL_MISSING)
            s->stages[i] += (uint64_t)r->row[tail_cell(i)].number;
}

static void
tail_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct tail *const t = job->state;
    if (!sqt_job_wants_request(job, r))
        return;
    const unsigned step = step_of(r->end - r->begin);
    tail_add(&t->classes[r->class], step, r);
    tail_add(&t->classes[SQT_CLASSES], step, r);
}

#define CELL(name) row[SQT_CELL(tail_stages, name)]

static void
tail_print(struct sqt_job *job, const struct tail_class *class, const char *name)
{
    static const struct {
        const char *name;
        unsigned per_mille;
    } percentiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}};
    if (class->count < SQT_GROUP_LEAST)
        return;
    for (unsigned p = 0; p < sizeof(percentiles) / sizeof(*percentiles); ++p) {
        const uint64_t rank = (class->count * percentiles[p].per_mille + 999) / 1000;
        uint64_t seen = 0;
        unsigned step = 0;
        while (seen += class->steps[step] ? class->steps[step]->count : 0, seen < rank)
            ++step;
        const struct tail_step *const s = class->steps[step];
        union sqt_cell row[SQT_CELLS(tail_stages)];
        CELL(class).text = name;
        CELL(percentile).text = percentiles[p].name;
        CELL(count).number = (int64_t) class->count;
        CELL(near).number = (int64_t)s->count;
        CELL(total_ms).number = (int64_t)(s->total / s->count);
        for (unsigned i = 0; i < STAGES; ++i)
            (&CELL(access_ms))[i].number = (int64_t)(s->stages[i] / s->count);
        sqt_job_row(job, row);
    }
}

static void
tail_finish(struct sqt_job *job)
{
    struct tail *const t = job->state;
    tail_print(job, &t->classes[SQT_CLASSES], "all");
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        tail_print(job, &t->classes[c], sqt_classes[c].name);
    for (unsigned c = 0; c <= SQT_CLASSES; ++c)
        for (unsigned i = 0; i < STEPS; ++i)
            sqt_freed(t->classes[c].steps[i]);
    sqt_freed(t);
}

#undef CELL

/* ---- slowest ---- */

#define SLOWEST 20

struct slowest {
    unsigned count;
    struct sqt_request_fact requests[SLOWEST]; /* the slowest first; of equals the one that ended first */
};

static void
slowest_start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct slowest));
}

static int64_t
total(const struct sqt_request_fact *r)
{
    return r->end - r->begin;
}

static void
slowest_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct slowest *const s = job->state;
    if (sqt_durations_unknown(r->outcome) || (s->count == SLOWEST && total(r) <= total(&s->requests[SLOWEST - 1])) ||
        (!job->where && r->class == SQT_CLASS_TUNNEL) || !sqt_job_wants_request(job, r))
        return;
    unsigned at = s->count < SLOWEST ? s->count++ : SLOWEST - 1;
    for (; at && total(&s->requests[at - 1]) < total(r); --at)
        s->requests[at] = s->requests[at - 1];
    s->requests[at] = *r;
}

#define CELL(name) row[SQT_CELL(slowest, name)]
#define OF(name) r->row[SQT_CELL(requests, name)]

static void
slowest_print(struct sqt_job *job, const struct sqt_request_fact *r, unsigned rank)
{
    int64_t upto = 0;
    for (unsigned i = 0; i < STAGES; ++i) {
        const int64_t ns = r->row[tail_cell(i)].number;
        union sqt_cell row[SQT_CELLS(slowest)];
        char stage[64];
        if (ns == SQT_CELL_MISSING || ns <= 0)
            continue;
        const char *const column = sqt_tables[SQT_TABLE_requests].columns[tail_cell(i)].name;
        snprintf(stage, sizeof(stage), "%.*s", (int)strlen(column) - 3, column); /* without _ns */
        upto += ns;
        CELL(rank).number = (int64_t)rank;
        CELL(time_s) = OF(time_s);
        CELL(kid) = OF(kid);
        CELL(xid) = OF(xid);
        CELL(tag) = OF(tag);
        CELL(class) = OF(class);
        CELL(size_bytes) = OF(size_bytes);
        CELL(total_ms).number = total(r);
        CELL(stage).text = stage;
        CELL(stage_ms).number = ns;
        CELL(upto_ms).number = upto;
        CELL(share_pct).number = sqt_percent((double)ns, (double)total(r));
        sqt_job_row(job, row);
    }
}

static void
slowest_finish(struct sqt_job *job)
{
    struct slowest *const s = job->state;
    for (unsigned i = 0; i < s->count; ++i)
        slowest_print(job, &s->requests[i], i + 1);
    sqt_freed(s);
}

const struct sqt_family sqt_family_tail_stages = {.where = {SQT_TABLE_requests},
                                                  .where_count = 1,
                                                  .start = tail_start,
                                                  .request = tail_request,
                                                  .finish = tail_finish};
const struct sqt_family sqt_family_slowest = {.where = {SQT_TABLE_requests},
                                              .where_count = 1,
                                              .start = slowest_start,
                                              .request = slowest_request,
                                              .finish = slowest_finish};
