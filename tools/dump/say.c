/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * say.c - what sqtrace-dump says besides rows: on the standard error, and in comment lines.
 */
#include <string.h>
#include <unistd.h>

#include "run.h"

#ifndef SQT_PLOTS
#define SQT_PLOTS "tools/plots"
#endif

/* ---- what is said on the standard error ---- */

void
dump_report(void *context, enum sqt_severity severity, const char *text)
{
    static const char *const words[] = {[SQT_NOTE] = "", [SQT_WARNING] = "warning: ", [SQT_ERROR] = ""};
    struct dump *const d = context;
    if (severity == SQT_ERROR && !*d->told)
        snprintf(d->told, sizeof(d->told), "%s", text);
    if (d->quiet && severity != SQT_ERROR)
        return;
    program_clear(&d->voice);
    fprintf(stderr, "sqtrace-dump: %s%s\n", words[severity], text);
}

/* Shows how far it is, at most twice a second, when that takes longer than a second and somebody looks.  What reading on behind
 * --until may cost is said before. */
void
dump_show_progress(struct dump *d)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double since_begin = (double)(now.tv_sec - d->began.tv_sec) + (double)(now.tv_nsec - d->began.tv_nsec) / 1e9;
    const double since_shown = (double)(now.tv_sec - d->shown.tv_sec) + (double)(now.tv_nsec - d->shown.tv_nsec) / 1e9;
    const uint64_t records = sqt_pass_records(d->pass);
    const int reads_on = sqt_pass_reads_on(d->pass);
    const int dear = reads_on && program_window_is_dear(&d->window, records, since_begin);
    const int first = dear && !d->priced;
    if (!first && (since_begin < 1 || since_shown < 0.5))
        return;
    char text[512];
    d->shown = now;
    d->priced |= dear;
    d->voice.progress = 1;
    if (d->window.cost.all)
        program_window_progress(&d->window, records, since_begin, reads_on, text, sizeof(text));
    else /* a log */
        snprintf(text, sizeof(text), "%.1f M lines", (double)records / 1e6);
    fprintf(stderr, "\r%s\033[K", text);
}

/* What to do next, for a person at a terminal. */
void
dump_hint(const struct dump *d)
{
    const struct dump_request *const r = d->request;
    if (d->account.ring_full)
        fputs("sqtrace-dump: give sqtrace_log a larger ring= to lose fewer records\n", stderr);
    if (!d->sink.rows && r->where)
        fputs("sqtrace-dump: no row matches --where; --list explains the columns\n", stderr);
    else if (!d->sink.rows && !r->trace_count)
        fputs("sqtrace-dump: the log has no requests\n", stderr);
    else if (!d->sink.rows && !sqt_pass_records(d->pass))
        fputs("sqtrace-dump: the trace holds no records yet\n", stderr);
    else if (!d->sink.rows && r->table == &sqt_tables[SQT_TABLE_requests])
        fputs("sqtrace-dump: the trace has no transaction; --table=events shows its records\n", stderr);
    if (r->table->figure && d->sink.rows && isatty(d->sink.out.fd))
        fprintf(stderr, "sqtrace-dump: to draw it: sqtrace-dump --figure=%s ... | gnuplot -c %s/%s.gp %s.png\n",
                r->table->name, SQT_PLOTS, r->table->name, r->table->name);
}

void
dump_take_loss(struct dump *d, const struct sqt_loss_row *loss)
{
    const char *const text = account_loss(&d->account, loss);
    if (text && !d->quiet) {
        program_clear(&d->voice);
        fprintf(stderr, "sqtrace-dump: lost %s\n", text);
    }
}

void
dump_take_bound(struct dump *d, const struct sqt_bound_row *bound)
{
    dump_report(d, SQT_WARNING, account_bound(&d->account, bound));
}

void
dump_take_step(struct dump *d, const struct sqt_step_row *step)
{
    const char *const text = account_step(&d->account, step);
    if (text && !d->quiet) {
        program_clear(&d->voice);
        fprintf(stderr, "sqtrace-dump: a clock stepped: %s\n", text);
    }
}

/* Kids that are named, at most. */
#define TOLD_KIDS 32

/* Puts a kid among those that are there, in their order. */
static unsigned
say_insert_kid(uint32_t *kids, unsigned count, uint32_t kid)
{
    unsigned at = 0;
    while (at < count && kids[at] < kid)
        ++at;
    if (count == TOLD_KIDS || (at < count && kids[at] == kid))
        return count;
    memmove(&kids[at + 1], &kids[at], (count - at) * sizeof(*kids));
    kids[at] = kid;
    return count + 1;
}

int
dump_misses_kid(struct dump *d, const struct sqt_stream *stream)
{
    const int64_t kid = d->request->kid;
    uint32_t kids[TOLD_KIDS];
    unsigned count = 0;
    for (size_t i = 0; i < sqt_stream_origins(stream) && kid >= 0; ++i) {
        const uint32_t one = sqt_stream_origin(stream, i)->identity.kid;
        if (one == kid)
            return 0;
        if (one != UINT32_MAX) /* a log that names no kid */
            count = say_insert_kid(kids, count, one);
    }
    if (kid < 0)
        return 0;
    program_clear(&d->voice);
    fprintf(stderr, "sqtrace-dump: --kid: no kid %lld wrote this trace; there are:", (long long)kid);
    for (unsigned i = 0; i < count; ++i)
        fprintf(stderr, "%s %u", i ? "," : "", kids[i]);
    fputs(count == TOLD_KIDS ? " and more\n" : count ? "\n" : " none\n", stderr);
    return 1;
}

/* ---- comments ---- */

void
dump_head_comments(struct dump *d, const struct sqt_stream *stream)
{
    const struct dump_request *const r = d->request;
    account_head(&d->sink, r->trace_count ? r->traces : r->logs, r->trace_count ? r->trace_count : r->log_count,
                 stream);
    if (r->given[DUMP_where])
        sqt_sink_comment(&d->sink, "where", r->given[DUMP_where]);
}

/* What of the trace was read, unless it was all. */
static void
dump_window_comments(struct dump *d)
{
    char text[512];
    if (program_window_text(&d->window, sqt_pass_records(d->pass), text, sizeof(text)))
        sqt_sink_comment(&d->sink, "window", text);
    if (program_window_missing(&d->window, text, sizeof(text)))
        sqt_sink_comment(&d->sink, "lookback", text);
}

void
dump_tail_comments(struct dump *d, const struct sqt_stream *stream)
{
    account_finish(&d->account);
    if (*d->account.more && !d->quiet)
        fprintf(stderr, "sqtrace-dump: lost %s\n", d->account.more);
    if (d->cut)
        sqt_sink_comment(&d->sink, "limit", "reading stopped when there were enough rows");
    dump_window_comments(d);
    if (sqt_stream_is_log(stream)) {
        account_log_tail(&d->sink, sqt_stream_log(stream), sqt_pass_last_ns(d->pass));
        return;
    }
    account_tail(&d->sink, &d->account, program_window_length(&d->window, stream, sqt_pass_last_ns(d->pass)),
                 sqt_pass_records(d->pass));
    if (sqt_stream_log(stream))
        account_joined(&d->sink, stream);
}
