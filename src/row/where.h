/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * where.h - expressions that pick rows: tag == TCP_HIT and total_ns > 100ms
 *
 *     expression := all { "or" all }
 *     all        := term { "and" term }
 *     term       := "not" term | "(" expression ")" | column operator value
 *     operator   := == | != | < | <= | > | >= | ~ | !~
 *
 * A value is a number, with a unit if the column has one, or a text, in quotes if it has spaces or parentheses.
 * ~ matches a text against a pattern of the shell.  A missing value compares false with everything but "-":
 * "dns_ns == -" is true where there was no look-up.
 */
#ifndef SQT_WHERE_H
#define SQT_WHERE_H

#include "table.h"

#define SQT_WHERE_TABLES 2

struct sqt_where;

/* Columns are looked for in the tables in their order.  Returns NULL with one line in error, which names the
 * character (from 1) where the expression went wrong. */
struct sqt_where *sqt_where_parse(const char *text, const struct sqt_table *const *tables, unsigned table_count,
                                  char *error, size_t error_size);

/* The same of the part of the text that begins at that offset; the error counts characters from the start of the text. */
struct sqt_where *sqt_where_parse_from(const char *text, size_t offset, const struct sqt_table *const *tables,
                                       unsigned table_count, char *error, size_t error_size);

/* Reads a number for comparison with cells of that type, with its unit: nanoseconds, bytes, or thousandths where cells are
 * those.  Returns 0, or -1 with what is wrong in *error, which is a constant. */
int sqt_where_number(enum sqt_type type, const char *text, size_t length, int64_t *number, const char **error);

/* rows: one for each table; NULL where there is none, then its columns are missing.  A NULL where matches. */
int sqt_where_match(const struct sqt_where *where, const union sqt_cell *const *rows);

/* Whether a column of that table is named. */
int sqt_where_uses(const struct sqt_where *where, unsigned table);

/* Whether one of these columns of that table is named, from <= column < until. */
int sqt_where_uses_columns(const struct sqt_where *where, unsigned table, unsigned from, unsigned until);

/* Between which values a number of the first table lies, wherever a row matches; INT64_MIN and INT64_MAX: anything. */
void sqt_where_bounds(const struct sqt_where *where, unsigned column, int64_t *least, int64_t *most);

void sqt_where_free(struct sqt_where *where);

#endif
