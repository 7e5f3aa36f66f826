/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * delta.h - Parquet's encoding DELTA_BINARY_PACKED of numbers of 64 bits.
 *
 * Blocks of 128 differences; each quarter of a block has bits enough for its largest difference.  Differences wrap
 * around, so any number can follow any other.  Zeroed at first; one thread.
 */
#ifndef SQT_PARQUET_DELTA_H
#define SQT_PARQUET_DELTA_H

#include "bytes.h"

#define SQT_DELTA_BLOCK 128

struct sqt_delta {
    uint64_t count; /* numbers so far */
    uint64_t first, last;
    unsigned in_block;
    uint64_t block[SQT_DELTA_BLOCK]; /* differences that are not encoded yet */
    struct sqt_bytes blocks;         /* those that are */
};

void sqt_delta_add(struct sqt_delta *delta, const int64_t *values, unsigned count);

/* Appends all numbers, and begins anew. */
void sqt_delta_finish(struct sqt_delta *delta, struct sqt_bytes *to);

#endif
