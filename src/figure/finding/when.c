/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * when.c - see when.h.
 */
#include "when.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_SIZE ((size_t)1 << 12)

/* Bad windows that lie closer together than that many are one episode. */
#define GAP 4
/* A pattern is throughout where that many percent of the active windows are bad, from the first fifth to the last. */
#define THROUGHOUT 70

static size_t
when_place(const struct sqt_when *w, uint32_t series, uint32_t window)
{
    const uint64_t hash = ((uint64_t)series << 32 | window) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (w->size - 1);
    while (w->sums[at].series && (w->sums[at].series != series || w->sums[at].window != window))
        at = (at + 1) & (w->size - 1);
    return at;
}

static void
when_put(struct sqt_when *w, uint32_t series, uint32_t window, uint64_t ns, uint32_t count)
{
    struct sqt_when_sum *const sum = &w->sums[when_place(w, series, window)];
    w->used += !sum->series;
    sum->series = series;
    sum->window = window;
    sum->ns += ns;
    sum->count += count;
}

/* All sums again in a table of that size, with windows that are so many times as wide. */
static void
when_again(struct sqt_when *w, size_t size, unsigned wider)
{
    struct sqt_when_sum *const old = w->sums;
    const size_t olds = w->size;
    w->sums = sqt_zeroed(size, sizeof(*w->sums));
    w->size = size;
    w->used = 0;
    w->width *= wider;
    for (size_t i = 0; i < olds; ++i)
        if (old[i].series)
            when_put(w, old[i].series, old[i].window / wider, old[i].ns, old[i].count);
    free(old);
}

static void
when_make_room(struct sqt_when *w)
{
    const size_t most = w->most ? w->most : SQT_WHEN_MOST;
    if (!w->size) {
        w->width = SQT_WHEN_WIDTH;
        when_again(w, FIRST_SIZE, 1);
    } else if (w->used * 2 >= w->size && w->size < 2 * most) {
        when_again(w, 2 * w->size, 1);
    } else {
        while (w->used * 2 >= w->size && w->width < INT64_MAX / 4)
            when_again(w, w->size, 2);
    }
}

void
sqt_when_add(struct sqt_when *w, uint32_t series, int64_t at, uint64_t ns, uint32_t count)
{
    if (!w->size || w->used * 2 >= w->size)
        when_make_room(w);
    const uint64_t window = at > 0 ? (uint64_t)(at / w->width) : 0;
    when_put(w, series, window < UINT32_MAX ? (uint32_t)window : UINT32_MAX, ns, count);
}

static int
when_compare(const void *a, const void *b)
{
    const struct sqt_when_sum *const x = a, *const y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->window < y->window ? -1 : x->window > y->window;
}

void
sqt_when_sort(struct sqt_when *w)
{
    size_t used = 0;
    for (size_t i = 0; i < w->size; ++i)
        if (w->sums[i].series)
            w->sums[used++] = w->sums[i];
    if (used)
        qsort(w->sums, used, sizeof(*w->sums), when_compare);
}

/* The first sum of a series, or of the next one. */
static size_t
when_first(const struct sqt_when *w, uint32_t series)
{
    size_t low = 0, high = w->used;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (w->sums[middle].series < series)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sqt_when_sum *
sqt_when_of(const struct sqt_when *w, uint32_t series, size_t *count)
{
    const size_t first = when_first(w, series);
    *count = when_first(w, series + 1) - first;
    return first < w->used ? w->sums + first : w->sums;
}

void
sqt_when_free(struct sqt_when *w)
{
    free(w->sums);
    *w = (struct sqt_when){.most = w->most};
}

/* ---- patterns ---- */

static unsigned
when_episodes(const uint32_t *bad, size_t bads)
{
    unsigned episodes = 1;
    for (size_t i = 1; i < bads; ++i)
        episodes += bad[i] - bad[i - 1] > GAP;
    return episodes;
}

static double
when_mean(const double *sizes, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += sizes[i];
    return count ? sum / (double)count : 0;
}

/* Whether it is worse in each third than in the one before, and three times as bad in the last one as in the first. */
static int
when_grows(const double *sizes, size_t count)
{
    const size_t third = count / 3;
    if (!sizes || third < 3)
        return 0;
    const double first = when_mean(sizes, third), middle = when_mean(sizes + third, third),
                 last = when_mean(sizes + count - third, third);
    return first < middle && middle < last && last >= 3 * first;
}

/* How many active windows lie between the first and the last bad one. */
static size_t
when_between(const uint32_t *active, size_t actives, uint32_t from, uint32_t to)
{
    size_t count = 0;
    for (size_t i = 0; i < actives; ++i)
        count += active[i] >= from && active[i] <= to;
    return count;
}

void
sqt_when_pattern(struct sqt_told *told, const uint32_t *bad, const double *sizes, size_t bads, const uint32_t *active,
                 size_t actives, uint32_t last, int64_t width)
{
    const uint32_t from = bad[0], to = bad[bads - 1], first = actives ? active[0] : from;
    const uint32_t fifth = (last - first) / 5;
    const int dense = bads * 100 >= when_between(active, actives, from, to) * THROUGHOUT;
    const int at_begin = from - first <= fifth, at_end = (uint64_t)to + fifth >= last;
    told->since = (int64_t)from * width;
    told->until = ((int64_t)to + 1) * width;
    told->pattern = at_begin && at_end && dense               ? SQT_PATTERN_THROUGHOUT
                    : when_episodes(bad, bads) >= 3           ? SQT_PATTERN_RECURRING
                    : dense && (uint64_t)to + 2 * GAP >= last ? SQT_PATTERN_SINCE
                                                              : SQT_PATTERN_ONCE;
    if ((told->pattern == SQT_PATTERN_THROUGHOUT || told->pattern == SQT_PATTERN_SINCE) && when_grows(sizes, bads))
        told->pattern = SQT_PATTERN_GROWING;
}
