/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump-doc.c - the manual page and the completion of sqtrace-dump: see program-doc.h.
 */
#include <string.h>

#include "../dump/dump.h"
#include "program-doc.h"
#include "troff.h"

/* ---- completion ---- */

static void
dump_tables(const char *option, int figure)
{
    printf("    --%s) names='", option);
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure == figure)
            printf(" %s", sqt_tables[i].name);
    fputs("' ;;\n", stdout);
}

/* The columns of the table or figure that the command line names. */
static void
dump_columns(void)
{
    fputs("    --columns | --where | --sort | --group-by | --of | --histogram)\n"
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
        struct sqt_wide_table wall;
        sqt_wide_table_init(&wall, &sqt_tables[i]);
        for (unsigned c = 0; c < wall.table.column_count; ++c)
            if (*wall.columns[c].name != '\t' && (c < sqt_tables[i].column_count || c >= wall.first))
                printf(" %s", wall.columns[c].name);
        puts("' ;;");
    }
    puts("        esac ;;");
}

static void
dump_doc_names(void)
{
    dump_tables("table", 0);
    dump_tables("figure", 1);
    fputs("    --format) names='", stdout);
    for (unsigned i = 0; i < sqt_sink_type_count; ++i)
        printf(" %s", sqt_sink_types[i].name);
    fputs("' ;;\n    --from) names='strace perf' ;;\n    --clock) names='trace wall' ;;\n    --ddl) names='", stdout);
    for (unsigned i = 0; sqt_ddl_engine_name(i); ++i)
        printf(" %s", sqt_ddl_engine_name(i));
    puts("' ;;");
    dump_columns();
}

/* ---- the manual page ---- */

static void
dump_doc_view(const char *name, const char *doc)
{
    fputs(".TP\n.B ", stdout);
    troff_text(name);
    putchar('\n');
    troff_text(doc);
    puts(".");
}

static void
dump_doc_followed(void)
{
    unsigned left = 0;
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        left += (unsigned)dump_rows_end(&sqt_tables[i]);
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (dump_rows_end(&sqt_tables[i])) {
            --left;
            printf(left == 1 ? ".B %s\nand\n" : left ? ".BR %s ,\n" : ".BR %s .\n", sqt_tables[i].name);
        }
}

static int
dump_doc_section(const char *line)
{
    if (strcmp(line, "@FOLLOWED@\n") == 0)
        dump_doc_followed();
    else if (strcmp(line, "@VIEWS@\n") == 0)
        sqt_ddl_figures(dump_doc_view);
    else
        return 0;
    return 1;
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"dump", dump_option_infos, DUMP_OPTIONS, dump_doc_section, dump_doc_names};
    return program_doc(&doc, argc, argv);
}
