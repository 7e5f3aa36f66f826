/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * json.h - values as JSON text.
 */
#ifndef SQT_JSON_H
#define SQT_JSON_H

#include "row/table.h"
#include "out.h"

/* Formatted text, at most SQT_JSON_PRINT_MAX bytes of it. */
#define SQT_JSON_PRINT_MAX 1024
void sqt_json_print(struct sqt_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text as it is, and a whole number: much faster than formatted. */
void sqt_json_text(struct sqt_out *out, const char *text);
void sqt_json_unsigned(struct sqt_out *out, uint64_t value);
void sqt_json_signed(struct sqt_out *out, int64_t value);

/* A string in quotes; what visible.h calls harmful is escaped in it. */
void sqt_json_string(struct sqt_out *out, const char *text);

/* Nanoseconds as microseconds with three decimals. */
void sqt_json_us(struct sqt_out *out, int64_t ns);

/* The cells first..until-1 of a row that are not missing, as "name":value; those behind the first have a comma before
 * them.  more: so has the first.  Returns whether there was one, or more. */
int sqt_json_cells(struct sqt_out *out, const struct sqt_table *table, const union sqt_cell *row, unsigned first,
                   unsigned until, int more);

#endif
