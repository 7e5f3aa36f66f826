/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lanes.c - see lanes.h.
 */
#include "lanes.h"

#include <stdlib.h>

#include "base/memory.h"

/* A server that is busy for longer is not free before that, ns: sums of long services would overflow. */
#define LANES_MOST (INT64_C(1) << 61)

void
sqt_lanes_init(struct sqt_lanes *lanes, unsigned count)
{
    lanes->count = count;
    lanes->free_at = sqt_allocated(count * sizeof(*lanes->free_at));
    for (unsigned i = 0; i < count; ++i)
        lanes->free_at[i] = INT64_MIN;
}

int64_t
sqt_lanes_take(struct sqt_lanes *lanes, int64_t now, int64_t service)
{
    int64_t *const heap = lanes->free_at;
    const int64_t starts = heap[0] > now ? heap[0] : now;
    const int64_t ends = service < LANES_MOST - starts ? starts + service : LANES_MOST;
    unsigned place = 0;
    for (unsigned next; (next = 2 * place + 1) < lanes->count; place = next) {
        next += next + 1 < lanes->count && heap[next + 1] < heap[next];
        if (heap[next] >= ends)
            break;
        heap[place] = heap[next];
    }
    heap[place] = ends;
    return starts;
}

void
sqt_lanes_free(struct sqt_lanes *lanes)
{
    sqt_freed(lanes->free_at);
}
