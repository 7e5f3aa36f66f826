/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pack.h - records regrouped by column, delta-coded and packed, and back.
 *
 * Packed records are six columns one after the other, each preceded by its length (u32):
 *   event   one byte a record
 *   flags   one byte a record, run-length coded: (value, run - 1) pairs
 *   time    varint of the difference to the record before (the first: to sqt_block.time_first)
 *   id, arg, aux   zigzag varint of the difference to what the field's kind predicts (kinds.def)
 * A block starts with all predictions at 0, so blocks stand alone.
 */
#ifndef SQT_PACK_H
#define SQT_PACK_H

#include "events.h"

/* How fields of each event are predicted: by the slot with the value that is expected.  A writer uses its own table; a
 * reader makes it from the trace's. */
struct sqt_pack_table {
    uint16_t id[256], arg[256], aux[256]; /* by event; 0: nothing is expected */
};

/* The slot for a field of that kind (below 256) in that event. */
uint16_t sqt_pack_slot(enum sqt_predictor predictor, unsigned kind, unsigned event);

/* The table of this program's own events. */
void sqt_pack_table_init(struct sqt_pack_table *table);

/* Bytes that sqt_pack may need for count records. */
size_t sqt_pack_bound(size_t count);

/* Packs count records (at most SQT_BLOCK_RECORDS) into out, which has room for sqt_pack_bound(count) bytes.
 * Returns the bytes used. */
size_t sqt_pack(const struct sqt_pack_table *table, const struct sqt_record *records, size_t count, uint8_t *out);

/* Unpacks exactly count records.  time_first is the block's.  Returns 0, or -1 if the bytes are not what sqt_pack
 * makes (nothing beyond size is read, nothing beyond count is written). */
int sqt_unpack(const struct sqt_pack_table *table, const uint8_t *in, size_t size, uint64_t time_first,
               struct sqt_record *records, size_t count);

#endif
