/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nearest.c - see nearest.h.  Counts the letters to add, drop, change or swap with a neighbour.
 */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

#define PART 3 /* letters of a word that is looked for within names */

static unsigned
nearest_least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned
sqt_nearest_letters(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned row[3][SQT_NEAREST_LONGEST + 1];
    for (size_t j = 0; j <= b_length; ++j)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; ++i) {
        unsigned *const now = row[i % 3], *const last = row[(i + 2) % 3], *const before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; ++j) {
            now[j] = nearest_least(nearest_least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = nearest_least(now[j], before[j - 2] + 1);
        }
    }
    return row[a_length % 3][b_length];
}

/* Whether the name has the word in it, and where: 1 at the start, 2 elsewhere, 0 not at all. */
static unsigned
part(const struct sqt_nearest *n, const char *name, size_t length)
{
    for (size_t i = 0; n->length >= PART && i + n->length <= length; ++i)
        if (memcmp(name + i, n->word, n->length) == 0)
            return i ? 2 : 1;
    return 0;
}

void
sqt_nearest_init(struct sqt_nearest *nearest, const char *word, size_t length)
{
    *nearest = (struct sqt_nearest){.word = word, .length = length};
}

void
sqt_nearest_offer(struct sqt_nearest *n, const char *name)
{
    const size_t length = strlen(name);
    if (length > SQT_NEAREST_LONGEST || n->length > SQT_NEAREST_LONGEST || !n->length)
        return;
    unsigned d = part(n, name, length);
    if (!d) {
        d = sqt_nearest_letters(n->word, n->length, name, length);
        /* One letter may be wrong and a third of them, but not more than half. */
        if (d > n->length / 3 + 1 || d * 2 > n->length)
            return;
    }
    unsigned at = 0;
    while (at < n->count && n->distances[at] <= d) {
        if (strcmp(n->names[at], name) == 0)
            return;
        ++at;
    }
    if (at == SQT_NEAREST)
        return;
    n->count += n->count < SQT_NEAREST;
    for (unsigned i = n->count - 1; i > at; --i) {
        n->names[i] = n->names[i - 1];
        n->distances[i] = n->distances[i - 1];
    }
    n->names[at] = name;
    n->distances[at] = d;
}

const char *
sqt_nearest_text(struct sqt_nearest *n, const char *prefix, const char *otherwise)
{
    if (!n->count)
        return otherwise;
    /* Where one is near, what is much farther is no help. */
    while (n->distances[n->count - 1] > n->distances[0] + 1)
        --n->count;
    size_t length = 0;
    for (unsigned i = 0; i < n->count && length < sizeof(n->text); ++i)
        length += (size_t)snprintf(n->text + length, sizeof(n->text) - length, "%s%s%s%s",
                                   i == 0             ? "did you mean "
                                   : i + 1 < n->count ? ", "
                                                      : " or ",
                                   prefix, n->names[i], i + 1 < n->count ? "" : "?");
    return n->text;
}
