/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * when.c - see when.h.
 */
#include "when.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scatter.h"
#include "format/varint.h"

/* Entries of the table of recent sums at first.  Whenever it is full it becomes twice as large, up to the usual size, and
 * beyond that where it has less than a part in so many of what is packed: packing reads and writes all. */
#define FIRST_SIZE ((size_t)1 << 6)
#define USUAL_SIZE ((size_t)1 << 12)
#define PACKED_PART 16

/* Bytes of the longest sum, and behind the last one: reading and writing a varint may touch so many. */
#define SUM_MAX ((size_t)5 * VARINT_MAX)

/* Bad windows that lie closer together than that many are one episode. */
#define GAP 4
/* A pattern is throughout where that many percent of the active windows are bad, from the first fifth to the last. */
#define THROUGHOUT 70

static size_t
when_place(const struct sqt_when *w, uint32_t series, uint32_t window)
{
    const uint64_t hash = sqt_scattered((uint64_t)series << 32 | window, sqt_scatter());
    size_t at = (size_t)(hash >> 32) & (w->size - 1);
    while (w->sums[at].series && (w->sums[at].series != series || w->sums[at].window != window))
        at = (at + 1) & (w->size - 1);
    return at;
}

static int
when_compare(const void *a, const void *b)
{
    const struct sqt_when_sum *const x = a, *const y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->window < y->window ? -1 : x->window > y->window;
}

/* ---- packed sums ---- */

/* Reads packed sums one after the other, with windows that are so many times as wide. */
struct when_reader {
    const uint8_t *next;
    size_t left;
    uint32_t series, window; /* of the last one, as it is packed */
    unsigned wider;
    struct sqt_when_sum sum; /* the present one; series 0: there is no more */
};

static uint64_t
when_get(struct when_reader *r)
{
    int failed = 0;
    const struct pack_got got = pack_get(r->next, &failed);
    r->next = got.next;
    return got.value;
}

static void
when_read(struct when_reader *r)
{
    if (!r->left) {
        r->sum.series = 0;
        return;
    }
    --r->left;
    const uint64_t head = when_get(r);
    if (head & 1) {
        r->series += (uint32_t)(head >> 1);
        r->window = (uint32_t)when_get(r);
    } else {
        r->window += (uint32_t)(head >> 1);
    }
    r->sum.series = r->series;
    r->sum.window = r->window / r->wider;
    r->sum.count = (uint32_t)when_get(r);
    r->sum.ns = when_get(r);
}

static struct when_reader
when_reader_begin(const struct sqt_when *w, unsigned wider)
{
    struct when_reader r = {.next = w->packed, .left = w->packed_count, .wider = wider};
    when_read(&r);
    return r;
}

/* Writes sums in their order; those of the same window become one. */
struct when_writer {
    uint8_t *begin, *next;
    size_t count;
    uint32_t series, window; /* of the last one that was packed */
    struct sqt_when_sum sum; /* the present one; series 0: there is none */
};

static void
when_write_out(struct when_writer *w)
{
    const struct sqt_when_sum *const s = &w->sum;
    if (!s->series)
        return;
    if (s->series == w->series) {
        w->next = pack_put(w->next, (uint64_t)(s->window - w->window) << 1);
    } else {
        w->next = pack_put(w->next, (uint64_t)(s->series - w->series) << 1 | 1);
        w->next = pack_put(w->next, s->window);
    }
    w->next = pack_put(w->next, s->count);
    w->next = pack_put(w->next, s->ns);
    w->series = s->series;
    w->window = s->window;
    ++w->count;
}

static void
when_write(struct when_writer *w, const struct sqt_when_sum *sum)
{
    if (w->sum.series == sum->series && w->sum.window == sum->window) {
        w->sum.ns += sum->ns;
        w->sum.count += sum->count;
        return;
    }
    when_write_out(w);
    w->sum = *sum;
}

/* The packed sums become windows that are so many times as wide, and the recent ones, which are in order, are packed with them:
 * either of the two at a time. */
static void
when_merge(struct sqt_when *w, size_t recent, unsigned wider)
{
    struct when_reader r = when_reader_begin(w, wider);
    struct when_writer to = {.begin = sqt_allocated(w->packed_bytes + (recent + 1) * SUM_MAX)};
    size_t i = 0;
    to.next = to.begin;
    while (r.sum.series || i < recent)
        if (i == recent || (r.sum.series && when_compare(&r.sum, &w->sums[i]) < 0)) {
            when_write(&to, &r.sum);
            when_read(&r);
        } else {
            when_write(&to, &w->sums[i++]);
        }
    when_write_out(&to);
    sqt_freed(w->packed);
    w->packed_bytes = (size_t)(to.next - to.begin);
    w->packed = sqt_resized(to.begin, w->packed_bytes + SUM_MAX);
    memset(w->packed + w->packed_bytes, 0, SUM_MAX);
    w->packed_count = to.count;
    w->width *= wider;
}

/* Packs the recent sums. */
static void
when_pack(struct sqt_when *w)
{
    const size_t most = w->most ? w->most : SQT_WHEN_MOST;
    size_t recent = 0;
    for (size_t i = 0; i < w->size; ++i)
        if (w->sums[i].series)
            w->sums[recent++] = w->sums[i];
    qsort(w->sums, recent, sizeof(*w->sums), when_compare);
    when_merge(w, recent, 1);
    while (w->packed_count > most && w->width < INT64_MAX / 4)
        when_merge(w, 0, 2);
    w->used = 0;
}

/* Makes room for recent sums, none of which is there. */
static void
when_make_room(struct sqt_when *w)
{
    if (w->size < USUAL_SIZE || w->packed_count > PACKED_PART * w->size) {
        w->size = w->size ? 2 * w->size : FIRST_SIZE;
        w->sums = sqt_resized(w->sums, w->size * sizeof(*w->sums));
    }
    memset(w->sums, 0, w->size * sizeof(*w->sums));
}

/* ---- adding, and what comes after ---- */

void
sqt_when_add(struct sqt_when *w, uint32_t series, int64_t at, uint64_t ns, uint32_t count)
{
    if (!w->size) {
        w->width = SQT_WHEN_WIDTH;
        when_make_room(w);
    } else if (2 * w->used >= w->size) {
        when_pack(w);
        when_make_room(w);
    }
    const uint64_t window = at > 0 ? (uint64_t)(at / w->width) : 0;
    const uint32_t number = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;
    struct sqt_when_sum *const sum = &w->sums[when_place(w, series, number)];
    w->used += !sum->series;
    sum->series = series;
    sum->window = number;
    sum->ns += ns;
    sum->count += count;
}

void
sqt_when_sort(struct sqt_when *w)
{
    if (!w->sums || w->sorted)
        return;
    w->sorted = 1;
    when_pack(w);
    sqt_freed(w->sums);
    w->used = w->packed_count;
    w->sums = sqt_allocated(w->used * sizeof(*w->sums));
    struct when_reader r = when_reader_begin(w, 1);
    for (size_t i = 0; r.sum.series; when_read(&r))
        w->sums[i++] = r.sum;
    sqt_freed(w->packed);
    w->packed = NULL;
    w->packed_count = w->packed_bytes = 0;
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
    sqt_freed(w->sums);
    sqt_freed(w->packed);
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
