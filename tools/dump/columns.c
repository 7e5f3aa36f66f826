/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * columns.c - what is printed of the rows: columns, times of day, groups, a histogram; and in which order.
 */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "dump.h"

/* Groups of --wide that are only counted: a day of seconds in two classes. */
#define WIDE_GROUPS 200000

/* The columns of a table that --list does not show. */
static const char *
columns_list(char *text, size_t size, const struct sqt_table *t)
{
    size_t used = (size_t)snprintf(text, size, "it has");
    for (unsigned i = 0; i < t->column_count && used < size; ++i)
        if (*t->columns[i].name != '\t')
            used += (size_t)snprintf(text + used, size - used, "%s %s", i ? "," : "", t->columns[i].name);
    return text;
}

/* The column of that name among those of a table; -1 with a line in error if there is none. */
static int
columns_find(const struct sqt_table *t, const struct options *o, const char *option, const char *name, size_t length,
             unsigned *column)
{
    *column = sqt_column_find(t, name, length);
    if (*column < t->column_count && *name != '\t')
        return 0;
    char list[512], with[SQT_TABLES_WITH];
    const char *const others =
        sqt_table_find(t->name, t->figure) ? "--list shows them" : columns_list(list, sizeof(list), t);
    const char *const elsewhere = sqt_tables_with(with, name, length);
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, length);
    for (unsigned i = 0; i < t->column_count; ++i)
        if (*t->columns[i].name != '\t')
            sqt_nearest_offer(&nearest, t->columns[i].name);
    return options_fail(o, "--%s: %s has no column '%.*s'; %s", option, t->name, (int)length, name,
                        elsewhere ? elsewhere : sqt_nearest_text(&nearest, "", others));
}

/* ---- times of day ---- */

static int
take_clock(struct dump_request *r, const struct options *o)
{
    const char *const name = r->given[DUMP_clock];
    sqt_wide_table_init(&r->wide, r->table);
    r->shown = &r->wide.table;
    if (!name || strcmp(name, "trace") == 0)
        return 0;
    if (strcmp(name, "wall") != 0)
        return options_fail(o, "--clock: '%s' is unknown; there are: trace, wall", name);
    if (r->table->figure)
        return options_fail(o, "--clock=wall goes with tables, not with figures");
    r->clock_wall = r->uses_wide = 1;
    return 0;
}

/* The time of day that stands for that column; the column itself if there is none. */
static unsigned
columns_wall_of(const struct dump_request *r, unsigned column)
{
    for (unsigned i = r->wide.first; i < r->wide.table.column_count && r->clock_wall; ++i)
        if (sqt_wall_source(&r->wide.table, i) == column)
            return i;
    return column;
}

/* Notes that a time of day is asked for. */
static void
columns_note_wall(struct dump_request *r, unsigned column)
{
    r->uses_wide |= r->shown == &r->wide.table && column >= r->wide.first;
}

/* ---- groups and histograms ---- */

static int
take_of(struct dump_request *r, const struct options *o, struct sqt_tally_by *by)
{
    by->of = sqt_tally_main(r->table);
    if (!r->given[DUMP_of]) {
        if (by->of == r->table->column_count)
            by->of = r->wide.table.column_count; /* none */
        return 0;
    }
    if (columns_find(r->table, o, "of", r->given[DUMP_of], strlen(r->given[DUMP_of]), &by->of) != 0)
        return -1;
    if (!sqt_tally_numbers(r->table->columns[by->of].type))
        return options_fail(o, "--of: %s has no numbers to sum up", r->given[DUMP_of]);
    return 0;
}

/* Groups of times come in their order, others by size. */
static void
tally_default_order(struct dump_request *r)
{
    const enum sqt_type type = r->wide.columns[r->tally.by.keys[0]].type;
    if (type == SQT_TYPE_TIME || type == SQT_TYPE_WALL)
        r->keys[r->key_count++] = (struct sqt_order_key){sqt_tally_sorted_by(&r->tally, 0), 0};
    r->keys[r->key_count++] = (struct sqt_order_key){r->tally.by.key_count, 1};
}

static int
take_group_by(struct dump_request *r, const struct options *o)
{
    struct sqt_tally_by by = {.width = r->group};
    if (r->given[DUMP_of] && !r->given[DUMP_group_by])
        return options_fail(o, "--of goes with --group-by");
    if (!r->given[DUMP_group_by])
        return 0;
    if (r->table->figure)
        return options_fail(o, "--group-by goes with tables, not with figures");
    for (const char *text = r->given[DUMP_group_by]; text;) {
        const size_t length = strcspn(text, ",");
        unsigned column;
        if (columns_find(r->shown, o, "group-by", text, length, &column) != 0)
            return -1;
        if (by.key_count == SQT_TALLY_KEYS)
            return options_fail(o, "--group-by: more than %d columns", SQT_TALLY_KEYS);
        by.keys[by.key_count] = columns_wall_of(r, column);
        columns_note_wall(r, by.keys[by.key_count++]);
        text = text[length] ? text + length + 1 : NULL;
    }
    if (take_of(r, o, &by) != 0)
        return -1;
    sqt_tally_init(&r->tally, &r->wide.table, &by);
    r->shown = &r->tally.form.table;
    return 0;
}

