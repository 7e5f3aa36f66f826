/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_swaps.c - swaps of ufs, aufs and diskd for make_traffic.
 *
 * With ufs the main thread does all operations itself.  Threads of aufs open and read, diskd does everything.  diskd is
 * asked to read or write before it has opened the file.
 */
#include "traffic-internal.h"

enum { UFS, AUFS, DISKD };

#define FIRST_BLOCK 140 /* bytes of a swap-out's first block: the header alone */
#define OPENED_WITH 30  /* "bytes" that an open moves: the descriptor */

static uint64_t
offset_of(unsigned block)
{
    return block ? FIRST_BLOCK + (block - 1) * UINT64_C(4096) : 0;
}

/* A queue takes what the last record asked for.  Returns the operation. */
static uint64_t
queue(struct make_traffic *t, struct traffic_swap *swap)
{
    traffic_add(swap->slot, SQT_EV_DISKOP_QUEUED, ++t->operation, swap->sio, (uint32_t)traffic_random(t, 4));
    t->owed[SQT_EV_DISKOP_QUEUED][swap->column] -= 1;
    return t->operation;
}

/* Another thread or process has answered. */
static void
answer(struct traffic_swap *swap, unsigned event, uint64_t arg, uint32_t aux)
{
    traffic_wait(swap->slot);
    traffic_add(swap->slot, event, swap->sio, arg, aux);
    traffic_part(swap->slot, SQT_EV_PART_DISKOP_IO, 0, 0, 0);
}

/* The main thread is done with the answer to an operation, 0: there is none. */
static void
end(struct traffic_swap *swap, uint64_t *operation, uint32_t moved)
{
    if (*operation)
        traffic_add(swap->slot, SQT_EV_DISKOP_END, *operation, 0, moved);
    *operation = 0;
}

static void
opened(struct traffic_swap *swap)
{
    const unsigned event = swap->out ? SQT_EV_SWAPOUT_OPENED : SQT_EV_SWAPIN_OPENED;
    if (swap->dir == UFS)
        traffic_add(swap->slot, event, swap->sio, 0, 0);
    else
        answer(swap, event, 0, 0);
}

void
traffic_swap_open(struct make_traffic *t, struct traffic_swap *swap, uint64_t xact, uint64_t object, unsigned blocks)
{
    swap->sio = ++t->sio;
    swap->dir = t->owed[SQT_EV_DISKOP_QUEUED][swap->column] >= 1 ? AUFS + (unsigned)traffic_random(t, 2) : UFS;
    traffic_add(swap->slot, swap->out ? SQT_EV_SWAPOUT_OPEN : SQT_EV_SWAPIN_OPEN, swap->sio, xact, swap->dir);
    traffic_part(swap->slot, SQT_EV_PART_SWAP_FILE, object, swap->sio % 60000, 0);
    swap->blocks = blocks;
    if (swap->dir != UFS)
        swap->opening = queue(t, swap);
    for (unsigned i = 0; swap->dir == DISKD && swap->out && i < blocks; ++i) {
        traffic_add(swap->slot, SQT_EV_SWAPOUT_WRITE, swap->sio, offset_of(i), i ? 4096 : FIRST_BLOCK);
        const uint64_t operation = queue(t, swap);
        swap->writing = i ? swap->writing : operation;
    }
    if (swap->dir == DISKD && !swap->out)
        return; /* the first read is asked for before */
    opened(swap);
    if (swap->dir == DISKD)
        end(swap, &swap->opening, OPENED_WITH);
}

/* A thread of aufs is done with the open when the first read is asked for, diskd before it reads. */
static void
read_block(struct make_traffic *t, struct traffic_swap *swap)
{
    const uint64_t offset = 4096 * (uint64_t)swap->moved;
    traffic_add(swap->slot, SQT_EV_SWAPIN_READ, swap->sio, offset, 4096);
    if (swap->dir == UFS) {
        traffic_add(swap->slot, SQT_EV_SWAPIN_READ_DONE, swap->sio, offset, 4096);
        return;
    }
    uint64_t operation = queue(t, swap);
    if (swap->dir == DISKD && swap->opening)
        opened(swap);
    end(swap, &swap->opening, OPENED_WITH);
    answer(swap, SQT_EV_SWAPIN_READ_DONE, offset, 4096);
    end(swap, &operation, 4096);
}

/* diskd was asked for all writes when the file was to be opened.  The end of the last one follows what the close asks for.
 * With aufs the main thread writes. */
static void
write_block(struct traffic_swap *swap)
{
    const uint64_t offset = offset_of(swap->moved);
    const uint32_t bytes = swap->moved ? 4096 : FIRST_BLOCK;
    if (swap->dir == DISKD) {
        answer(swap, SQT_EV_SWAPOUT_WRITTEN, offset, bytes);
        swap->written = swap->writing + swap->moved;
        if (swap->moved + 1 < swap->blocks)
            end(swap, &swap->written, bytes);
        return;
    }
    traffic_add(swap->slot, SQT_EV_SWAPOUT_WRITE, swap->sio, offset, bytes);
    traffic_add(swap->slot, SQT_EV_SWAPOUT_WRITTEN, swap->sio, offset, bytes);
    if (swap->moved)
        end(swap, &swap->opening, OPENED_WITH);
}

void
traffic_swap_block(struct make_traffic *t, struct traffic_swap *swap)
{
    if (swap->out)
        write_block(swap);
    else
        read_block(t, swap);
    ++swap->moved;
}

void
traffic_swap_close(struct make_traffic *t, struct traffic_swap *swap)
{
    const unsigned closed = swap->out ? SQT_EV_SWAPOUT_CLOSED : SQT_EV_SWAPIN_CLOSED;
    const uint64_t size = swap->out ? offset_of(swap->moved) : 0;
    traffic_add(swap->slot, swap->out ? SQT_EV_SWAPOUT_CLOSE : SQT_EV_SWAPIN_CLOSE, swap->sio, 0, 0);
    if (swap->dir != DISKD) {
        traffic_add(swap->slot, closed, swap->sio, size, 0);
        end(swap, &swap->opening, OPENED_WITH);
        return;
    }
    uint64_t operation = queue(t, swap);
    end(swap, &swap->written, swap->moved > 1 ? 4096 : FIRST_BLOCK);
    answer(swap, closed, size, 0);
    end(swap, &operation, 0);
}

void
traffic_unlink(struct make_traffic *t, struct make_traffic_slot *slot)
{
    const uint32_t dir = traffic_take(t, TRAFFIC_ALL, SQT_EV_UNLINKED, 1) ? UFS : AUFS;
    traffic_add(slot, SQT_EV_UNLINK, dir, t->sio % 60000, 0);
    if (dir == UFS) {
        traffic_add(slot, SQT_EV_UNLINKED, dir, t->sio % 60000, 0);
        return;
    }
    traffic_add(slot, SQT_EV_DISKOP_QUEUED, ++t->operation, 0, 0);
    traffic_add(slot, SQT_EV_DISKOP_END, t->operation, 0, 0);
    traffic_part(slot, SQT_EV_PART_DISKOP_IO, 0, 0, 0);
}
