/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page-faults.h - how fast a process reads its own memory back from swap, by two samples.
 *
 * A page fault that reads from a disk may be of a program's file: it counts as swap if the machine brought back pages from
 * swap space in the same second.  One takes some 2 ms (a disk's seek and its queue), so that SQT_FAULTS_STOP fill half of a
 * second: a process that has so many may look stopped.
 */
#ifndef SQT_PAGE_FAULTS_H
#define SQT_PAGE_FAULTS_H

#include "figure/table/samples.h"

/* Page faults, and pages that the machine brought back, in a second: fewer are no matter. */
#define SQT_FAULTS 50
#define SQT_PAGES_BACK 50
/* So many page faults in a second explain that a process stands still. */
#define SQT_FAULTS_STOP 250

/* What to do about it. */
#define SQT_PAGE_FAULTS_ADVICE \
    "cache_mem: less, and smaller cache_dirs, whose index is in memory. Or more memory for Squid: MemoryMax= and " \
    "MemorySwapMax= of systemd, or fewer programs beside it."
#define SQT_PAGE_FAULTS_COMMAND "sqtrace-dump --table=samples --where='name == \"major_faults\"' TRACE"

/* A counter as it was sampled last. */
struct sqt_sampled_counter {
    const struct sqt_origin *origin; /* only compared; NULL: not sampled yet */
    int64_t at;                      /* ns of the trace */
    uint64_t value;
    double rate; /* growth in a second between the last two samples of one process; 0: not known */
};

/* Takes a sample.  Returns its rate. */
static inline double
sqt_sampled_count(struct sqt_sampled_counter *c, const struct sqt_sample_row *sample)
{
    const double seconds = (double)(sample->at - c->at) / 1e9;
    const int known = c->origin == sample->origin && sample->value >= c->value && seconds > 0;
    const double rate = known ? (double)(sample->value - c->value) / seconds : 0;
    *c = (struct sqt_sampled_counter){sample->origin, sample->at, sample->value, rate};
    return rate;
}

/* Whether that process read its own memory back from swap, fast enough to stand still, when it was sampled last.  faults: its
 * page faults that read from a disk.  pages: that the machine brought back, which one process of Squid samples for all, in
 * about the same second. */
static inline int
sqt_page_faults_stop(const struct sqt_sampled_counter *faults, const struct sqt_sampled_counter *pages,
                     const struct sqt_origin *origin)
{
    const double apart = (double)faults->at - (double)pages->at;
    return faults->origin == origin && faults->rate >= SQT_FAULTS_STOP && pages->rate >= SQT_PAGES_BACK &&
           apart < 2e9 && apart > -2e9;
}

#endif
