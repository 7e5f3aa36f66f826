/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follow.h - a stream that goes on: it hands out what running processes write, soon after they write it.
 *
 *     stream = sqt_stream_open(paths, count, report, context);
 *     sqt_stream_follow(stream, &following);
 *     while (!stop) {
 *         while (sqt_stream_next(stream, &run))
 *             ...;
 *         sqt_stream_wait(stream, 100);
 *     }
 *     sqt_stream_unfollow(stream);
 *     while (sqt_stream_next(stream, &run))
 *         ...;
 *     sqt_stream_close(stream);
 *
 * First comes all that the trace has, as without following.  Then sqt_stream_next returns 0 where there is nothing more
 * now.  Records come from the rings, and from segments if the reader is slower than the flusher.  Processes that start,
 * and segments that are new, are found in the directories that were opened.
 *
 * Records of several processes come in the order of time.  So the latest SQT_FOLLOW_BACK_MS are held back: a process may
 * still be about to publish a record that is earlier.  Three kinds of records may be earlier than what others have handed
 * out: the first ones of a process that is new, which takes up to 0.3 s to be found; what is lost in a block that is
 * never completed, which is known at the end of its process; and records for which there was no memory, because more than
 * 48 processes wrote as much as a block has at a time.
 *
 * Memory does not grow: it is bounded by the processes that run, the files that are there, and SQT_FOLLOW_ENDED processes
 * that have ended.  What is wrong on the way is reported as by any stream, and reading goes on.  All of it belongs to one
 * thread.
 */
#ifndef SQT_FOLLOW_H
#define SQT_FOLLOW_H

#include "stream.h"

/* How long records are held back. */
#define SQT_FOLLOW_BACK_MS 50
/* Origins that have ended and are kept, because what is open in others may refer to them. */
#define SQT_FOLLOW_ENDED 16

/* Whom a stream tells of origins; each function may be NULL, and is called within sqt_stream_next. */
struct sqt_following {
    void *context; /* of the functions */
    /* All records of the origin have been handed out, and its process has ended. */
    void (*ended)(void *context, const struct sqt_origin *origin);
    /* The origin and its texts are freed when this returns; its index will be another's. */
    void (*forgotten)(void *context, const struct sqt_origin *origin);
};

/* Follows from now on; call it before the first sqt_stream_next.  The structure is copied.  Returns 0, or -1 after a
 * report if a source is a pipe or there is no memory. */
int sqt_stream_follow(struct sqt_stream *stream, const struct sqt_following *following);

/* Reads only the end of what is there already: what was written in the last `last_ns` ns before the latest record, and of
 * each process no more than `bytes` of its segments, and its ring.  Call it after sqt_stream_follow, before the first
 * sqt_stream_next. */
void sqt_stream_begin_late(struct sqt_stream *stream, int64_t last_ns, uint64_t bytes);

/* The time now, in ns since the start of the stream, as of the last sqt_stream_wait; INT64_MIN if no process writes. */
int64_t sqt_stream_now(const struct sqt_stream *stream);

/* Whether a process whose trace has no end fell silent a minute ago, and since then does not count as one that writes: it was
 * killed, or does not run. */
int sqt_stream_fell_silent(const struct sqt_stream *stream);

/* For how many ns the origin's flusher has not looked at its ring, which it does many times a second; -1 if there is no
 * ring.  A process that was stopped or killed is silent; one whose main thread is blocked is not. */
int64_t sqt_origin_silent(const struct sqt_origin *origin);

/* The ACL that the main thread checks now (definition); 0: none, or it is not known. */
uint32_t sqt_origin_acl(const struct sqt_origin *origin);

/* How many records are being lost, as of the last sqt_stream_wait: their rings are full, because the disk has no room or
 * is slow.  Their record LOST comes when there is room again; until then nothing else speaks of them. */
uint64_t sqt_stream_losing(const struct sqt_stream *stream);

/* Waits so many milliseconds, or until a signal, and looks how far the writers are and which ones are new. */
void sqt_stream_wait(struct sqt_stream *stream, int milliseconds);

/* The same without a pause, and hands out what is held back, too: for who looks only once.  Records that come later may be earlier. */
void sqt_stream_wait_for_none(struct sqt_stream *stream);

/* Follows no more: sqt_stream_next then hands out what was held back, up to where the writers are now, and ends. */
void sqt_stream_unfollow(struct sqt_stream *stream);

#endif
