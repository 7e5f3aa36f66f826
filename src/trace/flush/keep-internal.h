/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep-internal.h - the bounds on what traces take on disk.
 *
 *     keep=     closed segments of a kid       the kid's own are deleted
 *     age=      each closed segment            those of all kids of the service are deleted
 *     total=    all segments of the service    the same; with none left to delete, nothing is written
 *     reserve=  what is free on the disk       the same
 *
 * Each flusher looks after the whole service.  A flusher that has looked may write a part of its share of what is left
 * before it looks again, so kids that begin at the same time stay below the bounds, too.
 */
#ifndef SQT_KEEP_INTERNAL_H
#define SQT_KEEP_INTERNAL_H

#include "trace/leftover/leftover-internal.h"

struct sqt_limits {
    uint64_t keep;    /* bytes; 0: none */
    uint64_t total;   /* bytes; 0: a tenth of the file system, at most 10 GiB; SQT_NO_LIMIT: none */
    uint64_t reserve; /* bytes; 0: a twentieth of the file system, at most 1 GiB; SQT_NO_LIMIT: none */
    uint64_t age_ns;  /* 0: none */
};

/* Whose segments: of the leftovers' directory, service and owner. */
struct sqt_keep {
    struct sqt_leftovers *leftovers; /* their base is that of this run */
    uint32_t kid;
    uint64_t open; /* sequence of this run's segment that is being written; UINT64_MAX: none */
    struct sqt_limits limits;
};

enum sqt_shortage { SQT_ENOUGH, SQT_SHORT_OF_TOTAL, SQT_SHORT_OF_RESERVE };

/* What is left once the bounds hold. */
struct sqt_room {
    uint64_t left; /* bytes that this process may write before it looks again; 0: none; UINT64_MAX: no bound */
    uint64_t
        total; /* bytes that the traces may have: total=, or with reserve= alone the disk's size; UINT64_MAX: no limit */
    enum sqt_shortage shortage;
    uint64_t bytes;           /* of all segments of the service */
    uint64_t freed, for_disk; /* bytes that were deleted, and those of them that reserve= asked for */
    unsigned deleted;         /* segments */
    uint64_t reach_ns;        /* how long ago the oldest of those that are left was written */
};

/* Deletes the oldest closed segments, earlier runs included, until the bounds hold, and fills in room.  Of a kid, older is
 * what has the lower run number, and within a run the lower sequence; runs without a number are the oldest, by their
 * names; this run is the newest.  Between kids the time of the last write decides, as far as that agrees.  A segment that
 * is being written is left alone, and so are those of other owners; keep= also leaves alone what another living run of
 * the kid has closed.  What cannot be deleted still counts, and one line says so.  Returns how many were deleted. */
unsigned sqt_keep_apply(const struct sqt_keep *keep, struct sqt_room *room);

/* Bytes that are free on the disk beyond reserve=; UINT64_MAX without reserve=. */
uint64_t sqt_keep_spare(const struct sqt_keep *keep);

#endif
