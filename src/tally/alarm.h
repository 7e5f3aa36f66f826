/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * alarm.h - conditions on all rows of a table: p99(total_ns) > 1s where class == disk_hit
 *
 *     condition := function "(" [ column ] ")" operator value [ "where" expression ]
 *     function  := one of functions.def, or "p" and a number from 0.1 to 100 with at most one decimal
 *     operator  := == | != | < | <= | > | >=
 *
 * The expression is that of where.h, on columns of the same table.  The value has the unit of the column, or one of its
 * own; that of share is a percentage, and that of count a number.
 *
 *     alarms = sqt_alarms_new(table);
 *     sqt_alarms_add(alarms, "max(total_ns) > 5s", error, sizeof(error)), ...
 *     sqt_alarms_row(alarms, row), ...
 *     sqt_alarms_judge(alarms, i, &verdict), ...
 *     sqt_alarms_free(alarms);
 *
 * All of it belongs to one thread.  Memory is bounded: percentiles are exact up to SQT_TALLY_VALUES values of all
 * conditions, and come from histograms with more.
 */
#ifndef SQT_ALARM_H
#define SQT_ALARM_H

#include "row/table.h"

/* Conditions, at most. */
#define SQT_ALARMS 32
/* Room for the words of a verdict, besides the text of its condition. */
#define SQT_ALARM_WORDS 512

struct sqt_alarms;

/* What became of a condition. */
struct sqt_alarm_verdict {
    const char *text; /* of the condition, as it was given; the caller's of sqt_alarms_add */
    char label[80];   /* function and column, as in p99(total_ns) */
    int known;        /* 0: no row has a value, so there is nothing to compare */
    int holds;        /* the condition is met: there is cause for alarm; 0 if it is not known */
    uint64_t rows;    /* whose values were taken */
    enum sqt_type type;
    double value, bound; /* in the unit of the type: ns, bytes, thousandths of a percent, thousandths, or 1 */
    int above, below;    /* the condition is met above the bound, below it; both of != */
};

/* The table's rows are what sqt_alarms_row takes.  Never NULL; free it with sqt_alarms_free. */
struct sqt_alarms *sqt_alarms_new(const struct sqt_table *table);

/* Adds a condition; the text must live as long as the alarms.  Returns 0, or -1 with one line in error, which names the
 * character (from 1) where it went wrong. */
int sqt_alarms_add(struct sqt_alarms *alarms, const char *text, char *error, size_t error_size);

/* Takes a row: a sqt_row_function. */
int sqt_alarms_row(void *alarms, const union sqt_cell *row);

/* How many conditions there are, and how many rows came. */
unsigned sqt_alarms_count(const struct sqt_alarms *alarms);
uint64_t sqt_alarms_rows(const struct sqt_alarms *alarms);

/* Judges condition i, counted from 0, by the rows so far. */
void sqt_alarms_judge(struct sqt_alarms *alarms, unsigned i, struct sqt_alarm_verdict *verdict);

/* Says how far the value is from the bound: "1.24 s of 4,120 rows, 241 ms (24.1 %) above 1.00 s". */
void sqt_alarm_words(const struct sqt_alarm_verdict *verdict, char text[SQT_ALARM_WORDS]);

/* Frees them; NULL is welcome. */
void sqt_alarms_free(struct sqt_alarms *alarms);

#endif
