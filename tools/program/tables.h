/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tables.h - names of tables, several in one option.
 */
#ifndef SQT_PROGRAM_TABLES_H
#define SQT_PROGRAM_TABLES_H

#include "row/table.h"

#include "options.h"

/* Reads the option's names, as in "requests,swaps".  Not given: all tables whose rows are things that happened, but
 * events, and finding_minutes.  tables has room for SQT_TABLES.  Returns 0, or -1 with a line in the options' error. */
int program_take_tables(const struct options *options, unsigned option, const struct sqt_table **tables,
                        unsigned *count);

#endif
