/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * figures.c - the figures of index.html, whatever the table of figures holds: those with a script as pictures,
 * the others as tables.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digits.h"
#include "base/memory.h"
#include "index.h"

/* Most rows of a series that the page shows. */
#define ROWS_MOST 60
/* Bytes of a series that a page of one file has in it. */
#define SERIES_MOST 131072
/* A picture that is wider does not stand beside another one. */
#define WIDE_PICTURE 800

const char *
figure_title(const struct sqt_table *t)
{
    return t->figure ? t->title : report_tables[t - sqt_tables];
}

const char *
figure_caption(const struct sqt_table *t)
{
    return t->caption ? t->caption : t->doc;
}

/* Below the caption; without one the rule is the caption. */
static void
put_rule(struct page *page, const struct sqt_table *t)
{
    if (t->caption)
        page_put(page, "rule", "text", t->doc, NULL);
}

/* ---- the command that makes it ---- */

static void
put_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
    putc(' ', to);
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, to);
        return;
    }
    putc('\'', to);
    for (; *word; ++word)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            putc(*word, to);
    putc('\'', to);
}

/* What prints the series, with the options that the report was made with. */
static void
put_dump(FILE *to, const struct report *r, const struct report_trace *t, const struct sqt_table *figure)
{
    static const enum report_option passed[] = {REPORT_since, REPORT_until, REPORT_lookback,  REPORT_kid,
                                                REPORT_group, REPORT_peak,  REPORT_log_format};
    fprintf(to, "sqtrace-dump --%s=%s", figure->figure ? "figure" : "table", figure->name);
    for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); ++i)
        if (r->given[passed[i]]) {
            char *const option = sqt_printed("--%s=%s", report_option_infos[passed[i]].name, r->given[passed[i]]);
            put_word(to, option);
            free(option);
        }
    for (size_t i = 0; i < t->path_count; ++i) {
        char *const path = sqt_printed("%s%s", t->of_log ? "--access-log=" : "", t->paths[i]);
        put_word(to, path);
        free(path);
    }
}

static char *
command(const struct report *r, const struct report_trace *t, const struct picture *p, const struct sqt_table *figure)
{
    char *text = NULL;
    size_t size;
    FILE *const to = sqt_text_stream(&text, &size);
    if (t) {
        put_dump(to, r, t, figure);
        if (p->drawn)
            fprintf(to, " | gnuplot -c %s.gp %s.svg", p->script, p->file);
        else
            fprintf(to, " > %s.tsv", p->file);
    } else {
        for (size_t i = 0; i < r->trace_count; ++i) {
            put_dump(to, r, &r->traces[i], figure);
            fprintf(to, " > %s.%s.tsv\n", figure->name, r->traces[i].label);
        }
        fprintf(to, "gnuplot -c %s.gp %s.svg", p->script, p->file);
    }
    fclose(to);
    return text;
}

/* ---- pictures ---- */

static void
put_picture(struct page *page, const struct sqt_table *figure, const struct picture *p)
{
    char size[2][2][16], alt[600];
    for (unsigned narrow = 0; narrow < 2; ++narrow) {
        snprintf(size[narrow][0], sizeof(size[0][0]), "%u", p->width[narrow]);
        snprintf(size[narrow][1], sizeof(size[0][1]), "%u", p->height[narrow]);
    }
    snprintf(alt, sizeof(alt), "Graph: %s", figure->doc);
    page_put(page, "figure-picture", "file", p->file, "title", figure_title(figure), "alt", alt, "width", size[0][0],
             "height", size[0][1], "narrow-width", size[1][0], "narrow-height", size[1][1], NULL);
}

