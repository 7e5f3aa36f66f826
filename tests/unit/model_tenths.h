/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_tenths.h - table `findings` of requests that begin a tenth of a second after one another.
 */
#ifndef MODEL_TENTHS_H
#define MODEL_TENTHS_H

#include "model_found.h"

static int64_t now;              /* ns */
static uint32_t begins_with = 1; /* method of requests: GET */

/* Ten requests a second. */
static inline uint64_t
begin(void)
{
    const uint64_t xact = 100 + number++;
    now = (int64_t)number * 100 * MS;
    PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
    PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, begins_with);
    return xact;
}

/* Makes the table.  The row of a cause, or found_count if there is none. */
static inline unsigned
row_of(const char *cause)
{
    unsigned row = 0;
    find();
    now = 0;
    while (row < found_count && strcmp(TEXT(row, cause), cause) != 0)
        ++row;
    return row;
}

#endif
