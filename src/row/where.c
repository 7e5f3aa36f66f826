/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * where.c - evaluates an expression on rows.
 */
#include "where-internal.h"

#include <fnmatch.h>
#include <string.h>

static int
holds(enum sqt_where_operator operator, int order)
{
    switch (operator) {
    case SQT_WHERE_EQUAL:
        return order == 0;
    case SQT_WHERE_UNEQUAL:
        return order != 0;
    case SQT_WHERE_LESS:
        return order < 0;
    case SQT_WHERE_LESS_EQUAL:
        return order <= 0;
    case SQT_WHERE_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

static int
compare(const struct sqt_where_node *node, const union sqt_cell *row)
{
    const int missing = !row || sqt_cell_missing(node->type, row[node->column]);
    if (node->missing)
        return missing == (node->operator== SQT_WHERE_EQUAL);
    if (missing)
        return 0;
    const union sqt_cell cell = row[node->column];
    if (node->type == SQT_TYPE_TEXT) {
        if (node->operator== SQT_WHERE_LIKE || node->operator== SQT_WHERE_UNLIKE)
            return (fnmatch(node->text, cell.text, 0) == 0) == (node->operator== SQT_WHERE_LIKE);
        const int order = strcmp(cell.text, node->text);
        return holds(node->operator, order);
    }
    if (node->type == SQT_TYPE_RAW) {
        const uint64_t a = (uint64_t)cell.number, b = (uint64_t)node->number;
        return holds(node->operator,(a > b) - (a < b));
    }
    return holds(node->operator,(cell.number > node->number) - (cell.number < node->number));
}

static int
match(const struct sqt_where *where, unsigned at, const union sqt_cell *const *rows)
{
    const struct sqt_where_node *const node = &where->nodes[at];
    switch (node->operator) {
    case SQT_WHERE_AND:
        return match(where, node->left, rows) && match(where, node->right, rows);
    case SQT_WHERE_OR:
        return match(where, node->left, rows) || match(where, node->right, rows);
    case SQT_WHERE_NOT:
        return !match(where, node->left, rows);
    default:
        return compare(node, rows[node->table]);
    }
}

int
sqt_where_match(const struct sqt_where *where, const union sqt_cell *const *rows)
{
    return !where || match(where, where->root, rows);
}

int
sqt_where_uses_columns(const struct sqt_where *where, unsigned table, unsigned from, unsigned until)
{
    for (unsigned i = 0; where && i < where->count; ++i) {
        const struct sqt_where_node *const node = &where->nodes[i];
        if (node->operator>= SQT_WHERE_EQUAL && node->table == table && node->column >= from && node->column<until)
            return 1;
    }
    return 0;
}

int
sqt_where_uses(const struct sqt_where *where, unsigned table)
{
    return where && (where->uses >> table & 1);
}

static void
where_narrow(const struct sqt_where_node *node, int64_t *least, int64_t *most)
{
    const int64_t n = node->number;
    const int equal = node->operator== SQT_WHERE_EQUAL;
    if (node->missing || node->type == SQT_TYPE_TEXT)
        return;
    const int64_t low = equal || node->operator== SQT_WHERE_GREATER_EQUAL   ? n
                        : node->operator== SQT_WHERE_GREATER && n<INT64_MAX ? n + 1
                                                                            : INT64_MIN;
    const int64_t high = equal || node->operator== SQT_WHERE_LESS_EQUAL    ? n
                         : node->operator== SQT_WHERE_LESS && n> INT64_MIN ? n - 1
                                                                           : INT64_MAX;
    *least = low > *least ? low : *least;
    *most = high < *most ? high : *most;
}

static void
where_bounds(const struct sqt_where *where, unsigned at, unsigned column, int64_t *least, int64_t *most)
{
    const struct sqt_where_node *const node = &where->nodes[at];
    if (node->operator== SQT_WHERE_AND) {
        where_bounds(where, node->left, column, least, most);
        where_bounds(where, node->right, column, least, most);
    } else if (node->operator>= SQT_WHERE_EQUAL && node->table == 0 && node->column == column) {
        where_narrow(node, least, most);
    }
}

void
sqt_where_bounds(const struct sqt_where *where, unsigned column, int64_t *least, int64_t *most)
{
    *least = INT64_MIN;
    *most = INT64_MAX;
    if (where)
        where_bounds(where, where->root, column, least, most);
}