/* What the maker noted, besides what the page says in other places. */
static void
put_notes(struct page *page, const struct report_trace *t, const struct series *s)
{
    static const char *const known[] = {"title: ", "x: ", "y: "};
    for (size_t i = 0; i < s->notes.count; ++i) {
        unsigned k = 0;
        while (k < 3 && strncmp(s->notes.text[i], known[k], strlen(known[k])) != 0)
            ++k;
        if (k == 3)
            page_put(page, "large-note", "label", t->label, "text", s->notes.text[i], NULL);
    }
}

/* A link to the series.  In a page of one file the link has the series in it, unless the series is long. */
static void
put_series(const struct report *r, struct page *page, const char *fragment, const struct series *s)
{
    struct stat status;
    char *const path = folder_path(r, "figures/%s.tsv", s->picture.file);
    if (!page_is_single(page) || (stat(path, &status) == 0 && status.st_size <= SERIES_MOST))
        page_put(page, fragment, "file", s->picture.file, NULL);
    free(path);
}

/* t: the trace; NULL: all of them. */
static void
put_large(const struct report *r, struct page *page, size_t figure, const struct report_trace *t,
          const struct picture *p)
{
    const struct sqt_table *const table = r->figures[figure];
    char width[16], height[16], alt[600], script[140], title[200];
    snprintf(width, sizeof(width), "%u", p->width[0]);
    snprintf(height, sizeof(height), "%u", p->height[0]);
    snprintf(alt, sizeof(alt), "Graph: %s", table->doc);
    snprintf(script, sizeof(script), "%s.gp", p->script);
    snprintf(title, sizeof(title), "%s%s%s", figure_title(table), t && *t->label ? ", " : "", t ? t->label : "");
    page_put(page, "large-begin", "file", p->file, "title", title, "alt", alt, "width", width, "height", height,
             "caption", figure_caption(table), NULL);
    put_rule(page, table);
    for (size_t i = 0; i < r->trace_count; ++i)
        if (!t || t == &r->traces[i])
            put_notes(page, &r->traces[i], &r->traces[i].series[figure]);
    page_put(page, "large-files-begin", NULL);
    for (size_t i = 0; i < r->trace_count; ++i)
        if (!t || t == &r->traces[i])
            put_series(r, page, "large-series", &r->traces[i].series[figure]);
    char *const text = command(r, t, p, table);
    page_put(page, "large-files-end", "script", script, "file", p->file, NULL);
    page_put(page, "large-end", "command", text, NULL);
    free(text);
}

/* ---- tables ---- */

/* Words of a line between tabs; the line is cut up. */
static unsigned
figures_split(char *line, char *cells[256])
{
    unsigned count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *p = line; p && count < 256; ++count) {
        cells[count] = p;
        p = strchr(p, '\t');
        if (p)
            *p++ = '\0';
    }
    return count;
}

static const char *
cell_kind(const struct sqt_table *table, unsigned column)
{
    return column < table->column_count && table->columns[column].type == SQT_TYPE_TEXT ? "text" : "number";
}

/* A cell as people read it: times with three digits or so, shares with one decimal; the series has them all. */
static const char *
cell_text(const struct sqt_table *table, unsigned column, char *cell, char text[32])
{
    const enum sqt_type type = column < table->column_count ? table->columns[column].type : SQT_TYPE_TEXT;
    const int decimal = type == SQT_TYPE_MS || type == SQT_TYPE_PCT || type == SQT_TYPE_MILLI || type == SQT_TYPE_TIME;
    const double value = decimal ? strtod(cell, NULL) : 0;
    if (!decimal || strcmp(cell, "-") == 0)
        return cell;
    snprintf(text, 32, "%.*f", type == SQT_TYPE_PCT || value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3, value);
    return text;
}

/* Whether the cell is a percentile of too few values: those that the row counts. */
static int
figures_too_few(const struct sqt_table *table, unsigned column, char *const *cells, unsigned count)
{
    const uint64_t least = column < table->column_count ? words_least(table->columns[column].name) : 0;
    for (unsigned i = 0; least && i < table->column_count && i < count; ++i)
        if (strcmp(table->columns[i].name, "count") == 0)
            return strtoull(cells[i], NULL, 10) < least;
    return 0;
}

