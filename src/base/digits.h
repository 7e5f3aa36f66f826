/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digits.h - numbers as text, fast: three decimal digits at a time.
 *
 * Each function writes at p and returns the end of what it wrote.  Room for SQT_DIGITS_MAX bytes is needed.
 */
#ifndef SQT_DIGITS_H
#define SQT_DIGITS_H

#include <stdint.h>
#include <string.h>

#define SQT_DIGITS_MAX 32

/* "000 " to "999 ". */
extern const char sqt_digits_three[1000][4];

static inline char *
sqt_put_three(char *p, unsigned value)
{
    memcpy(p, sqt_digits_three[value], 4);
    return p + 3;
}

/* Without leading zeroes; value < 1000. */
static inline char *
sqt_put_head(char *p, unsigned value)
{
    const unsigned skip = (value < 100) + (value < 10);
    memcpy(p, (const char *)sqt_digits_three + 4 * value + skip, 4); /* of a fixed size: no call */
    return p + 3 - skip;
}

static inline char *
sqt_put_nine(char *p, uint32_t value)
{
    p = sqt_put_three(p, value / 1000000);
    p = sqt_put_three(p, value / 1000 % 1000);
    return sqt_put_three(p, value % 1000);
}

static inline char *
sqt_put_unsigned(char *p, uint64_t value)
{
    if (value < 1000)
        return sqt_put_head(p, (unsigned)value);
    if (value < 1000000) {
        p = sqt_put_head(p, (unsigned)value / 1000);
        return sqt_put_three(p, (unsigned)value % 1000);
    }
    if (value < 1000000000) {
        p = sqt_put_head(p, (unsigned)value / 1000000);
        p = sqt_put_three(p, (unsigned)value / 1000 % 1000);
        return sqt_put_three(p, (unsigned)value % 1000);
    }
    p = sqt_put_unsigned(p, value / 1000000000);
    return sqt_put_nine(p, (uint32_t)(value % 1000000000));
}

static inline char *
sqt_put_signed(char *p, int64_t value)
{
    if (value >= 0)
        return sqt_put_unsigned(p, (uint64_t)value);
    *p = '-';
    return sqt_put_unsigned(p + 1, 0 - (uint64_t)value);
}

/* Nanoseconds as seconds with nine decimals. */
static inline char *
sqt_put_seconds(char *p, int64_t ns)
{
    uint64_t value = (uint64_t)ns;
    if (ns < 0) {
        *p++ = '-';
        value = 0 - value;
    }
    p = sqt_put_unsigned(p, value / 1000000000);
    *p++ = '.';
    return sqt_put_nine(p, (uint32_t)(value % 1000000000));
}

static inline char *
sqt_put_hex(char *p, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *p++ = "0123456789abcdef"[value >> shift & 15];
    return p;
}

/* 7002 -> "7,002", somewhere in buffer. */
const char *sqt_grouped(uint64_t value, char buffer[32]);

#endif
