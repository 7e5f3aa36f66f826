/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * program-doc.h - a program's manual page and its completion for bash, from its table of options.
 *
 * A program's NAME-doc.c is run when sqtrace is built:
 *
 *   NAME-doc man VERSION DATE < doc/sqtrace-NAME.1.in
 *   NAME-doc completion
 *
 * In the page @VERSION@ and @DATE@ are replaced, and a line with only @OPTIONS@, or what the program knows more, by
 * what the tables say.  What the table calls an option's value says what completes it: DIR directories, FILE files, NAME and
 * others names that the program knows, NAME,... a list of those.
 */
#ifndef SQT_PROGRAM_DOC_H
#define SQT_PROGRAM_DOC_H

#include "../program/options.h"

struct program_doc {
    const char *name; /* "dump" for sqtrace-dump */
    const struct option_info *options;
    unsigned option_count;
    /* Prints what stands for this line of the page, and returns 1; or returns 0.  NULL: no line but @OPTIONS@. */
    int (*section)(const char *line);
    /* Prints branches of bash's `case $option in` that set `names` to the names for the option.  NULL: none. */
    void (*names)(void);
};

/* Returns the program's exit status. */
int program_doc(const struct program_doc *doc, int argc, char **argv);

#endif
