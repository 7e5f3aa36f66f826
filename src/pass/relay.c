/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * relay.c - see relay.h.
 *
 * Batches go round: the owner fills the next, the crew empties the oldest that is full.
 *
 *     [ emptied ][ emptying ][ full ][ filling ]
 *
 * Without a crew there is one, emptied when it is full.
 */
#include "relay.h"

#include <stdlib.h>

#include "base/memory.h"

#define BATCHES 16
#define BATCH ((size_t)128 << 10)

struct batch {
    struct sqt_task task;
    const struct sqt_relay *relay;
    size_t used, count;
    struct sqt_relay_fact facts[SQT_RELAY_FACTS];
    _Alignas(8) unsigned char bytes[BATCH];
};

struct sqt_relay {
    sqt_relay_function *function;
    void *context;
    struct sqt_crew *crew; /* NULL: all is done in this thread */
    unsigned filling;
    struct batch batches[BATCHES];
};

static void
relay_empty(void *context)
{
    struct batch *const batch = context;
    batch->relay->function(batch->relay->context, batch->facts, batch->count);
    batch->used = batch->count = 0;
}

struct sqt_relay *
sqt_relay_new(sqt_relay_function *function, void *context, struct sqt_crew *crew)
{
    struct sqt_relay *const r = sqt_zeroed(1, sizeof(*r));
    r->function = function;
    r->context = context;
    r->crew = crew;
    for (unsigned i = 0; i < BATCHES; ++i) {
        r->batches[i].task = (struct sqt_task){.function = relay_empty, .context = &r->batches[i]};
        r->batches[i].relay = r;
    }
    return r;
}

/* The batch being filled is full; waits for the next to be empty. */
static void
hand_over(struct sqt_relay *r)
{
    if (!r->crew) {
        relay_empty(&r->batches[r->filling]);
        return;
    }
    sqt_crew_give(r->crew, SQT_LANE_FIGURES, &r->batches[r->filling].task);
    r->filling = (r->filling + 1) % BATCHES;
    sqt_crew_wait(r->crew, &r->batches[r->filling].task);
}

void *
sqt_relay_next(struct sqt_relay *r, unsigned kind, size_t size)
{
    size = (size + 7) / 8 * 8;
    struct batch *batch = &r->batches[r->filling];
    if (batch->used + size > BATCH || batch->count == SQT_RELAY_FACTS) {
        hand_over(r);
        batch = &r->batches[r->filling];
    }
    void *const fact = &batch->bytes[batch->used];
    batch->facts[batch->count++] = (struct sqt_relay_fact){kind, fact};
    batch->used += size;
    return fact;
}

void
sqt_relay_finish(struct sqt_relay *r)
{
    hand_over(r);
    for (unsigned i = 0; r->crew && i < BATCHES; ++i)
        sqt_crew_wait(r->crew, &r->batches[i].task);
    free(r);
}
