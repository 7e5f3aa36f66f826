/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * summary.c - each stage by class of request, and each disk phase by cache_dir.
 *
 * Requests that are lost or unfinished are left out: their stages are not what they would have been.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "figure/stat/places.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)

/* What is measured of a request: columns of `requests`. */
#define FROM SQT_CELL(requests, client_connect_ns)
#define EARLY (SQT_CELL(requests, first_byte_ns) - FROM + 1)
#define LATE_FROM SQT_CELL(requests, accept_wait_ns) /* up to the last stage */
#define MEASURED (EARLY + SQT_CELL(requests, trace_id) - LATE_FROM)

static unsigned
summary_cell(unsigned i)
{
    return i < EARLY ? FROM + i : LATE_FROM + i - EARLY;
}

/* What is measured of a swap and of a block. */
static const struct {
    const char *name;
    int block;
    unsigned column;
} disk_phases[] = {
    {"open", 0, SQT_CELL(swaps, open_ns)},         {"first_io", 0, SQT_CELL(swaps, first_io_ns)},
    {"rest_io", 0, SQT_CELL(swaps, rest_io_ns)},   {"idle", 0, SQT_CELL(swaps, idle_ns)},
    {"close", 0, SQT_CELL(swaps, close_ns)},       {"total", 0, SQT_CELL(swaps, total_ns)},
    {"block_queue", 1, SQT_CELL(ios, queue_ns)},   {"block_service", 1, SQT_CELL(ios, service_ns)},
    {"block_notice", 1, SQT_CELL(ios, notice_ns)}, {"block_total", 1, SQT_CELL(ios, total_ns)},
};
#define DISK_PHASES (sizeof(disk_phases) / sizeof(*disk_phases))

/* A cache_dir. */
struct place {
    struct sqt_distribution phases[2][DISK_PHASES]; /* in, out */
};

struct summary {
    struct sqt_distributions set;
    struct sqt_distribution stages[SQT_CLASSES + 1][MEASURED]; /* the last class: all, at the end */
    int64_t hits, requests, hit_bytes, bytes;                  /* bytes sent to clients */
    struct sqt_places places;
    struct place *of_place[SQT_PLACES + 1];
};

static void
summary_start(struct sqt_job *job)
{
    struct summary *const s = sqt_zeroed(1, sizeof(*s));
    s->set.budget = BUDGET;
    job->state = s;
}

/* A trace may say any number of bytes. */
static void
summary_add(int64_t *sum, int64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = INT64_MAX;
}

static void
summary_count(struct summary *s, const struct sqt_request_fact *r)
{
    const int64_t sent = r->row[SQT_CELL(requests, sent_bytes)].number;
    const int64_t bytes = sent == SQT_CELL_MISSING || sent < 0 ? 0 : sent;
    if (r->class == SQT_CLASS_QUERY) /* a neighbour's */
        return;
    ++s->requests;
    summary_add(&s->bytes, bytes);
    if (SQT_HITS >> r->class & 1) {
        ++s->hits;
        summary_add(&s->hit_bytes, bytes);
    }
}

static void
summary_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct summary *const s = job->state;
    if (!sqt_job_wants_request(job, r))
        return;
    summary_count(s, r);
    for (unsigned i = 0; i < MEASURED; ++i) {
        const int64_t value = r->row[summary_cell(i)].number;
        if (value == SQT_CELL_MISSING)
            continue;
        sqt_distribution_add(&s->set, &s->stages[r->class][i], value);
    }
}

/* The last class has the values of all others. */
static void
summary_add_up(struct summary *s)
{
    for (unsigned class = 0; class < SQT_CLASSES; ++class)
        for (unsigned i = 0; i < MEASURED; ++i)
            sqt_distribution_add_all(&s->set, &s->stages[SQT_CLASSES][i], &s->stages[class][i]);
}

/* The cache_dir of a swap, under its type and number. */
static struct place *
summary_place_of(struct summary *s, const char *store, uint32_t dir)
{
    char name[SQT_PLACE_NAME];
    sqt_place_name(name, store, dir);
    struct place **const place = &s->of_place[sqt_place_number(&s->places, name)];
    if (!*place)
        *place = sqt_zeroed(1, sizeof(**place));
    return *place;
}

static void
summary_measure(struct sqt_job *job, struct place *place, int out, const union sqt_cell *row, int block)
{
    struct summary *const s = job->state;
    for (unsigned i = 0; i < DISK_PHASES; ++i)
        if (disk_phases[i].block == block && row[disk_phases[i].column].number != SQT_CELL_MISSING)
            sqt_distribution_add(&s->set, &place->phases[out][i], row[disk_phases[i].column].number);
}

/* A condition is about requests, so with one the disks are left out. */
static int
summary_wanted(const struct sqt_job *job, int64_t begin)
{
    return !job->where && begin >= job->since && begin < job->until;
}

