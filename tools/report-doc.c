/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report-doc.c - the manual page and the shell completion of sqtrace-report, from its tables; run when sqtrace is
 * built.
 *
 * usage: report-doc man VERSION DATE < doc/sqtrace-report.1.in
 *        report-doc completion
 */
#include <string.h>

#include "report.h"
#include "troff.h"

static void
man(const char *version, const char *date)
{
    char line[4096];
    puts(".\\\" Made by report-doc from doc/sqtrace-report.1.in and the tables of sqtrace-report; do not edit.");
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "@OPTIONS@\n") == 0) {
            troff_options(report_option_infos, REPORT_OPTIONS);
            continue;
        }
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
completion(void)
{
    fputs("# Made by report-doc from the tables of sqtrace-report; do not edit.\n\n"
          "_sqtrace_report() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} before=''\n"
          "    # Bash splits --option=value, and LABEL=TRACE, at the sign.\n"
          "    if [[ $word == = ]]; then\n"
          "        word=''\n"
          "    elif [[ $option == = ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case $option in\n"
          "    --figures)\n"
          "        if [[ $word == *,* ]]; then before=${word%,*},; fi\n"
          "        mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"",
          stdout);
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure)
            printf(" %s", sqt_tables[i].name);
    fputs("\" -- \"${word##*,}\")\n"
          "        compopt -o nospace ;;\n"
          "    -o | --output | --data)\n"
          "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
          "        compopt -o filenames ;;\n"
          "    --title | --since | --until | --kid | --group | --peak) COMPREPLY=() ;;\n"
          "    *)\n"
          "        if [[ $word == -* ]]; then\n"
          "            mapfile -t COMPREPLY < <(compgen -W \"",
          stdout);
    for (unsigned i = 0; i < REPORT_OPTIONS; ++i)
        printf(" --%s%s", report_option_infos[i].name, *report_option_infos[i].value ? "=" : "");
    fputs("\" -- \"$word\")\n"
          "            if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
          "        else\n"
          "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "            compopt -o filenames\n"
          "        fi ;;\n"
          "    esac\n"
          "}\n\n"
          "complete -F _sqtrace_report sqtrace-report\n",
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
        fputs("usage: report-doc man VERSION DATE | report-doc completion\n", stderr);
        return 2;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
