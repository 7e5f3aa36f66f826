/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whole.h - numbers that may be too large for 64 bits, and sums that may be: C does not say what becomes of them.
 */
#ifndef SQT_WHOLE_H
#define SQT_WHOLE_H

#include <stdint.h>

/* The number without its fraction. From 9.2e18 on it is INT64_MAX, from -9.2e18 on -INT64_MAX: INT64_MIN stands for a
 * missing value elsewhere. NaN is 0. */
static inline int64_t
sqt_whole(double number)
{
    return number >= 9.2e18 ? INT64_MAX : number <= -9.2e18 ? -INT64_MAX : number == number ? (int64_t)number : 0;
}

/* A sum of what a trace says, which may be anything: it stops at INT64_MAX and at -INT64_MAX. */
static inline int64_t
sqt_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? b < 0 ? -INT64_MAX : INT64_MAX : sum;
}

#endif
