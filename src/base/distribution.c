/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * distribution.c - see distribution.h.
 */
#include "distribution.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "octaves.h"

/* Then an octave has eight buckets. */
#define HALVINGS_MOST 6

/* ---- histograms: see octaves.h ---- */

static void
locate(int64_t value, unsigned *octave, unsigned *bucket)
{
    *octave = sqt_octave_of((uint64_t)value, SQT_OCTAVE_BITS, bucket);
}

/* Buckets of an octave after so many halvings. */
static unsigned
buckets_of(unsigned halvings)
{
    return SQT_OCTAVE_BUCKETS >> halvings;
}

/* Of the bucket that is so many times twice as wide. */
static int64_t
middle(unsigned octave, unsigned bucket, unsigned halvings)
{
    const unsigned shift = (octave ? octave - 1 : 0) + halvings;
    const uint64_t first = octave ? bucket + buckets_of(halvings) : bucket;
    return (int64_t)(first << shift | (shift ? UINT64_C(1) << (shift - 1) : 0));
}

/* Counts the value that waits. */
static void
distribution_settle(struct sqt_distribution *d)
{
    if (d->waiting)
        ++*d->waiting;
    d->waiting = NULL;
}

/* Each two buckets of all histograms become one. */
static void
halve(struct sqt_distributions *set)
{
    ++set->halvings;
    for (struct sqt_distribution *d = set->first; d; d = d->next) {
        distribution_settle(d);
        d->halvings = set->halvings;
        for (unsigned octave = 0; d->octaves && octave < SQT_OCTAVES; ++octave) {
            uint32_t *const buckets = d->octaves[octave];
            for (unsigned i = 0; buckets && i < buckets_of(set->halvings); ++i)
                buckets[i] = buckets[2 * i] + buckets[2 * i + 1];
            if (buckets)
                d->octaves[octave] = sqt_resized(buckets, buckets_of(set->halvings) * sizeof(*buckets));
        }
    }
}

/* The buckets of an octave that something comes into.  All octaves may have half as many after it. */
static uint32_t *
octave_of(struct sqt_distributions *set, struct sqt_distribution *d, unsigned octave)
{
    if (d->octaves[octave])
        return d->octaves[octave];
    if (set->octaves_most && set->octaves >> set->halvings >= set->octaves_most && set->halvings < HALVINGS_MOST)
        halve(set);
    ++set->octaves;
    return d->octaves[octave] = sqt_zeroed(buckets_of(set->halvings), sizeof(uint32_t));
}

static void
put_value(struct sqt_distributions *set, struct sqt_distribution *d, int64_t value)
{
    unsigned octave, bucket;
    locate(value, &octave, &bucket);
    distribution_settle(d);
    uint32_t *const buckets = octave_of(set, d, octave);
    d->waiting = &buckets[bucket >> set->halvings];
    __builtin_prefetch(d->waiting, 1);
}

static void
coarsen(struct sqt_distributions *set)
{
    set->coarse = 1;
    for (struct sqt_distribution *d = set->first; d; d = d->next) {
        d->octaves = sqt_zeroed(SQT_OCTAVES, sizeof(*d->octaves));
        for (uint64_t i = 0; i < sqt_distribution_kept(d); ++i)
            put_value(set, d, d->values[i]);
        sqt_freed(d->values);
        d->values = NULL;
        d->room = 0;
    }
    set->room = 0;
}

/* ---- both ---- */

static void
join(struct sqt_distributions *set, struct sqt_distribution *d)
{
    d->next = set->first;
    d->previous = NULL;
    if (set->first)
        set->first->previous = d;
    set->first = d;
    d->halvings = set->halvings;
    if (set->coarse)
        d->octaves = sqt_zeroed(SQT_OCTAVES, sizeof(*d->octaves));
}

static void
reserve(struct sqt_distributions *set, struct sqt_distribution *d, uint64_t count)
{
    size_t room = d->room ? d->room : SQT_FIRST_ROOM;
    while (room < count)
        room *= 2;
    if (room == d->room)
        return;
    if (set->room + (room - d->room) > set->budget) {
        coarsen(set);
        return;
    }
    set->room += room - d->room;
    d->values = sqt_resized(d->values, room * sizeof(*d->values));
    d->room = room;
}

void
sqt_distribution_put(struct sqt_distributions *set, struct sqt_distribution *d, int64_t value)
{
    if (!d->values && !d->octaves)
        join(set, d);
    const uint64_t kept = sqt_distribution_kept(d);
    if (!set->coarse && kept == d->room)
        reserve(set, d, kept + 1);
    if (set->coarse)
        put_value(set, d, value);
    else
        d->values[kept] = value;
    ++d->count;
    d->sum += (uint64_t)value;
    d->sorted = 0;
    if (value > d->max)
        d->max = value;
}

/* By their bytes, the lowest first: there are many values, and they have few bytes. */
static void
sort(struct sqt_distribution *d)
{
    if (d->sorted)
        return;
    const uint64_t count = sqt_distribution_kept(d);
    int64_t *const spare = sqt_resized(NULL, count * sizeof(*spare));
    int64_t *from = d->values, *to = spare;
    for (unsigned shift = 0; shift < 64 && d->max >> shift; shift += 8) {
        size_t place[256] = {0}, next = 0;
        for (uint64_t i = 0; i < count; ++i)
            ++place[from[i] >> shift & 255];
        for (unsigned byte = 0; byte < 256; ++byte) {
            const size_t of_byte = place[byte];
            place[byte] = next;
            next += of_byte;
        }
        for (uint64_t i = 0; i < count; ++i)
            to[place[from[i] >> shift & 255]++] = from[i];
        int64_t *const sorted = to;
        to = from;
        from = sorted;
    }
    if (from == spare)
        memcpy(d->values, spare, count * sizeof(*spare));
    sqt_freed(spare);
    d->sorted = 1;
}

