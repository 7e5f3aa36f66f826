/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ending.c - why Squid ends itself: its own words, as far as a trace may have them.
 *
 * Squid's message may quote a line or a word of squid.conf, which may be a password, or what a helper answered.  A quotation
 * comes after a colon, or in quotes: so a message ends there.  Messages that quote no configuration are listed, and stay
 * whole.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/sqtrace.h"

#define ENDING_TEXT 200
/* Of the one definition. */
#define ENDING_NUMBER 1

static const char *
ending_after(const char *why, const char *begin)
{
    const size_t length = strlen(begin);
    return strncmp(why, begin, length) == 0 ? why + length : NULL;
}

/* Squid's words without the severity in front of them. */
static const char *
ending_begin(const char *why)
{
    static const char *const severities[] = {"FATAL: ", "ERROR: ", "WARNING: "};
    for (unsigned i = 0; i < sizeof(severities) / sizeof(*severities); ++i) {
        const char *const rest = ending_after(why, severities[i]);
        if (rest)
            return rest;
    }
    return why;
}

/* The message names a file, a place in the source or an error of the system. */
static int
ending_is_harmless(const char *why)
{
    static const char *const harmless[] = {
        "assertion failed: ", "logfileWrite: ",     "logfileOpen: ",
        "Logfile Daemon: ",   "Cannot open '/",     "Failed to make swap dir",
        "Ipc::Mem::",         "comm_select_init: ", "error while accepting new client connection: ",
    };
    for (unsigned i = 0; i < sizeof(harmless) / sizeof(*harmless); ++i)
        if (ending_after(why, harmless[i]))
            return 1;
    return 0;
}

/* Where a quotation may begin.  A colon after a single word in front is that of a function's name. */
static size_t
ending_quotation(const char *why)
{
    const size_t first = strcspn(why, " \r\n");
    size_t at = first && why[first] == ' ' && why[first - 1] == ':' ? first : 0;
    for (; why[at] && !strchr("'\"\r\n", why[at]); ++at)
        if (why[at] == ':' && why[at + 1] == ' ')
            break;
    return at;
}

/* How much of the message may be told. */
static size_t
ending_length(const char *why)
{
    size_t length = ending_is_harmless(why) ? strcspn(why, "\r\n") : ending_quotation(why);
    while (length && strchr(" ,(", why[length - 1]))
        --length;
    return length;
}

void
sqt_gives_up(const char *why)
{
    char text[ENDING_TEXT + 1] = "fatal error";
    const char *const words = ending_begin(why);
    const size_t length = ending_length(words);
    if (!sqt_on(SQT_GROUP_TRACE) || gettid() != getpid()) /* only the main thread emits */
        return;
    if (sqt_names != SQT_NAMES_OFF && length)
        snprintf(text, sizeof(text), "%.*s", (int)(length < ENDING_TEXT ? length : ENDING_TEXT), words);
    sqt_emit(SQT_EV_FATAL, 0, 0, sqt_define(SQT_DEF_ENDING, ENDING_NUMBER, text));
}
