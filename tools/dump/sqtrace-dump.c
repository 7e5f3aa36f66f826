/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-dump.c - prints what traces hold: tables and figures, as text.
 */
#include <signal.h>

#include "dump.h"

int
main(int argc, char **argv)
{
    struct dump_request request;
    char error[1024];
    /* A reader that has seen enough is no error: write() says EPIPE, and nothing is said. */
    signal(SIGPIPE, SIG_IGN);
    int status;
    if (dump_parse(&request, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-dump: %s\n", error);
        status = dump_wants_nagios(argc, argv) ? dump_nagios_unknown(error) : DUMP_USAGE;
    } else if (request.given[DUMP_help]) {
        options_print_help(dump_help);
        status = options_told();
    } else if (request.given[DUMP_version]) {
        puts("sqtrace-dump " PACKAGE_VERSION);
        status = options_told();
    } else if (request.given[DUMP_list]) {
        dump_list(stdout);
        status = options_told();
    } else if (request.ddl) {
        status = dump_ddl(&request);
    } else {
        status = dump_run(&request);
    }
    dump_request_free(&request);
    return status;
}