/* The value of that rank, from 1. */
static int64_t
distribution_ranked(struct sqt_distribution *d, uint64_t rank)
{
    if (rank <= d->zeros)
        return 0;
    if (!d->octaves) {
        sort(d);
        return d->values[rank - d->zeros - 1];
    }
    distribution_settle(d);
    uint64_t seen = d->zeros;
    for (unsigned octave = 0; octave < SQT_OCTAVES; ++octave)
        for (unsigned bucket = 0; d->octaves[octave] && bucket < buckets_of(d->halvings); ++bucket) {
            seen += d->octaves[octave][bucket];
            if (seen >= rank) {
                const int64_t value = middle(octave, bucket, d->halvings);
                return value < d->max ? value : d->max;
            }
        }
    return d->max;
}

int64_t
sqt_distribution_quantile(struct sqt_distribution *d, unsigned per_mille)
{
    if (!d->count)
        return 0;
    const uint64_t rank = (d->count * per_mille + 999) / 1000;
    return distribution_ranked(d, rank ? rank : 1);
}

int64_t
sqt_distribution_median(struct sqt_distribution *d)
{
    if (!d->count)
        return 0;
    const int64_t low = distribution_ranked(d, (d->count + 1) / 2);
    return d->count % 2 ? low : low + (distribution_ranked(d, d->count / 2 + 1) - low) / 2;
}

struct sqt_spread
sqt_distribution_spread(struct sqt_distribution *d)
{
    return (struct sqt_spread){
        .count = d->count,
        .p50 = sqt_distribution_median(d),
        .p75 = sqt_distribution_quantile(d, 750),
        .p90 = sqt_distribution_quantile(d, 900),
        .p99 = sqt_distribution_quantile(d, 990),
        .max = d->max,
        .mean = d->count ? (int64_t)(d->sum / d->count) : 0,
    };
}

uint64_t
sqt_distribution_upto(struct sqt_distribution *d, int64_t value)
{
    uint64_t low = 0, high = sqt_distribution_kept(d);
    distribution_settle(d);
    if (d->octaves) {
        unsigned last_octave, last_bucket;
        locate(value, &last_octave, &last_bucket);
        last_bucket >>= d->halvings;
        for (unsigned octave = 0; octave <= last_octave; ++octave)
            for (unsigned bucket = 0; d->octaves[octave] && bucket < buckets_of(d->halvings) &&
                                      (octave < last_octave || bucket <= last_bucket);
                 ++bucket)
                low += d->octaves[octave][bucket];
        return d->zeros + low;
    }
    if (high)
        sort(d);
    while (low < high) {
        const uint64_t at = low + (high - low) / 2;
        if (d->values[at] <= value)
            low = at + 1;
        else
            high = at;
    }
    return d->zeros + low;
}

const uint32_t *
sqt_distribution_octave(struct sqt_distribution *d, unsigned octave)
{
    distribution_settle(d);
    return d->octaves ? d->octaves[octave] : NULL;
}

void
sqt_distribution_add_all(struct sqt_distributions *set, struct sqt_distribution *into, struct sqt_distribution *from)
{
    const uint64_t more = sqt_distribution_kept(from), kept = sqt_distribution_kept(into);
    if (more && !into->values && !into->octaves)
        join(set, into);
    if (more && !set->coarse)
        reserve(set, into, kept + more);
    if (more && !set->coarse) {
        memcpy(into->values + kept, from->values, more * sizeof(*from->values));
    } else if (more) {
        distribution_settle(from); /* here: when all become histograms, the last value of each waits */
        for (unsigned octave = 0; octave < SQT_OCTAVES; ++octave) {
            uint32_t *const buckets = from->octaves[octave] ? octave_of(set, into, octave) : NULL;
            for (unsigned bucket = 0; buckets && bucket < buckets_of(set->halvings); ++bucket)
                buckets[bucket] += from->octaves[octave][bucket];
        }
    }
    into->count += from->count;
    into->zeros += from->zeros;
    into->sum += from->sum;
    into->sorted = 0;
    if (from->max > into->max)
        into->max = from->max;
}

void
sqt_distribution_merge(struct sqt_distributions *set, struct sqt_distribution *into, struct sqt_distribution *from)
{
    sqt_distribution_add_all(set, into, from);
    if (from->count)
        sqt_distribution_drop(set, from);
}

void
sqt_distribution_drop(struct sqt_distributions *set, struct sqt_distribution *d)
{
    if (d->previous)
        d->previous->next = d->next;
    else if (set->first == d)
        set->first = d->next;
    if (d->next)
        d->next->previous = d->previous;
    set->room -= d->room;
    sqt_freed(d->values);
    for (unsigned octave = 0; d->octaves && octave < SQT_OCTAVES; ++octave) {
        set->octaves -= d->octaves[octave] != NULL;
        sqt_freed(d->octaves[octave]);
    }
    sqt_freed(d->octaves);
    memset(d, 0, sizeof(*d));
}
