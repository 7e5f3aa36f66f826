/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * form.h - the columns of tables that are made of the rows of another one.
 */
#ifndef SQT_TALLY_FORM_H
#define SQT_TALLY_FORM_H

#include "row/table.h"

#define SQT_TALLY_COLUMNS 20

struct sqt_tally_form {
    struct sqt_table table;
    struct sqt_column columns[SQT_TALLY_COLUMNS];
    char title[200]; /* name of the table, as "requests by class" */
    char names[SQT_TALLY_COLUMNS][32];
};

/* Appends a column.  Its name is the word, with the unit of the source if one is given, as in p99_ns. */
void sqt_tally_column(struct sqt_tally_form *form, const char *word, const struct sqt_column *source,
                      enum sqt_type type, const char *doc);

/* Whether the column has numbers that can be added and compared. */
int sqt_tally_numbers(enum sqt_type type);

/* The duration that matters most in that table; column_count if it has none. */
unsigned sqt_tally_main(const struct sqt_table *table);

#endif
