/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spread.c - see spread.h.
 */
#include "spread.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/stat/names.h"

#define SPREAD_VALUES 16
#define SPREAD_TITLE 512
/* Behind a key's text, and in place of one that is missing; no text has these letters, as they would be escaped. */
#define SPREAD_ENDS '\2'
#define SPREAD_MISSING '\3'

/* A group of the keys behind the first; named by their texts. */
struct spread_group {
    struct sqt_name_entry named;
    char *title; /* of its column */
    uint64_t rows;
    unsigned place; /* among the groups, most rows first */
};

/* A row of the tally. */
struct spread_entry {
    int64_t number; /* of the first key */
    char *text;     /* the same, if it has no number; NULL: it is missing */
    struct spread_group *group;
    int64_t values[SPREAD_VALUES];
};

struct sqt_spread {
    const struct sqt_tally_form_by *form;
    unsigned char values[SPREAD_VALUES]; /* columns of the tally */
    unsigned value_count;
    int numbered;            /* the first key has numbers */
    struct sqt_names groups; /* no more than the tally has */
    struct spread_entry *entries;
    size_t entry_count, entry_room;
    int sorted; /* the entries are */
    struct sqt_table table;
    struct sqt_column *columns;
    unsigned shown; /* groups that have columns */
};

static const struct sqt_column *
spread_first_key(const struct sqt_spread *s)
{
    return &s->form->from->columns[s->form->by.keys[0]];
}

struct sqt_spread *
sqt_spread_new(const struct sqt_tally_form_by *form, const unsigned char *columns, unsigned count)
{
    struct sqt_spread *const s = sqt_zeroed(1, sizeof(*s));
    s->form = form;
    for (unsigned i = 0; i < count && s->value_count < SPREAD_VALUES; ++i)
        s->values[s->value_count++] = columns[i];
    const enum sqt_type type = spread_first_key(s)->type;
    s->numbered = type != SQT_TYPE_TEXT && type != SQT_TYPE_RAW;
    s->groups.size = sizeof(struct spread_group);
    s->groups.most = UINT_MAX;
    return s;
}

/* ---- rows come in ---- */

/* The texts of the keys behind the first, so that those of no other group are the same.  The caller frees it. */
static char *
spread_name(const struct sqt_spread *s, const union sqt_cell *row)
{
    size_t size = 1;
    for (unsigned i = 1; i < s->form->by.key_count; ++i)
        size += row[i].text ? strlen(row[i].text) + 1 : 1;
    char *const name = sqt_allocated(size), *p = name;
    for (unsigned i = 1; i < s->form->by.key_count; ++i) {
        if (row[i].text)
            p = stpcpy(p, row[i].text);
        *p++ = row[i].text ? SPREAD_ENDS : SPREAD_MISSING;
    }
    *p = '\0';
    return name;
}

/* The same for people; a number is named: "kid 1". */
static char *
spread_title(const struct sqt_spread *s, const union sqt_cell *row)
{
    char title[SPREAD_TITLE] = "";
    size_t used = 0;
    for (unsigned i = 1; i < s->form->by.key_count && used < sizeof(title); ++i) {
        const struct sqt_column *const key = &s->form->from->columns[s->form->by.keys[i]];
        const int text = key->type == SQT_TYPE_TEXT;
        used += (size_t)snprintf(title + used, sizeof(title) - used, "%s%s%s%s", i > 1 ? "," : "",
                                 text ? "" : key->name, text ? "" : " ", row[i].text ? row[i].text : "-");
    }
    return sqt_copied(title);
}

static struct spread_group *
spread_group(struct sqt_spread *s, const union sqt_cell *row)
{
    char *const name = spread_name(s, row);
    struct spread_group *const group = sqt_names_get(&s->groups, name);
    if (!group->title)
        group->title = spread_title(s, row);
    free(name);
    return group;
}

