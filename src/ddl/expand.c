/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * expand.c - see expand.h.
 */
#include "expand.h"

#include <stdlib.h>
#include <string.h>

void
sqt_ddl_expand(FILE *to, const char *text, sqt_ddl_word_function *word, const void *context)
{
    for (;;) {
        const size_t plain = strcspn(text, "{");
        char name[64];
        fwrite(text, 1, plain, to);
        text += plain;
        if (!*text++)
            return;
        const size_t length = strcspn(text, "}");
        if (!text[length] || length >= sizeof(name))
            abort();
        memcpy(name, text, length);
        name[length] = '\0';
        if (!word(to, name, context))
            abort();
        text += length + 1;
    }
}
