/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace-internal.h - one trace of this process, and the thread that makes it, writes it and removes it.
 *
 *     main thread                        the trace's thread
 *     sqt_trace_new()           ->       makes pointer file and ring          PREPARING
 *     sqt_trace_wait()          <-       waits for the next step              PREPARED
 *     sqt_trace_go()            ->       moves records to segments            RUNNING
 *     sqt_trace_ask_to_end()    ->       writes the rest, removes the ring
 *     sqt_trace_wait()          <-       has let go of everything             ENDED
 *     sqt_trace_free()
 *
 * The thread alone touches the trace directory, which may hang in any system call.  A trace is on the heap, so that one
 * whose thread hangs can be left behind, and the next one shares nothing with it.
 */
#ifndef SQT_TRACE_INTERNAL_H
#define SQT_TRACE_INTERNAL_H

#include "trace/config/config-internal.h"
#include "trace/flush/flusher-internal.h"
#include "hash-internal.h"
#include "identity-internal.h"

/* The longest that the main thread waits for a trace's thread, in nanoseconds.  Tests of other things wait longer. */
extern uint64_t sqt_patience_ns;

enum sqt_phase { SQT_PREPARING, SQT_PREPARED, SQT_RUNNING, SQT_ENDED };

struct sqt_trace {
    struct sqt_trace *next; /* the owner's list */

    /* Set by sqt_trace_new(), then unchanged; of config, the owner changes what the thread does not look at. */
    struct sqt_config config;
    struct sqt_identity who;
    uid_t owner; /* of the files */
    char base[SQT_BASE_MAX];
    char service[32];

    /* Under the mutex, which nobody holds during input or output. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum sqt_phase phase;
    int go, end; /* what the thread is asked to do */

    /* Made by the thread, and the owner's to read from SQT_PREPARED until sqt_trace_ask_to_end(). */
    char path[256]; /* of the directory, resolved */
    struct sqt_hash_key key;
    struct sqt_ring ring;

    /* Made by the thread, and the owner's to read at SQT_ENDED. */
    struct sqt_error error; /* why there was nothing to run; empty: there was */
    int complete;           /* everything is in closed segments, and the ring is gone */

    pthread_t thread;
    pid_t tid;      /* 0: not known yet */
    pid_t disk_pid; /* the process that does the thread's disk work; 0: it does it itself, or it is not known yet */
    int apart;      /* the thread has a table of descriptors of its own */
    int directory;  /* a descriptor of the thread's */
    struct sqt_flusher flusher;
    struct sqt_mailbox mailbox;
    struct sqt_sampler sampler;
};

/* Starts the thread of a new trace.  config has been checked.  others: traces of this process that were left behind,
 * whose rings are no leftovers.  Returns NULL after filling in error. */
struct sqt_trace *sqt_trace_new(const struct sqt_config *config, const struct sqt_process *process,
                                const struct sqt_trace *others, struct sqt_error *error);

/* Waits until the trace has come to that phase or a later one, or until CLOCK_MONOTONIC is until_ns.  Returns the
 * phase. */
enum sqt_phase sqt_trace_wait(struct sqt_trace *trace, enum sqt_phase phase, uint64_t until_ns);

/* From SQT_PREPARED on, once what the owner writes to the ring is there. */
void sqt_trace_go(struct sqt_trace *trace);

/* Lets the thread write what the ring holds, and end.  In any phase. */
void sqt_trace_ask_to_end(struct sqt_trace *trace);

/* At SQT_ENDED. */
void sqt_trace_free(struct sqt_trace *trace);

/* In a forked child, which has no such thread: lets go of what proves that its parent's trace lives. */
void sqt_trace_forget(struct sqt_trace *trace);

#endif
