/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * alarm-internal.h - a condition of alarm.h, taken apart.
 */
#ifndef SQT_ALARM_INTERNAL_H
#define SQT_ALARM_INTERNAL_H

#include "alarm.h"
#include "base/distribution.h"
#include "row/where.h"

enum alarm_function {
#define ALARM_FUNCTION(id, name, column, doc) ALARM_##id,
#include "functions.def"
    ALARM_FUNCTIONS,
    ALARM_percentile = ALARM_FUNCTIONS
};

struct alarm_operator {
    const char *text;
    unsigned char less, equal, greater; /* whether it holds for a value that is so, compared with the bound */
};

struct alarm {
    const char *text;
    enum alarm_function function;
    unsigned per_mille; /* of a percentile */
    unsigned column;    /* column_count of the table: none */
    enum sqt_type type; /* of what it computes */
    const struct alarm_operator *operator;
    int64_t bound;
    struct sqt_where *where; /* NULL: all rows */

    uint64_t matched, values; /* rows that the expression takes, and those of them with a value */
    double sum, whole;        /* of their values, and of the values of all rows */
    int64_t min, max;
    struct sqt_distribution distribution; /* of a percentile */
};

struct sqt_alarms {
    const struct sqt_table *table;
    struct alarm list[SQT_ALARMS];
    unsigned count;
    uint64_t rows;
    struct sqt_distributions set;
};

/* Reads a condition.  Returns 0, or -1 with a line in error. */
int alarm_parse(struct alarm *alarm, const struct sqt_table *table, const char *text, char *error, size_t error_size);

#endif