int
sqt_spread_row(void *spread, const union sqt_cell *row)
{
    struct sqt_spread *const s = spread;
    if (s->entry_count == s->entry_room) {
        s->entry_room = s->entry_room ? 2 * s->entry_room : 256;
        s->entries = sqt_resized(s->entries, s->entry_room * sizeof(*s->entries));
    }
    struct spread_entry *const e = &s->entries[s->entry_count++];
    *e = (struct spread_entry){.number = row[s->form->visible].number, .group = spread_group(s, row)};
    if (!s->numbered && row[0].text)
        e->text = sqt_copied(row[0].text);
    for (unsigned i = 0; i < s->value_count; ++i)
        e->values[i] = row[s->values[i]].number;
    e->group->rows += (uint64_t)row[s->form->by.key_count].number;
    return 1;
}

/* ---- the table ---- */

static int
spread_larger(const void *a, const void *b)
{
    const struct spread_group *const x = *(struct spread_group *const *)a, *const y = *(struct spread_group *const *)b;
    const int order = strcmp(x->title, y->title);
    return x->rows != y->rows ? (x->rows < y->rows ? 1 : -1) : order ? order : strcmp(x->named.name, y->named.name);
}

/* Gives the groups their places; returns how many have columns. */
static unsigned
spread_rank(struct sqt_spread *s)
{
    struct spread_group **const order = sqt_zeroed(s->groups.count + 1, sizeof(struct spread_group *));
    unsigned count = 0;
    for (struct sqt_name_entry *name = s->groups.first; name; name = name->next)
        order[count++] = (struct spread_group *)name;
    qsort(order, count, sizeof(struct spread_group *), spread_larger);
    for (unsigned i = 0; i < count; ++i)
        order[i]->place = i;
    free(order);
    const unsigned most = s->value_count ? SQT_SPREAD_COLUMNS / s->value_count : 0;
    return count < most ? count : most;
}

/* "miss", or "miss p99_ns" if there are several values; "p99_ns" if there is one key only. */
static void
spread_column(struct sqt_spread *s, const struct spread_group *group, unsigned value)
{
    const struct sqt_column *const of = &s->form->form.columns[s->values[value]];
    struct sqt_column *const column = &s->columns[1 + group->place * s->value_count + value];
    const char *const between = *group->title && s->value_count > 1 ? " " : "";
    *column = *of;
    column->name = sqt_printed("%s%s%s", group->title, between, *group->title && s->value_count == 1 ? "" : of->name);
}

const struct sqt_table *
sqt_spread_table(struct sqt_spread *s)
{
    const struct sqt_column *const key = spread_first_key(s);
    s->shown = spread_rank(s);
    const unsigned count = 1 + s->shown * s->value_count;
    s->columns = sqt_zeroed(count, sizeof(*s->columns));
    s->columns[0] = *key;
    s->columns[0].name = sqt_copied(key->name);
    if (!s->numbered)
        s->columns[0].type = SQT_TYPE_TEXT;
    for (const struct sqt_name_entry *name = s->groups.first; name; name = name->next) {
        const struct spread_group *const group = (const struct spread_group *)name;
        for (unsigned k = 0; k < s->value_count && group->place < s->shown; ++k)
            spread_column(s, group, k);
    }
    s->table = s->form->form.table;
    s->table.columns = s->columns;
    s->table.column_count = count;
    return &s->table;
}

unsigned
sqt_spread_left_out(const struct sqt_spread *s)
{
    return s->groups.count - s->shown;
}

/* ---- rows go out ---- */

static int
spread_order(const void *a, const void *b)
{
    const struct spread_entry *const x = a, *const y = b;
    if (!x->text || !y->text)
        return x->text || y->text ? (x->text ? 1 : -1) : x->number < y->number ? -1 : x->number > y->number;
    return strcmp(x->text, y->text);
}

static int
spread_same(const struct spread_entry *a, const struct spread_entry *b)
{
    return spread_order(a, b) == 0;
}

