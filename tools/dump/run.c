/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run.c - from traces to rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/human.h"
#include "base/memory.h"
#include "base/open.h"
#include "figure/table/syscalls.h"
#include "read/follow.h"
#include "read/strace.h"
#include "../program/draft.h"
#include "run.h"

static void
note(void *context, const char *key, const char *text)
{
    const struct dump *const d = context;
    const char *const asked = d->request->given[DUMP_group];
    if (asked && !d->quiet && strcmp(key, "group") == 0 && strchr(text, ','))
        fprintf(stderr, "sqtrace-dump: warning: --group=%s: the groups are %s\n", asked, text);
    if (d->sink.type->comment)
        sqt_sink_comment(context, key, text);
    else if (!d->quiet)
        fprintf(stderr, "sqtrace-dump: warning: %s\n", text); /* the format has no comments */
}

static void
bound(void *context, const struct sqt_bound_row *row)
{
    dump_take_bound(context, row);
}

static void
dump_loss(void *context, const struct sqt_loss_row *row)
{
    dump_take_loss(context, row);
}

static void
dump_step(void *context, const struct sqt_step_row *row)
{
    dump_take_step(context, row);
}

/* The sink prints all records of a run by itself, which is several times faster than row by row. */
static void
whole_run(struct sqt_job *job, const struct sqt_run *run)
{
    job->done = !sqt_sink_events(job->context, run, job->since, job->until);
}

/* An alarm is of now: -5min counts from now in a trace that is being written.  In another one it counts from the end,
 * which may be long ago. */
static void
dump_count_from_now(struct dump *d, const struct sqt_stream *stream, struct moment_trace *trace)
{
    const int64_t now = sqt_stream_now(stream);
    char age[SQT_HUMAN_ROOM];
    struct timespec wall;
    if (!d->request->alarms)
        return;
    if (now != INT64_MIN) {
        trace->last_ns = now > trace->last_ns ? now : trace->last_ns;
        return;
    }
    if (d->request->since.form != MOMENT_BEFORE_END || trace->last_ns < 0)
        return;
    clock_gettime(CLOCK_REALTIME, &wall);
    const int64_t ago = wall.tv_sec * INT64_C(1000000000) + wall.tv_nsec - trace->start_ns - trace->last_ns;
    snprintf(d->dead, sizeof(d->dead), "no process writes this trace; its last record is %s old",
             sqt_human_time(age, ago > 0 ? (double)ago : 0, " ", "us"));
    d->dead_fails = d->request->given[DUMP_strict] != NULL;
    if (!d->quiet && !d->dead_fails && !d->request->given[DUMP_nagios])
        fprintf(stderr, "sqtrace-dump: warning: %s\n", d->dead);
}

/* What --since and --until mean in this trace. */
static int
dump_window(struct dump *d, const struct sqt_stream *stream)
{
    struct sqt_extent extent = {.last_ns = 0};
    struct moment_trace trace = {.last_ns = -1};
    char error[512];
    if (stream) {
        sqt_stream_extent(stream, &extent);
        trace.start_ns = (int64_t)sqt_stream_start_ns(stream);
        trace.last_ns = extent.records ? extent.last_ns : -1;
        dump_count_from_now(d, stream, &trace);
    }
    if (moment_window(&d->request->since, &d->request->until, &trace, &d->since, &d->until, error, sizeof(error)) ==
        0) {
        if (!d->quiet && trace.last_ns >= 0 && moment_misses(&trace, d->since, d->until, error, sizeof(error)))
            fprintf(stderr, "sqtrace-dump: warning: %s\n", error);
        return 0;
    }
    fprintf(stderr, "sqtrace-dump: %s\n", error);
    snprintf(d->told, sizeof(d->told), "%s", error);
    return -1;
}

/* Makes the directory; one that exists is not written into. */
static int
dump_open_directory(const char *name)
{
    const int fd = draft_folder(name);
    if (fd < 0)
        fprintf(stderr, "sqtrace-dump: %s: cannot make this directory: %s\n", name, strerror(errno));
    return fd;
}

