/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * files.h - the files that a stream reads: which time each is of, and how much of it is whole.
 */
#ifndef SQT_FILES_H
#define SQT_FILES_H

#include "stream.h"

/* A segment.  The texts are the stream's. */
struct sqt_file {
    const struct sqt_origin *origin;
    const char *name;
    int64_t from, until; /* ns since the start of the stream; from > until: it has no block */
    uint64_t whole; /* bytes up to the end of its last whole frame; UINT64_MAX: all, because it is damaged behind it */
    uint64_t end;   /* number of the record behind the last one that it, or the ring, speaks of */
    uint64_t ticks; /* time of the last one in its blocks */
    int last;       /* it is the latest one of its origin, and may be written to */
    int ring;       /* the ring of its origin is there */
};

/* Tells of each segment that has a name, origin by origin, each in the order of sequence.  Only headers of frames are
 * read, up to damage: what stands behind it may be of any later time, so `until` is INT64_MAX then.  Call it before the first sqt_stream_next. */
void sqt_stream_files(struct sqt_stream *stream, void *context,
                      void (*take)(void *context, const struct sqt_file *file));

/* The bytes [at, end) of a segment. */
struct sqt_piece {
    uint64_t at, end;
};

/* Which pieces of a segment a copy needs for what was written from since until until, ns since the start of the stream: its
 * texts, the blocks of that time, and one block before them.  Returns their number, and in *pieces an array that the caller
 * frees; pieces that touch are one.  *cut: the blocks do not begin with the first.  0: all of it is needed, or it is damaged.
 * Call it before the first sqt_stream_next. */
size_t sqt_file_pieces(const struct sqt_file *file, int64_t since, int64_t until, struct sqt_piece **pieces, int *cut);

#endif
