/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * say.c - lines on the standard error.
 */
#include <stdarg.h>

#include "load.h"

volatile sig_atomic_t load_stop;

void
load_clear(struct load *load)
{
    if (load->progress)
        fputs("\r\033[K", stderr);
    load->progress = 0;
}

static void
say_line(struct load *load, const char *format, va_list arguments)
{
    load_clear(load);
    fputs("sqtrace-load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int
load_fail(struct load *load, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_line(load, format, arguments);
    va_end(arguments);
    return -1;
}

void
load_say(struct load *load, const char *format, ...)
{
    va_list arguments;
    if (load->given[LOAD_quiet])
        return;
    va_start(arguments, format);
    say_line(load, format, arguments);
    va_end(arguments);
}

void
load_progress(struct load *load, const char *format, ...)
{
    va_list arguments;
    if (!load->watched)
        return;
    load_clear(load);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    load->progress = 1;
}
