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

#include "index.h"
#include "sink/json.h"

/* Bytes of a series that the page draws.  A longer one has its picture only. */
#define CHART_MOST (1 << 20)

static const struct chart {
    const char *figure, *solid, *dashed, *key, *form;
} charts[] = {
#define REPORT_CHART(figure, solid, dashed, key, form) {figure, solid, dashed, key, form},
#include "browse/charts.def"
};

static const struct chart *
chart_of(const char *figure)
{
    for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); ++i)
        if (strcmp(charts[i].figure, figure) == 0)
            return &charts[i];
    return NULL;
}

/* A text of any length, within quotes. */
static void
chart_put_rows(struct sqt_out *out, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    sqt_json_print(out, ",\"rows\":\"");
    while (getline(&line, &room, in) > 0) {
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

static void
chart_put(struct sqt_out *out, const struct report *r, const struct series *s, const struct chart *chart)
{
    char *const path = folder_path(r, "figures/%s.tsv", s->picture.file);
    FILE *const in = fopen(path, "r");
    free(path);
    if (!in)
        return;
    const struct {
        const char *key, *text;
    } members[] = {{"figure", s->table->name}, {"title", figure_title(s->table)}, {"y", s->table->y},
                   {"solid", chart->solid},    {"dashed", chart->dashed},         {"key", chart->key},
                   {"form", chart->form}};
    if (fseek(in, 0, SEEK_END) == 0 && ftell(in) <= CHART_MOST && fseek(in, 0, SEEK_SET) == 0) {
        sqt_json_print(out, "(window.sqtraceSeries ||= []).push({");
        for (size_t i = 0; i < sizeof(members) / sizeof(*members); ++i) {
            sqt_json_print(out, "%s\"%s\":", i ? "," : "", members[i].key);
            sqt_json_string(out, members[i].text ? members[i].text : "");
        }
        chart_put_rows(out, in);
        sqt_json_print(out, "});\n");
    }
    fclose(in);
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
        for (size_t i = 0; r->trace_count == 1 && i < r->figure_count; ++i) {
            const struct chart *const chart = chart_of(r->figures[i]->name);
            const struct series *const s = &r->traces[0].series[i];
            if (chart && s->picture.drawn)
                chart_put(&out, r, s, chart);
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
