/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * window.c - see window.h.
 */
#include "window.h"

#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/human.h"

/* Records that are read before a window, of all processes together: they take a fifth of a second, and are those of a minute
 * of a busy proxy. */
#define WINDOW_LOOKBACK UINT64_C(2000000)
#define WINDOW_SECOND INT64_C(1000000000)

int
program_window_take(const struct options *o, unsigned option, struct program_window *w)
{
    const char *const text = o->given[option];
    w->window.lookback = WINDOW_LOOKBACK;
    if (!text)
        return 0;
    w->window.lookback = 0;
    w->window.lookback_ns = INT64_MAX;
    return strcmp(text, "all") == 0
               ? 0
               : options_number(o, option, SQT_UNITS_TIME, WINDOW_SECOND, 0, &w->window.lookback_ns);
}

void
program_window_hour(struct program_window *w)
{
    if (w->window.lookback)
        w->window.lookback_ns = 3600 * WINDOW_SECOND;
}

void
program_window_begin(struct program_window *w, struct sqt_stream *stream, int64_t since, int64_t until,
                     enum program_window_need need)
{
    const int all = w->window.lookback_ns == INT64_MAX;
    if ((since <= 0 && until == INT64_MAX) || all || need == PROGRAM_WINDOW_WHOLE || sqt_stream_is_log(stream)) {
        sqt_stream_cost(stream, &w->cost);
        return;
    }
    w->used = 1;
    w->window.since = since;
    w->window.until = until;
    if (need == PROGRAM_WINDOW_RECORDS) {
        w->window.lookback = 0;
        w->window.lookback_ns = 0;
    }
    sqt_stream_window(stream, &w->window, &w->cost);
}

int64_t
program_window_length(const struct program_window *w, const struct sqt_stream *stream, int64_t read)
{
    struct sqt_extent extent;
    if (!w->used)
        return read;
    sqt_stream_extent(stream, &extent);
    return extent.last_ns > read ? extent.last_ns : read;
}

int
program_window_text(const struct program_window *w, uint64_t records, char *text, size_t size)
{
    char read[32], all[32];
    if (!w->used || records >= w->cost.all)
        return 0;
    snprintf(text, size, "%s of %s records were read; records, losses and damage are of those",
             sqt_grouped(records, read), sqt_grouped(w->cost.all, all));
    return 1;
}

int
program_window_missing(const struct program_window *w, char *text, size_t size)
{
    if (!w->used || !w->cost.cut || !(w->window.lookback || w->window.lookback_ns))
        return 0;
    snprintf(text, size,
             "reading began at %.3f s: cells may miss what began earlier and was still open: a connection's port, "
             "first wait "
             "and server, a leader's stages, a swap's blocks; --lookback=all reads everything",
             (double)w->cost.from / 1e9);
    return 1;
}

/* Records up to the end of the trace, at most. */
static uint64_t
window_records_left(const struct program_window *w, uint64_t records)
{
    const uint64_t most = w->cost.records + w->cost.behind;
    return records < most ? most - records : 0;
}

int
program_window_is_dear(const struct program_window *w, uint64_t records, double seconds)
{
    return records && seconds * (double)window_records_left(w, records) / (double)records > 1;
}

/* The price of what is not over at --until. */
static const char *
window_reads_on(const struct program_window *w, uint64_t records, double seconds, char *text, size_t size)
{
    char done[SQT_HUMAN_ROOM], most[SQT_HUMAN_ROOM];
    const double a_record = w->cost.all ? (double)w->cost.all_bytes / (double)w->cost.all : 0;
    const uint64_t behind = records > w->cost.records ? records - w->cost.records : 0;
    snprintf(text, size, "reading on for what --until leaves open: %s of up to %s, %.0f s left",
             sqt_human_bytes(done, a_record * (double)behind), sqt_human_bytes(most, a_record * (double)w->cost.behind),
             records ? seconds * (double)window_records_left(w, records) / (double)records : 0);
    return text;
}

const char *
program_window_progress(const struct program_window *w, uint64_t records, double seconds, int reads_on, char *text,
                        size_t size)
{
    if (reads_on)
        return window_reads_on(w, records, seconds, text, size);
    char done[SQT_HUMAN_ROOM], all[SQT_HUMAN_ROOM], left[SQT_HUMAN_ROOM] = "";
    const double part = w->cost.records && records < w->cost.records ? (double)records / (double)w->cost.records : 1;
    const double bytes = (double)w->cost.bytes;
    if (part > 0 && part < 1)
        snprintf(left, sizeof(left), ", %.0f s left", seconds * (1 - part) / part);
    snprintf(text, size, "reading %s of %s (%.0f %%%s); %s", sqt_human_bytes(done, bytes * part),
             sqt_human_bytes(all, bytes), 100 * part, left,
             w->used ? "a shorter time takes less" : "--since=-10min reads only the end");
    return text;
}
