/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump-options.c - the command line of sqtrace-dump.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../src/figure/nearest.h"
#include "../src/figure/units.h"
#include "../src/model/pool.h"
#include "dump.h"

const struct dump_option_info dump_option_infos[DUMP_OPTIONS] = {
#define DUMP_OPTION(id, name, value, doc) {name, value, doc},
#include "dump-options.def"
#undef DUMP_OPTION
};

#define DEFAULT_GROUP INT64_C(1200000000000) /* 20 min */
#define DEFAULT_PEAK INT64_C(3600000000000)  /* 1 h */
#define SECOND INT64_C(1000000000)

struct parser {
    struct dump_request *request;
    char *error;
    size_t error_size;
};

static int fail(const struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int
fail(const struct parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->error, p->error_size, format, arguments);
    va_end(arguments);
    return -1;
}

static int
unknown_option(const struct parser *p, const char *name, size_t length)
{
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, length);
    for (unsigned i = 0; i < DUMP_OPTIONS; ++i)
        sqt_nearest_offer(&nearest, dump_option_infos[i].name);
    if (nearest.best)
        return fail(p, "unknown option '--%.*s'; did you mean --%s?", (int)length, name, nearest.best);
    return fail(p, "unknown option '--%.*s'; --help shows them", (int)length, name);
}

/* Takes argv[i], an option; returns how many words were used up, or -1. */
static int
take_option(const struct parser *p, char **argv)
{
    const char *const name = argv[0] + 2;
    const char *const equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    unsigned i = 0;
    while (i < DUMP_OPTIONS &&
           (strlen(dump_option_infos[i].name) != length || memcmp(dump_option_infos[i].name, name, length) != 0))
        ++i;
    if (i == DUMP_OPTIONS)
        return unknown_option(p, name, length);
    const struct dump_option_info *const info = &dump_option_infos[i];
    if (!*info->value) {
        if (equals)
            return fail(p, "option '--%s' takes no value", info->name);
        p->request->given[i] = "";
        return 1;
    }
    if (equals) {
        p->request->given[i] = equals + 1;
        return 1;
    }
    if (!argv[1])
        return fail(p, "option '--%s' needs a value: --%s=%s", info->name, info->name, info->value);
    p->request->given[i] = argv[1];
    return 2;
}

static int
take_words(const struct parser *p, int argc, char **argv)
{
    struct dump_request *const r = p->request;
    r->traces = sqt_zeroed((size_t)argc + 1, sizeof(*r->traces));
    int options = 1;
    for (int i = 1; i < argc;) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = 0;
            ++i;
        } else if (options && argv[i][0] == '-' && argv[i][1] == '-') {
            const int used = take_option(p, argv + i);
            if (used < 0)
                return -1;
            i += used;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            return fail(p, "unknown option '%s'; --help shows them", argv[i]);
        } else {
            r->traces[r->trace_count++] = argv[i++];
        }
    }
    return 0;
}

static int
take_table(const struct parser *p)
{
    struct dump_request *const r = p->request;
    if (r->given[DUMP_table] && r->given[DUMP_figure])
        return fail(p, "--table and --figure exclude each other");
    const int figure = r->given[DUMP_figure] != NULL;
    const char *const kind = figure ? "figure" : "table";
    const char *const name = figure                  ? r->given[DUMP_figure]
                             : r->given[DUMP_table] ? r->given[DUMP_table]
                                                      : "requests";
    r->table = sqt_table_find(name, figure);
    if (r->table) {
        r->family = sqt_family_of(r->table);
        return 0;
    }
    if (sqt_table_find(name, !figure))
        return fail(p, "'%s' is a %s: --%s=%s", name, figure ? "table" : "figure", figure ? "table" : "figure", name);
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, strlen(name));
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure == figure)
            sqt_nearest_offer(&nearest, sqt_tables[i].name);
    if (nearest.best)
        return fail(p, "unknown %s '%s'; did you mean %s?", kind, name, nearest.best);
    return fail(p, "unknown %s '%s'; --list shows them", kind, name);
}

