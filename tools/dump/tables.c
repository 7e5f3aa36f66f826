/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tables.c - the option --table of a format that takes several tables.
 */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "dump.h"

static int
tables_unknown(const struct options *o, const char *name, size_t length)
{
    char copy[64];
    struct sqt_nearest nearest;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, name);
    if (sqt_table_find(copy, 1))
        return options_fail(o, "'%s' is a figure: --format=parquet is made of tables", copy);
    sqt_nearest_init(&nearest, copy, strlen(copy));
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (!sqt_tables[i].figure)
            sqt_nearest_offer(&nearest, sqt_tables[i].name);
    return options_fail(o, "unknown table '%s'; %s", copy, sqt_nearest_text(&nearest, "", "--list shows them"));
}

static int
tables_take_name(struct dump_request *r, const struct options *o, const char *name, size_t length)
{
    unsigned i = 0;
    while (i < SQT_TABLES && (sqt_tables[i].figure || strlen(sqt_tables[i].name) != length ||
                              memcmp(sqt_tables[i].name, name, length) != 0))
        ++i;
    if (i == SQT_TABLES)
        return tables_unknown(o, name, length);
    for (unsigned j = 0; j < r->table_count; ++j)
        if (r->tables[j] == &sqt_tables[i])
            return options_fail(o, "--table: %s is named twice", sqt_tables[i].name);
    r->tables[r->table_count++] = &sqt_tables[i];
    return 0;
}

int
dump_take_tables(struct dump_request *r, const struct options *o)
{
    const char *text = r->given[DUMP_table];
    for (unsigned i = 0; i < SQT_TABLES && !text; ++i)
        if (sqt_tables[i].things && i != SQT_TABLE_events)
            r->tables[r->table_count++] = &sqt_tables[i];
    while (text) {
        const size_t length = strcspn(text, ",");
        if (tables_take_name(r, o, text, length) != 0)
            return -1;
        text = text[length] ? text + length + 1 : NULL;
    }
    if (r->given[DUMP_where] && r->table_count > 1)
        return options_fail(o, "--where goes with one table: name it with --table=NAME");
    r->table = r->tables[0];
    return 0;
}
