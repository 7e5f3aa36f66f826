/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump-doc.c - the manual page and the shell completion of sqtrace-dump, from its tables; run when sqtrace is built.
 *
 * usage: dump-doc man VERSION DATE < doc/sqtrace-dump.1.in
 *        dump-doc completion
 *
 * In the manual page @VERSION@ and @DATE@ are replaced, and a line with only @OPTIONS@, @TABLES@, @FIGURES@, @CLASSES@
 * or @STAGES@ by what the tables say.
 */
#include <string.h>

#include "../src/model/class.h"
#include "dump.h"
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

static void
man_line(const char *line, const char *version, const char *date)
{
    if (strcmp(line, "@OPTIONS@\n") == 0) {
        troff_options(dump_option_infos, DUMP_OPTIONS);
    } else if (strcmp(line, "@TABLES@\n") == 0) {
        man_tables(0);
    } else if (strcmp(line, "@FIGURES@\n") == 0) {
        man_tables(1);
    } else if (strcmp(line, "@CLASSES@\n") == 0) {
        for (unsigned i = 0; i < SQT_CLASSES; ++i)
            troff_item(sqt_classes[i].name, sqt_classes[i].doc);
    } else if (strcmp(line, "@STAGES@\n") == 0) {
        for (unsigned i = 0; i < SQT_STAGES; ++i)
            troff_item(sqt_stages[i].name, sqt_stages[i].doc);
    } else {
        for (const char *s = line; *s;) {
            if (strncmp(s, "@VERSION@", 9) == 0) {
                fputs(version, stdout);
                s += 9;
            } else if (strncmp(s, "@DATE@", 6) == 0) {
                fputs(date, stdout);
                s += 6;
            } else {
                putchar(*s++);
            }
        }
    }
}

static void
man(const char *version, const char *date)
{
    char line[4096];
    puts(".\\\" Made by dump-doc from doc/sqtrace-dump.1.in and the tables of sqtrace-dump; do not edit.");
    while (fgets(line, sizeof(line), stdin))
        man_line(line, version, date);
}

/* ---- completion for bash ---- */

static void
names(int figure)
{
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure == figure)
            printf(" %s", sqt_tables[i].name);
}

static void
completion(void)
{
    fputs("# Made by dump-doc from the tables of sqtrace-dump; do not edit.\n\n"
          "# The columns of a table or figure.\n"
          "_sqtrace_dump_columns() {\n"
          "    case $1 in\n",
          stdout);
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        printf("    %s) echo", sqt_tables[i].name);
        for (unsigned c = 0; c < sqt_tables[i].column_count; ++c)
            printf(" %s", sqt_tables[i].columns[c].name);
        puts(" ;;");
    }
    fputs("    esac\n}\n\n"
          "_sqtrace_dump() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} table=requests before='' i\n"
          "    # Bash splits --option=value at the sign.\n"
          "    if [[ $word == = ]]; then\n"
          "        word=''\n"
          "    elif [[ $option == = ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        --table | --figure)\n"
          "            table=${COMP_WORDS[i+1]}\n"
          "            if [[ $table == = ]]; then table=${COMP_WORDS[i+2]}; fi ;;\n"
          "        esac\n"
          "    done\n"
          "    case $option in\n"
          "    --table) mapfile -t COMPREPLY < <(compgen -W \"",
          stdout);
    names(0);
    fputs("\" -- \"$word\") ;;\n    --figure) mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    names(1);
    fputs("\" -- \"$word\") ;;\n    --format) mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    for (unsigned i = 0; i < sqt_sink_type_count; ++i)
        printf(" %s", sqt_sink_types[i].name);
    fputs("\" -- \"$word\") ;;\n"
          "    --columns)\n"
          "        if [[ $word == *,* ]]; then before=${word%,*},; fi\n"
          "        mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$(_sqtrace_dump_columns \"$table\")\" -- "
          "\"${word##*,}\")\n"
          "        compopt -o nospace ;;\n"
          "    --where) mapfile -t COMPREPLY < <(compgen -W \"$(_sqtrace_dump_columns \"$table\")\" -- \"$word\") ;;\n"
          "    --since | --until | --kid | --group | --peak) COMPREPLY=() ;;\n"
          "    *)\n"
          "        if [[ $word == -* ]]; then\n"
          "            mapfile -t COMPREPLY < <(compgen -W \"",
          stdout);
    for (unsigned i = 0; i < DUMP_OPTIONS; ++i)
        printf(" --%s%s", dump_option_infos[i].name, *dump_option_infos[i].value ? "=" : "");
    fputs("\" -- \"$word\")\n"
          "            if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
          "        else\n"
          "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "            compopt -o filenames\n"
          "        fi ;;\n"
          "    esac\n"
          "}\n\n"
          "complete -F _sqtrace_dump sqtrace-dump\n",
          stdout);
}

int
main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "man") == 0) {
        man(argv[2], argv[3]);
    } else if (argc == 2 && strcmp(argv[1], "completion") == 0) {
        completion();
    } else {
        fputs("usage: dump-doc man VERSION DATE | dump-doc completion\n", stderr);
        return 2;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
