/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * events-doc.c - prints sqtrace-events(7) from the tables; run when sqtrace is built.
 *
 * usage: events-doc VERSION DATE
 */
#include <stdio.h>
#include <string.h>

#include "format/events.h"
#include "troff.h"

static void
field(const char *name, const struct sqt_field_info *f)
{
    if (f->kind == SQT_KIND_NONE)
        return;
    printf(".br\n\\fI%s\\fR: ", name);
    troff_text(f->doc);
    if (strcmp(sqt_kinds[f->kind].name, f->doc) != 0) {
        fputs(" (", stdout);
        troff_text(sqt_kinds[f->kind].name);
        putchar(')');
    }
    putchar('\n');
}

static void
stages(const char *verb, uint32_t mask)
{
    if (!mask)
        return;
    printf(".br\n%s ", verb);
    const char *separator = "";
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        if (!(mask & (1u << i)))
            continue;
        fputs(separator, stdout);
        troff_bold(sqt_stages[i].name);
        separator = ", ";
    }
    puts("");
}

static void
events_doc_event(const struct sqt_event_info *e)
{
    troff_item(e->name, e->doc);
    field("id", &e->id);
    field("arg", &e->arg);
    field("aux", &e->aux);
    if (e->pair != SQT_EV_NONE_) {
        fputs(".br\nended by ", stdout);
        troff_bold(sqt_events[e->pair].name);
        puts("");
    }
    stages("opens", e->opens);
    stages("closes", e->closes);
}

/* A section of tagged paragraphs. */
static void
named(const char *section, const char *introduction, const struct sqt_named *names, unsigned count)
{
    printf(".SH %s\n%s\n", section, introduction);
    for (unsigned i = 0; i < count; ++i)
        troff_item(names[i].name, names[i].doc);
}

/* What group sample samples. */
static void
samples(void)
{
    puts(".SH SAMPLES\nThe values of a\n.B SAMPLE\nrecord, by source.  A counter only grows, from an arbitrary start; "
         "a gauge is "
         "the value at that moment.");
    for (unsigned s = 0; s < SQT_SAMPLE_SOURCES; ++s) {
        fputs(".SS ", stdout);
        troff_text(sqt_sample_sources[s].name);
        puts("");
        troff_text(sqt_sample_sources[s].doc);
        puts(".");
        for (unsigned i = 0; i < SQT_SAMPLES; ++i) {
            char doc[256];
            if (sqt_samples[i].source != (enum sqt_sample_source)s)
                continue;
            snprintf(doc, sizeof(doc), "%s (%s)", sqt_samples[i].doc, sqt_samples[i].counter ? "counter" : "gauge");
            troff_item(sqt_samples[i].name, doc);
        }
    }
}

int
main(int argc, char **argv)
{
    printf(".\\\" Made from the tables of events by events-doc; do not edit.\n"
           ".TH SQTRACE\\-EVENTS 7 \"%s\" \"sqtrace %s\" \"sqtrace\"\n"
           ".SH NAME\nsqtrace\\-events \\- the events of a sqtrace trace, and the stages that they open and close\n"
           ".SH DESCRIPTION\n"
           "A traced Squid records the events below.\n"
           ".BR sqtrace\\-dump (1)\nprints them one a line with\n.BR \\-\\-table=events ,\n"
           "each with its\n.IR id ,\n.I arg\nand\n.IR aux .\n"
           ".PP\n"
           "A record whose name begins with\n.B PART_\nfollows another one and says more about it.\n",
           argc > 2 ? argv[2] : "", argc > 1 ? argv[1] : "");
    for (unsigned g = 0; g < SQT_GROUPS_COUNT; ++g) {
        unsigned shown = 0;
        for (unsigned i = 1; i < SQT_EVENTS; ++i) {
            if (sqt_events[i].group != 1u << g)
                continue;
            if (!shown++) {
                printf(".SH GROUP %s\n", sqt_group_names[g].name);
                troff_text(sqt_group_names[g].doc);
                puts(".");
            }
            events_doc_event(&sqt_events[i]);
        }
    }
    named("STAGES",
          "In the order of precedence: at any moment exactly one stage is charged, the first open one in this list.",
          sqt_stages, SQT_STAGES);
    samples();
    puts(".SH KINDS\nThe kinds of the fields.");
    for (unsigned i = 0; i < SQT_KINDS; ++i)
        troff_item(sqt_kinds[i].name, sqt_kinds[i].doc);
    puts(".SH SEE ALSO\n.BR sqtrace\\-dump (1),\n.BR sqtrace (5),\n.BR sqtrace\\-tables (7)");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
