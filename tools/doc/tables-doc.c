/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tables-doc.c - the manual pages sqtrace-tables(7) and sqtrace-figures(7): see program-doc.h.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/findings.h"
#include "model/class.h"
#include "model/digest.h"
#include "row/table.h"
#include "program-doc.h"
#include "troff.h"

static void
tables_columns(const struct sqt_table *table)
{
    for (unsigned c = 0; c < table->column_count; ++c)
        if (sqt_column_listed(&table->columns[c]))
            troff_item(sqt_column_listed(&table->columns[c]), table->columns[c].doc);
}

static void
tables_head(const struct sqt_table *table)
{
    fputs(".SS ", stdout);
    troff_text(table->name);
    putchar('\n');
    troff_text(table->doc);
    puts(".");
}

/* The caption of a figure, and the command that draws it. */
static void
tables_figure(const struct sqt_table *figure)
{
    puts(".PP");
    troff_text(figure->caption);
    fputs("\n.PP\n.EX\nsqtrace\\-dump \\-\\-figure=", stdout);
    troff_text(figure->name);
    fputs(" TRACE | gnuplot \\-c \"$PLOTS\"/", stdout);
    troff_text(figure->name);
    fputs(".gp ", stdout);
    troff_text(figure->name);
    puts(".png\n.EE");
}

static void
tables_all(int figures)
{
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        const struct sqt_table *const table = &sqt_tables[i];
        if (table->figure != figures)
            continue;
        tables_head(table);
        if (figures)
            tables_figure(table);
        tables_columns(table);
    }
}

static void
tables_classes(void)
{
    for (unsigned i = 0; i < SQT_CLASSES; ++i)
        troff_item(sqt_classes[i].name, sqt_classes[i].doc);
}

static void
tables_misses(void)
{
    for (unsigned i = 1; i < SQT_MISSES_COUNT; ++i)
        troff_item(sqt_misses[i].name, sqt_misses[i].doc);
}

static void
tables_unkept(void)
{
    for (unsigned i = 1; i < SQT_UNKEPTS; ++i)
        troff_item(sqt_unkept[i].name, sqt_unkept[i].doc);
}

static void
tables_stages(void)
{
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        troff_item(sqt_stages[i].name, sqt_stages[i].doc);
}

static void
tables_digests(const struct sqt_digest_word *words, unsigned count)
{
    for (unsigned i = 0; i < count; ++i)
        troff_item(words[i].name, words[i].doc);
}

/* Adds what printf makes of it. */
#define ADD(...) (used += (size_t)snprintf(text + used, sizeof(text) - used, __VA_ARGS__))

/* A rule in words: its stages, whose time, the conditions, and the advice. */
static void
tables_finding(const struct sqt_finding_rule *rule)
{
    static const char *const whose[SQT_FINDING_BYS] = {"",
                                                       " with one server",
                                                       " of one cache_dir",
                                                       " of misses for one reason",
                                                       " of followers of one server's requests",
                                                       " of one delay pool",
                                                       " at one server",
                                                       " whose neighbour answered last",
                                                       " of connections to one listening port",
                                                       " of one worker",
                                                       " of one helper",
                                                       " of one rewriter",
                                                       " of one adaptation service",
                                                       " of one name server"};
    char text[2048], when[256];
    size_t used = 0;
    const struct sqt_finding_values values = {.each = rule->each};
    for (unsigned c = 0; c < 64; ++c) /* bits; see SQT_NS */
        if (rule->stages >> c & 1) {
            const char *const name = sqt_tables[SQT_TABLE_requests].columns[c].name;
            ADD("%s%.*s", used ? ", " : "", (int)strlen(name) - 3, name); /* without _ns */
        }
    ADD("%s: at least %lld ms of the mean request.", whose[rule->by], (long long)(rule->mean / 1000000));
    sqt_finding_text(when, sizeof(when), sqt_finding_whens[rule->when], &values);
    if (rule->when != SQT_FINDING_EACH || rule->each)
        ADD(" Condition: %s.", when);
    ADD(" Advice: %s", rule->advice);
    troff_item(rule->cause, text);
}

static void
tables_findings(void)
{
    for (unsigned i = 0; i < SQT_FINDINGS; ++i)
        tables_finding(&sqt_finding_rules[i]);
}

/* The causes that looks tell. */
static void
tables_looks(void)
{
#define SQT_LOOK_CAUSE(cause, doc) troff_item(#cause, doc);
#include "figure/finding/looks.def"
}

static int
tables_section(const char *line)
{
    if (strcmp(line, "@TABLES@\n") == 0)
        tables_all(0);
    else if (strcmp(line, "@FIGURES@\n") == 0)
        tables_all(1);
    else if (strcmp(line, "@CLASSES@\n") == 0)
        tables_classes();
    else if (strcmp(line, "@MISSES@\n") == 0)
        tables_misses();
    else if (strcmp(line, "@UNKEPT@\n") == 0)
        tables_unkept();
    else if (strcmp(line, "@DIGESTS@\n") == 0)
        tables_digests(sqt_digest_activities, SQT_DIGEST_ACTIVITIES);
    else if (strcmp(line, "@DIGEST_RESULTS@\n") == 0)
        tables_digests(sqt_digest_results, SQT_DIGEST_RESULTS);
    else if (strcmp(line, "@FINDINGS@\n") == 0)
        tables_findings();
    else if (strcmp(line, "@LOOKS@\n") == 0)
        tables_looks();
    else if (strcmp(line, "@STAGES@\n") == 0)
        tables_stages();
    else
        return 0;
    return 1;
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"tables", NULL, 0, tables_section, NULL};
    return program_doc(&doc, argc, argv);
}
