/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tables.c - the tables of sqtrace-top; see tables.def.
 */
#include "top.h"

static const struct sqt_column top_columns[TOP_COLUMNS] = {
#define TOP_COLUMN(id, name, type, doc) [TOP_AT_##id##_##name] = {#name, SQT_TYPE_##type, doc},
#include "tables.def"
};

const struct sqt_table top_tables[TOP_TABLES] = {
#define TOP_TABLE(id, name_, title_, doc_) \
    {.name = name_, \
     .title = title_, \
     .doc = doc_, \
     .columns = &top_columns[TOP_AT_##id + 1], \
     .column_count = TOP_CELLS(id)},
#include "tables.def"
};
