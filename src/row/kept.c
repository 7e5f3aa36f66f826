/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kept.c - see kept.h.
 */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_ROOM 16
#define SHARE 8 /* of what is left, that an array may grow by */
#define STAGE_MASK ((UINT64_C(1) << SQT_TILE_BITS) - 1)

static struct sqt_kept *
kept_of(struct sqt_keep *keep, struct sqt_xact *xact)
{
    struct sqt_kept *kept = xact->user;
    if (kept)
        return kept;
    kept = xact->user = sqt_zeroed(1, sizeof(*kept));
    kept->until = INT64_MAX;
    kept->next = keep->all;
    if (keep->all)
        keep->all->previous = kept;
    keep->all = kept;
    return kept;
}

/* Makes room for one more in an array; 0 if that would take too much. */
static int
chrome_keep_grow(struct sqt_keep *keep, void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return 1;
    const size_t more = *room ? *room : FIRST_ROOM;
    if (more * size > keep->left / SHARE)
        return 0;
    keep->left -= more * size;
    *room += more;
    *array = sqt_resized(*array, *room * size);
    return 1;
}

static uint64_t
tile_of(const struct sqt_charge *charge, unsigned stage)
{
    return (uint64_t)(charge->from - charge->xact->begin) << SQT_TILE_BITS | stage;
}

void
sqt_keep_charge(struct sqt_keep *keep, const struct sqt_charge *charge)
{
    struct sqt_kept *const kept = kept_of(keep, charge->xact);
    void *tiles = kept->tiles;
    if (kept->until != INT64_MAX)
        return;
    if (chrome_keep_grow(keep, &tiles, kept->tile_count, &kept->tile_room, sizeof(*kept->tiles))) {
        kept->tiles = tiles;
        kept->tiles[kept->tile_count++] = tile_of(charge, charge->stage);
    } else {
        kept->until = charge->from;
    }
}

void
sqt_keep_recharge(const struct sqt_charge *charge)
{
    struct sqt_kept *const kept = charge->xact->user;
    const uint64_t since = tile_of(charge, 0);
    for (size_t i = kept->tile_count; i-- && kept->tiles[i] >= since;)
        if ((kept->tiles[i] & STAGE_MASK) == charge->was)
            kept->tiles[i] = (kept->tiles[i] & ~STAGE_MASK) | charge->stage;
}

void
sqt_keep_block(struct sqt_keep *keep, struct sqt_xact *xact, const union sqt_cell *row)
{
    struct sqt_kept *const kept = kept_of(keep, xact);
    void *blocks = kept->blocks;
    if (kept->until != INT64_MAX)
        return;
    if (chrome_keep_grow(keep, &blocks, kept->block_count, &kept->block_room, sizeof(*kept->blocks))) {
        kept->blocks = blocks;
        memcpy(kept->blocks[kept->block_count++].row, row, sizeof(kept->blocks->row));
    } else {
        kept->until = xact->stages.last; /* up to here there are tiles */
    }
}

int
sqt_keep_tile(const struct sqt_xact *xact, size_t *i, struct sqt_tile *tile)
{
    const struct sqt_kept *const kept = xact->user;
    if (!kept || *i >= kept->tile_count)
        return 0;
    tile->stage = (unsigned)(kept->tiles[*i] & STAGE_MASK);
    tile->from = xact->begin + (int64_t)(kept->tiles[*i] >> SQT_TILE_BITS);
    do
        ++*i;
    while (*i < kept->tile_count && (kept->tiles[*i] & STAGE_MASK) == tile->stage);
    tile->until = *i < kept->tile_count      ? xact->begin + (int64_t)(kept->tiles[*i] >> SQT_TILE_BITS)
                  : kept->until != INT64_MAX ? kept->until
                                             : xact->end;
    return 1;
}

void
sqt_keep_drop(struct sqt_keep *keep, struct sqt_kept *kept)
{
    if (!kept)
        return;
    keep->left += kept->tile_room * sizeof(*kept->tiles) + kept->block_room * sizeof(*kept->blocks);
    if (kept->previous)
        kept->previous->next = kept->next;
    else
        keep->all = kept->next;
    if (kept->next)
        kept->next->previous = kept->previous;
    free(kept->tiles);
    free(kept->blocks);
    free(kept);
}

void
sqt_keep_free(struct sqt_keep *keep)
{
    while (keep->all)
        sqt_keep_drop(keep, keep->all);
}
