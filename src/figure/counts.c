/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * counts.c - how often, and shares, by time group.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/objects.h"
#include "figure/stat/curves.h"
#include "figure/stat/time-groups.h"

/* Columns of a curve. */
enum { RATE = 2, SHARE = 3 };
/* Mark of an object that was swapped in. */
#define SWAPPED_IN 1

struct counts {
    struct sqt_time_groups groups; /* for each curve the part and the whole */
    struct sqt_objects objects;
};

static void
counts_start(struct sqt_job *job)
{
    struct counts *const c = job->state = sqt_zeroed(1, sizeof(*c));
    unsigned count;
    sqt_curves_of(job->table, &count);
    sqt_time_groups_init(&c->groups, job, 2 * count, 0);
}

static void
counts_count(struct sqt_time_group *group, const struct sqt_population *p, const union sqt_cell *row, unsigned which)
{
    const int64_t value = sqt_population_value(p, row);
    group->sums[which] += value > 0 ? (uint64_t)value : 0;
}

static void
counts_expect(struct sqt_job *job, const struct sqt_request_fact *r)
{
    unsigned count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &count);
    struct counts *const state = job->state;
    if (curves[0].part.never)
        sqt_objects_expect(&state->objects, (uint64_t)r->row[SQT_CELL(requests, object)].number);
}

static void
counts_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct counts *const state = job->state;
    unsigned curve_count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &curve_count);
    if (!sqt_job_wants_request(job, r))
        return;
    struct sqt_time_group *const group = sqt_time_groups_at(&state->groups, r->begin);
    if (!group)
        return;
    for (unsigned c = 0; c < curve_count; ++c) {
        const struct sqt_population *const part = &curves[c].part, *const whole = &curves[c].whole;
        if (sqt_population_has_request(whole, r))
            counts_count(group, whole, r->row, 2 * c + 1);
        if (part->never) {
            const int64_t object = r->row[SQT_CELL(requests, object)].number;
            if (sqt_population_has_request(part, r) && !sqt_objects_marks(&state->objects, (uint64_t)object))
                counts_count(group, part, r->row, 2 * c);
            if (r->row[SQT_CELL(requests, swap_ins)].number > 0 && object != SQT_CELL_MISSING)
                sqt_objects_mark(&state->objects, (uint64_t)object, SWAPPED_IN);
        } else if (sqt_population_has_request(part, r)) {
            counts_count(group, part, r->row, 2 * c);
        }
    }
}

static void
counts_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    struct counts *const state = job->state;
    unsigned curve_count;
    const struct sqt_curve *const curves = sqt_curves_of(job->table, &curve_count);
    if (!sqt_job_wants_swap(job, s))
        return;
    struct sqt_time_group *const group = sqt_time_groups_at(&state->groups, s->begin);
    if (!group)
        return;
    for (unsigned c = 0; c < curve_count; ++c) {
        if (sqt_population_has_swap(&curves[c].whole, s))
            counts_count(group, &curves[c].whole, s->row, 2 * c + 1);
        if (sqt_population_has_swap(&curves[c].part, s))
            counts_count(group, &curves[c].part, s->row, 2 * c);
    }
}

int64_t
sqt_share(uint64_t part, uint64_t whole)
{
    return whole < SQT_GROUP_LEAST ? SQT_CELL_MISSING
                                   : (int64_t)(((unsigned __int128)part * 100000 + whole / 2) / whole);
}

int64_t
sqt_rate(uint64_t events, int64_t ns)
{
    return ns <= 0 ? SQT_CELL_MISSING
                   : (int64_t)(((unsigned __int128)events * 1000000000000 + (uint64_t)ns / 2) / (uint64_t)ns);
}

static void
counts_finish(struct sqt_job *job, int share)
{
    static const struct sqt_time_group empty;
    struct counts *const state = job->state;
    struct sqt_time_groups *const g = &state->groups;
    uint64_t all = 0;
    sqt_time_groups_finish(g, job);
    sqt_time_groups_note(g, job);
    sqt_job_note_bound(
        job, state->objects.beyond,
        "swap-ins are not remembered, because there are too many objects; their hits count as never swapped in");
    for (size_t i = 0; i < g->count; ++i)
        for (unsigned s = 0; g->groups[i] && s < g->sum_count; ++s)
            all += g->groups[i]->sums[s];
    for (size_t i = 0; all && i < g->count; ++i) {
        union sqt_cell row[1 + SHARE * SQT_CURVES_MOST];
        const struct sqt_time_group *const group = g->groups[i] ? g->groups[i] : &empty;
        int enough = !share;
        row[0].number = sqt_time_groups_middle(g, i);
        for (unsigned c = 0; 2 * c < g->sum_count; ++c) {
            const uint64_t part = group == &empty ? 0 : group->sums[2 * c];
            const uint64_t whole = group == &empty ? 0 : group->sums[2 * c + 1];
            union sqt_cell *const cell = &row[1 + (share ? SHARE : RATE) * c];
            cell[0].number = (int64_t)part;
            if (share) {
                cell[1].number = (int64_t)whole;
                cell[2].number = sqt_share(part, whole);
                enough |= cell[2].number != SQT_CELL_MISSING;
            } else {
                cell[1].number = sqt_rate(part, sqt_time_groups_covered(g, i));
            }
        }
        if (enough)
            sqt_job_row(job, row);
    }
    sqt_time_groups_free(g);
    sqt_objects_free(&state->objects);
    sqt_freed(state);
}

static void
finish_rates(struct sqt_job *job)
{
    counts_finish(job, 0);
}

static void
counts_finish_shares(struct sqt_job *job)
{
    counts_finish(job, 1);
}

const struct sqt_family sqt_family_request_rates = {.where = {SQT_TABLE_requests},
                                                    .where_count = 1,
                                                    .start = counts_start,
                                                    .request = counts_request,
                                                    .finish = finish_rates};
const struct sqt_family sqt_family_swap_rates = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = counts_start, .swap = counts_swap, .finish = finish_rates};
const struct sqt_family sqt_family_request_shares = {.where = {SQT_TABLE_requests},
                                                     .where_count = 1,
                                                     .start = counts_start,
                                                     .request = counts_request,
                                                     .expect = counts_expect,
                                                     .finish = counts_finish_shares};
const struct sqt_family sqt_family_swap_shares = {.where = {SQT_TABLE_swaps},
                                                  .where_count = 1,
                                                  .start = counts_start,
                                                  .swap = counts_swap,
                                                  .finish = counts_finish_shares};
