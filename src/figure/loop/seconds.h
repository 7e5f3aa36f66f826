/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * seconds.h - samples of main threads, added up by process and second.
 */
#ifndef SQT_SECONDS_H
#define SQT_SECONDS_H

#include "pass/family.h"

#define SQT_SECOND INT64_C(1000000000) /* ns */
#define SQT_SECONDS_OPEN 256           /* processes whose present second is kept */
#define SQT_SECOND_THINGS 64           /* things told apart in a second; the others are left out */
#define SQT_THING_NAME 128

/* What the main thread was sampled at. */
struct sqt_thing {
    uint32_t activity, acl, dir;
    enum sqt_disk_op disk_call;
    uint32_t call; /* the last that it was blocked in; 0: none */
    uint64_t samples;
    int64_t parts[SQT_LOOP_PARTS]; /* ns */
};

struct sqt_loop_second {
    const struct sqt_origin *origin;
    int64_t begin;
    int64_t parts[SQT_LOOP_PARTS]; /* ns */
    int64_t throttled;             /* ns */
    int throttled_known;
    int in_pass; /* the sample before was taken in a pass, not in a wait */
    unsigned count;
    struct sqt_thing things[SQT_SECOND_THINGS];
};

struct sqt_seconds {
    void (*print)(struct sqt_job *job, struct sqt_loop_second *second); /* it is over */
    struct sqt_loop_second *open[SQT_SECONDS_OPEN];                     /* by the origin's index; NULL: none */
};

void sqt_seconds_add(struct sqt_job *job, struct sqt_seconds *seconds, const struct sqt_loop_sample_row *sample);

/* Prints and frees those that are open. */
void sqt_seconds_end(struct sqt_job *job, struct sqt_seconds *seconds);

/* All of the second that is known. */
int64_t sqt_second_known(const int64_t parts[SQT_LOOP_PARTS]);

/* "read on cache_dir 0 (ufs)", or the activity. */
const char *sqt_thing_name(const struct sqt_origin *origin, const struct sqt_thing *thing, char text[SQT_THING_NAME]);

#endif
