/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whole.h - numbers of any size as whole ones: C does not say what becomes of one that does not fit.
 */
#ifndef SQT_WHOLE_H
#define SQT_WHOLE_H

#include <stdint.h>

/* The number without its fraction; the largest or the smallest that fits, if it does not; 0 if it is not a number. */
static inline int64_t
sqt_whole(double number)
{
    return number >= 9.2e18 ? INT64_MAX : number <= -9.2e18 ? -INT64_MAX : number == number ? (int64_t)number : 0;
}

#endif
