/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * values.c - see values.h.
 */
#include "values.h"

#include "model/class.h"
#include "model/model.h"

#include "cells.h"

enum values_set {
    VALUES_ANY,
#define SQT_SET(set, count, name) VALUES_##set,
#include "values.def"
};

static enum values_set
values_set_of(const struct sqt_table *table, unsigned column)
{
    static const unsigned char sets[SQT_COLUMNS] = {
#define SQT_VALUES(table, column, set) [SQT_AT_##table##_##column] = VALUES_##set,
#include "values.def"
    };
    const struct sqt_column *const first = sqt_tables[0].columns - (SQT_AT_requests + 1);
    return (enum values_set)sets[&table->columns[column] - first];
}

/* Name of number i; NULL where a number has none. */
static const char *
values_name(enum values_set set, unsigned i, unsigned *count)
{
    *count = 0;
    switch (set) {
    case VALUES_ANY:
        break;
#define SQT_SET(set, size, name) \
    case VALUES_##set: \
        *count = (size); \
        return i < *count ? (name) : NULL;
#include "values.def"
    }
    return NULL;
}

const char *
sqt_column_value(const struct sqt_table *table, unsigned column, unsigned i)
{
    const enum values_set set = values_set_of(table, column);
    const char *name = NULL;
    unsigned count = 1;
    for (unsigned number = 0, named = 0; !name && number < count; ++number) {
        const char *const next = values_name(set, number, &count);
        if (next && named++ == i)
            name = next;
    }
    return name;
}
