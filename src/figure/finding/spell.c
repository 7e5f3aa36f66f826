/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spell.c - see spell.h.
 */
#include "spell.h"

#include <stdlib.h>

#include "base/memory.h"

/* So many of those that it met are to be expected in a window. */
#define EXPECTED 4
/* It is throughout if that many percent of all lie between since and until. */
#define THROUGHOUT 90

static uint64_t
spell_count(const struct sqt_when_sum *sums, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; ++i)
        total += sums[i].count;
    return total;
}

/* How many windows are one: few of those that it met are spread over many. */
static uint32_t
spell_factor(const struct sqt_when_sum *met, size_t count)
{
    const uint64_t windows = (uint64_t)met[count - 1].window - met[0].window + 1;
    const uint64_t expected = spell_count(met, count) / EXPECTED;
    const uint64_t factor = expected ? (windows + expected - 1) / expected : windows;
    return factor < UINT32_MAX ? (uint32_t)factor : UINT32_MAX;
}

/* The sum of the next window of that width, and where the one after it begins. */
static uint64_t
spell_take(const struct sqt_when_sum *sums, size_t count, size_t *at, uint32_t window, uint32_t factor)
{
    uint64_t total = 0;
    while (*at < count && sums[*at].window / factor < window)
        ++*at;
    for (; *at < count && sums[*at].window / factor == window; ++*at)
        total += sums[*at].count;
    return total;
}

static struct sqt_spell
spell_between(const struct sqt_told *told, const struct sqt_when *when, uint32_t met, uint32_t all)
{
    struct sqt_spell spell = {0, 0};
    const uint32_t series[] = {met, all};
    uint64_t *const sums[] = {&spell.met, &spell.all};
    for (unsigned k = 0; k < 2; ++k) {
        size_t count;
        const struct sqt_when_sum *const s = sqt_when_of(when, series[k], &count);
        for (size_t i = 0; i < count; ++i)
            if (s[i].window * when->width >= told->since && s[i].window * when->width < told->until)
                *sums[k] += s[i].count;
    }
    return spell;
}

struct sqt_spell
sqt_spell_tell(struct sqt_told *told, const struct sqt_when *when, uint32_t met, uint32_t all)
{
    size_t met_count, all_count, i = 0, k = 0, bads = 0, actives = 0;
    const struct sqt_when_sum *const its = sqt_when_of(when, met, &met_count);
    const struct sqt_when_sum *const others = sqt_when_of(when, all, &all_count);
    if (!met_count || !all_count)
        return (struct sqt_spell){0, 0};
    const uint32_t factor = spell_factor(its, met_count);
    const double share = (double)spell_count(its, met_count) / (double)spell_count(others, all_count);
    uint32_t *const bad = sqt_zeroed(2 * all_count + 1, sizeof(*bad)), *const active = bad + all_count;
    while (k < all_count) {
        const uint32_t window = others[k].window / factor;
        const uint64_t here = spell_take(others, all_count, &k, window, factor);
        const uint64_t mine = spell_take(its, met_count, &i, window, factor);
        active[actives++] = window;
        if (mine && 2 * (double)mine >= share * (double)here)
            bad[bads++] = window;
    }
    if (bads)
        sqt_when_pattern(told, bad, NULL, bads, active, actives, active[actives - 1], when->width * factor);
    const uint32_t last = bads ? bad[bads - 1] : 0, end = actives ? active[actives - 1] : 0;
    sqt_freed(bad);
    const struct sqt_spell spell = spell_between(told, when, met, all);
    if (told->pattern == SQT_PATTERN_THROUGHOUT &&
        sqt_spell_percent(spell.all, spell_count(others, all_count)) < THROUGHOUT)
        told->pattern = last == end ? SQT_PATTERN_SINCE : SQT_PATTERN_ONCE;
    return spell;
}
