/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * load-doc.c - the manual page and the shell completion of sqtrace-load, from its tables; run when sqtrace is built.
 *
 * usage: load-doc man VERSION DATE < doc/sqtrace-load.1.in
 *        load-doc completion
 */
#include <string.h>

#include "load.h"
#include "troff.h"

static void
workloads(void)
{
    for (unsigned i = 0; i < WORKLOADS; ++i)
        troff_item(load_workloads[i].name, load_workloads[i].doc);
}

static void
options(void)
{
    troff_options(load_option_infos, LOAD_OPTIONS);
}

static void
presets(void)
{
#define LOAD_WORKLOAD(name, doc)
#define LOAD_PRESET(workload, option, text) printf(".B %s\n\\-\\-%s=%s\n.br\n", #workload, \
                                                   load_option_infos[LOAD_##option].name, text);
#define LOAD_OPTION(id, name, letter, kind, value, preset, least, doc) \
    if (preset) \
        printf("\\-\\-%s=%s\n.br\n", name, (const char *)preset);
#include "load-options.def"
#include "load-workloads.def"
}

static void
errors(void)
{
    for (unsigned i = 0; i < LOAD_ERRORS; ++i)
        troff_item(load_errors[i].name, load_errors[i].doc);
}

static void
objects(void)
{
    for (unsigned i = 0; i < SQT_OBJECT_WORDS; ++i)
        troff_item(sqt_object_words[i].name, sqt_object_words[i].doc);
}

static const struct {
    const char *mark;
    void (*print)(void);
} marks[] = {{"@WORKLOADS@\n", workloads}, {"@OPTIONS@\n", options}, {"@PRESETS@\n", presets}, {"@ERRORS@\n", errors},
             {"@OBJECTS@\n", objects}};

static void
man(const char *version, const char *date)
{
    char line[4096];
    puts(".\\\" Made by load-doc from doc/sqtrace-load.1.in and the tables of sqtrace-load; do not edit.");
    while (fgets(line, sizeof(line), stdin)) {
        unsigned i = 0;
        while (i < sizeof(marks) / sizeof(*marks) && strcmp(line, marks[i].mark) != 0)
            ++i;
        if (i < sizeof(marks) / sizeof(*marks)) {
            marks[i].print();
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
    fputs("# Made by load-doc from the tables of sqtrace-load; do not edit.\n\n"
          "_sqtrace_load() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    # Bash splits --option=value at the sign.\n"
          "    if [[ $word == = ]]; then\n"
          "        word=''\n"
          "    elif [[ $option == = ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case $option in\n"
          "    -w | --workload)\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    for (unsigned i = 0; i < WORKLOADS; ++i)
        printf(" %s", load_workloads[i].name);
    fputs("\" -- \"$word\") ;;\n"
          "    --sizes) mapfile -t COMPREPLY < <(compgen -W 'uniform pareto' -- \"$word\") ;;\n"
          "    --http) mapfile -t COMPREPLY < <(compgen -W '1.0 1.1' -- \"$word\") ;;\n", stdout);
    const char *separator = "    ";
    for (unsigned i = 0; i < LOAD_OPTIONS; ++i)
        if (strcmp(load_option_infos[i].value, "FILE") == 0) {
            if (load_option_infos[i].letter)
                printf("%s-%c", separator, load_option_infos[i].letter), separator = " | ";
            printf("%s--%s", separator, load_option_infos[i].name);
            separator = " | ";
        }
    fputs(")\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "        compopt -o filenames ;;\n"
          "    *)\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    for (unsigned i = 0; i < LOAD_OPTIONS; ++i)
        printf(" --%s%s", load_option_infos[i].name, *load_option_infos[i].value ? "=" : "");
    fputs("\" -- \"$word\")\n"
          "        if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi ;;\n"
          "    esac\n"
          "}\n\n"
          "complete -F _sqtrace_load sqtrace-load\n", stdout);
}

int
main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "man") == 0) {
        man(argv[2], argv[3]);
    } else if (argc == 2 && strcmp(argv[1], "completion") == 0) {
        completion();
    } else {
        fputs("usage: load-doc man VERSION DATE | load-doc completion\n", stderr);
        return 2;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
