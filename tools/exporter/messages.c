/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * messages.c - what the exporter says while it runs: each line once, and at most twenty in a minute.
 */
#include <string.h>
#include <time.h>

#include "exporter.h"

/* Messages in a minute. */
#define MESSAGES 20

/* Whether it was said of late. */
static int
messages_knows(struct exporter_messages *m, const char *text)
{
    const unsigned count = sizeof(m->last) / sizeof(*m->last);
    for (unsigned i = 0; i < count; ++i)
        if (strncmp(m->last[i], text, sizeof(m->last[i]) - 1) == 0)
            return 1;
    snprintf(m->last[m->next++ % count], sizeof(*m->last), "%s", text);
    return 0;
}

/* A new minute, and what the last one left out. */
static void
messages_turn(struct exporter *e)
{
    struct exporter_messages *const m = &e->messages;
    const int64_t now = exporter_now(CLOCK_MONOTONIC);
    if (now - m->minute < 60 * EXPORTER_SECOND)
        return;
    if (m->left_out)
        program_say(&e->voice, "%llu more messages in the last minute; sqtrace_exporter_problems_total counts them",
                    (unsigned long long)m->left_out);
    m->minute = now;
    m->said = 0;
    m->left_out = 0;
}

/* What to do about it. */
static const char *
messages_advice(const char *text)
{
    const int advised = strstr(text, "Squid's group") != NULL;
    return strstr(text, "Permission denied") && !advised ? "; run the exporter as a user in Squid's group" : "";
}

void
exporter_report(void *context, enum sqt_severity severity, const char *text)
{
    struct exporter *const e = context;
    struct exporter_messages *const m = &e->messages;
    m->problems += severity != SQT_NOTE;
    if (severity == SQT_ERROR && !e->trace.stream)
        snprintf(m->error, sizeof(m->error), "%s", text);
    messages_turn(e);
    if (messages_knows(m, text))
        return;
    if (m->said++ >= MESSAGES)
        ++m->left_out;
    else if (severity == SQT_ERROR)
        program_fail(&e->voice, "%s%s", text, messages_advice(text));
    else
        program_say(&e->voice, "%s%s%s", severity == SQT_WARNING ? "warning: " : "", text, messages_advice(text));
}

void
exporter_recovered(struct exporter *e, const char *words)
{
    *e->messages.error = '\0';
    memset(e->messages.last, 0, sizeof(e->messages.last));
    program_say(&e->voice, "%s %s", words, e->request.trace);
}
