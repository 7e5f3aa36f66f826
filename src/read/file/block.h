/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * block.h - from the payload of a BLOCK frame to records.
 */
#ifndef SQT_BLOCK_H
#define SQT_BLOCK_H

#include "format/compress.h"
#include "dictionary.h"

/* Buffers that decoding needs; one for each thread of a stream. */
struct sqt_unpacker {
    struct sqt_decompressor decompressor;
    uint8_t *packed;
    size_t room;
    struct sqt_record *spare; /* a buffer of SQT_BLOCK_RECORDS that an origin gave back */
};

void sqt_unpacker_free(struct sqt_unpacker *unpacker);

/* Copies the head of a block and checks what can be checked without unpacking.  Returns NULL, or what is wrong. */
const char *sqt_block_head(const struct sqt_frame *frame, const uint8_t *payload, const uint8_t *ring_id,
                           struct sqt_block *block);

/* Unpacks block->count records, with the trace's event numbers.  Returns NULL, or what is wrong. */
const char *sqt_block_unpack(struct sqt_unpacker *unpacker, const struct sqt_pack_table *table,
                             const struct sqt_frame *frame, const uint8_t *payload, const struct sqt_block *block,
                             struct sqt_record *records);

/* Checks what was unpacked, and turns it into this program's event numbers.  Returns NULL, or what is wrong. */
const char *sqt_block_check(struct sqt_dictionary *dictionary, const struct sqt_block *block,
                            struct sqt_record *records);

/* Checks that count records are whole units in the order of time, not before `time`, and turns the trace's event
 * numbers into this program's.  Returns the number of records that are good; less than count if one is not. */
size_t sqt_records_check(struct sqt_dictionary *dictionary, struct sqt_record *records, size_t count, uint64_t time);

#endif