static int
take_columns(const struct parser *p)
{
    struct dump_request *const r = p->request;
    const struct sqt_table *const t = r->table;
    const char *text = r->given[DUMP_columns];
    r->all_columns = !text;
    if (!text) {
        while (r->column_count < t->column_count) {
            r->columns[r->column_count] = (unsigned char)r->column_count;
            ++r->column_count;
        }
        return 0;
    }
    for (;;) {
        const size_t length = strcspn(text, ",");
        const unsigned column = sqt_column_find(t, text, length);
        if (column == t->column_count) {
            struct sqt_nearest nearest;
            sqt_nearest_init(&nearest, text, length);
            for (unsigned i = 0; i < t->column_count; ++i)
                sqt_nearest_offer(&nearest, t->columns[i].name);
            return nearest.best ? fail(p, "--columns: %s has no column '%.*s'; did you mean %s?", t->name,
                                       (int)length, text, nearest.best)
                                : fail(p, "--columns: %s has no column '%.*s'; --list shows them", t->name,
                                       (int)length, text);
        }
        if (r->column_count == sizeof(r->columns))
            return fail(p, "--columns: more than %zu columns", sizeof(r->columns));
        r->columns[r->column_count++] = (unsigned char)column;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

static int
take_where(const struct parser *p)
{
    struct dump_request *const r = p->request;
    if (!r->given[DUMP_where])
        return 0;
    const struct sqt_table *tables[SQT_WHERE_TABLES];
    for (unsigned i = 0; i < r->family->where_count; ++i)
        tables[i] = &sqt_tables[r->family->where[i]];
    char error[512];
    r->where = sqt_where_parse(r->given[DUMP_where], tables, r->family->where_count, error, sizeof(error));
    return r->where ? 0 : fail(p, "--where: %s", error);
}

static int
take_format(const struct parser *p)
{
    struct dump_request *const r = p->request;
    const char *const name = r->given[DUMP_format] ? r->given[DUMP_format] : sqt_sink_types[0].name;
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, strlen(name));
    for (unsigned i = 0; i < sqt_sink_type_count; ++i) {
        if (strcmp(sqt_sink_types[i].name, name) == 0) {
            r->format = &sqt_sink_types[i];
            return 0;
        }
        sqt_nearest_offer(&nearest, sqt_sink_types[i].name);
    }
    return nearest.best ? fail(p, "unknown format '%s'; did you mean %s?", name, nearest.best)
                        : fail(p, "unknown format '%s'; --list shows them", name);
}

/* An option's value as a number; plain: what a number without a unit counts. */
static int
take_number(const struct parser *p, enum dump_option option, enum sqt_units units, int64_t plain, int64_t least,
            int64_t *value)
{
    const char *const text = p->request->given[option];
    const char *error = NULL;
    if (!text)
        return 0;
    if (sqt_units_parse(text, strlen(text), units, plain, value, &error) != 0)
        return fail(p, "--%s: '%s': %s", dump_option_infos[option].name, text, error);
    if (*value < least)
        return fail(p, "--%s: '%s': too small", dump_option_infos[option].name, text);
    return 0;
}

int
dump_parse(struct dump_request *r, int argc, char **argv, char *error, size_t error_size)
{
    const struct parser p = {r, error, error_size};
    memset(r, 0, sizeof(*r));
    r->until = INT64_MAX;
    r->since = INT64_MIN;
    r->group = DEFAULT_GROUP;
    r->peak = DEFAULT_PEAK;
    r->kid = -1;
    if (take_words(&p, argc, argv) != 0)
        return -1;
    if (r->given[DUMP_help] || r->given[DUMP_version] || r->given[DUMP_list])
        return 0;
    if (take_table(&p) != 0 || take_columns(&p) != 0 || take_where(&p) != 0 || take_format(&p) != 0 ||
        take_number(&p, DUMP_since, SQT_UNITS_TIME, SECOND, INT64_MIN, &r->since) != 0 ||
        take_number(&p, DUMP_until, SQT_UNITS_TIME, SECOND, INT64_MIN, &r->until) != 0 ||
        take_number(&p, DUMP_group, SQT_UNITS_TIME, SECOND, 1, &r->group) != 0 ||
        take_number(&p, DUMP_peak, SQT_UNITS_TIME, SECOND, 1, &r->peak) != 0 ||
        take_number(&p, DUMP_kid, SQT_UNITS_NONE, 1, 0, &r->kid) != 0)
        return -1;
    if (r->kid > UINT32_MAX)
        return fail(&p, "--kid: '%s': too large", r->given[DUMP_kid]);
    if (r->since >= r->until)
        return fail(&p, "--since is not before --until");
    if (!r->trace_count)
        return fail(&p, "no trace given: name a segment, a ring, a directory of them, or -");
    return 0;
}

void
dump_request_free(struct dump_request *r)
{
    sqt_where_free(r->where);
    free(r->traces);
}
