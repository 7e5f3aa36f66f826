/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rows.c - rows on their way to files: each table has files of its own for each day and each ring.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/minutes.h"
#include "figure/rollup/rollup.h"
#include "figure/whatif/whatif-minutes.h"
#include "row/facts.h"
#include "row/wide-columns.h"
#include "run.h"

#define DAY_NS INT64_C(86400000000000)

/* The files of a table that are of one day. */
struct ship_day {
    struct ship_day *next;
    int64_t day; /* since 1970; SHIP_NO_DAY */
    struct sqt_parquet_table *files;
};

/* Kinds of bounds of a table that are told once in a run. */
#define BOUNDS 4

struct ship_table {
    struct ship *ship;
    const struct sqt_job *job;
    struct sqt_wide_table wide;
    unsigned time;               /* column time_ns */
    struct ship_day *days;       /* the one used last comes first */
    struct sqt_rollups *rollups; /* of table rollups: its rows so far */
    struct ship_slowest slowest; /* of table requests, with --raw */
    char *bounds[BOUNDS];        /* that were told, without their numbers */
};

/* ---- days ---- */

static int64_t
rows_day(int64_t ns)
{
    return ns == SQT_CELL_MISSING ? SHIP_NO_DAY : ns / DAY_NS - (ns % DAY_NS < 0);
}

static struct sqt_parquet_table *
rows_files(struct ship_table *t, int64_t day)
{
    struct ship_day **link = &t->days;
    while (*link && (*link)->day != day)
        link = &(*link)->next;
    struct ship_day *found = *link;
    if (found) {
        *link = found->next;
    } else {
        char prefix[31];
        found = sqt_zeroed(1, sizeof(*found));
        found->day = day;
        ship_name_prefix(prefix, t->wide.table.name, day);
        found->files = sqt_parquet_add_beside(t->ship->parquet, &t->wide.table, prefix);
    }
    found->next = t->days;
    t->days = found;
    return found->files;
}

/* ---- rows ---- */

/* Times count from when the ring was made: the start of the trace is another one once old segments are removed. */
static void
rows_shift(const struct ship_table *t, const struct sqt_origin *origin, union sqt_cell *row)
{
    const int64_t wall = sqt_origin_wall_ns(origin), made = (int64_t)origin->identity.start.realtime_ns;
    int64_t by;
    if (wall == INT64_MIN || __builtin_sub_overflow(wall, made, &by))
        return;
    for (unsigned i = 0; i < t->wide.first; ++i)
        if (t->wide.columns[i].type == SQT_TYPE_TIME && row[i].number != SQT_CELL_MISSING &&
            __builtin_add_overflow(row[i].number, by, &row[i].number))
            row[i].number = SQT_CELL_MISSING;
}

static void
rows_widen(struct ship_table *t, const struct sqt_row_source *source, const union sqt_cell *row, union sqt_cell *wider)
{
    struct sqt_identity_cells identity;
    sqt_identity(&t->ship->identities, source, &identity);
    sqt_wide_row(&t->wide, wider, row, &identity);
    rows_shift(t, source->origin, wider);
}

static int
ship_rows_put(struct ship_table *t, const struct sqt_origin *origin, const union sqt_cell *wider)
{
    const int64_t day = ship_day(t->ship, ship_ring_of(t->ship, origin), rows_day(wider[t->time].number));
    return sqt_parquet_row(rows_files(t, day), origin, wider);
}

static int
rows_write(struct ship_table *t, const struct sqt_row_source *source, const union sqt_cell *row)
{
    union sqt_cell wider[SQT_WIDE_CELLS];
    rows_widen(t, source, row, wider);
    return ship_rows_put(t, source->origin, wider);
}

/* Whether what the job handed over was not shipped before. */
static int
rows_wants(const struct ship_table *t)
{
    const struct sqt_row_source *const source = &t->job->source;
    return source->origin && ship_ring_wants(ship_ring_of(t->ship, source->origin),
                                             source->record == UINT64_MAX ? t->ship->position : source->record);
}

static int
rows_take(void *context, const union sqt_cell *row)
{
    struct ship_table *const t = context;
    return !rows_wants(t) || rows_write(t, &t->job->source, row);
}

/* ---- some of the requests ---- */

static int
rows_take_slow(void *context, const union sqt_cell *wider)
{
    const struct ship_slowest *const slowest = context;
    return ship_rows_put(slowest->context, slowest->origin, wider);
}

/* A row of requests, with --raw. */
static int
rows_choose(void *context, const union sqt_cell *row)
{
    struct ship_table *const t = context;
    const struct ship_raw *const raw = &t->ship->request->raw;
    const struct sqt_row_source *const source = &t->job->source;
    union sqt_cell wider[SQT_WIDE_CELLS];
    if (!rows_wants(t))
        return 1;
    if (ship_raw_wants(raw, source, row))
        return rows_write(t, source, row);
    if (raw->slowest) {
        rows_widen(t, source, row, wider);
        ship_slowest_add(&t->slowest, source->origin, wider);
    }
    return 1;
}

/* ---- roll-ups ---- */

static void
rows_take_rolled(void *context, const struct sqt_row_source *source, const union sqt_cell *row)
{
    rows_write(context, source, row); /* sqt_parquet_finish() tells of errors */
}

/* Whether the durations of a row of requests are known and what they will stay. */
static int
rows_is_known(const union sqt_cell *row)
{
    return row[SQT_CELL(requests, total_ns)].number != SQT_CELL_MISSING &&
           strcmp(row[SQT_CELL(requests, outcome)].text, sqt_outcome_names[SQT_OUTCOME_UNFINISHED]) != 0;
}

