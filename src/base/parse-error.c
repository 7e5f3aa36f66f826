/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parse-error.c - see parse-error.h.
 */
#include "parse-error.h"

#include <stdarg.h>
#include <stdio.h>

int
sqt_parse_error_at(struct sqt_parse_error *error, const char *at, const char *format, ...)
{
    char what[640];
    if (error->said)
        return -1;
    error->said = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(error->line, error->size, "at character %zu: %s", (size_t)(at - error->text) + 1, what);
    return -1;
}
