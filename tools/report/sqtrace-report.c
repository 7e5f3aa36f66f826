/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-report.c - from traces to a folder with a page and figures.
 */
#include <unistd.h>

#include "report.h"

static void
report_main_stop(int signal_number)
{
    report_stop = signal_number;
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
        options_print_help(report_help);
        status = options_told();
    } else if (report.given[REPORT_version]) {
        puts("sqtrace-report " PACKAGE_VERSION);
        status = options_told();
    } else {
        const int quiet = report.given[REPORT_quiet] != NULL;
        report.voice = (struct program_voice){
            .program = "sqtrace-report", .quiet = quiet, .watched = !quiet && isatty(STDERR_FILENO)};
        status = (int)report_make(&report);
    }
    report_free(&report);
    if (report_stop) {
        signal(report_stop, SIG_DFL);
        raise(report_stop);
    }
    return status;
}