/* A row of requests, for table rollups. */
static int
rows_roll_up(void *context, const union sqt_cell *row)
{
    struct ship_table *const t = context;
    if (!rows_wants(t) || !rows_is_known(row))
        return 1;
    if (sqt_rollups_full(t->rollups))
        sqt_rollups_emit(t->rollups, rows_take_rolled, t);
    sqt_rollups_add(t->rollups, t->job->source.origin, t->job->source.record, row);
    return 1;
}

/* ---- tables by minute ---- */

/* Whether what a job is told of counts: it was not shipped before. */
static int
rows_counts(void *context, const struct sqt_row_source *source)
{
    (void)source; /* the job's own */
    return rows_wants(context);
}

/* A row that is made of many, all of which were not shipped before. */
static int
rows_take_made(void *context, const union sqt_cell *row)
{
    struct ship_table *const t = context;
    return rows_write(t, &t->job->source, row);
}

/* Tables whose rows are made when the batch ends. */
static const struct rows_made {
    enum sqt_table_number table;
    void (*emit)(struct sqt_job *job);
    void (*free)(struct sqt_job *job);
} rows_made[] = {
    {SQT_TABLE_finding_minutes, sqt_minutes_emit, sqt_minutes_free},
    {SQT_TABLE_whatif_minutes, sqt_whatif_minutes_emit, sqt_whatif_minutes_free},
};

/* NULL: it is another table. */
static const struct rows_made *
rows_made_of(const struct sqt_job *job)
{
    for (unsigned i = 0; i < sizeof(rows_made) / sizeof(*rows_made); ++i)
        if (job->table == &sqt_tables[rows_made[i].table])
            return &rows_made[i];
    return NULL;
}

/* Whether a bound of that kind was told before; from now on it was.  Batches have other numbers. */
static int
is_bound_told(struct ship_table *t, const char *text)
{
    unsigned i = 0;
    text += strspn(text, "0123456789, ");
    while (i < BOUNDS && t->bounds[i] && strcmp(t->bounds[i], text) != 0)
        ++i;
    if (i == BOUNDS || t->bounds[i])
        return 1;
    t->bounds[i] = sqt_copied(text);
    return 0;
}

/* A file of Parquet has no lines for them; that a bound was met is a warning. */
static void
rows_note(void *context, const char *key, const char *text)
{
    struct ship_table *const t = context;
    if (strcmp(key, "bound") == 0 && !is_bound_told(t, text))
        program_say(&t->ship->voice, "warning: %s: %s", t->job->table->name, text);
}

void
ship_rows_begin(struct ship *ship)
{
    const struct ship_request *const r = ship->request;
    ship->tables = sqt_zeroed(r->table_count, sizeof(*ship->tables));
    ship->parquet = sqt_parquet_new(ship->place.stage, SHIP_STAGE, 0, 0600);
    ship->identities = (struct sqt_identities){.stream = ship->stream, .kid = -1};
    for (unsigned i = 0; i < r->table_count; ++i) {
        struct ship_table *const t = &ship->tables[i];
        sqt_wide_table_init(&t->wide, r->tables[i]);
        t->ship = ship;
        t->job = &ship->jobs[i];
        t->time = sqt_column_find(&t->wide.table, "time_ns", strlen("time_ns"));
        const int rolled = r->tables[i] == &sqt_tables[SQT_TABLE_rollups];
        const int some = r->raw.chosen && r->tables[i] == &sqt_tables[SQT_TABLE_requests];
        t->rollups = rolled ? sqt_rollups_new(0) : NULL;
        t->slowest = (struct ship_slowest){
            .table = &t->wide.table, .time = t->time, .most = r->raw.slowest, .take = rows_take_slow, .context = t};
        ship->jobs[i] = (struct sqt_job){.table = rolled ? &sqt_tables[SQT_TABLE_requests] : r->tables[i],
                                         .sourced = 1,
                                         .since = INT64_MIN,
                                         .until = INT64_MAX,
                                         .row = rolled ? rows_roll_up
                                                : some ? rows_choose
                                                       : rows_take,
                                         .note = rows_note,
                                         .context = t};
        if (rows_made_of(&ship->jobs[i])) {
            ship->jobs[i].row = rows_take_made;
            ship->jobs[i].wants = rows_counts;
        }
    }
}

int
ship_rows_finish(struct ship *ship)
{
    for (unsigned i = 0; i < ship->request->table_count; ++i) {
        if (ship->tables[i].rollups)
            sqt_rollups_emit(ship->tables[i].rollups, rows_take_rolled, &ship->tables[i]);
        ship_slowest_end(&ship->tables[i].slowest);
        const struct rows_made *const made = rows_made_of(&ship->jobs[i]);
        if (made)
            made->emit(&ship->jobs[i]);
    }
    const int failed = sqt_parquet_finish(ship->parquet) != 0;
    return !failed ? 0 : program_fail(&ship->voice, "%s/%s", ship->place.name, sqt_parquet_error(ship->parquet));
}

void
ship_rows_free(struct ship *ship)
{
    sqt_parquet_free(ship->parquet);
    for (unsigned i = 0; i < ship->request->table_count; ++i) {
        sqt_rollups_free(ship->tables[i].rollups);
        const struct rows_made *const made = rows_made_of(&ship->jobs[i]);
        if (made)
            made->free(&ship->jobs[i]);
        for (unsigned k = 0; k < BOUNDS; ++k)
            free(ship->tables[i].bounds[k]);
        for (struct ship_day *day = ship->tables[i].days, *next; day; day = next) {
            next = day->next;
            free(day);
        }
    }
    free(ship->tables);
    sqt_identities_free(&ship->identities);
}
