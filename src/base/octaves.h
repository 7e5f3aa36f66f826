/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * octaves.h - log-linear buckets: the same number for each doubling.
 *
 * With 2^bits buckets, octave 0 holds 0 to 2^bits - 1, one value a bucket; octave k > 0 holds the values from
 * 2^(bits+k-1) to 2^(bits+k) - 1 in buckets of 2^(k-1).
 */
#ifndef SQT_OCTAVES_H
#define SQT_OCTAVES_H

#include <stdint.h>

static inline unsigned
sqt_octave_of(uint64_t value, unsigned bits, unsigned *bucket)
{
    const unsigned length = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    const unsigned octave = length > bits ? length - bits : 0;
    *bucket = octave ? (unsigned)(value >> (octave - 1)) - (1u << bits) : (unsigned)value;
    return octave;
}

#endif
