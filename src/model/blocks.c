/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blocks.c - the I/Os of a swap that are under way.
 *
 * They stand in a list, the oldest first, and are mostly completed in that order.  Of a swap that has many under way
 * they are also found by their offsets:
 *
 *     list     a(0) - b(4096) - c(0) - d(8192)
 *     index    0: a -same-> c      4096: b      8192: d
 */
#include "base/scatter.h"
#include "model-internal.h"

/* A swap with more under way has them indexed. */
#define LIST_MOST 32

static uint64_t
blocks_key(const struct sqt_io *io)
{
    return io->swap->pooled.serial * sqt_scatter() + io->offset;
}

static void
blocks_enter(struct sqt_process_state *process, struct sqt_io *io)
{
    struct sqt_io *const first = sqt_idmap_get(&process->ios.ids, blocks_key(io));
    io->same = NULL;
    io->same_last = io;
    if (first) {
        first->same_last->same = io;
        first->same_last = io;
    } else {
        sqt_idmap_put(&process->ios.ids, blocks_key(io), io);
    }
}

/* Takes the first one at its offset out of the index. */
static void
blocks_leave(struct sqt_process_state *process, struct sqt_io *io)
{
    if (io->same) {
        io->same->same_last = io->same_last;
        sqt_idmap_put(&process->ios.ids, blocks_key(io), io->same);
    } else {
        sqt_idmap_take(&process->ios.ids, blocks_key(io));
    }
}

struct sqt_io *
sqt_block_ask(struct sqt_process_state *process, struct sqt_swap *swap, uint64_t offset)
{
    struct sqt_io *const io = sqt_pool_get(&process->ios.pool);
    io->swap = swap;
    io->index = swap->asked++;
    io->offset = offset;
    io->previous = swap->last_io;
    if (swap->last_io)
        swap->last_io->next = io;
    else
        swap->first_io = io;
    swap->last_io = io;
    if (++swap->waiting <= LIST_MOST)
        return io;
    if (swap->indexed) {
        blocks_enter(process, io);
    } else {
        swap->indexed = 1;
        for (struct sqt_io *i = swap->first_io; i; i = i->next)
            blocks_enter(process, i);
    }
    return io;
}

void
sqt_block_unlink(struct sqt_process_state *process, struct sqt_io *io)
{
    struct sqt_swap *const swap = io->swap;
    if (io->previous)
        io->previous->next = io->next;
    else
        swap->first_io = io->next;
    if (io->next)
        io->next->previous = io->previous;
    else
        swap->last_io = io->previous;
    --swap->waiting;
    if (swap->indexed) {
        blocks_leave(process, io);
        swap->indexed = swap->waiting != 0;
    }
}

struct sqt_io *
sqt_block_take(struct sqt_process_state *process, struct sqt_swap *swap, uint64_t offset)
{
    struct sqt_io *io = swap->first_io;
    if (!swap->indexed)
        while (io && io->offset != offset)
            io = io->next;
    else if (io->offset != offset)
        io = sqt_idmap_get(&process->ios.ids, swap->pooled.serial * sqt_scatter() + offset);
    if (io)
        sqt_block_unlink(process, io);
    return io;
}

const struct sqt_thing_kind sqt_thing_ios = {
    .words = "blocks of swaps", .size = sizeof(struct sqt_io), .begin = offsetof(struct sqt_io, asked)};
