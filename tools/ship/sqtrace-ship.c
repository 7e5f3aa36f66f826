/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-ship.c - rows of a trace to a folder of Parquet, each row once.
 */
#include <stdio.h>

#include "run.h"

int
main(int argc, char **argv)
{
    struct ship_request request;
    char error[512];
    int status = SHIP_DONE;
    if (ship_parse(&request, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-ship: %s\n", error);
        status = SHIP_USAGE;
    } else if (request.given[SHIP_help]) {
        options_print_help(ship_help);
        status = options_told();
    } else if (request.given[SHIP_version]) {
        puts("sqtrace-ship " PACKAGE_VERSION);
        status = options_told();
    } else if (request.given[SHIP_compact]) {
        status = (int)ship_compact(&request);
    } else {
        status = (int)ship_run(&request);
    }
    ship_request_free(&request);
    return status;
}