static void
summary_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    if (summary_wanted(job, s->begin) && !sqt_durations_unknown(s->outcome) && s->outcome != SQT_OUTCOME_UNFINISHED)
        summary_measure(job, summary_place_of(job->state, s->row[SQT_CELL(swaps, store)].text, s->dir), s->out, s->row,
                        0);
}

static void
summary_io(struct sqt_job *job, const struct sqt_io_fact *i)
{
    if (summary_wanted(job, i->row[SQT_CELL(ios, time_s)].number))
        summary_measure(job, summary_place_of(job->state, i->store, (uint32_t)i->row[SQT_CELL(ios, dir)].number),
                        i->out, i->row, 1);
}

#define CELL(name) row[SQT_CELL(summary, name)]

static void
summary_print(struct sqt_job *job, const char *stage, const char *class, struct sqt_distribution *d, uint64_t whole)
{
    union sqt_cell row[SQT_CELLS(summary)];
    if (!d->count)
        return;
    CELL(stage).text = stage;
    CELL(class).text = class;
    CELL(count).number = (int64_t)d->count;
    CELL(share_pct).number = sqt_percent((double)d->sum, (double)whole);
    CELL(p50_ms).number = sqt_distribution_median(d);
    CELL(p90_ms).number = sqt_distribution_quantile(d, 900);
    CELL(p99_ms).number = sqt_distribution_quantile(d, 990);
    CELL(p999_ms).number = sqt_distribution_quantile(d, 999);
    CELL(max_ms).number = d->max;
    sqt_job_row(job, row);
    struct summary *const s = job->state;
    sqt_distribution_drop(&s->set, d);
}

static void
print_class(struct sqt_job *job, const char *class, struct sqt_distribution *stages)
{
    const uint64_t total = stages[SQT_CELL(requests, total_ns) - FROM].sum;
    for (unsigned i = 0; i < MEASURED; ++i) {
        const unsigned cell = summary_cell(i);
        const struct sqt_column *const column = &sqt_tables[SQT_TABLE_requests].columns[cell];
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strlen(column->name) - 3, column->name); /* without _ns */
        const int within = (cell > SQT_CELL(requests, client_connect_ns) && cell <= SQT_CELL(requests, total_ns)) ||
                           cell > SQT_CELL(requests, accept_wait_ns);
        summary_print(job, name, class, &stages[i], within ? total : 0);
    }
}

static void
print_place(struct sqt_job *job, const char *place_name, struct place *place)
{
    static const char *const directions[] = {"in", "out"};
    for (unsigned out = 0; out < 2; ++out) {
        uint64_t whole[2] = {0, 0};
        for (unsigned i = 0; i < DISK_PHASES; ++i)
            if (strcmp(disk_phases[i].name, disk_phases[i].block ? "block_total" : "total") == 0)
                whole[disk_phases[i].block] = place->phases[out][i].sum;
        for (unsigned i = 0; i < DISK_PHASES; ++i) {
            char name[64];
            snprintf(name, sizeof(name), "disk_%s_%s", directions[out], disk_phases[i].name);
            summary_print(job, name, place_name, &place->phases[out][i], whole[disk_phases[i].block]);
        }
    }
}

/* As figure hit-ratio counts them. */
static void
summary_note_hits(const struct sqt_job *job, const struct summary *s)
{
    char text[192];
    if (!s->requests)
        return;
    snprintf(text, sizeof(text), "%.2f %% of %lld requests, %.2f %% of %lld bytes sent to clients",
             100 * (double)s->hits / (double)s->requests, (long long)s->requests,
             s->bytes ? 100 * (double)s->hit_bytes / (double)s->bytes : 0, (long long)s->bytes);
    job->note(job->context, "hit ratio", text);
}

static void
summary_finish(struct sqt_job *job)
{
    struct summary *const s = job->state;
    summary_note_hits(job, s);
    summary_add_up(s);
    sqt_job_note_coarse(job, "percentiles", s->set.coarse);
    print_class(job, "all", s->stages[SQT_CLASSES]);
    for (unsigned class = 0; class < SQT_CLASSES; ++class)
        print_class(job, sqt_classes[class].name, s->stages[class]);
    sqt_places_note(&s->places, job);
    for (unsigned i = 0; i <= SQT_PLACES; ++i)
        if (s->of_place[i]) {
            print_place(job, s->places.names[i], s->of_place[i]);
            sqt_freed(s->of_place[i]);
        }
    sqt_freed(s);
}

const struct sqt_family sqt_family_summary = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .unpicked = 1, /* findings stand beside it */
    .start = summary_start,
    .request = summary_request,
    .swap = summary_swap,
    .io = summary_io,
    .finish = summary_finish,
};
