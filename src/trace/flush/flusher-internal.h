/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flusher-internal.h - moves records from the ring to segments.
 */
#ifndef SQT_FLUSHER_INTERNAL_H
#define SQT_FLUSHER_INTERNAL_H

#include "trace/clock/clock-internal.h"
#include "trace/config/config-internal.h"
#include "trace/clock/heartbeat-internal.h"
#include "keep-internal.h"
#include "trace/leftover/leftover-internal.h"
#include "trace/file/message-internal.h"
#include "trace/ring/ring-internal.h"
#include "trace/sample/sampler-internal.h"
#include "trace/segment/segment-internal.h"
#include "trace/clock/step-internal.h"
#include "trace/watch/watch-internal.h"

/* What may change while it runs. */
struct sqt_flusher_settings {
    uint64_t segment;         /* bytes after which a new one begins; 0: not said */
    uint64_t default_segment; /* then these, or less where total= is small */
    uint64_t every_ns;        /* time after which a new one begins; 0: never */
    struct sqt_limits limits;
    enum sqt_compression compression;
    int sample; /* whether group sample is on */
    int loop;   /* whether group loop is */
};

struct sqt_flusher {
    /* given by the owner, unchanged while the thread runs */
    struct sqt_ring_header *ring;
    const char *service;
    uint32_t kid;
    const char *base;
    int recorder; /* writes nothing: the emitter overwrites the oldest records */
    struct sqt_leftovers leftovers;
    struct sqt_mailbox *mailbox;
    struct sqt_sampler *sampler;

    /* shared without a lock */
    struct sqt_steps steps;

    /* shared, under the mutex, which nobody holds during input or output */
    pthread_mutex_t mutex;
    struct sqt_flusher_settings settings;
    int stop, rotate;
    char file[SQT_NAME_MAX]; /* being written; empty: none */
    char stalled[256];       /* why nothing can be written; empty: it can */
    char stalled_last[256];  /* the same of the last time, also if it can again */
    unsigned stalls;         /* how often it could not */

    struct sqt_heartbeat heartbeat;
    struct sqt_watch watch;
    struct sqt_nap nap;

    /* the thread's own */
    struct sqt_segment_writer writer;
    struct sqt_flusher_settings now; /* settings of this round */
    struct sqt_clock_rate rate;
    struct sqt_clock_watch clocks;
    struct sqt_anchor stepped; /* after the last step that hides durations */
    unsigned untold;           /* such steps whose CLOCK_STEP record was not met yet */
    uint64_t step_end;         /* records before this one may be from both sides of a step */
    struct sqt_anchor from;    /* the next block's */
    uint64_t flushed_ns;       /* CLOCK_MONOTONIC when the ring was empty last */
    uint64_t next_sequence;
    uint64_t leftovers_due_ns;  /* when to look again; UINT64_MAX: never */
    uint64_t leftovers_wait_ns; /* between that look and the one after it */
    struct sqt_room room;       /* what is left to write, by the last look at the directory */
    struct {
        uint64_t most;      /* bytes of all segments, the most since it was last told */
        uint64_t shrunk_ns; /* CLOCK_MONOTONIC of when reserve= deleted last */
        int told;           /* of this episode */
    } history;              /* what others leave of it on the disk, see room.c */
    uint64_t roomed_ns;     /* CLOCK_MONOTONIC of that look, or of one at what is free */
    uint64_t kept_ns;       /* CLOCK_MONOTONIC of when the bounds were applied last */
    uint64_t opened_ns;     /* CLOCK_MONOTONIC of when the segment was begun */
    size_t enough;          /* records that are worth a block at once */
    uint64_t period_ns;     /* between looks at the ring, without timers */
};

/* ---- the owner ---- */

/* The part that is shared.  sqt_flusher_destroy() releases what this makes. */
void sqt_flusher_init(struct sqt_flusher *flusher, const struct sqt_config *config);
void sqt_flusher_destroy(struct sqt_flusher *flusher);

/* Applies segment, every, the bounds, compress and the groups. */
void sqt_flusher_configure(struct sqt_flusher *flusher, const struct sqt_config *config);
void sqt_flusher_rotate(struct sqt_flusher *flusher);
void sqt_flusher_ask_to_end(struct sqt_flusher *flusher);

/* ---- the thread ---- */

/* The thread's own part, once all that is given is filled in.  Returns 0, or -1 without memory. */
int sqt_flusher_open(struct sqt_flusher *flusher, int directory, uid_t owner);
void sqt_flusher_close(struct sqt_flusher *flusher);

/* Writes what comes, until it is asked to end, and then what the ring holds.  Returns whether everything is in closed
 * segments; else the disk did not take it. */
int sqt_flusher_run(struct sqt_flusher *flusher);

#endif
