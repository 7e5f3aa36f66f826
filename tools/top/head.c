/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * head.c - the lines above the tables: rates, what is in flight, what is not known, and loops that are blocked.
 */
#include <string.h>

#include "base/digits.h"
#include "base/human.h"
#include "base/wall.h"
#include "frame.h"

/* A copy of the row of totals, which has no texts. */
static int
head_take_totals(void *context, const union sqt_cell *row)
{
    memcpy(context, row, TOP_CELLS(totals) * sizeof(*row));
    return 1;
}

const char *
frame_wall(const struct top *top, int64_t ns, unsigned decimals, char text[SQT_WALL_ROOM])
{
    *sqt_put_wall(text, (int64_t)sqt_stream_start_ns(top->stream) + ns, decimals) = '\0';
    return text;
}

static const char *
head_rate(int64_t milli, char text[32])
{
    if (milli == SQT_CELL_MISSING)
        return "-";
    snprintf(text, 32, "%.1f", (double)milli / 1e3);
    return text;
}

static const char *
head_percent(int64_t value, char text[32])
{
    if (value == SQT_CELL_MISSING)
        return "-";
    snprintf(text, 32, "%.1f %%", (double)value / 1e3);
    return text;
}

static void
head_rates(struct frame *f, const struct top *top, const union sqt_cell *totals)
{
    char wall[SQT_WALL_ROOM], a[32], b[32], c[32], d[32], width[SQT_HUMAN_ROOM];
    frame_add(f, FRAME_TITLE, "sqtrace-top  %s  now: the last %s", frame_wall(top, top->now, 0, wall),
              sqt_human_time(width, (double)totals[TOP_CELL(totals, now_width_ns)].number, " ", "us"));
    frame_add(f, FRAME_PLAIN, "requests a second: %s now, %s before; hit ratio: %s now, %s before",
              head_rate(totals[TOP_CELL(totals, now_per_s)].number, a),
              head_rate(totals[TOP_CELL(totals, before_per_s)].number, b),
              head_percent(totals[TOP_CELL(totals, now_hit_ratio_pct)].number, c),
              head_percent(totals[TOP_CELL(totals, before_hit_ratio_pct)].number, d));
}

/* What is in flight, and what cannot be known. */
static void
head_known(struct frame *f, const struct top *top, const union sqt_cell *totals)
{
    char wall[SQT_WALL_ROOM], flights[32], before[32], lost[32];
    frame_add(f, FRAME_PLAIN, "in flight: %s%s; lost: %s records",
              sqt_grouped((uint64_t)totals[TOP_CELL(totals, in_flight)].number, flights),
              top->where ? " that match" : "", sqt_grouped((uint64_t)totals[TOP_CELL(totals, lost)].number, lost));
    if (top->begin != INT64_MAX)
        frame_add(f, FRAME_PLAIN, "read from %s; begun before that and over since: %s",
                  frame_wall(top, top->begin, 0, wall),
                  sqt_grouped((uint64_t)totals[TOP_CELL(totals, begun_before)].number, before));
}

/* Loops that do not serve anybody now. */
static int
head_loop(void *context, const union sqt_cell *row)
{
    const char *const state = row[TOP_CELL(loops, state)].text, *const event = row[TOP_CELL(loops, last_event)].text;
    char since[SQT_HUMAN_ROOM];
    if (!state || (strcmp(state, "blocked") != 0 && strcmp(state, "silent") != 0))
        return 1;
    sqt_human_time(since, (double)row[TOP_CELL(loops, since_ns)].number, " ", "us");
    if (*state == 'b')
        frame_add(context, FRAME_ALARM, "kid %lld: the event loop is blocked for %s; the last event was %s",
                  (long long)row[TOP_CELL(loops, kid)].number, since, event ? event : "-");
    else
        frame_add(context, FRAME_ALARM, "kid %lld: process %llu has not run for %s: it is stopped, or was killed",
                  (long long)row[TOP_CELL(loops, kid)].number, (unsigned long long)row[TOP_CELL(loops, pid)].number,
                  since);
    return 1;
}

void
frame_head(struct frame *f, const struct top *top)
{
    union sqt_cell totals[TOP_CELLS(totals)];
    top_rows(top, TOP_TABLE_totals, 0, head_take_totals, totals);
    head_rates(f, top, totals);
    head_known(f, top, totals);
    if (top->live_now)
        top_rows(top, TOP_TABLE_loops, 0, head_loop, f);
    else
        frame_add(f, FRAME_ALARM, "no process writes this trace now; times count from its last record");
}
