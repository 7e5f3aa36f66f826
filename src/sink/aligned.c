/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * aligned.c - rows for people: aligned columns, values with units, no wider than the terminal.
 *
 * The first rows are held back until their widths are known.  Columns that are empty in all of them are left out.  If
 * there is no room for the others, those of brief.def come first, then the longest stages of requests, then the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/visible.h"
#include "base/wall.h"
#include "row/facts.h"
#include "row/wide-columns.h"
#include "sink.h"

/* Rows that are held back. */
#define HELD 200
/* Bytes of a cell: what is longer is cut. */
#define CELL_MOST 240
#define CELL_ROOM (SQT_VISIBLE_ROOM(CELL_MOST) + SQT_HUMAN_ROOM)
#define GAP 2
#define HEAD_ROOM 600

struct aligned_column {
    unsigned width; /* characters, of the header and of the rows that are held */
    int filled;     /* some row has a value */
    double sum;     /* of durations */
    int shown;
};

struct sqt_aligned {
    struct aligned_column columns[256]; /* as the sink's */
    char **cells;                       /* of the rows that are held, row by row */
    unsigned rows;
    int settled; /* widths are known */
};

static const struct sqt_column *
aligned_column_of(const struct sqt_sink *sink, unsigned i)
{
    return &sink->table->columns[sink->columns[i]];
}

/* ---- cells ---- */

static int
aligned_is_left(enum sqt_type type)
{
    return type == SQT_TYPE_TEXT || type == SQT_TYPE_RAW || type == SQT_TYPE_WALL;
}

static unsigned
aligned_length(const char *text)
{
    unsigned length = 0;
    for (; *text; ++text)
        length += ((unsigned char)*text & 0xc0) != 0x80; /* not the rest of a character */
    return length;
}

static const char *
aligned_text(char *to, const char *text)
{
    *sqt_visible(to, text, CELL_MOST) = 0;
    return to;
}

static const char *
aligned_duration(char *to, int64_t ns)
{
    char text[SQT_HUMAN_ROOM];
    snprintf(to, CELL_ROOM, "%s%s", ns < 0 ? "-" : "",
             ns ? sqt_human_time(text, ns < 0 ? -(double)ns : (double)ns, " ", "us") : "0");
    return to;
}

/* The value with its unit, in to (CELL_ROOM bytes). */
static const char *
aligned_cell(char *to, enum sqt_type type, const union sqt_cell *cell)
{
    if (sqt_cell_missing(type, *cell))
        return "-";
    switch (type) {
    case SQT_TYPE_TIME:
        snprintf(to, CELL_ROOM, "%.6f", (double)cell->number / 1e9);
        return to;
    case SQT_TYPE_WALL:
        *sqt_put_wall(to, cell->number, 6) = 0;
        return to;
    case SQT_TYPE_NS:
    case SQT_TYPE_MS:
        return aligned_duration(to, cell->number);
    case SQT_TYPE_PCT:
        snprintf(to, CELL_ROOM, "%.1f %%", (double)cell->number / 1e3);
        return to;
    case SQT_TYPE_MILLI:
        snprintf(to, CELL_ROOM, "%.3f", (double)cell->number / 1e3);
        return to;
    case SQT_TYPE_TEXT:
        return aligned_text(to, cell->text);
    case SQT_TYPE_RAW:
        if (cell[SQT_RAW_TEXT].text)
            return aligned_text(to, cell[SQT_RAW_TEXT].text);
        break;
    case SQT_TYPE_HASH:
        *sqt_put_hex(to, (uint64_t)cell->number) = 0;
        return to;
    case SQT_TYPE_BYTES:
        if (cell->number >= 0)
            return sqt_human_bytes(to, (double)cell->number);
        break;
    case SQT_TYPE_COUNT:
        if (cell->number >= 0)
            return sqt_grouped((uint64_t)cell->number, to);
        break;
    case SQT_TYPE_ID:
    case SQT_TYPE_FLAG:
        break;
    }
    *(type == SQT_TYPE_ID || type == SQT_TYPE_RAW ? sqt_put_unsigned(to, (uint64_t)cell->number)
                                                  : sqt_put_signed(to, cell->number)) = 0;
    return to;
}

/* ---- lines ---- */

/* Puts text into a line that has used characters so far, with spaces up to the column's width.  Returns the characters
 * after it.  What would go beyond the width of the terminal is left out. */
