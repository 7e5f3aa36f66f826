/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * mix.h - the median and the 99th percentile of a distribution without some of its values, and with others in place of
 * them.  No distribution is made for it: how many values are not above another one follows from those of the parts.
 */
#ifndef SQT_MIX_H
#define SQT_MIX_H

#include "base/distribution.h"

/* The values of `all` without those of `less`, and with those of `more`, none of which is above the largest of `all`.
 * All of `less` are in `all`.  `less` and `more` may be NULL. */
struct sqt_mix {
    struct sqt_distribution *all, *less, *more;
};

uint64_t sqt_mix_count(const struct sqt_mix *mix);

/* The same as of a distribution (see distribution.h), but 0.2 % off at most where that is a histogram. */
int64_t sqt_mix_median(const struct sqt_mix *mix);
int64_t sqt_mix_quantile(const struct sqt_mix *mix, unsigned per_mille);

#endif
