/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * metrics.h - the table of metrics as data.
 */
#ifndef SQT_EXPORTER_METRICS_H
#define SQT_EXPORTER_METRICS_H

#include "row/table.h"

#define EXPORT_LABELS_MOST 3 /* of a family */
#define EXPORT_SLOTS_MOST 16 /* metrics of a family */

enum export_kind { EXPORT_HISTOGRAM, EXPORT_COUNTER, EXPORT_GAUGE };
extern const char *const export_kind_names[3];

enum export_unit { EXPORT_NS, EXPORT_TIME, EXPORT_US, EXPORT_MS, EXPORT_BYTES, EXPORT_COUNT, EXPORT_ROWS };

/* Whether many label sets are expected, and --top bounds them. */
enum export_form { EXPORT_TOP, EXPORT_ALL, EXPORT_NOW, EXPORT_ONE };

enum export_family {
#define EXPORT_FAMILY(id, table, form) EXPORT_FAMILY_##id,
#include "metrics.def"
    EXPORT_FAMILIES
};

enum export_metric {
#define EXPORT_METRIC(family, id, kind, name, unit, table, column, doc) EXPORT_##family##_##id,
#define EXPORT_MADE(family, id, kind, name, unit, table, columns, doc) EXPORT_##family##_##id,
#define EXPORT_SAMPLE(family, id, kind, name, unit, sample, doc) EXPORT_##family##_##id,
#define EXPORT_OWN(family, id, kind, name, unit, doc) EXPORT_##family##_##id,
#include "metrics.def"
    EXPORT_METRICS
};

struct export_metric_info {
    const char *name, *doc;
    enum export_family family;
    enum export_kind kind;
    enum export_unit unit;
    const char *table, *column;   /* NULL: of the exporter itself */
    int cell;                     /* of a row of the family's table; -1: take.c knows */
    enum sqt_sample_value sample; /* SQT_SAMPLES: it is no sample */
};

struct export_label_info {
    const char *name;
    int cell; /* of a row of the family's table; -1: take.c makes the label */
    enum sqt_type type;
};

struct export_family_info {
    enum sqt_table_number table;
    enum export_form form;
    struct export_label_info labels[EXPORT_LABELS_MOST];
    unsigned label_count;
    enum export_metric first; /* the family's metrics stand together */
    unsigned slots;
};

extern const struct export_metric_info export_metrics[EXPORT_METRICS];

/* The families, made of the table at the first call.  They live as long as the program. */
const struct export_family_info *export_families(void);

#endif
