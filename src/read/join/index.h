/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * index.h - where the blocks of an origin are: made while headers are read once, so that a search reads few of them again.
 *
 *     blocks of the trace   B B B B B B B B B B B B B B
 *     listed, stride 4            *       *       *
 *
 * Of a large trace only one block in `stride` is listed.  A search finds the last listed block that is early enough, and reads
 * headers on from there.
 */
#ifndef SQT_INDEX_H
#define SQT_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "read/stream.h"

struct sqt_origin_reader;
struct sqt_part_frame;

/* Blocks that are listed, at most: 1.3 MB. */
#define SQT_INDEX_BLOCKS 16384u
/* Frames of text whose places are known, at most. */
#define SQT_INDEX_TEXTS 16384u

/* A block, and all that reading needs to go on behind it. */
struct sqt_index_block {
    uint64_t at;         /* offset of its frame */
    uint64_t next;       /* number of the record behind it */
    uint64_t last_ticks; /* time of its last record */
    int64_t last_ns;     /* the same as it is handed out */
    struct sqt_line line;
    uint32_t part;
    uint32_t size; /* of the frame */
    int pushed;    /* its times were moved behind those of the block before it, or may have been */
    int shares;    /* its first records are those of the block before it */
};

struct sqt_index {
    struct sqt_index_block *blocks;
    size_t count;
    uint64_t stride, seen; /* 0: none yet */
    int odd;               /* there are blocks that reading will refuse, or takes in part */
    struct sqt_index_text {
        uint64_t at;
        uint32_t part;
    } * texts;
    size_t text_count;
    int texts_many; /* there are more */
};

/* What reading knows when it has taken the blocks so far. */
struct sqt_index_walk {
    size_t part;         /* which is walked */
    uint64_t expected;   /* number of the record behind them */
    uint64_t last_ticks; /* of their last record */
    int64_t last_ns;
};

/* Before the first block.  first_ns: the origin's. */
struct sqt_index_walk sqt_index_walk_begin(int64_t first_ns);
/* Behind that block. */
struct sqt_index_walk sqt_index_walk_behind(const struct sqt_index_block *block);

/* Takes a block as reading would if its checksum is good, from its header: 1 with *block; 0: reading passes over it. */
int sqt_index_walk_take(struct sqt_index_walk *walk, const struct sqt_origin_reader *reader,
                        const struct sqt_part_frame *frame, struct sqt_index_block *block);

/* The frame is next in the walk over all. */
void sqt_index_take_block(struct sqt_index *index, struct sqt_index_walk *walk, const struct sqt_origin_reader *reader,
                          const struct sqt_part_frame *frame);
void sqt_index_take_text(struct sqt_index *index, size_t part, const struct sqt_part_frame *frame);

/* The last block that ends before that time, and with a record before that number, into *block: 1, or 0 if there is none. */
int sqt_index_search(const struct sqt_origin_reader *reader, int64_t before, uint64_t number,
                     struct sqt_index_block *block);

/* Where reading goes on that wants only texts before offset `until` of the part, and is at `at`: at a text, or at `until`. */
uint64_t sqt_index_next_text(const struct sqt_index *index, size_t part, uint64_t at, uint64_t until);

/* Forgets all. */
void sqt_index_free(struct sqt_index *index);

#endif
