/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ledger.c - see ledger.h.
 */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scatter.h"

#define FIRST_SIZE ((size_t)1 << 12)

/* ---- places ---- */

/* Times that are too large to be true are left as they are. */
static int64_t
ledger_minute(const struct sqt_origin *origin, int64_t time)
{
    const int64_t wall = sqt_origin_wall_ns(origin);
    int64_t since, begin;
    if (__builtin_add_overflow(time, wall == INT64_MIN ? 0 : wall, &since))
        return time;
    const int64_t within = since % SQT_LEDGER_MINUTE;
    return __builtin_sub_overflow(time, within + (within < 0 ? SQT_LEDGER_MINUTE : 0), &begin) ? time : begin;
}

static size_t
ledger_chain(const struct sqt_ledger *l, const struct sqt_origin *origin, int64_t minute)
{
    const uint64_t scatter = sqt_scatter(), of_minute = sqt_scattered((uint64_t)minute, scatter);
    size_t at = (size_t)(sqt_scattered(of_minute ^ (uintptr_t)origin, scatter) >> 32) & (l->chain_count - 1);
    while (l->chains[at] &&
           (l->places[l->chains[at] - 1].origin != origin || l->places[l->chains[at] - 1].minute != minute))
        at = (at + 1) & (l->chain_count - 1);
    return at;
}

static void
ledger_chains_grow(struct sqt_ledger *l)
{
    sqt_freed(l->chains);
    l->chain_count = l->chain_count ? 2 * l->chain_count : FIRST_SIZE;
    l->chains = sqt_zeroed(l->chain_count, sizeof(*l->chains));
    for (size_t i = 0; i < l->place_count; ++i)
        l->chains[ledger_chain(l, l->places[i].origin, l->places[i].minute)] = (uint32_t)(i + 1);
}

/* NULL: there is no room for another one. */
static struct sqt_ledger_place *
ledger_place(struct sqt_ledger *l, const struct sqt_origin *origin, int64_t minute)
{
    if (2 * l->place_count >= l->chain_count)
        ledger_chains_grow(l);
    uint32_t *const chain = &l->chains[ledger_chain(l, origin, minute)];
    if (!*chain) {
        if (!l->bound->places)
            return NULL;
        --l->bound->places;
        if (l->place_count == l->place_room) {
            l->place_room = l->place_room ? 2 * l->place_room : 64;
            l->places = sqt_resized(l->places, l->place_room * sizeof(*l->places));
        }
        l->places[l->place_count] = (struct sqt_ledger_place){.origin = origin, .minute = minute, .first = UINT64_MAX};
        *chain = (uint32_t)++l->place_count;
    }
    return &l->places[*chain - 1];
}

/* ---- sums ---- */

static size_t
ledger_slot(const struct sqt_ledger *l, uint32_t account, uint32_t place)
{
    const uint64_t hash = sqt_scattered((uint64_t)account << 32 | place, sqt_scatter());
    size_t at = (size_t)(hash >> 32) & (l->size - 1);
    while (l->sums[at].account && (l->sums[at].account != account || l->sums[at].place != place))
        at = (at + 1) & (l->size - 1);
    return at;
}

static void
ledger_grow(struct sqt_ledger *l)
{
    struct sqt_ledger_sum *const old = l->sums;
    const size_t olds = l->size;
    l->size = l->size ? 2 * l->size : FIRST_SIZE;
    l->sums = sqt_zeroed(l->size, sizeof(*l->sums));
    for (size_t i = 0; i < olds; ++i)
        if (old[i].account)
            l->sums[ledger_slot(l, old[i].account, old[i].place)] = old[i];
    sqt_freed(old);
}

static void
ledger_count(struct sqt_ledger_sum *sum, uint64_t ns, int failed)
{
    sum->requests += sum->requests < UINT32_MAX;
    sum->failures += failed && sum->failures < UINT32_MAX;
    if (__builtin_add_overflow(sum->ns, ns, &sum->ns))
        sum->ns = UINT64_MAX;
}

struct sqt_ledger *
sqt_ledger_new(struct sqt_ledger_bound *bound)
{
    struct sqt_ledger *const l = sqt_zeroed(1, sizeof(*l));
    l->bound = bound;
    return l;
}

int
sqt_ledger_request(struct sqt_ledger *l, const struct sqt_origin *origin, uint64_t record, int64_t begin, uint64_t ns,
                   int failed)
{
    struct sqt_ledger_place *const place = ledger_place(l, origin, ledger_minute(origin, begin));
    l->counts = place != NULL;
    l->bound->requests += !place;
    if (!place)
        return 0;
    place->first = place->all.requests ? place->first : record;
    place->last = record;
    ledger_count(&place->all, ns, failed);
    l->place = (uint32_t)(place - l->places);
    l->failed = failed;
    return 1;
}

void
sqt_ledger_add(struct sqt_ledger *l, uint32_t *account, uint64_t ns)
{
    if (!l->counts)
        return;
    if (2 * l->used >= l->size)
        ledger_grow(l);
    *account = *account ? *account : ++l->accounts;
    struct sqt_ledger_sum *const sum = &l->sums[ledger_slot(l, *account, l->place)];
    if (!sum->account && !l->bound->sums) {
        ++l->bound->parts;
        return;
    }
    l->bound->sums -= !sum->account;
    l->used += !sum->account;
    sum->account = *account;
    sum->place = l->place;
    ledger_count(sum, ns, l->failed);
}

static int
ledger_compare(const void *a, const void *b)
{
    const struct sqt_ledger_sum *const x = a, *const y = b;
    if (x->account != y->account)
        return x->account < y->account ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void
sqt_ledger_sort(struct sqt_ledger *l)
{
    size_t used = 0;
    for (size_t i = 0; i < l->size; ++i)
        if (l->sums[i].account)
            l->sums[used++] = l->sums[i];
    if (used)
        qsort(l->sums, used, sizeof(*l->sums), ledger_compare);
}

static size_t
ledger_first(const struct sqt_ledger *l, uint32_t account)
{
    size_t low = 0, high = l->used;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (l->sums[middle].account < account)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sqt_ledger_sum *
sqt_ledger_of(const struct sqt_ledger *l, uint32_t account, size_t *count)
{
    const size_t first = account ? ledger_first(l, account) : 0;
    *count = account ? ledger_first(l, account + 1) - first : 0;
    return *count ? l->sums + first : NULL;
}

void
sqt_ledger_free(struct sqt_ledger *l)
{
    if (!l)
        return;
    sqt_freed(l->places);
    sqt_freed(l->chains);
    sqt_freed(l->sums);
    sqt_freed(l);
}
