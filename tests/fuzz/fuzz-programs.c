/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-programs.c - the programs other than sqtrace-dump, each over a trace directory.
 *
 * Each runs as its main() has it, from the command line on, but for what needs another process, a terminal or a
 * network: gnuplot, the screen of sqtrace-top, HTTP.  A stand-in for these is below.  Options of the input that the
 * program does not have, or that name a file or an address, are left out.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../tools/exporter/exporter.h"
#include "../../tools/report/report.h"
#include "../../tools/ship/run.h"
#include "../../tools/snapshot/snapshot.h"
#include "../../tools/top/top.h"

#define FOLDER_ROOM 1100

struct programs_line {
    int argc;
    char *argv[FUZZ_ARGUMENTS + 8];
    char out[FOLDER_ROOM + 32];     /* an option that names where it writes */
    char trace[2][FOLDER_ROOM + 8]; /* the trace, as an argument */
    char error[1024];
};

/* ---- command lines ---- */

/* Whether the program has such an option, and it is for the input to say. */
static int
programs_has(const struct option_info *infos, unsigned count, const char *word)
{
    static const char *const ours[] = {"output", "to", "data", "help", "version", "listen", "otlp", "when"};
    const size_t length = strcspn(word + 2, "=");
    for (unsigned i = 0; i < sizeof(ours) / sizeof(*ours); ++i)
        if (strlen(ours[i]) == length && strncmp(word + 2, ours[i], length) == 0)
            return 0;
    for (unsigned i = 0; i < count; ++i)
        if (strlen(infos[i].name) == length && strncmp(word + 2, infos[i].name, length) == 0)
            return 1;
    return 0;
}

static void
programs_add(struct programs_line *line, char *word)
{
    line->argv[line->argc++] = word;
    line->argv[line->argc] = NULL;
}

static void
programs_line(struct programs_line *line, const struct fuzz_input *input, const char *folder,
              const struct option_info *infos, unsigned count)
{
    memset(line, 0, sizeof(*line));
    programs_add(line, "program");
    for (int i = 0; i < input->argument_count; ++i)
        if (strncmp(input->arguments[i], "--", 2) == 0 && programs_has(infos, count, input->arguments[i]))
            programs_add(line, input->arguments[i]);
    snprintf(line->trace[0], sizeof(line->trace[0]), "%s/trace", folder);
}

static void
programs_refused(const char *error)
{
    if (!*error || strchr(error, '\n'))
        fuzz_broken("an error is one line");
}

/* ---- sqtrace-report ---- */

/* tools/report/draw.c */
int
report_find_gnuplot(struct report *report)
{
    (void)report;
    return 0;
}

int
report_draw(struct report *report)
{
    if (report->trace_count < 2)
        return 0;
    report->compared = calloc(report->figure_count, sizeof(*report->compared));
    for (size_t i = 0; report->compared && i < report->figure_count; ++i)
        if (report_overlay(report, i, &report->compared[i]) != 0)
            return -1;
    return report->compared ? 0 : -1;
}

/* +figures: the same trace twice, so that the page compares. */
static void
programs_report(const struct fuzz_input *input, const char *folder)
{
    static struct report report;
    struct programs_line line;
    memset(&report, 0, sizeof(report));
    programs_line(&line, input, folder, report_option_infos, REPORT_OPTIONS);
    snprintf(line.out, sizeof(line.out), "--output=%s/report", folder);
    programs_add(&line, line.out);
    if (input->words & 1u << FUZZ_FIGURES) {
        snprintf(line.trace[0], sizeof(line.trace[0]), "a=%s/trace", folder);
        snprintf(line.trace[1], sizeof(line.trace[1]), "b=%s/trace", folder);
        programs_add(&line, line.trace[1]);
    }
    programs_add(&line, line.trace[0]);
    if (report_parse(&report, line.argc, line.argv, line.error, sizeof(line.error)) != 0)
        programs_refused(line.error);
    else {
        report.voice = (struct program_voice){.program = "sqtrace-report", .quiet = report.given[REPORT_quiet] != NULL};
        report_make(&report);
    }
    report_free(&report);
}

/* ---- sqtrace-top ---- */

static void
programs_top(const struct fuzz_input *input, const char *folder)
{
    static struct top top;
    struct top_request request;
    struct programs_line line;
    memset(&top, 0, sizeof(top));
    programs_line(&line, input, folder, top_option_infos, TOP_OPTIONS);
    programs_add(&line, "--once");
    programs_add(&line, line.trace[0]);
    if (top_parse(&request, line.argc, line.argv, line.error, sizeof(line.error)) != 0)
        programs_refused(line.error);
    else if (top_open(&top, &request) == 0) {
        top_print(&top);
        top_close(&top);
    }
    top_request_free(&request);
}

/* ---- sqtrace-ship ---- */

static void
programs_ship_once(const struct fuzz_input *input, const char *folder, int compact)
{
    struct ship_request request;
    struct programs_line line;
    programs_line(&line, input, folder, ship_option_infos, SHIP_OPTIONS);
    snprintf(line.out, sizeof(line.out), "--to=%s/shipped", folder);
    programs_add(&line, line.out);
    programs_add(&line, compact ? "--least-age=0s" : "--least-size=1");
    programs_add(&line, compact ? "--grace=0s" : line.trace[0]);
    programs_add(&line, compact ? "--compact" : "--make-folder");
    if (ship_parse(&request, line.argc, line.argv, line.error, sizeof(line.error)) != 0)
        programs_refused(line.error);
    else if (request.given[SHIP_compact])
        ship_compact(&request);
    else
        ship_run(&request);
    ship_request_free(&request);
}

