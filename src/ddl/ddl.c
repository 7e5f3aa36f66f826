/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ddl.c - see ddl.h.
 */
#include "ddl.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "expand.h"
#include "figure/finding/told.h"
#include "lists.h"

static const struct sqt_ddl_engine *const ddl_engines[] = {&sqt_ddl_duckdb, &sqt_ddl_clickhouse, &sqt_ddl_spark};
#define DDL_ENGINES (sizeof(ddl_engines) / sizeof(*ddl_engines))

/* For whom rows are summed up. */
static const struct {
    const char *key, *suffix;
} ddl_scopes[] = {{"", ""}, {"host", "_by_host"}, {"site", "_by_site"}};
enum { DDL_ALL, DDL_HOST, DDL_SITE, DDL_SCOPES };

/* What words stand for. */
struct ddl_words {
    const struct sqt_ddl_engine *engine;
    const struct sqt_ddl_place *place;
    const struct sqt_ddl_view *view;
    unsigned table; /* enum sqt_table_number */
    unsigned scope;
};

const struct sqt_ddl_engine *
sqt_ddl_engine_find(const char *name)
{
    for (unsigned i = 0; i < DDL_ENGINES; ++i)
        if (strcmp(ddl_engines[i]->name, name) == 0)
            return ddl_engines[i];
    return NULL;
}

const char *
sqt_ddl_engine_name(unsigned number)
{
    return number < DDL_ENGINES ? ddl_engines[number]->name : NULL;
}

void
sqt_ddl_figures(void (*view)(const char *name, const char *doc))
{
    const struct sqt_ddl_engine *const e = ddl_engines[0];
    for (unsigned i = 0; i < e->view_count; ++i)
        if (e->views[i].often == SQT_DDL_SCOPES || e->views[i].often == SQT_DDL_LOST)
            view(e->views[i].name, e->views[i].doc);
}

static void ddl_expand(FILE *to, const struct ddl_words *words, const char *text);

/* ---- words of views ---- */

/* Behind "from ": where the rows come from.  The site of a host is what view `sites` says, else its domain. */
static void
ddl_put_from(FILE *to, const struct ddl_words *w, const char *view)
{
    const char *const find = w->engine->find;
    if (w->scope != DDL_SITE)
        fputs(view, to);
    else
        fprintf(to,
                "(SELECT t.*, coalesce(nullif(s.site, ''), CASE WHEN %s(t.host, '.') > 0 "
                "THEN substr(t.host, %s(t.host, '.') + 1) ELSE 'none' END) AS site "
                "FROM %s t LEFT JOIN sites s ON t.host = s.host)",
                find, find, view);
}

/* "by t": the key of table t and a comma. */
static void
ddl_put_key(FILE *to, const struct ddl_words *w, const char *table, const char *end)
{
    if (w->scope != DDL_ALL)
        fprintf(to, "%s%s%s%s", table, *table ? "." : "", ddl_scopes[w->scope].key, end);
}

/* "same a b" */
static void
ddl_put_same(FILE *to, const struct ddl_words *w, const char *tables)
{
    const char *const key = ddl_scopes[w->scope].key, *const second = strchr(tables, ' ');
    if (w->scope != DDL_ALL && second)
        fprintf(to, " AND %.*s.%s = %s.%s", (int)(second - tables), tables, key, second + 1, key);
}

/* A word that begins so; what follows, or NULL. */
static const char *
ddl_behind(const char *word, const char *begin)
{
    return strncmp(word, begin, strlen(begin)) == 0 ? word + strlen(begin) : NULL;
}

static int
ddl_scope_word(FILE *to, const char *word, const struct ddl_words *w)
{
    const char *behind;
    if ((behind = ddl_behind(word, "from ")))
        ddl_put_from(to, w, behind);
    else if ((behind = ddl_behind(word, "same ")))
        ddl_put_same(to, w, behind);
    else if ((behind = ddl_behind(word, "by ")))
        ddl_put_key(to, w, behind, ", ");
    else if (strcmp(word, "by") == 0)
        ddl_put_key(to, w, "", ", ");
    else if (strcmp(word, "key") == 0)
        ddl_put_key(to, w, "", "");
    else if (strcmp(word, "group") == 0 || strcmp(word, "over") == 0)
        fprintf(to, "%s%s",
                w->scope == DDL_ALL ? ""
                : *word == 'g'      ? "GROUP BY "
                                    : "PARTITION BY ",
                ddl_scopes[w->scope].key);
    else
        return 0;
    return 1;
}

/* Names or values of what a row is split into. */
static void
ddl_put_parts(FILE *to, const struct ddl_words *w, const char *item)
{
    sqt_ddl_put_durations(to, w->engine, sqt_table_find(w->view->sql, 0), item);
}

static int
ddl_part_word(FILE *to, const char *word, const struct ddl_words *w)
{
    if (strcmp(word, "names") == 0)
        ddl_put_parts(to, w, "{name}");
    else if (strcmp(word, "values") == 0)
        ddl_put_parts(to, w, "{value}");
    else if (strcmp(word, "source") == 0)
        fprintf(to, "%s", w->view->sql);
    else
        return 0;
    return 1;
}

