/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stack.c - bars: of parts that stand on each other, of stages, and of one value.
 *
 * The data has the sums of the parts up to each one, so the longest bar is drawn first and the others cover it.
 */
#include <math.h>
#include <string.h>

#include "plot-internal.h"

/* The value of a part, 0 where it is missing. */
static double
stack_part(const struct sqt_plot *plot, size_t row, const struct plot_line *line)
{
    const double value = plot_value(plot, row, plot_column(plot, line->column));
    return isnan(value) || value < 0 ? 0 : value / (double)line->scale;
}

static int
stack_is_part(const struct plot_line *line)
{
    return line->look == PLOT_PART || line->look == PLOT_BESIDE;
}

static int
stack_used(const struct sqt_plot *plot, const struct plot_line *line)
{
    for (size_t i = 0; i < plot->rows; ++i)
        if (stack_part(plot, i, line) > 0)
            return 1;
    return 0;
}

/* Bars stand at the values of that column; without one, side by side. */
static unsigned
stack_place(const struct sqt_plot *plot)
{
    return plot_column(plot, !*plot->figure->keys ? "time_s" : strcmp(plot->figure->keys, "index") == 0 ? "index" : "");
}

static void
stack_put_label(struct sqt_plot *plot, size_t row)
{
    char text[PLOT_TEXT];
    plot_key(plot, row, plot->figure->keys, text);
    for (char *p = text; *p; ++p)
        if (*p == '"' || *p == '`')
            *p = '\'';
    fprintf(plot->data, "\t%s", *text ? text : "-");
}

static void
stack_put_row(struct sqt_plot *plot, size_t row)
{
    const unsigned place = stack_place(plot);
    double sum = 0;
    enum plot_look look = PLOT_PART;
    fprintf(plot->data, "%.9g", place < plot->table->column_count ? plot_value(plot, row, place) : (double)row);
    stack_put_label(plot, row);
    for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line)) {
        sum = stack_is_part(line) && line->look == look ? sum : 0;
        look = line->look;
        if (stack_is_part(line)) {
            sum += stack_part(plot, row, line);
            fprintf(plot->data, "\t%.6f", sum);
        } else {
            const double value = plot_value(plot, row, plot_column(plot, line->column));
            if (isnan(value))
                fputs("\tNaN", plot->data);
            else
                fprintf(plot->data, "\t%.6f", value);
        }
    }
    putc('\n', plot->data);
}

static void
stack_put_data(struct sqt_plot *plot)
{
    fputs("$data << EOD\n# each part is the sum of the parts up to it: x", plot->data);
    fputs("\tname", plot->data);
    for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line))
        fprintf(plot->data, "\t%s", line->column);
    putc('\n', plot->data);
    for (size_t i = 0; i < plot->rows; ++i)
        stack_put_row(plot, i);
    fputs("EOD\n\n", plot->data);
}

static void
stack_put_curve(struct sqt_plot *plot, const struct plot_line *line, unsigned number, double aside)
{
    const int named = stack_place(plot) >= plot->table->column_count;
    plot_curve_begin(plot);
    if (aside == 0)
        fprintf(plot->curves, "$data using 1:%u", number + 3);
    else
        fprintf(plot->curves, "$data using ($1 %c 0.2):%u", line->look == PLOT_BESIDE ? '+' : '-', number + 3);
    if (named && line->look != PLOT_BESIDE)
        fputs(":xtic(2)", plot->curves);
    plot_curve_end(plot, line->look, line->right, line->colour, 1, line->title);
}

/* The parts from the last to the first, then the lines. */
static void
stack_put_curves(struct sqt_plot *plot, double aside)
{
    const struct plot_line *lines[32];
    unsigned count = 0;
    for (const struct plot_line *line = plot_next_line(plot, NULL); line && count < 32;
         line = plot_next_line(plot, line))
        lines[count++] = line;
    for (unsigned i = count; i-- > 0;)
        if (stack_is_part(lines[i]) && stack_used(plot, lines[i]))
            stack_put_curve(plot, lines[i], i, aside);
    for (unsigned i = 0; i < count; ++i)
        if (!stack_is_part(lines[i]))
            stack_put_curve(plot, lines[i], i, 0);
}

static int
stack_has_beside(const struct sqt_plot *plot)
{
    for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line))
        if (line->look == PLOT_BESIDE)
            return 1;
    return 0;
}

void
plot_make_STACK(struct sqt_plot *plot)
{
    const unsigned place = stack_place(plot);
    const int beside = stack_has_beside(plot);
    double least, most;
    plot_extent(plot, place, &least, &most);
    fputs("set style fill solid noborder\n", plot->set);
    if (place >= plot->table->column_count) {
        fprintf(plot->set, "set boxwidth %s\nset xrange [-0.6:%zu.6]\nset xtics scale 0 noenhanced%s\n",
                beside ? "0.35" : "0.8", plot->rows - 1, plot->rows > 4 ? " rotate by -40" : "");
    } else {
        const double width = plot->rows > 1 ? (most - least) / (double)(plot->rows - 1) : 1;
        fprintf(plot->set, "set boxwidth %.9g\nset xrange [%.9g:%.9g]\n", width * (width == 1 ? 1 : 0.9), least - width,
                most + width);
    }
    plot_axis_values(plot);
    if (*plot->figure->right)
        fputs("set y2range [0:*]\n", plot->set);
    stack_put_data(plot);
    stack_put_curves(plot, beside ? 0.2 : 0);
}

/* ---- stages ---- */

/* Of how many requests a percentile is drawn. */
static double
stack_least(const char *percentile)
{
    return strcmp(percentile, "p50") == 0   ? 10
           : strcmp(percentile, "p90") == 0 ? 50
           : strcmp(percentile, "p99") == 0 ? 100
                                            : 1000;
}

