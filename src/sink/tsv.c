/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tsv.c - rows as tab-separated text; "-" for a missing value.
 */
#include "base/visible.h"
#include "base/digits.h"
#include "sink.h"

/* Longest text of a cell; more is cut off. */
#define TEXT_MAX 4000
/* Room that it may take, and a separator. */
#define TEXT_ROOM (SQT_VISIBLE_MOST * (TEXT_MAX + 4) + 8)

/* A tab or newline in a text would break the table, and an escape sequence could drive a terminal. */
static inline char *
tsv_put_text(char *p, const char *text)
{
    return sqt_visible(p, text, TEXT_MAX);
}

void
sqt_tsv_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    char *p = sqt_out_room(&sink->out, 2 * TEXT_ROOM);
    char *const start = p;
    *p++ = '#';
    *p++ = ' ';
    p = tsv_put_text(p, key);
    *p++ = ':';
    *p++ = ' ';
    p = tsv_put_text(p, text);
    *p++ = '\n';
    sink->out.used += (size_t)(p - start);
}

void
sqt_tsv_header(struct sqt_sink *sink)
{
    for (unsigned i = 0; i < sink->column_count && !sink->no_header; ++i) {
        char *const start = sqt_out_room(&sink->out, TEXT_ROOM);
        char *p = tsv_put_text(start, sink->table->columns[sink->columns[i]].name);
        *p++ = i + 1 < sink->column_count ? '\t' : '\n';
        sink->out.used += (size_t)(p - start);
    }
}

/* value / 10^decimals */
static char *
put_fixed(char *p, int64_t value, unsigned decimals)
{
    uint64_t v = (uint64_t)value;
    if (value < 0) {
        *p++ = '-';
        v = 0 - v;
    }
    const uint64_t one = decimals == 6 ? 1000000 : 1000;
    p = sqt_put_unsigned(p, v / one);
    *p++ = '.';
    const unsigned rest = (unsigned)(v % one);
    if (decimals == 6)
        p = sqt_put_three(p, rest / 1000);
    return sqt_put_three(p, rest % 1000);
}

static inline char *
put_cell(char *p, enum sqt_type type, const union sqt_cell *cell)
{
    if (sqt_cell_missing(type, *cell)) {
        *p++ = '-';
        return p;
    }
    switch (type) {
    case SQT_TYPE_TIME:
        return sqt_put_seconds(p, cell->number);
    case SQT_TYPE_MS:
        return put_fixed(p, cell->number, 6);
    case SQT_TYPE_PCT:
    case SQT_TYPE_MILLI:
        return put_fixed(p, cell->number, 3);
    case SQT_TYPE_TEXT:
        return tsv_put_text(p, cell->text);
    case SQT_TYPE_HASH:
        return sqt_put_hex(p, (uint64_t)cell->number);
    case SQT_TYPE_ID:
        return sqt_put_unsigned(p, (uint64_t)cell->number);
    case SQT_TYPE_RAW:
        return cell[SQT_RAW_TEXT].text ? tsv_put_text(p, cell[SQT_RAW_TEXT].text)
                                       : sqt_put_unsigned(p, (uint64_t)cell->number);
    default:
        return sqt_put_signed(p, cell->number);
    }
}

void
sqt_tsv_row(struct sqt_sink *sink, const union sqt_cell *row)
{
    const struct sqt_column *const columns = sink->table->columns;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        char *const start = sqt_out_room(&sink->out, TEXT_ROOM);
        char *p = put_cell(start, columns[sink->columns[i]].type, &row[sink->columns[i]]);
        *p++ = i + 1 < sink->column_count ? '\t' : '\n';
        sink->out.used += (size_t)(p - start);
    }
}
