/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hanging.h - what hangs when the trace ends, or now: between the files of the look `hanging`.
 *
 *     hanging.c       requests that are open, and whom they wait for; main threads that serve nobody
 *     hanging-told.c  findings
 */
#ifndef SQT_HANGING_H
#define SQT_HANGING_H

#include "figure/finding/look.h"
#include "page-faults.h"
#include "figure/loop/holders.h"
#include "figure/stat/names.h"

/* In what a request waits for somebody who has a name. */
enum sqt_hanging_part {
    SQT_HANGING_CONNECT,
    SQT_HANGING_TLS,
    SQT_HANGING_ANSWER,
    SQT_HANGING_BODY,
    SQT_HANGING_NAMES,
    SQT_HANGING_HELPER,
    SQT_HANGING_SERVICE,
    SQT_HANGING_DISK,
    SQT_HANGING_PARTS
};

/* Who is waited for. */
struct sqt_hanging_on {
    struct sqt_name_entry named;
    uint32_t series;  /* of its answers, from 1 */
    uint64_t answers; /* so far */
    int64_t longest;  /* of them, ns */
    /* requests that are open */
    uint64_t parts[SQT_HANGING_PARTS];
    uint64_t open;
    int64_t oldest;   /* since when the one waits that has waited longest */
    double waited_ns; /* by all of them */
};

/* A main thread that serves nobody. */
struct sqt_hanging_kid {
    const struct sqt_origin *origin; /* only compared; NULL: it goes on, or is not known */
    uint32_t kid, kind, pid;
    int stopped;   /* the whole process does not run */
    double faults; /* so many page faults a second read its memory from swap just before; 0: it was no matter */
    int64_t since; /* ns */
    char name[SQT_TOLD_NAME]; /* what holds it */
    uint64_t open;            /* requests */
    int64_t oldest;           /* the first of them began then */
    double waited_ns;         /* by all of them, since then */
};
#define SQT_HANGING_KIDS 256

/* Long passes of an event loop, one after the other. */
struct sqt_hanging_passes {
    const struct sqt_origin *origin; /* only compared */
    int64_t since, until;
};

struct sqt_hanging {
    struct sqt_names names; /* of struct sqt_hanging_on */
    struct sqt_when answers;
    struct sqt_hanging_kid kids[SQT_HANGING_KIDS];
    struct sqt_hanging_passes passes[SQT_HANGING_KIDS]; /* the last ones of each */
    struct sqt_sampled_counter
        faults[SQT_HANGING_KIDS];     /* page faults that read from a disk, of the last process of each */
    struct sqt_sampled_counter pages; /* that the machine brought back from swap */
    const struct sqt_origin *ended[SQT_HANGING_KIDS]; /* the last of each kid that stopped; only compared */
    char name_server[SQT_TOLD_NAME];                  /* the last that was asked; "": none */
    struct sqt_holders holders;                       /* of the event loop, by samples; with a size of 0: none yet */
    const struct sqt_origin *sampled;                 /* the process of the last sample; only compared */
    int64_t sampled_at;
    int64_t now;
};

/* hanging-told.c */
void sqt_hanging_tell(struct sqt_hanging *h, const struct sqt_look_totals *totals, struct sqt_tolds *tolds);

#endif
