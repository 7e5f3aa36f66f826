/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * window.c - see window.h.
 */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/octaves.h"
#include "row/table.h"

void
window_init(struct window *w)
{
    memset(w, 0, sizeof(*w));
    w->newest = INT64_MIN;
    for (unsigned i = 0; i < WINDOW_SECONDS; ++i)
        w->seconds[i].number = INT64_MIN;
}

void
window_free(struct window *w)
{
    for (unsigned i = 0; i < WINDOW_SECONDS; ++i)
        for (unsigned c = 0; c < SQT_CLASSES; ++c)
            free(w->seconds[i].classes[c]);
}

static int64_t
window_number(int64_t at)
{
    return at / WINDOW_SECOND - (at % WINDOW_SECOND < 0);
}

static struct window_second *
window_slot(struct window *w, int64_t number)
{
    return &w->seconds[(uint64_t)number % WINDOW_SECONDS];
}

/* Memory of classes is used again: a class that was seen once is seen again. */
static void
window_clear(struct window_second *s, int64_t number)
{
    s->number = number;
    s->lost = 0;
    memset(s->stage_ns, 0, sizeof(s->stage_ns));
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        if (s->classes[c])
            memset(s->classes[c], 0, sizeof(*s->classes[c]));
}

/* The second; NULL if it is too old. */
static struct window_second *
window_take(struct window *w, int64_t number)
{
    struct window_second *const s = window_slot(w, number);
    if (s->number > number)
        return NULL;
    if (s->number < number)
        window_clear(s, number);
    if (number > w->newest)
        w->newest = number;
    return s;
}

static unsigned
window_bucket(int64_t ns)
{
    unsigned bucket;
    const unsigned octave = sqt_octave_of(ns > 0 ? (uint64_t)ns : 0, WINDOW_BITS, &bucket);
    return octave < WINDOW_OCTAVES ? (octave << WINDOW_BITS) + bucket : WINDOW_BUCKETS - 1;
}

/* The middle of a bucket. */
static int64_t
window_value(unsigned at)
{
    const unsigned octave = at >> WINDOW_BITS, bucket = at & ((1u << WINDOW_BITS) - 1);
    if (!octave)
        return bucket;
    const int64_t width = INT64_C(1) << (octave - 1);
    return ((INT64_C(1) << WINDOW_BITS) + bucket) * width + width / 2;
}

void
window_add_request(struct window *w, int64_t at, enum sqt_class class, int64_t ns)
{
    struct window_second *const s = window_take(w, window_number(at));
    if (!s)
        return;
    if (!s->classes[class])
        s->classes[class] = sqt_zeroed(1, sizeof(*s->classes[class]));
    ++s->classes[class]->count;
    ++s->classes[class]->buckets[window_bucket(ns)];
}

void
window_forget_requests(struct window *w)
{
    for (unsigned i = 0; i < WINDOW_SECONDS; ++i)
        for (unsigned c = 0; c < SQT_CLASSES; ++c)
            if (w->seconds[i].classes[c])
                memset(w->seconds[i].classes[c], 0, sizeof(*w->seconds[i].classes[c]));
}

void
window_add_stage(struct window *w, unsigned stage, int64_t from, int64_t until)
{
    int64_t number = window_number(until);
    for (unsigned i = 0; i < WINDOW_SECONDS && until > from; ++i, --number) {
        const int64_t begin = number * WINDOW_SECOND > from ? number * WINDOW_SECOND : from;
        struct window_second *const s = window_take(w, number);
        if (s)
            s->stage_ns[stage] += until - begin;
        until = begin;
    }
}

void
window_add_lost(struct window *w, int64_t at, uint64_t records)
{
    struct window_second *const s = window_take(w, window_number(at));
    if (s)
        s->lost += records;
}

/* ---- sums ---- */

static struct window_span
window_span(int64_t from, int64_t until, int64_t begin)
{
    if (from < begin)
        from = begin;
    return (struct window_span){window_number(from), window_number(until - 1),
                                from < until ? (double)(until - from) / 1e9 : 0};
}

/* When the stretch that is called now begins. */
static int64_t
window_border(int64_t now, int64_t width)
{
    const int64_t seconds = (width + WINDOW_SECOND - 1) / WINDOW_SECOND;
    return (window_number(now) - seconds + 1) * WINDOW_SECOND;
}

struct window_span
window_now(int64_t now, int64_t width, int64_t begin)
{
    return window_span(window_border(now, width), now + 1, begin);
}

struct window_span
window_before(int64_t now, int64_t width, int64_t begin)
{
    return window_span((window_number(now) - WINDOW_SECONDS + 1) * WINDOW_SECOND, window_border(now, width), begin);
}

/* The second; NULL if nothing is in it. */
static const struct window_second *
window_get(const struct window *w, int64_t number)
{
    const struct window_second *const s = &w->seconds[(uint64_t)number % WINDOW_SECONDS];
    return s->number == number ? s : NULL;
}

void
window_sum_class(const struct window *w, const struct window_span *span, enum sqt_class class,
                 struct window_class *into)
{
    memset(into, 0, sizeof(*into));
    for (int64_t number = span->first; number <= span->last; ++number) {
        const struct window_second *const s = window_get(w, number);
        const struct window_class *const c = s ? s->classes[class] : NULL;
        if (!c || !c->count)
            continue;
        into->count += c->count;
        for (unsigned i = 0; i < WINDOW_BUCKETS; ++i)
            into->buckets[i] += c->buckets[i];
    }
}

int64_t
window_sum_stage(const struct window *w, const struct window_span *span, unsigned stage)
{
    int64_t sum = 0;
    for (int64_t number = span->first; number <= span->last; ++number) {
        const struct window_second *const s = window_get(w, number);
        sum += s ? s->stage_ns[stage] : 0;
    }
    return sum;
}

uint64_t
window_sum_lost(const struct window *w, const struct window_span *span)
{
    uint64_t sum = 0;
    for (int64_t number = span->first; number <= span->last; ++number) {
        const struct window_second *const s = window_get(w, number);
        sum += s ? s->lost : 0;
    }
    return sum;
}

int64_t
window_quantile(const struct window_class *class, unsigned per_mille)
{
    const uint64_t rank = (class->count * per_mille + 999) / 1000;
    uint64_t seen = 0;
    for (unsigned i = 0; i < WINDOW_BUCKETS && class->count; ++i) {
        seen += class->buckets[i];
        if (seen >= rank && seen)
            return window_value(i);
    }
    return SQT_CELL_MISSING;
}
