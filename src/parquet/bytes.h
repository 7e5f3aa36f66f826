/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * bytes.h - bytes in memory, as many as come.  Zeroed at first; one thread.  Without memory the program ends.
 */
#ifndef SQT_PARQUET_BYTES_H
#define SQT_PARQUET_BYTES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct sqt_bytes {
    uint8_t *data;
    size_t used, room; /* bytes */
};

/* Where the next `size` bytes go; the caller adds to used what it wrote. */
static inline uint8_t *
sqt_bytes_room(struct sqt_bytes *bytes, size_t size)
{
    if (bytes->used + size > bytes->room) {
        bytes->room = bytes->room * 2 > bytes->used + size ? bytes->room * 2 : bytes->used + size + 64;
        bytes->data = sqt_resized(bytes->data, bytes->room);
    }
    return bytes->data + bytes->used;
}

/* Appends a copy. */
static inline void
sqt_bytes_put(struct sqt_bytes *bytes, const void *data, size_t size)
{
    uint8_t *const to = sqt_bytes_room(bytes, size);
    if (size)
        memcpy(to, data, size);
    bytes->used += size;
}

static inline void
sqt_bytes_byte(struct sqt_bytes *bytes, unsigned byte)
{
    *sqt_bytes_room(bytes, 1) = (uint8_t)byte;
    ++bytes->used;
}

/* Appends a number of 4 bytes, the lowest first. */
static inline void
sqt_bytes_four(struct sqt_bytes *bytes, uint32_t value)
{
    for (unsigned i = 0; i < 32; i += 8)
        sqt_bytes_byte(bytes, value >> i & 255);
}

/* Appends a number in groups of 7 bits, the lowest first (ULEB128). */
static inline void
sqt_bytes_varint(struct sqt_bytes *bytes, uint64_t value)
{
    for (; value > 127; value >>= 7)
        sqt_bytes_byte(bytes, (unsigned)(value & 127) | 128);
    sqt_bytes_byte(bytes, (unsigned)value);
}

/* The same for a number that may be below 0, in zigzag order. */
static inline void
sqt_bytes_zigzag(struct sqt_bytes *bytes, int64_t value)
{
    sqt_bytes_varint(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static inline void
sqt_bytes_free(struct sqt_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct sqt_bytes){0};
}

#endif
