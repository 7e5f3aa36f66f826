/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lines.c - lines of text, kept until the page is written.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report.h"

void
lines_add(struct lines *lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = sqt_vprinted(format, arguments);
    va_end(arguments);
    lines->text = sqt_resized(lines->text, (lines->count + 1) * sizeof(*lines->text));
    lines->text[lines->count++] = text;
}

void
lines_add_new(struct lines *lines, const char *text)
{
    for (size_t i = 0; i < lines->count; ++i)
        if (strcmp(lines->text[i], text) == 0)
            return;
    lines_add(lines, "%s", text);
}

void
lines_free(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; ++i)
        free(lines->text[i]);
    free(lines->text);
}
