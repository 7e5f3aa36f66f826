/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tally.c - see tally.h.
 *
 * A group's name is its keys as text, one after the other; no key's name is "other", which stands for all further
 * groups in names.h.
 */
#include "tally-internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/stat/names.h"
#include "figure/stat/quantile-cells.h"
#include "pass/family.h"
#include "row/cell-text.h"

#define OTHER "other"
#define SECOND INT64_C(1000000000)
/* Room of a key's text, and the letter before it. */
#define KEY_ROOM (SQT_VISIBLE_ROOM(SQT_TALLY_TEXT) + SQT_WALL_ROOM + 2)
/* Before a key, by whether it is missing; no text has these letters, as they would be escaped. */
#define HERE '\2'
#define MISSING '\3'

struct tally_group {
    struct sqt_name_entry name;
    uint64_t count;
    int64_t numbers[SQT_TALLY_KEYS];
    struct sqt_distribution values;
    int merged; /* its rows are in "other" */
};

struct sqt_tally {
    const struct sqt_tally_form_by *form;
    struct sqt_names groups;
    struct sqt_distributions set;
    uint64_t rows;
    uint64_t sum;
};

struct sqt_tally *
sqt_tally_new(const struct sqt_tally_form_by *form)
{
    struct sqt_tally *const t = sqt_zeroed(1, sizeof(*t));
    t->form = form;
    t->groups.size = sizeof(struct tally_group);
    t->groups.most = form->by.most ? form->by.most : SQT_TALLY_GROUPS;
    t->set.budget = SQT_TALLY_VALUES;
    return t;
}

/* ---- keys ---- */

static int64_t
tally_floor(int64_t value, int64_t width)
{
    const int64_t rest = value % width;
    const int64_t down = rest < 0 ? rest + width : rest;
    return value < INT64_MIN + 1 + down ? value : value - down;
}

static union sqt_cell
tally_key_cell(const struct sqt_tally_form_by *form, enum sqt_type type, union sqt_cell cell)
{
    if ((type == SQT_TYPE_TIME || type == SQT_TYPE_WALL) && cell.number != SQT_CELL_MISSING)
        cell.number = tally_floor(cell.number, form->by.width);
    return cell;
}

/* Appends the text of a key. */
static char *
tally_put_key(const struct sqt_tally_form_by *form, char *p, unsigned key, const union sqt_cell *cells, int64_t *number)
{
    const enum sqt_type type = form->from->columns[form->by.keys[key]].type;
    const union sqt_cell cell = tally_key_cell(form, type, *cells), whole[SQT_RAW_TEXT + 1] = {cell};
    *number = type == SQT_TYPE_TEXT ? 0 : cell.number;
    *p++ = sqt_cell_missing(type, cell) ? MISSING : HERE;
    if (p[-1] == MISSING)
        return p;
    if (type == SQT_TYPE_TEXT)
        return sqt_visible(p, cell.text, SQT_TALLY_TEXT);
    if (type == SQT_TYPE_RAW && cells[SQT_RAW_TEXT].text)
        return sqt_visible(p, cells[SQT_RAW_TEXT].text, SQT_TALLY_TEXT);
    if (type == SQT_TYPE_RAW)
        return sqt_put_unsigned(p, (uint64_t)cell.number);
    if (type == SQT_TYPE_WALL)
        return sqt_put_wall(p, cell.number, form->by.width % SECOND ? 9 : 0);
    return sqt_put_cell(p, type, whole);
}

/* ---- groups ---- */

static struct tally_group *
tally_others(struct sqt_tally *t)
{
    return sqt_names_get(&t->groups, OTHER);
}

static int
tally_is_other(const struct tally_group *group)
{
    return strcmp(group->name.name, OTHER) == 0;
}

static struct tally_group *
tally_group_of(struct sqt_tally *t, const union sqt_cell *row)
{
    char name[SQT_TALLY_KEYS * KEY_ROOM + 1], *p = name;
    int64_t numbers[SQT_TALLY_KEYS];
    for (unsigned i = 0; i < t->form->by.key_count; ++i)
        p = tally_put_key(t->form, p, i, &row[t->form->by.keys[i]], &numbers[i]);
    *p = '\0';
    struct tally_group *const group = sqt_names_get(&t->groups, name);
    if (group->merged)
        return tally_others(t);
    if (!group->count)
        memcpy(group->numbers, numbers, t->form->by.key_count * sizeof(*numbers));
    return group;
}

static int
tally_more_rows(const void *a, const void *b)
{
    const uint64_t left = (*(const struct tally_group *const *)a)->count;
    const uint64_t right = (*(const struct tally_group *const *)b)->count;
    return left > right ? -1 : left < right;
}

/* All groups but the largest become "other", and no further one begins. */
static void
tally_reduce(struct sqt_tally *t)
{
    struct tally_group *const other = tally_others(t);
    struct tally_group **const groups = sqt_zeroed(t->groups.count, sizeof(struct tally_group *));
    size_t count = 0;
    for (struct sqt_name_entry *name = t->groups.first; name; name = name->next)
        if ((struct tally_group *)name != other)
            groups[count++] = (struct tally_group *)name;
    qsort(groups, count, sizeof(struct tally_group *), tally_more_rows);
    t->set.budget = SIZE_MAX / 4; /* values only move */
    for (size_t i = SQT_TALLY_COARSE; i < count; ++i) {
        sqt_distribution_merge(&t->set, &other->values, &groups[i]->values);
        other->count += groups[i]->count;
        groups[i]->merged = 1;
    }
    t->set.budget = SQT_TALLY_VALUES;
    t->groups.most = 0;
    free(groups);
}

