/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * again.h - work that is done more than once, though each time is quick: between again.c, which counts it, and
 * again-told.c.
 */
#ifndef SQT_AGAIN_H
#define SQT_AGAIN_H

#include "figure/finding/look.h"
#include "figure/stat/names.h"
#include "figure/stat/sparse.h"

enum sqt_again_kind {
    SQT_AGAIN_UNCHANGED, /* revalidations that change nothing */
    SQT_AGAIN_CONNECTED, /* new connections, where one was free shortly before */
    SQT_AGAIN_CLOSED,    /* tries on kept connections that servers close */
    SQT_AGAIN_MISSED,    /* misses of what was a hit before */
    SQT_AGAIN_ASKED,     /* clients that are asked who they are */
    SQT_AGAINS
};

struct sqt_again_sum {
    uint64_t count, ns;
};

/* The name of servers that have none in the trace. */
#define SQT_AGAIN_UNNAMED "servers"

/* Requests that may be under way at a time, and still be seen to follow another one. */
#define SQT_AGAIN_ENDS 32

struct sqt_again_server {
    struct sqt_name_entry named;
    struct sqt_again_sum sums[SQT_AGAINS];
    int64_t ends[SQT_AGAIN_ENDS]; /* of its last requests, a ring; 0: none */
    unsigned end_count;
};

#define SQT_AGAIN_OBJECTS 65536

struct sqt_again {
    struct sqt_again_sum sums[SQT_AGAINS];
    struct sqt_names servers; /* of struct sqt_again_server */
    struct sqt_when when;     /* series 1: all requests; then each kind's */
    uint64_t requests;
    uint64_t changed;                  /* revalidations that brought a new reply */
    uint64_t asked_server, reused;     /* requests that got a server connection, and those that got a kept one */
    uint64_t accepted;                 /* connections of clients */
    uint64_t purged;                   /* requests that removed an object (PURGE) */
    uint64_t connect_ns, handshake_ns; /* of new connections where a kept one was free before */
    struct sqt_sparse hits; /* SQT_AGAIN_OBJECTS numbers of objects that were hits, by their hashes: a new one takes the
                             * place of another */
};

void sqt_again_tell(struct sqt_again *again, const struct sqt_look_totals *totals, struct sqt_tolds *tolds);

#endif
