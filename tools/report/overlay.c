/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * overlay.c - a script for a figure of several traces: a panel for each of its curves, and in each panel a line
 * for each trace.  What is common to all such figures is in tools/plots/overlay.gp.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report.h"

/* What a curve's column that is drawn ends with, the best first, and its unit, which the figure's y axis has in brackets. */
static const struct overlay_ending {
    const char *text, *unit;
} endings[] = {{"_p50_ms", "(ms)"}, {"_per_s", "(1/s)"}, {"_p50", ""}, {"_ms", "(ms)"}, {"_pct", "(%)"}};
#define ENDINGS (sizeof(endings) / sizeof(*endings))
#define CURVES_MOST 24

/* How much of the column's name is its curve's, if it ends so; else 0. */
static size_t
stem(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0 ? length - end : 0;
}

/* Whether the column says something in any of the traces. */
static int
is_seen(const struct report *r, size_t figure, unsigned column)
{
    for (size_t t = 0; t < r->trace_count; ++t)
        if (column < sizeof(r->traces[t].series->seen) && r->traces[t].series[figure].seen[column])
            return 1;
    return 0;
}

/* Whether columns with that ending are what the y axis says.  Of shares and of times side by side the times are drawn. */
static int
overlay_fits(const struct overlay_ending *ending, const char *y)
{
    return strstr(y, ending->unit) != NULL || (strcmp(ending->text, "_ms") == 0 && strstr(y, "(%)"));
}

/* The columns to draw, one for each curve: those of the first ending that fits the y axis and that any column has, else of
 * the first one that any has.  Returns how many. */
static unsigned
overlay_choose(const struct report *r, size_t figure, unsigned x, unsigned chosen[CURVES_MOST],
               const struct overlay_ending **ending)
{
    const struct sqt_table *const t = r->figures[figure];
    const char *const y = t->y ? t->y : "";
    unsigned count = 0;
    for (unsigned e = 0; e < 2 * ENDINGS && !count; ++e)
        for (unsigned i = x + 1; i < t->column_count && count < CURVES_MOST; ++i) {
            const struct overlay_ending *const one = &endings[e % ENDINGS];
            if (stem(t->columns[i].name, one->text) && is_seen(r, figure, i) &&
                (e >= ENDINGS || overlay_fits(one, y))) {
                *ending = one;
                chosen[count++] = i;
            }
        }
    return count;
}

/* What the y axis says of columns with that ending. */
static const char *
overlay_axis(const struct overlay_ending *ending, const char *y)
{
    if (strstr(y, ending->unit))
        return y;
    return strcmp(ending->unit, "(ms)") != 0 ? "" : strstr(y, "(%)") ? "median (ms)" : "time (ms)";
}

/* The word for a curve: its column's name without unit, as words. */
static void
put_name(FILE *out, const char *name, size_t length)
{
    if (length == 3 && memcmp(name + 1, "hr", 2) == 0) { /* document hit ratio, byte hit ratio */
        fputs(*name == 'd' ? "'of requests' " : "'of bytes' ", out);
        return;
    }
    putc('\'', out);
    for (size_t i = 0; i < length; ++i)
        putc(name[i] == '_' ? ' ' : name[i], out);
    fputs("' ", out);
}

static void
put_string(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%s = \"", name);
    for (; *text; ++text) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    fputs("\"\n", out);
}

/* Whether a time has several rows: one for each kid, or for each cache_dir, kind, or class of calls, which a text names. */
static int
has_rows_of_several(const struct sqt_table *t)
{
    unsigned i = 0;
    while (i < t->column_count && t->columns[i].type != SQT_TYPE_TEXT && strcmp(t->columns[i].name, "kid") != 0)
        ++i;
    return i < t->column_count;
}

int
report_overlay(struct report *r, size_t figure, struct picture *picture)
{
    const struct sqt_table *const t = r->figures[figure];
    const unsigned x = t->column_count > 1 && strcmp(t->columns[0].name, "from_bytes") == 0;
    const enum sqt_type type = t->columns[x].type;
    unsigned chosen[CURVES_MOST];
    const struct overlay_ending *ending = endings;
    const unsigned count = overlay_choose(r, figure, x, chosen, &ending);
    /* A row of another kind is one thing of one trace, as a block is: those stand side by side. */
    if (!count || has_rows_of_several(t) || (type != SQT_TYPE_TIME && type != SQT_TYPE_BYTES && type != SQT_TYPE_MS))
        return 0;
    snprintf(picture->file, sizeof(picture->file), "%s.overlay", t->name);
    snprintf(picture->script, sizeof(picture->script), "%s.overlay", t->name);
    char *const path = folder_path(r, "figures/%s.gp", picture->script);
    FILE *const out = sqt_fopen(path, "w");
    if (!out) {
        report_fail(r, "%s: cannot write: %s", path, strerror(errno));
        free(path);
        return -1;
    }
    fprintf(out, "# Made by sqtrace-report: %s of several traces.\n#\n#   gnuplot -c %s.gp %s.svg\n\n", t->name,
            picture->script, picture->file);
    fprintf(out, "NAME = \"%s\"\nOUTPUT = ARG1\n", t->name);
    put_string(out, "TITLE", figure_title(t));
    put_string(out, "XLABEL", t->x ? t->x : "");
    put_string(out, "YLABEL", overlay_axis(ending, t->y ? t->y : ""));
    fprintf(out, "X = \"%s\"\nXLOG = %d\nLABELS = \"", t->columns[x].name, type != SQT_TYPE_TIME);
    for (size_t i = 0; i < r->trace_count; ++i)
        if (r->traces[i].series[figure].sink.rows)
            fprintf(out, "%s ", r->traces[i].label);
    fputs("\"\nPLACES = \"", out);
    for (size_t i = 0; i < r->trace_count; ++i)
        if (r->traces[i].series[figure].sink.rows)
            fprintf(out, "%zu ", i + 1);
    fputs("\"\nCOLUMNS = \"", out);
    for (unsigned i = 0; i < count; ++i)
        fprintf(out, "%s%s", i ? " " : "", t->columns[chosen[i]].name);
    fputs("\"\nCURVES = \"", out);
    for (unsigned i = 0; i < count; ++i)
        put_name(out, t->columns[chosen[i]].name, stem(t->columns[chosen[i]].name, ending->text));
    fputs("\"\n\nload \"overlay.gp\"\n", out);
    const int bad = ferror(out), failed = fclose(out) != 0 || bad;
    if (failed)
        report_fail(r, "%s: cannot write: %s", path, strerror(errno));
    free(path);
    picture->wanted = 1;
    return failed ? -1 : 0;
}
