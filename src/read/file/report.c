/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report.c - see report.h.
 */
#include "report.h"

#include <stdarg.h>

#include "base/visible.h"

void
sqt_report(struct sqt_reporter *reporter, enum sqt_severity severity, const char *format, ...)
{
    char text[1024], line[2048];
    va_list arguments;

    if (reporter->muted)
        return;
    if (severity != SQT_NOTE)
        ++reporter->problems;
    if (!reporter->function)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    /* A file's name may hold anything, and a line must stay one line. */
    reporter->function(reporter->context, severity, sqt_visible_text(line, sizeof(line), text));
}
