/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sections.h - how sure a median or a mean of a trace is, and whether that of another trace differs.
 *
 * Requests that follow each other are alike, so an interval that takes them for independent is too narrow.  Here they
 * are cut, in their order, into sections of equal numbers of requests, and the statistic is computed over all of them
 * and over each section: its standard error is sqrt(sum((section - all)^2) / (n (n - 1))) with n sections, which are
 * long enough to be nearly independent (known as sectioning, in the analysis of simulations).  The difference of two
 * traces has the interval of Student's t with the degrees of freedom of Welch and Satterthwaite.
 *
 * The length of a section doubles as the trace goes on, so that there are never more than SQT_SECTIONS_MOST of them.
 */
#ifndef SQT_SECTIONS_H
#define SQT_SECTIONS_H

#include "format/events.h"
#include "base/distribution.h"

#define SQT_SECTIONS_MOST 40
/* With fewer sections nothing is said about errors. */
#define SQT_SECTIONS_LEAST 10
/* Requests in the shortest section, and those that a 99th percentile needs. */
#define SQT_SECTION_LEAST 10
#define SQT_SECTION_P99_LEAST 100

/* What a request's time is made of: a part for each stage in the order of enum sqt_stage, then what no stage explains.
 * The means of all parts add up to the mean of the total. */
#define SQT_PARTS (SQT_STAGES + 1)

struct sqt_section {
    uint64_t count;
    struct sqt_distribution totals;
    uint64_t parts[SQT_PARTS];
};

/* A statistic and how sure it is. */
struct sqt_estimate {
    double value;   /* ns */
    double error;   /* ns; standard error */
    double freedom; /* degrees of freedom of the error; 0: too few requests to tell */
};

/* Zeroed at first, but for the set. */
struct sqt_sections {
    struct sqt_distributions *set;
    uint64_t length; /* requests in a section */
    unsigned count;
    struct sqt_section sections[SQT_SECTIONS_MOST];

    /* once finished */
    struct sqt_section all;
    struct sqt_estimate median, p99, mean, parts[SQT_PARTS];
};

/* A request of that total (ns), made of those parts (not negative). */
void sqt_sections_add(struct sqt_sections *sections, int64_t total, const int64_t *parts);

/* No more will come: makes the estimates. */
void sqt_sections_finish(struct sqt_sections *sections);

void sqt_sections_free(struct sqt_sections *sections);

enum sqt_verdict {
    SQT_VERDICT_UNKNOWN, /* too few requests in one of the traces */
    SQT_VERDICT_SAME,    /* the interval holds 0 */
    SQT_VERDICT_DIFFERENT
};

struct sqt_difference {
    double value;     /* ns, b - a */
    double low, high; /* ns, its interval; not set if it is unknown */
    enum sqt_verdict verdict;
};

/* How b differs from a.  confidence: of the interval, as 0.95. */
struct sqt_difference sqt_sections_difference(const struct sqt_estimate *a, const struct sqt_estimate *b,
                                              double confidence);

/* The value that Student's t with that many degrees of freedom (9 or more) exceeds with the given probability; within
 * 1 % of the exact one for probabilities down to 0.00001. */
double sqt_student_quantile(double probability, double freedom);

#endif
