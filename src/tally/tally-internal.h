/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tally-internal.h - the cells of a tally's row: where its columns stand.
 */
#ifndef SQT_TALLY_INTERNAL_H
#define SQT_TALLY_INTERNAL_H

#include "tally.h"

/* Behind the keys, in the order of tally-form.c. */
enum tally_cell {
    TALLY_COUNT,
    TALLY_SHARE,
    TALLY_VALUES,
    TALLY_SUM,
    TALLY_SUM_SHARE,
    TALLY_MEAN,
    TALLY_P50,
    TALLY_P90,
    TALLY_P99,
    TALLY_MAX
};

#endif
