/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wide-columns.h - a table with the columns of wide-columns.def behind its own.
 */
#ifndef SQT_WIDE_COLUMNS_H
#define SQT_WIDE_COLUMNS_H

#include "identity.h"
#include "table.h"

#define SQT_WIDE_CELLS 256
/* More columns than wide-columns.def has. */
#define SQT_WIDE_MOST 16

struct sqt_wide_table {
    struct sqt_table table; /* with the columns of the base, and those of wide-columns.def that it lacks */
    struct sqt_column columns[SQT_WIDE_CELLS];
    unsigned cell_count;             /* of a row of the base */
    unsigned first;                  /* column that is not of the base */
    unsigned identity;               /* the first that says which proxy, and which row */
    unsigned sources[SQT_WIDE_MOST]; /* of a time of day: the column that it is made of.  Else enum sqt_identity_cell */
    unsigned time;                   /* column time_s; column count of the base if it has none */
    int64_t start_ns;                /* of the trace, since 1970 */
};

/* Columns of the base keep their places.  A column without a name is none. */
void sqt_wide_table_init(struct sqt_wide_table *wide, const struct sqt_table *base);

/* The column that a time of day is made of; column_count if it is none. */
unsigned sqt_wall_source(const struct sqt_table *table, unsigned column);

/* Fills a row of SQT_WIDE_CELLS cells from one of the base.  identity: of that row, from sqt_identity(). */
void sqt_wide_row(const struct sqt_wide_table *wide, union sqt_cell *to, const union sqt_cell *row,
                  const struct sqt_identity_cells *identity);

#endif
