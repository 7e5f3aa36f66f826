/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-snapshot.c - the minutes around a moment of a trace, in a folder of their own.
 */
#include <stdio.h>

#include "snapshot.h"

int
main(int argc, char **argv)
{
    struct snapshot_request request;
    char error[768];
    int status;
    if (snapshot_parse(&request, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-snapshot: %s\n", error);
        status = SNAPSHOT_USAGE;
    } else if (request.given[SNAPSHOT_help]) {
        options_print_help(snapshot_help);
        status = options_told();
    } else if (request.given[SNAPSHOT_version]) {
        puts("sqtrace-snapshot " PACKAGE_VERSION);
        status = options_told();
    } else {
        static const struct snapshot_reason asked = {.why = "", .hint = "--table=requests"};
        status = (int)(request.when_count ? snapshot_watch(&request) : snapshot_take(&request, &asked));
    }
    snapshot_request_free(&request);
    return status;
}