static unsigned
aligned_put(struct sqt_sink *sink, unsigned used, const char *text, unsigned width, int left, int last)
{
    const unsigned length = aligned_length(text), pad = length < width ? width - length : 0;
    const unsigned room = !sink->width ? UINT32_MAX : used < sink->width ? sink->width - used : 0;
    char *const start = sqt_out_room(&sink->out, CELL_ROOM + 2 * 256 + GAP);
    char *p = start;
    unsigned put = 0;
    const unsigned before = left ? 0 : pad, after = last || !left ? 0 : pad;
    for (unsigned i = 0; i < before && i < 256 && put < room; ++i, ++put)
        *p++ = ' ';
    while (*text && (put < room || ((unsigned char)*text & 0xc0) == 0x80)) {
        put += ((unsigned char)*text & 0xc0) != 0x80;
        *p++ = *text++;
    }
    for (unsigned i = 0; i < after && i < 256 && put < room; ++i, ++put)
        *p++ = ' ';
    for (unsigned i = 0; !last && i < GAP && put < room; ++i, ++put)
        *p++ = ' ';
    if (last)
        *p++ = '\n';
    sink->out.used += (size_t)(p - start);
    return used + put;
}

/* A column's head: its name, without the unit that its values have, unless another column has that name. */
static const char *
aligned_head(const struct sqt_table *table, const struct sqt_column *column, char head[HEAD_ROOM])
{
    static const char *const units[] = {
        [SQT_TYPE_NS] = "_ns", [SQT_TYPE_MS] = "_ms", [SQT_TYPE_PCT] = "_pct", [SQT_TYPE_BYTES] = "_bytes"};
    const char *const unit = column->type < sizeof(units) / sizeof(*units) ? units[column->type] : NULL;
    const size_t length = strlen(column->name), end = unit ? strlen(unit) : 0;
    const int has = end && length > end && strcmp(column->name + length - end, unit) == 0 &&
                    sqt_column_find(table, column->name, length - end) == table->column_count;
    snprintf(head, HEAD_ROOM, "%.*s", (int)(has ? length - end : length), column->name);
    return head;
}

static unsigned
aligned_last(const struct sqt_sink *sink)
{
    unsigned last = 0;
    for (unsigned i = 0; i < sink->column_count; ++i)
        if (sink->aligned->columns[i].shown)
            last = i;
    return last;
}

static void
aligned_header(struct sqt_sink *sink)
{
    const unsigned last = aligned_last(sink);
    unsigned used = 0;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        const struct sqt_column *const column = aligned_column_of(sink, i);
        char head[HEAD_ROOM];
        if (sink->aligned->columns[i].shown)
            used = aligned_put(sink, used, aligned_head(sink->table, column, head), sink->aligned->columns[i].width,
                               aligned_is_left(column->type), i == last);
    }
}

/* ---- which columns ---- */

static void
aligned_show(struct sqt_sink *sink, unsigned i, unsigned *used)
{
    struct aligned_column *const column = &sink->aligned->columns[i];
    const unsigned more = column->width + (*used ? GAP : 0);
    if (column->shown || !column->filled || (sink->width && *used + more > sink->width))
        return;
    column->shown = 1;
    *used += more;
}

/* Whether the column is the time of day of that one. */
static int
aligned_stands_for(const struct sqt_sink *sink, unsigned i, unsigned column)
{
    return column < sink->table->column_count && aligned_column_of(sink, i)->type == SQT_TYPE_WALL &&
           sqt_wall_source(sink->table, sink->columns[i]) == column;
}

static void
show_brief(struct sqt_sink *sink, unsigned *used)
{
    static const char *const briefs[SQT_TABLES] = {
#define SQT_BRIEF(table, columns) [SQT_TABLE_##table] = columns,
#include "brief.def"
    };
    const struct sqt_table *const known = sqt_table_find(sink->table->name, sink->table->figure);
    const char *name = known ? briefs[known - sqt_tables] : NULL;
    for (size_t length; name && *name; name += length + (name[length] == ' ')) {
        length = strcspn(name, " ");
        const unsigned column = sqt_column_find(sink->table, name, length);
        for (unsigned i = 0; i < sink->column_count; ++i)
            if (sink->columns[i] == column || aligned_stands_for(sink, i, column))
                aligned_show(sink, i, used);
    }
}

/* Stages of requests, the longest first. */
static void
show_stages(struct sqt_sink *sink, unsigned *used)
{
    struct sqt_aligned *const a = sink->aligned;
    if (strcmp(sink->table->name, sqt_tables[SQT_TABLE_requests].name) != 0)
        return;
    uint64_t left = sqt_parts_of_total; /* all of them are among the first 64 columns */
    for (;;) {
        unsigned most = sink->column_count;
        for (unsigned i = 0; i < sink->column_count; ++i)
            if (sink->columns[i] < 64 && (left >> sink->columns[i] & 1) &&
                (most == sink->column_count || a->columns[i].sum > a->columns[most].sum))
                most = i;
        if (most == sink->column_count)
            return;
        left &= ~(UINT64_C(1) << sink->columns[most]);
        aligned_show(sink, most, used);
    }
}

