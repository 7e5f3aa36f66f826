/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * suggest.c - see suggest-internal.h.
 */
#include "suggest-internal.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 24 /* letters of a word that is looked at */
#define CLOSE 2    /* letters that may be missing, too many or wrong */

static unsigned
suggest_least(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Letters to add, drop or change to come from a to b. */
static unsigned
suggest_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[LONGEST + 1];
    for (size_t j = 0; j <= b_size; ++j)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; ++i) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; ++j) {
            const unsigned above = row[j];
            row[j] = suggest_least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_size];
}

const char *
sqt_suggest(char *hint, size_t hint_size, const char *word, size_t size, const char *const *names, size_t count)
{
    unsigned best = CLOSE + 1;
    hint[0] = '\0';
    if (!size || size > LONGEST)
        return hint;
    for (size_t i = 0; i < count; ++i) {
        const size_t name_size = strlen(names[i]);
        if (name_size > LONGEST)
            continue;
        const unsigned d = suggest_distance(word, size, names[i], name_size);
        if (d < best && d < name_size) {
            best = d;
            snprintf(hint, hint_size, " (did you mean %s?)", names[i]);
        }
    }
    return hint;
}
