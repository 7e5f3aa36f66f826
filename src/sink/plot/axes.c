/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * axes.c - the axes of a script of gnuplot.
 */
#include <math.h>
#include <string.h>

#include "plot-internal.h"

void
plot_axis_time(struct sqt_plot *plot)
{
    const unsigned column = plot_column(plot, "time_s");
    double from, until, last = NAN;
    size_t times = 0;
    plot_extent(plot, column, &from, &until);
    for (size_t i = 0; i < plot->rows; ++i)
        if (plot_value(plot, i, column) != last) {
            last = plot_value(plot, i, column);
            ++times;
        }
    const double half = times > 1 && until > from ? (until - from) / (double)(times - 1) / 2 : 0.5;
    fprintf(plot->set, "set xrange [%.9g:%.9g]\n", from > half ? from - half : 0, until + half);
}

void
plot_axis_values(struct sqt_plot *plot)
{
    fprintf(plot->set, "set yrange [0:%s]\n", plot->figure->top);
}

/* "4 kiB" for a size that is a power of two. */
static void
axes_put_size(struct sqt_plot *plot, unsigned power, int first)
{
    static const char *const units[] = {"B", "kiB", "MiB", "GiB", "TiB"};
    const unsigned unit = power / 10 < 5 ? power / 10 : 4;
    fprintf(plot->set, "%s'%llu %s' %llu", first ? "" : ", ", 1ull << (power - 10 * unit), units[unit], 1ull << power);
}

/* Sizes in powers of two, about eight of which have a number. */
static void
axes_sizes(struct sqt_plot *plot, double from, double until)
{
    unsigned first = 0, last;
    while (first < 60 && (double)(1ull << first) < from)
        ++first;
    for (last = first; last < 60 && (double)(1ull << last) < until;)
        ++last;
    const unsigned step = (last - first) / 9 + 1;
    fprintf(plot->set, "set logscale x 2\nset xrange [%.9g:%.9g]\nset xtics (", from, until);
    first = (first + step - 1) / step * step;
    for (unsigned power = first; power <= last && power < 60; power += step)
        axes_put_size(plot, power, power == first);
    fputs(")\n", plot->set);
}

static void
axes_upto(struct sqt_plot *plot, double least, double most)
{
    const int bytes = plot->table->columns[0].type == SQT_TYPE_BYTES;
    const double start = least > (bytes ? 1 : 0.001) ? least : bytes ? 1 : 0.001;
    const double end = most > start ? most * 1.05 : start * 10;
    if (bytes)
        axes_sizes(plot, start, end);
    else
        fprintf(plot->set, "set logscale x 10\nset format x '%%g'\nset xrange [%.9g:%.9g]\n", start, end);
    fprintf(plot->set, "set yrange [0:%s]\n", plot->figure->top);
}

void
plot_axis_first(struct sqt_plot *plot, double most, double least)
{
    const char *const first = plot->table->columns[0].name;
    double from, until, unused;
    if (strcmp(first, "time_s") == 0) {
        plot_axis_time(plot);
    } else if (strcmp(first, "from_bytes") == 0) {
        plot_extent(plot, 0, &from, &unused);
        plot_extent(plot, 1, &unused, &until);
        if (until > 16384)
            axes_sizes(plot, from > 256 ? from : 256, until);
        else
            fprintf(plot->set, "set xrange [0:%.9g]\nset xtics 1024\n", until);
    } else {
        plot_extent(plot, 0, &from, &until);
        axes_upto(plot, from, until);
        return;
    }
    /* Curves far apart. */
    if (least > 0 && most / least > 30)
        fprintf(plot->set, "set logscale y 10\nset format y '%%g'\nset yrange [%.3g:*]\n", least / 2);
    else
        fprintf(plot->set, "set yrange [0:%s]\n",
                most > 0 || strcmp(plot->figure->top, "*") != 0 ? plot->figure->top : "1");
}
