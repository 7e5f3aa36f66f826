/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ending.c - why Squid ends itself: its own words, as far as a trace may have them.
 *
 * Squid's message may quote a line or a word of squid.conf, which may be a password, or what a helper answered.  A quotation
 * comes nearly always after a colon or `=`, in quotes, or after words that are listed: so a message ends there.  Messages that
 * quote no configuration are listed, and stay whole.
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

static int
ending_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Words of squid.conf that stand after these have no quotes. */
static int
ending_is_after_words(const char *why, size_t at)
{
    static const char *const words[] = {"Unknown policy ", "conflict with "};
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); ++i) {
        const size_t length = strlen(words[i]);
        if (at >= length && strncmp(why + at - length, words[i], length) == 0)
            return 1;
    }
    return 0;
}

/* Whether a quotation may begin there.  "Couldn't" has no quote. */
static int
ending_is_quotation(const char *why, size_t at)
{
    if (why[at] == '\'' && at && ending_is_letter(why[at - 1]) && ending_is_letter(why[at + 1]))
        return 0;
    return strchr("'\"=\r\n", why[at]) || (why[at] == ':' && why[at + 1] == ' ') || ending_is_after_words(why, at);
}

/* Where a quotation may begin.  A colon after a single word in front is that of a function's name. */
static size_t
ending_quotation(const char *why)
{
    const size_t first = strcspn(why, " '\"=\r\n");
    size_t at = first && why[first] == ' ' && why[first - 1] == ':' ? first : 0;
    while (why[at] && !ending_is_quotation(why, at))
        ++at;
    return at;
}

/* The length of the part of the message that may be recorded. */
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