/* The first rows of a series, as it stands in its file. */
static void
put_table(const struct report *r, struct page *page, const struct report_trace *t, const struct series *s)
{
    char *const path = folder_path(r, "figures/%s.tsv", s->picture.file);
    FILE *const in = sqt_fopen(path, "r");
    char *line = NULL, *cells[256], shown[32];
    size_t room = 0, rows = 0;
    int headed = 0;
    page_put(page, "table-begin", "title", figure_title(s->table), "label", t->label, "rows",
             sqt_grouped(s->sink.rows, shown), NULL);
    while (in && rows < ROWS_MOST && sqt_getline(&line, &room, in) > 0) {
        if (*line == '#')
            continue;
        const unsigned count = figures_split(line, cells);
        if (headed)
            page_put(page, "table-row", NULL);
        for (unsigned i = 0; i < count; ++i)
            page_put(page, headed ? "table-cell" : "table-name", "text",
                     !headed                                      ? cells[i]
                     : figures_too_few(s->table, i, cells, count) ? "-"
                                                                  : cell_text(s->table, i, cells[i], shown),
                     "kind", cell_kind(s->table, i), NULL);
        page_put(page, headed ? "table-row-end" : "table-body", NULL);
        rows += headed;
        headed = 1;
    }
    page_put(page, "table-end", NULL);
    if (in)
        fclose(in);
    free(line);
    free(path);
    char more[100];
    if (s->sink.rows > rows) {
        snprintf(more, sizeof(more), "%llu more rows are in the series.", (unsigned long long)s->sink.rows - rows);
        page_put(page, "note", "text", more, NULL);
    }
    char *const text = command(r, t, &s->picture, s->table);
    put_series(r, page, "table-series", s);
    page_put(page, "table-files", "command", text, NULL);
    free(text);
}

/* ---- a figure ---- */

/* Why there is nothing of it: what its maker noted, or that there are no rows. */
static void
nothing_words(char text[700], const struct report_trace *t, const struct series *s)
{
    const char *why = "the trace has no data for it";
    for (size_t i = 0; i < s->notes.count; ++i)
        if (strncmp(s->notes.text[i], "nothing: ", 9) == 0)
            why = s->notes.text[i] + 9;
    if (s->picture.trouble && strncmp(s->picture.trouble, "there are no rows", 17) == 0)
        snprintf(text, 700, "%s%sNothing to draw: no group has enough values, or all of them are 0.", t->label,
                 *t->label ? ": " : "");
    else if (s->picture.trouble)
        snprintf(text, 700, "%s%sIt could not be drawn: %s.", t->label, *t->label ? ": " : "", s->picture.trouble);
    else
        snprintf(text, 700, "%s%sNo rows: %s.", t->label, *t->label ? ": " : "", why);
}

static void
put_nothing(struct page *page, const struct report_trace *t, const struct series *s)
{
    char text[700];
    nothing_words(text, t, s);
    page_put(page, "figure-none", "text", text, NULL);
}

/* Whether no trace has anything of it.  What could not be drawn is told in its place. */
static int
is_nothing(const struct report *r, size_t figure)
{
    for (size_t i = 0; i < r->trace_count; ++i) {
        const struct series *const s = &r->traces[i].series[figure];
        const int rows_to_draw =
            s->sink.rows && !(s->picture.trouble && strncmp(s->picture.trouble, "there are no rows", 17) == 0);
        if (s->picture.drawn || rows_to_draw)
            return 0;
    }
    return !(r->compared && r->compared[figure].drawn);
}

