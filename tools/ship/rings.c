/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rings.c - rings, and which of their rows are new; see run.h.
 *
 * A row is new if the record that ended it is.  A row that no record ended stands at a position: that of the last record
 * that is lost, or behind the last record if the ring has ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "run.h"

/* ---- locks ---- */

int
ship_ring_open(struct ship *ship, struct ship_ring *ring)
{
    char name[40];
    snprintf(name, sizeof(name), "%s.lock", ring->id);
    ring->lock = ship_place_lock(&ship->place, name);
    if (ring->lock >= 0 && ship_state_load(ship, ring->id, &ring->state) == 0)
        return 0;
    if (ring->lock < 0 && errno == EAGAIN) {
        ship->busy = 1;
        return -1;
    }
    if (ring->lock < 0)
        program_fail(&ship->voice, "%s/%s/%s: cannot lock: %s", ship->place.name, SHIP_STAGE, name,
                     sqt_open_refusal(errno));
    ship->failed = 1;
    ship_ring_close(ring);
    return -1;
}

int
ship_ring_begin(struct ship *ship, struct ship_ring *ring)
{
    if (ship_ring_open(ship, ring) != 0)
        return -1;
    if (ship_stage_clear(ship, ring->id, &ring->state) == 0)
        return 0;
    ship->failed = 1;
    ship_ring_close(ring);
    return -1;
}

void
ship_ring_close(struct ship_ring *ring)
{
    if (ring->lock >= 0)
        close(ring->lock);
    ring->lock = -1;
}

/* ---- rings of this run ---- */

static struct ship_ring *
ring_new(struct ship *ship, const struct sqt_origin *origin)
{
    struct ship_ring *const ring = sqt_zeroed(1, sizeof(*ring));
    ring->origin = origin;
    ring->lock = -1;
    ring->oldest_ns = INT64_MAX;
    ship_claim(ship, ring);
    return ring;
}

struct ship_ring *
ship_ring_of(struct ship *ship, const struct sqt_origin *origin)
{
    if (origin->index >= ship->ring_count) {
        ship->rings = sqt_resized(ship->rings, (origin->index + (size_t)1) * sizeof(struct ship_ring *));
        while (ship->ring_count <= origin->index)
            ship->rings[ship->ring_count++] = NULL;
    }
    struct ship_ring **const ring = &ship->rings[origin->index];
    if (!*ring)
        *ring = ring_new(ship, origin);
    return *ring;
}

int
ship_ring_wants(const struct ship_ring *ring, uint64_t position)
{
    return ring->lock >= 0 && position >= ring->state.shipped;
}

/* ---- losses ---- */

int
ship_ring_removed(const struct ship_ring *ring, const struct sqt_run *first, struct sqt_run *mine,
                  struct sqt_record *lost)
{
    if (ring->lock < 0 || first->first == UINT64_MAX || first->first <= ring->state.shipped)
        return 0;
    const uint64_t since = ring->state.shipped ? ring->state.ticks : ring->origin->identity.start.ticks;
    memset(lost, 0, sizeof(*lost));
    lost->event = SQT_EV_LOST;
    lost->aux = ring->origin->recorder ? SQT_LOSS_OVERWRITTEN : SQT_LOSS_MISSING;
    lost->arg = first->first - ring->state.shipped;
    lost->time = first->records->time;
    lost->id = since < lost->time ? since : lost->time;
    *mine = *first;
    mine->records = lost;
    mine->count = 1;
    mine->next = first->first;
    mine->first = UINT64_MAX;
    return 1;
}

/* Records that were shipped may be missing now: the loss is of the others. */
static const struct sqt_run *
ring_cut_loss(const struct ship_ring *ring, const struct sqt_run *run, struct sqt_run *mine, struct sqt_record *lost)
{
    const uint64_t shipped = ring->state.shipped;
    *lost = *run->records;
    if (lost->arg > run->next || run->next - lost->arg >= shipped || shipped >= run->next)
        return run;
    lost->arg = run->next - shipped;
    lost->id = ring->state.ticks > lost->id && ring->state.ticks < lost->time ? ring->state.ticks : lost->id;
    *mine = *run;
    mine->records = lost;
    return mine;
}

/* The wall time of a run's first record that is new. */
static int64_t
ring_first_new_ns(const struct ship_ring *ring, const struct sqt_run *run)
{
    const uint64_t shipped = ring->state.shipped;
    const size_t at = run->first < shipped ? (size_t)(shipped - run->first) : 0;
    const int64_t wall = sqt_origin_wall_ns(run->origin);
    return wall == INT64_MIN ? INT64_MIN : wall + sqt_line_ns(&run->line, run->records[at].time);
}

/* Records that were dropped behind the last one.  If the process lives on, a record of its ring will say so. */
static void
ring_keep_rest(struct ship_ring *ring, const struct sqt_run *run)
{
    ring->lost = *run->records;
    ring->rest = *run;
    ring->rest.records = &ring->lost;
}

const struct sqt_run *
ship_ring_run(struct ship *ship, struct ship_ring *ring, const struct sqt_run *run, struct sqt_run *mine,
              struct sqt_record *lost)
{
    const int made = run->first == UINT64_MAX, numbered = made && run->records->aux != SQT_LOSS_RING_FULL;
    ship->position = numbered ? run->next - 1 : run->next;
    ring->seen = run->next;
    if (made && !numbered) {
        ring_keep_rest(ring, run);
        return NULL;
    }
    if (!made)
        ring->ticks = run->records[run->count - 1].time;
    if (!made && ring->oldest_ns == INT64_MAX && run->next > ring->state.shipped)
        ring->oldest_ns = ring_first_new_ns(ring, run);
    return numbered ? ring_cut_loss(ring, run, mine, lost) : run;
}
