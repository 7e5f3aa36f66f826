/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ship.h - the command line of sqtrace-ship.
 */
#ifndef SQT_SHIP_H
#define SQT_SHIP_H

#include <stdio.h>

#include "row/table.h"

#include "../program/options.h"
#include "raw.h"

enum ship_status { SHIP_DONE = 0, SHIP_FAILED = 1, SHIP_USAGE = 2, SHIP_BUSY = 3 };

enum ship_option {
#define SHIP_OPTION(id, name, letter, value, doc) SHIP_##id,
#include "options.def"
    SHIP_OPTIONS
};

extern const struct option_info ship_option_infos[SHIP_OPTIONS];

/* What the command line says. */
struct ship_request {
    const char *given[SHIP_OPTIONS]; /* value of each option; "" if it stands alone, NULL if not given */
    const char **directories;        /* where traces are; ship_request_free() frees the array */
    size_t directory_count;
    const struct sqt_table *tables[SQT_TABLES];
    unsigned table_count;
    int64_t least_size; /* bytes */
    int64_t least_age;  /* ns */
    int64_t grace;      /* ns */
    struct ship_raw raw;
};

/* Returns 0, or -1 with a line in error.  Call ship_request_free() in either case. */
int ship_parse(struct ship_request *request, int argc, char **argv, char *error, size_t error_size);
void ship_request_free(struct ship_request *request);

/* Prints a summary of the options. */
void ship_help(FILE *to);

#endif
