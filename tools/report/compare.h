/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare.h - how two traces differ.
 */
#ifndef SQT_REPORT_COMPARE_H
#define SQT_REPORT_COMPARE_H

#include "report.h"

struct compared {
    enum sqt_class class;
    const char *name;
    int stage; /* a part of the total; -1: the total */
    const struct sqt_estimate *a, *b;
    struct sqt_difference difference;
};

/* The rows of a class begin with three on its total: median, 99th percentile, mean. */
struct comparison {
    const struct report_trace *a, *b;
    struct compared *rows;
    size_t count;
    double confidence; /* of each interval, so that all hold together with 95 % */
};

void compare(struct comparison *comparison, const struct report_trace *a, const struct report_trace *b);
void compare_free(struct comparison *comparison);

/* "slower", "faster" or "same" */
const char *compared_verdict(const struct compared *row);
/* "20 % slower", "no difference", "too few requests to tell"; to be freed. */
char *compared_words(const struct compared *row);
/* What is to be said of the class whose rows begin at first; to be freed. */
char *compared_sentence(const struct comparison *comparison, size_t first);

/* All requests of a trace.  class: of the request in the row. */
struct report_whole *whole_new(void);
void whole_take(struct report_whole *whole, const union sqt_cell *row, enum sqt_class class);
void whole_finish(struct report_whole *whole);
void whole_free(struct report_whole *whole);
/* Sentences on all requests of both: the first says whether b is better than a. */
void compare_whole(struct lines *lines, const struct report_trace *a, const struct report_trace *b);

#endif
