/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * curves.c - figures whose columns begin with the names of their curves: a line for each.
 */
#include <math.h>
#include <string.h>

#include "plot-internal.h"

/* A 90th percentile of fewer values is not drawn. */
#define P90_LEAST 50

/* Whether the column's name is that of a curve and the end that the line wants. */
static size_t
curves_named(const struct sqt_plot *plot, const struct plot_line *line, unsigned column)
{
    const char *const name = plot->table->columns[column].name;
    const size_t length = strlen(name), end = strlen(line->column);
    return length > end && strcmp(name + length - end, line->column) == 0 ? length - end : 0;
}

static int
curves_has(const struct sqt_plot *plot, unsigned column)
{
    for (size_t i = 0; i < plot->rows; ++i)
        if (!isnan(plot_value(plot, i, column)))
            return 1;
    return 0;
}

static const char *
curves_called(const char *curve, char text[PLOT_TEXT])
{
    return strcmp(curve, "dhr") == 0   ? "of requests"
           : strcmp(curve, "bhr") == 0 ? "of bytes"
                                       : plot_spaced(curve, text);
}

static void
curves_put(struct sqt_plot *plot, const struct plot_line *line, unsigned column, size_t length, unsigned number)
{
    char curve[PLOT_TEXT], spaced[PLOT_TEXT], title[2 * PLOT_TEXT], counted[PLOT_TEXT + 8];
    snprintf(curve, sizeof(curve), "%.*s", (int)length, plot->table->columns[column].name);
    snprintf(title, sizeof(title), "%s%s", curves_called(curve, spaced), line->title);
    snprintf(counted, sizeof(counted), "%s_count", curve);
    plot_curve_begin(plot);
    const int sizes = strcmp(plot->table->columns[0].name, "from_bytes") == 0;
    fprintf(plot->curves, "$data using %s:", sizes ? "(($1 + $2) / 2)" : "1");
    if (strcmp(line->column, "_p90_ms") == 0)
        fprintf(plot->curves, "($%u < %d ? NaN : $%u)", plot_column(plot, counted) + 1, P90_LEAST, column + 1);
    else
        fprintf(plot->curves, "%u", column + 1);
    const int many = plot->rows > 100 && line->look == PLOT_POINTS;
    plot_curve_end(plot, many ? PLOT_LINE : line->look, 0, plot_colour(curve, number), number, title);
}

void
plot_make_CURVES(struct sqt_plot *plot)
{
    double least = 0, most = 0;
    fputs("$data << EOD\n", plot->data);
    plot_put_names(plot);
    for (size_t i = 0; i < plot->rows; ++i)
        plot_put_row(plot, i);
    fputs("EOD\n\n", plot->data);
    for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line)) {
        unsigned number = 0;
        for (unsigned i = 0; i < plot->table->column_count; ++i) {
            const size_t length = curves_named(plot, line, i);
            double low, high;
            if (!length)
                continue;
            if (curves_has(plot, i)) {
                curves_put(plot, line, i, length, number);
                plot_extent(plot, i, &low, &high);
                most = high > most ? high : most;
                least = line->look != PLOT_POINTS ? least : plot->curve_count == 1 || low < least ? low : least;
            }
            ++number;
        }
    }
    plot_axis_first(plot, most, strstr(plot->table->y, "(ms)") ? least : 0);
}
