/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * alarm-parse.c - text -> condition; see alarm.h for the grammar.
 */
#include "alarm-internal.h"

#include <string.h>

#include "base/nearest.h"
#include "base/parse-error.h"
#include "form.h"

enum alarm_needs { NEEDS, MAY };

static const struct {
    const char *name;
    enum alarm_needs column;
} alarm_functions[] = {
#define ALARM_FUNCTION(id, name, column, doc) {name, column},
#include "functions.def"
};

/* The longer of two that begin alike comes first. */
static const struct alarm_operator alarm_operators[] = {
    {"==", 0, 1, 0}, {"!=", 1, 0, 1}, {"<=", 1, 1, 0}, {">=", 0, 1, 1}, {"=", 0, 1, 0}, {"<", 1, 0, 0}, {">", 0, 0, 1},
};

struct alarm_reader {
    const char *next;
    const struct sqt_table *table;
    struct sqt_parse_error error;
};

static void
alarm_skip_spaces(struct alarm_reader *r)
{
    r->next += strspn(r->next, " \t\n");
}

/* Letters, digits, points and what else names and values have. */
static size_t
alarm_word(const struct alarm_reader *r)
{
    return strcspn(r->next, " \t\n()=!<>");
}

/* ---- function and column ---- */

/* "p99" or "p99.9" -> 990, 999; 0 if it is neither. */
static unsigned
alarm_percentile(const char *word, size_t length)
{
    unsigned value = 0, digits = 0;
    size_t i = 1;
    for (; i < length && word[i] >= '0' && word[i] <= '9' && digits < 3; ++i, ++digits)
        value = 10 * value + (unsigned)(word[i] - '0');
    value *= 10;
    if (i + 2 == length && word[i] == '.' && word[i + 1] >= '0' && word[i + 1] <= '9') {
        value += (unsigned)(word[i + 1] - '0');
        i += 2;
    }
    return length && *word == 'p' && digits && i == length && value <= 1000 ? value : 0;
}

static int
alarm_parse_function(struct alarm_reader *r, struct alarm *a)
{
    const char *const word = r->next;
    const size_t length = alarm_word(r);
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, word, length);
    r->next += length;
    a->per_mille = alarm_percentile(word, length);
    a->function = ALARM_percentile;
    if (a->per_mille)
        return 0;
    for (unsigned i = 0; i < ALARM_FUNCTIONS; ++i) {
        sqt_nearest_offer(&nearest, alarm_functions[i].name);
        if (strlen(alarm_functions[i].name) == length && memcmp(alarm_functions[i].name, word, length) == 0) {
            a->function = (enum alarm_function)i;
            return 0;
        }
    }
    return sqt_parse_error_at(&r->error, word, "there is no function '%.*s'; %s", length < 64 ? (int)length : 64, word,
                              sqt_nearest_text(&nearest, "", "write count, sum, mean, min, max, share or p99"));
}

static int
alarm_find_column(struct alarm_reader *r, struct alarm *a, size_t length)
{
    const struct sqt_table *const t = r->table;
    struct sqt_nearest nearest;
    char text[SQT_TABLES_WITH];
    a->column = sqt_column_find(t, r->next, length);
    if (a->column == t->column_count) {
        const char *const others = sqt_tables_with(text, r->next, length);
        sqt_nearest_init(&nearest, r->next, length);
        for (unsigned i = 0; i < t->column_count; ++i)
            if (*t->columns[i].name != '\t')
                sqt_nearest_offer(&nearest, t->columns[i].name);
        return sqt_parse_error_at(&r->error, r->next, "%s has no column '%.*s'; %s", t->name,
                                  length < 64 ? (int)length : 64, r->next,
                                  others ? others : sqt_nearest_text(&nearest, "", "--list shows them"));
    }
    if (a->function != ALARM_count && !sqt_tally_numbers(t->columns[a->column].type))
        return sqt_parse_error_at(&r->error, r->next, "%s has no numbers; count(%s) counts its values",
                                  t->columns[a->column].name, t->columns[a->column].name);
    return 0;
}