static int
open_output(struct dump *d)
{
    const char *const name = d->request->given[DUMP_output];
    int fd = STDOUT_FILENO;
    if (d->request->format->directory) {
        fd = dump_open_directory(name);
        if (fd < 0)
            return -1;
    } else if (name) {
        fd = draft_file(name, d->request->given[DUMP_follow] != NULL); /* somebody may read what is followed */
        if (fd < 0) {
            fprintf(stderr, "sqtrace-dump: %s: cannot write: %s\n", name, strerror(errno));
            return -1;
        }
    } else if (d->request->format->row == sqt_aligned_row) {
        fd = pager_start(&d->pager);
        d->sink.width = pager_width();
    }
    sqt_out_init(&d->sink.out, fd);
    d->sink.name = name;
    return 0;
}

/* Whether there is nothing to draw, which it says. */
static int
dump_draws_nothing(const struct dump *d)
{
    if (!d->sink.nothing)
        return 0;
    fprintf(stderr, "sqtrace-dump: figure %s: %s\n", d->request->table->name,
            d->sink.rows ? "no group has enough values, so there is nothing to draw"
                         : "there are no rows, so there is nothing to draw");
    return 1;
}

static void
dump_begin(struct dump *d, const struct dump_request *r)
{
    d->sink.type = r->format;
    d->sink.table = r->shown;
    d->sink.sampling = &r->sampling;
    d->sink.columns = r->columns;
    d->sink.column_count = r->column_count;
    d->sink.no_header = r->given[DUMP_no_header] || r->alarms;
    d->sink.no_comments = r->given[DUMP_no_comments] || r->alarms;
    d->sink.columns_given = !r->all_columns;
    d->job = (struct sqt_job){
        .table = r->table,
        .family = r->format->family,
        .where = r->where,
        .since = d->since,
        .until = d->until,
        .group = r->group,
        .peak = r->peak,
        .batch = r->batch,
        .whatif = &r->whatif,
        .start_ns = (int64_t)d->sink.start_ns,
        .sourced = r->uses_wide || r->format->sourced,
        .row = dump_row,
        .note = note,
        .context = &d->sink,
    };
    d->job.open_now = r->alarms != NULL;
    dump_rows_begin(d);
    const int plain = !r->alarms && !r->given[DUMP_follow] && !d->order && !d->histogram && !r->limit && !r->uses_wide;
    if (plain && r->table == &sqt_tables[SQT_TABLE_events] && r->all_columns && !r->where && r->format->events)
        d->job.run = whole_run;
}

/* failed: what was written is not whole. */
static int
close_output(struct dump *d, int failed)
{
    const char *const name = d->request->given[DUMP_output];
    pager_finish(&d->pager);
    if (!d->sink.out.error && name && close(d->sink.out.fd) != 0)
        d->sink.out.error = errno;
    if (failed || d->sink.out.error)
        draft_drop();
    else if (draft_keep() != 0)
        d->sink.out.error = errno;
    if (!d->sink.out.error)
        return 0;
    fprintf(stderr, "sqtrace-dump: %s: cannot write: %s\n", name ? name : "standard output",
            strerror(d->sink.out.error));
    return -1;
}

/* A file, or a pipe that the user names, as a trace may be one; NULL with errno.  EINVAL: it is neither. */
static FILE *
open_strace(const char *name)
{
    struct stat st;
    const int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    const int known = fstat(fd, &st) == 0;
    if (known && (sqt_open_is_regular(fd, &st) || S_ISFIFO(st.st_mode))) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        while (poll(&wait, 1, -1) < 0 && errno == EINTR)
            ;
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return sqt_fdopen(fd, "r");
    }
    const int error = known ? EINVAL : errno;
    close(fd);
    errno = error;
    return NULL;
}

