/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * scatter.h - a hash for ids that somebody else chose.
 *
 * A trace cannot be made so that its ids collide: a random odd number of this process is in it.  A product with that
 * number alone is not enough.  Products of ids in a row are points at equal steps on a circle, and for one multiplier of
 * 50 they crowd: with 65,536 ids a search in a table then takes more than 20 steps, and up to 700.  So the upper half of
 * the product goes into the lower one, and a second product brings that up again.
 *
 * Texts need more: where only the lower half of each product counts, two words can differ in their top bits so that the
 * difference of the second undoes that of the first, whatever the multiplier is.  So both halves count.
 */
#ifndef SQT_SCATTER_H
#define SQT_SCATTER_H

#include <stddef.h>
#include <stdint.h>

/* The multiplier: odd, random, the same for the whole life of the process.  Any thread. */
uint64_t sqt_scatter(void);

/* The hash of a value, whose upper bits are the best; scatter: what sqt_scatter() gives.  Different values have different
 * hashes. */
static inline uint64_t
sqt_scattered(uint64_t value, uint64_t scatter)
{
    value *= scatter;
    value ^= value >> 32;
    return value * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 by the golden ratio, as Knuth has it (vol. 3, 6.4) */
}

/* The hash of a text that somebody else chose; all of its bits are good. */
uint64_t sqt_scattered_text(const char *text, size_t size);

#endif