/* Those that were asked for are all shown. */
static void
choose_columns(struct sqt_sink *sink)
{
    struct sqt_aligned *const a = sink->aligned;
    unsigned used = 0;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        a->columns[i].shown = sink->columns_given;
        a->columns[i].filled |= !a->rows; /* nothing to choose by */
    }
    if (sink->columns_given)
        return;
    show_brief(sink, &used);
    show_stages(sink, &used);
    for (unsigned i = 0; i < sink->column_count; ++i)
        aligned_show(sink, i, &used);
}

/* ---- rows ---- */

static void
aligned_print(struct sqt_sink *sink, char *const *cells)
{
    const unsigned last = aligned_last(sink);
    unsigned used = 0;
    for (unsigned i = 0; i < sink->column_count; ++i)
        if (sink->aligned->columns[i].shown)
            used = aligned_put(sink, used, cells[i], sink->aligned->columns[i].width,
                               aligned_is_left(aligned_column_of(sink, i)->type), i == last);
}

static void
aligned_settle(struct sqt_sink *sink)
{
    struct sqt_aligned *const a = sink->aligned;
    if (a->settled)
        return;
    a->settled = 1;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        char head[HEAD_ROOM];
        const unsigned length = aligned_length(aligned_head(sink->table, aligned_column_of(sink, i), head));
        if (length > a->columns[i].width && !sink->no_header)
            a->columns[i].width = length;
    }
    choose_columns(sink);
    if (!sink->no_header)
        aligned_header(sink);
    for (unsigned row = 0; row < a->rows; ++row) {
        char **const cells = &a->cells[(size_t)row * sink->column_count];
        aligned_print(sink, cells);
        for (unsigned i = 0; i < sink->column_count; ++i)
            free(cells[i]);
    }
    free(a->cells);
    a->cells = NULL;
}

static void
aligned_hold(struct sqt_sink *sink, const union sqt_cell *row)
{
    struct sqt_aligned *const a = sink->aligned;
    char **const cells = &a->cells[(size_t)a->rows++ * sink->column_count];
    char room[CELL_ROOM];
    for (unsigned i = 0; i < sink->column_count; ++i) {
        const enum sqt_type type = aligned_column_of(sink, i)->type;
        const union sqt_cell *const cell = &row[sink->columns[i]];
        struct aligned_column *const column = &a->columns[i];
        cells[i] = sqt_copied(aligned_cell(room, type, cell));
        const unsigned length = aligned_length(cells[i]);
        column->width = length > column->width ? length : column->width;
        column->filled |= !sqt_cell_missing(type, *cell);
        if (type == SQT_TYPE_NS && cell->number != SQT_CELL_MISSING)
            column->sum += (double)cell->number;
    }
}

void
sqt_aligned_row(struct sqt_sink *sink, const union sqt_cell *row)
{
    struct sqt_aligned *const a = sink->aligned;
    if (sqt_paragraphs_wanted(sink)) {
        sqt_paragraphs_row(sink, row);
        return;
    }
    if (!a->settled && a->rows < HELD) {
        aligned_hold(sink, row);
        return;
    }
    aligned_settle(sink);
    const unsigned last = aligned_last(sink);
    unsigned used = 0;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        const enum sqt_type type = aligned_column_of(sink, i)->type;
        char room[CELL_ROOM];
        if (a->columns[i].shown)
            used = aligned_put(sink, used, aligned_cell(room, type, &row[sink->columns[i]]), a->columns[i].width,
                               aligned_is_left(type), i == last);
    }
}

void
sqt_aligned_header(struct sqt_sink *sink)
{
    struct sqt_aligned *const a = sink->aligned = sqt_zeroed(1, sizeof(*sink->aligned));
    if (!sqt_paragraphs_wanted(sink))
        a->cells = sqt_zeroed((size_t)HELD * sink->column_count, sizeof(*a->cells));
}

void
sqt_aligned_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    if (sink->aligned && !sqt_paragraphs_wanted(sink))
        aligned_settle(sink);
    sqt_tsv_comment(sink, key, text);
}

/* The columns with values that found no room. */
static void
say_left_out(struct sqt_sink *sink)
{
    char text[2048];
    size_t used = 0;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        const struct aligned_column *const column = &sink->aligned->columns[i];
        const char *const name = aligned_column_of(sink, i)->name;
        if (column->filled && !column->shown && used + strlen(name) + 2 < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", name);
    }
    if (used && !sink->no_comments)
        sqt_tsv_comment(sink, "no room for", text);
}

void
sqt_aligned_finish(struct sqt_sink *sink)
{
    if (!sink->aligned)
        return;
    if (!sqt_paragraphs_wanted(sink)) {
        aligned_settle(sink);
        say_left_out(sink);
    }
    free(sink->aligned);
    sink->aligned = NULL;
}
