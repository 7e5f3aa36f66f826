/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_tenths.h - table `findings` of requests that begin a tenth of a second after one another.
 */
#ifndef MODEL_TENTHS_H
#define MODEL_TENTHS_H

#include "model_found.h"

static int64_t now; /* ns */

/* Ten requests a second. */
static inline uint64_t
begin(void)
{
    const uint64_t xact = 100 + number++;
    now = (int64_t)number * 100 * MS;
    begin_xact(now, xact, 7);
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
