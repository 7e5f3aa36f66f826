/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * troff.c - see troff.h.
 */
#include "troff.h"

#include <stdio.h>

void
troff_text(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    for (; *s; ++s) {
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
    }
}

void
troff_bold(const char *s)
{
    fputs("\\fB", stdout);
    troff_text(s);
    fputs("\\fR", stdout);
}

void
troff_item(const char *name, const char *doc)
{
    puts(".TP");
    troff_bold(name);
    putchar('\n');
    troff_text(doc);
    putchar('\n');
}
