/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * series.h - label sets and their values: a bounded number of series, and one label set of each family for the others.
 *
 * A label set has a value, or a histogram, for each metric of its family.  When there is no room for another one, its
 * rows go to the label set whose labels are all "other".  Label sets that have none of their own are counted by a sketch
 * of bounded size.  One that comes to have twice as many rows as the rarest one takes the place of that.  What is dropped
 * so takes its past with it, and "other" does not get it: so rate() sees each row once, and no jump.
 *
 * One thread.  Values are integers: nanoseconds, bytes, counts.
 */
#ifndef SQT_EXPORTER_SERIES_H
#define SQT_EXPORTER_SERIES_H

#include <stdio.h>

#include "metrics.h"

#define EXPORT_BOUNDS_MOST 32
#define EXPORT_OTHER "other"

/* The row that a bucket saw last. */
struct export_exemplar {
    uint8_t ring[16]; /* identity of the ring */
    uint32_t kid;
    uint64_t xid;
    int64_t value;   /* ns */
    int64_t wall_ns; /* since 1970; 0: there is none */
};

struct export_bucket {
    uint64_t count; /* of this bucket alone */
    struct export_exemplar exemplar;
};

struct export_histogram {
    uint64_t count;
    int64_t sum; /* ns */
    struct export_bucket buckets[EXPORT_BOUNDS_MOST + 1];
};

/* A label set and its values. */
struct export_child {
    struct export_child *chain, *next; /* of the same chain; of the family */
    enum export_family family;
    uint64_t hash;                    /* of family and labels */
    char *labels[EXPORT_LABELS_MOST]; /* "" is not printed */
    uint64_t hits;                    /* rows, of late */
    const struct sqt_origin *origin;  /* whose gauges and samples these are; NULL: nobody's */
    int64_t sampled;                  /* when the latest sample that is in it was made; ns, as in sqt_sample_row */
    uint32_t seen;                    /* slots that were set */
    uint32_t known;                   /* slots whose `before` holds */
    int64_t values[EXPORT_SLOTS_MOST];
    uint64_t before[EXPORT_SLOTS_MOST];
    struct export_histogram *histogram; /* NULL: the family has none */
};

struct export_rules {
    int64_t bounds[EXPORT_BOUNDS_MOST]; /* ns, the upper ends of buckets */
    unsigned bound_count;
    unsigned top;    /* label sets of a family of the form TOP */
    unsigned series; /* most series */
};

struct export_series;

/* A hash of a label set of that family. */
uint64_t export_labels_hash(enum export_family family, const char *const *labels, unsigned count);

/* The rules are copied. */
struct export_series *export_series_new(const struct export_rules *rules);
void export_series_free(struct export_series *series);

/* The label set of these labels (as many as the family has; a missing one is "").  Never NULL. */
struct export_child *export_series_get(struct export_series *series, enum export_family family,
                                       const char *const *labels);

/* Whether its labels are "other". */
int export_series_is_other(const struct export_series *series, const struct export_child *child);

/* Adds to a counter; a sum stops at the largest number. */
void export_series_add(struct export_child *child, enum export_metric metric, int64_t value);
/* Sets a gauge, or an own counter. */
void export_series_set(struct export_child *child, enum export_metric metric, int64_t value);
/* Adds to a gauge that starts at 0 when its family is cleared. */
void export_series_raise(struct export_child *child, enum export_metric metric, int64_t value);
/* Raises a gauge to that value, if it is lower. */
void export_series_most(struct export_child *child, enum export_metric metric, int64_t value);
/* All values of a family are 0, and its label sets stay. */
void export_series_zero(struct export_series *series, enum export_family family);
/* Drops all label sets of a family. */
void export_series_clear(struct export_series *series, enum export_family family);
/* Adds what a sampled counter of that origin grew since its sample before. */
void export_series_grow(struct export_child *child, enum export_metric metric, const struct sqt_origin *origin,
                        uint64_t value);
/* Adds a duration to the histogram; exemplar: where it is from, NULL: not told. */
void export_series_observe(struct export_series *series, struct export_child *child, int64_t ns,
                           const struct export_exemplar *exemplar);

/* The origin has ended: its gauges are told no more. */
void export_series_end(struct export_series *series, const struct sqt_origin *origin);

/* Rows of long ago count half; call it every few minutes. */
void export_series_age(struct export_series *series);

/* Series that there are now, and rows that went to "other". */
unsigned export_series_count(const struct export_series *series);
uint64_t export_series_others(const struct export_series *series);

/* Prints all: open: as OpenMetrics, else as Prometheus' text format. */
void export_print(const struct export_series *series, int open, FILE *to);

/* For export_print(): the label sets of a family, in a list, and the one for others, NULL if no row went there. */
const struct export_child *export_series_first(const struct export_series *series, enum export_family family);
const struct export_child *export_series_other(const struct export_series *series, enum export_family family);
const struct export_rules *export_series_rules(const struct export_series *series);

#endif
