/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * values.h - the values of text columns that have a closed set of them.
 */
#ifndef SQT_VALUES_H
#define SQT_VALUES_H

#include "table.h"

/* Value i of the column of sqt_tables; NULL behind the last one, and at once if any text may stand in the column. */
const char *sqt_column_value(const struct sqt_table *table, unsigned column, unsigned i);

#endif
