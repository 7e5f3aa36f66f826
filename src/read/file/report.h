/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report.h - one line for each thing that is wrong with a trace.
 */
#ifndef SQT_REPORT_H
#define SQT_REPORT_H

#include "read/stream.h"

struct sqt_reporter {
    sqt_report_function *function;
    void *context;
    unsigned problems; /* WARNINGs and ERRORs so far */
    int muted;         /* the first look at an origin says nothing; the real pass does */
};

void sqt_report(struct sqt_reporter *reporter, enum sqt_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
