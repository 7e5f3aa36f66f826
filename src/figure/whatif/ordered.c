/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ordered.c - see ordered.h.
 */
#include "ordered.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Items that are kept at most, and for how long. */
#define KEPT 16384
#define LAG INT64_C(60000000000)

void
sqt_ordered_init(struct sqt_ordered *o, size_t size, sqt_ordered_function *take, void *context)
{
    *o = (struct sqt_ordered){.size = size, .take = take, .context = context, .last = INT64_MIN};
    o->items = sqt_allocated((KEPT + 1) * size);
}

static char *
ordered_item(const struct sqt_ordered *o, unsigned place)
{
    return o->items + place * o->size;
}

static int64_t
ordered_begin(const struct sqt_ordered *o, unsigned place)
{
    int64_t begin;
    memcpy(&begin, ordered_item(o, place), sizeof(begin));
    return begin;
}

static void
ordered_move(const struct sqt_ordered *o, unsigned to, unsigned from)
{
    memcpy(ordered_item(o, to), ordered_item(o, from), o->size);
}

static void
ordered_pop(struct sqt_ordered *o)
{
    o->take(o->context, ordered_item(o, 0));
    const unsigned last = --o->count;
    unsigned place = 0;
    for (unsigned next; (next = 2 * place + 1) < last; place = next) {
        next += next + 1 < last && ordered_begin(o, next + 1) < ordered_begin(o, next);
        if (ordered_begin(o, next) >= ordered_begin(o, last))
            break;
        ordered_move(o, place, next);
    }
    if (place != last)
        ordered_move(o, place, last);
}

void
sqt_ordered_put(struct sqt_ordered *o, const void *item, int64_t end)
{
    o->last = end > o->last ? end : o->last;
    while (o->count && (o->count == KEPT || ordered_begin(o, 0) < o->last - LAG))
        ordered_pop(o);
    memcpy(ordered_item(o, KEPT), item, o->size);
    const int64_t begin = ordered_begin(o, KEPT);
    unsigned place = o->count++;
    for (unsigned up; place && ordered_begin(o, up = (place - 1) / 2) > begin; place = up)
        ordered_move(o, place, up);
    ordered_move(o, place, KEPT);
}

void
sqt_ordered_finish(struct sqt_ordered *o)
{
    while (o->count)
        ordered_pop(o);
    sqt_freed(o->items);
    o->items = NULL;
}
