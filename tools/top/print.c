/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * print.c - what --once prints: one table for scripts, one request, or the screen as text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "frame.h"
#include "../program/pager.h"

/* What a script needs besides rows: times of day, and what cannot be known. */
static void
print_comments(struct sqt_sink *sink, const struct top *top)
{
    char text[SQT_WALL_ROOM];
    sqt_sink_comment(sink, "now", frame_wall(top, top->now, 9, text));
    if (!top->live_now)
        sqt_sink_comment(sink, "ended", "no process writes this trace; now is the time of its last record");
    if (top->begin == INT64_MAX)
        return;
    sqt_sink_comment(sink, "read_from", frame_wall(top, top->begin, 9, text));
    snprintf(text, sizeof(text), "%llu", (unsigned long long)top->begun_before);
    sqt_sink_comment(sink, "begun_before", text);
}

/* A table, with all its rows. */
static int
print_table(const struct top *top, enum top_table table, const struct sqt_sink_type *format)
{
    unsigned char columns[TOP_CELLS_MOST];
    struct sqt_sink sink = {.type = format,
                            .table = &top_tables[table],
                            .columns = columns,
                            .column_count = top_tables[table].column_count,
                            .no_comments = format == &sqt_sink_types[1],
                            .width = format == &sqt_sink_types[1] ? pager_width() : 0};
    for (unsigned i = 0; i < sink.column_count; ++i)
        columns[i] = (unsigned char)i;
    sqt_out_init(&sink.out, STDOUT_FILENO);
    print_comments(&sink, top);
    top_rows(top, table, top->request->limit, sqt_sink_row, &sink);
    sqt_sink_header(&sink);
    sqt_sink_finish(&sink);
    const int error = sink.out.error;
    sqt_sink_free(&sink);
    return error;
}

/* A write's errno, or 0; a reader that went away is no error. */
static int
print_flush(void)
{
    const int failed = fflush(stdout) != 0 || ferror(stdout);
    return !failed || errno == EPIPE ? 0 : errno ? errno : EIO;
}

static int
print_lines(const struct frame *f)
{
    for (unsigned i = 0; i < f->count; ++i)
        puts(f->lines[i]);
    return print_flush();
}

static struct frame *
print_frame_new(void)
{
    struct frame *const f = sqt_zeroed(1, sizeof(*f));
    f->width = pager_width() ? pager_width() : 80;
    return f;
}

static int
print_screen(const struct top *top)
{
    static const enum top_table tables[] = {TOP_TABLE_requests, TOP_TABLE_classes, TOP_TABLE_stages,
                                            TOP_TABLE_waits,    TOP_TABLE_loops,   TOP_TABLE_ended};
    const unsigned count = sizeof(tables) / sizeof(*tables) - (top->request->log_count ? 0 : 1);
    struct frame *const f = print_frame_new();
    frame_head(f, top);
    frame_findings(f, top);
    int error = print_lines(f);
    for (unsigned i = 0; i < count && !error; ++i) {
        printf("\n%s\n", top_tables[tables[i]].title);
        error = print_flush();
        error = error ? error : print_table(top, tables[i], &sqt_sink_types[1]);
    }
    free(f);
    return error;
}

static int
print_waterfall(const struct top *top, int *found)
{
    struct frame *const f = print_frame_new();
    frame_waterfall(f, &top->waterfall);
    const int error = print_lines(f);
    *found = top->waterfall.found;
    free(f);
    return error;
}

int
top_print(struct top *top)
{
    int found = 1, error;
    if (top->request->given[TOP_xid])
        error = print_waterfall(top, &found);
    else if (top->request->table != TOP_TABLES)
        error = print_table(top, (enum top_table)top->request->table, top->request->format);
    else
        error = print_screen(top);
    if (error)
        fprintf(stderr, "sqtrace-top: standard output: cannot write: %s\n", strerror(error));
    return error || !found ? TOP_FAILED : TOP_DONE;
}
