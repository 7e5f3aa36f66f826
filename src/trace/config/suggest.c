/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * suggest.c - see suggest-internal.h.
 */
#include "suggest-internal.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define LONGEST 24 /* letters of a word that is looked at */
#define CLOSE 2    /* letters that may be missing, too many, wrong or swapped */

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
        const unsigned d = sqt_nearest_letters(word, size, names[i], name_size);
        if (d < best && d < name_size) {
            best = d;
            snprintf(hint, hint_size, " (did you mean %s?)", names[i]);
        }
    }
    return hint;
}
