/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lists.c - see lists.h.
 */
#include "lists.h"

#include <stdlib.h>
#include <string.h>

#include "expand.h"
#include "parquet/fields.h"
#include "row/facts.h"
#include "row/wide-columns.h"

/* ---- columns ---- */

/* What stands for a field's words. */
struct lists_field {
    const struct sqt_ddl_engine *engine;
    const struct sqt_parquet_field *field;
};

static int
lists_field_word(FILE *to, const char *word, const void *context)
{
    const struct lists_field *const f = context;
    const struct sqt_ddl_engine *const e = f->engine;
    if (strcmp(word, "name") == 0)
        fprintf(to, "%s%s%s", e->quote, f->field->name, e->quote);
    else if (strcmp(word, "type") != 0)
        return 0;
    else if (f->field->scale)
        fprintf(to, "%s%u%s", e->decimal_begin, f->field->scale, e->decimal_end);
    else
        fputs(f->field->text ? e->text : e->number, to);
    return 1;
}

static unsigned
lists_fields(const struct sqt_table *table, struct sqt_parquet_field fields[SQT_PARQUET_FIELDS])
{
    struct sqt_wide_table wide;
    sqt_wide_table_init(&wide, table);
    return sqt_parquet_fields(&wide.table, fields);
}

void
sqt_ddl_put_schema(FILE *to, const struct sqt_ddl_engine *e, const struct sqt_table *table, const char *column)
{
    struct sqt_parquet_field fields[SQT_PARQUET_FIELDS];
    const unsigned count = lists_fields(table, fields);
    for (unsigned i = 0; i < count; ++i) {
        fputs(i ? ", " : "", to);
        sqt_ddl_expand(to, column, lists_field_word, &(struct lists_field){e, &fields[i]});
    }
}

void
sqt_ddl_put_columns(FILE *to, const struct sqt_ddl_engine *e, const struct sqt_table *table)
{
    struct sqt_parquet_field fields[SQT_PARQUET_FIELDS];
    const unsigned count = lists_fields(table, fields);
    for (unsigned i = 0; i < count; ++i) {
        const int host = strcmp(fields[i].name, "host") == 0;
        sqt_ddl_expand(to, host ? "coalesce({name}, '-') AS {name}" : "{name}", lists_field_word,
                       &(struct lists_field){e, &fields[i]});
        fputs(i + 1 < count ? ", " : "", to);
    }
}

/* ---- what a row is split into ---- */

struct lists_part {
    const struct sqt_ddl_engine *engine;
    const char *name;
    size_t length;
    uint64_t columns; /* of `requests`: the value is their sum; 0: it is the column of that name */
};

/* The sum; a column without a value counts 0, and all without one are no value. */
static void
lists_put_sum(FILE *to, const struct sqt_ddl_engine *e, uint64_t columns)
{
    const struct sqt_column *const all = sqt_tables[SQT_TABLE_requests].columns;
    const int several = (columns & (columns - 1)) != 0;
    fputs(several ? "CASE WHEN coalesce(" : "", to);
    for (uint64_t left = columns; left; left &= left - 1)
        fprintf(to, "%s%s%s%s", left == columns ? "" : ", ", e->quote, all[__builtin_ctzll(left)].name, e->quote);
    fputs(several ? ") IS NOT NULL THEN " : "", to);
    for (uint64_t left = several ? columns : 0; left; left &= left - 1)
        fprintf(to, "%scoalesce(%s%s%s, 0)", left == columns ? "" : " + ", e->quote, all[__builtin_ctzll(left)].name,
                e->quote);
    fputs(several ? " END" : "", to);
}

static int
lists_part_word(FILE *to, const char *word, const void *context)
{
    const struct lists_part *const p = context;
    if (strcmp(word, "name") == 0)
        fprintf(to, "'%.*s'", (int)p->length, p->name);
    else if (strcmp(word, "value") != 0)
        return 0;
    else if (p->columns)
        lists_put_sum(to, p->engine, p->columns);
    else
        fprintf(to, "%s%s%s", p->engine->quote, p->name, p->engine->quote);
    return 1;
}

static void
lists_put_part(FILE *to, const char *item, unsigned number, const struct lists_part *part)
{
    fputs(number ? ", " : "", to);
    sqt_ddl_expand(to, item, lists_part_word, part);
}

void
sqt_ddl_put_durations(FILE *to, const struct sqt_ddl_engine *e, const struct sqt_table *table, const char *item)
{
    unsigned count = 0;
    for (unsigned i = 0; i < table->column_count; ++i) {
        const char *const name = table->columns[i].name;
        if (table->columns[i].type == SQT_TYPE_NS)
            lists_put_part(to, item, count++, &(struct lists_part){e, name, strlen(name) - strlen("_ns"), 0});
    }
}

/* ---- requests ---- */

void
sqt_ddl_put_known(FILE *to)
{
    const char *before = "outcome NOT IN (";
    for (unsigned i = 0; i < SQT_OUTCOMES; ++i)
        if (sqt_durations_unknown(i) || i == SQT_OUTCOME_UNFINISHED) {
            fprintf(to, "%s'%s'", before, sqt_outcome_names[i]);
            before = ", ";
        }
    fputs(")", to);
}

void
sqt_ddl_put_hits(FILE *to)
{
    const char *before = "";
    for (unsigned i = 0; i < SQT_CLASSES; ++i)
        if (SQT_HITS >> i & 1) {
            fprintf(to, "%s'%s'", before, sqt_classes[i].name);
            before = ", ";
        }
}

void
sqt_ddl_put_stages(FILE *to)
{
    for (uint64_t left = sqt_parts_of_total; left; left &= left - 1) {
        const char *const name = sqt_tables[SQT_TABLE_requests].columns[__builtin_ctzll(left)].name;
        fprintf(to, "%s'%.*s'", left == sqt_parts_of_total ? "" : ", ", (int)(strlen(name) - strlen("_ns")), name);
    }
}

void
sqt_ddl_put_server_time(FILE *to, const struct sqt_ddl_engine *e)
{
    fputs("coalesce(", to);
    lists_put_sum(to, e, SQT_SERVER_TIME);
    fputs(", 0)", to);
}
