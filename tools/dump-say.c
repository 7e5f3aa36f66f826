/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump-say.c - what sqtrace-dump says besides rows: on the standard error, and in comment lines.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "dump-run.h"

#ifndef SQT_PLOTS
#define SQT_PLOTS "tools/plots"
#endif

/* Most processes that are listed. */
#define TOLD_PROCESSES 20

/* ---- what is said on the standard error ---- */

void
dump_clear_progress(struct dump *d)
{
    if (d->progress)
        fputs("\r\033[K", stderr);
    d->progress = 0;
}

void
dump_report(void *context, enum sqt_severity severity, const char *text)
{
    static const char *const words[] = {[SQT_NOTE] = "", [SQT_WARNING] = "warning: ", [SQT_ERROR] = ""};
    struct dump *const d = context;
    if (d->quiet && severity != SQT_ERROR)
        return;
    dump_clear_progress(d);
    fprintf(stderr, "sqtrace-dump: %s%s\n", words[severity], text);
}

/* Shows how far it is, at most twice a second, when that takes longer than a second and somebody looks. */
void
dump_show_progress(struct dump *d)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double since_begin = (double)(now.tv_sec - d->began.tv_sec) + (double)(now.tv_nsec - d->began.tv_nsec) / 1e9;
    const double since_shown = (double)(now.tv_sec - d->shown.tv_sec) + (double)(now.tv_nsec - d->shown.tv_nsec) / 1e9;
    if (since_begin < 1 || since_shown < 0.5)
        return;
    d->shown = now;
    d->progress = 1;
    fprintf(stderr, "\r%.1f M records, %.1f s of trace, %.1f M records/s\033[K", (double)sqt_pass_records(d->pass) / 1e6,
            (double)sqt_pass_last_ns(d->pass) / 1e9, (double)sqt_pass_records(d->pass) / since_begin / 1e6);
}

/* What to do next, for a person at a terminal. */
void
dump_hint(const struct dump *d)
{
    const struct dump_request *const r = d->request;
    if (d->ring_full)
        fputs("sqtrace-dump: a larger ring= in sqtrace_log loses less\n", stderr);
    if (!sqt_pass_records(d->pass) && r->kid >= 0)
        fprintf(stderr, "sqtrace-dump: no kid %lld has written it; without --kid each row says whose it is\n",
                (long long)r->kid);
    else if (!d->sink.rows && r->where)
        fputs("sqtrace-dump: no row is left by --where; --list shows what the columns hold\n", stderr);
    else if (!d->sink.rows && !sqt_pass_records(d->pass))
        fputs("sqtrace-dump: the trace holds no records yet\n", stderr);
    else if (!d->sink.rows && r->table == &sqt_tables[SQT_TABLE_requests])
        fputs("sqtrace-dump: no transaction is in the trace; --table=events shows what is\n", stderr);
    if (r->table->figure && d->sink.rows && isatty(d->sink.out.fd))
        fprintf(stderr, "sqtrace-dump: to draw it: sqtrace-dump --figure=%s ... | gnuplot -c %s/%s.gp %s.png\n",
                r->table->name, SQT_PLOTS, r->table->name, r->table->name);
}

/* 7002 -> "7,002" */
static const char *
grouped(uint64_t value, char buffer[32])
{
    char *p = buffer + 31;
    *p = '\0';
    for (unsigned digits = 0; value || !digits; ++digits, value /= 10) {
        if (digits && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + value % 10);
    }
    return p;
}

void
dump_take_loss(struct dump *d, int64_t from, int64_t until, uint64_t records, uint32_t reason)
{
    char number[32];
    d->lost += records;
    d->ring_full |= reason == SQT_LOSS_RING_FULL;
    if (d->losses++ >= TOLD_LOSSES)
        return;
    char *const text = d->told[d->losses - 1];
    snprintf(text, sizeof(d->told[0]), "%s records between %.2f s and %.2f s (%s)", grouped(records, number),
             (double)from / 1e9, (double)until / 1e9, sqt_loss_reason(reason));
    if (!d->quiet) {
        dump_clear_progress(d);
        fprintf(stderr, "sqtrace-dump: lost %s\n", text);
    }
}

