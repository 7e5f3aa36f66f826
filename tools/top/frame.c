/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * frame.c - see frame.h.
 */
#include "frame.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/visible.h"

/* A text takes this part of a line at most. */
#define FRAME_TEXT_SHARE 3
/* The tables on the screen that shows the beginning of each; the last one only with an access.log. */
static const enum top_table frame_tables[] = {TOP_TABLE_requests, TOP_TABLE_classes, TOP_TABLE_stages,
                                              TOP_TABLE_waits,    TOP_TABLE_loops,   TOP_TABLE_ended};
#define FRAME_TABLES (sizeof(frame_tables) / sizeof(*frame_tables))

static const char *const frame_help[] = {
    "0        the beginning of each table",
    "1 ... 8  one table: requests in flight, classes, stages, waits, loops, totals, findings,",
    "         the slowest requests that ended",
    "up down  choose a request in flight; PgUp, PgDn, Home and End go further",
    "Enter    show where the time of that request went",
    "s        order the requests in flight by another column",
    "/        show only requests that match, as in: server_wait_ns > 1s",
    "         An empty line shows all. Ctrl-U clears the line, Ctrl-W a word, Esc leaves it.",
    "p space  pause, and go on",
    "h ?      this page",
    "q        quit",
};

void
frame_add(struct frame *f, enum frame_look look, const char *format, ...)
{
    char line[FRAME_LINE];
    va_list arguments;
    if (f->count == FRAME_LINES_MOST || (f->height && f->count == f->height))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    sqt_visible_text(f->lines[f->count], FRAME_LINE, line);
    f->looks[f->count++] = (unsigned char)look;
}

/* ---- tables ---- */

/* Lines of text that end with a line feed; the first ones are passed over. */
static void
frame_add_lines(struct frame *f, const char *text, size_t size, unsigned skip, unsigned rows, long selected)
{
    const char *const end = text + size;
    for (unsigned line = 0; text < end && line <= skip + rows; ++line) {
        const char *const stop = memchr(text, '\n', (size_t)(end - text));
        const int length = (int)((stop ? stop : end) - text);
        if (!line || line > skip)
            frame_add(f,
                      !line                        ? FRAME_COLUMNS
                      : (long)line - 1 == selected ? FRAME_SELECTED
                                                   : FRAME_PLAIN,
                      "%.*s", length, text);
        text += length + 1;
    }
}

/* A long text leaves room for the other columns: its end says more than its begin. */
static int
frame_row(void *context, const union sqt_cell *row)
{
    struct sqt_sink *const sink = context;
    const struct sqt_table *const table = sink->table;
    const size_t most = sink->width / FRAME_TEXT_SHARE;
    union sqt_cell cells[TOP_CELLS_MOST];
    char texts[TOP_CELLS_MOST][TOP_NAME];
    for (unsigned i = 0; i < table->column_count; ++i) {
        const char *const text = table->columns[i].type == SQT_TYPE_TEXT ? row[i].text : NULL;
        const size_t length = text ? strlen(text) : 0;
        cells[i] = row[i];
        if (most < 4 || length <= most || length >= TOP_NAME)
            continue;
        snprintf(texts[i], sizeof(texts[i]), "...%s", text + length - most + 3);
        cells[i].text = texts[i];
    }
    return sqt_sink_row(sink, cells);
}

/* A table's rows from `skip` on, with its columns above them. */
static void
frame_add_rows(struct frame *f, const struct top *top, enum top_table table, unsigned skip, unsigned rows,
               long selected)
{
    unsigned char columns[TOP_CELLS_MOST];
    struct sqt_sink sink = {.type = &sqt_sink_types[1],
                            .table = &top_tables[table],
                            .columns = columns,
                            .column_count = top_tables[table].column_count,
                            .no_comments = 1,
                            .width = f->width};
    for (unsigned i = 0; i < sink.column_count; ++i)
        columns[i] = (unsigned char)i;
    if (skip + rows > FRAME_ROWS_MOST)
        rows = FRAME_ROWS_MOST - skip;
    sqt_out_init(&sink.out, -1); /* its buffer has room for all */
    top_rows(top, table, skip + rows, frame_row, &sink);
    sqt_sink_header(&sink);
    sink.type->finish(&sink);
    frame_add_lines(f, sink.out.buffer, sink.out.used, skip, rows, selected);
    sqt_sink_free(&sink);
}

