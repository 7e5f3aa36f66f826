/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fields.c - see fields.h.
 */
#include "fields.h"

#include <stdio.h>

static unsigned
fields_scale(enum sqt_type type)
{
    return type == SQT_TYPE_TIME ? 9 : type == SQT_TYPE_MS ? 6 : type == SQT_TYPE_PCT || type == SQT_TYPE_MILLI ? 3 : 0;
}

static void
fields_set(struct sqt_parquet_field *f, const struct sqt_column *column, const char *suffix, unsigned cell, int text)
{
    snprintf(f->name, sizeof(f->name), "%s%s", column->name, suffix);
    f->cell = cell;
    f->type = column->type;
    f->text = text;
    f->scale = fields_scale(column->type);
}

unsigned
sqt_parquet_fields(const struct sqt_table *table, struct sqt_parquet_field fields[SQT_PARQUET_FIELDS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < table->column_count; ++i) {
        const struct sqt_column *const column = &table->columns[i];
        if (*column->name == '\t' || column->type == SQT_TYPE_WALL)
            continue;
        fields_set(&fields[count++], column, "", i, column->type == SQT_TYPE_TEXT);
        if (column->type == SQT_TYPE_RAW)
            fields_set(&fields[count++], column, "_text", i + SQT_RAW_TEXT, 1);
    }
    return count;
}
