/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * random.c - see random.h.
 */
#include "random.h"

#include <math.h>

/* The golden ratio's fraction in 64 bits: odd, and multiples of it are spread evenly. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

uint64_t
sqt_mix(uint64_t v)
{
    v = (v ^ v >> 32) * UINT64_C(0xd6e8feb86659fd93);
    v = (v ^ v >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return v ^ v >> 32;
}

struct sqt_random
sqt_random_of(uint64_t seed, uint64_t stream)
{
    return (struct sqt_random){sqt_mix(sqt_mix(seed + STEP) + stream * STEP)};
}

uint64_t
sqt_random_bits(struct sqt_random *r)
{
    r->state += STEP;
    return sqt_mix(r->state);
}

double
sqt_random_unit(struct sqt_random *r)
{
    return ((double)(sqt_random_bits(r) >> 12) + 0.5) * 0x1p-52;
}

uint64_t
sqt_random_below(struct sqt_random *r, uint64_t count)
{
    return (uint64_t)((unsigned __int128)sqt_random_bits(r) * count >> 64);
}

double
sqt_random_exponential(struct sqt_random *r, double mean)
{
    return -mean * log(sqt_random_unit(r));
}

double
sqt_random_normal(struct sqt_random *r, double mean, double deviation)
{
    const double radius = sqrt(-2 * log(sqt_random_unit(r)));
    return mean + deviation * radius * cos(2 * M_PI * sqt_random_unit(r));
}

double
sqt_random_lognormal(struct sqt_random *r, double mean, double deviation)
{
    const double variance = log1p(deviation * deviation / (mean * mean));
    return exp(sqt_random_normal(r, log(mean) - variance / 2, sqrt(variance)));
}

double
sqt_random_pareto(struct sqt_random *r, double alpha, double least)
{
    return least * pow(sqt_random_unit(r), -1 / alpha);
}

/* A draw with P(t) proportional to log(1 + 1/t), which is easy, is taken as often as 1/t is less than that: never more
 * often than at t = 1, where the two differ most. */
uint64_t
sqt_random_harmonic(struct sqt_random *r, uint64_t most)
{
    for (;;) {
        const double x = exp(sqt_random_unit(r) * log((double)most + 1));
        const uint64_t t = x < (double)most ? (uint64_t)x : most;
        if (sqt_random_unit(r) * (double)t * log1p(1 / (double)t) <= M_LN2)
            return t;
    }
}
