/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read.c - one pass over a trace: the series of all figures, the requests in sections, what was configured.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/memory.h"
#include "compare.h"
#include "index.h"
#include "report.h"

/* Values of requests kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Most cache_dirs that are looked for, and lines on damage that are kept. */
#define DIRS 64
#define DAMAGE_LINES 10

/* ---- what the reader says ---- */

static void
reader_says(void *context, enum sqt_severity severity, const char *text)
{
    struct report_trace *const t = context;
    if (severity == SQT_ERROR)
        report_fail(t->report, "%s", text);
    else
        report_say(t->report, "%s%s", severity == SQT_WARNING ? "warning: " : "", text);
    if (severity != SQT_NOTE && t->damage.count < DAMAGE_LINES)
        lines_add(&t->damage, "%s", text);
}

static void
report_read_take_loss(void *context, const struct sqt_loss_row *loss)
{
    struct report_trace *const t = context;
    const char *const text = account_loss(&t->account, loss);
    if (text)
        report_say(t->report, "lost %s", text);
}

static void
take_bound(void *context, const struct sqt_bound_row *bound)
{
    struct report_trace *const t = context;
    reader_says(t, SQT_WARNING, account_bound(&t->account, bound));
}

static void
take_step(void *context, const struct sqt_step_row *step)
{
    struct report_trace *const t = context;
    const char *const text = account_step(&t->account, step);
    if (text)
        report_say(t->report, "clock: %s", text);
}

/* ---- what was configured ---- */

static void
describe_groups(struct lines *lines, uint64_t groups)
{
    char text[256] = "";
    for (unsigned i = 0; i < SQT_GROUPS_COUNT; ++i)
        if (i != SQT_GROUP_INDEX_TRACE && groups >> i & 1) {
            if (*text)
                strcat(text, ", ");
            strncat(text, sqt_group_names[i].name, 32);
        }
    lines_add_new(lines, *text ? text : "none");
}

static void
take_setup(void *context, const struct sqt_setup_row *setup)
{
    struct report_trace *const t = context;
    char text[32], number[32];
    describe_groups(&t->groups, setup->groups);
    if (!setup->ring_kb)
        return;
    snprintf(text, sizeof(text), "%s KB", sqt_grouped(setup->ring_kb, number));
    lines_add_new(&t->rings, text);
}

static void
describe_origins(struct report_trace *t, const struct sqt_stream *stream)
{
    for (size_t i = 0; i < sqt_stream_origins(stream) && !t->of_log; ++i) {
        const struct sqt_origin *const origin = sqt_stream_origin(stream, i);
        const struct sqt_identity *const who = &origin->identity;
        char text[1200];
        snprintf(text, sizeof(text), "Squid %.31s, service %.31s, clock %s", who->squid_version,
                 *who->service ? who->service : "squid", who->clock == SQT_CLOCK_TSC ? "TSC" : "CLOCK_MONOTONIC");
        lines_add_new(&t->squids, text);
        lines_add(&t->processes, "kid %u, %s, pid %u", who->kid, account_kid_kind(who->kid_kind), who->pid);
        for (uint32_t dir = 0; dir < DIRS; ++dir) {
            const char *const definition = sqt_origin_text(origin, SQT_DEF_DIR, dir);
            if (!definition)
                continue;
            snprintf(text, sizeof(text), "%u: %.1024s", dir, definition);
            lines_add_new(&t->dirs, text);
        }
    }
}

/* ---- requests ---- */

static int
take_request(void *context, const union sqt_cell *row)
{
    struct report_trace *const t = context;
    const char *const outcome = row[SQT_CELL(requests, outcome)].text;
    if (outcome == sqt_outcome_names[SQT_OUTCOME_LOST] || outcome == sqt_outcome_names[SQT_OUTCOME_CLOCK] ||
        outcome == sqt_outcome_names[SQT_OUTCOME_UNFINISHED]) {
        ++t->left_out;
        return 1;
    }
    ++t->requests;
    if (row[SQT_CELL(requests, total_ns)].number == SQT_CELL_MISSING)
        return 1; /* a log without durations */
    unsigned class = 0;
    while (class + 1 < SQT_CLASSES && row[SQT_CELL(requests, class)].text != sqt_classes[class].name)
        ++class;
    int64_t parts[SQT_PARTS];
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        const int64_t ns = row[SQT_STAGE_CELL(i)].number;
        parts[sqt_stage_columns[i]] = ns == SQT_CELL_MISSING ? 0 : ns;
    }
    const int64_t unaccounted = row[SQT_CELL(requests, unaccounted_ns)].number;
    parts[SQT_STAGES] = unaccounted == SQT_CELL_MISSING ? 0 : unaccounted;
    sqt_sections_add(&t->classes[class], row[SQT_CELL(requests, total_ns)].number, parts);
    whole_take(t->whole, row, class);
    return 1;
}

