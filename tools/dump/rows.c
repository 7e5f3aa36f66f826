/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rows.c - the way of a row from its maker to the sink: times of day, groups, a histogram, the order.
 */
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "run.h"

/* Characters that the numbers of a histogram leave to its bars, at least; and if a line has no bound. */
#define BAR_LEAST 8
#define BAR_USUAL 40
#define HISTOGRAM_NUMBERS 44

/* ---- one row ---- */

static int
rows_print(struct dump *d, const union sqt_cell *row)
{
    const int more = sqt_sink_row(&d->sink, row);
    d->cut = d->request->limit && d->sink.rows >= (uint64_t)d->request->limit;
    return more && !d->cut;
}

int
dump_row(void *context, const union sqt_cell *row)
{
    struct dump *const d = context;
    union sqt_cell wider[SQT_WIDE_CELLS];
    if (d->request->alarms)
        return sqt_alarms_row(d->request->alarms, row);
    if (d->request->uses_wide) {
        struct sqt_identity_cells identity;
        sqt_identity(&d->identities, &d->maker->source, &identity);
        sqt_wide_row(&d->wide, wider, row, &identity);
        row = wider;
    }
    if (d->tally)
        return sqt_tally_row(d->tally, row);
    if (d->histogram)
        return sqt_histogram_row(d->histogram, row);
    return d->order ? sqt_order_row(d->order, row) : rows_print(d, row);
}

void
dump_rows_begin(struct dump *d)
{
    const struct dump_request *const r = d->request;
    d->wide = r->wide;
    d->wide.start_ns = d->sink.start_ns <= INT64_MAX / 2 ? (int64_t)d->sink.start_ns : 0;
    if (r->given[DUMP_group_by])
        d->tally = sqt_tally_new(&r->tally);
    if (r->given[DUMP_wide])
        d->spread = sqt_spread_new(&r->tally, r->columns, r->column_count);
    if (r->given[DUMP_histogram]) {
        d->histogram_of = r->histogram;
        d->histogram = &d->histogram_of;
    }
    if (r->key_count)
        d->order = sqt_order_new(r->shown, r->keys, r->key_count, (uint64_t)r->limit);
}

/* ---- at the end ---- */

static void
tally_comments(struct dump *d)
{
    const struct sqt_tally_account a = sqt_tally_account(d->tally);
    char text[256], groups[32], rows[32];
    if (d->request->tally.by.of < d->request->wide.table.column_count) {
        sqt_sink_comment(&d->sink, "of", d->request->wide.columns[d->request->tally.by.of].name);
        sqt_sink_comment(&d->sink, "percentiles", a.coarse ? "at most 0.1 % off (log-linear histogram)" : "exact");
    }
    if (!a.other_rows)
        return;
    snprintf(text, sizeof(text), "%s rows of further groups are in the row other; %s groups have rows of their own",
             sqt_grouped(a.other_rows, rows), sqt_grouped(a.groups, groups));
    sqt_sink_comment(&d->sink, "other", text);
}

static void
histogram_comments(struct dump *d)
{
    char text[256], number[32], missing[32];
    const struct dump_request *const r = d->request;
    snprintf(text, sizeof(text), "%s values of %s; %s rows have none", sqt_grouped(d->histogram->values, number),
             r->table->columns[r->histogram.column].name, sqt_grouped(d->histogram->missing, missing));
    sqt_sink_comment(&d->sink, "histogram", text);
}

static unsigned
histogram_bar(const struct dump *d)
{
    const unsigned width = d->sink.width;
    return !width ? BAR_USUAL : width >= HISTOGRAM_NUMBERS + BAR_LEAST ? width - HISTOGRAM_NUMBERS : BAR_LEAST;
}

/* Rows that were kept to be sorted. */
static int
rows_emit_sorted(struct dump *d)
{
    const int full = sqt_order_full(d->order);
    if (full)
        fprintf(stderr, "sqtrace-dump: --sort: more rows than fit into 1 GB; %s, or ask for fewer by --where\n",
                d->request->limit ? "give a smaller --limit" : "add --limit=NUMBER");
    else
        sqt_order_emit(d->order, sqt_sink_row, &d->sink);
    return full ? -1 : 0;
}

/* The group of all others comes last in any order. */
static void
rows_emit_other(struct dump *d)
{
    union sqt_cell row[SQT_TALLY_COLUMNS];
    const uint64_t limit = (uint64_t)d->request->limit;
    if ((!limit || d->sink.rows < limit) && sqt_tally_other(d->tally, row))
        sqt_sink_row(&d->sink, row);
}

/* The groups as a wide table: its columns are known only now. */
static void
rows_emit_spread(struct dump *d)
{
    char text[128], number[32];
    sqt_tally_emit(d->tally, sqt_spread_row, d->spread);
    d->sink.table = sqt_spread_table(d->spread);
    d->sink.columns = d->spread_columns;
    d->sink.column_count = d->sink.table->column_count;
    d->sink.columns_given = 1;
    for (unsigned i = 0; i < d->sink.column_count; ++i)
        d->spread_columns[i] = (unsigned char)i;
    if (sqt_spread_left_out(d->spread)) {
        snprintf(text, sizeof(text), "%u groups with fewer rows have no column", sqt_spread_left_out(d->spread));
        sqt_sink_comment(&d->sink, "wide", text);
    }
    const uint64_t empty = sqt_spread_empty_left_out(d->spread);
    if (empty) {
        snprintf(text, sizeof(text), "%s groups of time in which nothing happened have no row",
                 sqt_grouped(empty, number));
        sqt_sink_comment(&d->sink, "empty", text);
    }
    sqt_spread_emit(d->spread, sqt_sink_row, &d->sink);
    sqt_sink_header(&d->sink);
}

void
dump_rows_free(struct dump *d)
{
    sqt_tally_free(d->tally);
    sqt_order_free(d->order);
    sqt_identities_free(&d->identities);
    memset(&d->identities, 0, sizeof(d->identities));
    d->tally = NULL;
    d->order = NULL;
}

int
dump_rows_finish(struct dump *d)
{
    int failed = 0;
    if (d->histogram) {
        histogram_comments(d);
        sqt_histogram_emit(d->histogram, histogram_bar(d), sqt_sink_row, &d->sink);
    }
    if (d->tally)
        tally_comments(d);
    if (d->spread) {
        rows_emit_spread(d);
    } else {
        if (d->tally)
            sqt_tally_emit(d->tally, sqt_order_row, d->order);
        if (d->order)
            failed = rows_emit_sorted(d);
        if (d->tally)
            rows_emit_other(d);
    }
    dump_rows_free(d);
    return failed;
}
