/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * plot-internal.h - the rows of a figure on their way to one script of gnuplot.
 *
 * plot.c keeps the rows and writes the script.  The makers, a file each, write into its three parts: settings, data and
 * curves.  The script uses only what gnuplot 5.4 and 6.0 understand in the same way: missing values are NaN, which breaks
 * a line, and names are quoted and not enhanced.
 */
#ifndef SQT_PLOT_INTERNAL_H
#define SQT_PLOT_INTERNAL_H

#include <stdio.h>

#include "../sink.h"

enum plot_look { PLOT_POINTS, PLOT_LINE, PLOT_DASHED, PLOT_DOTTED, PLOT_IMPULSES, PLOT_PART, PLOT_BESIDE };

/* A row of plots.def's SQT_PLOT_LINE. */
struct plot_line {
    enum sqt_table_number table;
    const char *column;
    enum plot_look look;
    int right; /* belongs to the axis to the right */
    long scale;
    const char *colour, *title;
};

struct sqt_plot;

/* A row of plots.def's SQT_PLOT. */
struct plot_figure {
    void (*make)(struct sqt_plot *plot);
    const char *keys, *right, *top;
};

struct sqt_plot {
    const struct sqt_table *table;
    const struct plot_figure *figure;
    union sqt_cell *cells; /* of all rows; texts are copies */
    size_t rows, room;
    FILE *notes; /* comments for the head of the script */
    char *notes_text;
    size_t notes_size;
    FILE *set, *data, *draw; /* the parts of the script */
    FILE *curves;            /* of the next plot command */
    char *curves_text;
    size_t curves_size;
    unsigned curve_count, drawn; /* in that command; in those before it */
    unsigned wide, high;         /* of the picture, in pixels of a PNG */
};

/* ---- plot.c: rows ---- */

/* The column of that name; column_count if there is none. */
unsigned plot_column(const struct sqt_plot *plot, const char *name);
/* The value of a cell in the unit of its column; NaN if it is missing, or a text. */
double plot_value(const struct sqt_plot *plot, size_t row, unsigned column);
/* The text of a cell, as TSV has it, in text.  Returns text. */
#define PLOT_TEXT 600
const char *plot_text(const struct sqt_plot *plot, size_t row, unsigned column, char text[PLOT_TEXT]);
/* The texts of several columns, named in keys with spaces between. */
const char *plot_key(const struct sqt_plot *plot, size_t row, const char *keys, char text[PLOT_TEXT]);
/* Least and greatest value of a column; 0 and 0 if there is none. */
void plot_extent(const struct sqt_plot *plot, unsigned column, double *least, double *most);

/* ---- plot.c: lines of the figure ---- */

/* The next line of plots.def for this figure behind that one; NULL: from the first.  Returns NULL behind the last. */
const struct plot_line *plot_next_line(const struct sqt_plot *plot, const struct plot_line *line);

/* ---- plot.c: the script ---- */

/* Text in single quotes, safe within a command. */
void plot_quote(FILE *to, const char *text);
/* All columns of a row as one line of data. */
void plot_put_row(struct sqt_plot *plot, size_t row);
/* A comment line with the names of all columns. */
void plot_put_names(struct sqt_plot *plot);
/* Begins a curve: the caller prints data and columns to plot->curves, then what plot_curve_end() does not. */
void plot_curve_begin(struct sqt_plot *plot);
/* Ends it with its look and its title.  number: of the curve, for its colour and its points if it has no own. */
void plot_curve_end(struct sqt_plot *plot, enum plot_look look, int right, const char *colour, unsigned number,
                    const char *title);
/* Ends a plot command, if it has curves. */
void plot_end(struct sqt_plot *plot);
/* The colour of a curve or a stage, by its name; the number's if it has none. */
const char *plot_colour(const char *name, unsigned number);
const char *plot_stage_colour(const char *name);
/* Stage i in the order in which they are stacked; NULL behind the last. */
const char *plot_stage(unsigned i);
/* "swap_ins" -> "swap ins" */
const char *plot_spaced(const char *name, char text[PLOT_TEXT]);

/* ---- axes.c ---- */

/* The axis of time, from half a group before the first row to half a group behind the last. */
void plot_axis_time(struct sqt_plot *plot);
/* That of the values: to 100, or from 0 on. */
void plot_axis_values(struct sqt_plot *plot);
/* Any x of a figure whose first column is its x. */
void plot_axis_first(struct sqt_plot *plot, double most, double least);

/* ---- makers ---- */

void plot_make_CURVES(struct sqt_plot *plot);
void plot_make_LINES(struct sqt_plot *plot);
void plot_make_BATCHES(struct sqt_plot *plot);
void plot_make_STACK(struct sqt_plot *plot);
void plot_make_STAGE_BARS(struct sqt_plot *plot);
void plot_make_BARS(struct sqt_plot *plot);
void plot_make_SPANS(struct sqt_plot *plot);
void plot_make_LOST(struct sqt_plot *plot);

#endif
