/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * plot.c - a figure as one script of gnuplot that stands alone.
 */
#include "plot-internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "row/cell-text.h"

#define POINTS 0, PLOT_POINTS
#define LINE 0, PLOT_LINE
#define DASHED 0, PLOT_DASHED
#define DOTTED 0, PLOT_DOTTED
#define IMPULSES 0, PLOT_IMPULSES
#define PART 0, PLOT_PART
#define BESIDE 0, PLOT_BESIDE
#define RIGHT_POINTS 1, PLOT_POINTS
#define RIGHT_LINE 1, PLOT_LINE
#define RIGHT_DASHED 1, PLOT_DASHED
#define RIGHT_DOTTED 1, PLOT_DOTTED

static const struct plot_figure plot_figures[SQT_TABLES] = {
#define SQT_PLOT(id, maker, keys, right, top) [SQT_TABLE_##id] = {plot_make_##maker, keys, right, top},
#include "plots.def"
};

#define PLOT_LINE_ROW(id, name, side, kind, by, colour_of, text) \
    {.table = SQT_TABLE_##id, \
     .column = name, \
     .right = side, \
     .look = kind, \
     .scale = by, \
     .colour = colour_of, \
     .title = text},
static const struct plot_line plot_lines[] = {
#define SQT_PLOT_LINE(id, column, look, scale, colour, title) PLOT_LINE_ROW(id, column, look, scale, colour, title)
#include "plots.def"
};
#define PLOT_LINES (sizeof(plot_lines) / sizeof(*plot_lines))

/* ---- rows ---- */

unsigned
plot_column(const struct sqt_plot *plot, const char *name)
{
    return sqt_column_find(plot->table, name, strlen(name));
}

static const union sqt_cell *
plot_cell(const struct sqt_plot *plot, size_t row, unsigned column)
{
    return &plot->cells[row * plot->table->column_count + column];
}

double
plot_value(const struct sqt_plot *plot, size_t row, unsigned column)
{
    const enum sqt_type type = column < plot->table->column_count ? plot->table->columns[column].type : SQT_TYPE_TEXT;
    if (type == SQT_TYPE_TEXT || sqt_cell_missing(type, *plot_cell(plot, row, column)))
        return NAN;
    const double number = (double)plot_cell(plot, row, column)->number;
    return type == SQT_TYPE_TIME                            ? number / 1e9
           : type == SQT_TYPE_MS                            ? number / 1e6
           : type == SQT_TYPE_PCT || type == SQT_TYPE_MILLI ? number / 1e3
                                                            : number;
}

const char *
plot_text(const struct sqt_plot *plot, size_t row, unsigned column, char text[PLOT_TEXT])
{
    char whole[SQT_CELL_TEXT_ROOM];
    *sqt_put_cell(whole, plot->table->columns[column].type, plot_cell(plot, row, column)) = '\0';
    snprintf(text, PLOT_TEXT, "%.*s", PLOT_TEXT / 2, whole);
    return text;
}

const char *
plot_key(const struct sqt_plot *plot, size_t row, const char *keys, char text[PLOT_TEXT])
{
    char one[PLOT_TEXT];
    size_t used = 0;
    *text = '\0';
    for (const char *key = keys; *key;) {
        const size_t length = strcspn(key, " ");
        const unsigned column = sqt_column_find(plot->table, key, length);
        if (column < plot->table->column_count && used < PLOT_TEXT) {
            const int number = plot->table->columns[column].type != SQT_TYPE_TEXT && strncmp(key, "index", 5) != 0;
            used +=
                (size_t)snprintf(text + used, PLOT_TEXT - used, "%s%.*s%s%.250s", used ? ", " : "",
                                 number ? (int)length : 0, key, number ? " " : "", plot_text(plot, row, column, one));
        }
        key += length + (key[length] == ' ');
    }
    return text;
}

void
plot_extent(const struct sqt_plot *plot, unsigned column, double *least, double *most)
{
    *least = *most = 0;
    for (size_t i = 0, seen = 0; i < plot->rows; ++i) {
        const double value = plot_value(plot, i, column);
        if (isnan(value))
            continue;
        *least = !seen || value < *least ? value : *least;
        *most = !seen || value > *most ? value : *most;
        seen = 1;
    }
}

