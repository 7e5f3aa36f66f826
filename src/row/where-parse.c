/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * where-parse.c - text -> expression; see where.h for the grammar.
 */
#include "where-internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/parse-error.h"
#include "base/units.h"
#include "values.h"

/* An expression nested deeper than this is refused: the parser calls itself. */
#define DEEPEST 100

enum token { END, WORD, QUOTED, OPERATOR, OPEN, CLOSE, BAD };

struct parser {
    const char *next;
    const struct sqt_table *const *tables;
    unsigned table_count;
    struct sqt_where *where;
    enum token token;  /* the one that is looked at */
    const char *start; /* of it */
    size_t length;
    unsigned depth;
    struct sqt_parse_error error;
};

static int
ends_word(char c)
{
    return !c || strchr(" \t\n()=!<>~'\"", c) != NULL;
}

static void
where_parse_advance(struct parser *p)
{
    while (*p->next == ' ' || *p->next == '\t' || *p->next == '\n')
        ++p->next;
    const char *s = p->start = p->next;
    switch (*s) {
    case '\0':
        p->token = END;
        break;
    case '(':
    case ')':
        p->token = *s++ == '(' ? OPEN : CLOSE;
        break;
    case '"':
    case '\'':
        p->start = s + 1;
        do
            ++s;
        while (*s && *s != p->start[-1]);
        p->length = (size_t)(s - p->start);
        p->token = QUOTED;
        if (*s)
            ++s;
        else
            sqt_parse_error_at(&p->error, p->start - 1, "the quote is not closed");
        p->next = s;
        return;
    case '=':
    case '!':
    case '<':
    case '>':
    case '~':
        p->token = OPERATOR;
        ++s;
        if (s[-1] != '~' && (*s == '=' || (s[-1] == '!' && *s == '~')))
            ++s;
        break;
    default:
        p->token = WORD;
        while (!ends_word(*s))
            ++s;
    }
    p->length = (size_t)(s - p->start);
    p->next = s;
}

static int
is_word(const struct parser *p, const char *word)
{
    return p->token == WORD && strlen(word) == p->length && memcmp(p->start, word, p->length) == 0;
}

static unsigned
where_parse_add(struct parser *p, const struct sqt_where_node *node)
{
    struct sqt_where *const w = p->where;
    w->nodes = sqt_resized(w->nodes, (w->count + 1) * sizeof(*w->nodes));
    w->nodes[w->count] = *node;
    return w->count++;
}

static int
find_column(struct parser *p, struct sqt_where_node *node)
{
    for (unsigned t = 0; t < p->table_count; ++t) {
        node->column = sqt_column_find(p->tables[t], p->start, p->length);
        if (node->column < p->tables[t]->column_count) {
            node->table = t;
            node->type = p->tables[t]->columns[node->column].type;
            p->where->uses |= 1u << t;
            return 1;
        }
    }
    struct sqt_nearest nearest;
    char text[SQT_TABLES_WITH];
    const char *const others = sqt_tables_with(text, p->start, p->length);
    sqt_nearest_init(&nearest, p->start, p->length);
    for (unsigned t = 0; t < p->table_count; ++t)
        for (unsigned c = 0; c < p->tables[t]->column_count; ++c)
            if (*p->tables[t]->columns[c].name != '\t')
                sqt_nearest_offer(&nearest, p->tables[t]->columns[c].name);
    sqt_parse_error_at(&p->error, p->start, "%s has no column '%.*s'; %s", p->tables[0]->name, (int)p->length, p->start,
                       others ? others : sqt_nearest_text(&nearest, "", "--list shows them"));
    return 0;
}

static int
find_operator(struct parser *p, struct sqt_where_node *node)
{
    static const struct {
        const char *text;
        enum sqt_where_operator operator;
    } operators[] = {
        {"==", SQT_WHERE_EQUAL},         {"=", SQT_WHERE_EQUAL},       {"!=", SQT_WHERE_UNEQUAL},
        {"<", SQT_WHERE_LESS},           {"<=", SQT_WHERE_LESS_EQUAL}, {">", SQT_WHERE_GREATER},
        {">=", SQT_WHERE_GREATER_EQUAL}, {"~", SQT_WHERE_LIKE},        {"!~", SQT_WHERE_UNLIKE},
    };
    for (unsigned i = 0; p->token == OPERATOR && i < sizeof(operators) / sizeof(*operators); ++i)
        if (strlen(operators[i].text) == p->length && memcmp(operators[i].text, p->start, p->length) == 0) {
            node->operator= operators[i].operator;
            return 1;
        }
    sqt_parse_error_at(&p->error, p->start, "expected one of == != < <= > >= ~ !~");
    return 0;
}

