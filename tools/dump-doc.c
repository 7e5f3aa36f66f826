/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump-doc.c - the manual page and the completion of sqtrace-dump: see program-doc.h.
 */
#include <string.h>

#include "../src/model/class.h"
#include "../src/model/digest.h"
#include "dump.h"
#include "program-doc.h"
#include "troff.h"

/* ---- the manual page ---- */

static void
man_tables(int figure)
{
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        const struct sqt_table *const t = &sqt_tables[i];
        if (t->figure != figure)
            continue;
        fputs(".SS ", stdout);
        troff_text(t->name);
        putchar('\n');
        troff_text(t->doc);
        puts(".");
        if (figure) {
            puts(".PP");
            troff_text(t->caption);
            fputs("\n.PP\n.EX\nsqtrace\\-dump \\-\\-figure=", stdout);
            troff_text(t->name);
            fputs(" TRACE | gnuplot \\-c \"$PLOTS\"/", stdout);
            troff_text(t->name);
            fputs(".gp ", stdout);
            troff_text(t->name);
            puts(".png\n.EE");
        }
        for (unsigned c = 0; c < t->column_count; ++c)
            troff_item(t->columns[c].name, t->columns[c].doc);
    }
}

static int
section(const char *line)
{
    if (strcmp(line, "@TABLES@\n") == 0) {
        man_tables(0);
    } else if (strcmp(line, "@FIGURES@\n") == 0) {
        man_tables(1);
    } else if (strcmp(line, "@CLASSES@\n") == 0) {
        for (unsigned i = 0; i < SQT_CLASSES; ++i)
            troff_item(sqt_classes[i].name, sqt_classes[i].doc);
    } else if (strcmp(line, "@DIGESTS@\n") == 0) {
        for (unsigned i = 0; i < SQT_DIGEST_ACTIVITIES; ++i)
            troff_item(sqt_digest_activities[i].name, sqt_digest_activities[i].doc);
    } else if (strcmp(line, "@DIGEST_RESULTS@\n") == 0) {
        for (unsigned i = 0; i < SQT_DIGEST_RESULTS; ++i)
            troff_item(sqt_digest_results[i].name, sqt_digest_results[i].doc);
    } else if (strcmp(line, "@STAGES@\n") == 0) {
        for (unsigned i = 0; i < SQT_STAGES; ++i)
            troff_item(sqt_stages[i].name, sqt_stages[i].doc);
    } else {
        return 0;
    }
    return 1;
}

/* ---- completion ---- */

static void
tables(const char *option, int figure)
{
    printf("    --%s) names='", option);
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure == figure)
            printf(" %s", sqt_tables[i].name);
    fputs("' ;;\n", stdout);
}

/* The columns of the table or figure that the command line names. */
static void
columns(void)
{
    fputs("    --columns | --where)\n"
          "        local table=requests i\n"
          "        for ((i = 1; i < COMP_CWORD; ++i)); do\n"
          "            case ${COMP_WORDS[i]} in\n"
          "            --table | --figure)\n"
          "                table=${COMP_WORDS[i+1]}\n"
          "                if [[ $table == = ]]; then table=${COMP_WORDS[i+2]}; fi ;;\n"
          "            esac\n"
          "        done\n"
          "        case $table in\n",
          stdout);
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        printf("        %s) names='", sqt_tables[i].name);
        for (unsigned c = 0; c < sqt_tables[i].column_count; ++c)
            printf(" %s", sqt_tables[i].columns[c].name);
        puts("' ;;");
    }
    puts("        esac ;;");
}

static void
names(void)
{
    tables("table", 0);
    tables("figure", 1);
    fputs("    --format) names='", stdout);
    for (unsigned i = 0; i < sqt_sink_type_count; ++i)
        printf(" %s", sqt_sink_types[i].name);
    puts("' ;;\n    --from) names='strace perf' ;;");
    columns();
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"dump", dump_option_infos, DUMP_OPTIONS, section, names};
    return program_doc(&doc, argc, argv);
}
