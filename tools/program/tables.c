/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tables.c - see tables.h.
 */
#include "tables.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

static int
tables_unknown(const struct options *o, const char *name, size_t length)
{
    char copy[64];
    struct sqt_nearest nearest;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, name);
    if (sqt_table_find(copy, 1))
        return options_fail(o, "'%s' is a figure: Parquet is made of tables", copy);
    sqt_nearest_init(&nearest, copy, strlen(copy));
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (!sqt_tables[i].figure)
            sqt_nearest_offer(&nearest, sqt_tables[i].name);
    return options_fail(o, "unknown table '%s'; %s", copy,
                        sqt_nearest_text(&nearest, "", "sqtrace-dump --list shows them"));
}

static int
tables_take_name(const struct options *o, const char *name, size_t length, const struct sqt_table **tables,
                 unsigned *count)
{
    unsigned i = 0;
    while (i < SQT_TABLES && (sqt_tables[i].figure || strlen(sqt_tables[i].name) != length ||
                              memcmp(sqt_tables[i].name, name, length) != 0))
        ++i;
    if (i == SQT_TABLES)
        return tables_unknown(o, name, length);
    for (unsigned j = 0; j < *count; ++j)
        if (tables[j] == &sqt_tables[i])
            return options_fail(o, "--table: %s is named twice", sqt_tables[i].name);
    tables[(*count)++] = &sqt_tables[i];
    return 0;
}

int
program_take_tables(const struct options *o, unsigned option, const struct sqt_table **tables, unsigned *count)
{
    const char *text = o->given[option];
    for (unsigned i = 0; i < SQT_TABLES && !text; ++i)
        if ((sqt_tables[i].things == SQT_THINGS && i != SQT_TABLE_events) || i == SQT_TABLE_finding_minutes)
            tables[(*count)++] = &sqt_tables[i];
    while (text) {
        const size_t length = strcspn(text, ",");
        if (tables_take_name(o, text, length, tables, count) != 0)
            return -1;
        text = text[length] ? text + length + 1 : NULL;
    }
    return 0;
}
