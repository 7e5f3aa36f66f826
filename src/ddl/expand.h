/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * expand.h - texts with words in braces, in whose place something else is printed.
 */
#ifndef SQT_DDL_EXPAND_H
#define SQT_DDL_EXPAND_H

#include <stdio.h>

/* Prints what stands for a word, which has no braces.  Returns 0 if it does not know the word. */
typedef int sqt_ddl_word_function(FILE *to, const char *word, const void *context);

/* Prints a text.  A word that is not known is a fault of the program, which then aborts. */
void sqt_ddl_expand(FILE *to, const char *text, sqt_ddl_word_function *word, const void *context);

#endif
