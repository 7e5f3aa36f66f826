/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * varint.h - numbers of seven bits a byte, the lowest first; bit 7 says that another byte follows.
 */
#ifndef SQT_VARINT_H
#define SQT_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the longest varint. */
#define VARINT_MAX 10

static inline uint64_t
zigzag(uint64_t d)
{
    return (d << 1) ^ (uint64_t)((int64_t)d >> 63);
}

static inline uint64_t
unzigzag(uint64_t z)
{
    return (z >> 1) ^ (0 - (z & 1));
}

/* The lower 56 bits of v, seven in each byte. */
static inline uint64_t
spread(uint64_t v)
{
    v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
    return (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* And back; bit 7 of each byte is ignored. */
static inline uint64_t
gather(uint64_t w)
{
    w = (w & UINT64_C(0x007f007f007f007f)) | (w & UINT64_C(0x7f007f007f007f00)) >> 1;
    w = (w & UINT64_C(0x00003fff00003fff)) | (w & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (w & UINT64_C(0x000000000fffffff)) | (w & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Three bytes and more. */
static __attribute__((noinline, unused)) uint8_t *
pack_put_long(uint8_t *p, uint64_t v)
{
    const uint64_t more = UINT64_C(0x8080808080808080); /* in each byte: another one follows */
    const unsigned top = (unsigned)(v >> 56), bytes = (9 * (64 - (unsigned)__builtin_clzll(v | 1)) + 64) / 64;
    const uint64_t w = spread(v) | (top ? more : more >> (72 - 8 * bytes));
    memcpy(p, &w, sizeof(w));
    if (top) {
        p[8] = (uint8_t)(top | (top > 0x7f) << 7);
        p[9] = (uint8_t)(top >> 7);
    }
    return p + bytes;
}

/* Writes v, which mostly takes a byte.  Up to VARINT_MAX bytes from p on may change, whatever v takes of them. */
static inline __attribute__((always_inline)) uint8_t *
pack_put(uint8_t *p, uint64_t v)
{
    if (__builtin_expect(v < 0x80, 1)) {
        *p = (uint8_t)v;
        return p + 1;
    }
    if (__builtin_expect(v >> 14 != 0, 0))
        return pack_put_long(p, v);
    p[0] = (uint8_t)(v | 0x80);
    p[1] = (uint8_t)(v >> 7);
    return p + 2;
}

/* The same for a value that takes a byte or two, without a jump that could not be foreseen. */
static inline __attribute__((always_inline)) uint8_t *
pack_put_two(uint8_t *p, uint64_t v)
{
    if (__builtin_expect(v >> 14 != 0, 0))
        return pack_put_long(p, v);
    const unsigned two = v > 0x7f;
    const uint16_t w = (uint16_t)((v & 0x7f) | two << 7 | v >> 7 << 8);
    memcpy(p, &w, sizeof(w));
    return p + 1 + two;
}

/* Reads one that must end before `end`.  Returns NULL if it does not, or does not fit 64 bits. */
static __attribute__((unused)) const uint8_t *
pack_get_checked(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        const uint8_t b = *p++;
        r |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *v = r;
            return shift == 63 && b > 1 ? NULL : p;
        }
    }
    return NULL;
}

/* A varint that was read, and what is behind it. */
struct pack_got {
    const uint8_t *next;
    uint64_t value;
};

/* Two bytes and more.  Sets *failed if it does not fit 64 bits. */
static __attribute__((noinline, unused)) struct pack_got
pack_get_long(const uint8_t *p, int *failed)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    const uint64_t ends = ~w & UINT64_C(0x8080808080808080);
    if (ends)
        return (struct pack_got){p + (__builtin_ctzll(ends) + 1) / 8, gather(w & (ends ^ (ends - 1)))};
    const uint64_t nine = gather(w) | (uint64_t)(p[8] & 0x7f) << 56;
    if (p[8] < 0x80)
        return (struct pack_got){p + 9, nine};
    *failed |= p[9] > 1;
    return (struct pack_got){p + 10, nine | (uint64_t)p[9] << 63};
}

/* Reads one, which is mostly a byte, where VARINT_MAX bytes may be read from p on. */
static inline __attribute__((always_inline)) struct pack_got
pack_get(const uint8_t *p, int *failed)
{
    if (__builtin_expect(p[0] < 0x80, 1))
        return (struct pack_got){p + 1, p[0]};
    return pack_get_long(p, failed);
}

/* The same for one of a byte or two, without a jump that could not be foreseen. */
static inline __attribute__((always_inline)) struct pack_got
pack_get_two(const uint8_t *p, int *failed)
{
    uint16_t w;
    memcpy(&w, p, sizeof(w));
    if (__builtin_expect((w & 0x8080) == 0x8080, 0))
        return pack_get_long(p, failed);
    const unsigned two = w >> 7 & 1;
    return (struct pack_got){p + 1 + two, (w & 0x7fu) | (w >> 1 & 0x3f80u & (0u - two))};
}

#endif
