/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * disk-overhead.c - what one I/O costs, and what opening a file costs, derived from sizes and measured directly.
 *
 * Swaps of one block take total(s), of two blocks total(2s), where s is the size of a block: so one I/O takes
 * total(2s) - total(s), and the rest of total(s) is overhead.  That is how it could be found in 1997, from totals
 * alone.  The trace also has the time of the block itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/time-groups.h"
#include "figure/stat/peak.h"

/* What is kept for each way; the measured ones are those of swaps of one block. */
enum { ONE, TWO, IO, OVERHEAD, KEPT };
/* They disagree if they differ by more than a tenth of total(s). */
#define TOLERANCE 10

struct overhead {
    struct sqt_distributions set;
    struct sqt_distribution whole[2 * KEPT]; /* in, out */
    struct sqt_peak peak;
    int64_t step[2];
};

static void
disk_overhead_start(struct sqt_job *job)
{
    struct overhead *const o = job->state = sqt_zeroed(1, sizeof(*o));
    o->set.budget = SQT_GROUP_BUDGET;
    sqt_peak_init(&o->peak, job, 2 * KEPT);
    o->peak.set.budget = SQT_GROUP_BUDGET;
}

static void
disk_overhead_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct overhead *const o = job->state;
    if (sqt_job_counts_request(job, r))
        sqt_peak_request(&o->peak, r->begin);
}

static void
disk_overhead_add(struct overhead *o, const struct sqt_swap_fact *s, unsigned which, int64_t value)
{
    which += s->out ? KEPT : 0;
    sqt_distribution_add(&o->set, &o->whole[which], value);
    sqt_peak_add(&o->peak, s->begin, which, value);
}

#define SWAP(name) s->row[SQT_CELL(swaps, name)].number

static void
disk_overhead_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    struct overhead *const o = job->state;
    if (!sqt_job_wants_swap(job, s) || s->outcome != SQT_OUTCOME_COMPLETE || SWAP(first_io_ns) == SQT_CELL_MISSING)
        return;
    if (SWAP(ios) == 1) {
        disk_overhead_add(o, s, ONE, SWAP(total_ns));
        disk_overhead_add(o, s, IO, SWAP(first_io_ns));
        disk_overhead_add(o, s, OVERHEAD, SWAP(total_ns) - SWAP(first_io_ns));
        if (SWAP(size_bytes) > o->step[s->out])
            o->step[s->out] = SWAP(size_bytes);
    } else if (SWAP(ios) == 2) {
        disk_overhead_add(o, s, TWO, SWAP(total_ns));
    }
}

static int
apart(int64_t a, int64_t b, int64_t whole)
{
    return (__int128)(a > b ? a - b : b - a) * TOLERANCE > whole;
}

#define CELL(name) row[SQT_CELL(disk_overhead, name)]

static void
disk_overhead_print(struct sqt_job *job, const char *period, struct sqt_distribution *kept, unsigned out)
{
    static const char *const directions[] = {"in", "out"};
    const struct overhead *const o = job->state;
    union sqt_cell row[SQT_CELLS(disk_overhead)];
    const int one = kept[ONE].count >= SQT_GROUP_LEAST, two = kept[TWO].count >= SQT_GROUP_LEAST;
    const int64_t total = sqt_distribution_median(&kept[ONE]);
    const int64_t io = sqt_distribution_median(&kept[TWO]) - total;
    const int64_t measured = sqt_distribution_median(&kept[IO]);
    const int64_t overhead = sqt_distribution_median(&kept[OVERHEAD]);
    if (!one)
        return;
    CELL(direction).text = directions[out];
    CELL(period).text = period;
    CELL(step_bytes).number = o->step[out];
    CELL(one_count).number = (int64_t)kept[ONE].count;
    CELL(two_count).number = (int64_t)kept[TWO].count;
    CELL(one_ms).number = total;
    CELL(two_ms).number = two ? sqt_distribution_median(&kept[TWO]) : SQT_CELL_MISSING;
    CELL(io_ms).number = two ? io : SQT_CELL_MISSING;
    CELL(overhead_ms).number = two ? total - io : SQT_CELL_MISSING;
    CELL(measured_io_ms).number = measured;
    CELL(measured_overhead_ms).number = overhead;
    const int agree = !apart(io, measured, total) && !apart(total - io, overhead, total);
    CELL(agree).number = two ? agree : SQT_CELL_MISSING;
    sqt_job_row(job, row);
    if (two && !agree) {
        char text[200];
        snprintf(text, sizeof(text),
                 "swap-%s, %s: derived I/O %.3f ms and overhead %.3f ms, measured %.3f ms and %.3f ms", directions[out],
                 period, (double)io / 1e6, (double)(total - io) / 1e6, (double)measured / 1e6, (double)overhead / 1e6);
        job->note(job->context, "disagree", text);
    }
}

static void
disk_overhead_finish(struct sqt_job *job)
{
    struct overhead *const o = job->state;
    sqt_peak_finish(&o->peak, job);
    sqt_job_note_coarse(job, "medians", o->set.coarse || o->peak.set.coarse);
    for (unsigned out = 0; out < 2; ++out) {
        disk_overhead_print(job, "whole", &o->whole[out * KEPT], out);
        disk_overhead_print(job, "peak", &o->peak.best[out * KEPT], out);
    }
    for (unsigned i = 0; i < 2 * KEPT; ++i)
        if (o->whole[i].count)
            sqt_distribution_drop(&o->set, &o->whole[i]);
    sqt_peak_free(&o->peak);
    sqt_freed(o);
}

const struct sqt_family sqt_family_disk_overhead = {.where = {SQT_TABLE_swaps},
                                                    .where_count = 1,
                                                    .start = disk_overhead_start,
                                                    .request = disk_overhead_request,
                                                    .swap = disk_overhead_swap,
                                                    .finish = disk_overhead_finish};
