/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * top-doc.c - the manual page and the completion of sqtrace-top: see program-doc.h.
 */
#include <string.h>

#include "../top/top.h"
#include "program-doc.h"
#include "troff.h"

static void
top_doc_tables(void)
{
    for (unsigned i = 0; i < TOP_TABLES; ++i) {
        printf(".SS %s\n", top_tables[i].name);
        troff_text(top_tables[i].doc);
        fputs(".\n", stdout);
        for (unsigned c = 0; c < top_tables[i].column_count; ++c)
            troff_item(top_tables[i].columns[c].name, top_tables[i].columns[c].doc);
    }
}

static int
top_section(const char *line)
{
    if (strcmp(line, "@TABLES@\n") != 0)
        return 0;
    top_doc_tables();
    return 1;
}

static void
top_doc_names(void)
{
    fputs("    --table) names='", stdout);
    for (unsigned i = 0; i < TOP_TABLES; ++i)
        printf(" %s", top_tables[i].name);
    fputs("' ;;\n    --sort) names='", stdout);
    for (unsigned i = 0; i < TOP_SORT_COUNT; ++i)
        printf(" %s", top_sort_names[i]);
    fputs("' ;;\n    --format) names='tsv table' ;;\n    --where) names='", stdout);
    for (unsigned i = 0; i < SQT_CELLS(requests); ++i)
        printf(" %s", sqt_tables[SQT_TABLE_requests].columns[i].name);
    fputs("' ;;\n", stdout);
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"top", top_option_infos, TOP_OPTIONS, top_section, top_doc_names};
    return program_doc(&doc, argc, argv);
}
