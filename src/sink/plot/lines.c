/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lines.c - lines against time: of a figure, or of each value of its key columns.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot-internal.h"

/* Keys that have lines, at most; further ones are left out, and the script says so. */
#define LINES_KEYS 64
/* Kids that are counted for one key. */
#define LINES_KIDS 256

/* The value of the key columns, as titles have it, and the kid that has most rows with it. */
struct lines_key {
    char text[PLOT_TEXT];
    double kid;
};

struct lines_keys {
    struct lines_key *keys;
    unsigned count, others;
    const char *columns;
    int one_kid;
};

static unsigned
lines_find(const struct lines_keys *keys, const char *text)
{
    unsigned i = 0;
    while (i < keys->count && strcmp(keys->keys[i].text, text) != 0)
        ++i;
    return i;
}

/* Several kids sample the same machine: the kid with most samples is drawn.  Of more than LINES_KIDS the first count. */
static void
lines_choose_kid(const struct sqt_plot *plot, const struct lines_keys *keys, struct lines_key *key)
{
    double kids[LINES_KIDS];
    size_t counts[LINES_KIDS] = {0}, most = 0;
    unsigned count = 0;
    char one[PLOT_TEXT];
    for (size_t i = 0; i < plot->rows; ++i) {
        const double kid = plot_value(plot, i, plot_column(plot, "kid"));
        unsigned k = 0;
        if (strcmp(plot_key(plot, i, keys->columns, one), key->text) != 0)
            continue;
        while (k < count && kids[k] != kid)
            ++k;
        if (k == count && count < LINES_KIDS)
            kids[count++] = kid;
        if (k < count)
            ++counts[k];
    }
    for (unsigned k = 0; k < count; ++k)
        if (counts[k] > most) {
            most = counts[k];
            key->kid = kids[k];
        }
}

static struct lines_keys
lines_keys_of(const struct sqt_plot *plot)
{
    static const char one_kid[] = "one-kid";
    struct lines_keys keys = {.keys = sqt_zeroed(LINES_KEYS, sizeof(struct lines_key)), .columns = plot->figure->keys};
    char text[PLOT_TEXT];
    if (strncmp(keys.columns, one_kid, sizeof(one_kid) - 1) == 0) {
        keys.one_kid = 1;
        keys.columns += sizeof(one_kid) - 1;
        keys.columns += *keys.columns == ' ';
    }
    for (size_t i = 0; i < plot->rows; ++i) {
        const unsigned at = lines_find(&keys, plot_key(plot, i, keys.columns, text));
        if (at < keys.count)
            continue;
        if (keys.count == LINES_KEYS) {
            ++keys.others;
            continue;
        }
        snprintf(keys.keys[at].text, PLOT_TEXT, "%s", text);
        keys.keys[at].kid = NAN;
        ++keys.count;
        if (keys.one_kid)
            lines_choose_kid(plot, &keys, &keys.keys[at]);
    }
    return keys;
}

/* Whether a row is of that key. */
static int
lines_is_of(const struct sqt_plot *plot, const struct lines_keys *keys, unsigned key, size_t row)
{
    char text[PLOT_TEXT];
    return strcmp(plot_key(plot, row, keys->columns, text), keys->keys[key].text) == 0 &&
           (!keys->one_kid || plot_value(plot, row, plot_column(plot, "kid")) == keys->keys[key].kid);
}

static void
lines_put_data(struct sqt_plot *plot, const struct lines_keys *keys, unsigned key, const char *block)
{
    fprintf(plot->data, "%s << EOD\n", block);
    if (*keys->keys[key].text) {
        fputs("# ", plot->data);
        plot_quote(plot->data, keys->keys[key].text);
        putc('\n', plot->data);
    }
    plot_put_names(plot);
    for (size_t i = 0; i < plot->rows; ++i)
        if (lines_is_of(plot, keys, key, i))
            plot_put_row(plot, i);
    fputs("EOD\n\n", plot->data);
}

static int
lines_has(const struct sqt_plot *plot, const struct lines_keys *keys, unsigned key, unsigned column)
{
    for (size_t i = 0; i < plot->rows; ++i)
        if (!isnan(plot_value(plot, i, column)) && lines_is_of(plot, keys, key, i))
            return 1;
    return 0;
}

/* Whether a line to the right says nothing: gnuplot would draw one at 0 for each key. */
static int
lines_is_flat(const struct sqt_plot *plot, const struct lines_keys *keys, unsigned key, unsigned column)
{
    for (size_t i = 0; i < plot->rows; ++i)
        if (plot_value(plot, i, column) > 0 && lines_is_of(plot, keys, key, i))
            return 0;
    return keys->count > 1;
}

