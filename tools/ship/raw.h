/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * raw.h - --raw: which requests are shipped one by one, beside roll-ups of all of them.
 */
#ifndef SQT_SHIP_RAW_H
#define SQT_SHIP_RAW_H

#include "read/stream.h"
#include "row/identity.h"
#include "row/table.h"

/* What --raw says. */
struct ship_raw {
    int chosen;       /* it was given; else all requests are shipped */
    int failed;       /* those with the outcome error or timeout */
    unsigned slowest; /* so many of each class and minute; 0: none */
    uint32_t share;   /* so many of a million, chosen by ring and transaction; 0: none */
};

/* Reads "slowest:N,failed,share:P%", in any order.  Returns 0, or -1 if it is something else. */
int ship_raw_parse(struct ship_raw *raw, const char *text);

/* Whether a row of requests is shipped, however slow it is.  source: its process and its record. */
int ship_raw_wants(const struct ship_raw *raw, const struct sqt_row_source *source, const union sqt_cell *row);

/* The slowest requests of each process, class and minute.  Memory: so many rows for each class of four minutes. */
struct ship_slowest {
    const struct sqt_table *table; /* of the rows; its first columns are those of requests */
    unsigned time; /* cell of when the request began, ns since 1970: minutes are those of UTC, as in table rollups */
    unsigned most;
    sqt_row_function *take; /* gets this structure as its context, while `origin` says whose row it is */
    void *context;
    const struct sqt_origin *origin;
    struct ship_slow *first;
    unsigned count; /* of that list */
};

/* Takes a row, which is copied. */
void ship_slowest_add(struct ship_slowest *slowest, const struct sqt_origin *origin, const union sqt_cell *row);

/* Hands out what is left. */
void ship_slowest_end(struct ship_slowest *slowest);

#endif
