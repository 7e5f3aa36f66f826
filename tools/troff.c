/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * troff.c - see troff.h.
 */
#include "troff.h"

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
troff_item(const char *name, const char *doc)
{
    fputs(".TP\n\\fB", stdout);
    troff_text(name);
    fputs("\\fR\n", stdout);
    troff_text(doc);
    putchar('\n');
}

void
troff_options(const struct option_info *infos, unsigned count)
{
    for (unsigned i = 0; i < count; ++i) {
        fputs(".TP\n", stdout);
        if (infos[i].letter)
            printf("\\fB\\-%c\\fR, ", infos[i].letter);
        fputs("\\fB\\-\\-", stdout);
        troff_text(infos[i].name);
        fputs("\\fR", stdout);
        if (*infos[i].value) {
            fputs("=\\fI", stdout);
            troff_text(infos[i].value);
            fputs("\\fR", stdout);
        }
        putchar('\n');
        troff_text(infos[i].doc);
        putchar('\n');
    }
}
