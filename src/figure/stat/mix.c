/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * mix.c - see mix.h.
 */
#include "mix.h"

static uint64_t
mix_upto(const struct sqt_mix *mix, int64_t value)
{
    return sqt_distribution_upto(mix->all, value) - (mix->less ? sqt_distribution_upto(mix->less, value) : 0) +
           (mix->more ? sqt_distribution_upto(mix->more, value) : 0);
}

uint64_t
sqt_mix_count(const struct sqt_mix *mix)
{
    return mix->all->count - (mix->less ? mix->less->count : 0) + (mix->more ? mix->more->count : 0);
}

/* The value of that rank, from 1; 0 if there is none. */
static int64_t
mix_ranked(const struct sqt_mix *mix, uint64_t rank)
{
    int64_t low = 0, high = mix->all->max;
    while (low < high) {
        const int64_t at = low + (high - low) / 2;
        if (mix_upto(mix, at) >= rank)
            high = at;
        else
            low = at + 1;
    }
    return low;
}

int64_t
sqt_mix_median(const struct sqt_mix *mix)
{
    const uint64_t count = sqt_mix_count(mix);
    const int64_t low = mix_ranked(mix, (count + 1) / 2);
    return count % 2 || !count ? low : low + (mix_ranked(mix, count / 2 + 1) - low) / 2;
}

int64_t
sqt_mix_quantile(const struct sqt_mix *mix, unsigned per_mille)
{
    return mix_ranked(mix, (sqt_mix_count(mix) * per_mille + 999) / 1000);
}
