/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hybrid.c - see hybrid.h.
 */
#include "hybrid.h"

/* Groups of eight behind one header: so many fit its one byte. */
#define MOST_GROUPS 63
/* Bytes of the same bits that are worth a run. */
#define RUN_BYTES 4

static size_t
hybrid_byte_run(const uint8_t *bytes, size_t count)
{
    size_t run = 0;
    while (run < count && (bytes[0] == 0 || bytes[0] == 255) && bytes[run] == bytes[0])
        ++run;
    return run;
}

void
sqt_hybrid_bits(struct sqt_bytes *to, uint8_t *bitmap, size_t count)
{
    const size_t bytes = (count + 7) / 8;
    if (count % 8) { /* what is beyond must not end a run */
        const unsigned known = (1u << count % 8) - 1;
        uint8_t *const last = &bitmap[bytes - 1];
        *last = (uint8_t)((*last & known) == known ? 255 : *last & known);
    }
    for (size_t i = 0; i < bytes;) {
        const size_t run = hybrid_byte_run(&bitmap[i], bytes - i);
        if (run >= RUN_BYTES || i + run == bytes) {
            const size_t left = count - 8 * i;
            if (run) {
                sqt_bytes_varint(to, (8 * run < left ? 8 * run : left) << 1);
                sqt_bytes_byte(to, bitmap[i] & 1);
            }
            i += run;
            continue;
        }
        size_t end = i + 1;
        while (end < bytes && end - i < MOST_GROUPS && hybrid_byte_run(&bitmap[end], bytes - end) < RUN_BYTES)
            ++end;
        sqt_bytes_varint(to, (end - i) << 1 | 1);
        sqt_bytes_put(to, &bitmap[i], end - i);
        i = end;
    }
}

static size_t
hybrid_run(const uint16_t *numbers, size_t count, size_t most)
{
    size_t run = 1;
    while (run < count && run < most && numbers[run] == numbers[0])
        ++run;
    return run;
}

/* Eight numbers, of which `count` are there. */
static void
hybrid_pack(struct sqt_bytes *to, const uint16_t *numbers, size_t count, unsigned width)
{
    uint32_t bits = 0;
    unsigned used = 0;
    for (size_t i = 0; i < 8; ++i) {
        bits |= (uint32_t)(i < count ? numbers[i] : 0) << used;
        for (used += width; used >= 8; used -= 8, bits >>= 8)
            sqt_bytes_byte(to, bits & 255);
    }
}

void
sqt_hybrid_numbers(struct sqt_bytes *to, const uint16_t *numbers, size_t count, unsigned width)
{
    for (size_t i = 0; i < count;) {
        const size_t run = hybrid_run(&numbers[i], count - i, SIZE_MAX);
        if (run >= 8) {
            sqt_bytes_varint(to, run << 1);
            for (unsigned byte = 0; byte < (width + 7) / 8; ++byte)
                sqt_bytes_byte(to, numbers[i] >> 8 * byte & 255);
            i += run;
            continue;
        }
        size_t end = i + 8;
        while (end < count && end - i < 8 * MOST_GROUPS && hybrid_run(&numbers[end], count - end, 8) < 8)
            end += 8;
        sqt_bytes_varint(to, (end - i) / 8 << 1 | 1);
        for (; i < end; i += 8)
            hybrid_pack(to, &numbers[i], i < count ? count - i : 0, width);
    }
}
