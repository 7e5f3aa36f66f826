/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * json-rows.c - rows as JSON: an object a line, with the names of TSV; null for a missing value.
 */
#include "json.h"
#include "row/cell-text.h"
#include "sink.h"

/* Types whose text is a JSON number. */
static int
json_is_number(enum sqt_type type)
{
    return type != SQT_TYPE_TEXT && type != SQT_TYPE_WALL && type != SQT_TYPE_HASH;
}

static void
json_put_cell(struct sqt_out *out, enum sqt_type type, const union sqt_cell *cell)
{
    char text[SQT_CELL_TEXT_ROOM];
    if (sqt_cell_missing(type, *cell)) {
        sqt_json_text(out, "null");
    } else if (type == SQT_TYPE_TEXT) {
        sqt_json_string(out, cell->text);
    } else if (type == SQT_TYPE_RAW && cell[SQT_RAW_TEXT].text) {
        sqt_json_string(out, cell[SQT_RAW_TEXT].text);
    } else {
        *sqt_put_cell(text, type, cell) = '\0';
        if (json_is_number(type))
            sqt_json_text(out, text);
        else
            sqt_json_string(out, text);
    }
}

/* JSON has no comments. */
void
sqt_json_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    (void)sink, (void)key, (void)text;
}

void
sqt_json_row(struct sqt_sink *sink, const union sqt_cell *row)
{
    const struct sqt_column *const columns = sink->table->columns;
    for (unsigned i = 0; i < sink->column_count; ++i) {
        const struct sqt_column *const column = &columns[sink->columns[i]];
        sqt_json_text(&sink->out, i ? "," : "{");
        sqt_json_string(&sink->out, column->name);
        sqt_json_text(&sink->out, ":");
        json_put_cell(&sink->out, column->type, &row[sink->columns[i]]);
    }
    sqt_json_text(&sink->out, "}\n");
}
