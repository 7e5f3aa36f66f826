/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ahead.h - a crew unpacks the next block of a segment while the stream's owner looks at the records of the last one.
 *
 *     the owner   | takes 1 | looks at 1 | takes 2 | looks at 2 | takes 3 ...
 *     the crew              | unpacks 2  |         | unpacks 3  |
 *
 * From sqt_ahead_begin to sqt_ahead_settle the segment and the origin's table for unpacking are the crew's.  What it
 * does is what would be done next anyway, except that it reports nothing and skips nothing: unless it finds a block
 * that can be unpacked, all is done as without it.
 */
#ifndef SQT_AHEAD_H
#define SQT_AHEAD_H

#include "read/file/block.h"
#include "base/crew.h"

struct sqt_origin_reader;

/* Of a stream. */
struct sqt_ahead {
    struct sqt_crew *crew;        /* NULL: nothing is read ahead */
    struct sqt_unpacker unpacker; /* the lane's */
    unsigned origins;             /* that have room for a block more */
};

/* Of an origin; all zero at first. */
struct sqt_ahead_block {
    struct sqt_task task;
    int begun;
    int unpacked;               /* the segment's next frame is a block, and these are its records */
    struct sqt_record *records; /* room for a block; NULL: none */
};

/* Lets the crew go on from where the segment is, if that is worth it after a block of so many records. */
void sqt_ahead_begin(struct sqt_origin_reader *reader, size_t count);

/* The segment is the owner's alone from here on. */
void sqt_ahead_settle(struct sqt_origin_reader *reader);

/* To be asked for each block that the segment gives: whether its records are in the origin's buffer already. */
int sqt_ahead_take(struct sqt_origin_reader *reader);

/* Settles, and gives up the room. */
void sqt_ahead_drop(struct sqt_origin_reader *reader);

#endif
