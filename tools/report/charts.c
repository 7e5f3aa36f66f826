/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * charts.c - series.js: the series of figures over time, which charts.js draws.
 *
 * A page that is opened from a disk may not read files, but it may load scripts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "index.h"
#include "sink/json.h"

/* Bytes of a figure's series, of all traces, that the page draws.  Longer ones have their picture only. */
#define CHART_MOST (1 << 20)

static const struct chart {
    const char *figure, *solid, *dashed, *key, *form;
} charts[] = {
#define REPORT_CHART(figure, solid, dashed, key, form) {figure, solid, dashed, key, form},
#include "browse/charts.def"
};

/* Those of SQT_DRAWN in figures.def. */
#define CHART_MEDIANS \
    { \
        .solid = "_p50_ms", .dashed = "_p90_ms", .key = "", .form = "lines" \
    }
#define CHART_LEVELS \
    { \
        .solid = "_p50", .dashed = "_mean", .key = "", .form = "lines" \
    }
#define CHART_SHARES \
    { \
        .solid = "_pct", .dashed = "", .key = "", .form = "lines" \
    }
#define CHART_RATES \
    { \
        .solid = "_per_s", .dashed = "", .key = "", .form = "lines" \
    }
static const struct chart charts_drawn[SQT_TABLES] = {
#define SQT_FIGURE(id, name, family, title, x, y, rule, caption)
#define SQT_CURVE(id, curve, FORM, part, whole)
#define SQT_DRAWN(id, FORM) [SQT_TABLE_##id] = CHART_##FORM,
#include "row/tables.def"
};

static const struct chart *
chart_of(const struct sqt_table *figure)
{
    const struct chart *const c = &charts_drawn[figure - sqt_tables];
    if (c->form && strcmp(figure->columns[0].name, "time_s") == 0)
        return c;
    for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); ++i)
        if (strcmp(charts[i].figure, figure->name) == 0)
            return &charts[i];
    return NULL;
}

/* The file of a series; NULL: there is none. */
static FILE *
chart_open(const struct report *r, const struct series *s)
{
    char *const path = folder_path(r, "figures/%s.tsv", s->picture.file);
    FILE *const in = s->sink.rows ? sqt_fopen(path, "r") : NULL;
    free(path);
    return in;
}

/* Bytes of the series of all traces. */
static long
chart_bytes(const struct report *r, size_t figure)
{
    long bytes = 0;
    for (size_t i = 0; i < r->trace_count; ++i) {
        FILE *const in = chart_open(r, &r->traces[i].series[figure]);
        if (in && fseek(in, 0, SEEK_END) == 0)
            bytes += ftell(in);
        if (in)
            fclose(in);
    }
    return bytes;
}

/* A text of any length, within quotes. */
static void
chart_put_rows(struct sqt_out *out, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    sqt_json_print(out, ",\"rows\":\"");
    while (sqt_getline(&line, &room, in) > 0) {
        if (*line == '#')
            continue;
        for (const char *c = line; *c; ++c) {
            char *const at = sqt_out_room(out, 2);
            const char escaped = *c == '\t' ? 't' : *c == '\n' ? 'n' : *c == '"' || *c == '\\' ? *c : '\0';
            at[0] = escaped ? '\\' : *c;
            at[1] = escaped;
            out->used += escaped ? 2 : 1;
        }
    }
    sqt_json_print(out, "\"");
    free(line);
}

/* The series of each trace that has one. */
static void
chart_put_series(struct sqt_out *out, const struct report *r, size_t figure)
{
    unsigned count = 0;
    for (size_t i = 0; i < r->trace_count; ++i) {
        FILE *const in = chart_open(r, &r->traces[i].series[figure]);
        if (!in)
            continue;
        sqt_json_print(out, "%s{\"trace\":", count++ ? "," : "");
        sqt_json_string(out, r->traces[i].label);
        chart_put_rows(out, in);
        sqt_json_print(out, "}");
        fclose(in);
    }
}

static void
chart_put(struct sqt_out *out, const struct report *r, size_t figure, const struct chart *chart)
{
    const struct sqt_table *const table = r->figures[figure];
    const struct {
        const char *key, *text;
    } members[] = {{"figure", table->name}, {"title", figure_title(table)}, {"y", table->y},
                   {"solid", chart->solid}, {"dashed", chart->dashed},      {"key", chart->key},
                   {"form", chart->form}};
    if (chart_bytes(r, figure) > CHART_MOST)
        return;
    sqt_json_print(out, "(window.sqtraceSeries ||= []).push({");
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); ++i) {
        sqt_json_print(out, "%s\"%s\":", i ? "," : "", members[i].key);
        sqt_json_string(out, members[i].text ? members[i].text : "");
    }
    sqt_json_print(out, ",\"of\":[");
    chart_put_series(out, r, figure);
    sqt_json_print(out, "]});\n");
}

/* A chart stands above the picture: without one the page has no place for it. */
static int
chart_has_place(const struct report *r, size_t figure)
{
    int drawn = r->compared && r->compared[figure].drawn;
    for (size_t i = 0; i < r->trace_count; ++i)
        drawn = drawn || r->traces[i].series[figure].picture.drawn;
    return drawn;
}

int
index_charts(struct report *r)
{
    char *const path = folder_path(r, "series.js");
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct sqt_out out;
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        sqt_out_init(&out, fd);
        sqt_json_print(&out, "/* Series of figures over time; see charts.js. */\nwindow.sqtraceLeast = {");
#define REPORT_LEAST(id, percentile, name, values) \
    sqt_json_print(&out, "\"_%s_ms\":{\"values\":%d,\"name\":\"%s\"},", percentile, values, name);
#include "least.def"
        sqt_json_print(&out, "};\n");
        for (size_t i = 0; i < r->figure_count; ++i) {
            const struct chart *const chart = chart_of(r->figures[i]);
            if (chart && chart_has_place(r, i))
                chart_put(&out, r, i, chart);
        }
        sqt_out_flush(&out);
        error = out.error;
        sqt_out_free(&out);
        if (close(fd) != 0 && !error)
            error = errno;
    }
    if (error)
        report_fail(r, "%s: cannot write: %s", path, strerror(error));
    free(path);
    return error ? -1 : 0;
}
