/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskop-share.c - what the time of disk operations goes to, by kind and cache_dir; and those that never came back.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/places.h"

/* ---- shares ---- */

struct share {
    uint64_t count, inline_count;
    uint64_t total, max;
    uint64_t stages[SQT_DISKOP_STAGES];
};

struct shares {
    struct sqt_places places;
    struct share of[SQT_PLACES + 1][SQT_DISK_OPS];
};

static void
start_shares(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct shares));
}

static void
add_share(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    struct shares *const all = job->state;
    if (!d->came_back || !sqt_job_wants(job, d->begin, d->row))
        return;
    struct share *const s = &all->of[sqt_place_number(&all->places, d->place)][d->op];
    const uint64_t total = (uint64_t)(d->end - d->begin);
    ++s->count;
    s->inline_count += (uint64_t)d->main_thread;
    s->total += total;
    s->max = total > s->max ? total : s->max;
    for (unsigned i = 0; i < SQT_DISKOP_STAGES; ++i)
        if (sqt_diskop_stage(d, i) != SQT_CELL_MISSING)
            s->stages[i] += (uint64_t)sqt_diskop_stage(d, i);
}

#define CELL(name) row[SQT_CELL(diskop_share, name)]

static void
print_share(struct sqt_job *job, const struct share *s, const char *place, enum sqt_disk_op op)
{
    union sqt_cell row[SQT_CELLS(diskop_share)];
    const uint64_t *const stages = s->stages;
    CELL(dir).text = place;
    CELL(op).text = sqt_disk_op_names[op];
    CELL(count).number = (int64_t)s->count;
    CELL(main_thread).number = (int64_t)s->inline_count;
    CELL(total_s).number = (int64_t)s->total;
    CELL(mean_ms).number = (int64_t)(s->total / s->count);
    CELL(max_ms).number = (int64_t)s->max;
    CELL(queue_pct).number = sqt_share(stages[SQT_DISKOP_ENQUEUED] + stages[SQT_DISKOP_DEQUEUED], s->total);
    CELL(service_pct).number = sqt_share(stages[SQT_DISKOP_IO] + stages[SQT_DISKOP_COPY], s->total);
    CELL(notice_pct).number = sqt_share(stages[SQT_DISKOP_COMPLETE], s->total);
    CELL(serve_pct).number = sqt_share(stages[SQT_DISKOP_FINISHED], s->total);
    sqt_job_row(job, row);
}

static void
diskop_share_finish_shares(struct sqt_job *job)
{
    struct shares *const all = job->state;
    unsigned char sorted[SQT_PLACES + 1];
    const unsigned count = sqt_places_sorted(&all->places, sorted);
    sqt_places_note(&all->places, job);
    for (unsigned i = 0; i < count; ++i)
        for (unsigned op = 0; op < SQT_DISK_OPS; ++op)
            if (all->of[sorted[i]][op].count)
                print_share(job, &all->of[sorted[i]][op], all->places.names[sorted[i]], op);
    sqt_freed(all);
}

/* ---- those that never came back ---- */

#undef CELL
#define CELL(name) lost[SQT_CELL(diskops_lost, name)]

static void
print_lost(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    union sqt_cell lost[SQT_CELLS(diskops_lost)];
    if (!sqt_diskop_lost(d) || !sqt_job_wants(job, d->begin, d->row))
        return;
    CELL(time_s).number = d->begin;
    CELL(kid) = d->row[SQT_CELL(diskops, kid)];
    CELL(seq) = d->row[SQT_CELL(diskops, seq)];
    CELL(sio) = d->row[SQT_CELL(diskops, sio)];
    CELL(op) = d->row[SQT_CELL(diskops, op)];
    CELL(dir).text = d->place;
    CELL(queued_s).number = d->begin + sqt_diskop_stage(d, SQT_DISKOP_ENQUEUED);
    CELL(depth) = d->row[SQT_CELL(diskops, depth)];
    CELL(waited_s).number = d->end - d->begin;
    sqt_job_row(job, lost);
}

const struct sqt_family sqt_family_diskop_share = {.where = {SQT_TABLE_diskops},
                                                   .where_count = 1,
                                                   .start = start_shares,
                                                   .diskop = add_share,
                                                   .finish = diskop_share_finish_shares};
const struct sqt_family sqt_family_diskops_lost = {
    .where = {SQT_TABLE_diskops}, .where_count = 1, .diskop = print_lost};
