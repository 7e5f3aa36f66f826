/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page.c - the live page: three files that are a part of the program, and the numbers that they show, as JSON.
 *
 * The rows are those of sqtrace-top's tables, from the same code.  Lists are bounded, whatever the trace has.
 */
#include <inttypes.h>
#include <string.h>

#include "base/visible.h"
#include "exporter.h"
#include <exporter-page.h> /* made of the files of page/ */

/* Rows of a table, at most; requests in flight have their number beside. */
#define PAGE_ROWS 200
/* The history: so many bars of so many seconds, before those of the bar that has begun. */
#define PAGE_BARS 59
#define PAGE_WIDTH 5
_Static_assert((PAGE_BARS + 1) * PAGE_WIDTH <= WINDOW_SECONDS, "each second of a bar is still there");

const struct exporter_file *
exporter_page_file(const char *path)
{
    static const struct exporter_file files[] = {
        {"/", "text/html; charset=utf-8", page_html, sizeof(page_html)},
        {"/live.css", "text/css; charset=utf-8", page_css, sizeof(page_css)},
        {"/live.js", "text/javascript; charset=utf-8", page_js, sizeof(page_js)},
    };
    for (unsigned i = 0; i < sizeof(files) / sizeof(*files); ++i)
        if (strcmp(path, files[i].path) == 0)
            return &files[i];
    return NULL;
}

/* ---- values ---- */

static void
page_text(FILE *to, const char *text)
{
    char shown[2048];
    sqt_visible_text(shown, sizeof(shown), text);
    fputc('"', to);
    for (const char *c = shown; *c; ++c) {
        if (*c == '"' || *c == '\\')
            fputc('\\', to);
        fputc(*c, to);
    }
    fputc('"', to);
}

/* Numbers above 2^53 are text: a script would round them. */
static void
page_number(FILE *to, int64_t number, int is_unsigned)
{
    const int large = number > INT64_C(1) << 53 || number < (is_unsigned ? 0 : -(INT64_C(1) << 53));
    fprintf(to, is_unsigned ? "%s%" PRIu64 "%s" : "%s%" PRId64 "%s", large ? "\"" : "", number, large ? "\"" : "");
}

static void
page_cell(FILE *to, enum sqt_type type, union sqt_cell cell)
{
    if (sqt_cell_missing(type, cell))
        fputs("null", to);
    else if (type == SQT_TYPE_TEXT)
        page_text(to, cell.text);
    else
        page_number(to, cell.number, type == SQT_TYPE_ID || type == SQT_TYPE_HASH);
}

/* ---- tables ---- */

struct page_rows {
    FILE *to;
    const struct sqt_table *table;
    unsigned count;
};

static int
page_row(void *context, const union sqt_cell *row)
{
    struct page_rows *const rows = context;
    fputs(rows->count++ ? ",\n[" : "\n[", rows->to);
    for (unsigned i = 0; i < rows->table->column_count; ++i) {
        fputs(i ? "," : "", rows->to);
        page_cell(rows->to, rows->table->columns[i].type, row[i]);
    }
    fputc(']', rows->to);
    return 1;
}

static void
page_table(const struct exporter *e, enum top_table number, FILE *to)
{
    const struct sqt_table *const table = &top_tables[number];
    struct page_rows rows = {to, table, 0};
    fprintf(to, "%s\"%s\":{\"columns\":[", number ? ",\n" : "", table->name);
    for (unsigned i = 0; i < table->column_count; ++i)
        fprintf(to, "%s\"%s\"", i ? "," : "", table->columns[i].name);
    fputs("],\"rows\":[", to);
    if (e->trace.stream)
        top_rows(&e->watch, number, PAGE_ROWS, page_row, &rows);
    fputs("]}", to);
}

/* ---- the last minutes ---- */

/* Requests of all classes but tunnels, whose duration says nothing; count: of all. */
static uint64_t
page_sum(const struct exporter *e, const struct window_span *span, struct window_class *sum)
{
    struct window_class one;
    uint64_t count = 0;
    memset(sum, 0, sizeof(*sum));
    for (unsigned c = 0; c < SQT_CLASSES; ++c) {
        window_sum_class(&e->watch.window, span, c, &one);
        count += one.count;
        sum->count += c == SQT_CLASS_TUNNEL ? 0 : one.count;
        for (unsigned i = 0; i < WINDOW_BUCKETS && one.count && c != SQT_CLASS_TUNNEL; ++i)
            sum->buckets[i] += one.buckets[i];
    }
    return count;
}

static void
page_list(FILE *to, const char *name, const int64_t *values)
{
    fprintf(to, ",\"%s\":[", name);
    for (unsigned i = 0; i < PAGE_BARS; ++i) {
        fputs(i ? "," : "", to);
        page_cell(to, SQT_TYPE_NS, (union sqt_cell){.number = values[i]});
    }
    fputc(']', to);
}

static void
page_history(const struct exporter *e, FILE *to)
{
    int64_t counts[PAGE_BARS], medians[PAGE_BARS], p99s[PAGE_BARS];
    struct window_class sum;
    const int64_t newest = e->watch.now / WINDOW_SECOND / PAGE_WIDTH;
    for (unsigned i = 0; i < PAGE_BARS; ++i) {
        const int64_t first = (newest - PAGE_BARS + i) * PAGE_WIDTH;
        const struct window_span span = {first, first + PAGE_WIDTH - 1, PAGE_WIDTH};
        counts[i] = e->trace.stream ? (int64_t)page_sum(e, &span, &sum) : 0;
        medians[i] = counts[i] ? window_quantile(&sum, 500) : SQT_CELL_MISSING;
        p99s[i] = counts[i] ? window_quantile(&sum, 990) : SQT_CELL_MISSING;
    }
    fprintf(to, "\"history\":{\"width_s\":%d", PAGE_WIDTH);
    page_list(to, "counts", counts);
    page_list(to, "p50_ns", medians);
    page_list(to, "p99_ns", p99s);
    fputs("}", to);
}

/* ---- all of it ---- */

static int64_t
page_wall_ms(const struct exporter *e)
{
    const int64_t start = e->trace.stream ? (int64_t)sqt_stream_start_ns(e->trace.stream) : 0;
    return e->trace.stream && e->watch.now ? (start + e->watch.now) / 1000000 : exporter_now(CLOCK_REALTIME) / 1000000;
}

void
exporter_page_print(struct exporter *e, FILE *to)
{
    const size_t origins = e->trace.stream ? sqt_stream_origins(e->trace.stream) : 0;
    if (e->trace.stream)
        top_watch_look(&e->watch);
    fprintf(to, "{\"now_ms\":%" PRId64 ",\"squid_up\":%d,\"silent\":%u,\"error\":", page_wall_ms(e),
            exporter_squid_is_up(e), exporter_silent_processes(e));
    page_text(to, e->messages.error);
    fputs(",\"version\":\"" PACKAGE_VERSION "\",\"squid_version\":", to);
    page_text(to, origins ? sqt_stream_origin(e->trace.stream, origins - 1)->identity.squid_version : "");
    fputs(",\"metrics\":", to);
    page_text(to, e->request.path);
    fputs(",\n", to);
    page_history(e, to);
    fputs(",\n\"tables\":{", to);
    for (unsigned i = 0; i < TOP_TABLES; ++i)
        page_table(e, (enum top_table)i, to);
    fputs("}}\n", to);
}
