/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures.h - requests that failed, by what they failed at: between failures.c, which counts them, and failures-told.c.
 */
#ifndef SQT_FAILURES_H
#define SQT_FAILURES_H

#include "figure/stat/names.h"
#include "figure/finding/look.h"

/* In the order of the rows of failures-told.c. */
enum sqt_failed_at {
    SQT_FAILED_SERVICE,
    SQT_FAILED_CONNECT,
    SQT_FAILED_TLS,
    SQT_FAILED_LOOK_UP,
    SQT_FAILED_HELPER,
    SQT_FAILED_ANSWER,
    SQT_FAILED_NO_SERVER,
    SQT_FAILED_BY_SERVER, /* which itself answered with an error */
    SQT_FAILED_ATS
};

/* Requests that failed at one of them. */
struct sqt_failure {
    struct sqt_name_entry named; /* its number, a space, and the name of whom they failed at, if it is known */
    enum sqt_failed_at at;
    uint32_t series;
    uint64_t made, kept; /* new connections to a server, and uses of kept ones, of up to a minute before the first */
    int64_t made_since;
    uint64_t count, felt;        /* felt: ns that their clients waited */
    uint64_t timed_out, at_once; /* of them, where there was no answer in time, and where it failed at once */
    uint64_t connected;          /* connections to it since the first of them, or since others' failed at once */
};

/* Series of sums by time: all requests, those whose connections failed at once, and each failure's from there on. */
enum { SQT_FAILURES_ALL = 1, SQT_FAILURES_AT_ONCE, SQT_FAILURES_SERIES };

struct sqt_failed_requests {
    struct sqt_names names; /* of struct sqt_failure */
    struct sqt_when when;
    struct sqt_failure at_once; /* all together whose connections failed at once */
    uint64_t requests;
};

/* failures-told.c: adds a finding for each that matters. */
void sqt_failures_tell(struct sqt_failed_requests *failed, struct sqt_tolds *tolds);

#endif
