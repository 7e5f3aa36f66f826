/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diagnose.c - see diagnose.h.
 */
#include "diagnose.h"

#include <stdarg.h>

#include "base/visible.h"

void
sqt_diagnose(struct sqt_diagnostics *diagnostics, enum sqt_severity severity, const char *format, ...)
{
    char text[1024], line[2048];
    va_list arguments;

    if (diagnostics->muted)
        return;
    if (severity != SQT_NOTE)
        ++diagnostics->problems;
    if (!diagnostics->function)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    /* A file's name may hold anything, and a line must stay one line. */
    diagnostics->function(diagnostics->context, severity, sqt_visible_text(line, sizeof(line), text));
}
