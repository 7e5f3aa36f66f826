/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cell-text.h - a cell as text, as TSV has it.
 */
#ifndef SQT_CELL_TEXT_H
#define SQT_CELL_TEXT_H

#include "base/digits.h"
#include "base/visible.h"
#include "base/wall.h"
#include "table.h"

/* Longest text of a cell; more is cut off. */
#define SQT_CELL_TEXT_MAX 4000
/* Room that it may take, and a separator. */
#define SQT_CELL_TEXT_ROOM (SQT_VISIBLE_ROOM(SQT_CELL_TEXT_MAX) + 8)

/* A tab or newline in a text would break the table, and an escape sequence could drive a terminal. */
static inline char *
sqt_put_cell_text(char *p, const char *text)
{
    return sqt_visible(p, text, SQT_CELL_TEXT_MAX);
}

/* value / 10^decimals, which are 3 or 6 */
static inline char *
sqt_put_fixed(char *p, int64_t value, unsigned decimals)
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

/* "-" for a missing value.  Returns the end; no NUL is appended. */
static inline char *
sqt_put_cell(char *p, enum sqt_type type, const union sqt_cell *cell)
{
    if (sqt_cell_missing(type, *cell)) {
        *p++ = '-';
        return p;
    }
    switch (type) {
    case SQT_TYPE_TIME:
        return sqt_put_seconds(p, cell->number);
    case SQT_TYPE_WALL:
        return sqt_put_wall(p, cell->number, 9);
    case SQT_TYPE_MS:
        return sqt_put_fixed(p, cell->number, 6);
    case SQT_TYPE_PCT:
    case SQT_TYPE_MILLI:
        return sqt_put_fixed(p, cell->number, 3);
    case SQT_TYPE_TEXT:
        return sqt_put_cell_text(p, cell->text);
    case SQT_TYPE_HASH:
        return sqt_put_hex(p, (uint64_t)cell->number);
    case SQT_TYPE_ID:
        return sqt_put_unsigned(p, (uint64_t)cell->number);
    case SQT_TYPE_RAW:
        return cell[SQT_RAW_TEXT].text ? sqt_put_cell_text(p, cell[SQT_RAW_TEXT].text)
                                       : sqt_put_unsigned(p, (uint64_t)cell->number);
    default:
        return sqt_put_signed(p, cell->number);
    }
}

#endif
