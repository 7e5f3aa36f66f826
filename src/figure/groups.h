/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * groups.h - values by time group, when the length of the trace is not known beforehand.
 *
 * Groups begin narrow, the width asked for divided by a power of two, and neighbours are merged as time goes on.  A
 * trace of less than four groups of the width asked for ends with 12 to 24 narrower ones.
 */
#ifndef SQT_GROUPS_H
#define SQT_GROUPS_H

#include "distribution.h"

#define SQT_GROUP_VALUES 16
/* A group with fewer requests is not worth a median. */
#define SQT_GROUP_LEAST 10

struct sqt_time_group {
    uint64_t count; /* requests */
    struct sqt_distribution values[SQT_GROUP_VALUES];
    int64_t medians[SQT_GROUP_VALUES]; /* once closed */
    int closed;
};

struct sqt_groups {
    struct sqt_distributions set;
    unsigned value_count;
    int64_t asked;    /* ns, the width asked for */
    unsigned halvings; /* the width is asked / 2^halvings now */
    int64_t length;   /* ns, from 0 to the latest time seen */
    struct sqt_time_group **groups; /* from time 0 on; NULL: empty */
    size_t count;
    uint64_t late;    /* requests whose group was closed already */
};

void sqt_groups_init(struct sqt_groups *groups, int64_t width, unsigned value_count);

/* Adds value_count values that belong to that time (ns, not negative). */
void sqt_groups_add(struct sqt_groups *groups, int64_t time, const int64_t *values);

/* No more will come: settles the width, and closes all groups. */
void sqt_groups_finish(struct sqt_groups *groups);

/* Nanoseconds. */
static inline double
sqt_groups_width(const struct sqt_groups *groups)
{
    return (double)groups->asked / (double)(UINT64_C(1) << groups->halvings);
}

void sqt_groups_free(struct sqt_groups *groups);

#endif
