/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * json.c - see json.h.
 */
#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/visible.h"
#include "base/digits.h"

/* Longest text; more is cut off. */
#define TEXT_MAX 4000

void
sqt_json_print(struct sqt_out *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(sqt_out_room(out, SQT_JSON_PRINT_MAX), SQT_JSON_PRINT_MAX, format, arguments);
    va_end(arguments);
    out->used += n < 0 ? 0 : n < SQT_JSON_PRINT_MAX ? (size_t)n : SQT_JSON_PRINT_MAX - 1;
}

void
sqt_json_text(struct sqt_out *out, const char *text)
{
    const size_t length = strnlen(text, SQT_JSON_PRINT_MAX);
    memcpy(sqt_out_room(out, length), text, length);
    out->used += length;
}

void
sqt_json_unsigned(struct sqt_out *out, uint64_t value)
{
    char *const start = sqt_out_room(out, SQT_DIGITS_MAX);
    out->used += (size_t)(sqt_put_unsigned(start, value) - start);
}

void
sqt_json_signed(struct sqt_out *out, int64_t value)
{
    char *const start = sqt_out_room(out, SQT_DIGITS_MAX);
    out->used += (size_t)(sqt_put_signed(start, value) - start);
}

void
sqt_json_string(struct sqt_out *out, const char *text)
{
    char *const start = sqt_out_room(out, 5 * TEXT_MAX + 64);
    char *p = start;
    const char *const end = text + TEXT_MAX;
    *p++ = '"';
    while (text < end && *text) {
        char character[4 * SQT_VISIBLE_MOST], *const behind = sqt_visible_next(character, &text);
        for (const char *c = character; c < behind; ++c) {
            if (*c == '"' || *c == '\\')
                *p++ = '\\';
            *p++ = *c;
        }
    }
    *p++ = '"';
    out->used += (size_t)(p - start);
}

void
sqt_json_us(struct sqt_out *out, int64_t ns)
{
    char *const start = sqt_out_room(out, SQT_DIGITS_MAX);
    char *p = start;
    uint64_t value = (uint64_t)ns;
    if (ns < 0) {
        *p++ = '-';
        value = 0 - value;
    }
    p = sqt_put_unsigned(p, value / 1000);
    *p++ = '.';
    p = sqt_put_three(p, (unsigned)(value % 1000));
    out->used += (size_t)(p - start);
}

static void
cell(struct sqt_out *out, enum sqt_type type, union sqt_cell value)
{
    switch (type) {
    case SQT_TYPE_TEXT:
        sqt_json_string(out, value.text);
        break;
    case SQT_TYPE_HASH:
        sqt_json_print(out, "\"%016llx\"", (unsigned long long)value.number);
        break;
    case SQT_TYPE_ID:
    case SQT_TYPE_RAW:
        sqt_json_unsigned(out, (uint64_t)value.number);
        break;
    case SQT_TYPE_TIME:
        out->used +=
            (size_t)(sqt_put_seconds(sqt_out_room(out, SQT_DIGITS_MAX), value.number) - (out->buffer + out->used));
        break;
    default: /* whole numbers; no table of things has a column of another type */
        sqt_json_signed(out, value.number);
    }
}

int
sqt_json_cells(struct sqt_out *out, const struct sqt_table *table, const union sqt_cell *row, unsigned first,
               unsigned until, int more)
{
    for (unsigned i = first; i < until; ++i) {
        const struct sqt_column *const column = &table->columns[i];
        if (sqt_cell_missing(column->type, row[i]))
            continue;
        sqt_json_text(out, more ? ",\"" : "\"");
        sqt_json_text(out, column->name);
        sqt_json_text(out, "\":");
        cell(out, column->type, row[i]);
        more = 1;
    }
    return more;
}
