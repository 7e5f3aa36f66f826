/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * final.h - the part of a trace that is final: the next reading hands out the same records, with the same times.
 *
 * Records in a ring are not final.  Their times follow from the ring's anchors, and from better ones once they are in a
 * segment.  That holds for a whole process, if its first record was in the ring when the stream was opened.  Records of
 * one process are not final either while another process may still publish earlier ones.
 */
#ifndef SQT_FINAL_H
#define SQT_FINAL_H

#include "stream.h"

/* Hands out only what is final.  The stream ends before the first record that a living process has in its ring, and
 * SQT_FOLLOW_BACK_MS before the stream was opened.  Call it before the first sqt_stream_next, of a stream that is not
 * followed.
 *
 * ended: all records of the origin were handed out, and there will be no more: tracing ended in order, or a later
 * process of the same service and kid took over.  It is called within sqt_stream_next. */
void sqt_stream_only_final(struct sqt_stream *stream, void *context,
                           void (*ended)(void *context, const struct sqt_origin *origin));

#endif
