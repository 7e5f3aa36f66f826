/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digits.c - the table of digits.h, made by the preprocessor, and numbers for people.
 */
#include "digits.h"

#define ONE(h, t, o) \
    { \
        '0' + (h), '0' + (t), '0' + (o), ' ' \
    }
#define TEN(h, t) \
    ONE(h, t, 0), ONE(h, t, 1), ONE(h, t, 2), ONE(h, t, 3), ONE(h, t, 4), ONE(h, t, 5), ONE(h, t, 6), ONE(h, t, 7), \
        ONE(h, t, 8), ONE(h, t, 9)
#define HUNDRED(h) \
    TEN(h, 0), TEN(h, 1), TEN(h, 2), TEN(h, 3), TEN(h, 4), TEN(h, 5), TEN(h, 6), TEN(h, 7), TEN(h, 8), TEN(h, 9)

const char sqt_digits_three[1000][4] = {HUNDRED(0), HUNDRED(1), HUNDRED(2), HUNDRED(3), HUNDRED(4),
                                        HUNDRED(5), HUNDRED(6), HUNDRED(7), HUNDRED(8), HUNDRED(9)};

const char *
sqt_grouped(uint64_t value, char buffer[32])
{
    char *p = buffer + 31;
    *p = '\0';
    for (unsigned digits = 0; value || !digits; ++digits, value /= 10) {
        if (digits && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + value % 10);
    }
    return p;
}
