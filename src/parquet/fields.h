/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fields.h - the columns of a table as they stand in its files of Parquet.
 */
#ifndef SQT_PARQUET_FIELDS_H
#define SQT_PARQUET_FIELDS_H

#include "column.h"

/* More columns than any table has. */
#define SQT_PARQUET_FIELDS 256

/* Fills in the fields of a table, and returns how many there are.  Columns without a name, and times of day, are none: the
 * latter are in time_ns.  A raw column has a second field: the text that is printed for it. */
unsigned sqt_parquet_fields(const struct sqt_table *table, struct sqt_parquet_field fields[SQT_PARQUET_FIELDS]);

#endif
