/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * live-internal.h - between the files of findings of a running Squid.
 *
 *     live.c   windows: who is told of what the model hands out
 *     ask.c    the copy of the process that looks for findings
 *     track.c  which findings are new, change and end
 */
#ifndef SQT_LIVE_INTERNAL_H
#define SQT_LIVE_INTERNAL_H

#include <sys/types.h>

#include "live.h"
#include "pass/family.h"
#include "read/follow.h"

struct sqt_live_window {
    int on;
    struct sqt_job job; /* of table `findings` */
};

/* As many as a stream keeps, and some more. */
#define SQT_LIVE_ENDED (2 * SQT_FOLLOW_ENDED)

struct sqt_live {
    struct sqt_consumer own, consumer;
    const struct sqt_where *where;
    struct sqt_model *model;
    struct sqt_live_window windows[2]; /* the older one first */
    int64_t latest;                    /* ns; time of the last record */
    struct {
        const struct sqt_origin *origin; /* only compared; NULL: none */
        int64_t at;                      /* ns */
    } ended[SQT_LIVE_ENDED];             /* origins that are kept after their end */
    unsigned ended_next;
    int alone; /* only the older window is told: this is the copy */

    /* ask.c */
    pid_t copy;          /* 0: none */
    int64_t asked, took; /* CLOCK_MONOTONIC, ns: when it was made last, and how long it lived; 0: never */
    int64_t from;        /* ns; when its window began */
    int pipe;            /* what it found comes from here */
    unsigned char *bytes;
    size_t received;
    struct sqt_live_finding found[SQT_LIVE_MOST];
    unsigned count;
};

/* ask.c: ends the copy, if there is one. */
void sqt_live_stop(struct sqt_live *live);

#endif