/* "(COLUMN)" */
static int
alarm_parse_column(struct alarm_reader *r, struct alarm *a)
{
    alarm_skip_spaces(r);
    if (*r->next != '(')
        return sqt_parse_error_at(&r->error, r->next, "expected an opening parenthesis");
    ++r->next;
    alarm_skip_spaces(r);
    const size_t length = alarm_word(r);
    a->column = r->table->column_count;
    if (length && alarm_find_column(r, a, length) != 0)
        return -1;
    if (!length && (a->function == ALARM_percentile || alarm_functions[a->function].column == NEEDS))
        return sqt_parse_error_at(&r->error, r->next, "expected a column of %s", r->table->name);
    r->next += length;
    alarm_skip_spaces(r);
    if (*r->next != ')')
        return sqt_parse_error_at(&r->error, r->next, "expected a closing parenthesis");
    ++r->next;
    return 0;
}

/* ---- operator and value ---- */

static int
alarm_parse_operator(struct alarm_reader *r, struct alarm *a)
{
    alarm_skip_spaces(r);
    for (unsigned i = 0; i < sizeof(alarm_operators) / sizeof(*alarm_operators); ++i) {
        const size_t length = strlen(alarm_operators[i].text);
        if (strncmp(r->next, alarm_operators[i].text, length) == 0) {
            a->operator= & alarm_operators[i];
            r->next += length;
            return 0;
        }
    }
    return sqt_parse_error_at(&r->error, r->next, "expected one of == != < <= > >=");
}

static enum sqt_type
alarm_type(const struct alarm *a, const struct sqt_table *table)
{
    if (a->function == ALARM_count)
        return SQT_TYPE_COUNT;
    if (a->function == ALARM_share)
        return SQT_TYPE_PCT;
    const enum sqt_type type = table->columns[a->column].type;
    if (type != SQT_TYPE_FLAG && type != SQT_TYPE_ID && type != SQT_TYPE_COUNT)
        return type;
    return a->function == ALARM_mean ? SQT_TYPE_MILLI : SQT_TYPE_COUNT; /* a mean of counts has decimals */
}

static int
alarm_parse_value(struct alarm_reader *r, struct alarm *a)
{
    alarm_skip_spaces(r);
    const char *const word = r->next, *error;
    size_t length = alarm_word(r);
    r->next += length;
    if (!length)
        return sqt_parse_error_at(&r->error, word, "expected a value");
    if (a->type == SQT_TYPE_PCT && length > 1 && word[length - 1] == '%')
        --length;
    if (sqt_where_number(a->type, word, length, &a->bound, &error) != 0)
        return sqt_parse_error_at(&r->error, word, "'%.*s': %s", length < 64 ? (int)length : 64, word, error);
    return 0;
}

static int
alarm_parse_where(struct alarm_reader *r, struct alarm *a)
{
    alarm_skip_spaces(r);
    if (!*r->next)
        return 0;
    const size_t length = alarm_word(r);
    if (length != 5 || memcmp(r->next, "where", 5) != 0)
        return sqt_parse_error_at(&r->error, r->next, "expected 'where' or the end");
    a->where =
        sqt_where_parse_from(a->text, (size_t)(r->next - a->text) + length, &r->table, 1, r->error.line, r->error.size);
    return a->where ? 0 : -1;
}

int
alarm_parse(struct alarm *a, const struct sqt_table *table, const char *text, char *error, size_t error_size)
{
    struct alarm_reader r = {text, table, {.text = text, .line = error, .size = error_size}};
    memset(a, 0, sizeof(*a));
    a->text = text;
    alarm_skip_spaces(&r);
    if (alarm_parse_function(&r, a) != 0 || alarm_parse_column(&r, a) != 0 || alarm_parse_operator(&r, a) != 0)
        return -1;
    a->type = alarm_type(a, table);
    return alarm_parse_value(&r, a) != 0 ? -1 : alarm_parse_where(&r, a);
}
