/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tally-form.c - the table that a tally makes; see tally.h.
 */
#include "tally-internal.h"

#include <stdio.h>
#include <string.h>

/* A number of things has a mean with decimals. */
static enum sqt_type
mean_type(enum sqt_type type)
{
    return type == SQT_TYPE_COUNT || type == SQT_TYPE_FLAG || type == SQT_TYPE_ID ? SQT_TYPE_MILLI : type;
}

static void
tally_value_columns(struct sqt_tally_form *f, const struct sqt_column *of)
{
    const enum sqt_type type = of->type == SQT_TYPE_FLAG ? SQT_TYPE_COUNT : of->type;
    sqt_tally_column(f, "values", NULL, SQT_TYPE_COUNT, "rows that have a value in the column of --of");
    sqt_tally_column(f, "sum", of, type, "sum of the values");
    sqt_tally_column(f, "sum_share_pct", NULL, SQT_TYPE_PCT, "share in the sum of all groups");
    sqt_tally_column(f, "mean", of, mean_type(type), "mean, rounded down");
    sqt_tally_column(f, "p50", of, type, "median");
    sqt_tally_column(f, "p90", of, type, "90th percentile");
    sqt_tally_column(f, "p99", of, type, "99th percentile");
    sqt_tally_column(f, "max", of, type, "largest value");
}

void
sqt_tally_init(struct sqt_tally_form_by *form, const struct sqt_table *table, const struct sqt_tally_by *by)
{
    struct sqt_tally_form *const f = &form->form;
    memset(form, 0, sizeof(*form));
    form->from = table;
    form->by = *by;
    f->table = (struct sqt_table){.name = f->title, .doc = "rows by what they have in common"};
    size_t used = (size_t)snprintf(f->title, sizeof(f->title), "%s by ", table->name);
    for (unsigned i = 0; i < by->key_count; ++i)
        used += (size_t)snprintf(f->title + used, sizeof(f->title) - used, "%s%s", i ? "," : "",
                                 table->columns[by->keys[i]].name);
    for (unsigned i = 0; i < by->key_count; ++i) {
        sqt_tally_column(f, "", NULL, SQT_TYPE_TEXT, table->columns[by->keys[i]].doc);
        f->columns[i].name = table->columns[by->keys[i]].name;
    }
    sqt_tally_column(f, "count", NULL, SQT_TYPE_COUNT, "rows of the group");
    sqt_tally_column(f, "share_pct", NULL, SQT_TYPE_PCT, "share in all rows");
    if (by->of < table->column_count)
        tally_value_columns(f, &table->columns[by->of]);
    form->visible = f->table.column_count;
    for (unsigned i = 0; i < by->key_count; ++i) {
        const enum sqt_type type = table->columns[by->keys[i]].type;
        sqt_tally_column(f, "\t", NULL,
                         type == SQT_TYPE_TEXT  ? SQT_TYPE_COUNT
                         : type == SQT_TYPE_RAW ? SQT_TYPE_ID
                                                : type,
                         "");
    }
}

unsigned
sqt_tally_sorted_by(const struct sqt_tally_form_by *form, unsigned column)
{
    const struct sqt_column *const columns = form->from->columns;
    return column < form->by.key_count && columns[form->by.keys[column]].type != SQT_TYPE_TEXT &&
                   columns[form->by.keys[column]].type != SQT_TYPE_RAW
               ? form->visible + column
               : column;
}
