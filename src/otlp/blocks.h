/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blocks.h - the blocks of open swaps, as events of the span that a swap becomes.
 *
 * Memory is bounded: by SQT_OTLP_EVENTS events for a swap, and SQT_OTLP_EVENT_BYTES bytes for all swaps.
 */
#ifndef SQT_OTLP_BLOCKS_H
#define SQT_OTLP_BLOCKS_H

#include "model/model.h"
#include "text.h"

/* Events of a span, at most: further blocks of a swap are counted as dropped events. */
#define SQT_OTLP_EVENTS 1024
/* Bytes of the events of all swaps that are not over: then further blocks are counted as dropped, too. */
#define SQT_OTLP_EVENT_BYTES ((size_t)16 << 20)

/* The events of one swap.  The swap's member user points here; NULL: it has none. */
struct sqt_otlp_events {
    struct sqt_otlp_events *next, *previous;
    struct sqt_otlp_text text;
    unsigned count;   /* in the text */
    uint64_t dropped; /* blocks that are not */
};

/* Zeroed at first. */
struct sqt_otlp_blocks {
    struct sqt_otlp_events *first;
    size_t bytes; /* of all texts */
};

/* A block is over, and its swap is not.  wall: as of sqt_otlp_io_text(). */
void sqt_otlp_block(struct sqt_otlp_blocks *blocks, const struct sqt_io *io, uint64_t wall);

/* The swap is over: frees its events. */
void sqt_otlp_blocks_drop(struct sqt_otlp_blocks *blocks, struct sqt_swap *swap);

/* Frees the events of all swaps, which must not be used any more. */
void sqt_otlp_blocks_free(struct sqt_otlp_blocks *blocks);

#endif