/* What stands where a group has no rows: nothing happened, so counts and sums are 0. */
static int64_t
spread_nothing(const struct sqt_spread *s, unsigned value)
{
    const char *const name = s->form->form.columns[s->values[value]].name;
    return strcmp(name, "count") == 0 || strcmp(name, "share_pct") == 0 || strcmp(name, "values") == 0 ||
                   strncmp(name, "sum", 3) == 0
               ? 0
               : SQT_CELL_MISSING;
}

static void
spread_empty(const struct sqt_spread *s, union sqt_cell *row)
{
    for (unsigned i = 1; i < s->table.column_count; ++i)
        row[i].number = spread_nothing(s, (i - 1) % s->value_count);
}

static void
spread_fill(const struct sqt_spread *s, union sqt_cell *row, const struct spread_entry *e)
{
    const unsigned place = e->group->place;
    for (unsigned i = 0; i < s->value_count && place < s->shown; ++i)
        row[1 + place * s->value_count + i].number = e->values[i];
}

/* Whether rows are of times. */
static int
spread_is_timed(const struct sqt_spread *s)
{
    const enum sqt_type type = s->columns[0].type;
    return (type == SQT_TYPE_TIME || type == SQT_TYPE_WALL) && s->form->by.width > 0;
}

/* How many groups of time are between two. */
static uint64_t
spread_between(const struct sqt_spread *s, int64_t from, int64_t until)
{
    const uint64_t width = (uint64_t)s->form->by.width, apart = (uint64_t)until - (uint64_t)from;
    return from == SQT_CELL_MISSING || until <= from ? 0 : (apart - 1) / width;
}

static void
spread_sort(struct sqt_spread *s)
{
    if (s->entries && !s->sorted)
        qsort(s->entries, s->entry_count, sizeof(*s->entries), spread_order);
    s->sorted = 1;
}

uint64_t
sqt_spread_empty_left_out(struct sqt_spread *s)
{
    uint64_t empty = 0;
    spread_sort(s);
    for (size_t i = 1; i < s->entry_count && spread_is_timed(s); ++i)
        empty += spread_between(s, s->entries[i - 1].number, s->entries[i].number);
    return empty > SQT_SPREAD_EMPTY ? empty : 0;
}

/* Rows of times between two entries in which nothing happened.  Returns 0 if no more are wanted. */
static int
spread_gap(const struct sqt_spread *s, union sqt_cell *row, int64_t from, int64_t until, sqt_row_function *to,
           void *context)
{
    const uint64_t count = spread_between(s, from, until);
    spread_empty(s, row);
    for (uint64_t i = 0; i < count; ++i) {
        row[0].number = from += s->form->by.width;
        if (!to(context, row))
            return 0;
    }
    return 1;
}

void
sqt_spread_emit(struct sqt_spread *s, sqt_row_function *to, void *context)
{
    union sqt_cell *const row = sqt_zeroed(s->table.column_count, sizeof(*row));
    const int gaps = spread_is_timed(s) && !sqt_spread_empty_left_out(s);
    int more = 1;
    spread_sort(s);
    for (size_t i = 0, next; i < s->entry_count && more; i = next) {
        const struct spread_entry *const first = &s->entries[i];
        if (i && gaps)
            more = spread_gap(s, row, s->entries[i - 1].number, first->number, to, context);
        spread_empty(s, row);
        for (next = i; next < s->entry_count && spread_same(first, &s->entries[next]); ++next)
            spread_fill(s, row, &s->entries[next]);
        if (s->numbered)
            row[0].number = first->number;
        else
            row[0].text = first->text;
        more = more && to(context, row);
    }
    free(row);
}

void
sqt_spread_free(struct sqt_spread *s)
{
    if (!s)
        return;
    for (struct sqt_name_entry *name = s->groups.first; name; name = name->next)
        free(((struct spread_group *)name)->title);
    for (size_t i = 0; i < s->entry_count; ++i)
        free(s->entries[i].text);
    for (unsigned i = 0; s->columns && i < s->table.column_count; ++i)
        free((void *)(uintptr_t)s->columns[i].name);
    free(s->columns);
    sqt_names_free(&s->groups);
    free(s->entries);
    free(s);
}
