/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * levels.c - how many requests, server connections, swaps and disk operations there are at a time, and how busy the
 * cache_dirs are.
 *
 * What is unfinished was there until the trace ended; what is lost has no known end and is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/stat/places.h"
#include "figure/stat/sweep.h"
#include "pass/family.h"

#define REQUEST_PERIOD INT64_C(10000000) /* 10 ms */
#define SWAP_PERIOD INT64_C(2000000)     /* 2 ms */

/* Parts, and the curves made of them, in the order of the columns. */
enum { HIT, MISS, OTHER };
static const unsigned request_curves[] = {1u << HIT, 1u << MISS, 1u << HIT | 1u << MISS | 1u << OTHER};
enum { IN, OUT };
static const unsigned swap_curves[] = {1u << IN, 1u << OUT, 1u << IN | 1u << OUT};

static void
note_sweep(const struct sqt_sweep *s, struct sqt_job *job)
{
    char text[96];
    sqt_time_groups_note(&s->groups, job);
    snprintf(text, sizeof(text), "every %.9g ms", (double)s->period / 1e6);
    job->note(job->context, "samples", text);
    if (s->late) {
        snprintf(text, sizeof(text), "%llu outlived the groups that were open; their first group misses them",
                 (unsigned long long)s->late);
        job->note(job->context, "late", text);
    }
    sqt_job_note_bound(job, s->crowded, "are left out, because too many begin or end in the same sample");
}

/* Columns of a curve: p50, p75, max, mean. */
#define LEVEL 4

static void
levels_finish(struct sqt_job *job)
{
    struct sqt_sweep *const s = job->state;
    sqt_sweep_finish(s, job);
    note_sweep(s, job);
    for (size_t g = 0; s->used && g < s->level_count; ++g) {
        union sqt_cell row[2 + LEVEL * SQT_SWEEP_CURVES];
        if (s->levels[g][0].samples < SQT_GROUP_LEAST)
            continue;
        row[0].number = sqt_time_groups_middle(&s->groups, g);
        row[1].number = (int64_t)s->levels[g][0].samples;
        for (unsigned c = 0; c < s->curve_count; ++c) {
            const struct sqt_level *const l = &s->levels[g][c];
            const int64_t cells[LEVEL] = {l->p50, l->p75, l->max, sqt_sweep_mean(s, g, c)};
            for (unsigned i = 0; i < LEVEL; ++i)
                row[2 + LEVEL * c + i].number = cells[i];
        }
        sqt_job_row(job, row);
    }
    sqt_sweep_free(s);
    sqt_freed(s);
}

/* ---- requests, and their connections to servers ---- */

static void
request_start(struct sqt_job *job)
{
    sqt_sweep_init(job->state = sqt_zeroed(1, sizeof(struct sqt_sweep)), job, REQUEST_PERIOD, 3, request_curves, 3);
}

static unsigned
levels_part_of(const struct sqt_request_fact *r)
{
    if (r->outcome == SQT_OUTCOME_UNFINISHED)
        return OTHER;
    return SQT_HITS >> r->class & 1 ? HIT : SQT_MISSES >> r->class & 1 ? MISS : OTHER;
}

static void
levels_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    if (!sqt_durations_unknown(r->outcome) && sqt_job_wants(job, r->begin, r->row))
        sqt_sweep_add(job->state, job, levels_part_of(r), r->begin, r->end);
}

static void
levels_connection(struct sqt_job *job, const struct sqt_request_fact *r)
{
    const int64_t from = r->row[SQT_CELL(requests, server_from_ns)].number;
    const int64_t until = r->row[SQT_CELL(requests, server_until_ns)].number;
    if (!sqt_durations_unknown(r->outcome) && from != SQT_CELL_MISSING && sqt_job_wants(job, r->begin, r->row))
        sqt_sweep_add(job->state, job, levels_part_of(r), r->begin + from, r->begin + until);
}

/* ---- swaps ---- */

static void
swap_start(struct sqt_job *job)
{
    sqt_sweep_init(job->state = sqt_zeroed(1, sizeof(struct sqt_sweep)), job, SWAP_PERIOD, 2, swap_curves, 3);
}

static void
levels_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    if (!sqt_durations_unknown(s->outcome) && sqt_job_wants(job, s->begin, s->row))
        sqt_sweep_add(job->state, job, s->out ? OUT : IN, s->begin, s->end);
}

/* ---- cache_dirs ---- */

/* A sweep for all, and one for each of them. */
struct levels {
    struct sqt_sweep all;
    struct sqt_places places; /* type and number */
    struct sqt_sweep *of_place[SQT_PLACES + 1];
    int64_t groups_left, blocks_left;
    unsigned part_count, curve_count;
    const unsigned *curves;
};

static void
start_sweep(struct sqt_sweep *sweep, struct levels *l, const struct sqt_job *job)
{
    sqt_sweep_init(sweep, job, SWAP_PERIOD, l->part_count, l->curves, l->curve_count);
    sqt_sweep_share(sweep, &l->groups_left, &l->blocks_left);
}

static void
start_levels(struct sqt_job *job, unsigned part_count, const unsigned *curves, unsigned curve_count)
{
    struct levels *const l = job->state = sqt_zeroed(1, sizeof(*l));
    l->groups_left = sqt_job_room(job);
    l->blocks_left = sqt_sweep_room(job);
    l->part_count = part_count;
    l->curve_count = curve_count;
    l->curves = curves;
    start_sweep(&l->all, l, job);
}

