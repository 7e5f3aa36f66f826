/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * delta.c - see delta.h.
 */
#include "delta.h"

#define QUARTERS 4
#define QUARTER (SQT_DELTA_BLOCK / QUARTERS)

/* Appends numbers of `width` bits, the lowest bit first. */
static void
delta_pack(struct sqt_bytes *to, const uint64_t *values, unsigned width)
{
    uint8_t *p = sqt_bytes_room(to, QUARTER * 8 + 8);
    uint64_t bits = 0;
    unsigned used = 0;
    for (unsigned i = 0; i < QUARTER; ++i) {
        bits |= values[i] << used;
        used += width;
        if (used < 64)
            continue;
        memcpy(p, &bits, 8);
        p += 8;
        used -= 64;
        bits = used ? values[i] >> (width - used) : 0;
    }
    memcpy(p, &bits, used / 8); /* 32 numbers always fill whole bytes */
    to->used += QUARTER * width / 8;
}

static void
delta_encode_block(struct sqt_delta *d)
{
    int64_t least = INT64_MAX;
    uint64_t used[QUARTERS] = {0};
    const unsigned count = d->in_block;
    for (unsigned i = 0; i < count; ++i)
        least = (int64_t)d->block[i] < least ? (int64_t)d->block[i] : least;
    for (unsigned i = 0; i < count; ++i)
        used[i / QUARTER] |= d->block[i] -= (uint64_t)least;
    memset(&d->block[count], 0, (SQT_DELTA_BLOCK - count) * sizeof(*d->block));
    sqt_bytes_zigzag(&d->blocks, least);
    for (unsigned q = 0; q < QUARTERS; ++q)
        sqt_bytes_byte(&d->blocks, used[q] ? 64 - (unsigned)__builtin_clzll(used[q]) : 0);
    for (unsigned q = 0; q < QUARTERS; ++q)
        if (used[q])
            delta_pack(&d->blocks, &d->block[q * QUARTER], 64 - (unsigned)__builtin_clzll(used[q]));
    d->in_block = 0;
}

void
sqt_delta_add(struct sqt_delta *d, const int64_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t value = (uint64_t)values[i];
        if (!d->count++) {
            d->first = d->last = value;
            continue;
        }
        d->block[d->in_block++] = value - d->last;
        d->last = value;
        if (d->in_block == SQT_DELTA_BLOCK)
            delta_encode_block(d);
    }
}

void
sqt_delta_finish(struct sqt_delta *d, struct sqt_bytes *to)
{
    if (d->in_block)
        delta_encode_block(d);
    sqt_bytes_varint(to, SQT_DELTA_BLOCK);
    sqt_bytes_varint(to, QUARTERS);
    sqt_bytes_varint(to, d->count);
    sqt_bytes_zigzag(to, (int64_t)d->first);
    sqt_bytes_put(to, d->blocks.data, d->blocks.used);
    d->blocks.used = 0;
    d->count = 0;
}
