/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskop-share.c - what the time of disk operations goes to, by kind and cache_dir; and those that never came back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

/* ---- shares ---- */

struct share {
    struct share *next;
    char place[SQT_PLACE_NAME];
    enum sqt_disk_op op;
    uint64_t count, inline_count;
    uint64_t total, max;
    uint64_t stages[SQT_DISKOP_STAGES];
};

static struct share *
share_of(struct sqt_job *job, const char *place, enum sqt_disk_op op)
{
    struct share **s = (struct share **)&job->state;
    int order = 1;
    while (*s && ((order = strcmp((*s)->place, place)) < 0 || (order == 0 && (*s)->op < op)))
        s = &(*s)->next;
    if (!*s || order > 0 || (*s)->op != op) {
        struct share *const added = sqt_zeroed(1, sizeof(*added));
        snprintf(added->place, sizeof(added->place), "%s", place);
        added->op = op;
        added->next = *s;
        *s = added;
    }
    return *s;
}

static void
add_share(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    if (!d->came_back || !sqt_job_wants(job, d->begin, d->row))
        return;
    struct share *const s = share_of(job, d->place, d->op);
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
finish_shares(struct sqt_job *job)
{
    for (struct share *s = job->state, *next; s; s = next) {
        union sqt_cell row[SQT_CELLS(diskop_share)];
        const uint64_t *const stages = s->stages;
        CELL(dir).text = s->place;
        CELL(op).text = sqt_disk_op_names[s->op];
        CELL(count).number = (int64_t)s->count;
        CELL(main_thread).number = (int64_t)s->inline_count;
        CELL(total_s).number = (int64_t)s->total;
        CELL(mean_ms).number = (int64_t)(s->total / s->count);
        CELL(max_ms).number = (int64_t)s->max;
        CELL(queue_pct).number =
            sqt_share(stages[SQT_DISKOP_ENQUEUED] + stages[SQT_DISKOP_DEQUEUED], s->total);
        CELL(service_pct).number = sqt_share(stages[SQT_DISKOP_IO] + stages[SQT_DISKOP_COPY], s->total);
        CELL(notice_pct).number = sqt_share(stages[SQT_DISKOP_COMPLETE], s->total);
        CELL(serve_pct).number = sqt_share(stages[SQT_DISKOP_FINISHED], s->total);
        sqt_job_row(job, row);
        next = s->next;
        free(s);
    }
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

const struct sqt_family sqt_family_diskop_share = {
    .where = {SQT_TABLE_diskops}, .where_count = 1, .diskop = add_share, .finish = finish_shares};
const struct sqt_family sqt_family_diskops_lost = {
    .where = {SQT_TABLE_diskops}, .where_count = 1, .diskop = print_lost};