/* A trace that grows: what is shipped of its first half, and of all, is then merged. */
static void
programs_ship(const struct fuzz_input *input, const char *folder)
{
    char trace[FOLDER_ROOM];
    snprintf(trace, sizeof(trace), "%s/trace", folder);
    fuzz_folder_remove(trace);
    fuzz_folder_write(trace, input->body, input->body_size / 2);
    programs_ship_once(input, folder, 0);
    fuzz_folder_remove(trace);
    fuzz_folder_write(trace, input->body, input->body_size);
    programs_ship_once(input, folder, 0);
    programs_ship_once(input, folder, 1);
}

/* ---- sqtrace-snapshot ---- */

static void
programs_snapshot(const struct fuzz_input *input, const char *folder)
{
    static const struct snapshot_reason asked = {.why = "", .hint = "--table=requests"};
    struct snapshot_request request;
    struct programs_line line;
    programs_line(&line, input, folder, snapshot_option_infos, SNAPSHOT_OPTIONS);
    snprintf(line.out, sizeof(line.out), "--to=%s/snapshots", folder);
    programs_add(&line, line.out);
    if (line.argc == 2) /* it wants to know what to take */
        programs_add(&line, "--last=1h");
    programs_add(&line, line.trace[0]);
    if (snapshot_parse(&request, line.argc, line.argv, line.error, sizeof(line.error)) != 0)
        programs_refused(line.error);
    else
        snapshot_take(&request, &asked);
    snapshot_request_free(&request);
}

/* ---- sqtrace-exporter ---- */

/* tools/exporter/send.c: what would be sent goes nowhere. */
void
export_sender_take(struct export_sender *sender, const char *json, size_t size, unsigned spans)
{
    (void)sender;
    if (!size || memchr(json, '\0', size) || !spans)
        fuzz_broken("spans are a text");
    for (size_t i = 0; i < size; ++i)
        if ((uint8_t)json[i] < ' ')
            fuzz_broken("spans have no control characters");
}

const struct export_sent *
export_sender_sent(const struct export_sender *sender)
{
    static const struct export_sent none;
    (void)sender;
    return &none;
}

/* As a loop of events would, until all is read; what ended before it started counts, too. */
static void
programs_follow(struct exporter *e)
{
    e->trace.aged = e->messages.minute = exporter_now(CLOCK_MONOTONIC);
    e->series = export_series_new(&e->request.rules);
    e->sender = (struct export_sender *)e; /* nobody looks into it */
    while (exporter_follow(e))
        ;
    exporter_follow(e);
    for (int open = 0; open < 2; ++open) {
        exporter_take_own(e);
        export_print(e->series, open, stdout);
        export_series_age(e->series);
    }
    fflush(stdout);
    exporter_unfollow(e);
    export_series_free(e->series);
}

static void
programs_exporter(const struct fuzz_input *input, const char *folder)
{
    static struct exporter exporter;
    struct programs_line line;
    memset(&exporter, 0, sizeof(exporter));
    programs_line(&line, input, folder, exporter_option_infos, EXPORTER_OPTIONS);
    programs_add(&line, "--otlp=http://127.0.0.1:4318");
    programs_add(&line, line.trace[0]);
    exporter.voice.program = "sqtrace-exporter";
    if (exporter_parse(&exporter.request, line.argc, line.argv, line.error, sizeof(line.error)) != 0)
        programs_refused(line.error);
    else
        programs_follow(&exporter);
    exporter_request_free(&exporter.request);
}

/* ---- which one ---- */

static const struct {
    void (*run)(const struct fuzz_input *input, const char *folder);
    const char *name;
    int follows;
} programs[FUZZ_WORDS] = {
    [FUZZ_REPORT] = {programs_report, "sqtrace-report", 0},
    [FUZZ_TOP] = {programs_top, "sqtrace-top", 1},
    [FUZZ_SHIP] = {programs_ship, "sqtrace-ship", 0},
    [FUZZ_SNAPSHOT] = {programs_snapshot, "sqtrace-snapshot", 0},
    [FUZZ_EXPORTER] = {programs_exporter, "sqtrace-exporter", 1},
};

enum fuzz_word
fuzz_program_of(const struct fuzz_input *input)
{
    const char *const always = getenv("FUZZ_PROGRAM");
    for (unsigned i = 0; i < FUZZ_WORDS; ++i)
        if (programs[i].run && (always ? strcmp(always, fuzz_words[i]) == 0 : (int)(input->words >> i & 1)))
            return (enum fuzz_word)i;
    return FUZZ_WORDS;
}

const char *
fuzz_program_name(enum fuzz_word word)
{
    return word == FUZZ_WORDS ? "sqtrace-dump" : programs[word].name;
}

int
fuzz_program_follows(enum fuzz_word word)
{
    return word != FUZZ_WORDS && programs[word].follows;
}

void
fuzz_program_run(enum fuzz_word word, const struct fuzz_input *input, const char *folder)
{
    programs[word].run(input, folder);
}
