/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * table.c - see table.h.
 */
#include "table.h"

#include <stdio.h>
#include <string.h>

#define NOTE_PREFIX "note_"
#define NOTE_PREFIX_SIZE (sizeof(NOTE_PREFIX) - 1)

/* Names of notes are known to traces alone, but whoever asks for one says it.  So each of the few columns takes the name that
 * it is asked for by.  Until then it has none. */
static struct {
    char name[NOTE_PREFIX_SIZE + SQT_NOTE_NAME + 1];
} note_columns[SQT_NOTES] = {{"\t"}, {"\t"}, {"\t"}, {"\t"}, {"\t"}, {"\t"}, {"\t"}, {"\t"}};
static unsigned note_columns_used;

static const struct sqt_column table_columns[SQT_COLUMNS] = {
#define SQT_COLUMN(id, name, type, doc) [SQT_AT_##id##_##name] = {#name, SQT_TYPE_##type, doc},
#define SQT_NOTE_COLUMN(id, label, place, doc) [SQT_AT_##id##_##label] = {note_columns[place].name, SQT_TYPE_TEXT, doc},
#include "tables.def"
#define SQT_STAGE(NAME, name, column, doc) [SQT_STAGE_AT(column)] = {#name "_ns", SQT_TYPE_NS, doc},
#include "format/stages.def"
};

#define KIND_TABLE 0
#define KIND_THINGS SQT_THINGS
#define KIND_ROLLED SQT_ROLLED

const struct sqt_table sqt_tables[SQT_TABLES] = {
#define SQT_TABLE(id, name, kind, doc) \
    {name, 0, doc, &table_columns[SQT_AT_##id + 1], SQT_CELLS(id), NULL, NULL, NULL, NULL, KIND_##kind},
#define SQT_FIGURE(id, name, family, title, x, y, rule, caption) \
    {name, 1, rule, &table_columns[SQT_AT_##id + 1], SQT_CELLS(id), title, x, y, caption, 0},
#include "tables.def"
};

static const unsigned char asked[SQT_COLUMNS] = {
#define SQT_ASKED_COLUMN(id, name, type, doc) [SQT_AT_##id##_##name] = 1,
#include "tables.def"
};

static const unsigned char for_people[SQT_COLUMNS] = {
#define SQT_PEOPLE_COLUMN(id, name, type, doc) [SQT_AT_##id##_##name] = 1,
#include "tables.def"
};

static const unsigned char of_log[SQT_COLUMNS] = {
#define SQT_LOG_COLUMN(id, name, type, doc) [SQT_AT_##id##_##name] = 1,
#include "tables.def"
};

int
sqt_column_for_people(const struct sqt_column *column)
{
    return for_people[column - table_columns];
}

int
sqt_column_of_log(const struct sqt_column *column)
{
    return of_log[column - table_columns];
}

int
sqt_column_asked(const struct sqt_column *column)
{
    return asked[column - table_columns];
}

int
sqt_table_of_log(const struct sqt_table *table)
{
    static const unsigned char has[SQT_TABLES] = {
#define SQT_LOG_TABLE(id) [SQT_TABLE_##id] = 1,
#include "log-tables.def"
    };
    return has[table - sqt_tables];
}

const struct sqt_table *
sqt_table_find(const char *name, int figure)
{
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure == figure && strcmp(sqt_tables[i].name, name) == 0)
            return &sqt_tables[i];
    return NULL;
}

/* Gives a column of notes that name, if the table has one that is free; column_count if not. */
static unsigned
table_name_note(const struct sqt_table *table, const char *name, size_t length)
{
    unsigned i = 0;
    if (length <= NOTE_PREFIX_SIZE || length >= sizeof(note_columns->name) ||
        memcmp(name, NOTE_PREFIX, NOTE_PREFIX_SIZE) != 0 || note_columns_used == SQT_NOTES)
        return table->column_count;
    while (i < table->column_count && table->columns[i].name != note_columns[note_columns_used].name)
        ++i;
    if (i < table->column_count) {
        memcpy(note_columns[note_columns_used].name, name, length);
        note_columns[note_columns_used++].name[length] = '\0';
    }
    return i;
}

unsigned
sqt_column_notes(void)
{
    return note_columns_used;
}

const char *
sqt_column_note(unsigned place)
{
    return note_columns[place].name + NOTE_PREFIX_SIZE;
}

const char *
sqt_column_listed(const struct sqt_column *column)
{
    if (column->name == note_columns[0].name)
        return NOTE_PREFIX "NAME";
    return *column->name == '\t' ? NULL : column->name;
}

unsigned
sqt_column_find(const struct sqt_table *table, const char *name, size_t length)
{
    unsigned i = 0;
    while (i < table->column_count &&
           (strlen(table->columns[i].name) != length || memcmp(table->columns[i].name, name, length) != 0))
        ++i;
    return i < table->column_count ? i : table_name_note(table, name, length);
}

const char *
sqt_tables_with(char text[SQT_TABLES_WITH], const char *name, size_t length)
{
    const char *found[3];
    unsigned count = 0;
    for (unsigned t = 0; t < SQT_TABLES && count < 3; ++t)
        if (!sqt_tables[t].figure && sqt_column_find(&sqt_tables[t], name, length) < sqt_tables[t].column_count)
            found[count++] = sqt_tables[t].name;
    if (!count)
        return NULL;
    snprintf(text, SQT_TABLES_WITH,
             count == 1   ? "table %s has it"
             : count == 2 ? "tables %s and %s have it"
                          : "tables %s, %s and %s have it",
             found[0], found[count > 1], found[count - 1]);
    return text;
}
