/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ceiling.c - see ceiling.h.
 */
#include "ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define SECOND 1e9
/* Windows are a second wide at first; when there are too many, they become twice as wide. */
#define WINDOWS 2048
/* There is room for so many at first. */
#define FIRST_WINDOWS 64
/* A window is busy with so many at once.  So many busy ones say something. */
#define AT_ONCE 4
#define LEAST 6
/* In the busiest third there are so many times as many as in the least busy one, and what they bring grows by at most that
 * part of what their number grows by. */
#define MORE 1.5
#define FLAT 0.4

struct sqt_ceiling_window {
    double brings, ns;           /* of all in it */
    double brings_step, ns_step; /* what each window from here on has more than that, until ceiling_settle() */
};

/* Steps become sums. */
static void
ceiling_settle(struct sqt_ceiling *c)
{
    double brings = 0, ns = 0;
    for (unsigned i = 0; i < c->count; ++i) {
        struct sqt_ceiling_window *const w = &c->windows[i];
        brings += w->brings_step;
        ns += w->ns_step;
        w->brings += brings;
        w->ns += ns;
        w->brings_step = w->ns_step = 0;
    }
}

/* Makes room for that window. */
static void
ceiling_have(struct sqt_ceiling *c, unsigned window)
{
    unsigned count = c->count ? c->count : FIRST_WINDOWS;
    while (count <= window)
        count *= 2;
    if (count == c->count)
        return;
    c->windows = sqt_resized(c->windows, count * sizeof(*c->windows));
    memset(c->windows + c->count, 0, (count - c->count) * sizeof(*c->windows));
    c->count = count;
}

static void
ceiling_widen(struct sqt_ceiling *c)
{
    ceiling_settle(c);
    for (unsigned i = 0; i < c->count; ++i) {
        const struct sqt_ceiling_window none = {0, 0, 0, 0}, *const one = &c->windows[2 * i], *const other = one + 1;
        c->windows[i] = i < c->count / 2
                            ? (struct sqt_ceiling_window){one->brings + other->brings, one->ns + other->ns, 0, 0}
                            : none;
    }
    c->width *= 2;
}

static void
ceiling_part(struct sqt_ceiling *c, unsigned window, double ns, double rate)
{
    c->windows[window].ns += ns;
    c->windows[window].brings += ns * rate;
}

void
sqt_ceiling_add(struct sqt_ceiling *c, int64_t begin, int64_t end, double brings)
{
    const double from = (double)begin, until = (double)end;
    if (until <= from)
        return;
    const double rate = brings / (until - from);
    if (!c->windows)
        c->width = SECOND;
    while (until >= c->width * WINDOWS)
        ceiling_widen(c);
    const unsigned first = (unsigned)(from / c->width), last = (unsigned)(until / c->width);
    ceiling_have(c, last);
    if (first == last) {
        ceiling_part(c, first, until - from, rate);
        return;
    }
    ceiling_part(c, first, (first + 1) * c->width - from, rate);
    ceiling_part(c, last, until - last * c->width, rate);
    c->windows[first + 1].ns_step += c->width;
    c->windows[first + 1].brings_step += c->width * rate;
    c->windows[last].ns_step -= c->width;
    c->windows[last].brings_step -= c->width * rate;
}

static int
ceiling_compare(const void *a, const void *b)
{
    const struct sqt_ceiling_window *const x = a, *const y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The busy windows to the front, those with fewest at once first.  Returns how many. */
static unsigned
ceiling_busy(struct sqt_ceiling *c)
{
    unsigned count = 0;
    for (unsigned i = 0; i < c->count; ++i)
        if (c->windows[i].ns >= AT_ONCE * c->width)
            c->windows[count++] = c->windows[i];
    if (count)
        qsort(c->windows, count, sizeof(*c->windows), ceiling_compare);
    return count;
}

static struct sqt_ceiling_mean
ceiling_mean(const struct sqt_ceiling *c, unsigned first, unsigned count)
{
    struct sqt_ceiling_mean mean = {0, 0};
    for (unsigned i = first; i < first + count; ++i) {
        mean.at_once += c->windows[i].ns / c->width / count;
        mean.rate += c->windows[i].brings / c->width * SECOND / count;
    }
    return mean;
}

int
sqt_ceiling_is_reached(struct sqt_ceiling *c, struct sqt_ceiling_mean *few, struct sqt_ceiling_mean *many)
{
    if (!c->windows)
        return 0;
    ceiling_settle(c);
    const unsigned busy = ceiling_busy(c), third = busy / 3;
    if (busy < LEAST)
        return 0;
    *few = ceiling_mean(c, 0, third);
    *many = ceiling_mean(c, busy - third, third);
    return many->at_once >= MORE * few->at_once &&
           many->rate / few->rate - 1 <= FLAT * (many->at_once / few->at_once - 1);
}

void
sqt_ceiling_free(struct sqt_ceiling *c)
{
    sqt_freed(c->windows);
    c->windows = NULL;
    c->count = 0;
}
