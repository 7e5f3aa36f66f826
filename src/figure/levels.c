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

#include "family.h"
#include "sweep.h"

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
    sqt_groups_note(&s->groups, job);
    snprintf(text, sizeof(text), "every %.9g ms", (double)s->period / 1e6);
    job->note(job->context, "samples", text);
    if (s->late) {
        snprintf(text, sizeof(text), "%llu outlived the groups that were open; their first group misses them",
                 (unsigned long long)s->late);
        job->note(job->context, "late", text);
    }
}

/* Columns of a curve: p50, p75, max, mean. */
#define LEVEL 4

static void
finish(struct sqt_job *job)
{
    struct sqt_sweep *const s = job->state;
    sqt_sweep_finish(s, job);
    note_sweep(s, job);
    for (size_t g = 0; s->used && g < s->level_count; ++g) {
        union sqt_cell row[2 + LEVEL * SQT_SWEEP_CURVES];
        if (s->levels[g][0].samples < SQT_GROUP_LEAST)
            continue;
        row[0].number = sqt_groups_middle(&s->groups, g);
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
    free(s);
}

/* ---- requests, and their connections to servers ---- */

static void
request_start(struct sqt_job *job)
{
    sqt_sweep_init(job->state = sqt_zeroed(1, sizeof(struct sqt_sweep)), job, REQUEST_PERIOD, 3, request_curves, 3);
}

static unsigned
part_of(const struct sqt_request_fact *r)
{
    if (r->outcome == SQT_OUTCOME_UNFINISHED)
        return OTHER;
    return SQT_HITS >> r->class & 1 ? HIT : SQT_MISSES >> r->class & 1 ? MISS : OTHER;
}

static void
request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    if (!sqt_durations_unknown(r->outcome) && sqt_job_wants(job, r->begin, r->row))
        sqt_sweep_add(job->state, job, part_of(r), r->begin, r->end);
}

static void
connection(struct sqt_job *job, const struct sqt_request_fact *r)
{
    const int64_t from = r->row[SQT_CELL(requests, server_from_ns)].number;
    const int64_t until = r->row[SQT_CELL(requests, server_until_ns)].number;
    if (!sqt_durations_unknown(r->outcome) && from != SQT_CELL_MISSING && sqt_job_wants(job, r->begin, r->row))
        sqt_sweep_add(job->state, job, part_of(r), r->begin + from, r->begin + until);
}

/* ---- swaps ---- */

static void
swap_start(struct sqt_job *job)
{
    sqt_sweep_init(job->state = sqt_zeroed(1, sizeof(struct sqt_sweep)), job, SWAP_PERIOD, 2, swap_curves, 3);
}

static void
swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    if (!sqt_durations_unknown(s->outcome) && sqt_job_wants(job, s->begin, s->row))
        sqt_sweep_add(job->state, job, s->out ? OUT : IN, s->begin, s->end);
}

/* ---- cache_dirs ---- */

struct place {
    struct place *next;
    char name[SQT_PLACE_NAME]; /* type and number; "all" stands first */
    struct sqt_sweep sweep;
};

static struct place *
place_of(struct sqt_job *job, const char *name, unsigned part_count, const unsigned *curves, unsigned curve_count)
{
    struct place **p = (struct place **)&job->state;
    while (*p && strcmp((*p)->name, name) != 0)
        p = &(*p)->next;
    if (!*p) {
        *p = sqt_zeroed(1, sizeof(**p));
        snprintf((*p)->name, sizeof((*p)->name), "%s", name);
        sqt_sweep_init(&(*p)->sweep, job, SWAP_PERIOD, part_count, curves, curve_count);
    }
    return *p;
}

static struct place *
busy_place(struct sqt_job *job, const char *name)
{
    return place_of(job, name, 2, swap_curves, 3);
}

static void
busy_start(struct sqt_job *job)
{
    busy_place(job, "all");
}

static void
busy_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    if (sqt_durations_unknown(s->outcome) || !sqt_job_wants(job, s->begin, s->row))
        return;
    sqt_sweep_add(&busy_place(job, "all")->sweep, job, s->out ? OUT : IN, s->begin, s->end);
    sqt_sweep_add(&busy_place(job, s->place)->sweep, job, s->out ? OUT : IN, s->begin, s->end);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp((*(struct place *const *)a)->name, (*(struct place *const *)b)->name);
}

