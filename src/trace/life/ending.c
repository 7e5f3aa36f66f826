/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ending.c - why Squid ends itself: its own words, as far as a trace may have them.
 *
 * Squid's message may quote a line of squid.conf, which may hold a password, or what a helper answered.  So such messages
 * are cut before the quotation.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/sqtrace.h"

#define ENDING_TEXT 200
/* Of the one definition. */
#define ENDING_NUMBER 1

/* How much of the message may be told. */
static size_t
ending_length(const char *why)
{
    static const char *const quoting[] = {"Bungled ", "ERROR: Invalid ACL", "authenticateNegotiateHandleReply"};
    const size_t line = strcspn(why, "\r\n");
    for (unsigned i = 0; i < sizeof(quoting) / sizeof(*quoting); ++i) {
        const size_t begin = strlen(quoting[i]);
        const char *const end = strncmp(why, quoting[i], begin) == 0 ? strstr(why + begin, ": ") : NULL;
        if (end && (size_t)(end - why) < line)
            return (size_t)(end - why);
    }
    return line;
}

void
sqt_gives_up(const char *why)
{
    char text[ENDING_TEXT + 1] = "fatal error";
    const size_t length = ending_length(why);
    if (!sqt_on(SQT_GROUP_TRACE) || gettid() != getpid()) /* only the main thread emits */
        return;
    if (sqt_names != SQT_NAMES_OFF && length)
        snprintf(text, sizeof(text), "%.*s", (int)(length < ENDING_TEXT ? length : ENDING_TEXT), why);
    sqt_emit(SQT_EV_FATAL, 0, 0, sqt_define(SQT_DEF_ENDING, ENDING_NUMBER, text));
}
