/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * form.c - see form.h.
 */
#include "form.h"

#include <stdio.h>
#include <string.h>

/* "_ns" of total_ns; "" where the name has no unit. */
static const char *
form_unit(const char *name)
{
    static const char *const units[] = {"_ns", "_ms", "_s", "_bytes", "_pct"};
    const char *const last = strrchr(name, '_');
    for (unsigned i = 0; last && i < sizeof(units) / sizeof(*units); ++i)
        if (strcmp(last, units[i]) == 0)
            return units[i];
    return "";
}

void
sqt_tally_column(struct sqt_tally_form *form, const char *word, const struct sqt_column *source, enum sqt_type type,
                 const char *doc)
{
    const unsigned i = form->table.column_count++;
    snprintf(form->names[i], sizeof(form->names[i]), "%s%s", word, source ? form_unit(source->name) : "");
    form->columns[i] = (struct sqt_column){form->names[i], type, doc};
    form->table.columns = form->columns;
}

int
sqt_tally_numbers(enum sqt_type type)
{
    return type != SQT_TYPE_TEXT && type != SQT_TYPE_RAW && type != SQT_TYPE_HASH && type != SQT_TYPE_WALL;
}

unsigned
sqt_tally_main(const struct sqt_table *table)
{
    static const struct {
        enum sqt_table_number table;
        unsigned column;
    } mains[] = {
#define SQT_MAIN(table, column) {SQT_TABLE_##table, SQT_CELL(table, column)},
#include "mains.def"
    };
    for (unsigned i = 0; i < sizeof(mains) / sizeof(*mains); ++i)
        if (strcmp(sqt_tables[mains[i].table].name, table->name) == 0)
            return mains[i].column;
    unsigned total = 0;
    while (total < table->column_count && strcmp(table->columns[total].name, "total_ns") != 0)
        ++total;
    return total;
}
