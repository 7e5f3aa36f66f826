/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * random.h - numbers that look random and follow from a seed, and the distributions that workloads are made of.
 */
#ifndef SQT_LOAD_RANDOM_H
#define SQT_LOAD_RANDOM_H

#include <stdint.h>

struct sqt_random {
    uint64_t state;
};

/* 64 bits of which each depends on all those of value. */
uint64_t sqt_mix(uint64_t value);

/* Numbers of their own for each of the streams of a seed. */
struct sqt_random sqt_random_of(uint64_t seed, uint64_t stream);
uint64_t sqt_random_bits(struct sqt_random *random);
/* Greater than 0, less than 1. */
double sqt_random_unit(struct sqt_random *random);
/* 0 to count - 1, each as likely as the others. */
uint64_t sqt_random_below(struct sqt_random *random, uint64_t count);
double sqt_random_exponential(struct sqt_random *random, double mean);
double sqt_random_normal(struct sqt_random *random, double mean, double deviation);
/* mean and deviation are those of the values, not of their logarithms. */
double sqt_random_lognormal(struct sqt_random *random, double mean, double deviation);
/* At least `least`; P(X > x) = (least / x)^alpha. */
double sqt_random_pareto(struct sqt_random *random, double alpha, double least);
/* 1 to most, P(t) proportional to 1/t. */
uint64_t sqt_random_harmonic(struct sqt_random *random, uint64_t most);

#endif
