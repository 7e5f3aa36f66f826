/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * where-internal.h - a parsed expression: nodes, each after those it needs.
 */
#ifndef SQT_WHERE_INTERNAL_H
#define SQT_WHERE_INTERNAL_H

#include "where.h"

enum sqt_where_operator {
    SQT_WHERE_AND,
    SQT_WHERE_OR,
    SQT_WHERE_NOT,
    SQT_WHERE_EQUAL,
    SQT_WHERE_UNEQUAL,
    SQT_WHERE_LESS,
    SQT_WHERE_LESS_EQUAL,
    SQT_WHERE_GREATER,
    SQT_WHERE_GREATER_EQUAL,
    SQT_WHERE_LIKE,
    SQT_WHERE_UNLIKE
};

struct sqt_where_node {
    enum sqt_where_operator operator;
    unsigned left, right;   /* nodes, for and, or, not */
    unsigned table, column; /* for comparisons */
    enum sqt_type type;     /* of the column; SQT_TYPE_TEXT when a RAW one is compared with text */
    int missing;            /* compared with "-" */
    int64_t number;
    char *text;
};

struct sqt_where {
    struct sqt_where_node *nodes;
    unsigned count, root;
    unsigned uses; /* bits of tables */
};

#endif
