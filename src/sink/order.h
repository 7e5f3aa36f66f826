/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * order.h - rows of a table sorted, and the first of them.
 *
 * Rows are copied, with their texts.  With a limit, no more than that many are held.
 */
#ifndef SQT_ORDER_H
#define SQT_ORDER_H

#include "row/table.h"

/* Columns of a sort key, at most. */
#define SQT_ORDER_KEYS 8
/* Bytes of all rows that are held, at most, also with a limit. */
#define SQT_ORDER_MOST ((size_t)1 << 30)

struct sqt_order_key {
    unsigned column;
    int descending;
};

struct sqt_order;

/* keys: the first one counts most.  Rows that are equal in all keep the order in which they came, and those that miss a
 * value come last either way.  limit: so many rows, the first ones; 0: all. */
struct sqt_order *sqt_order_new(const struct sqt_table *table, const struct sqt_order_key *keys, unsigned key_count,
                                uint64_t limit);

/* Takes a row: a sqt_row_function.  Returns 0 if there is no room for more. */
int sqt_order_row(void *order, const union sqt_cell *row);

/* Whether there was no room. */
int sqt_order_full(const struct sqt_order *order);

/* Hands out the rows in order.  It holds none afterwards. */
void sqt_order_emit(struct sqt_order *order, sqt_row_function *row, void *context);

void sqt_order_free(struct sqt_order *order);

#endif