/* What strace or perf trace printed, in place of a trace. */
static int
read_strace(struct dump *d)
{
    const struct dump_request *const r = d->request;
    for (size_t i = 0; i < r->trace_count; ++i) {
        const int standard = strcmp(r->traces[i], "-") == 0;
        FILE *const file = standard ? stdin : open_strace(r->traces[i]);
        char error[512];
        int failed = !file;
        if (!file)
            snprintf(error, sizeof(error), "%.400s: %s", r->traces[i],
                     errno == EINVAL ? "neither a regular file nor a pipe" : strerror(errno));
        else
            failed = sqt_syscalls_of_tracer(&d->job, sqt_tracer_find(r->given[DUMP_from]), file, r->traces[i], error,
                                            sizeof(error)) != 0;
        if (file && !standard)
            fclose(file);
        if (failed) {
            fprintf(stderr, "sqtrace-dump: %s\n", error);
            return -1;
        }
    }
    return 0;
}

static int
dump_run_strace(struct dump *d)
{
    if (dump_window(d, NULL) != 0)
        return DUMP_USAGE;
    if (open_output(d) != 0)
        return DUMP_FAILED;
    dump_begin(d, d->request);
    d->maker = &d->job;
    const int unread = read_strace(d) != 0 || dump_rows_finish(d) != 0;
    if (!unread)
        sqt_sink_header(&d->sink);
    sqt_sink_finish(&d->sink);
    dump_rows_free(d);
    const int undrawn = dump_draws_nothing(d);
    const int failed = close_output(d, unread || undrawn) != 0;
    sqt_sink_free(&d->sink);
    sqt_spread_free(d->spread);
    return unread || undrawn || failed ? DUMP_FAILED : DUMP_DONE;
}

/* The column of that name; of a table that has none: all its columns. */
static unsigned
dump_column(const struct sqt_table *table, const char *name)
{
    unsigned i = 0;
    while (i < table->column_count && strcmp(table->columns[i].name, name) != 0)
        ++i;
    return i;
}

static void
dump_find_xact(const struct sqt_where *where, struct sqt_stream *stream, int64_t *since, int64_t *until)
{
    const struct sqt_table *const requests = &sqt_tables[SQT_TABLE_requests];
    int64_t kid[2], xid[2];
    sqt_where_bounds(where, dump_column(requests, "kid"), &kid[0], &kid[1]);
    sqt_where_bounds(where, dump_column(requests, "xid"), &xid[0], &xid[1]);
    if (xid[0] == xid[1] && xid[0] > 0)
        sqt_stream_find_xact(stream, kid[0] == kid[1] ? kid[0] : INT64_MIN, (uint64_t)xid[0], since, until);
}

/* The transaction that --where names, in a figure, a table that sums up, or a format with rows of its own: they are made of the
 * requests that it picks.  Losses are shown beside requests, so without any only. */
static void
dump_narrow_to_xact(const struct dump_request *r, struct sqt_stream *stream, int64_t *since, int64_t *until)
{
    const struct sqt_family *const family = r->format->family ? r->format->family : r->family;
    struct sqt_extent extent;
    sqt_stream_extent(stream, &extent);
    if (family->where[0] == SQT_TABLE_requests && !family->unpicked && extent.lost_known && !extent.lost &&
        !extent.overwritten)
        dump_find_xact(r->where, stream, since, until);
}

/* What --where says of times and kids.  Other kids' requests may be followed, so those are not left out. */
static void
dump_narrow_by_where(struct dump *d, struct sqt_stream *stream, int64_t *since, int64_t *until)
{
    const struct dump_request *const r = d->request;
    int64_t least, most;
    if (!r->where || r->format->many)
        return;
    if (r->format->family || r->table->things != SQT_THINGS) {
        dump_narrow_to_xact(r, stream, since, until);
        return;
    }
    sqt_where_bounds(r->where, dump_column(r->table, "time_s"), &least, &most);
    *since = least > *since ? least : *since;
    *until = most < *until ? most + 1 : *until;
    sqt_where_bounds(r->where, dump_column(r->table, "kid"), &least, &most);
    const int64_t kid = least == most ? least : INT64_MIN;
    if (r->kid < 0 && kid >= 0 && kid <= UINT32_MAX && r->table != &sqt_tables[SQT_TABLE_requests])
        sqt_stream_keep_kids(stream, &(uint32_t){(uint32_t)kid}, 1);
    if (r->table != &sqt_tables[SQT_TABLE_requests])
        return;
    dump_find_xact(r->where, stream, since, until);
    sqt_where_bounds(r->where, dump_column(r->table, "conn"), &least, &most);
    if (least == most && least > 0)
        sqt_stream_find_conn(stream, kid, (uint64_t)least, since, until);
}

