/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wall-columns.c - see wall-columns.h.
 */
#include "wall-columns.h"

#include <string.h>

static const struct {
    const char *source, *name, *doc;
} wall_columns[] = {
#define SQT_WALL_COLUMN(source, name, doc) {#source, #name, doc},
#include "wall-columns.def"
};
#define WALL_COLUMNS (sizeof(wall_columns) / sizeof(*wall_columns))

unsigned
sqt_wall_source(const struct sqt_table *table, unsigned column)
{
    for (unsigned i = 0; i < WALL_COLUMNS && table->columns[column].type == SQT_TYPE_WALL; ++i)
        if (strcmp(wall_columns[i].name, table->columns[column].name) == 0)
            return sqt_column_find(table, wall_columns[i].source, strlen(wall_columns[i].source));
    return table->column_count;
}

void
sqt_wall_table_init(struct sqt_wall_table *wall, const struct sqt_table *base)
{
    unsigned count = base->column_count;
    wall->table = *base;
    wall->table.columns = wall->columns;
    memcpy(wall->columns, base->columns, count * sizeof(*base->columns));
    /* The texts of raw cells lie behind the columns. */
    for (unsigned i = 0; i < base->column_count; ++i)
        for (; base->columns[i].type == SQT_TYPE_RAW && count <= i + SQT_RAW_TEXT; ++count)
            wall->columns[count] = (struct sqt_column){"\t", SQT_TYPE_COUNT, ""};
    wall->cell_count = wall->first = count;
    for (unsigned i = 0; i < WALL_COLUMNS; ++i)
        if (sqt_column_find(base, wall_columns[i].source, strlen(wall_columns[i].source)) < base->column_count)
            wall->columns[count++] = (struct sqt_column){wall_columns[i].name, SQT_TYPE_WALL, wall_columns[i].doc};
    wall->table.column_count = count;
    for (unsigned i = wall->first; i < count; ++i)
        wall->sources[i - wall->first] = sqt_wall_source(&wall->table, i);
}

void
sqt_wall_row(const struct sqt_wall_table *wall, union sqt_cell *to, const union sqt_cell *row)
{
    memcpy(to, row, wall->cell_count * sizeof(*row));
    for (unsigned i = wall->first; i < wall->table.column_count; ++i) {
        const int64_t since_start = row[wall->sources[i - wall->first]].number;
        int64_t sum;
        to[i].number = since_start;
        if (since_start != SQT_CELL_MISSING && !__builtin_add_overflow(since_start, wall->start_ns, &sum))
            to[i].number = sum;
    }
}
