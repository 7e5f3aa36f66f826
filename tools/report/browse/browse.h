/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * browse.h - the requests that a report's page can show one by one.
 *
 *   browse.c   which requests: the slowest, those that did not complete, a sample of the rest
 *   slow.c     the slowest of each class in each slice of time
 *   sample.c   some of many, chosen by a hash
 *   text.c     a request as a line of text, for the page
 *   extras.c   what a request waited for besides: helpers, name servers, connections
 *   heat.c     how many requests took how long, over time
 *   write.c    the file that the page reads
 *
 * A job of a pass collects them:
 *
 *     struct browse *browse = browse_new();
 *     job.family = &browse_family, job.table = &sqt_tables[SQT_TABLE_requests], job.context = browse;
 *     ...
 *     browse_write(browse, path, label, start_ns, length);
 *     browse_free(browse);
 */
#ifndef SQT_REPORT_BROWSE_H
#define SQT_REPORT_BROWSE_H

#include "pass/family.h"

struct browse;

extern const struct sqt_family browse_family;

struct browse *browse_new(void);

/* What is written: a script that hands its data to browse.js.  start_ns: wall time of the start of the trace.  Returns 0,
 * or an errno. */
int browse_write(struct browse *browse, const char *path, const char *label, uint64_t start_ns, int64_t length);

void browse_free(struct browse *browse);

/* How many requests the page has, and of how many. */
struct browse_counts {
    uint64_t all, shown;
};
struct browse_counts browse_counts(const struct browse *browse);

#endif