/* ---- findings ---- */

static int
take_finding(void *context, const union sqt_cell *row)
{
    struct report_trace *const t = context;
    const char *const advice = row[SQT_CELL(findings, advice)].text;
    char filter[LINK_ROOM];
    if (!t->findings.count && advice) /* else it says that nothing takes more than it should */
        t->first = sqt_copied(row[SQT_CELL(findings, sentence)].text);
    lines_add(&t->findings, "%s%s%s", row[SQT_CELL(findings, sentence)].text, advice ? " " : "", advice ? advice : "");
    lines_add(&t->behind, "%s", link_of_finding(filter, t, row));
    return 1;
}

/* ---- series ---- */

static void
take_note(void *context, const char *key, const char *text)
{
    struct series *const s = context;
    sqt_sink_comment(&s->sink, key, text);
    lines_add(&s->notes, "%s: %s", key, text);
}

static void
note_check(struct report_trace *t, const union sqt_cell *row)
{
    struct lines *const lines = row[SQT_CELL(checks, holds)].number == 0     ? &t->broken
                                : row[SQT_CELL(checks, unusual)].number == 1 ? &t->unusual
                                                                             : &t->held;
    lines_add(lines, "%s", row[SQT_CELL(checks, sentence)].text);
}

/* Notes which columns say something, and what `summary` and `checks` say. */
static int
take_row(void *context, const union sqt_cell *row)
{
    struct series *const s = context;
    for (unsigned i = 0; i < s->table->column_count && i < sizeof(s->seen); ++i) {
        const enum sqt_type type = s->table->columns[i].type;
        s->seen[i] |= !sqt_cell_missing(type, row[i]) && (type == SQT_TYPE_TEXT || row[i].number != 0);
    }
    if (s->table == &sqt_tables[SQT_TABLE_summary])
        words_of_disk(s->trace, row);
    if (s->table == &sqt_tables[SQT_TABLE_checks])
        note_check(s->trace, row);
    return sqt_sink_row(&s->sink, row);
}

static int
open_series(struct report_trace *t, struct series *s, const struct sqt_table *table, const struct sqt_stream *stream)
{
    static const unsigned char in_order[256] = {
#define FOUR(n) n, n + 1, n + 2, n + 3
#define SIXTEEN(n) FOUR(n), FOUR(n + 4), FOUR(n + 8), FOUR(n + 12)
#define SIXTY_FOUR(n) SIXTEEN(n), SIXTEEN(n + 16), SIXTEEN(n + 32), SIXTEEN(n + 48)
        SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};
    s->table = table;
    s->trace = t;
    snprintf(s->picture.file, sizeof(s->picture.file), "%s%s%s", table->name, *t->label ? "." : "", t->label);
    s->sink.type = &sqt_sink_types[0];
    s->sink.table = table;
    s->sink.columns = in_order;
    s->sink.column_count = table->column_count;
    char *const path = folder_path(t->report, "figures/%s.tsv", s->picture.file);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        report_fail(t->report, "%s: cannot write: %s", path, strerror(errno));
    free(path);
    sqt_out_init(&s->sink.out, fd);
    if (fd >= 0)
        account_head(&s->sink, t->paths, t->path_count, stream);
    return fd < 0 ? -1 : 0;
}

/* What of the trace was read, unless it was all. */
static void
report_window_comments(const struct report_trace *t, struct series *s)
{
    char text[512];
    if (program_window_text(&t->window, t->records, text, sizeof(text)))
        sqt_sink_comment(&s->sink, "window", text);
    if (program_window_missing(&t->window, text, sizeof(text)))
        sqt_sink_comment(&s->sink, "lookback", text);
}