const struct plot_line *
plot_next_line(const struct sqt_plot *plot, const struct plot_line *line)
{
    for (line = line ? line + 1 : plot_lines; line < plot_lines + PLOT_LINES; ++line)
        if (&sqt_tables[line->table] == plot->table)
            return line;
    return NULL;
}

/* ---- colours ---- */

const char *
plot_colour(const char *name, unsigned number)
{
    static const struct {
        const char *name, *colour;
    } curves[] = {
#define SQT_PLOT_COLOUR(name, colour) {#name, colour},
#include "colours.def"
    };
    static const char *const others[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#555555", "#f0e442"};
    for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); ++i)
        if (strcmp(curves[i].name, name) == 0)
            return curves[i].colour;
    return others[number % (sizeof(others) / sizeof(*others))];
}

static const struct {
    const char *name, *colour;
} plot_stages[] = {
#define SQT_PLOT_STAGE(name, colour) {#name, colour},
#include "colours.def"
};
#define PLOT_STAGES (sizeof(plot_stages) / sizeof(*plot_stages))

const char *
plot_stage(unsigned i)
{
    return i < PLOT_STAGES ? plot_stages[i].name : NULL;
}

const char *
plot_stage_colour(const char *name)
{
    for (size_t i = 0; i < PLOT_STAGES; ++i)
        if (strcmp(plot_stages[i].name, name) == 0)
            return plot_stages[i].colour;
    return "#cccccc";
}

const char *
plot_spaced(const char *name, char text[PLOT_TEXT])
{
    snprintf(text, PLOT_TEXT, "%s", name);
    for (char *p = text; *p; ++p)
        if (*p == '_')
            *p = ' ';
    return text;
}

/* ---- the parts of the script ---- */

void
plot_quote(FILE *to, const char *text)
{
    char safe[SQT_CELL_TEXT_ROOM];
    *sqt_put_cell_text(safe, text) = '\0';
    putc('\'', to);
    for (const char *p = safe; *p; ++p)
        if (*p == '\'')
            fputs("''", to);
        else
            putc(*p == '`' ? ' ' : *p, to);
    putc('\'', to);
}

/* A cell in a line of data: no quote or backquote that gnuplot might take for its own. */
static void
plot_put_cell(FILE *to, enum sqt_type type, const union sqt_cell *cell)
{
    char text[SQT_CELL_TEXT_ROOM];
    *sqt_put_cell(text, type, cell) = '\0';
    if (sqt_cell_missing(type, *cell))
        strcpy(text, type == SQT_TYPE_TEXT ? "-" : "NaN");
    for (char *p = text; *p; ++p)
        if (*p == '"' || *p == '`')
            *p = '\'';
    fputs(text, to);
}

void
plot_put_row(struct sqt_plot *plot, size_t row)
{
    for (unsigned i = 0; i < plot->table->column_count; ++i) {
        if (i)
            putc('\t', plot->data);
        plot_put_cell(plot->data, plot->table->columns[i].type, plot_cell(plot, row, i));
    }
    putc('\n', plot->data);
}

void
plot_put_names(struct sqt_plot *plot)
{
    putc('#', plot->data);
    for (unsigned i = 0; i < plot->table->column_count; ++i)
        fprintf(plot->data, "%s%s", i ? "\t" : " ", plot->table->columns[i].name);
    putc('\n', plot->data);
}

void
plot_curve_begin(struct sqt_plot *plot)
{
    if (!plot->curves)
        plot->curves = sqt_text_stream(&plot->curves_text, &plot->curves_size);
    fputs(plot->curve_count++ ? ", \\\n     " : "", plot->curves);
}

