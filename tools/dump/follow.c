/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follow.c - --follow: rows as they end, until a signal comes.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "read/follow.h"
#include "run.h"

/* Milliseconds between two looks at the rings. */
#define FOLLOW_LOOK_MS 100

static volatile sig_atomic_t follow_stop;

/* ---- the command line ---- */

/* Options that need all rows before the first is printed, or the end of the trace. */
static const enum dump_option follow_senseless[] = {DUMP_figure, DUMP_sort,    DUMP_group_by, DUMP_histogram,
                                                    DUMP_until,  DUMP_fail_if, DUMP_from};

int
dump_rows_end(const struct sqt_table *table)
{
    return !table->figure && !sqt_family_of(table)->finish;
}

/* The tables that can be followed. */
static const char *
follow_tables(char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (unsigned i = 0; i < SQT_TABLES && used < size; ++i)
        if (dump_rows_end(&sqt_tables[i]) || i == SQT_TABLE_findings)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", sqt_tables[i].name);
    return text;
}

int
dump_take_follow(const struct dump_request *r, const struct options *o)
{
    char tables[512];
    if (!r->given[DUMP_follow])
        return 0;
    for (unsigned i = 0; i < sizeof(follow_senseless) / sizeof(*follow_senseless); ++i)
        if (r->given[follow_senseless[i]])
            return options_fail(o, "--%s does not go with --follow", dump_option_infos[follow_senseless[i]].name);
    if (!r->format->follows)
        return options_fail(o, "--format=%s does not go with --follow", r->format->name);
    if (r->family->finish && !dump_live_wanted(r))
        return options_fail(o,
                            "--follow: the rows of %s are made of the whole trace; these tables have rows that end: %s",
                            r->table->name, follow_tables(tables, sizeof(tables)));
    for (size_t i = 0; i < r->trace_count; ++i)
        if (strcmp(r->traces[i], "-") == 0)
            return options_fail(o, "--follow: the standard input cannot be followed; name a trace directory or a ring");
    return 0;
}

/* ---- reading ---- */

static void
follow_signal(int number)
{
    (void)number;
    follow_stop = 1;
}

void
dump_follow_end(void)
{
    follow_stop = 1;
}

static void
follow_ended(void *context, const struct sqt_origin *origin)
{
    sqt_pass_end_origin(((struct dump *)context)->pass, origin);
    dump_live_end_origin(context, origin);
}

static void
follow_forgotten(void *context, const struct sqt_origin *origin)
{
    struct dump *const d = context;
    sqt_pass_forget_origin(d->pass, origin);
    dump_live_forget_origin(d, origin);
    sqt_identities_forget(&d->identities, origin);
}

int
dump_follow_begin(struct dump *d, struct sqt_stream *stream)
{
    const struct sqt_following following = {.context = d, .ended = follow_ended, .forgotten = follow_forgotten};
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = follow_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return sqt_stream_follow(stream, &following);
}

/* Says when the last process that wrote the trace is gone, and when another one is there. */
static void
follow_watch(struct dump *d, const struct sqt_stream *stream)
{
    const int lives = sqt_stream_now(stream) != INT64_MIN;
    if (lives && d->gone && !d->quiet)
        fputs("sqtrace-dump: a process writes the trace again\n", stderr);
    if (!lives && d->lived && !d->quiet)
        fprintf(stderr, "sqtrace-dump: no process %s; the next one will be followed\n",
                sqt_stream_fell_silent(stream) ? "has written the trace for a minute" : "writes the trace any more");
    d->gone = !lives && (d->gone || d->lived);
    d->lived = lives;
}

/* Reads what is there now. */
static void
follow_drain(struct dump *d, struct sqt_stream *stream)
{
    struct sqt_run run;
    while (!sqt_pass_done(d->pass) && sqt_stream_next(stream, &run))
        sqt_pass_run(d->pass, &run);
    dump_live_look(d, stream);
    sqt_sink_header(&d->sink);
    sqt_out_flush(&d->sink.out);
}

void
dump_follow(struct dump *d, struct sqt_stream *stream)
{
    for (;;) {
        follow_drain(d, stream);
        follow_watch(d, stream);
        if (follow_stop || sqt_pass_done(d->pass) || d->sink.out.error || d->sink.out.gone)
            break;
        sqt_stream_wait(stream, FOLLOW_LOOK_MS);
    }
    if (sqt_pass_done(d->pass))
        return;
    sqt_stream_unfollow(stream);
    follow_drain(d, stream);
}
