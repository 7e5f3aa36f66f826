/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskop-latency.c - the time of disk operations in each stage, by batches of successive operations of a kind.
 *
 * A batch is so many operations rather than so much time, so that each point weighs the same; the study of 2000 plotted
 * the mean of a thousand.  What timed out, was cancelled or never came back has no stages and is left out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "pass/family.h"

/* Values kept before they become histograms: 4 MiB. */
#define BUDGET ((size_t)1 << 19)
/* Stages, and behind them the total. */
#define VALUES (SQT_DISKOP_STAGES + 1)

struct batch {
    uint64_t count;
    int64_t first, last; /* when they were asked for */
    struct sqt_distribution values[VALUES];
};

static uint64_t
batch_of(const struct sqt_job *job)
{
    return job->batch ? (uint64_t)job->batch : SQT_BATCH;
}

struct latency {
    struct sqt_distributions set;
    struct batch batches[SQT_DISK_OPS]; /* the one that grows */
};

static void
diskop_latency_start(struct sqt_job *job)
{
    struct latency *const l = job->state = sqt_zeroed(1, sizeof(*l));
    l->set.budget = BUDGET;
}

#define CELL(name) row[SQT_CELL(diskop_latency, name)]

/* Prints a batch and empties it. */
static void
diskop_latency_print(struct sqt_job *job, enum sqt_disk_op op)
{
    struct latency *const l = job->state;
    struct batch *const b = &l->batches[op];
    union sqt_cell row[SQT_CELLS(diskop_latency)];
    CELL(time_s).number = b->first + (b->last - b->first) / 2;
    CELL(op).text = sqt_disk_op_names[op];
    CELL(count).number = (int64_t)b->count;
    CELL(partial).number = b->count < batch_of(job);
    union sqt_cell *cell = &CELL(enqueued_mean_ms);
    for (unsigned v = 0; v < VALUES; ++v) {
        const struct sqt_spread spread = sqt_distribution_spread(&b->values[v]);
        const int64_t cells[] = {spread.mean, spread.p50, spread.p99};
        for (unsigned i = 0; i < 3; ++i)
            cell++->number = spread.count ? cells[i] : SQT_CELL_MISSING;
        if (spread.count)
            sqt_distribution_drop(&l->set, &b->values[v]);
    }
    sqt_job_row(job, row);
    b->count = 0;
}

static void
diskop_latency_add(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    struct latency *const l = job->state;
    struct batch *const b = &l->batches[d->op];
    if (!d->came_back || !sqt_job_wants(job, d->begin, d->row))
        return;
    if (!b->count || d->begin < b->first)
        b->first = d->begin;
    if (!b->count || d->begin > b->last)
        b->last = d->begin;
    for (unsigned i = 0; i < SQT_DISKOP_STAGES; ++i)
        if (sqt_diskop_stage(d, i) != SQT_CELL_MISSING)
            sqt_distribution_add(&l->set, &b->values[i], sqt_diskop_stage(d, i));
    sqt_distribution_add(&l->set, &b->values[SQT_DISKOP_STAGES], d->end - d->begin);
    if (++b->count == batch_of(job))
        diskop_latency_print(job, d->op);
}

static void
diskop_latency_finish(struct sqt_job *job)
{
    struct latency *const l = job->state;
    char text[64];
    for (unsigned op = 0; op < SQT_DISK_OPS; ++op)
        if (l->batches[op].count)
            diskop_latency_print(job, op);
    snprintf(text, sizeof(text), "%llu successive operations of a kind", (unsigned long long)batch_of(job));
    job->note(job->context, "batch", text);
    sqt_job_note_coarse(job, "medians", l->set.coarse);
    sqt_freed(l);
}

const struct sqt_family sqt_family_diskop_latency = {.where = {SQT_TABLE_diskops},
                                                     .where_count = 1,
                                                     .start = diskop_latency_start,
                                                     .diskop = diskop_latency_add,
                                                     .finish = diskop_latency_finish};