/* Whether a row of one of the tables follows from all before it. */
static int
dump_is_chained(const struct dump_request *r)
{
    int chained = r->family && r->family->chained;
    for (unsigned i = 0; i < r->table_count; ++i)
        chained |= sqt_family_of(r->tables[i])->chained;
    return chained;
}

/* Leaves out what does not matter for what is asked for. */
static void
dump_narrow(struct dump *d, struct sqt_stream *stream)
{
    const struct dump_request *const r = d->request;
    const struct sqt_family *const family = r->format->family ? r->format->family : r->family;
    int64_t since = d->since, until = d->until;
    dump_narrow_by_where(d, stream, &since, &until);
    d->window = r->window;
    if (r->alarms && sqt_stream_now(stream) != INT64_MIN)
        program_window_hour(&d->window); /* what hangs has begun before */
    program_window_begin(&d->window, stream, since, until,
                         dump_is_chained(r)                          ? PROGRAM_WINDOW_WHOLE
                         : family && family->run && !r->format->many ? PROGRAM_WINDOW_RECORDS
                                                                     : PROGRAM_WINDOW_THINGS);
}

/* What of the stream is read, and whether it goes on.  Returns DUMP_DONE or, after a message, another status. */
static int
dump_choose(struct dump *dump, struct sqt_stream *stream)
{
    const struct dump_request *const r = dump->request;
    if (dump_window(dump, stream) != 0)
        return DUMP_USAGE;
    if (r->kid >= 0)
        sqt_stream_keep_kids(stream, &(uint32_t){(uint32_t)r->kid}, 1);
    if (r->given[DUMP_follow])
        return dump_follow_begin(dump, stream) != 0 ? DUMP_FAILED : DUMP_DONE;
    dump_narrow(dump, stream);
    return DUMP_DONE;
}

/* A trace that processes write ends at the time at which it was opened, unless it is followed: then rows end. */
static void
dump_pass_finish(struct dump *dump, const struct sqt_stream *stream, int64_t opened)
{
    const struct sqt_now now = {opened, sqt_origin_silent, sqt_origin_acl};
    sqt_pass_lasts(dump->pass, program_window_length(&dump->window, stream, sqt_pass_last_ns(dump->pass)));
    if (opened != INT64_MIN && !dump->request->given[DUMP_follow])
        sqt_pass_finish_now(dump->pass, &now);
    else
        sqt_pass_finish(dump->pass);
}

/* The traces; without any, the access.log in their place. */
static struct sqt_stream *
dump_open(struct dump *dump, const struct dump_request *r)
{
    const struct sqt_log_request log = {.files = r->logs, .count = r->log_count, .format = r->given[DUMP_log_format]};
    if (!r->trace_count)
        return sqt_stream_open_log(&log, dump_report, dump);
    struct sqt_stream *const stream = sqt_stream_open(r->traces, r->trace_count, dump_report, dump);
    if (stream && r->log_count && sqt_stream_join_log(stream, &log) != 0) {
        sqt_stream_close(stream);
        return NULL;
    }
    return stream;
}

