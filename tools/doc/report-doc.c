/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report-doc.c - the manual page and the completion of sqtrace-report: see program-doc.h.
 */
#include "program-doc.h"
#include "../report/report.h"

static void
report_doc_names(void)
{
    fputs("    --figures) names='", stdout);
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure)
            printf(" %s", sqt_tables[i].name);
    fputs("' ;;\n", stdout);
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"report", report_option_infos, REPORT_OPTIONS, NULL, report_doc_names};
    return program_doc(&doc, argc, argv);
}