static int
frame_count_row(void *context, const union sqt_cell *row)
{
    (void)row;
    ++*(unsigned *)context;
    return 1;
}

static unsigned
frame_rows_of(const struct top *top, enum top_table table)
{
    unsigned count = 0;
    top_rows(top, table, FRAME_ROWS_MOST, frame_count_row, &count);
    return count;
}

static unsigned
frame_tables_of(const struct top *top)
{
    return FRAME_TABLES - (top->request->log_count ? 0 : 1);
}

static unsigned
frame_room(const struct frame *f)
{
    return f->height > f->count ? f->height - f->count : 0;
}

/* The first row that is shown, so that the one that is selected is. */
static unsigned
frame_skip(long selected, unsigned rows)
{
    return selected >= 0 && rows && (unsigned long)selected >= rows ? (unsigned)selected - rows + 1 : 0;
}

static void
frame_add_table(struct frame *f, const struct top *top, enum top_table table, unsigned rows, long selected)
{
    if (table != TOP_TABLE_requests)
        selected = -1;
    const unsigned has = frame_rows_of(top, table);
    if (has > rows)
        frame_add(f, FRAME_TITLE, "%s: %u of %u; %u shows more", top_tables[table].title, rows, has,
                  (unsigned)table + 1);
    else
        frame_add(f, FRAME_TITLE, "%s", top_tables[table].title);
    frame_add_rows(f, top, table, frame_skip(selected, rows), rows, selected);
}

/* Shares the lines that are left: each table gets a row, and in turn one more as long as it has more.  The requests in
 * flight get two in turn. */
static void
frame_share(const struct frame *f, const struct top *top, unsigned rows[FRAME_TABLES])
{
    unsigned has[FRAME_TABLES], left = frame_room(f), given = 1;
    const unsigned tables = frame_tables_of(top);
    for (unsigned i = 0; i < tables; ++i) {
        has[i] = frame_rows_of(top, frame_tables[i]);
        rows[i] = has[i] ? 1 : 0;
        left -= left < rows[i] + 2 ? left : rows[i] + 2;
    }
    while (left && given) {
        given = 0;
        for (unsigned turn = 0; turn <= tables && left; ++turn) {
            const unsigned i = turn ? turn - 1 : 0;
            if (rows[i] < has[i]) {
                ++rows[i];
                --left;
                ++given;
            }
        }
    }
}

static void
frame_add_all(struct frame *f, const struct top *top, long selected)
{
    unsigned rows[FRAME_TABLES];
    frame_share(f, top, rows);
    for (unsigned i = 0; i < frame_tables_of(top); ++i)
        frame_add_table(f, top, frame_tables[i], rows[i], selected);
}

/* ---- one request ---- */

/* Turns of stages that are shown one by one; of more, so many of the longest. */
#define FRAME_TURNS 20

static int
frame_compare_sums(const void *a, const void *b)
{
    const struct top_sum *const x = a, *const y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : x->stage < y->stage ? -1 : x->stage > y->stage;
}