/* Reads the traces.  Returns enum dump_status without DUMP_ALARM. */
static int
dump_read(struct dump *dump, const struct dump_request *r)
{
    struct sqt_stream *const stream = dump_open(dump, r);
    if (!stream)
        return DUMP_FAILED;
    const int64_t now = sqt_stream_now(stream); /* heads of rings are of then */
    const int followed = r->given[DUMP_follow] != NULL;
    int status = dump_choose(dump, stream);
    if (status == DUMP_DONE && open_output(dump) != 0)
        status = DUMP_FAILED;
    if (status != DUMP_DONE) {
        sqt_stream_close(stream);
        return status;
    }
    dump->sink.start_ns = sqt_stream_start_ns(stream);
    dump->crew = sqt_crew_new(sqt_processors() - 1);
    sqt_stream_share(stream, dump->crew);
    dump_begin(dump, r);
    const struct sqt_consumer also = {.context = dump, .loss = dump_loss, .bound = bound, .step = dump_step};
    struct sqt_job own[2] = {dump->job}, *jobs = own;
    size_t job_count = 1;
    dump->maker = &own[0];
    dump->identities = (struct sqt_identities){.stream = stream, .kid = r->kid};
    if (r->format->many) {
        jobs = dump_parquet_begin(dump, &job_count);
    } else if (dump_findings_begin(dump)) {
        own[1] = dump->findings.job;
        job_count = 2;
    }
    dump_live_begin(dump, &own[0], stream);
    dump->pass = sqt_pass_new(jobs, job_count, &also, dump->crew);
    if (dump->window.used) {
        sqt_pass_stop_early(dump->pass, dump->window.window.since, dump->window.window.until);
        sqt_pass_look_back(dump->pass, sqt_stream_accepted, stream, dump->window.window.since,
                           dump->window.window.until);
    }
    if (r->trace_count && r->log_count)
        sqt_pass_join(dump->pass, sqt_stream_logged, stream);
    dump_head_comments(dump, stream);
    const int watched = !dump->quiet && isatty(STDERR_FILENO) && !dump->pager.pid;
    struct sqt_run run;
    unsigned runs = 0;
    if (followed)
        dump_follow(dump, stream);
    while (!followed && !sqt_pass_done(dump->pass) && sqt_stream_next(stream, &run)) {
        sqt_pass_run(dump->pass, &run);
        if (watched && ++runs % 16 == 0)
            dump_show_progress(dump);
    }
    program_clear(&dump->voice);
    dump_pass_finish(dump, stream, now);
    const int unwritten = dump->parquet && dump_parquet_finish(dump) != 0;
    const int unsorted = dump_rows_finish(dump) != 0;
    sqt_sink_header(&dump->sink);
    dump_findings_print(dump);
    dump_tail_comments(dump, stream);
    sqt_sink_finish(&dump->sink);
    if (watched && !r->alarms)
        dump_hint(dump);
    sqt_pass_free(dump->pass);
    dump_live_free(dump);
    if (jobs != own)
        free(jobs);
    const unsigned problems = sqt_stream_problems(stream);
    const int no_kid = !followed && dump_misses_kid(dump, stream);
    sqt_stream_close(stream);
    sqt_crew_free(dump->crew);
    const int undrawn = dump_draws_nothing(dump);
    const int failed = close_output(dump, unsorted || unwritten || no_kid || undrawn) != 0;
    sqt_sink_free(&dump->sink);
    sqt_spread_free(dump->spread);
    if (failed || unsorted || unwritten || no_kid || undrawn)
        return DUMP_FAILED;
    return r->given[DUMP_strict] && (problems || dump->account.lost || dump->account.bounds) ? DUMP_DAMAGED : DUMP_DONE;
}

int
dump_run(const struct dump_request *r)
{
    struct dump d;
    memset(&d, 0, sizeof(d));
    d.request = r;
    d.quiet = r->given[DUMP_quiet] != NULL;
    clock_gettime(CLOCK_MONOTONIC, &d.began);
    const int status = r->given[DUMP_from] ? dump_run_strace(&d) : dump_read(&d, r);
    if (!r->alarms)
        return status;
    if (status == DUMP_DONE || status == DUMP_DAMAGED)
        return dump_alarms_finish(&d, status == DUMP_DAMAGED);
    if (!r->given[DUMP_nagios])
        return status;
    return dump_nagios_unknown(*d.told ? d.told : "the trace could not be read; the standard error says why");
}
