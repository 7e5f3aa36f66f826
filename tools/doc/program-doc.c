/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * program-doc.c - see program-doc.h.
 */
#include "program-doc.h"

#include <string.h>

#include "troff.h"

/* ---- the manual page ---- */

static void
man_options(const struct program_doc *doc)
{
    for (unsigned i = 0; i < doc->option_count; ++i) {
        const struct option_info *const o = &doc->options[i];
        fputs(".TP\n", stdout);
        if (o->letter)
            printf("\\fB\\-%c\\fR, ", o->letter);
        fputs("\\fB\\-\\-", stdout);
        troff_text(o->name);
        fputs("\\fR", stdout);
        if (*o->value) {
            fputs("=\\fI", stdout);
            troff_text(o->value);
            fputs("\\fR", stdout);
        }
        putchar('\n');
        troff_text(o->doc);
        putchar('\n');
    }
}

static void
man_line(const char *line, const char *version, const char *date)
{
    while (*line) {
        if (strncmp(line, "@VERSION@", 9) == 0) {
            fputs(version, stdout);
            line += 9;
        } else if (strncmp(line, "@DATE@", 6) == 0) {
            fputs(date, stdout);
            line += 6;
        } else {
            putchar(*line++);
        }
    }
}

static void
man(const struct program_doc *doc, const char *version, const char *date)
{
    char line[4096];
    printf(".\\\" Made by %s-doc from a file in doc/ and sqtrace's tables; do not edit.\n", doc->name);
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "@OPTIONS@\n") == 0)
            man_options(doc);
        else if (!doc->section || !doc->section(line))
            man_line(line, version, date);
    }
}

/* ---- completion for bash ---- */

/* What sets `value` to what the option before the word is given. */
static void
values(const struct program_doc *doc)
{
    for (unsigned i = 0; i < doc->option_count; ++i) {
        const struct option_info *const o = &doc->options[i];
        if (!*o->value)
            continue;
        printf("    --%s", o->name);
        if (o->letter)
            printf(" | -%c", o->letter);
        printf(") value='%s' ;;\n", o->value);
    }
}

static void
completion(const struct program_doc *doc)
{
    printf("# Made by %s-doc from the tables of sqtrace-%s; do not edit.\n\n"
           "_sqtrace_%s() {\n",
           doc->name, doc->name, doc->name);
    fputs("    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} value='' names='' before=''\n"
          "    # Bash splits --option=value, and LABEL=TRACE, at the sign.\n"
          "    if [[ $word == = ]]; then\n"
          "        word=''\n"
          "    elif [[ $option == = ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case $option in\n",
          stdout);
    values(doc);
    fputs("    esac\n", stdout);
    if (doc->names) {
        fputs("    case $option in\n", stdout);
        doc->names();
        fputs("    esac\n", stdout);
    }
    fputs("    case $value in\n"
          "    '' | FILE)\n"
          "        if [[ $word == -* ]]; then\n"
          "            mapfile -t COMPREPLY < <(compgen -W \"",
          stdout);
    for (unsigned i = 0; i < doc->option_count; ++i)
        printf(" --%s%s", doc->options[i].name, *doc->options[i].value ? "=" : "");
    fputs("\" -- \"$word\")\n"
          "            if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
          "        else\n"
          "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "            compopt -o filenames\n"
          "        fi ;;\n"
          "    DIR)\n"
          "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
          "        compopt -o filenames ;;\n"
          "    *,...)\n"
          "        if [[ $word == *,* ]]; then before=${word%,*},; fi\n"
          "        mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$names\" -- \"${word##*,}\")\n"
          "        compopt -o nospace ;;\n"
          "    *) mapfile -t COMPREPLY < <(compgen -W \"$names\" -- \"$word\") ;;\n"
          "    esac\n"
          "}\n\n",
          stdout);
    printf("complete -F _sqtrace_%s sqtrace-%s\n", doc->name, doc->name);
}

int
program_doc(const struct program_doc *doc, int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "man") == 0) {
        man(doc, argv[2], argv[3]);
    } else if (argc == 2 && strcmp(argv[1], "completion") == 0) {
        completion(doc);
    } else {
        fprintf(stderr, "usage: %s-doc man VERSION DATE | %s-doc completion\n", doc->name, doc->name);
        return 2;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
