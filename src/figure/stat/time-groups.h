/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * time-groups.h - counts and values by time group, when the length of the trace is not known beforehand.
 *
 * Groups begin narrow, the width asked for divided by a power of two, and neighbours are merged as time goes on.  A
 * trace of less than four groups of the width asked for ends with 12 to 24 narrower ones.
 *
 * Values are exact as long as all of them fit the budget.  Beyond it only the newest groups stay open: what comes later
 * for an older one is left out and counted; and when those do not fit either, their values are histograms.  Counts are
 * exact always.  Groups take bytes of a room that is set; what begins in one for which there is none is left out.
 */
#ifndef SQT_TIME_GROUPS_H
#define SQT_TIME_GROUPS_H

#include "base/distribution.h"
#include "pass/family.h"

/* A group with fewer values is not worth a median. */
#define SQT_GROUP_LEAST 10

struct sqt_group_value {
    union {
        struct sqt_distribution values;
        struct sqt_spread spread; /* once closed */
    };
};

struct sqt_time_group {
    int closed;
    struct sqt_group_value *values; /* value_count */
    uint64_t sums[];                /* sum_count */
};

struct sqt_time_groups {
    struct sqt_distributions set;
    unsigned sum_count, value_count;
    int64_t base;                   /* ns, where the first group begins */
    int64_t asked;                  /* ns, the width asked for */
    unsigned halvings;              /* the width is asked / 2^halvings now */
    int64_t length;                 /* ns, from the base to the end of what is asked for; known at the end */
    struct sqt_time_group **groups; /* NULL: empty */
    size_t count;
    size_t rooms;       /* of groups */
    size_t closed;      /* groups before this one are closed */
    int64_t own, *left; /* bytes that groups may still take; &own, or shared with others */
    size_t each;        /* bytes of what its user keeps for each group, used or not */
    uint64_t late;      /* values whose group was closed already */
    uint64_t beyond;    /* times for which there is no group */

    /* the group found last */
    size_t near;
    int64_t near_from, near_until;
};

/* Values kept before they become histograms: 4 MiB. */
#define SQT_GROUP_BUDGET ((size_t)1 << 19)

/* For the time and the width that the job asks for. */
void sqt_time_groups_init(struct sqt_time_groups *groups, const struct sqt_job *job, unsigned sum_count,
                          unsigned value_count);

/* It takes its bytes from there, and for each group as many more. */
void sqt_time_groups_share(struct sqt_time_groups *groups, int64_t *left, size_t each);

/* Groups become as wide as was asked for, however short the trace may be. */
void sqt_time_groups_widen(struct sqt_time_groups *groups);

/* The group of that time (ns); NULL if there can be none. */
struct sqt_time_group *sqt_time_groups_at(struct sqt_time_groups *groups, int64_t time);

/* Adds a value to the group. */
void sqt_time_groups_add(struct sqt_time_groups *groups, struct sqt_time_group *group, unsigned which, int64_t value);

/* No more will come: settles the width by the length of the trace, and closes all groups. */
void sqt_time_groups_finish(struct sqt_time_groups *groups, const struct sqt_job *job);

/* Tells how wide the groups are, whether values are exact, and what came too late. */
void sqt_time_groups_note(const struct sqt_time_groups *groups, struct sqt_job *job);

/* Nanoseconds. */
static inline double
sqt_time_groups_width(const struct sqt_time_groups *groups)
{
    return (double)groups->asked / (double)(UINT64_C(1) << groups->halvings);
}

/* The first nanosecond of a group, since the base. */
int64_t sqt_time_groups_begin(const struct sqt_time_groups *groups, size_t index);

/* Middle of the group, ns since the start of the trace. */
int64_t sqt_time_groups_middle(const struct sqt_time_groups *groups, size_t index);

/* How much of the group the trace covers, ns. */
int64_t sqt_time_groups_covered(const struct sqt_time_groups *groups, size_t index);

void sqt_time_groups_free(struct sqt_time_groups *groups);

#endif
