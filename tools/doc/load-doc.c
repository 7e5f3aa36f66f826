/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * load-doc.c - the manual page and the completion of sqtrace-load: see program-doc.h.
 */
#include <string.h>

#include "../load/load.h"
#include "program-doc.h"
#include "troff.h"

static void
workloads(void)
{
    for (unsigned i = 0; i < WORKLOADS; ++i)
        troff_item(load_workloads[i].name, load_workloads[i].doc);
}

static void
presets(void)
{
#define LOAD_OPTION(id, name, letter, kind, value, preset, least, doc) \
    if (preset) \
        printf("\\-\\-%s=%s\n.br\n", name, (const char *)preset);
#define LOAD_PRESET(workload, option, text) \
    printf(".B %s\n\\-\\-%s=%s\n.br\n", #workload, load_option_infos[LOAD_##option].name, text);
#include "../load/options.def"
#include "../load/workloads.def"
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

static int
load_section(const char *line)
{
    static const struct {
        const char *mark;
        void (*print)(void);
    } sections[] = {
        {"@WORKLOADS@\n", workloads}, {"@PRESETS@\n", presets}, {"@ERRORS@\n", errors}, {"@OBJECTS@\n", objects}};
    for (unsigned i = 0; i < sizeof(sections) / sizeof(*sections); ++i)
        if (strcmp(line, sections[i].mark) == 0) {
            sections[i].print();
            return 1;
        }
    return 0;
}

static void
load_doc_names(void)
{
    fputs("    -w | --workload) names='", stdout);
    for (unsigned i = 0; i < WORKLOADS; ++i)
        printf(" %s", load_workloads[i].name);
    fputs("' ;;\n    --sizes) names='uniform pareto' ;;\n    --http) names='1.0 1.1' ;;\n", stdout);
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"load", load_option_infos, LOAD_OPTIONS, load_section, load_doc_names};
    return program_doc(&doc, argc, argv);
}
