/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spans.c - figures that are made of rectangles: the slowest requests, the time line of one, windows of system calls.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot-internal.h"

/* Names that have a colour and an entry of the key, at most. */
#define SPANS_NAMES 40
/* Classes of system calls that are named; the others come together. */
#define SPANS_CALLS 11

struct spans_rectangle {
    unsigned name;
    double left, right, low, high;
};

struct spans {
    char names[SPANS_NAMES][64];
    const char *colours[SPANS_NAMES];
    unsigned name_count;
    struct spans_rectangle *rectangles;
    size_t count, room;
};

/* Its number; the last one stands for all that have no room. */
static unsigned
spans_name(struct spans *s, const char *name, const char *colour)
{
    unsigned i = 0;
    while (i < s->name_count && strcmp(s->names[i], name) != 0)
        ++i;
    if (i == SPANS_NAMES)
        return SPANS_NAMES - 1;
    if (i == s->name_count) {
        snprintf(s->names[i], sizeof(s->names[i]), "%.63s", name);
        s->colours[i] = colour ? colour : plot_colour("", i);
        ++s->name_count;
    }
    return i;
}

static void
spans_add(struct spans *s, unsigned name, double left, double right, double low, double high)
{
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->rectangles = sqt_resized(s->rectangles, s->room * sizeof(*s->rectangles));
    }
    if (!isnan(left) && !isnan(right) && !isnan(low) && !isnan(high))
        s->rectangles[s->count++] = (struct spans_rectangle){name, left, right, low, high};
}

static void
spans_put(struct sqt_plot *plot, const struct spans *s)
{
    char spaced[PLOT_TEXT];
    for (unsigned i = 0; i < s->name_count; ++i) {
        fprintf(plot->data, "$data%u << EOD\n# %s: from x\tto x\tfrom y\tto y\n", i + 1, s->names[i]);
        for (size_t k = 0; k < s->count; ++k) {
            const struct spans_rectangle *const r = &s->rectangles[k];
            if (r->name == i)
                fprintf(plot->data, "%.9f\t%.9f\t%.9f\t%.9f\n", r->left, r->right, r->low, r->high);
        }
        fputs("EOD\n\n", plot->data);
        plot_curve_begin(plot);
        fprintf(plot->curves,
                "$data%u using (($1 + $2) / 2):(($3 + $4) / 2):1:2:3:4 with boxxyerror lc rgb '%s' title ", i + 1,
                s->colours[i]);
        plot_quote(plot->curves, plot_spaced(s->names[i], spaced));
    }
}

/* ---- the slowest requests ---- */

static void
spans_slowest(struct sqt_plot *plot, struct spans *s)
{
    const unsigned rank = plot_column(plot, "rank"), took = plot_column(plot, "stage_ms");
    const unsigned upto = plot_column(plot, "upto_ms"), stage = plot_column(plot, "stage");
    double least, most;
    char name[PLOT_TEXT];
    plot_extent(plot, rank, &least, &most);
    for (size_t i = 0; i < plot->rows; ++i) {
        plot_text(plot, i, stage, name);
        const double x = plot_value(plot, i, rank), high = plot_value(plot, i, upto);
        spans_add(s, spans_name(s, name, plot_stage_colour(name)), x - 0.4, x + 0.4, high - plot_value(plot, i, took),
                  high);
    }
    fprintf(plot->set, "set xrange [0.4:%.9g]\nset xtics 1 scale 0\n", most + 0.6);
}

/* ---- one request ---- */

/* The lane of that name, from 0 on. */
static unsigned
spans_lane(char lanes[SPANS_NAMES][64], unsigned *count, const char *name)
{
    unsigned i = 0;
    while (i < *count && strcmp(lanes[i], name) != 0)
        ++i;
    if (i == *count && i < SPANS_NAMES)
        snprintf(lanes[(*count)++], 64, "%.63s", name);
    return i < SPANS_NAMES ? i : SPANS_NAMES - 1;
}

