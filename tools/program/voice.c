/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * voice.c - see voice.h.
 */
#include "voice.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/visible.h"

void
program_clear(struct program_voice *voice)
{
    if (voice->progress)
        fputs("\r\033[K", stderr);
    voice->progress = 0;
}

static void
voice_line(struct program_voice *voice, const char *format, va_list arguments)
{
    char text[2048], line[4096];
    if (voice->silent)
        return;
    program_clear(voice);
    vsnprintf(text, sizeof(text), format, arguments);
    fprintf(stderr, "%s: %s\n", voice->program, sqt_visible_text(line, sizeof(line), text));
}

int
program_fail(struct program_voice *voice, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    voice_line(voice, format, arguments);
    va_end(arguments);
    return -1;
}

void
program_say(struct program_voice *voice, const char *format, ...)
{
    va_list arguments;
    if (voice->quiet)
        return;
    va_start(arguments, format);
    voice_line(voice, format, arguments);
    va_end(arguments);
}

void
program_progress(struct program_voice *voice, const char *format, ...)
{
    va_list arguments;
    char text[512], line[1024];
    if (!voice->watched)
        return;
    program_clear(voice);
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fputs(sqt_visible_text(line, sizeof(line), text), stderr);
    voice->progress = 1;
}