int
sqt_tally_row(void *context, const union sqt_cell *row)
{
    struct sqt_tally *const t = context;
    const unsigned of = t->form->by.of;
    struct tally_group *group = tally_group_of(t, row);
    ++t->rows;
    if (of < t->form->from->column_count && row[of].number != SQT_CELL_MISSING) {
        if (!sqt_distribution_fits(&t->set, &group->values) && t->groups.most) {
            tally_reduce(t);
            group = group->merged ? tally_others(t) : group;
        }
        const uint64_t before = group->values.sum;
        sqt_distribution_add(&t->set, &group->values, row[of].number);
        t->sum += group->values.sum - before;
    }
    ++group->count;
    return 1;
}

/* ---- rows ---- */

static int64_t
tally_mean(const struct sqt_tally *t, const struct sqt_distribution *d)
{
    const enum sqt_type type = t->form->form.columns[t->form->by.key_count + TALLY_MEAN].type;
    const enum sqt_type of = t->form->from->columns[t->form->by.of].type;
    const double mean = d->count ? (double)d->sum / (double)d->count : 0;
    if (!d->count)
        return SQT_CELL_MISSING;
    return type == SQT_TYPE_MILLI && of != SQT_TYPE_MILLI ? sqt_whole(mean * 1000) : (int64_t)(d->sum / d->count);
}

static void
tally_value_cells(const struct sqt_tally *t, struct sqt_distribution *d, union sqt_cell *cells)
{
    cells[TALLY_VALUES].number = (int64_t)d->count;
    cells[TALLY_SUM].number = d->sum <= INT64_MAX ? (int64_t)d->sum : INT64_MAX;
    cells[TALLY_SUM_SHARE].number = sqt_percent((double)d->sum, (double)t->sum);
    cells[TALLY_MEAN].number = tally_mean(t, d);
    cells[TALLY_P50] = sqt_median_cell(d);
    cells[TALLY_P90] = sqt_quantile_cell(d, 900);
    cells[TALLY_P99] = sqt_quantile_cell(d, 990);
    cells[TALLY_MAX] = sqt_max_cell(d);
}

/* Behind the keys. */
static void
tally_cells(const struct sqt_tally *t, struct tally_group *group, union sqt_cell *row)
{
    union sqt_cell *const cells = &row[t->form->by.key_count];
    cells[TALLY_COUNT].number = (int64_t)group->count;
    cells[TALLY_SHARE].number = sqt_percent((double)group->count, (double)t->rows);
    if (t->form->by.of < t->form->from->column_count)
        tally_value_cells(t, &group->values, cells);
    for (unsigned i = 0; i < t->form->by.key_count; ++i)
        row[t->form->visible + i].number = group->numbers[i];
}

/* Takes the keys apart, in place. */
static void
tally_key_cells(const struct sqt_tally *t, char *name, union sqt_cell *row)
{
    for (unsigned i = 0; i < t->form->by.key_count; ++i) {
        const int missing = *name == MISSING;
        *name++ = '\0';
        row[i].text = missing ? NULL : name;
        name += strcspn(name, "\2\3");
    }
}

void
sqt_tally_emit(struct sqt_tally *t, sqt_row_function *row, void *context)
{
    int more = 1;
    for (struct sqt_name_entry *name = t->groups.first; name && more; name = name->next) {
        struct tally_group *const group = (struct tally_group *)name;
        if (tally_is_other(group) || group->merged)
            continue;
        union sqt_cell cells[SQT_TALLY_COLUMNS];
        char *const keys = sqt_copied(group->name.name);
        tally_key_cells(t, keys, cells);
        tally_cells(t, group, cells);
        more = row(context, cells);
        free(keys);
    }
}

static struct tally_group *
tally_find_other(const struct sqt_tally *t)
{
    struct sqt_name_entry *name = t->groups.first;
    while (name && strcmp(name->name, OTHER) != 0)
        name = name->next;
    return (struct tally_group *)name;
}

int
sqt_tally_other(struct sqt_tally *t, union sqt_cell row[SQT_TALLY_COLUMNS])
{
    struct tally_group *const other = tally_find_other(t);
    if (!other || !other->count)
        return 0;
    for (unsigned i = 0; i < t->form->by.key_count; ++i)
        row[i].text = OTHER;
    tally_cells(t, other, row);
    return 1;
}

struct sqt_tally_account
sqt_tally_account(const struct sqt_tally *t)
{
    const struct tally_group *const other = tally_find_other(t);
    struct sqt_tally_account a = {.rows = t->rows, .other_rows = other ? other->count : 0, .coarse = t->set.coarse};
    for (const struct sqt_name_entry *name = t->groups.first; name; name = name->next)
        a.groups += !((const struct tally_group *)name)->merged && (const struct tally_group *)name != other;
    return a;
}

void
sqt_tally_free(struct sqt_tally *t)
{
    if (!t)
        return;
    for (struct sqt_name_entry *name = t->groups.first; name; name = name->next)
        sqt_distribution_drop(&t->set, &((struct tally_group *)name)->values);
    sqt_names_free(&t->groups);
    free(t);
}