/* A block by itself is queued, then served, then noticed; of several the shares stand one upon the other. */
static void
spans_block(const struct sqt_plot *plot, struct spans *s, size_t row, double low)
{
    static const char *const parts[] = {"service_ms", "queue_ms", "notice_ms"}; /* from below */
    static const char *const names[] = {"I/O", "queued", "waiting to be noticed"};
    static const char *const colours[] = {"#0072b2", "#999999", "#e69f00"};
    static const unsigned in_time[] = {1, 0, 2};
    const double from = plot_value(plot, row, plot_column(plot, "from_ms"));
    const double until = plot_value(plot, row, plot_column(plot, "until_ms"));
    const int several = plot_value(plot, row, plot_column(plot, "spans")) > 1;
    double at = from, high = low;
    for (unsigned i = 0; i < 3; ++i) {
        const unsigned k = several ? i : in_time[i];
        const double took = plot_value(plot, row, plot_column(plot, parts[k]));
        const double share = until > from ? 0.8 * took / (until - from) : 0.8;
        const unsigned name = spans_name(s, names[k], colours[k]);
        if (several)
            spans_add(s, name, from, until, high, high + share);
        else
            spans_add(s, name, at, at + took, low, low + 0.8);
        at += isnan(took) ? 0 : took;
        high += isnan(share) ? 0 : share;
    }
}

static void
spans_waterfall(struct sqt_plot *plot, struct spans *s)
{
    char lanes[SPANS_NAMES][64], name[PLOT_TEXT], kind[PLOT_TEXT];
    double took[SPANS_NAMES] = {0}, least, most;
    unsigned count = 0;
    for (size_t i = 0; i < plot->rows; ++i) {
        const int block = strcmp(plot_text(plot, i, plot_column(plot, "kind"), kind), "block") == 0;
        plot_text(plot, i, plot_column(plot, "name"), name);
        const unsigned lane = spans_lane(lanes, &count, block ? "blocks" : name);
        const double from = plot_value(plot, i, plot_column(plot, "from_ms"));
        const double until = plot_value(plot, i, plot_column(plot, "until_ms"));
        const double busy = plot_value(plot, i, plot_column(plot, "busy_ms")), low = -(double)lane - 0.4;
        took[lane] += isnan(busy) ? 0 : busy;
        if (block)
            spans_block(plot, s, i, low);
        else
            spans_add(s, spans_name(s, name, plot_stage_colour(name)), from, until, low,
                      low + (until - from > busy ? 0.8 * busy / (until - from) : 0.8));
    }
    plot_extent(plot, plot_column(plot, "until_ms"), &least, &most);
    fprintf(plot->set,
            "set xrange [%.9g:%.9g]\nset yrange [%.9g:0.6]\nset grid noytics xtics lc rgb '#dddddd'\nset ytics () "
            "scale 0 noenhanced\n",
            -most * 0.005, most > 0 ? most * 1.01 : 1, -(double)count + 0.4);
    for (unsigned i = 0; i < count; ++i) {
        char spaced[PLOT_TEXT], label[PLOT_TEXT + 32];
        snprintf(label, sizeof(label), "%s, %.*f ms", plot_spaced(lanes[i], spaced),
                 took[i] >= 100 ? 0
                 : took[i] >= 1 ? 1
                                : 3,
                 took[i]);
        fputs("set ytics add (", plot->set);
        plot_quote(plot->set, label);
        fprintf(plot->set, " %d)\n", -(int)i);
    }
}

/* ---- system calls ---- */

static int
spans_is_call(const struct sqt_plot *plot, size_t row, char name[PLOT_TEXT])
{
    char thread[PLOT_TEXT];
    plot_text(plot, row, plot_column(plot, "name"), name);
    return strcmp(plot_text(plot, row, plot_column(plot, "thread"), thread), "main") == 0 &&
           strcmp(name, "epoll_wait") != 0 && strcmp(name, "poll") != 0 && strcmp(name, "select") != 0;
}