static char *
copy(const char *text, size_t length)
{
    char *const s = sqt_zeroed(1, length + 1);
    memcpy(s, text, length);
    return s;
}

/* The names of a closed set, one after the other. */
static void
values_list(char *text, size_t size, const struct sqt_table *table, unsigned column)
{
    const char *name;
    size_t used = 0;
    for (unsigned i = 0; (name = sqt_column_value(table, column, i)) && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", name);
}

/* A text that the column never has is a mistake. */
static int
check_value(struct parser *p, const struct sqt_where_node *node)
{
    const struct sqt_table *const table = p->tables[node->table];
    const int equality = node->operator== SQT_WHERE_EQUAL || node->operator== SQT_WHERE_UNEQUAL;
    const int like = node->operator== SQT_WHERE_LIKE || node->operator== SQT_WHERE_UNLIKE;
    const char *name = sqt_column_value(table, node->column, 0);
    if (!name || (!equality && !like))
        return 1;
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, p->start, p->length);
    for (unsigned i = 0; (name = sqt_column_value(table, node->column, i)); ++i) {
        if (like ? fnmatch(node->text, name, 0) == 0 : strcmp(node->text, name) == 0)
            return 1;
        sqt_nearest_offer(&nearest, name);
    }
    char list[320] = "";
    values_list(list, sizeof(list), table, node->column);
    sqt_parse_error_at(&p->error, p->start, "%s %s '%.*s'; %s There are: %s", table->columns[node->column].name,
                       like ? "never matches" : "is never", p->length < 64 ? (int)p->length : 64, p->start,
                       sqt_nearest_text(&nearest, "", "none is near."), list);
    return 0;
}

int
sqt_where_number(enum sqt_type type, const char *text, size_t length, int64_t *number, const char **error)
{
    const int time = type == SQT_TYPE_NS || type == SQT_TYPE_MS || type == SQT_TYPE_TIME;
    const enum sqt_units units = time ? SQT_UNITS_TIME : type == SQT_TYPE_BYTES ? SQT_UNITS_BYTES : SQT_UNITS_NONE;
    const int64_t plain = type == SQT_TYPE_TIME                            ? INT64_C(1000000000)
                          : type == SQT_TYPE_MS                            ? 1000000
                          : type == SQT_TYPE_PCT || type == SQT_TYPE_MILLI ? 1000
                                                                           : 1;
    return sqt_units_parse(text, length, units, plain, number, error);
}

/* Reads a value of the column's type. */
static int
find_value(struct parser *p, struct sqt_where_node *node)
{
    if (p->token != WORD && p->token != QUOTED) {
        sqt_parse_error_at(&p->error, p->start, "expected a value");
        return 0;
    }
    const int equality = node->operator== SQT_WHERE_EQUAL || node->operator== SQT_WHERE_UNEQUAL;
    const int like = node->operator== SQT_WHERE_LIKE || node->operator== SQT_WHERE_UNLIKE;
    if (p->token == WORD && p->length == 1 && *p->start == '-' && equality) {
        node->missing = 1;
        return 1;
    }
    const char *error = NULL;
    switch (node->type) {
    case SQT_TYPE_TEXT:
        node->text = copy(p->start, p->length);
        if (check_value(p, node))
            return 1;
        free(node->text);
        return 0;
    case SQT_TYPE_HASH: {
        char *end;
        char *const digits = copy(p->start, p->length);
        node->number = (int64_t)strtoull(digits, &end, 16);
        const int whole = p->length && !*end;
        free(digits);
        if (whole && equality)
            return 1;
        sqt_parse_error_at(&p->error, p->start,
                           whole ? "only == and != compare hashes" : "expected a hash of hexadecimal digits");
        return 0;
    }
    case SQT_TYPE_RAW:
        if (like || sqt_units_parse(p->start, p->length, SQT_UNITS_NONE, 1, &node->number, &error) != 0) {
            node->type = SQT_TYPE_TEXT;
            node->column += SQT_RAW_TEXT;
            node->text = copy(p->start, p->length);
        }
        return 1;
    default:
        break;
    }
    if (like) {
        sqt_parse_error_at(&p->error, p->start, "~ compares texts, and %s is a number",
                           p->tables[node->table]->columns[node->column].name);
        return 0;
    }
    if (sqt_where_number(node->type, p->start, p->length, &node->number, &error) == 0)
        return 1;
    sqt_parse_error_at(&p->error, p->start, "'%.*s': %s", (int)p->length, p->start, error);
    return 0;
}

