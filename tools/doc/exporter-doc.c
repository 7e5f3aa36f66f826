/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exporter-doc.c - the manual page and the completion of sqtrace-exporter: see program-doc.h.
 */
#include <string.h>

#include "../exporter/exporter.h"
#include "program-doc.h"
#include "troff.h"

/* "histogram, by kid, class; table requests, column total_ns" */
static void
exporter_doc_source(const struct export_metric_info *metric)
{
    const struct export_family_info *const family = &export_families()[metric->family];
    printf("(%s", export_kind_names[metric->kind]);
    for (unsigned i = 0; i < family->label_count; ++i) {
        fputs(i ? ", " : "; labels: ", stdout);
        troff_text(family->labels[i].name);
    }
    if (metric->table) {
        fputs("; table ", stdout);
        troff_text(metric->table);
        fputs(metric->sample == SQT_SAMPLES ? ", column " : ", value ", stdout);
        troff_text(metric->sample == SQT_SAMPLES ? metric->column : sqt_samples[metric->sample].name);
    }
    fputs(")\n", stdout);
}

static void
exporter_doc_metrics(void)
{
    for (unsigned i = 0; i < EXPORT_METRICS; ++i) {
        troff_item(export_metrics[i].name, export_metrics[i].doc);
        fputs(".br\n", stdout);
        exporter_doc_source(&export_metrics[i]);
    }
}

static int
exporter_doc_section(const char *line)
{
    if (strcmp(line, "@METRICS@\n") != 0)
        return 0;
    exporter_doc_metrics();
    return 1;
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"exporter", exporter_option_infos, EXPORTER_OPTIONS, exporter_doc_section,
                                           NULL};
    return program_doc(&doc, argc, argv);
}
