/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * track.h - which findings of a running Squid are new, change and end.
 *
 * A finding is known by cause and culprit.  It ends when it has not been found for SQT_TRACK_GONE ns: one that comes and goes
 * is one finding.  It has changed when its pattern has, or when its waiting or failures have doubled since it was told.
 */
#ifndef SQT_TRACK_H
#define SQT_TRACK_H

#include "live.h"

#define SQT_TRACK_GONE INT64_C(5000000000)
#define SQT_TRACK_MOST (4 * SQT_LIVE_MOST)

enum sqt_track_state { SQT_TRACK_BEGINS, SQT_TRACK_CHANGES, SQT_TRACK_ENDS, SQT_TRACK_STATES };
extern const char *const sqt_track_state_names[SQT_TRACK_STATES]; /* of column `state` */

struct sqt_track {
    struct sqt_tracked *all[SQT_TRACK_MOST];
    unsigned count;
};

/* Takes what was found at that time.  Calls for each finding that is new, has changed or has ended; its since is that of when it was
 * new, and its rank 0 when it has ended. */
void sqt_track_take(struct sqt_track *track, const struct sqt_live_finding *found, unsigned count, int64_t now,
                    void (*tell)(void *context, const struct sqt_live_finding *finding, enum sqt_track_state state),
                    void *context);

/* Findings of that cause that last until now (pattern `since`) are as if they had been found at that time. */
void sqt_track_hold(struct sqt_track *track, const char *cause, int64_t now);

void sqt_track_free(struct sqt_track *track);

#endif
