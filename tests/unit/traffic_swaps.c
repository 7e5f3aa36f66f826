/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_swaps.c - swaps of ufs, aufs and diskd for make_traffic.
 *
 * With ufs the main thread does all operations itself.  Threads of aufs open and read, diskd does everything.
 */
#include "traffic-internal.h"

enum { UFS, AUFS, DISKD };

static int
elsewhere(const struct traffic_swap *swap, int aufs_too)
{
    return swap->dir == DISKD || (swap->dir == AUFS && aufs_too);
}

/* A queue takes what the last record asked for. */
static uint64_t
queued(struct make_traffic *t, struct traffic_swap *swap)
{
    traffic_add(swap->slot, SQT_EV_DISKOP_QUEUED, ++t->operation, swap->sio, (uint32_t)traffic_random(t, 4));
    t->owed[SQT_EV_DISKOP_QUEUED][swap->column] -= 1;
    traffic_wait(swap->slot);
    return t->operation;
}

/* Asks, and adds the answer: at once, or from a queue. */
static void
operate(struct make_traffic *t, struct traffic_swap *swap, int away, unsigned answer, uint64_t arg, uint32_t aux,
        uint32_t moved)
{
    const uint64_t operation = away ? queued(t, swap) : 0;
    traffic_add(swap->slot, answer, swap->sio, arg, aux);
    if (!away)
        return;
    traffic_part(swap->slot, SQT_EV_PART_DISKOP_IO, 0, 0, 0);
    traffic_add(swap->slot, SQT_EV_DISKOP_END, operation, 0, moved);
}

void
traffic_swap_open(struct make_traffic *t, struct traffic_swap *swap, uint64_t xact, uint64_t object)
{
    swap->sio = ++t->sio;
    swap->dir = t->owed[SQT_EV_DISKOP_QUEUED][swap->column] >= 1 ? AUFS + (unsigned)traffic_random(t, 2) : UFS;
    traffic_add(swap->slot, swap->out ? SQT_EV_SWAPOUT_OPEN : SQT_EV_SWAPIN_OPEN, swap->sio, xact, swap->dir);
    traffic_part(swap->slot, SQT_EV_PART_SWAP_FILE, object, swap->sio % 60000, 0);
    operate(t, swap, elsewhere(swap, 1), swap->out ? SQT_EV_SWAPOUT_OPENED : SQT_EV_SWAPIN_OPENED, 0, 0, 30);
}

void
traffic_swap_block(struct make_traffic *t, struct traffic_swap *swap, uint32_t bytes)
{
    traffic_add(swap->slot, swap->out ? SQT_EV_SWAPOUT_WRITE : SQT_EV_SWAPIN_READ, swap->sio, swap->offset, bytes);
    operate(t, swap, elsewhere(swap, !swap->out), swap->out ? SQT_EV_SWAPOUT_WRITTEN : SQT_EV_SWAPIN_READ_DONE,
            swap->offset, bytes, bytes);
    swap->offset += bytes;
}

void
traffic_swap_close(struct make_traffic *t, struct traffic_swap *swap)
{
    traffic_add(swap->slot, swap->out ? SQT_EV_SWAPOUT_CLOSE : SQT_EV_SWAPIN_CLOSE, swap->sio, 0, 0);
    operate(t, swap, elsewhere(swap, 0), swap->out ? SQT_EV_SWAPOUT_CLOSED : SQT_EV_SWAPIN_CLOSED,
            swap->out ? swap->offset : 0, 0, 0);
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
