/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tsv.c - rows as tab-separated text; "-" for a missing value.
 */
#include <string.h>

#include "row/cell-text.h"
#include "sink.h"

/* "#" as visible.h would write it. */
#define SHARP "\\x23"

void
sqt_tsv_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    char *p = sqt_out_room(&sink->out, 2 * SQT_CELL_TEXT_ROOM);
    char *const start = p;
    *p++ = '#';
    *p++ = ' ';
    p = sqt_put_cell_text(p, key);
    *p++ = ':';
    *p++ = ' ';
    p = sqt_put_cell_text(p, text);
    *p++ = '\n';
    sink->out.used += (size_t)(p - start);
}

void
sqt_tsv_header(struct sqt_sink *sink)
{
    for (unsigned i = 0; i < sink->column_count && !sink->no_header; ++i) {
        char *const start = sqt_out_room(&sink->out, SQT_CELL_TEXT_ROOM);
        char *p = sqt_put_cell_text(start, sink->table->columns[sink->columns[i]].name);
        *p++ = i + 1 < sink->column_count ? '\t' : '\n';
        sink->out.used += (size_t)(p - start);
    }
}

/* A row is no comment, whatever a client called its method. */
static char *
begin_otherwise(char *start, char *end)
{
    memmove(start + sizeof(SHARP) - 1, start + 1, (size_t)(end - start) - 1);
    memcpy(start, SHARP, sizeof(SHARP) - 1);
    return end + sizeof(SHARP) - 2;
}

void
sqt_tsv_row(struct sqt_sink *sink, const union sqt_cell *row)
{
    const struct sqt_column *const columns = sink->table->columns;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        char *const start = sqt_out_room(&sink->out, SQT_CELL_TEXT_ROOM + sizeof(SHARP));
        char *p = sqt_put_cell(start, columns[sink->columns[i]].type, &row[sink->columns[i]]);
        if (i == 0 && *start == '#')
            p = begin_otherwise(start, p);
        *p++ = i + 1 < sink->column_count ? '\t' : '\n';
        sink->out.used += (size_t)(p - start);
    }
}