void
plot_curve_end(struct sqt_plot *plot, enum plot_look look, int right, const char *colour, unsigned number,
               const char *title)
{
    if (right)
        fputs(" axes x1y2", plot->curves);
    switch (look) {
    case PLOT_POINTS:
        fprintf(plot->curves, " with linespoints lw 2 pt %u ps 0.8", 5 + number % 9);
        break;
    case PLOT_LINE:
        fputs(" with lines lw 2", plot->curves);
        break;
    case PLOT_DASHED:
        fputs(" with lines lw 1.3 dt 2", plot->curves);
        break;
    case PLOT_DOTTED:
        fputs(" with lines lw 2 dt 3", plot->curves);
        break;
    case PLOT_IMPULSES:
        fputs(" with impulses lw 3", plot->curves);
        break;
    case PLOT_PART:
    case PLOT_BESIDE:
        fputs(" with boxes", plot->curves);
        break;
    }
    fprintf(plot->curves, " lc rgb '%s'", colour);
    if (*title) {
        fputs(" title ", plot->curves);
        plot_quote(plot->curves, title);
    } else {
        fputs(" notitle", plot->curves);
    }
}

void
plot_end(struct sqt_plot *plot)
{
    if (!plot->curves)
        return;
    fclose(plot->curves);
    fprintf(plot->draw, "plot %s\n", plot->curves_text);
    free(plot->curves_text);
    plot->curves = NULL;
    plot->drawn += plot->curve_count;
    plot->curve_count = 0;
}

/* ---- the whole script ---- */

static void
plot_put(struct sqt_sink *sink, const char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        const size_t part = size - done < SQT_OUT_ROOM ? size - done : SQT_OUT_ROOM;
        memcpy(sqt_out_room(&sink->out, part), text + done, part);
        sink->out.used += part;
        done += part;
    }
}

/* Closes a part and puts it into the output. */
static void
plot_put_part(struct sqt_sink *sink, FILE *part, char **text, const size_t *size)
{
    fclose(part);
    plot_put(sink, *text, *size);
    free(*text);
}

/* "load.gp" -> "load" for the name of the picture. */
static void
plot_name(const struct sqt_sink *sink, char name[PLOT_TEXT])
{
    const char *const base = sink->name ? strrchr(sink->name, '/') : NULL;
    snprintf(name, PLOT_TEXT, "%s", base ? base + 1 : sink->name ? sink->name : sink->table->name);
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".gp") == 0)
        name[length - 3] = '\0';
}

static void
plot_put_head(struct sqt_sink *sink)
{
    const struct sqt_plot *const plot = sink->plot;
    const struct sqt_table *const t = plot->table;
    char name[PLOT_TEXT], png[PLOT_TEXT + 4], *text = NULL;
    size_t size = 0;
    FILE *const to = sqt_text_stream(&text, &size);
    plot_name(sink, name);
    snprintf(png, sizeof(png), "%s.png", name);
    fprintf(to, "# %s: %s.\n", t->title, t->doc);
    fputs("# Made by sqtrace-dump. It draws the picture with gnuplot 5.4 or later, and needs no other file.\n"
          "# For a paper, change the next two lines, for example:\n",
          to);
    /* 12 cm for 1100 pixels; a figure of many panels needs more. */
    const unsigned wide = (plot->wide * 12 + 550) / 1100, high = (plot->high * 12 + 550) / 1100;
    fprintf(to, "#   set terminal pdfcairo size %ucm,%ucm font 'sans,%u'     and  set output 'figure.pdf'\n", wide,
            high, plot->figure->make == plot_make_BATCHES ? 6 : 9);
    fprintf(to, "#   set terminal svg size %u,%u font 'sans,13'          and  set output 'figure.svg'\n",
            plot->wide * 38 / 55, plot->high * 43 / 60);
    fprintf(to, "#   set terminal cairolatex pdf size %ucm,%ucm             and  set output 'figure.tex'\n", wide,
            high);
    fwrite(plot->notes_text, 1, plot->notes_size, to);
    fprintf(to, "set terminal pngcairo size %u,%u font 'sans,11'\nset output ", plot->wide, plot->high);
    plot_quote(to, png);
    fputs("\n\nset title ", to);
    plot_quote(to, t->title);
    fputs(" noenhanced\nset xlabel ", to);
    plot_quote(to, t->x);
    fputs(" noenhanced\nset ylabel ", to);
    plot_quote(to, t->y);
    fputs(" noenhanced\nset key outside right top vertical reverse Left noenhanced\n"
          "set border 3\nset tics nomirror out\nset grid ytics lc rgb '#dddddd'\n",
          to);
    if (*plot->figure->right) {
        fputs("set border 11\nset y2tics\nset y2label ", to);
        plot_quote(to, plot->figure->right);
        fputs(" noenhanced offset 1,0\n", to);
    }
    plot_put_part(sink, to, &text, &size);
}