static double
stack_stage(const struct sqt_plot *plot, size_t row, const char *stage)
{
    char column[PLOT_TEXT];
    snprintf(column, sizeof(column), "%s_ms", stage);
    const double value = plot_value(plot, row, plot_column(plot, column));
    const double total = plot_value(plot, row, plot_column(plot, "total_ms"));
    return isnan(value) || !(total > 0) ? 0 : 100 * value / total;
}

static int
stack_shows(const struct sqt_plot *plot, size_t row)
{
    char text[PLOT_TEXT];
    return plot_value(plot, row, plot_column(plot, "count")) >=
           stack_least(plot_text(plot, row, plot_column(plot, "percentile"), text));
}

static void
stack_put_stages(struct sqt_plot *plot, size_t row, unsigned number)
{
    double sum = 0;
    char key[PLOT_TEXT];
    const double total = plot_value(plot, row, plot_column(plot, "total_ms"));
    fprintf(plot->data, "%u\t%s: %.*f ms", number, plot_key(plot, row, plot->figure->keys, key), total < 10 ? 2 : 0,
            total);
    for (unsigned i = 0; plot_stage(i); ++i) {
        sum += stack_stage(plot, row, plot_stage(i));
        fprintf(plot->data, "\t%.4f", sum);
    }
    putc('\n', plot->data);
}

/* Whether a stage takes two thousandths of some row. */
static int
stack_stage_seen(const struct sqt_plot *plot, const char *stage)
{
    for (size_t i = 0; i < plot->rows; ++i)
        if (stack_shows(plot, i) && stack_stage(plot, i, stage) > 0.2)
            return 1;
    return 0;
}

/* A bar for each row, the first on top. */
void
plot_make_STAGE_BARS(struct sqt_plot *plot)
{
    unsigned shown = 0, count = 0;
    char spaced[PLOT_TEXT];
    fputs("$data << EOD\n# each part is the sum of the parts up to it: y\tname", plot->data);
    for (; plot_stage(count); ++count)
        fprintf(plot->data, "\t%s", plot_stage(count));
    putc('\n', plot->data);
    for (size_t i = 0; i < plot->rows; ++i)
        if (stack_shows(plot, i))
            stack_put_stages(plot, i, shown++);
    fputs("EOD\n\n", plot->data);
    for (unsigned i = count; i-- > 0 && shown;)
        if (stack_stage_seen(plot, plot_stage(i))) {
            plot_curve_begin(plot);
            fprintf(plot->curves,
                    "$data using (0):1:(0):%u:($1 - 0.42):($1 + 0.42):ytic(2) with boxxyerror lc rgb '%s' title ",
                    i + 3, plot_stage_colour(plot_stage(i)));
            plot_quote(plot->curves, plot_spaced(plot_stage(i), spaced));
        }
    fputs("set style fill solid noborder\nset xrange [0:100]\nset grid noytics xtics lc rgb '#dddddd'\n"
          "set ytics scale 0 noenhanced\nset xlabel ",
          plot->set);
    plot_quote(plot->set, plot->table->y);
    fputs(" noenhanced\nset ylabel ", plot->set);
    plot_quote(plot->set, plot->table->x);
    fprintf(plot->set, " noenhanced\nset yrange [%u.5:-0.5]\n", shown ? shown - 1 : 0);
    plot->high = 130 + 24 * shown;
}

/* ---- bars of one value ---- */

static double
bars_value(const struct sqt_plot *plot, size_t row, const struct plot_line *line)
{
    return plot_value(plot, row, plot_column(plot, line->column));
}

/* A bar for each row, or for each line of plots.def if there are no keys. */
void
plot_make_BARS(struct sqt_plot *plot)
{
    const int by_row = *plot->figure->keys != '\0';
    const struct plot_line *line = plot_next_line(plot, NULL);
    unsigned bars = 0;
    double least = 0, most = 0;
    fputs("$data << EOD\n# number\tname\tvalue\n", plot->data);
    for (size_t row = 0; row < plot->rows && line; row += (size_t)by_row, ++bars) {
        const double value = bars_value(plot, row, line);
        fprintf(plot->data, "%u", bars);
        if (by_row)
            stack_put_label(plot, row);
        else
            fprintf(plot->data, "\t%s", line->title);
        fprintf(plot->data, isnan(value) ? "\tNaN\n" : "\t%.6f\n", value);
        least = value > 0 && (least == 0 || value < least) ? value : least;
        most = value > most ? value : most;
        line = by_row ? line : plot_next_line(plot, line);
    }
    fputs("EOD\n\n", plot->data);
    fprintf(plot->set,
            "set style fill solid noborder\nset boxwidth 0.8\nset xtics scale 0 noenhanced\nunset key\n"
            "set xrange [-0.6:%u.6]\n",
            bars ? bars - 1 : 0);
    if (least > 0 && most / least > 30)
        fprintf(plot->set, "set logscale y 10\nset format y '%%g'\nset yrange [%.3g:%.3g]\n", least / 3, most * 3);
    else
        fputs("set yrange [0:*]\nset offsets 0,0,graph 0.1,0\n", plot->set);
    if (most <= 0)
        return;
    plot_curve_begin(plot);
    fputs("$data using 1:3:xtic(2)", plot->curves);
    plot_curve_end(plot, PLOT_PART, 0, "#0072b2", 0, "");
    plot_curve_begin(plot);
    fputs("$data using 1:3:(sprintf('%.3g', $3)) with labels offset 0,0.7 notitle", plot->curves);
}
