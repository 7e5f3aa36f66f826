/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * peak.h - values of the busiest window of a trace, found in one pass.
 *
 * Time is cut into slots of a twelfth of the window.  Of the newest slots, two windows long, values are kept; when a
 * slot is too old for more, the window that it begins is compared with the busiest one so far.  How busy a window is
 * says the number of all requests that began in it, whatever the figure is about; of equals the earliest wins.  A trace
 * that is shorter than a window is one.
 */
#ifndef SQT_PEAK_H
#define SQT_PEAK_H

#include "base/distribution.h"
#include "pass/family.h"

#define SQT_PEAK_SLOTS 12
#define SQT_PEAK_OPEN (2 * SQT_PEAK_SLOTS)

struct sqt_peak {
    struct sqt_distributions set;
    unsigned value_count;
    int64_t base;   /* ns, where the first slot begins */
    int64_t width;  /* ns, of the window */
    uint64_t first; /* oldest slot that is open */
    uint64_t end;   /* behind the newest slot seen */
    struct sqt_peak_slot {
        uint64_t requests;
        struct sqt_distribution *values; /* NULL: none */
    } slots[SQT_PEAK_OPEN];              /* slot i at i % SQT_PEAK_OPEN */
    uint64_t late;                       /* values that came when their slot was not open any more */

    /* the busiest window so far */
    int found;
    uint64_t best_first, best_requests;
    struct sqt_distribution *best;
};

void sqt_peak_init(struct sqt_peak *peak, const struct sqt_job *job, unsigned value_count);

/* A request began at that time. */
void sqt_peak_request(struct sqt_peak *peak, int64_t time);

void sqt_peak_add(struct sqt_peak *peak, int64_t time, unsigned which, int64_t value);

/* No more will come.  The values of the window stand in peak->best; tells which it is. */
void sqt_peak_finish(struct sqt_peak *peak, struct sqt_job *job);

void sqt_peak_free(struct sqt_peak *peak);

#endif
