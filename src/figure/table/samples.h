/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * samples.h - resource samples by time group, for the figures that are made of them.
 *
 * For each value a group has a sum and a weight: of a counter, by how much it grew and in how many nanoseconds; of a
 * gauge, its values and how many they are.  What a counter grew between two samples goes to the group of the second.
 */
#ifndef SQT_SAMPLES_H
#define SQT_SAMPLES_H

#include "figure/stat/time-groups.h"

#define SQT_SOURCE_NAME 48

/* Sources that are told apart, whatever a trace names. Each takes some 2 KB. The groups of all share a room: 64 MiB,
 * or 6 MiB in a pass of many. */
#define SQT_SAMPLED_MOST 2048

/* What is sampled by one kid of one source. */
struct sqt_sampled_source {
    struct sqt_sampled_source *next, *same; /* in the order of output; with the same hash */
    const struct sqt_origin *origin;
    char name[SQT_SOURCE_NAME];    /* as in the column `source` */
    struct sqt_time_groups groups; /* sums: SQT_SUM_OF and SQT_WEIGHT_OF each value */
    struct {
        int64_t at;
        uint64_t value;
        int known;
    } before[SQT_SAMPLES]; /* of counters */
};

/* All sources of a figure. */
struct sqt_sampled {
    struct sqt_sampled_source *sources; /* after sqt_sampled_finish() by kid, name and begin */
    struct sqt_sampled_source *hashed[SQT_SAMPLED_MOST];
    unsigned count;
    int64_t left;    /* bytes that groups may still take */
    uint64_t beyond; /* samples of sources beyond SQT_SAMPLED_MOST */
};

#define SQT_SUM_OF(value) (2 * (value))
#define SQT_WEIGHT_OF(value) (2 * (value) + 1)

/* Splits the text of a sample into its source, which is copied to name, and its number in samples.def, which is
 * SQT_SAMPLES if this program does not know it.  Returns the name of the value. */
const char *sqt_sample_split(const struct sqt_sample_row *sample, char *source, enum sqt_sample_value *what);

/* Adds a sample of that kind of source, if the job wants it; makes *sampled if it is NULL.  merge: samples of different runs
 * of a kid are one, and --where, which is about requests then, does not pick among them. */
void sqt_sampled_add(struct sqt_sampled **sampled, struct sqt_job *job, const struct sqt_sample_row *sample,
                     enum sqt_sample_source kind, int merge);

/* Settles the groups of all, and sorts them.  Says if there were too many.  NULL is allowed, and so it is below. */
void sqt_sampled_finish(struct sqt_sampled *sampled, struct sqt_job *job);
void sqt_sampled_free(struct sqt_sampled *sampled);

static inline const struct sqt_sampled_source *
sqt_sampled_first(const struct sqt_sampled *sampled)
{
    return sampled ? sampled->sources : NULL;
}

#endif
