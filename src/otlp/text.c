/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * text.c - see text.h.
 */
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/memory.h"
#include "base/visible.h"

#define TEXT_FIRST_ROOM 1024
#define TEXT_MOST 4000

void
sqt_otlp_text_free(struct sqt_otlp_text *t)
{
    free(t->bytes);
    memset(t, 0, sizeof(*t));
}

void
sqt_otlp_text_fit(struct sqt_otlp_text *text)
{
    if (text->size == text->room || !text->size)
        return;
    text->bytes = sqt_resized(text->bytes, text->size);
    text->room = text->size;
}

/* Where the next bytes go; the caller moves size on. */
static char *
text_room(struct sqt_otlp_text *t, size_t size)
{
    if (t->size + size > t->room) {
        t->room = 2 * t->room > t->size + size ? 2 * t->room : t->size + size + TEXT_FIRST_ROOM;
        t->bytes = sqt_resized(t->bytes, t->room);
    }
    return t->bytes + t->size;
}

void
sqt_otlp_bytes(struct sqt_otlp_text *t, const char *bytes, size_t size)
{
    if (!size)
        return;
    memcpy(text_room(t, size), bytes, size);
    t->size += size;
}

void
sqt_otlp_put(struct sqt_otlp_text *t, const char *string)
{
    sqt_otlp_bytes(t, string, strlen(string));
}

void
sqt_otlp_string(struct sqt_otlp_text *t, const char *string)
{
    const char *const end = string + TEXT_MOST;
    sqt_otlp_put(t, "\"");
    while (string < end && *string) {
        char character[SQT_VISIBLE_MOST * SQT_VISIBLE_MOST];
        const char *const behind = sqt_visible_next(character, &string);
        for (const char *c = character; c < behind; ++c) {
            if (*c == '"' || *c == '\\')
                sqt_otlp_bytes(t, "\\", 1);
            sqt_otlp_bytes(t, c, 1);
        }
    }
    sqt_otlp_put(t, "\"");
}

void
sqt_otlp_unsigned(struct sqt_otlp_text *t, uint64_t value)
{
    char *const start = text_room(t, SQT_DIGITS_MAX);
    t->size += (size_t)(sqt_put_unsigned(start, value) - start);
}

void
sqt_otlp_hex(struct sqt_otlp_text *t, const uint8_t *bytes, size_t size)
{
    char *to = text_room(t, 2 * size);
    for (size_t i = 0; i < size; ++i) {
        *to++ = "0123456789abcdef"[bytes[i] >> 4];
        *to++ = "0123456789abcdef"[bytes[i] & 15];
    }
    t->size += 2 * size;
}

static void
text_key(struct sqt_otlp_text *t, const char *prefix, const char *name, const char *type)
{
    sqt_otlp_put(t, t->size && t->bytes[t->size - 1] == '[' ? "{\"key\":\"" : ",{\"key\":\"");
    sqt_otlp_put(t, prefix);
    sqt_otlp_put(t, name);
    sqt_otlp_put(t, "\",\"value\":{\"");
    sqt_otlp_put(t, type);
    sqt_otlp_put(t, "\":");
}

void
sqt_otlp_text_attribute(struct sqt_otlp_text *t, const char *prefix, const char *name, const char *value)
{
    text_key(t, prefix, name, "stringValue");
    sqt_otlp_string(t, value);
    sqt_otlp_put(t, "}}");
}

void
sqt_otlp_number_attribute(struct sqt_otlp_text *t, const char *prefix, const char *name, int64_t value)
{
    text_key(t, prefix, name, "intValue");
    char *const start = text_room(t, SQT_DIGITS_MAX + 2);
    char *end = start;
    *end++ = '"';
    end = sqt_put_signed(end, value);
    *end++ = '"';
    t->size += (size_t)(end - start);
    sqt_otlp_put(t, "}}");
}

void
sqt_otlp_flag_attribute(struct sqt_otlp_text *t, const char *prefix, const char *name, int value)
{
    text_key(t, prefix, name, "boolValue");
    sqt_otlp_put(t, value ? "true}}" : "false}}");
}

static void
text_cell(struct sqt_otlp_text *t, const struct sqt_column *column, union sqt_cell cell)
{
    char hash[SQT_DIGITS_MAX] = "";
    switch (column->type) {
    case SQT_TYPE_TEXT:
        sqt_otlp_text_attribute(t, "squid.", column->name, cell.text);
        break;
    case SQT_TYPE_HASH:
        *sqt_put_hex(hash, (uint64_t)cell.number) = '\0';
        sqt_otlp_text_attribute(t, "squid.", column->name, hash);
        break;
    case SQT_TYPE_FLAG:
        sqt_otlp_flag_attribute(t, "squid.", column->name, cell.number != 0);
        break;
    default: /* whole numbers: ids have at most 63 bits */
        sqt_otlp_number_attribute(t, "squid.", column->name, cell.number);
    }
}

void
sqt_otlp_cells(struct sqt_otlp_text *t, const struct sqt_table *table, const union sqt_cell *row,
               const unsigned *without)
{
    for (unsigned i = 0; i < table->column_count; ++i) {
        unsigned w = 0;
        while (without[w] != UINT_MAX && without[w] != i)
            ++w;
        if (without[w] == UINT_MAX && *table->columns[i].name != '\t' &&
            !sqt_cell_missing(table->columns[i].type, row[i]))
            text_cell(t, &table->columns[i], row[i]);
    }
}
