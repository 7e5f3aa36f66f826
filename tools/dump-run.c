/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump-run.c - from traces to rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "dump-run.h"

static void
note(void *context, const char *key, const char *text)
{
    sqt_sink_comment(context, key, text);
}

static void
loss(void *context, const struct sqt_loss_row *row)
{
    struct dump *const d = (struct dump *)((char *)context - offsetof(struct dump, job));
    dump_take_loss(d, row->from, row->until, row->records, row->reason);
    if (d->request->family->consumer.loss)
        d->request->family->consumer.loss(context, row);
}

/* The same where no model looks at the records. */
static void
find_losses(struct dump *d, const struct sqt_run *run)
{
    for (size_t i = 0; i < run->count; ++i)
        if (run->records[i].event == SQT_EV_LOST)
            dump_take_loss(d, sqt_line_ns(&run->line, run->records[i].id), sqt_line_ns(&run->line, run->records[i].time),
                      run->records[i].arg, run->records[i].aux);
}

static int
open_output(struct dump *d)
{
    const char *const name = d->request->given[DUMP_output];
    int fd = STDOUT_FILENO;
    if (name) {
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0) {
            fprintf(stderr, "sqtrace-dump: %s: cannot write: %s\n", name, strerror(errno));
            return -1;
        }
    }
    sqt_out_init(&d->sink.out, fd);
    return 0;
}

static void
begin(struct dump *d, const struct dump_request *r)
{
    d->sink.type = r->format;
    d->sink.table = r->table;
    d->sink.columns = r->columns;
    d->sink.column_count = r->column_count;
    d->sink.no_header = r->given[DUMP_no_header] != NULL;
    d->sink.no_comments = r->given[DUMP_no_comments] != NULL;
    d->job = (struct sqt_job){
        .table = r->table,
        .where = r->where,
        .since = r->since,
        .until = r->until,
        .group = r->group,
        .peak = r->peak,
        .row = sqt_sink_row,
        .note = note,
        .context = &d->sink,
    };
    d->consumer = r->family->consumer;
    d->consumer.context = &d->job;
    d->consumer.loss = loss;
    if (!r->family->run)
        d->model = sqt_model_new(&d->consumer);
    if (r->family->start)
        r->family->start(&d->job);
}

static void
take_run(struct dump *d, const struct sqt_run *run)
{
    const struct dump_request *const r = d->request;
    d->records += run->count;
    const int64_t last = sqt_line_ns(&run->line, run->records[run->count - 1].time);
    if (last > d->last)
        d->last = last;
    if (d->model) {
        sqt_model_run(d->model, run);
        return;
    }
    find_losses(d, run);
    if (r->all_columns && !r->where && d->sink.type->events)
        d->job.done = !sqt_sink_events(&d->sink, run, r->since, r->until);
    else
        r->family->run(&d->job, run);
}

static void
finish(struct dump *d)
{
    if (d->model && !d->job.done)
        sqt_model_finish(d->model);
    if (d->request->family->finish)
        d->request->family->finish(&d->job);
    sqt_model_free(d->model);
}

static int
close_output(struct dump *d)
{
    const char *const name = d->request->given[DUMP_output];
    if (!d->sink.out.error && name && close(d->sink.out.fd) != 0)
        d->sink.out.error = errno;
    if (!d->sink.out.error)
        return 0;
    fprintf(stderr, "sqtrace-dump: %s: cannot write: %s\n", name ? name : "standard output",
            strerror(d->sink.out.error));
    return -1;
}

int
dump_run(const struct dump_request *r)
{
    struct dump d;
    memset(&d, 0, sizeof(d));
    d.request = r;
    d.quiet = r->given[DUMP_quiet] != NULL;
    clock_gettime(CLOCK_MONOTONIC, &d.began);
    struct sqt_stream *const stream = sqt_stream_open(r->traces, r->trace_count, dump_report, &d);
    if (!stream)
        return DUMP_FAILED;
    if (open_output(&d) != 0) {
        sqt_stream_close(stream);
        return DUMP_FAILED;
    }
    begin(&d, r);
    if (r->kid >= 0 && sqt_stream_keep_kids(stream, &(uint32_t){(uint32_t)r->kid}, 1) != 0) {
        fputs("sqtrace-dump: no memory\n", stderr);
        sqt_stream_close(stream);
        return DUMP_FAILED;
    }
    dump_head_comments(&d, stream);
    const int watched = !d.quiet && isatty(STDERR_FILENO);
    struct sqt_run run;
    unsigned runs = 0;
    while (!d.job.done && sqt_stream_next(stream, &run)) {
        if (run.count)
            take_run(&d, &run);
        if (watched && ++runs % 16 == 0)
            dump_show_progress(&d);
    }
    dump_clear_progress(&d);
    finish(&d);
    sqt_sink_header(&d.sink);
    dump_tail_comments(&d);
    sqt_sink_finish(&d.sink);
    if (watched)
        dump_hint(&d);
    const unsigned problems = sqt_stream_problems(stream);
    sqt_stream_close(stream);
    const int failed = close_output(&d) != 0;
    sqt_sink_free(&d.sink);
    if (failed)
        return DUMP_FAILED;
    return r->given[DUMP_strict] && (problems || d.lost) ? DUMP_DAMAGED : DUMP_DONE;
}