static int
frame_compare_ns(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Of a request with many turns: how long each stage took in all. */
static void
frame_sums(struct frame *f, const struct top_waterfall *w)
{
    struct top_sum sums[SQT_STAGES + 1];
    char took[SQT_HUMAN_ROOM];
    memcpy(sums, w->sums, sizeof(sums));
    qsort(sums, SQT_STAGES + 1, sizeof(*sums), frame_compare_sums);
    frame_add(f, FRAME_COLUMNS, "%-14s  %12s  %12s", "stage", "times", "in all");
    for (unsigned i = 0; i <= SQT_STAGES && sums[i].turns; ++i)
        frame_add(f, FRAME_PLAIN, "%-14s  %12u  %12s",
                  sums[i].stage < SQT_STAGES ? sqt_stages[sums[i].stage].name : "-", sums[i].turns,
                  sqt_human_time(took, (double)sums[i].ns, " ", "us"));
    frame_add(f, FRAME_PLAIN, "%s", "");
    frame_add(f, FRAME_PLAIN, "the %u longest of %s%u turns", FRAME_TURNS, w->cut ? "the first " : "", w->turns);
}

/* The least duration of a turn that is shown, ns; ties: how many of those that take just so long. */
static int64_t
frame_least(const struct top_waterfall *w, unsigned *ties)
{
    *ties = FRAME_TURNS;
    int64_t ns[TOP_TILES];
    if (w->count <= FRAME_TURNS)
        return INT64_MIN;
    for (unsigned i = 0; i < w->count; ++i)
        ns[i] = top_tile_ns(&w->tiles[i]);
    qsort(ns, w->count, sizeof(*ns), frame_compare_ns);
    while (*ties > 0 && ns[FRAME_TURNS - *ties] != ns[FRAME_TURNS - 1])
        --*ties;
    return ns[FRAME_TURNS - 1];
}

void
frame_waterfall(struct frame *f, const struct top_waterfall *w)
{
    enum { TEXT = 48 };
    const unsigned bar = f->width > TEXT + 20 ? f->width - TEXT : 20;
    const double whole = w->end > w->begin ? (double)(w->end - w->begin) : 1;
    if (!w->found) {
        frame_add(f, FRAME_PLAIN, "request %llu is not in flight, and did not end in what was read",
                  (unsigned long long)w->xid);
        return;
    }
    char from[SQT_HUMAN_ROOM], took[SQT_HUMAN_ROOM], picture[FRAME_LINE];
    frame_add(f, FRAME_TITLE, "%s", w->head);
    if (*w->line)
        frame_add(f, FRAME_PLAIN, "%s", w->line);
    if (w->count > FRAME_TURNS)
        frame_sums(f, w);
    unsigned ties;
    const int64_t least = frame_least(w, &ties);
    frame_add(f, FRAME_COLUMNS, "%-14s  %12s  %12s", "stage", "from", "for");
    for (unsigned i = 0; i < w->count; ++i) {
        const struct sqt_tile *const t = &w->tiles[i];
        if (top_tile_ns(t) < least || (top_tile_ns(t) == least && ties == 0))
            continue;
        ties -= top_tile_ns(t) == least;
        const unsigned begin = (unsigned)((double)(t->from - w->begin) / whole * (bar - 1));
        const unsigned end = (unsigned)((double)(t->until - w->begin) / whole * (bar - 1));
        unsigned at = 0;
        for (; at < begin && at + 2 < sizeof(picture); ++at)
            picture[at] = ' ';
        for (; at <= end && at + 2 < sizeof(picture); ++at)
            picture[at] = '#';
        picture[at] = '\0';
        frame_add(f, FRAME_PLAIN, "%-14s  %12s  %12s  %s", t->stage < SQT_STAGES ? sqt_stages[t->stage].name : "-",
                  sqt_human_time(from, (double)(t->from - w->begin), " ", "us"),
                  sqt_human_time(took, (double)top_tile_ns(t), " ", "us"), picture);
    }
    frame_add(f, FRAME_PLAIN, "%-14s  %12s  %12s", "all", "",
              sqt_human_time(took, (double)(w->end - w->begin), " ", "us"));
}

/* ---- all of it ---- */

void
frame_make(struct frame *f, const struct top *top, enum frame_view view, long selected)
{
    f->count = 0;
    frame_head(f, top);
    if (view != FRAME_OF_TABLE + TOP_TABLE_findings && view != FRAME_HELP)
        frame_findings(f, top);
    if (view == FRAME_ALL)
        frame_add_all(f, top, selected);
    else if (view == FRAME_WATERFALL)
        frame_waterfall(f, &top->waterfall);
    else if (view == FRAME_HELP)
        for (unsigned i = 0; i < sizeof(frame_help) / sizeof(*frame_help); ++i)
            frame_add(f, FRAME_PLAIN, "%s", frame_help[i]);
    else if (view == FRAME_OF_TABLE + TOP_TABLE_findings)
        frame_all_findings(f, top);
    else
        frame_add_table(f, top, (enum top_table)(view - FRAME_OF_TABLE), frame_room(f) > 2 ? frame_room(f) - 2 : 0,
                        selected);
}
