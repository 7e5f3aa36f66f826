/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * metrics.c - see metrics.h.
 */
#include "metrics.h"

#include "row/facts.h"

const char *const export_kind_names[3] = {"histogram", "counter", "gauge"};

const struct export_metric_info export_metrics[EXPORT_METRICS] = {
#define EXPORT_METRIC(family, id, kind, name, unit, table, column, doc) \
    {name,   doc,     EXPORT_FAMILY_##family,  EXPORT_##kind, EXPORT_##unit, \
     #table, #column, SQT_CELL(table, column), SQT_SAMPLES},
#define EXPORT_MADE(family, id, kind, name, unit, table, columns, doc) \
    {name, doc, EXPORT_FAMILY_##family, EXPORT_##kind, EXPORT_##unit, table, columns, -1, SQT_SAMPLES},
#define EXPORT_SAMPLE(family, id, kind, name, unit, sample, doc) \
    {name, doc, EXPORT_FAMILY_##family, EXPORT_##kind, EXPORT_##unit, "samples", #sample, -1, SQT_SAMPLE_##sample},
#define EXPORT_OWN(family, id, kind, name, unit, doc) \
    {name, doc, EXPORT_FAMILY_##family, EXPORT_##kind, EXPORT_##unit, NULL, NULL, -1, SQT_SAMPLES},
#include "metrics.def"
};

static void
metrics_label(struct export_family_info *family, const char *name, int cell)
{
    struct export_label_info *const label = &family->labels[family->label_count++];
    label->name = name;
    label->cell = cell;
    label->type = cell < 0 ? SQT_TYPE_TEXT : sqt_tables[family->table].columns[cell].type;
}

const struct export_family_info *
export_families(void)
{
    static struct export_family_info families[EXPORT_FAMILIES] = {
#define EXPORT_FAMILY(id, table_, form_) {.table = SQT_TABLE_##table_, .form = EXPORT_##form_},
#include "metrics.def"
    };
    static int made;
    if (made++)
        return families;
#define EXPORT_LABEL(family, name, table, column) \
    metrics_label(&families[EXPORT_FAMILY_##family], #name, SQT_CELL(table, column));
#define EXPORT_LABEL_MADE(family, name) metrics_label(&families[EXPORT_FAMILY_##family], #name, -1);
#include "metrics.def"
    for (unsigned i = EXPORT_METRICS; i-- > 0;) {
        struct export_family_info *const family = &families[export_metrics[i].family];
        family->first = i;
        ++family->slots;
    }
    return families;
}
