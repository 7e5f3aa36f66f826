/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hybrid.h - Parquet's encoding RLE of small numbers: runs of one number, and groups of eight packed numbers.
 */
#ifndef SQT_PARQUET_HYBRID_H
#define SQT_PARQUET_HYBRID_H

#include "bytes.h"

/* Appends numbers of one bit.  bitmap: the lowest bit of a byte comes first; bits beyond count do not matter, and are
 * changed. */
void sqt_hybrid_bits(struct sqt_bytes *to, uint8_t *bitmap, size_t count);

/* Appends numbers that have no more than `width` bits, 1 to 16. */
void sqt_hybrid_numbers(struct sqt_bytes *to, const uint16_t *numbers, size_t count, unsigned width);

#endif