static int
take_histogram(struct dump_request *r, const struct options *o)
{
    static const enum dump_option senseless[] = {DUMP_group_by, DUMP_sort, DUMP_limit};
    const char *const name = r->given[DUMP_histogram];
    unsigned column;
    if (!name)
        return 0;
    if (r->table->figure)
        return options_fail(o, "--histogram goes with tables, not with figures");
    for (unsigned i = 0; i < sizeof(senseless) / sizeof(*senseless); ++i)
        if (r->given[senseless[i]])
            return options_fail(o, "--%s does not go with --histogram", dump_option_infos[senseless[i]].name);
    if (columns_find(r->table, o, "histogram", name, strlen(name), &column) != 0)
        return -1;
    if (!sqt_tally_numbers(r->table->columns[column].type))
        return options_fail(o, "--histogram: %s has no numbers; --group-by=%s counts its values", name, name);
    sqt_histogram_init(&r->histogram, r->table, column);
    r->shown = &r->histogram.form.table;
    return 0;
}

/* ---- order and columns ---- */

static int
take_sort(struct dump_request *r, const struct options *o)
{
    for (const char *text = r->given[DUMP_sort]; text;) {
        struct sqt_order_key *const key = &r->keys[r->key_count];
        if (r->key_count == SQT_ORDER_KEYS)
            return options_fail(o, "--sort: more than %d columns", SQT_ORDER_KEYS);
        key->descending = *text == '-';
        text += key->descending;
        const size_t length = strcspn(text, ",");
        if (columns_find(r->shown, o, "sort", text, length, &key->column) != 0)
            return -1;
        columns_note_wall(r, key->column);
        if (r->given[DUMP_group_by])
            key->column = sqt_tally_sorted_by(&r->tally, key->column);
        ++r->key_count;
        text = text[length] ? text + length + 1 : NULL;
    }
    if (r->given[DUMP_group_by] && !r->key_count)
        tally_default_order(r);
    return 0;
}

/* All columns of a table that others' scripts rely on, in its order; a bar only for people. */
static void
all_columns(struct dump_request *r)
{
    const int bar = r->format->row == sqt_aligned_row;
    const unsigned count = r->given[DUMP_group_by]    ? r->tally.visible
                           : r->given[DUMP_histogram] ? SQT_HISTOGRAM_PLAIN + (unsigned)bar
                                                      : r->table->column_count;
    const int own = r->shown == &r->wide.table;
    for (unsigned i = 0; i < count; ++i)
        if (!own || !sqt_column_asked(&r->table->columns[i]) || (bar && sqt_column_for_people(&r->table->columns[i])) ||
            (r->given[DUMP_access_log] && sqt_column_of_log(&r->table->columns[i])))
            r->columns[r->column_count++] = (unsigned char)(own ? columns_wall_of(r, i) : i);
}

static int
take_columns(struct dump_request *r, const struct options *o)
{
    const char *text = r->given[DUMP_columns];
    r->all_columns = !text;
    if (!text) {
        all_columns(r);
        return 0;
    }
    for (;;) {
        const size_t length = strcspn(text, ",");
        unsigned column;
        if (columns_find(r->shown, o, "columns", text, length, &column) != 0)
            return -1;
        if (r->column_count == sizeof(r->columns))
            return options_fail(o, "--columns: more than %zu columns", sizeof(r->columns));
        if (r->shown == &r->wide.table)
            column = columns_wall_of(r, column);
        columns_note_wall(r, column);
        r->columns[r->column_count++] = (unsigned char)column;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

/* The values that are spread over columns; the keys among those that were asked for are there anyway. */
static int
take_wide(struct dump_request *r, const struct options *o)
{
    static const enum dump_option senseless[] = {DUMP_sort, DUMP_limit};
    const unsigned keys = r->tally.by.key_count;
    unsigned kept = 0, least = keys + 2;
    if (!r->given[DUMP_wide])
        return 0;
    if (!r->given[DUMP_group_by])
        return options_fail(o, "--wide goes with --group-by");
    for (unsigned i = 0; i < sizeof(senseless) / sizeof(*senseless); ++i)
        if (r->given[senseless[i]])
            return options_fail(o, "--%s does not go with --wide", dump_option_infos[senseless[i]].name);
    if (r->all_columns)
        r->columns[0] = (unsigned char)keys; /* count */
    for (unsigned i = 0; i < (r->all_columns ? 1 : r->column_count); ++i) {
        if (r->columns[i] < keys)
            continue;
        least = r->columns[i] >= least ? 0 : least;
        r->columns[kept++] = r->columns[i];
    }
    if (!kept)
        return options_fail(o, "--wide: --columns names no value: name count, or p99_ns");
    r->column_count = kept;
    if (least) {
        /* Groups are only counted. */
        r->tally.by.of = r->wide.table.column_count;
        r->tally.by.most = WIDE_GROUPS;
    }
    return 0;
}

int
dump_take_columns(struct dump_request *r, const struct options *o)
{
    if (take_clock(r, o) != 0 || take_histogram(r, o) != 0 || take_group_by(r, o) != 0 || take_columns(r, o) != 0 ||
        take_sort(r, o) != 0 || take_wide(r, o) != 0)
        return -1;
    /* Rows have times of day only if some are asked for. */
    if (r->shown == &r->wide.table && !r->uses_wide)
        r->shown = r->table;
    return 0;
}
