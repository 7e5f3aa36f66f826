/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare-scores.c - what the requests of a name took beyond others that are alike, and what chance gives.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compare.h"

#define SHUFFLES 20

void
sqt_scores_fill(struct scores *s, const struct compared *kept, size_t count, enum compare_kind kind,
                const uint16_t *shuffled)
{
    memset(s->of, 0, sizeof(s->of));
    memset(s->strata, 0, sizeof(s->strata));
    memset(s->cells, 0, s->names_count * s->strata_count * sizeof(*s->cells));
    for (size_t i = 0; i < count; ++i) {
        const struct compared *const r = &kept[i];
        const uint16_t name = shuffled ? shuffled[i] : r->names[kind];
        struct sums *const sums[] = {&s->of[name], &s->strata[r->strata[s->level]],
                                     &s->cells[name * s->strata_count + r->strata[s->level]]};
        for (unsigned k = 0; k < sizeof(sums) / sizeof(*sums); ++k) {
            sums[k]->felt += r->felt;
            ++sums[k]->count;
        }
    }
}

/* What the requests of a name took beyond others that are alike; where there are hardly any, they do not count. */
static double
scores_excess(const struct scores *s, size_t name, struct sums *compared)
{
    double excess = 0;
    *compared = (struct sums){0, 0};
    for (size_t k = 0; k < s->strata_count; ++k) {
        const struct sums *const its = &s->cells[name * s->strata_count + k], *const all = &s->strata[k];
        const double others = all->count - its->count;
        if (its->count < 1 || others < LEAST_REQUESTS)
            continue;
        excess += its->felt - its->count * (all->felt - its->felt) / others;
        compared->felt += its->felt;
        compared->count += its->count;
    }
    return excess;
}

double
sqt_scores_largest(const struct scores *s, size_t *name, struct sums *compared)
{
    double largest = 0;
    struct sums its;
    *name = 0;
    *compared = (struct sums){0, 0};
    for (size_t i = 1; i < s->names_count; ++i) {
        const double excess = scores_excess(s, i, &its);
        if (excess > largest) {
            largest = excess;
            *name = i;
            *compared = its;
        }
    }
    return largest;
}

/* The same numbers for each trace: a xorshift generator. */
static uint32_t
compare_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

struct by_stratum {
    uint16_t stratum;
    uint32_t index;
};

static int
compare_by_stratum(const void *a, const void *b)
{
    const struct by_stratum *const x = a, *const y = b;
    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Names change places among requests that are alike. */
static void
compare_shuffle(const struct compare *c, enum compare_kind kind, const struct by_stratum *order, uint16_t *shuffled,
                uint32_t *random)
{
    for (size_t i = 0; i < c->count; ++i)
        shuffled[order[i].index] = c->kept[order[i].index].names[kind];
    for (size_t begin = 0, end; begin < c->count; begin = end) {
        for (end = begin + 1; end < c->count && order[end].stratum == order[begin].stratum; ++end)
            ;
        for (size_t i = end - 1; i > begin; --i) {
            const size_t k = begin + compare_random(random) % (i - begin + 1);
            const uint16_t kept = shuffled[order[i].index];
            shuffled[order[i].index] = shuffled[order[k].index];
            shuffled[order[k].index] = kept;
        }
    }
}

/* What chance alone gives. */
double
sqt_compare_chance(struct compare *c, enum compare_kind kind, struct scores *s)
{
    struct by_stratum *const order = sqt_zeroed(c->count + 1, sizeof(*order));
    uint16_t *const shuffled = sqt_zeroed(c->count + 1, sizeof(*shuffled));
    uint32_t random = 2463534242;
    double largest = 0;
    for (size_t i = 0; i < c->count; ++i)
        order[i] = (struct by_stratum){c->kept[i].strata[s->level], (uint32_t)i};
    qsort(order, c->count, sizeof(*order), compare_by_stratum);
    for (unsigned i = 0; i < SHUFFLES; ++i) {
        size_t name;
        struct sums compared;
        compare_shuffle(c, kind, order, shuffled, &random);
        sqt_scores_fill(s, c->kept, c->count, kind, shuffled);
        const double score = sqt_scores_largest(s, &name, &compared);
        largest = score > largest ? score : largest;
    }
    sqt_freed(order);
    sqt_freed(shuffled);
    return largest;
}
