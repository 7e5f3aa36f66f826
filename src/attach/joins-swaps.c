/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-swaps.c - see joins-swaps.h.
 */
#include "joins-swaps.h"

#include <stdlib.h>

#include "base/memory.h"
#include "joins-rule.h"

#define JOINS_DIRS 64 /* cache_dirs that are told apart */

/* A swap-in that is open. */
struct joins_swap {
    uint64_t number;
    uint64_t offset; /* bytes: of the block that was asked for last */
    uint8_t opened, reads;
};

struct sqt_joins_swaps {
    struct sqt_idmap open;     /* address -> struct joins_swap */
    uint64_t last;             /* number of the newest one */
    uint64_t dirs[JOINS_DIRS]; /* addresses of cache_dirs */
    unsigned dir_count;
};

struct sqt_joins_swaps *
sqt_joins_swaps_new(void)
{
    return sqt_zeroed(1, sizeof(struct sqt_joins_swaps));
}

void
sqt_joins_swaps_forget(struct sqt_joins_swaps *swaps)
{
    for (size_t i = 0; i < swaps->open.room; ++i)
        free(swaps->open.slots[i].value);
    sqt_idmap_free(&swaps->open);
}

size_t
sqt_joins_swaps_bytes(const struct sqt_joins_swaps *swaps)
{
    return sqt_joins_map_bytes(&swaps->open, sizeof(struct joins_swap));
}

/* The number of a cache_dir: each object of one is numbered when it is met.  UINT32_MAX: there are too many. */
static uint32_t
joins_dir(struct sqt_joins_swaps *swaps, uint64_t address)
{
    unsigned i = 0;
    while (i < swaps->dir_count && swaps->dirs[i] != address)
        ++i;
    if (i == JOINS_DIRS)
        return UINT32_MAX;
    if (i == swaps->dir_count)
        swaps->dirs[swaps->dir_count++] = address;
    return i;
}

/* ---- calls ---- */

/* The swap-in that the call is of, by the address of its object; NULL: none. */
static struct joins_swap *
joins_swap(const struct sqt_joins_call *call)
{
    return sqt_idmap_get(&call->joins->swaps->open, call->event->values[0]);
}

static void
joins_swap_drop(const struct sqt_joins_call *call)
{
    free(sqt_idmap_take(&call->joins->swaps->open, call->event->values[0]));
}

static void
joins_swap_opened(struct sqt_joins_call *call)
{
    struct joins_swap *const swap = joins_swap(call);
    if (!swap || swap->opened)
        return;
    swap->opened = 1;
    sqt_joins_emit_of(call, SQT_EV_SWAPIN_OPENED, swap->number, 0, 0);
}

/* A swap begins.  If it reads, the call before says for which transaction. */
static void
joins_swap_begins(struct sqt_joins_call *call, const char *type)
{
    struct sqt_joins *const joins = call->joins;
    struct sqt_joins_swaps *const swaps = joins->swaps;
    joins_swap_drop(call);
    if (joins->before != SQT_ATTACH_SWAP_IN)
        return;
    sqt_joins_after(call, SQT_ATTACH_SWAP_IN);
    struct joins_swap *const swap = sqt_zeroed(1, sizeof(*swap));
    const unsigned known = swaps->dir_count;
    const uint32_t dir = joins_dir(swaps, call->event->values[1]);
    swap->number = ++swaps->last;
    sqt_idmap_put(&swaps->open, call->event->values[0], swap);
    const struct sqt_record unit[] = {
        {.time = call->time,
         .id = swap->number,
         .arg = call->xact ? SQT_UNNAMED | call->xact->number : 0,
         .aux = dir,
         .event = SQT_EV_SWAPIN_OPEN,
         .flags = 1},
        {.time = call->time, .arg = UINT64_MAX, .event = SQT_EV_PART_SWAP_FILE, .flags = SQT_FLAG_PART},
    };
    joins->emit(joins->context, unit, 2);
    if (swaps->dir_count > known)
        joins->define_dir(joins->context, dir, type);
}

static void
joins_swap_ufs(struct sqt_joins_call *call)
{
    joins_swap_begins(call, "ufs");
}

/* It is open at once. */
static void
joins_swap_rock(struct sqt_joins_call *call)
{
    joins_swap_begins(call, "rock");
    joins_swap_opened(call);
}

/* A read before the file is open is asked for again. */
static void
joins_swap_reads(struct sqt_joins_call *call)
{
    struct joins_swap *const swap = joins_swap(call);
    if (!swap || !swap->opened || swap->reads)
        return;
    swap->reads = 1;
    swap->offset = call->event->values[2];
    sqt_joins_emit_of(call, SQT_EV_SWAPIN_READ, swap->number, swap->offset, (uint32_t)call->event->values[1]);
}

static void
joins_swap_read(struct sqt_joins_call *call)
{
    struct joins_swap *const swap = joins_swap(call);
    const int size = (int)call->event->values[1], failed = size < 0 || (int)call->event->values[2] != 0;
    if (!swap || !swap->reads)
        return;
    swap->reads = 0;
    sqt_joins_emit_of(call, SQT_EV_SWAPIN_READ_DONE, swap->number, swap->offset,
                      failed ? SQT_IO_FAILED : (uint32_t)size & SQT_IO_BYTES);
}

static void
joins_swap_closed(struct sqt_joins_call *call)
{
    const struct joins_swap *const swap = joins_swap(call);
    if (swap)
        sqt_joins_emit_of(call, SQT_EV_SWAPIN_CLOSED, swap->number, 0, 0);
    joins_swap_drop(call);
}

const struct sqt_joins_rule sqt_joins_swap_rules[] = {
    {CALL(SWAP_IN), AFTER(LOOKUP)}, /* the entry that was looked for is on disk */
    {CALL(UFS), DOES(joins_swap_ufs)},
    {CALL(UFS_OPENED), DOES(joins_swap_opened)},
    {CALL(UFS_READ), DOES(joins_swap_reads)},
    {CALL(UFS_READ_DONE), DOES(joins_swap_read)},
    {CALL(UFS_CLOSED), DOES(joins_swap_closed)},
    {CALL(ROCK), DOES(joins_swap_rock)},
    {CALL(ROCK_READ), DOES(joins_swap_reads)},
    {CALL(ROCK_READ_DONE), DOES(joins_swap_read)},
    {CALL(ROCK_CLOSED), DOES(joins_swap_closed)},
    {CALL(ROWS)},
};
