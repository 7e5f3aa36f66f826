/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-report.c - from traces to a folder with a page and figures.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/visible.h"
#include "report.h"

volatile sig_atomic_t report_stop;

/* ---- what is said ---- */

void
lines_add(struct lines *lines, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        sqt_no_memory();
    lines->text = sqt_resized(lines->text, (lines->count + 1) * sizeof(*lines->text));
    lines->text[lines->count++] = text;
}

void
lines_add_new(struct lines *lines, const char *text)
{
    for (size_t i = 0; i < lines->count; ++i)
        if (strcmp(lines->text[i], text) == 0)
            return;
    lines_add(lines, "%s", text);
}

void
lines_free(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; ++i)
        free(lines->text[i]);
    free(lines->text);
}

static void
free_trace(struct report *r, struct report_trace *t)
{
    struct lines *const lines[] = {&t->damage,   &t->squids, &t->processes, &t->dirs,   &t->groups,  &t->rings,
                                   &t->findings, &t->behind, &t->disks,     &t->broken, &t->unusual, &t->held};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); ++i)
        lines_free(lines[i]);
    for (size_t i = 0; t->series && i < r->figure_count; ++i) {
        lines_free(&t->series[i].notes);
        free(t->series[i].picture.trouble);
    }
    for (unsigned c = 0; t->series && c < SQT_CLASSES; ++c)
        sqt_sections_free(&t->classes[c]);
    browse_free(t->browse);
    free(t->first);
    free(t->series);
    free(t->paths);
    free((char *)t->label);
}

static void
free_report(struct report *r)
{
    for (size_t i = 0; i < r->trace_count; ++i)
        free_trace(r, &r->traces[i]);
    for (size_t i = 0; r->compared && i < r->figure_count; ++i) {
        free(r->compared[i].trouble);
    }
    free(r->compared);
    free(r->figures);
    free(r->words);
    free(r->folder);
    free(r->making);
    free(r->plots);
    free(r->pages);
}

/* ---- the whole ---- */

static void
report_main_stop(int signal_number)
{
    report_stop = signal_number;
}

/* The page is whole, or there is none. */
static int
report_main_make(struct report *r)
{
    int failed = report_find_data(r) != 0 || report_find_gnuplot(r) != 0 || folder_begin(r) != 0;
    for (size_t i = 0; !failed && i < r->trace_count; ++i)
        failed = report_read(r, &r->traces[i]) != 0;
    failed = failed || report_draw(r) != 0 || report_index(r) != 0 || report_stop || folder_commit(r) != 0;
    if (failed) {
        program_clear(&r->voice);
        folder_abandon(r);
        return REPORT_FAILED;
    }
    report_say(r, "made %s%s", r->folder, report_is_single(r) ? "" : "/index.html");
    return r->undrawn ? REPORT_PARTLY : REPORT_DONE;
}

int
main(int argc, char **argv)
{
    static struct report report;
    char error[1024];
    int status;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, as a full disk is */
    const struct sigaction action = {.sa_handler = report_main_stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    if (report_parse(&report, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-report: %s\n", error);
        status = REPORT_USAGE;
    } else if (report.given[REPORT_help]) {
        report_help(stdout);
        status = options_told();
    } else if (report.given[REPORT_version]) {
        puts("sqtrace-report " PACKAGE_VERSION);
        status = options_told();
    } else {
        const int quiet = report.given[REPORT_quiet] != NULL;
        report.voice = (struct program_voice){
            .program = "sqtrace-report", .quiet = quiet, .watched = !quiet && isatty(STDERR_FILENO)};
        status = report_main_make(&report);
    }
    free_report(&report);
    if (report_stop) {
        signal(report_stop, SIG_DFL);
        raise(report_stop);
    }
    return status;
}
