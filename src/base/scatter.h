/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * scatter.h - a hash for ids that somebody else chose.
 *
 * Multiplication by a random odd number of this process: a trace cannot be made so that its ids collide.
 */
#ifndef SQT_SCATTER_H
#define SQT_SCATTER_H

#include <stdint.h>

/* The multiplier: odd, random, the same for the whole life of the process.  Any thread. */
uint64_t sqt_scatter(void);

#endif
