/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flusher-internal.h - the thread that moves records from the ring to segments.
 */
#ifndef SQT_FLUSHER_INTERNAL_H
#define SQT_FLUSHER_INTERNAL_H

#include "clock-internal.h"
#include "heartbeat-internal.h"
#include "leftover-internal.h"
#include "message-internal.h"
#include "ring-internal.h"
#include "sampler-internal.h"
#include "segment-internal.h"
#include "step-internal.h"

/* What may change while it runs. */
struct sqt_flusher_settings {
    uint64_t segment; /* bytes */
    uint64_t keep;    /* bytes; 0: no bound */
    enum sqt_compression compression;
    int sample;       /* whether group sample is on */
};

struct sqt_flusher {
    /* given by the owner, unchanged while the thread runs */
    struct sqt_ring_header *ring;
    const char *service;
    uint32_t kid;
    const char *base;
    struct sqt_leftovers leftovers;
    struct sqt_mailbox *mailbox;
    struct sqt_sampler *sampler;

    /* shared without a lock */
    struct sqt_steps steps;

    /* shared, under the mutex, which nobody holds during input or output */
    pthread_mutex_t mutex;
    pthread_cond_t wake, ended;
    struct sqt_flusher_settings settings;
    int stop, rotate;
    int done;                /* the thread is about to end */
    int complete;            /* everything was written and the last segment closed */
    char file[SQT_NAME_MAX]; /* being written; empty: none */
    char stalled[128];       /* why nothing can be written; empty: it can */

    struct sqt_heartbeat heartbeat;

    /* the thread's own */
    pthread_t thread;
    struct sqt_segment_writer writer;
    struct sqt_flusher_settings now; /* settings of this round */
    struct sqt_clock_rate rate;
    struct sqt_clock_watch watch;
    struct sqt_anchor stepped;       /* after the last step that hides durations */
    unsigned untold;                 /* such steps whose CLOCK_STEP record was not met yet */
    uint64_t step_end;               /* records before this one may be from both sides of a step */
    struct sqt_anchor from;          /* the next block's */
    uint64_t flushed_ns;             /* CLOCK_MONOTONIC when the ring was empty last */
    uint64_t next_sequence;
    uint64_t leftovers_due_ns;       /* when to look again; UINT64_MAX: never */
    size_t enough;                   /* records that are worth a block at once */
    uint64_t period_ns;              /* between looks at the ring */
};

/* Starts the thread.  All but the shared and the thread's own part is filled in, and settings.  Returns 0, or -1 with
 * errno. */
int sqt_flusher_start(struct sqt_flusher *flusher, int directory, uid_t owner);

void sqt_flusher_configure(struct sqt_flusher *flusher, const struct sqt_flusher_settings *settings);
void sqt_flusher_rotate(struct sqt_flusher *flusher);

/* Lets it write what the ring holds, and ends it.  Returns 0 if everything is in segments; 1 if the disk did not take
 * it in time; -1 if the thread hangs in the file system and still uses the ring. */
int sqt_flusher_stop(struct sqt_flusher *flusher);

#endif
