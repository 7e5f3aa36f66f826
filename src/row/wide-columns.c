/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wide-columns.c - see wide-columns.h.
 */
#include "wide-columns.h"

#include <string.h>

static const struct {
    const char *source, *name, *doc;
} wall_columns[] = {
#define SQT_WALL_COLUMN(source, name, doc) {#source, #name, doc},
#include "wide-columns.def"
};
#define WALL_COLUMNS (sizeof(wall_columns) / sizeof(*wall_columns))

static const struct sqt_column identity_columns[] = {
#define SQT_IDENTITY_COLUMN(name, type, doc) {#name, SQT_TYPE_##type, doc},
#include "wide-columns.def"
};
#define IDENTITY_COLUMNS (sizeof(identity_columns) / sizeof(*identity_columns))
SQT_ASSERT(WALL_COLUMNS + IDENTITY_COLUMNS <= SQT_WIDE_MOST, "each has a source");

unsigned
sqt_wall_source(const struct sqt_table *table, unsigned column)
{
    for (unsigned i = 0; i < WALL_COLUMNS && table->columns[column].type == SQT_TYPE_WALL; ++i)
        if (strcmp(wall_columns[i].name, table->columns[column].name) == 0)
            return sqt_column_find(table, wall_columns[i].source, strlen(wall_columns[i].source));
    return table->column_count;
}

static void
wide_add_wall(struct sqt_wide_table *wide, const struct sqt_table *base, unsigned *count)
{
    for (unsigned i = 0; i < WALL_COLUMNS; ++i) {
        const unsigned source = sqt_column_find(base, wall_columns[i].source, strlen(wall_columns[i].source));
        if (source == base->column_count)
            continue;
        wide->sources[*count - wide->first] = source;
        wide->columns[(*count)++] = (struct sqt_column){wall_columns[i].name, SQT_TYPE_WALL, wall_columns[i].doc};
    }
}

/* Figures are no tables: their rows are of no process. */
static void
wide_add_identity(struct sqt_wide_table *wide, const struct sqt_table *base, unsigned *count)
{
    for (unsigned i = 0; i < IDENTITY_COLUMNS && !base->figure; ++i) {
        const char *const name = identity_columns[i].name;
        if (sqt_column_find(base, name, strlen(name)) < base->column_count)
            continue;
        wide->sources[*count - wide->first] = i;
        wide->columns[(*count)++] = identity_columns[i];
    }
}

void
sqt_wide_table_init(struct sqt_wide_table *wide, const struct sqt_table *base)
{
    unsigned count = base->column_count;
    wide->table = *base;
    wide->table.columns = wide->columns;
    memcpy(wide->columns, base->columns, count * sizeof(*base->columns));
    /* The texts of raw cells lie behind the columns. */
    for (unsigned i = 0; i < base->column_count; ++i)
        for (; base->columns[i].type == SQT_TYPE_RAW && count <= i + SQT_RAW_TEXT; ++count)
            wide->columns[count] = (struct sqt_column){"\t", SQT_TYPE_COUNT, ""};
    wide->cell_count = wide->first = count;
    wide->time = sqt_column_find(base, "time_s", strlen("time_s"));
    wide_add_wall(wide, base, &count);
    wide->identity = count;
    wide_add_identity(wide, base, &count);
    wide->table.column_count = count;
}

/* A time since the start of the trace, and what is added to it; missing if either is. */
static int64_t
wide_sum(int64_t since_start, int64_t start_ns)
{
    int64_t sum;
    if (since_start == SQT_CELL_MISSING || start_ns == SQT_CELL_MISSING)
        return SQT_CELL_MISSING;
    return __builtin_add_overflow(since_start, start_ns, &sum) ? since_start : sum;
}

void
sqt_wide_row(const struct sqt_wide_table *wide, union sqt_cell *to, const union sqt_cell *row,
             const struct sqt_identity_cells *identity)
{
    memcpy(to, row, wide->cell_count * sizeof(*row));
    for (unsigned i = wide->first; i < wide->identity; ++i)
        to[i].number = wide_sum(row[wide->sources[i - wide->first]].number, wide->start_ns);
    for (unsigned i = wide->identity; i < wide->table.column_count; ++i) {
        const unsigned source = wide->sources[i - wide->first];
        to[i] = identity->cells[source];
        if (source == SQT_IDENTITY_time_ns)
            to[i].number = wide->time < wide->first ? wide_sum(row[wide->time].number, to[i].number) : SQT_CELL_MISSING;
    }
}