static void
lines_put_curve(struct sqt_plot *plot, const struct lines_keys *keys, unsigned key, const struct plot_line *line,
                const char *block, unsigned number)
{
    const unsigned column = plot_column(plot, line->column);
    char title[2 * PLOT_TEXT];
    if (column >= plot->table->column_count || !lines_has(plot, keys, key, column) ||
        (line->right && lines_is_flat(plot, keys, key, column)))
        return;
    const int panel = plot->figure->make == plot_make_BATCHES;
    snprintf(title, sizeof(title), "%s%s", panel ? "" : keys->keys[key].text, line->title);
    plot_curve_begin(plot);
    fprintf(plot->curves, "%s using %u:", block, plot_column(plot, "time_s") + 1);
    if (line->scale == 1)
        fprintf(plot->curves, "%u", column + 1);
    else
        fprintf(plot->curves, "($%u / %ld.0)", column + 1, line->scale);
    plot_curve_end(plot, line->look, line->right,
                   *line->colour ? line->colour : plot_colour(keys->keys[key].text, number), number, title);
}

/* The axis to the right; gnuplot would not draw one without a value. */
static void
lines_put_right(struct sqt_plot *plot)
{
    double most = 0;
    for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line)) {
        double low, high;
        plot_extent(plot, plot_column(plot, line->column), &low, &high);
        most = line->right && high > most ? high : most;
    }
    fputs(most > 0 ? "set y2range [0:*]\n" : "set y2range [0:1]\nunset y2tics\nunset y2label\nset border 3\n",
          plot->set);
}

static void
lines_put(struct sqt_plot *plot, const struct lines_keys *keys)
{
    char block[32];
    for (unsigned i = 0; i < keys->count; ++i) {
        unsigned number = 0;
        snprintf(block, sizeof(block), keys->count > 1 ? "$data%u" : "$data", i + 1);
        lines_put_data(plot, keys, i, block);
        for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line))
            lines_put_curve(plot, keys, i, line, block, *line->colour ? number++ : i);
    }
    if (keys->others)
        fprintf(plot->data, "# There are more names than %d; the rows of others are left out.\n\n", LINES_KEYS);
}

void
plot_make_LINES(struct sqt_plot *plot)
{
    struct lines_keys keys = lines_keys_of(plot);
    lines_put(plot, &keys);
    plot_axis_time(plot);
    plot_axis_values(plot);
    if (*plot->figure->right)
        lines_put_right(plot);
    free(keys.keys);
}

/* A panel for each kind of operation, with its own scale; a point alone is no curve. */
void
plot_make_BATCHES(struct sqt_plot *plot)
{
    struct lines_keys keys = lines_keys_of(plot);
    char block[32];
    unsigned panels = 0;
    for (unsigned i = 0; i < keys.count; ++i) {
        unsigned number = 0;
        snprintf(block, sizeof(block), "$data%u", i + 1);
        lines_put_data(plot, &keys, i, block);
        for (const struct plot_line *line = plot_next_line(plot, NULL); line; line = plot_next_line(plot, line)) {
            struct plot_line plain = *line;
            lines_put_curve(plot, &keys, i, &plain, block, number++);
        }
        if (!plot->curve_count)
            continue;
        fputs("set title ", plot->draw);
        plot_quote(plot->draw, keys.keys[i].text);
        fputs(" noenhanced\n", plot->draw);
        plot_end(plot);
        ++panels;
    }
    double least, most;
    plot_extent(plot, plot_column(plot, "time_s"), &least, &most);
    const unsigned wide = panels > 1 ? 2 : 1, high = (panels + wide - 1) / wide;
    fprintf(plot->set, "set xrange [0:%.9g]\n", most > 0 ? most * 1.04 : 1);
    plot_axis_values(plot);
    fprintf(plot->data, "set multiplot layout %u,%u\n", high ? high : 1, wide);
    fputs("unset multiplot\n", plot->draw);
    plot->high = 60 + 340 * (high ? high : 1);
    plot->wide = wide > 1 ? 1300 : 1100;
    free(keys.keys);
}

/* A line for each operation, from where it was asked for to the end of the trace. */
void
plot_make_LOST(struct sqt_plot *plot)
{
    char op[PLOT_TEXT];
    const unsigned time = plot_column(plot, "time_s") + 1, waited = plot_column(plot, "waited_s") + 1;
    fprintf(plot->set, "set xrange [0:*]\nset yrange [-0.5:%zu.5] reverse\nunset ytics\n", plot->rows - 1);
    fputs("$data << EOD\n", plot->data);
    plot_put_names(plot);
    for (size_t i = 0; i < plot->rows; ++i)
        plot_put_row(plot, i);
    fputs("EOD\n\n", plot->data);
    for (size_t i = 0; i < plot->rows && i < 200; ++i) {
        fprintf(plot->set, "set label ");
        plot_quote(plot->set, plot_key(plot, i, "op dir", op));
        fprintf(plot->set, " at %.9g,%zu offset 0.5,0.8 noenhanced\n", plot_value(plot, i, time - 1), i);
    }
    plot_curve_begin(plot);
    fprintf(plot->curves, "$data using %u:0:%u:(0) with vectors nohead lw 3 lc rgb '#d55e00' notitle", time, waited);
    plot_curve_begin(plot);
    fprintf(plot->curves, "$data using %u:0 with points pt 7 ps 1 lc rgb '#d55e00' notitle", time);
}
