/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * list.c - --list and --help, from the tables.
 */
#include <string.h>

#include "dump.h"

static void
list_tables(FILE *to, int figure)
{
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        const struct sqt_table *const t = &sqt_tables[i];
        if (t->figure != figure)
            continue;
        fprintf(to, "%s %s - %s\n", figure ? "figure" : "table", t->name, t->doc);
        for (unsigned c = 0; c < t->column_count; ++c)
            if (sqt_column_listed(&t->columns[c]))
                fprintf(to, "    %-20s  %s\n", sqt_column_listed(&t->columns[c]), t->columns[c].doc);
        fputc('\n', to);
    }
}

/* As lines of squid.conf. */
static const struct {
    const char *name, *format;
} list_log_formats[] = {
#define SQT_LOG_FORMAT(name, format, doc) {name, format},
#include "read/log/formats.def"
};

void
dump_list(FILE *to)
{
    list_tables(to, 0);
    list_tables(to, 1);
    for (unsigned i = 0; i < sqt_sink_type_count; ++i)
        fprintf(to, "format %s - %s\n", sqt_sink_types[i].name, sqt_sink_types[i].doc);
    fputc('\n', to);
    for (unsigned i = 0; i < sizeof(list_log_formats) / sizeof(*list_log_formats); ++i)
        fprintf(to, "logformat %s %s\n", list_log_formats[i].name, list_log_formats[i].format);
}

/* Names in lines that fit. */
static void
list_names(FILE *to, const char *head, int figure)
{
    int used = fprintf(to, "%s", head);
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        if (sqt_tables[i].figure != figure)
            continue;
        if (used + 1 + (int)strlen(sqt_tables[i].name) > 79)
            used = fprintf(to, "\n ") - 1;
        used += fprintf(to, " %s", sqt_tables[i].name);
    }
    putc('\n', to);
}

void
dump_help(FILE *to)
{
    fputs("usage: sqtrace-dump [--table=NAME | --figure=NAME] [OPTION]... TRACE...\n"
          "Prints what a trace of Squid has.  A TRACE is a segment (.sqt), a ring, a\n"
          "directory of both, or - for the standard input.\n\n",
          to);
    options_help(to, dump_option_infos, DUMP_OPTIONS);
    list_names(to, "\ntables:", 0);
    list_names(to, "\nfigures:", 1);
    fputs("\nexit status: 0 done; 1 could not; 2 usage; 3 done, but --strict was given and the trace was damaged\n"
          "or lost records; 4 a condition of --fail-if holds;\n"
          "5 one of --warn-if does\n",
          to);
}
