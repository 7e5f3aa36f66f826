/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * distribution.h - values whose median and percentiles are wanted.
 *
 * Values are kept as long as those of all distributions of a set fit its budget; then all of them become histograms
 * of 512 buckets an octave, whose middles are at most 0.1 % off.  Where a set has a bound for octaves, the buckets of all its
 * histograms become twice as wide, and half as many, whenever there are too many octaves.
 *
 * Values of 0 are only counted.
 *
 * Histograms of large traces are larger than a processor's caches, and nearly every value has another bucket: so it is
 * fetched when the value comes, and counted when the next one does.
 */
#ifndef SQT_DISTRIBUTION_H
#define SQT_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

/* Values are below 2^63 and not negative (a negative one counts as 0). */
#define SQT_OCTAVES 56
#define SQT_OCTAVE_BITS 9
#define SQT_OCTAVE_BUCKETS (1 << SQT_OCTAVE_BITS)
/* Values that there is room for at first. */
#define SQT_FIRST_ROOM 16

struct sqt_distribution {
    uint64_t count; /* of all values */
    uint64_t zeros; /* of these: values of 0, which are in neither `values` nor `octaves` */
    uint64_t sum;
    int64_t max;
    int64_t *values; /* count - zeros of them, room for `room`; exact mode */
    size_t room;
    int sorted;
    unsigned halvings;                        /* as the set's */
    uint32_t **octaves;                       /* NULL in exact mode; an octave is NULL until it is needed */
    uint32_t *waiting;                        /* bucket of the last value, not counted yet; NULL: there is none */
    struct sqt_distribution *next, *previous; /* of the set */
};

struct sqt_distributions {
    size_t budget; /* values */
    size_t room;   /* values that there is room for */
    int coarse;    /* they are histograms now */
    size_t octaves_most,
        octaves;       /* octaves of 512 buckets that they may take the memory of, 0: any; those that there are */
    unsigned halvings; /* how often buckets became twice as wide: each doubles the 0.1 % */
    struct sqt_distribution *first;
};

/* Values of d that must be kept, or be in buckets. */
static inline uint64_t
sqt_distribution_kept(const struct sqt_distribution *d)
{
    return d->count - d->zeros;
}

/* Whether the budget has room for one value more of d, if it must have. */
static inline int
sqt_distribution_fits(const struct sqt_distributions *set, const struct sqt_distribution *d)
{
    return sqt_distribution_kept(d) < d->room || set->coarse ||
           set->room + (d->room ? d->room : SQT_FIRST_ROOM) <= set->budget;
}

/* Adds a value above 0. */
void sqt_distribution_put(struct sqt_distributions *set, struct sqt_distribution *d, int64_t value);

/* Adds a value.  d is zeroed at first, and belongs to the set from then on, until sqt_distribution_drop. */
static inline void
sqt_distribution_add(struct sqt_distributions *set, struct sqt_distribution *d, int64_t value)
{
    if (value > 0) {
        sqt_distribution_put(set, d, value);
        return;
    }
    ++d->count;
    ++d->zeros;
}

/* The value of rank ceil(count * per_mille / 1000), counted from 1; 0 if there is none. */
int64_t sqt_distribution_quantile(struct sqt_distribution *d, unsigned per_mille);

/* The middle value, or the mean of the two in the middle. */
int64_t sqt_distribution_median(struct sqt_distribution *d);

/* What is printed of a distribution.  All 0 if it has no values. */
struct sqt_spread {
    uint64_t count;
    int64_t p50, p75, p90, p99, max, mean; /* p50 is the median; the mean is rounded down */
};
struct sqt_spread sqt_distribution_spread(struct sqt_distribution *d);

/* How many values are not above that one, which is not negative; exact for a histogram, too, where it is the upper end of
 * a bucket. */
uint64_t sqt_distribution_upto(struct sqt_distribution *d, int64_t value);

/* The buckets of an octave of a histogram, without the values of 0; NULL if there is nothing in them.  Of a set without a bound
 * for octaves. */
const uint32_t *sqt_distribution_octave(struct sqt_distribution *d, unsigned octave);

/* Adds all values of `from` to `into`, both of the set, and leaves those of `from` as they are. */
void sqt_distribution_add_all(struct sqt_distributions *set, struct sqt_distribution *into,
                              struct sqt_distribution *from);

/* Moves all values of `from` into `into`; both belong to the set. */
void sqt_distribution_merge(struct sqt_distributions *set, struct sqt_distribution *into,
                            struct sqt_distribution *from);

/* Forgets the values. */
void sqt_distribution_drop(struct sqt_distributions *set, struct sqt_distribution *d);

#endif
