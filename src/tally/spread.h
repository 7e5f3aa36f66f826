/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spread.h - the groups of a tally as a wide table: a row for each value of the first key, a column for each group of the
 * other keys, for gnuplot's `using 1:2` and spreadsheets.
 *
 *     spread = sqt_spread_new(&form, columns, count);
 *     sqt_tally_emit(tally, sqt_spread_row, spread);
 *     table = sqt_spread_table(spread);
 *     sqt_spread_emit(spread, row_function, context);
 *
 * If the first key is a time, each group of time from the first to the last has a row, also those in which nothing
 * happened, unless these are more than SQT_SPREAD_EMPTY.  Of a group without rows the counts and sums are 0, and everything
 * else is missing.
 */
#ifndef SQT_TALLY_SPREAD_H
#define SQT_TALLY_SPREAD_H

#include "tally.h"

/* Columns, at most: further groups, those with the fewest rows, are left out. */
#define SQT_SPREAD_COLUMNS 250

/* Rows of times in which nothing happened, at most: a time in a broken trace may be years away, and groups be short. */
#define SQT_SPREAD_EMPTY 1000000

struct sqt_spread;

/* columns: those of the tally's table that are spread; there are count of them, at most 16. */
struct sqt_spread *sqt_spread_new(const struct sqt_tally_form_by *form, const unsigned char *columns, unsigned count);

/* Takes a row of the tally: a sqt_row_function. */
int sqt_spread_row(void *spread, const union sqt_cell *row);

/* The table, when all rows are there.  It is valid until sqt_spread_free(). */
const struct sqt_table *sqt_spread_table(struct sqt_spread *spread);

/* Groups that have no column. */
unsigned sqt_spread_left_out(const struct sqt_spread *spread);

/* How many rows of times in which nothing happened are left out, because they are too many. */
uint64_t sqt_spread_empty_left_out(struct sqt_spread *spread);

/* Hands out the rows, in the order of the first key. */
void sqt_spread_emit(struct sqt_spread *spread, sqt_row_function *row, void *context);

void sqt_spread_free(struct sqt_spread *spread);

#endif
