/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * block.c - see block.h.
 */
#include "block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define COMPRESSED (SQT_FRAME_ZLIB | SQT_FRAME_ZSTD)

void
sqt_unpacker_free(struct sqt_unpacker *u)
{
    sqt_decompressor_free(&u->decompressor);
    free(u->packed);
    free(u->spare);
    memset(u, 0, sizeof(*u));
}

const char *
sqt_block_head(const struct sqt_frame *frame, const uint8_t *payload, const uint8_t *ring_id, struct sqt_block *b)
{
    if (frame->size < sizeof(*b))
        return "the block is shorter than its head";
    if (frame->flags & ~(SQT_FRAME_ZLIB | SQT_FRAME_ZSTD | SQT_FRAME_SUSPECT) ||
        (frame->flags & COMPRESSED) == COMPRESSED)
        return "the block needs features that this does not know";
    memcpy(b, payload, sizeof(*b));
    if (memcmp(b->ring_id, ring_id, sizeof(b->ring_id)) != 0)
        return "the block belongs to another ring";
    if (b->count == 0 || b->count > SQT_BLOCK_RECORDS)
        return "the block's count of records is impossible";
    if (b->packed_size > sqt_pack_bound(b->count))
        return "the block's size is impossible";
    if (b->first > UINT64_MAX / 2)
        return "the block's record number is impossible";
    if (b->time_last < b->time_first)
        return "the block's times go back";
    if (!(frame->flags & COMPRESSED) && b->packed_size != frame->size - sizeof(*b))
        return "the block's size is wrong";
    return NULL;
}

static const char *
decompress_block(struct sqt_unpacker *u, unsigned flags, const uint8_t *in, size_t size, size_t packed_size)
{
    if (u->room < packed_size) {
        u->packed = sqt_resized(u->packed, packed_size);
        u->room = packed_size;
    }
    const char *const wrong =
        sqt_decompress(&u->decompressor, flags & SQT_FRAME_ZSTD ? SQT_COMPRESSION_ZSTD : SQT_COMPRESSION_ZLIB, in, size,
                       u->packed, packed_size);
    if (wrong && errno == ENOMEM)
        sqt_no_memory();
    return wrong;
}

/* The first record of the unit that record i belongs to. */
static size_t
unit_of(const struct sqt_record *r, size_t i)
{
    while (i && (r[i].flags & SQT_FLAG_PART))
        --i;
    return i;
}

size_t
sqt_records_check(struct sqt_dictionary *dictionary, struct sqt_record *r, size_t count, uint64_t time)
{
    unsigned more = 0; /* parts that are still to come */
    for (size_t i = 0; i < count; ++i) {
        const unsigned number = r[i].event, flags = r[i].flags;
        /* Signed: a time of SQT_TICKS_MAX or more is as wrong as one that goes back. */
        if (__builtin_expect((int64_t)r[i].time < (int64_t)time || number > 255 || !(flags & SQT_FLAG_PART) != !more,
                             0))
            return more ? unit_of(r, i - 1) : i;
        time = r[i].time;
        more = more ? more - 1 : flags & SQT_FLAG_MORE;
        unsigned event = dictionary->event[number];
        if (__builtin_expect(!event, 0))
            event = sqt_dictionary_event(dictionary, number);
        r[i].event = (uint16_t)event;
    }
    return more ? unit_of(r, count - 1) : count;
}

const char *
sqt_block_unpack(struct sqt_unpacker *u, const struct sqt_pack_table *table, const struct sqt_frame *frame,
                 const uint8_t *payload, const struct sqt_block *b, struct sqt_record *records)
{
    const uint8_t *packed = payload + sizeof(*b);
    if (frame->flags & COMPRESSED) {
        const char *const wrong = decompress_block(u, frame->flags, packed, frame->size - sizeof(*b), b->packed_size);
        if (wrong)
            return wrong;
        packed = u->packed;
    }
    if (sqt_unpack(table, packed, b->packed_size, b->time_first, records, b->count) != 0)
        return "the block cannot be unpacked";
    return NULL;
}

const char *
sqt_block_check(struct sqt_dictionary *dictionary, const struct sqt_block *b, struct sqt_record *records)
{
    if (sqt_records_check(dictionary, records, b->count, b->time_first) != b->count)
        return "the block's records do not fit together";
    if (records[0].time != b->time_first || records[b->count - 1].time != b->time_last)
        return "the block's records do not fit its times";
    return NULL;
}