/* failed: something else was already, and is enough to say. */
static int
close_series(struct report_trace *t, struct series *s, const struct sqt_pass *pass, int failed)
{
    sqt_sink_header(&s->sink);
    report_window_comments(t, s);
    account_tail(&s->sink, &t->account, t->length, sqt_pass_records(pass));
    sqt_sink_finish(&s->sink);
    if (close(s->sink.out.fd) != 0 && !s->sink.out.error)
        s->sink.out.error = errno;
    const int error = s->sink.out.error;
    sqt_sink_free(&s->sink);
    if (error && !failed)
        report_fail(t->report, "%s/figures/%s.tsv: cannot write: %s", t->report->making, s->picture.file,
                    strerror(error));
    return error ? -1 : 0;
}

/* Of requests and findings nothing is to be noted. */
static void
no_note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

/* ---- the pass ---- */

static void
show(struct report_trace *t, const struct sqt_pass *pass, const struct timespec *began)
{
    char text[512];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
    const uint64_t records = sqt_pass_records(pass);
    const int reads_on = sqt_pass_reads_on(pass);
    if (seconds < 1 && !(reads_on && program_window_is_dear(&t->window, records, seconds)))
        return;
    if (t->of_log)
        snprintf(text, sizeof(text), "reading %.1f M lines", (double)records / 1e6);
    else
        program_window_progress(&t->window, records, seconds, reads_on, text, sizeof(text));
    report_progress(t->report, "%s%s%s", t->label, *t->label ? ": " : "", text);
}

static int
read_all(struct report_trace *t, struct sqt_stream *stream, struct sqt_job *jobs, size_t count, struct sqt_crew *crew)
{
    const struct sqt_consumer also = {
        .context = t, .loss = report_read_take_loss, .bound = take_bound, .step = take_step, .setup = take_setup};
    struct sqt_pass *const pass = sqt_pass_new(jobs, count, &also, crew);
    if (t->log_count)
        sqt_pass_join(pass, sqt_stream_logged, stream);
    struct timespec began;
    struct sqt_run run;
    unsigned runs = 0;
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (t->window.used) {
        sqt_pass_stop_early(pass, t->window.window.since, t->window.window.until);
        sqt_pass_look_back(pass, sqt_stream_accepted, stream, t->window.window.since, t->window.window.until);
    }
    while (!report_stop && !sqt_pass_done(pass) && sqt_stream_next(stream, &run)) {
        sqt_pass_run(pass, &run);
        if (++runs % 64 == 0)
            show(t, pass, &began);
    }
    describe_origins(t, stream);
    sqt_pass_finish(pass);
    account_finish(&t->account);
    t->length = program_window_length(&t->window, stream, sqt_pass_last_ns(pass));
    t->records = sqt_pass_records(pass);
    int failed = report_stop != 0;
    for (size_t i = 0; i < t->report->figure_count; ++i)
        failed |= close_series(t, &t->series[i], pass, failed) != 0;
    sqt_pass_free(pass);
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        sqt_sections_finish(&t->classes[c]);
    whole_finish(t->whole);
    return failed ? -1 : 0;
}

/* What is read besides figures. */
static const struct {
    enum sqt_table_number table;
    sqt_row_function *row;
    const struct sqt_family *family; /* NULL: the table's */
} others[] = {{SQT_TABLE_requests, take_request, NULL},
              {SQT_TABLE_findings, take_finding, NULL},
              {SQT_TABLE_requests, NULL, &browse_family}};
#define OTHERS (sizeof(others) / sizeof(*others))

/* What --since and --until mean in this trace. */
static int
report_window(struct report *r, struct report_trace *t, struct sqt_stream *stream)
{
    struct sqt_extent extent;
    char error[512];
    sqt_stream_extent(stream, &extent);
    const struct moment_trace trace = {.start_ns = (int64_t)t->start_ns,
                                       .last_ns = extent.records ? extent.last_ns : -1};
    if (moment_window(&r->since, &r->until, &trace, &t->since, &t->until, error, sizeof(error)) == 0) {
        t->window = r->window;
        program_window_begin(&t->window, stream, t->since, t->until, PROGRAM_WINDOW_THINGS);
        return 0;
    }
    return report_fail(r, "%s", error);
}

