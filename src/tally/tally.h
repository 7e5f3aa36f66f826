/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tally.h - rows of a table by what stands in some of its columns: how many there are of each, and the sum and the
 * percentiles of another column.
 *
 *     sqt_tally_init(&form, table, &by);              the table that comes out
 *     tally = sqt_tally_new(&form);
 *     sqt_tally_row(tally, row), ...                  rows of `table`
 *     sqt_tally_emit(tally, row_function, context);   a row for each group, in no order
 *     if (sqt_tally_other(tally, &row)) ...           what found no room
 *
 * Groups are bounded: rows of further ones are counted in one more group, "other".  Percentiles are exact up to
 * SQT_TALLY_VALUES values.  With more, the groups with the fewest rows are put into "other" until SQT_TALLY_COARSE are
 * left, and percentiles come from histograms: distribution.h.
 */
#ifndef SQT_TALLY_H
#define SQT_TALLY_H

#include "form.h"

/* Columns that rows are grouped by, at most. */
#define SQT_TALLY_KEYS 4
#define SQT_TALLY_GROUPS 10000
#define SQT_TALLY_COARSE 1000
#define SQT_TALLY_VALUES ((size_t)4 << 20)
/* Bytes of a text that groups are told apart by. */
#define SQT_TALLY_TEXT 240

struct sqt_tally_by {
    unsigned keys[SQT_TALLY_KEYS];
    unsigned key_count;
    unsigned of;   /* column whose values are summed up; column_count of the table: none */
    int64_t width; /* ns, of a group of times */
    size_t most;   /* groups that are kept; 0: SQT_TALLY_GROUPS */
};

struct sqt_tally_form_by {
    struct sqt_tally_form form;
    const struct sqt_table *from;
    struct sqt_tally_by by;
    unsigned visible; /* columns to print; behind them each key has a hidden one, with its number, to be sorted by */
};

/* The table: the keys, count, share_pct, and what is known of the values. */
void sqt_tally_init(struct sqt_tally_form_by *form, const struct sqt_table *table, const struct sqt_tally_by *by);

/* The column to sort by where that one is named. */
unsigned sqt_tally_sorted_by(const struct sqt_tally_form_by *form, unsigned column);

struct sqt_tally;
struct sqt_tally *sqt_tally_new(const struct sqt_tally_form_by *form);

/* Takes a row: a sqt_row_function. */
int sqt_tally_row(void *tally, const union sqt_cell *row);

/* A row for each group but "other".  Texts in it are valid during the call. */
void sqt_tally_emit(struct sqt_tally *tally, sqt_row_function *row, void *context);

/* The row of "other"; 0 if all groups found room. */
int sqt_tally_other(struct sqt_tally *tally, union sqt_cell row[SQT_TALLY_COLUMNS]);

/* Rows and groups in "other", and whether percentiles come from histograms. */
struct sqt_tally_account {
    uint64_t groups, rows, other_rows;
    int coarse;
};
struct sqt_tally_account sqt_tally_account(const struct sqt_tally *tally);

void sqt_tally_free(struct sqt_tally *tally);

#endif
