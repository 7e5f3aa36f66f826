/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nearest.c - see nearest.h.  Counts the letters to add, drop, change or swap with a neighbour.
 */
#include "nearest.h"

#include <string.h>

#define LONGEST 48

static unsigned
least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned
distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned row[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; ++j)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; ++i) {
        unsigned *const now = row[i % 3], *const last = row[(i + 2) % 3], *const before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; ++j) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[a_length % 3][b_length];
}

void
sqt_nearest_init(struct sqt_nearest *nearest, const char *word, size_t length)
{
    nearest->word = word;
    nearest->length = length;
    nearest->best = NULL;
    /* A third of the letters may be wrong, and one always. */
    nearest->distance = (unsigned)length / 3 + 2;
}

void
sqt_nearest_offer(struct sqt_nearest *nearest, const char *name)
{
    const size_t length = strlen(name);
    if (length > LONGEST || nearest->length > LONGEST || !nearest->length)
        return;
    unsigned d = distance(nearest->word, nearest->length, name, length);
    /* What was typed may be the beginning of the name, or the name without its unit. */
    if (d && nearest->length >= 3 && length > nearest->length && memcmp(name, nearest->word, nearest->length) == 0)
        d = 1;
    if (d < nearest->distance) {
        nearest->distance = d;
        nearest->best = name;
    }
}
