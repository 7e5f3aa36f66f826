/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * named.h - blocks that are unpacked by themselves, and the search for the one in which an id is.
 */
#ifndef SQT_NAMED_H
#define SQT_NAMED_H

#include "read/join/origin.h"

struct sqt_named_block {
    uint64_t at;
    uint32_t size; /* of the frame */
    uint32_t part;
};

/* Blocks that one who searches again and again may unpack, at most: an eighth to a fourth of a second. */
#define SQT_NAMED_RANGES 192u

/* Which ids are in blocks that were unpacked, so that they need not be unpacked again for other ids. */
struct sqt_named_memo {
    struct sqt_named_range {
        uint64_t at;
        uint32_t part;
        uint64_t least, most; /* least > most: none */
    } ranges[SQT_NAMED_RANGES];
    size_t count;
};

/* Unpacks the block, if it is good, into SQT_BLOCK_RECORDS records.  The line is that of the block alone.  Returns 0, or -1. */
int sqt_named_unpack(struct sqt_origin_reader *reader, const struct sqt_named_block *place, struct sqt_record *records,
                     struct sqt_block *block, struct sqt_line *line);

/* The block in which that client's connection was accepted.  Returns -1 if it is not certain, or the memo is full. */
int sqt_named_find_accept(struct sqt_origin_reader *reader, uint64_t conn, struct sqt_record *records,
                          struct sqt_named_memo *memo, struct sqt_named_block *found);

#endif