static void
add_level(struct sqt_job *job, const char *place, unsigned part, int64_t begin, int64_t end)
{
    struct levels *const l = job->state;
    struct sqt_sweep **const sweep = &l->of_place[sqt_place_number(&l->places, place)];
    if (!*sweep)
        start_sweep(*sweep = sqt_zeroed(1, sizeof(**sweep)), l, job);
    sqt_sweep_add(&l->all, job, part, begin, end);
    sqt_sweep_add(*sweep, job, part, begin, end);
}

/* Finishes and prints each, `all` first, and frees them. */
static void
finish_levels(struct sqt_job *job, void (*print)(struct sqt_job *job, const struct sqt_sweep *sweep, const char *name))
{
    struct levels *const l = job->state;
    unsigned char sorted[SQT_PLACES + 1];
    const unsigned count = sqt_places_sorted(&l->places, sorted);
    sqt_sweep_finish(&l->all, job);
    note_sweep(&l->all, job);
    sqt_places_note(&l->places, job);
    print(job, &l->all, "all");
    sqt_sweep_free(&l->all);
    for (unsigned i = 0; i < count; ++i) {
        struct sqt_sweep *const sweep = l->of_place[sorted[i]];
        sqt_sweep_finish(sweep, job);
        print(job, sweep, l->places.names[sorted[i]]);
        sqt_sweep_free(sweep);
        sqt_freed(sweep);
    }
    sqt_freed(l);
}

static void
busy_start(struct sqt_job *job)
{
    start_levels(job, 2, swap_curves, 3);
}

static void
busy_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    if (sqt_durations_unknown(s->outcome) || !sqt_job_wants(job, s->begin, s->row))
        return;
    add_level(job, s->place, s->out ? OUT : IN, s->begin, s->end);
}

#define CELL(name) row[SQT_CELL(disk_utilization, name)]

static void
busy_print(struct sqt_job *job, const struct sqt_sweep *s, const char *name)
{
    for (size_t g = 0; s->used && g < s->level_count; ++g) {
        union sqt_cell row[SQT_CELLS(disk_utilization)];
        CELL(time_s).number = sqt_time_groups_middle(&s->groups, g);
        CELL(dir).text = name;
        CELL(samples).number = (int64_t)s->levels[g][0].samples;
        CELL(in_pct).number = sqt_share(s->levels[g][0].busy, s->levels[g][0].samples);
        CELL(out_pct).number = sqt_share(s->levels[g][1].busy, s->levels[g][1].samples);
        CELL(all_pct).number = sqt_share(s->levels[g][2].busy, s->levels[g][2].samples);
        if (s->levels[g][0].samples >= SQT_GROUP_LEAST)
            sqt_job_row(job, row);
    }
}

static void
busy_finish(struct sqt_job *job)
{
    finish_levels(job, busy_print);
}

/* ---- disk operations ---- */

static const unsigned one_curve[] = {1};

static void
flight_start(struct sqt_job *job)
{
    start_levels(job, 1, one_curve, 1);
}

static void
flight_diskop(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    if (sqt_durations_unknown(d->outcome) || d->late || !sqt_job_wants(job, d->begin, d->row))
        return;
    add_level(job, d->place, 0, d->begin, d->end);
}

#undef CELL
#define CELL(name) row[SQT_CELL(diskops_in_flight, name)]

static void
flight_print(struct sqt_job *job, const struct sqt_sweep *s, const char *name)
{
    for (size_t g = 0; s->used && g < s->level_count; ++g) {
        const struct sqt_level *const level = s->levels[g];
        union sqt_cell row[SQT_CELLS(diskops_in_flight)];
        CELL(time_s).number = sqt_time_groups_middle(&s->groups, g);
        CELL(dir).text = name;
        CELL(samples).number = (int64_t)level->samples;
        CELL(in_flight_p50).number = level->p50;
        CELL(in_flight_p75).number = level->p75;
        CELL(in_flight_max).number = level->max;
        CELL(in_flight_mean).number = sqt_sweep_mean(s, g, 0);
        if (level->samples >= SQT_GROUP_LEAST)
            sqt_job_row(job, row);
    }
}

static void
flight_finish(struct sqt_job *job)
{
    finish_levels(job, flight_print);
}

const struct sqt_family sqt_family_request_levels = {.where = {SQT_TABLE_requests},
                                                     .where_count = 1,
                                                     .start = request_start,
                                                     .request = levels_request,
                                                     .finish = levels_finish};
const struct sqt_family sqt_family_connection_levels = {.where = {SQT_TABLE_requests},
                                                        .where_count = 1,
                                                        .start = request_start,
                                                        .request = levels_connection,
                                                        .finish = levels_finish};
const struct sqt_family sqt_family_swap_levels = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = swap_start, .swap = levels_swap, .finish = levels_finish};
const struct sqt_family sqt_family_disk_utilization = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = busy_start, .swap = busy_swap, .finish = busy_finish};
const struct sqt_family sqt_family_diskops_in_flight = {.where = {SQT_TABLE_diskops},
                                                        .where_count = 1,
                                                        .start = flight_start,
                                                        .diskop = flight_diskop,
                                                        .finish = flight_finish};
