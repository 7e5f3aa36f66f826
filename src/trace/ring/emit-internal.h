/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * emit-internal.h - the writer's end of the ring.
 */
#ifndef SQT_EMIT_INTERNAL_H
#define SQT_EMIT_INTERNAL_H

#include <pthread.h>

#include "trace/sqtrace.h"
#include "trace/clock/nap-internal.h"
#include "trace/clock/step-internal.h"

/* What the main thread needs for an event, in one cache line: nothing that another thread writes is looked at on the
 * way of an event that finds room. */
struct sqt_emitter {
    struct sqt_record *next;  /* where the next record goes, if it may go the quick way */
    struct sqt_record *quick; /* that way leads to here; NULL: nowhere, as the clock is a system call, it went back, or
                                   * records are lost */
    uint64_t last;            /* the newest record's reading of the clock, without the offset */
    struct sqt_ring_header *ring; /* NULL: nothing is traced */
    struct sqt_record *records;
    uint64_t mask;  /* capacity - 1 */
    uint64_t limit; /* head may grow to here without looking at the tail, a quarter of the ring at most; 0 while records
                      * are lost */
    uint32_t losing; /* 1 from a dropped record until its LOST record */
    uint32_t plain;  /* 0: nothing is traced, a step waits to be told, or there is an offset */

    /* what an event does not need, unless it is not plain */
    uint64_t offset;         /* ticks that are added to readings; see step-internal.h */
    struct sqt_steps *steps; /* from the flusher; NULL: none come */
    struct sqt_nap *nap;     /* of the flusher; NULL: it looks by the clock */
    int recorder;            /* the emitter moves the tail itself, over the oldest records */
#ifdef SQT_DEBUG
    pthread_t thread; /* the only one that may emit */
#endif
};

/* The hooks have no context to pass, so there is one emitter for each process.  Nobody outside libsqtrace sees it, so
 * that its members are reached without a table of addresses. */
extern struct sqt_emitter sqt_emitter __attribute__((visibility("hidden")));

/* The calling thread becomes the ring's writer.  sqt_clock is set already; header is mapped, with its magic, and nothing is in it yet. */
void sqt_emitter_attach(struct sqt_emitter *emitter, struct sqt_ring_header *header);

/* The flusher's thread: whether count more steps can wait, and one more, which the main thread tells before its next
 * event. */
int sqt_steps_room(const struct sqt_steps *steps, unsigned count);
void sqt_steps_add(struct sqt_steps *steps, const struct sqt_step *step);

/* The flusher's thread: makes the emitter look at the steps if any wait.  To be said again until they are taken, since
 * the main thread writes the same words. */
void sqt_steps_remind(struct sqt_emitter *emitter, const struct sqt_steps *steps);

/* Every later record is ignored. */
void sqt_emitter_detach(struct sqt_emitter *emitter);

/* The records of a mapped ring, and the text area. */
static inline struct sqt_record *
sqt_ring_records(const struct sqt_ring_header *header)
{
    return (struct sqt_record *)((uintptr_t)header + header->records_offset);
}

static inline char *
sqt_ring_text_area(const struct sqt_ring_header *header)
{
    return (char *)((uintptr_t)header + header->text_offset);
}

#endif