static unsigned
comparison(struct parser *p)
{
    struct sqt_where_node node;
    memset(&node, 0, sizeof(node));
    if (p->token != WORD) {
        sqt_parse_error_at(&p->error, p->start,
                           p->token == END ? "the expression ends too early" : "expected a column");
        return 0;
    }
    if (!find_column(p, &node))
        return 0;
    where_parse_advance(p);
    if (!find_operator(p, &node))
        return 0;
    where_parse_advance(p);
    if (!find_value(p, &node))
        return 0;
    where_parse_advance(p);
    return where_parse_add(p, &node);
}

static unsigned expression(struct parser *p);

/* Says what should stand where an expression goes on in a way that it cannot. */
static void
where_parse_fail_end(struct parser *p, const char *expected)
{
    static const char *const units[] = {"ns", "us", "ms", "s", "min", "h", "B", "KB", "MB", "GB", "TB"};
    for (unsigned i = 0; i < sizeof(units) / sizeof(*units); ++i)
        if (is_word(p, units[i])) {
            sqt_parse_error_at(&p->error, p->start, "write the unit right behind its number, as in 5%s", units[i]);
            return;
        }
    if (is_word(p, "&&") || is_word(p, "||"))
        sqt_parse_error_at(&p->error, p->start, "write '%s'", *p->start == '&' ? "and" : "or");
    else
        sqt_parse_error_at(&p->error, p->start, "expected %s", expected);
}

static unsigned
term(struct parser *p)
{
    if (++p->depth > DEEPEST) {
        sqt_parse_error_at(&p->error, p->start, "the expression is nested too deeply");
        return 0;
    }
    unsigned node;
    if (is_word(p, "not")) {
        where_parse_advance(p);
        const unsigned inner = term(p);
        node = where_parse_add(p, &(struct sqt_where_node){.operator= SQT_WHERE_NOT, .left = inner});
    } else if (p->token == OPEN) {
        where_parse_advance(p);
        node = expression(p);
        if (p->token != CLOSE)
            where_parse_fail_end(p, "a closing parenthesis");
        where_parse_advance(p);
    } else {
        node = comparison(p);
    }
    --p->depth;
    return node;
}

static unsigned
chain(struct parser *p, const char *word, enum sqt_where_operator operator, unsigned (*part)(struct parser *))
{
    unsigned node = part(p);
    while (!p->error.said && is_word(p, word)) {
        where_parse_advance(p);
        const unsigned right = part(p);
        node = where_parse_add(p, &(struct sqt_where_node){.operator= operator, .left = node, .right = right});
    }
    return node;
}

static unsigned
all(struct parser *p)
{
    return chain(p, "and", SQT_WHERE_AND, term);
}

static unsigned
expression(struct parser *p)
{
    return chain(p, "or", SQT_WHERE_OR, all);
}

struct sqt_where *
sqt_where_parse(const char *text, const struct sqt_table *const *tables, unsigned table_count, char *error,
                size_t error_size)
{
    return sqt_where_parse_from(text, 0, tables, table_count, error, error_size);
}

struct sqt_where *
sqt_where_parse_from(const char *text, size_t offset, const struct sqt_table *const *tables, unsigned table_count,
                     char *error, size_t error_size)
{
    struct parser p = {
        .next = text + offset,
        .tables = tables,
        .table_count = table_count,
        .error = {.text = text, .line = error, .size = error_size},
    };
    p.where = sqt_zeroed(1, sizeof(*p.where));
    where_parse_advance(&p);
    p.where->root = expression(&p);
    if (!p.error.said && p.token != END)
        where_parse_fail_end(&p, "'and', 'or' or the end");
    if (p.error.said) {
        sqt_where_free(p.where);
        return NULL;
    }
    return p.where;
}

void
sqt_where_free(struct sqt_where *where)
{
    if (!where)
        return;
    for (unsigned i = 0; i < where->count; ++i)
        free(where->nodes[i].text);
    free(where->nodes);
    free(where);
}
