/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * limit.c - see limit.h.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "limit.h"

/* Requests that are looked at: the first ones. */
#define KEPT 65536
/* Room for so many at first, and for twice as many when that is full. */
#define ROOM_AT_FIRST 1024
_Static_assert(KEPT % ROOM_AT_FIRST == 0 && !(KEPT & (KEPT - 1)), "room that is doubled is never more than is kept");
/* So many are denied, and so many are not, at least. */
#define LEAST 20
/* Nearly all denied ones have as many under way as nearly all others, or more: in %. */
#define NEARLY_ALL 95
/* More under way count as so many. */
#define MOST 4096
/* Fewer under way are no limit. */
#define SMALLEST 3

void
sqt_limit_add(struct sqt_limit *all, int64_t begin, int64_t end, int denied)
{
    if (all->count == KEPT)
        return;
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : ROOM_AT_FIRST;
        all->spans = sqt_resized(all->spans, all->room * sizeof(*all->spans));
    }
    all->spans[all->count++] = (struct sqt_limit_span){begin, end, denied};
}

static int
limit_by_begin(const void *a, const void *b)
{
    const struct sqt_limit_span *const x = a, *const y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int
limit_by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* How many requests were under way when each began, of those that were denied and of the others. */
static void
limit_count(struct sqt_limit_span *spans, size_t count, unsigned under_way[2][MOST + 1])
{
    int64_t *const ends = sqt_zeroed(count, sizeof(*ends));
    size_t ended = 0;
    for (size_t i = 0; i < count; ++i)
        ends[i] = spans[i].end;
    qsort(ends, count, sizeof(*ends), limit_by_time);
    qsort(spans, count, sizeof(*spans), limit_by_begin);
    for (size_t i = 0; i < count; ++i) {
        while (ended < i && ends[ended] <= spans[i].begin)
            ++ended;
        ++under_way[spans[i].denied][i - ended < MOST ? i - ended : MOST];
    }
    sqt_freed(ends);
}

unsigned
sqt_limit_of(const struct sqt_limit *all)
{
    size_t denied = 0;
    for (size_t i = 0; i < all->count; ++i)
        denied += (size_t)all->spans[i].denied;
    if (denied < LEAST)
        return 0;
    unsigned(*const under_way)[MOST + 1] = sqt_zeroed(2, sizeof(*under_way));
    unsigned sums[2] = {0, 0}, fewest = MOST, seen = 0, limit = MOST + 1;
    limit_count(all->spans, all->count, under_way);
    for (unsigned n = 0; n <= MOST; ++n) {
        sums[0] += under_way[0][n];
        sums[1] += under_way[1][n];
    }
    for (unsigned n = 0; n <= MOST && limit > MOST; ++n) {
        seen += under_way[1][n];
        limit = 100 * seen > (100 - NEARLY_ALL) * sums[1] ? n : limit;
    }
    seen = 0;
    for (unsigned n = 0; n <= MOST && 100 * seen < NEARLY_ALL * sums[0]; ++n) {
        seen += under_way[0][n];
        fewest = n;
    }
    sqt_freed(under_way);
    return sums[0] >= LEAST && limit >= fewest && limit >= SMALLEST ? limit : 0;
}