/* The requests that the page can show one by one. */
static int
write_browse(struct report_trace *t)
{
    char *const path = folder_path(t->report, "requests%s%s.js", *t->label ? "." : "", t->label);
    const int error = browse_write(t->browse, path, t->label, t->start_ns, t->length);
    if (error)
        report_fail(t->report, "%s: cannot write: %s", path, strerror(error));
    free(path);
    t->browsed = browse_counts(t->browse);
    browse_free(t->browse);
    t->browse = NULL;
    return error ? -1 : 0;
}

static struct sqt_stream *
report_open(const struct report *r, struct report_trace *t)
{
    const struct sqt_log_request log = {
        .files = t->paths, .count = t->path_count, .format = r->given[REPORT_log_format]};
    struct sqt_stream *const stream = t->of_log ? sqt_stream_open_log(&log, reader_says, t)
                                                : sqt_stream_open(t->paths, t->path_count, reader_says, t);
    if (stream && t->of_log)
        t->log_format = sqt_copied(sqt_stream_log(stream)->format);
    if (!stream || !t->log_count)
        return stream;
    const struct sqt_log_request beside = {
        .files = t->logs, .count = t->log_count, .format = r->given[REPORT_log_format]};
    if (sqt_stream_join_log(stream, &beside) == 0)
        return stream;
    sqt_stream_close(stream);
    return NULL;
}

int
report_read(struct report *r, struct report_trace *t)
{
    struct sqt_stream *const stream = report_open(r, t);
    if (!stream)
        return -1;
    if (r->kid >= 0)
        sqt_stream_keep_kids(stream, &(uint32_t){(uint32_t)r->kid}, 1);
    t->start_ns = sqt_stream_start_ns(stream);
    if (report_window(r, t, stream) != 0) {
        sqt_stream_close(stream);
        return -1;
    }
    t->set.budget = BUDGET;
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        t->classes[c].set = &t->set;
    t->whole = whole_new();
    t->series = sqt_zeroed(r->figure_count + 1, sizeof(*t->series));
    t->browse = browse_new();
    struct sqt_job *const jobs = sqt_zeroed(r->figure_count + OTHERS, sizeof(*jobs));
    int failed = 0;
    for (size_t i = 0; i < r->figure_count + OTHERS; ++i) {
        jobs[i] = (struct sqt_job){.since = t->since, .until = t->until, .group = r->group, .peak = r->peak};
        if (i < r->figure_count) {
            failed |= open_series(t, &t->series[i], r->figures[i], stream) != 0;
            const int64_t own_group = sqt_family_of(r->figures[i])->group;
            if (own_group && !r->given[REPORT_group])
                jobs[i].group = own_group;
            jobs[i].table = r->figures[i];
            jobs[i].row = take_row;
            jobs[i].note = take_note;
            jobs[i].context = &t->series[i];
        } else {
            jobs[i].table = &sqt_tables[others[i - r->figure_count].table];
            jobs[i].row = others[i - r->figure_count].row;
            jobs[i].note = no_note;
            jobs[i].family = others[i - r->figure_count].family;
            jobs[i].context = jobs[i].family ? (void *)t->browse : t;
        }
    }
    struct sqt_crew *const crew = sqt_crew_new(sqt_processors() - 1);
    sqt_stream_share(stream, crew);
    failed = failed || read_all(t, stream, jobs, r->figure_count + OTHERS, crew) != 0 ||
             (!r->given[REPORT_verdict] && write_browse(t) != 0);
    t->problems = sqt_stream_problems(stream);
    if (t->of_log)
        t->log_lines = sqt_stream_log(stream)->lines;
    free(jobs);
    sqt_stream_close(stream);
    sqt_crew_free(crew);
    if (!failed)
        report_say(r, "%s%sread %" PRIu64 " records, %" PRIu64 " requests", t->label, *t->label ? ": " : "", t->records,
                   t->requests);
    return failed ? -1 : 0;
}
