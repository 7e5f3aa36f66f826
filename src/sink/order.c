/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * order.c - see order.h.
 *
 * With a limit, rows are a heap whose first is the one that comes last in the order: a new row takes its place or is
 * not wanted.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct kept_row {
    uint64_t serial;
    size_t bytes;
    union sqt_cell cells[]; /* the texts follow them */
};

struct sqt_order {
    const struct sqt_table *table;
    struct sqt_order_key keys[SQT_ORDER_KEYS];
    unsigned key_count;
    unsigned cell_count;
    uint64_t limit, serial;
    struct kept_row **rows;
    size_t count, room, bytes;
    int full;
};

struct sqt_order *
sqt_order_new(const struct sqt_table *table, const struct sqt_order_key *keys, unsigned key_count, uint64_t limit)
{
    struct sqt_order *const o = sqt_zeroed(1, sizeof(*o));
    o->table = table;
    o->key_count = key_count;
    o->limit = limit;
    o->cell_count = table->column_count;
    memcpy(o->keys, keys, key_count * sizeof(*keys));
    for (unsigned i = 0; i < table->column_count; ++i)
        if (table->columns[i].type == SQT_TYPE_RAW && i + SQT_RAW_TEXT >= o->cell_count)
            o->cell_count = i + SQT_RAW_TEXT + 1;
    return o;
}

/* ---- comparing ---- */

static int
order_values(enum sqt_type type, union sqt_cell a, union sqt_cell b)
{
    if (type == SQT_TYPE_TEXT)
        return strcmp(a.text, b.text);
    if (type == SQT_TYPE_ID || type == SQT_TYPE_HASH || type == SQT_TYPE_RAW)
        return (uint64_t)a.number < (uint64_t)b.number ? -1 : (uint64_t)a.number > (uint64_t)b.number;
    return a.number < b.number ? -1 : a.number > b.number;
}

/* Below 0 if row a comes first. */
static int
order_compare(const struct sqt_order *o, const union sqt_cell *a, uint64_t a_serial, const union sqt_cell *b,
              uint64_t b_serial)
{
    for (unsigned i = 0; i < o->key_count; ++i) {
        const unsigned column = o->keys[i].column;
        const enum sqt_type type = o->table->columns[column].type;
        const int a_missing = sqt_cell_missing(type, a[column]), b_missing = sqt_cell_missing(type, b[column]);
        if (a_missing && b_missing)
            continue;
        if (a_missing || b_missing)
            return a_missing ? 1 : -1;
        const int order = order_values(type, a[column], b[column]);
        if (order)
            return o->keys[i].descending ? -order : order;
    }
    return a_serial < b_serial ? -1 : a_serial > b_serial;
}

static int
kept_after(const struct sqt_order *o, size_t a, size_t b)
{
    return order_compare(o, o->rows[a]->cells, o->rows[a]->serial, o->rows[b]->cells, o->rows[b]->serial) > 0;
}

/* ---- keeping ---- */

/* Whether the cell is a text. */
static int
holds_text(const struct sqt_order *o, unsigned cell)
{
    return (cell < o->table->column_count && o->table->columns[cell].type == SQT_TYPE_TEXT) ||
           (cell >= SQT_RAW_TEXT && o->table->columns[cell - SQT_RAW_TEXT].type == SQT_TYPE_RAW);
}

static struct kept_row *
order_copy(struct sqt_order *o, const union sqt_cell *row)
{
    size_t bytes = sizeof(struct kept_row) + o->cell_count * sizeof(*row);
    for (unsigned i = 0; i < o->cell_count; ++i)
        bytes += holds_text(o, i) && row[i].text ? strlen(row[i].text) + 1 : 0;
    struct kept_row *const kept = sqt_zeroed(1, bytes);
    char *text = (char *)&kept->cells[o->cell_count];
    memcpy(kept->cells, row, o->cell_count * sizeof(*row));
    for (unsigned i = 0; i < o->cell_count; ++i)
        if (holds_text(o, i) && row[i].text) {
            const size_t length = strlen(row[i].text) + 1;
            kept->cells[i].text = memcpy(text, row[i].text, length);
            text += length;
        }
    kept->serial = o->serial;
    kept->bytes = bytes;
    o->bytes += bytes;
    return kept;
}

static void
order_swap(struct sqt_order *o, size_t a, size_t b)
{
    struct kept_row *const row = o->rows[a];
    o->rows[a] = o->rows[b];
    o->rows[b] = row;
}

static void
order_sink_first(struct sqt_order *o, size_t count)
{
    for (size_t at = 0;;) {
        size_t last = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; ++child)
            if (kept_after(o, child, last))
                last = child;
        if (last == at)
            return;
        order_swap(o, at, last);
        at = last;
    }
}

static void
order_raise_last(struct sqt_order *o)
{
    for (size_t at = o->count - 1; at && kept_after(o, at, (at - 1) / 2); at = (at - 1) / 2)
        order_swap(o, at, (at - 1) / 2);
}

static void
order_drop(struct sqt_order *o, size_t at)
{
    o->bytes -= o->rows[at]->bytes;
    free(o->rows[at]);
}

int
sqt_order_row(void *context, const union sqt_cell *row)
{
    struct sqt_order *const o = context;
    ++o->serial;
    if (o->bytes > SQT_ORDER_MOST) {
        o->full = 1;
        return 0;
    }
    if (o->limit && o->count == o->limit) {
        if (order_compare(o, row, o->serial, o->rows[0]->cells, o->rows[0]->serial) > 0)
            return 1;
        order_drop(o, 0);
        o->rows[0] = order_copy(o, row);
        order_sink_first(o, o->count);
        return 1;
    }
    if (o->count == o->room) {
        o->room = o->room ? 2 * o->room : 64;
        o->rows = sqt_resized(o->rows, o->room * sizeof(*o->rows));
    }
    o->rows[o->count++] = order_copy(o, row);
    order_raise_last(o);
    return 1;
}

int
sqt_order_full(const struct sqt_order *o)
{
    return o->full;
}

/* ---- handing out ---- */

void
sqt_order_emit(struct sqt_order *o, sqt_row_function *row, void *context)
{
    /* The last of the order goes to the end, until the heap is used up. */
    for (size_t left = o->count; left > 1; --left) {
        order_swap(o, 0, left - 1);
        order_sink_first(o, left - 1);
    }
    int more = 1;
    for (size_t i = 0; i < o->count; ++i) {
        more = more && row(context, o->rows[i]->cells);
        order_drop(o, i);
    }
    o->count = 0;
}

void
sqt_order_free(struct sqt_order *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->count; ++i)
        free(o->rows[i]);
    free(o->rows);
    free(o);
}