/* ---- comments ---- */

/* Who wrote it: a line for each Squid process, or how many there were if that would be a long list. */
static void
process_comments(struct dump *d, const struct sqt_stream *stream)
{
    static const char *const kinds[] = {
        [SQT_KID_SINGLE] = "single process", [SQT_KID_WORKER] = "worker", [SQT_KID_DISKER] = "disker",
        [SQT_KID_COORDINATOR] = "coordinator"};
    const size_t count = sqt_stream_origins(stream);
    char text[160];
    for (size_t i = 0; i < count && i < TOLD_PROCESSES; ++i) {
        const struct sqt_identity *const who = &sqt_stream_origin(stream, i)->identity;
        if (!i || strcmp(who->squid_version, sqt_stream_origin(stream, i - 1)->identity.squid_version) != 0)
            sqt_sink_comment(&d->sink, "squid", who->squid_version);
        snprintf(text, sizeof(text), "kid %u, %s, pid %u", who->kid,
                 who->kid_kind < sizeof(kinds) / sizeof(*kinds) ? kinds[who->kid_kind] : "unknown kind", who->pid);
        sqt_sink_comment(&d->sink, "process", text);
    }
    if (count > TOLD_PROCESSES) {
        snprintf(text, sizeof(text), "and %zu more", count - TOLD_PROCESSES);
        sqt_sink_comment(&d->sink, "process", text);
    }
}

static void
start_comment(struct dump *d, uint64_t start)
{
    const time_t seconds = (time_t)(start / 1000000000);
    struct tm utc;
    char text[96], date[40];
    gmtime_r(&seconds, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof(text), "%s.%09uZ (%" PRIu64 ".%09u)", date, (unsigned)(start % 1000000000),
             (uint64_t)seconds, (unsigned)(start % 1000000000));
    sqt_sink_comment(&d->sink, "start", text);
}

/* What can be said before the rows; the exact account stands behind them. */
void
dump_head_comments(struct dump *d, const struct sqt_stream *stream)
{
    const struct dump_request *const r = d->request;
    struct sqt_extent extent;
    char text[96];
    if (d->sink.no_comments)
        return;
    for (size_t i = 0; i < r->trace_count; ++i)
        sqt_sink_comment(&d->sink, "trace", r->traces[i]);
    process_comments(d, stream);
    start_comment(d, sqt_stream_start_ns(stream));
    sqt_stream_extent(stream, &extent);
    snprintf(text, sizeof(text), "0 s to %.9f s", (double)extent.last_ns / 1e9);
    sqt_sink_comment(&d->sink, "range", text);
    snprintf(text, sizeof(text), "%" PRIu64 " records, %" PRIu64 "%s lost", extent.records, extent.lost,
             extent.lost_known ? "" : " or more");
    sqt_sink_comment(&d->sink, "holds", text);
    sqt_sink_comment(&d->sink, r->table->figure ? "figure" : "table", r->table->name);
    if (r->given[DUMP_where])
        sqt_sink_comment(&d->sink, "where", r->given[DUMP_where]);
}

void
dump_tail_comments(struct dump *d)
{
    char text[160], number[32];
    snprintf(text, sizeof(text), "%.9f s", (double)sqt_pass_last_ns(d->pass) / 1e9);
    sqt_sink_comment(&d->sink, "length", text);
    snprintf(text, sizeof(text), "%" PRIu64, sqt_pass_records(d->pass));
    sqt_sink_comment(&d->sink, "records", text);
    for (uint64_t i = 0; i < d->losses && i < TOLD_LOSSES; ++i)
        sqt_sink_comment(&d->sink, "lost", d->told[i]);
    if (d->losses > TOLD_LOSSES) {
        char losses[32];
        snprintf(text, sizeof(text), "%s records in %s stretches; --table=losses shows them all",
                 grouped(d->lost, number), grouped(d->losses, losses));
        sqt_sink_comment(&d->sink, "lost", text);
        if (!d->quiet)
            fprintf(stderr, "sqtrace-dump: lost %s\n", text);
    }
    if (!d->losses)
        sqt_sink_comment(&d->sink, "lost", "0");
}
