/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blame.h - what went wrong in a request before it ended: which service, server, name server or helper failed it last.
 *
 * These end before the request does, so they are kept until then: in a table of fixed size, where a request that the trace
 * never ends is replaced by another one.
 */
#ifndef SQT_BLAME_H
#define SQT_BLAME_H

#include "model/model.h"

/* In the order in which they are blamed. */
enum sqt_blamed {
    SQT_BLAMED_SERVICE,
    SQT_BLAMED_CONNECT,
    SQT_BLAMED_TLS,
    SQT_BLAMED_NAME_SERVER,
    SQT_BLAMED_HELPER,
    SQT_BLAMED
};

struct sqt_blame {
    const struct sqt_origin *origin; /* NULL: free */
    uint64_t xact;
    unsigned failed;          /* bits of enum sqt_blamed */
    uint32_t who[SQT_BLAMED]; /* definition */
    int64_t took[SQT_BLAMED]; /* ns */
    unsigned timed_out;       /* bits of enum sqt_blamed: no answer in time */
    unsigned error;           /* of the system, of the last connect that failed; 0: not known */
    int begun;                /* 0: that connect got no socket, as the trace says errors, and there is none */
    unsigned broken;          /* the same: a helper that said so */
    int cut;                  /* a service ended in the middle of its answer */
};

struct sqt_blames {
    struct sqt_blame *table; /* NULL: nothing failed yet */
};

void sqt_blame_wait(struct sqt_blames *blames, const struct sqt_wait *wait);

/* Returns whether the attempt failed. */
int sqt_blame_attempt(struct sqt_blames *blames, const struct sqt_attempt *attempt);

/* Copies what failed in the request, and forgets it.  Returns 0 if nothing did that is known. */
int sqt_blame_take(struct sqt_blames *blames, const struct sqt_xact *xact, struct sqt_blame *blame);

/* Who that is; NULL: the trace does not name it. */
const char *sqt_blame_name(const struct sqt_blame *blame, enum sqt_blamed blamed);

void sqt_blames_free(struct sqt_blames *blames);

#endif
