/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_traffic.c - records that look like a busy proxy's: disk hits, misses and memory hits of several clients at
 * once, between waits of the event loop.  The same seed makes the same records.
 */
#include "make_trace.h"

#include <string.h>

static uint64_t
next_random(struct make_traffic *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

void
make_traffic_init(struct make_traffic *t, uint64_t seed)
{
    memset(t, 0, sizeof(*t));
    t->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    t->time = MAKE_START;
    t->xact = t->conn = t->sio = 1;
}

static size_t
put(struct make_traffic *t, struct sqt_record *r, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    t->time += 600 + next_random(t) % 9000; /* 0.2 to 3.2 us at 3 GHz */
    memset(r, 0, sizeof(*r));
    r->time = t->time;
    r->event = (uint16_t)event;
    r->id = id;
    r->arg = arg;
    r->aux = aux;
    return 1;
}

/* Distinct objects; each is asked for again and again. */
#define OBJECTS (1u << 20)

/* One transaction's records from its parsed header to its look-up; returns how many. */
static size_t
begin(struct make_traffic *t, struct sqt_record *r, uint64_t xact, uint64_t conn, uint64_t object)
{
    size_t n = 0;
    n += put(t, r + n, SQT_EV_CLIENT_READ, conn, 200 + next_random(t) % 64, 0);
    n += put(t, r + n, SQT_EV_REQUEST_PARSED, conn, 200 + next_random(t) % 64, 0);
    n += put(t, r + n, SQT_EV_XACT_BEGIN, SQT_UNNAMED | xact, conn, 0);
    n += put(t, r + n, SQT_EV_XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
    n += put(t, r + n, SQT_EV_ACCESS_BEGIN, xact, 0, 0);
    n += put(t, r + n, SQT_EV_ACCESS_END, xact, 0, 0);
    n += put(t, r + n, SQT_EV_LOOKUP_BEGIN, xact, 0, 0);
    n += put(t, r + n, SQT_EV_LOOKUP_END, xact, object, 1);
    return n;
}

static size_t
end(struct make_traffic *t, struct sqt_record *r, uint64_t xact, uint64_t conn, uint32_t tag, uint64_t size,
    uint64_t object)
{
    size_t n = 0;
    n += put(t, r + n, SQT_EV_REPLY_WRITE, xact, size, 1);
    n += put(t, r + n, SQT_EV_REPLY_WRITTEN, xact, size, 0);
    n += put(t, r + n, SQT_EV_XACT_END, xact, tag, 200);
    n += put(t, r + n, SQT_EV_PART_XACT_SIZES, size - 300, size, tag == 3);
    n += put(t, r + n, SQT_EV_PART_XACT_FLAGS, object, conn, 0);
    r[n - 2].time = r[n - 1].time = r[n - 3].time;
    t->time = r[n - 1].time;
    make_unit(r + n - 3, 3);
    return n;
}

static size_t
open_swap(struct make_traffic *t, struct sqt_record *r, unsigned event, uint64_t sio, uint64_t xact, uint64_t object)
{
    size_t n = 0;
    n += put(t, r + n, event, sio, xact, 0);
    n += put(t, r + n, SQT_EV_PART_SWAP_FILE, object, sio * 3, 0);
    r[n - 1].time = r[n - 2].time;
    t->time = r[n - 1].time;
    make_unit(r + n - 2, 2);
    return n;
}

static size_t
disk_block(struct make_traffic *t, struct sqt_record *r, unsigned ask, unsigned answer, uint64_t sio, uint64_t offset)
{
    size_t n = 0;
    n += put(t, r + n, ask, sio, offset, 4096);
    const uint64_t asked = t->time;
    n += put(t, r + n, answer, sio, offset, 4096);
    n += put(t, r + n, SQT_EV_PART_DISKOP_IO, asked + 400, asked + 900 + next_random(t) % 300, 0);
    r[n - 1].time = r[n - 2].time;
    t->time = r[n - 1].time;
    make_unit(r + n - 2, 2);
    return n;
}

#define STEP_RECORDS 48

size_t
make_traffic_records(struct make_traffic *t, struct sqt_record *r, size_t room)
{
    size_t n = 0;
    while (room - n >= STEP_RECORDS) {
        const uint64_t xact = t->xact++, conn = 1 + next_random(t) % 64;
        const uint64_t object = (1 + next_random(t) % OBJECTS) * UINT64_C(0x9e3779b97f4a7c15);
        n += put(t, r + n, SQT_EV_WAIT_BEGIN, 0, 10, 0);
        n += put(t, r + n, SQT_EV_WAIT_END, 0, 1 + next_random(t) % 5, 0);
        n += begin(t, r + n, xact, conn, object);
        switch (t->step++ % 3) {
        case 0: {
            const uint64_t sio = t->sio++;
            n += open_swap(t, r + n, SQT_EV_SWAPIN_OPEN, sio, xact, object);
            n += put(t, r + n, SQT_EV_SWAPIN_OPENED, sio, 0, 0);
            for (unsigned b = 0; b < 4; ++b) {
                n += disk_block(t, r + n, SQT_EV_SWAPIN_READ, SQT_EV_SWAPIN_READ_DONE, sio, b * UINT64_C(4096));
                n += put(t, r + n, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_STORE);
            }
            n += put(t, r + n, SQT_EV_SWAPIN_CLOSE, sio, 0, 0);
            n += put(t, r + n, SQT_EV_SWAPIN_CLOSED, sio, 0, 0);
            n += end(t, r + n, xact, conn, 1, 16384, object);
            break;
        }
        case 1: {
            const uint64_t sio = t->sio++;
            n += put(t, r + n, SQT_EV_FORWARD_BEGIN, xact, 0, 0);
            n += put(t, r + n, SQT_EV_CONNECT_REUSED, xact, conn + 1000, 1);
            n += put(t, r + n, SQT_EV_DISPATCH, xact, conn + 1000, 1);
            n += put(t, r + n, SQT_EV_REQUEST_SENT, xact, conn + 1000, 0);
            n += put(t, r + n, SQT_EV_SERVER_READ, xact, 4096, 0);
            n += put(t, r + n, SQT_EV_SERVER_HEADER, xact, 300, 200);
            n += put(t, r + n, SQT_EV_SERVER_DONE, xact, conn + 1000, 0);
            n += open_swap(t, r + n, SQT_EV_SWAPOUT_OPEN, sio, xact, object);
            n += put(t, r + n, SQT_EV_SWAPOUT_OPENED, sio, 0, 0);
            n += disk_block(t, r + n, SQT_EV_SWAPOUT_WRITE, SQT_EV_SWAPOUT_WRITTEN, sio, 0);
            n += put(t, r + n, SQT_EV_SWAPOUT_CLOSE, sio, 0, 0);
            n += end(t, r + n, xact, conn, 3, 4000 + next_random(t) % 2000, object);
            n += put(t, r + n, SQT_EV_SWAPOUT_CLOSED, sio, 4096, 0);
            break;
        }
        default:
            n += put(t, r + n, SQT_EV_MEM_HIT, xact, 8192, 0);
            n += put(t, r + n, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_STORE);
            n += end(t, r + n, xact, conn, 2, 8192, object);
        }
    }
    return n;
}