/* The classes that take most time, most first, then the others. */
static void
spans_rank_calls(const struct sqt_plot *plot, struct spans *s)
{
    struct {
        char name[64];
        double total;
    } calls[256];
    unsigned count = 0;
    char name[PLOT_TEXT];
    for (size_t i = 0; i < plot->rows; ++i) {
        unsigned k = 0;
        if (!spans_is_call(plot, i, name))
            continue;
        while (k < count && strcmp(calls[k].name, name) != 0)
            ++k;
        if (k == 256)
            continue;
        if (k == count) {
            snprintf(calls[k].name, sizeof(calls[k].name), "%.63s", name);
            calls[count++].total = 0;
        }
        const double took = plot_value(plot, i, plot_column(plot, "total_s"));
        calls[k].total += isnan(took) ? 0 : took;
    }
    for (unsigned n = 0; n < SPANS_CALLS && n < count; ++n) {
        unsigned most = 0;
        for (unsigned k = 1; k < count; ++k)
            most = calls[k].total > calls[most].total ? k : most;
        spans_name(s, calls[most].name, n ? NULL : "#cccccc");
        calls[most].total = -1;
    }
    if (count > SPANS_CALLS)
        spans_name(s, "others", "#7f7f7f");
}

/* The kids of the rows, in the order in which they come; returns how many, at most 64. */
static unsigned
spans_kids(const struct sqt_plot *plot, double kids[64])
{
    unsigned count = 0;
    char name[PLOT_TEXT];
    for (size_t i = 0; i < plot->rows; ++i) {
        const double kid = plot_value(plot, i, plot_column(plot, "kid"));
        unsigned k = 0;
        while (k < count && kids[k] != kid)
            ++k;
        if (k == count && count < 64 && spans_is_call(plot, i, name))
            kids[count++] = kid;
    }
    return count;
}

/* In each window of each kid the calls on top of each other; several kids stand side by side. */
static void
spans_syscalls(struct sqt_plot *plot, struct spans *s)
{
    double kids[64], last = NAN, high = 0, least, most;
    const unsigned kid_count = spans_kids(plot, kids);
    unsigned last_kid = 64;
    char name[PLOT_TEXT];
    spans_rank_calls(plot, s);
    const unsigned named = s->name_count;
    for (size_t i = 0; i < plot->rows; ++i) {
        const double time = plot_value(plot, i, plot_column(plot, "time_s"));
        const double window = plot_value(plot, i, plot_column(plot, "window_s"));
        unsigned kid = 0;
        while (kid < kid_count && kids[kid] != plot_value(plot, i, plot_column(plot, "kid")))
            ++kid;
        if (!spans_is_call(plot, i, name) || kid == kid_count || !(window > 0))
            continue;
        high = time == last && kid == last_kid ? high : 0;
        last = time;
        last_kid = kid;
        const double share = 100 * plot_value(plot, i, plot_column(plot, "total_s")) / window;
        unsigned number = 0;
        while (number < named && strcmp(s->names[number], name) != 0)
            ++number;
        const double left = time + window * kid / kid_count;
        spans_add(s, number < named ? number : named - 1, left, left + window / kid_count, high, high + share);
        high += isnan(share) ? 0 : share;
    }
    plot_extent(plot, plot_column(plot, "time_s"), &least, &most);
    fprintf(plot->set, "set xrange [0:*]\n");
}

void
plot_make_SPANS(struct sqt_plot *plot)
{
    struct spans *const s = sqt_zeroed(1, sizeof(*s));
    fputs("set style fill solid noborder\n", plot->set);
    if (plot->table == &sqt_tables[SQT_TABLE_waterfall]) {
        fputs("set style fill solid border\n", plot->set);
        spans_waterfall(plot, s);
    } else {
        plot_axis_values(plot);
        if (plot->table == &sqt_tables[SQT_TABLE_slowest])
            spans_slowest(plot, s);
        else
            spans_syscalls(plot, s);
    }
    if (s->count)
        spans_put(plot, s);
    free(s->rectangles);
    free(s);
}
