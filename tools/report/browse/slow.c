/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slow.c - the slowest requests of each class in each slice of time.
 *
 * Whatever the length of the trace, there are at most BROWSE_SLICES slices: where time goes beyond the last, two become
 * one, with the slowest of both.
 */
#include "browse-internal.h"

/* The place of the fastest one, or a free one. */
static unsigned
slow_place(struct browse_request *const cell[BROWSE_SLOWEST])
{
    unsigned at = 0;
    for (unsigned i = 0; i < BROWSE_SLOWEST; ++i) {
        if (!cell[i])
            return i;
        if (cell[i]->total < cell[at]->total)
            at = i;
    }
    return at;
}

static void
slow_put(struct browse_slow *slow, struct browse_request *cell[BROWSE_SLOWEST], struct browse_request *request,
         browse_gone *gone, void *context)
{
    const unsigned at = slow_place(cell);
    struct browse_request *out = cell[at];
    if (out && out->total >= request->total)
        out = request;
    else
        cell[at] = request;
    if (out) {
        slow->bytes -= out->size;
        gone(context, out);
    }
}

static void
slow_double(struct browse_slow *slow, browse_gone *gone, void *context)
{
    slow->slice *= 2;
    for (unsigned s = 0; s < BROWSE_SLICES; ++s)
        for (unsigned c = 0; c < BROWSE_CLASSES; ++c) {
            struct browse_request *moved[BROWSE_SLOWEST];
            for (unsigned i = 0; i < BROWSE_SLOWEST; ++i) {
                moved[i] = slow->cells[s][c][i];
                slow->cells[s][c][i] = NULL;
            }
            for (unsigned i = 0; i < BROWSE_SLOWEST; ++i)
                if (moved[i])
                    slow_put(slow, slow->cells[s / 2][c], moved[i], gone, context);
        }
}

/* Its slice; lost begins are in the first one. */
static unsigned
slow_slice(const struct browse_slow *slow, int64_t at)
{
    return at > 0 ? (unsigned)(at / slow->slice) : 0;
}

int
browse_slow_wants(struct browse_slow *slow, int64_t at, unsigned class, int64_t total, browse_gone *gone, void *context)
{
    while (at > 0 && at / slow->slice >= BROWSE_SLICES)
        slow_double(slow, gone, context);
    struct browse_request *const *const cell = slow->cells[slow_slice(slow, at)][class];
    const struct browse_request *const least = cell[slow_place(cell)];
    return !least || least->total < total;
}

void
browse_slow_take(struct browse_slow *slow, int64_t at, unsigned class, struct browse_request *request,
                 browse_gone *gone, void *context)
{
    slow->bytes += request->size;
    slow_put(slow, slow->cells[slow_slice(slow, at)][class], request, gone, context);
}
