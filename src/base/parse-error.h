/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parse-error.h - the one line about what is wrong with an expression that a user wrote, and at which character.
 */
#ifndef SQT_PARSE_ERROR_H
#define SQT_PARSE_ERROR_H

#include <stddef.h>

struct sqt_parse_error {
    const char *text; /* the whole expression */
    char *line;       /* the caller's; what is wrong with the expression is written here */
    size_t size;      /* bytes of line */
    int said;         /* that something is wrong */
};

/* Writes "at character N: " and what the format says.  `at` points into the text, and N counts from 1.  Only the first
 * mistake of a text is written, because later ones may follow from it.  Always returns -1.  Any thread. */
int sqt_parse_error_at(struct sqt_parse_error *error, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