/* Figures that are left out, and why. */
static void
put_left_out(const struct report *r, struct page *page)
{
    char text[700];
    unsigned count = 0;
    for (size_t i = 0; i < r->figure_count; ++i)
        count += (unsigned)(r->figures[i] != &sqt_tables[SQT_TABLE_checks] && is_nothing(r, i));
    if (!count)
        return;
    snprintf(text, sizeof(text), "%u %s nothing to show", count, count == 1 ? "figure has" : "figures have");
    page_put(page, "nothing-begin", "text", text, NULL);
    for (size_t i = 0; i < r->figure_count; ++i)
        if (r->figures[i] != &sqt_tables[SQT_TABLE_checks] && is_nothing(r, i)) {
            nothing_words(text, &r->traces[0], &r->traces[0].series[i]);
            page_put(page, "nothing", "id", r->figures[i]->name, "title", figure_title(r->figures[i]), "text", text,
                     NULL);
        }
    page_put(page, "nothing-end", NULL);
}

/* Pictures side by side, and tables, need the whole width of the page. */
static int
is_wide(const struct report *r, size_t figure, int as_table)
{
    const struct picture *const p = r->compared ? &r->compared[figure] : &r->traces[0].series[figure].picture;
    return as_table || p->width[0] > WIDE_PICTURE;
}

static void
put_figure(const struct report *r, struct page *page, size_t figure, int as_table)
{
    const struct sqt_table *const table = r->figures[figure];
    const struct picture *const overlay = r->compared && r->compared[figure].wanted ? &r->compared[figure] : NULL;
    page_put(page, "figure-begin", "id", table->name, "title", figure_title(table), "kind",
             is_wide(r, figure, as_table) ? "wide" : "", NULL);
    if (overlay && overlay->drawn)
        put_picture(page, table, overlay);
    else if (overlay)
        page_put(page, "figure-none", "text", overlay->trouble, NULL);
    for (size_t i = 0; i < r->trace_count; ++i) {
        const struct report_trace *const t = &r->traces[i];
        const struct series *const s = &t->series[figure];
        if (overlay && s->sink.rows) {
            continue;
        } else if (s->picture.drawn) {
            if (*t->label)
                page_put(page, "figure-of", "label", t->label, NULL);
            put_picture(page, table, &s->picture);
        } else if (as_table && s->sink.rows) {
            put_table(r, page, t, s);
        } else {
            put_nothing(page, t, s);
        }
    }
    page_put(page, "figure-caption", "text", figure_caption(table), NULL);
    put_rule(page, table);
    page_put(page, "figure-caption-end", NULL);
    char filter[LINK_ROOM];
    const char *const behind = link_of_figure(filter, &r->traces[0], table);
    if (behind)
        page_put(page, "figure-behind", "filter", filter, "text", behind, NULL);
    page_put(page, "figure-end", NULL);
    if (overlay && overlay->drawn)
        put_large(r, page, figure, NULL, overlay);
    for (size_t i = 0; i < r->trace_count; ++i)
        if (r->traces[i].series[figure].picture.drawn)
            put_large(r, page, figure, &r->traces[i], &r->traces[i].series[figure].picture);
}

void
index_figures(const struct report *r, struct page *page)
{
    page_put(page, "section", "id", "figures", "title", "Figures", NULL);
    page_put(page, "contents-begin", NULL);
    for (size_t i = 0; i < r->figure_count; ++i)
        if (r->figures[i] != &sqt_tables[SQT_TABLE_checks] && !is_nothing(r, i))
            page_put(page, "nav-item", "id", r->figures[i]->name, "title", figure_title(r->figures[i]), NULL);
    page_put(page, "contents-end", NULL);
    page_put(page, "figures-begin", NULL);
    for (size_t i = 0; i < r->figure_count; ++i)
        if (r->figures[i] != &sqt_tables[SQT_TABLE_checks] && /* they have a section of their own */
            !is_nothing(r, i))
            put_figure(r, page, i, !*r->traces[0].series[i].picture.script);
    page_put(page, "figures-end", NULL);
    put_left_out(r, page);
    page_put(page, "section-end", NULL);
}