#define CELL(name) row[SQT_CELL(disk_utilization, name)]

static void
busy_print(struct sqt_job *job, struct place *place)
{
    const struct sqt_sweep *const s = &place->sweep;
    for (size_t g = 0; s->used && g < s->level_count; ++g) {
        union sqt_cell row[SQT_CELLS(disk_utilization)];
        CELL(time_s).number = sqt_groups_middle(&s->groups, g);
        CELL(dir).text = place->name;
        CELL(samples).number = (int64_t)s->levels[g][0].samples;
        CELL(in_pct).number = sqt_share(s->levels[g][0].busy, s->levels[g][0].samples);
        CELL(out_pct).number = sqt_share(s->levels[g][1].busy, s->levels[g][1].samples);
        CELL(all_pct).number = sqt_share(s->levels[g][2].busy, s->levels[g][2].samples);
        if (s->levels[g][0].samples >= SQT_GROUP_LEAST)
            sqt_job_row(job, row);
    }
}

/* Finishes and prints each place, `all` first, and frees them. */
static void
finish_places(struct sqt_job *job, void (*print)(struct sqt_job *job, struct place *place))
{
    struct place *places[256], *const all = job->state;
    size_t count = 0;
    sqt_sweep_finish(&all->sweep, job);
    note_sweep(&all->sweep, job);
    for (struct place *p = all->next; p && count < sizeof(places) / sizeof(*places); p = p->next)
        places[count++] = p;
    qsort(places, count, sizeof(*places), by_name);
    print(job, all);
    for (size_t i = 0; i < count; ++i) {
        sqt_sweep_finish(&places[i]->sweep, job);
        print(job, places[i]);
    }
    for (struct place *p = all, *next; p; p = next) {
        next = p->next;
        sqt_sweep_free(&p->sweep);
        free(p);
    }
}

static void
busy_finish(struct sqt_job *job)
{
    finish_places(job, busy_print);
}

/* ---- disk operations ---- */

static const unsigned one_curve[] = {1};

static struct place *
flight_place(struct sqt_job *job, const char *name)
{
    return place_of(job, name, 1, one_curve, 1);
}

static void
flight_start(struct sqt_job *job)
{
    flight_place(job, "all");
}

static void
flight_diskop(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    if (sqt_durations_unknown(d->outcome) || d->late || !sqt_job_wants(job, d->begin, d->row))
        return;
    sqt_sweep_add(&flight_place(job, "all")->sweep, job, 0, d->begin, d->end);
    sqt_sweep_add(&flight_place(job, d->place)->sweep, job, 0, d->begin, d->end);
}

#undef CELL
#define CELL(name) row[SQT_CELL(diskops_in_flight, name)]

static void
flight_print(struct sqt_job *job, struct place *place)
{
    const struct sqt_sweep *const s = &place->sweep;
    for (size_t g = 0; s->used && g < s->level_count; ++g) {
        const struct sqt_level *const level = s->levels[g];
        union sqt_cell row[SQT_CELLS(diskops_in_flight)];
        CELL(time_s).number = sqt_groups_middle(&s->groups, g);
        CELL(dir).text = place->name;
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
    finish_places(job, flight_print);
}

const struct sqt_family sqt_family_request_levels = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .start = request_start, .request = request, .finish = finish};
const struct sqt_family sqt_family_connection_levels = {
    .where = {SQT_TABLE_requests}, .where_count = 1, .start = request_start, .request = connection, .finish = finish};
const struct sqt_family sqt_family_swap_levels = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = swap_start, .swap = swap, .finish = finish};
const struct sqt_family sqt_family_disk_utilization = {
    .where = {SQT_TABLE_swaps}, .where_count = 1, .start = busy_start, .swap = busy_swap, .finish = busy_finish};
const struct sqt_family sqt_family_diskops_in_flight = {
    .where = {SQT_TABLE_diskops}, .where_count = 1, .start = flight_start, .diskop = flight_diskop,
    .finish = flight_finish};
