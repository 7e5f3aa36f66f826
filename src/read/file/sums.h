/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sums.h - the CRC of many stretches of a file that overlap, in time that is linear in the file.
 *
 * Where a file is damaged, each magic may begin a frame of up to 8 MB.  So the CRC up to every SQT_SUMS_STEP bytes is
 * kept: a stretch's own CRC comes from those of its two ends, and only what is left over at the ends is read again.
 *
 *     kept       0       1       2       3       4
 *     file       |-------|-------|-------|-------|----
 *     stretch         |==+#######|#######|===|
 */
#ifndef SQT_SUMS_H
#define SQT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define SQT_SUMS_STEP 1024u

/* Zeroed at first. */
struct sqt_sums {
    uint32_t *kept;       /* CRC from `base` up to a step, by the step's number, round and round; NULL: none yet */
    uint64_t base, until; /* offsets, multiples of a step: where it begins and where the last one is */
};

/* crc, continued over the size bytes (at most SQT_FRAME_MAX) that stand at offset of the file.  Stretches must begin
 * later and later. */
uint32_t sqt_sums_crc(struct sqt_sums *sums, uint32_t crc, uint64_t offset, const uint8_t *bytes, size_t size);

/* The file may have changed. */
void sqt_sums_forget(struct sqt_sums *sums);

void sqt_sums_free(struct sqt_sums *sums);

#endif