static void
plot_script(struct sqt_sink *sink)
{
    struct sqt_plot *const plot = sink->plot;
    static const char separator[] = "set datafile separator \"\\t\"\n\n";
    char *set = NULL, *data = NULL, *draw = NULL;
    size_t set_size = 0, data_size = 0, draw_size = 0;
    plot->set = sqt_text_stream(&set, &set_size);
    plot->data = sqt_text_stream(&data, &data_size);
    plot->draw = sqt_text_stream(&draw, &draw_size);
    plot->figure->make(plot);
    plot_end(plot);
    sink->nothing = plot->drawn == 0;
    plot_put_head(sink);
    plot_put_part(sink, plot->set, &set, &set_size);
    plot_put(sink, separator, sizeof(separator) - 1);
    plot_put_part(sink, plot->data, &data, &data_size);
    plot_put_part(sink, plot->draw, &draw, &draw_size);
}

/* ---- the sink ---- */

static struct sqt_plot *
plot_of(struct sqt_sink *sink)
{
    if (sink->plot)
        return sink->plot;
    struct sqt_plot *const plot = sqt_zeroed(1, sizeof(*plot));
    plot->table = sink->table;
    static const struct plot_figure no_row = {plot_make_CURVES, "", "",
                                              "*"}; /* tests/unit/plot_scripts.py misses one */
    plot->figure = &plot_figures[sink->table - sqt_tables];
    plot->figure = plot->figure->make ? plot->figure : &no_row;
    plot->wide = 1100;
    plot->high = 600;
    plot->notes = sqt_text_stream(&plot->notes_text, &plot->notes_size);
    return sink->plot = plot;
}

void
sqt_plot_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    static const char *const said[] = {"figure", "title", "x", "y"};
    char line[SQT_CELL_TEXT_ROOM];
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); ++i)
        if (strcmp(key, said[i]) == 0)
            return;
    *sqt_put_cell_text(line, text) = '\0';
    const size_t length = strlen(line);
    /* A backslash at its end would make a comment of the next line, too. */
    fprintf(plot_of(sink)->notes, "# %s: %s%s\n", key, line, length && line[length - 1] == '\\' ? "." : "");
}

void
sqt_plot_header(struct sqt_sink *sink)
{
    plot_of(sink);
}

void
sqt_plot_row(struct sqt_sink *sink, const union sqt_cell *row)
{
    struct sqt_plot *const plot = plot_of(sink);
    const unsigned count = plot->table->column_count;
    if (plot->rows == plot->room) {
        plot->room = plot->room ? 2 * plot->room : 64;
        plot->cells = sqt_resized(plot->cells, plot->room * count * sizeof(*plot->cells));
    }
    union sqt_cell *const to = &plot->cells[plot->rows++ * count];
    memcpy(to, row, count * sizeof(*to));
    for (unsigned i = 0; i < count; ++i)
        if (plot->table->columns[i].type == SQT_TYPE_TEXT && to[i].text)
            to[i].text = sqt_copied(to[i].text);
}

void
sqt_plot_finish(struct sqt_sink *sink)
{
    struct sqt_plot *const plot = sink->plot;
    if (!plot)
        return;
    sink->nothing = 1;
    fclose(plot->notes);
    if (plot->rows)
        plot_script(sink);
    free(plot->notes_text);
    for (size_t i = 0; i < plot->rows * plot->table->column_count; ++i)
        if (plot->table->columns[i % plot->table->column_count].type == SQT_TYPE_TEXT)
            free((void *)(uintptr_t)plot->cells[i].text);
    free(plot->cells);
    free(plot);
    sink->plot = NULL;
}
