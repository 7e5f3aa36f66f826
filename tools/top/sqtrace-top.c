/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-top.c - shows what a traced Squid does at the moment.
 */
#include <signal.h>

#include "top.h"

/* Follows the trace. */
static int
main_show(const struct top_request *request)
{
    static struct top top;
    if (top_open(&top, request) != 0)
        return TOP_FAILED;
    const int status = request->given[TOP_once] ? top_print(&top) : top_screen(&top);
    top_close(&top);
    return status;
}

int
main(int argc, char **argv)
{
    struct top_request request;
    char error[1024];
    int status;
    signal(SIGPIPE, SIG_IGN); /* write() says EPIPE, and that is no error */
    if (top_parse(&request, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-top: %s\n", error);
        status = TOP_USAGE;
    } else if (request.given[TOP_help]) {
        options_print_help(top_help);
        status = options_told();
    } else if (request.given[TOP_version]) {
        puts("sqtrace-top " PACKAGE_VERSION);
        status = options_told();
    } else {
        status = main_show(&request);
    }
    top_request_free(&request);
    return status;
}
