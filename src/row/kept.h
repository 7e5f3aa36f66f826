/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kept.h - what is kept of a request until it is over, because only then it is known whether it is wanted and
 * what it was: where its time was charged to, and the blocks that it has read.
 *
 * Memory is bounded: no array grows by more than an eighth of what is left of the budget.  If a request's
 * array needs more, the request is kept up to that moment, and the rest of it is printed as sums.
 */
#ifndef SQT_ROW_KEPT_H
#define SQT_ROW_KEPT_H

#include "model/model.h"
#include "table.h"

struct sqt_kept_block {
    union sqt_cell row[SQT_CELLS(ios)];
};

struct sqt_kept {
    struct sqt_kept *next, *previous;
    uint64_t *tiles; /* (ns from the begin) << SQT_TILE_BITS | stage; each lasts until the next */
    size_t tile_count, tile_room;
    struct sqt_kept_block *blocks; /* in the order of their ends */
    size_t block_count, block_room;
    int64_t until; /* ns; nothing is kept of what came later.  INT64_MAX: all is */
};
#define SQT_TILE_BITS 5
SQT_ASSERT(SQT_UNACCOUNTED < 1 << SQT_TILE_BITS, "a tile has room for every stage");

struct sqt_keep {
    struct sqt_kept *all;
    size_t left; /* bytes of the budget */
};

/* Take what the model says; what is kept hangs on xact->user. */
void sqt_keep_charge(struct sqt_keep *keep, const struct sqt_charge *charge);
void sqt_keep_recharge(const struct sqt_charge *charge);
void sqt_keep_block(struct sqt_keep *keep, struct sqt_xact *xact, const union sqt_cell *row);

/* Of tile i of a transaction: its stage, and from when to when it lasts.  Returns 0 behind the last one that is kept.
 * Tiles of the same stage that touch are one; *i is moved behind it. */
struct sqt_tile {
    unsigned stage;
    int64_t from, until; /* ns */
};
int sqt_keep_tile(const struct sqt_xact *xact, size_t *i, struct sqt_tile *tile);

void sqt_keep_drop(struct sqt_keep *keep, struct sqt_kept *kept);
void sqt_keep_free(struct sqt_keep *keep);

#endif
