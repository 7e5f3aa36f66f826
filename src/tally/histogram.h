/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * histogram.h - how often the values of a column lie between bounds that grow by a factor.
 *
 * The bounds are 0, 1, 2, 5, 10, 20, 50, ... of the column's smallest unit; of sizes 0, 1, 2, 4, 8, ... bytes.
 */
#ifndef SQT_HISTOGRAM_H
#define SQT_HISTOGRAM_H

#include "form.h"

#define SQT_HISTOGRAM_BOUNDS 72

struct sqt_histogram {
    struct sqt_tally_form form; /* the table that comes out; the last column is a bar */
    enum sqt_type type;
    unsigned column; /* of the rows that it gets */
    int64_t bounds[SQT_HISTOGRAM_BOUNDS];
    unsigned bound_count;
    uint64_t counts[SQT_HISTOGRAM_BOUNDS + 1]; /* [0]: below 0; [i]: from bounds[i - 1] on */
    uint64_t values, missing;
};

/* Columns without the bar. */
#define SQT_HISTOGRAM_PLAIN 4

void sqt_histogram_init(struct sqt_histogram *histogram, const struct sqt_table *table, unsigned column);

/* Takes a row: a sqt_row_function. */
int sqt_histogram_row(void *histogram, const union sqt_cell *row);

/* A row for each bucket, from the first that is not empty to the last.  width: characters of the longest bar. */
void sqt_histogram_emit(struct sqt_histogram *histogram, unsigned width, sqt_row_function *row, void *context);

#endif
