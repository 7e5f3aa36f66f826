/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * table.h - tables, figures and their columns as data, and the rows that travel from their makers to a sink.
 */
#ifndef SQT_TABLE_H
#define SQT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "format/events.h"

/* What a cell holds and how it is printed. */
enum sqt_type {
    SQT_TYPE_TIME,  /* nanoseconds; printed as seconds with nine decimals */
    SQT_TYPE_WALL,  /* nanoseconds since 1970; printed as a time of day: wall.h */
    SQT_TYPE_NS,    /* nanoseconds */
    SQT_TYPE_MS,    /* nanoseconds; printed as milliseconds with six decimals */
    SQT_TYPE_PCT,   /* thousandths of a percent; printed as percent with three decimals */
    SQT_TYPE_MILLI, /* thousandths; printed with three decimals */
    SQT_TYPE_BYTES,
    SQT_TYPE_COUNT,
    SQT_TYPE_FLAG, /* 0 or 1 */
    SQT_TYPE_ID,   /* unsigned */
    SQT_TYPE_HASH, /* unsigned; printed as 16 hexadecimal digits */
    SQT_TYPE_TEXT,
    SQT_TYPE_RAW /* unsigned; the cell SQT_RAW_TEXT further on is how it is printed, if not NULL */
};

/* One value of a row.  Missing: SQT_CELL_MISSING, or NULL for text. */
union sqt_cell {
    int64_t number;
    const char *text;
};
#define SQT_CELL_MISSING INT64_MIN
#define SQT_RAW_TEXT 4

struct sqt_column {
    const char *name; /* with the unit as suffix */
    enum sqt_type type;
    const char *doc;
};

/* What rows are that can be made in pieces, by the process and the record that they end with. */
enum { SQT_THINGS = 1 /* things that happened, each ended by one record */, SQT_ROLLED /* counts, which add up */ };

struct sqt_table {
    const char *name;
    int figure; /* a figure's series rather than a table */
    const char *doc;
    const struct sqt_column *columns;
    unsigned column_count;
    /* Of figures only: a line above the picture, what its axes are, with units, and what the picture shows, how it was
     * computed, what to look for. */
    const char *title, *x, *y, *caption;
    int things; /* SQT_THINGS or SQT_ROLLED; 0: the rows sum a whole trace up */
};

/* So many stages have their columns together within `requests`; those of the others are its last ones. */
#define SQT_EARLY_STAGES 18

enum sqt_table_number {
#define SQT_TABLE(id, name, kind, doc) SQT_TABLE_##id,
#include "tables.def"
    SQT_TABLES
};

/* Where each column stands in one list of all of them. */
enum sqt_column_number {
#define SQT_TABLE(id, name, kind, doc) SQT_AT_##id,
#define SQT_COLUMN(id, name, type, doc) SQT_AT_##id##_##name,
#define SQT_STAGE_COLUMNS(id, part, count) \
    SQT_AT_##id##_##part, SQT_AT_##id##_##part##_end_ = SQT_AT_##id##_##part + (count)-1,
#define SQT_TABLE_END(id) SQT_AT_##id##_end_,
#include "tables.def"
    SQT_COLUMNS
};

/* Where a stage stands among all columns, by its column order in stages.def. */
#define SQT_STAGE_AT(order) \
    ((order) < SQT_EARLY_STAGES ? SQT_AT_requests_stages + (order) \
                                : SQT_AT_requests_late_stages + (order)-SQT_EARLY_STAGES)
/* Its place in a row of `requests`. */
#define SQT_STAGE_CELL(order) (SQT_STAGE_AT(order) - SQT_AT_requests - 1)

/* Place of a column in a row of its table, and how many there are. */
#define SQT_CELL(table, name) (SQT_AT_##table##_##name - SQT_AT_##table - 1)
#define SQT_CELLS(table) (SQT_AT_##table##_end_ - SQT_AT_##table - 1)

extern const struct sqt_table sqt_tables[SQT_TABLES];

/* The table or figure of that name, NULL if there is none. */
const struct sqt_table *sqt_table_find(const char *name, int figure);

/* Place of the column in a row, column_count if there is none.  A table with notes has a column note_NAME of any NAME, until
 * SQT_NOTES of them have been asked for in this process. */
unsigned sqt_column_find(const struct sqt_table *table, const char *name, size_t length);

/* How many columns have the name of a note by now, and the names of these notes. */
unsigned sqt_column_notes(void);
const char *sqt_column_note(unsigned place);

/* What lists of all columns call it; NULL: nothing.  A column whose name begins with a tab is none, or has none yet. */
const char *sqt_column_listed(const struct sqt_column *column);

/* Whether an access.log without a trace has that table or figure. */
int sqt_table_of_log(const struct sqt_table *table);

#define SQT_TABLES_WITH 128
/* "tables swaps and ios have it", of tables (no figures) that have a column of that name, the first three; NULL if none
 * has. */
const char *sqt_tables_with(char text[SQT_TABLES_WITH], const char *name, size_t length);

/* Whether a column of sqt_tables is printed only where it is asked for. */
int sqt_column_asked(const struct sqt_column *column);
/* Whether tables for people have it nevertheless. */
int sqt_column_for_people(const struct sqt_column *column);
/* Whether that is so unless an access.log is given. */
int sqt_column_of_log(const struct sqt_column *column);

/* Whether a cell of that type has no value. */
static inline int
sqt_cell_missing(enum sqt_type type, union sqt_cell cell)
{
    return type == SQT_TYPE_TEXT ? !cell.text : type != SQT_TYPE_RAW && cell.number == SQT_CELL_MISSING;
}

/* Receives the rows of a table.  Returns 0 to get no more. */
typedef int sqt_row_function(void *context, const union sqt_cell *row);

#endif
