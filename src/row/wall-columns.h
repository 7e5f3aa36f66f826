/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wall-columns.h - a table with times of day behind its own columns.
 */
#ifndef SQT_WALL_COLUMNS_H
#define SQT_WALL_COLUMNS_H

#include "table.h"

#define SQT_WALL_CELLS 256

struct sqt_wall_table {
    struct sqt_table table; /* with the columns of the base, and those of wall-columns.def that it has the source of */
    struct sqt_column columns[SQT_WALL_CELLS];
    unsigned cell_count; /* of a row of the base */
    unsigned first;      /* column that is a time of day */
    unsigned sources[2]; /* what they are made of */
    int64_t start_ns;    /* of the trace, since 1970 */
};

/* Columns of the base keep their places.  A column without a name is none. */
void sqt_wall_table_init(struct sqt_wall_table *wall, const struct sqt_table *base);

/* The column that such a column is made of; column_count if it is of the base. */
unsigned sqt_wall_source(const struct sqt_table *table, unsigned column);

/* Fills a row of SQT_WALL_CELLS cells from one of the base. */
void sqt_wall_row(const struct sqt_wall_table *wall, union sqt_cell *to, const union sqt_cell *row);

#endif