static int
ddl_word(FILE *to, const char *word, const void *context)
{
    const struct ddl_words *const w = context;
    char pattern[SQT_DDL_PATTERN];
    if (strcmp(word, "table") == 0)
        fputs(sqt_tables[w->table].name, to);
    else if (strcmp(word, "columns") == 0)
        sqt_ddl_put_columns(to, w->engine, &sqt_tables[w->table]);
    else if (strcmp(word, "schema") == 0)
        sqt_ddl_put_schema(to, w->engine, &sqt_tables[w->table],
                           w->place->has[w->table] ? w->engine->column : w->engine->no_column);
    else if (strcmp(word, "pattern") == 0)
        fputs(sqt_ddl_place_pattern(w->place, w->table, pattern), to);
    else if (strcmp(word, "known") == 0)
        sqt_ddl_put_known(to);
    else if (strcmp(word, "hits") == 0)
        sqt_ddl_put_hits(to);
    else if (strcmp(word, "stages") == 0)
        sqt_ddl_put_stages(to);
    else if (strcmp(word, "server_time") == 0)
        sqt_ddl_put_server_time(to, w->engine);
    else if (strcmp(word, "failure_s") == 0)
        fprintf(to, "%lld", (long long)(SQT_FAILURE_NS / 1000000000));
    else
        return ddl_scope_word(to, word, w) || ddl_part_word(to, word, w);
    return 1;
}

static void
ddl_expand(FILE *to, const struct ddl_words *w, const char *text)
{
    sqt_ddl_expand(to, text, ddl_word, w);
}

/* ---- statements ---- */

static void
ddl_begin(FILE *to, const struct ddl_words *w, const char *name, const char *suffix)
{
    fprintf(to, "%s%s%s%s%s AS\n", w->engine->create, w->engine->quote, name, suffix, w->engine->quote);
}

/* The view of one scope, with the records that were lost there. */
static void
ddl_put_scope(FILE *to, const struct ddl_words *w)
{
    const char *const suffix = ddl_scopes[w->scope].suffix, *const key = ddl_scopes[w->scope].key;
    ddl_begin(to, w, w->view->name, suffix);
    if (w->view->often == SQT_DDL_LOST) {
        ddl_expand(to, w, w->view->sql);
    } else {
        fputs("SELECT v.*, coalesce(l.lost_records, 0) AS lost_records FROM (\n", to);
        ddl_expand(to, w, w->view->sql);
        fprintf(to, w->scope == DDL_ALL ? ") v CROSS JOIN lost l" : ") v LEFT JOIN lost%s l ON v.%s = l.%s", suffix,
                key, key);
    }
    fputs(";\n", to);
}

static int
ddl_is_table(unsigned table)
{
    return !sqt_tables[table].figure && sqt_tables[table].things;
}

static void
ddl_put_union(FILE *to, struct ddl_words *w)
{
    const char *before = "";
    ddl_begin(to, w, w->view->name, "");
    for (w->table = 0; w->table < SQT_TABLES; ++w->table)
        if (ddl_is_table(w->table)) {
            fputs(before, to);
            ddl_expand(to, w, w->view->sql);
            before = "\nUNION ALL ";
        }
    fputs(";\n", to);
}

static void
ddl_put_view(FILE *to, struct ddl_words *w)
{
    fprintf(to, "\n-- %s\n", w->view->doc);
    if (w->view->often == SQT_DDL_UNION) {
        ddl_put_union(to, w);
    } else if (w->view->often == SQT_DDL_SCOPES || w->view->often == SQT_DDL_LOST) {
        for (w->scope = 0; w->scope < DDL_SCOPES; ++w->scope)
            ddl_put_scope(to, w);
    } else {
        ddl_begin(to, w, w->view->often == SQT_DDL_EACH ? sqt_tables[w->table].name : "", w->view->name);
        ddl_expand(to, w,
                   w->view->often == SQT_DDL_ONCE || w->view->often == SQT_DDL_EACH ? w->view->sql : w->engine->parts);
        fputs(";\n", to);
    }
}

/* The view of a table's files, and the views that are printed for each table. */
static void
ddl_put_table(FILE *to, struct ddl_words *w)
{
    fprintf(to, "\n-- %s: %s\n", sqt_tables[w->table].name, sqt_tables[w->table].doc);
    ddl_expand(to, w, w->place->has[w->table] ? w->engine->files : w->engine->no_files);
    for (unsigned i = 0; i < w->engine->view_count; ++i) {
        w->view = &w->engine->views[i];
        if (w->view->often == SQT_DDL_EACH)
            ddl_put_view(to, w);
    }
}

void
sqt_ddl_print(FILE *to, const struct sqt_ddl_engine *engine, const struct sqt_ddl_place *place)
{
    struct ddl_words w = {.engine = engine, .place = place};
    fprintf(to, "-- sqtrace-dump %s: tables and views for %s over %s\n", PACKAGE_VERSION, engine->title, place->folder);
    for (w.table = 0; w.table < SQT_TABLES; ++w.table)
        if (ddl_is_table(w.table))
            ddl_put_table(to, &w);
    fprintf(to, "\n-- which site a host is of, where its domain does not say so\n%s", engine->sites);
    for (unsigned i = 0; i < engine->view_count; ++i) {
        w.view = &engine->views[i];
        if (w.view->often != SQT_DDL_EACH)
            ddl_put_view(to, &w);
    }
}
