/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ceiling.h - whether things that are under way together share something that is full: however many there are at once,
 * together they bring no more.
 *
 * What a thing brings (its bytes, or itself) is spread evenly over the time that it takes.  So each window has what all
 * bring in it, and the time that they take together, which is how many there are at once.  In the third of the busy windows
 * with most at once there are many more than in the third with fewest.  If they bring hardly more, that is a ceiling; if
 * each had a rate of its own, they would bring more in the same proportion.
 */
#ifndef SQT_CEILING_H
#define SQT_CEILING_H

#include <stdint.h>

struct sqt_ceiling_window;

struct sqt_ceiling {
    struct sqt_ceiling_window *windows; /* NULL: nothing yet */
    unsigned count;                     /* that there is room for */
    double width;                       /* of a window, ns */
};

/* Means over a third of the busy windows. */
struct sqt_ceiling_mean {
    double at_once, rate; /* rate: what they bring in a second */
};

/* A thing that takes from there to there (ns of the trace, until > from >= 0), and brings so much. */
void sqt_ceiling_add(struct sqt_ceiling *ceiling, int64_t from, int64_t until, double brings);

/* Whether there is one, after the last sqt_ceiling_add(): *few and *many are then the third with fewest at once, and the one
 * with most. */
int sqt_ceiling_is_reached(struct sqt_ceiling *ceiling, struct sqt_ceiling_mean *few, struct sqt_ceiling_mean *many);

void sqt_ceiling_free(struct sqt_ceiling *ceiling);

#endif
