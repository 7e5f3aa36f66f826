/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diagnose.h - one line for each thing that is wrong with a trace.
 */
#ifndef SQT_DIAGNOSE_H
#define SQT_DIAGNOSE_H

#include "read/stream.h"

/* Who hears of it.  Owned by the stream. */
struct sqt_diagnostics {
    sqt_diagnosis_function *function;
    void *context;
    unsigned problems; /* WARNINGs and ERRORs so far */
    int muted;         /* the first look at an origin says nothing; the real pass does */
};

/* The format of a message about a file, with its name and a text of the error. */
#define SQT_CANNOT_OPEN(error) \
    ((error) == EACCES ? "%s: cannot be opened: %s; run this as root, or as a user in Squid's group" \
                       : "%s: cannot be opened: %s")

/* Passes a line to the function, made safe to show, and counts it as a problem unless it is an SQT_NOTE.  The thread that
 * reads. */
void sqt_diagnose(struct sqt_diagnostics *diagnostics, enum sqt_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
