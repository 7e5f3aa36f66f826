/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * quantile-cells.h - median, percentiles and maximum as cells of a row: missing where there was nothing.
 */
#ifndef SQT_QUANTILE_CELLS_H
#define SQT_QUANTILE_CELLS_H

#include "base/distribution.h"
#include "row/table.h"

static inline union sqt_cell
sqt_median_cell(struct sqt_distribution *d)
{
    return (union sqt_cell){.number = d->count ? sqt_distribution_median(d) : SQT_CELL_MISSING};
}

static inline union sqt_cell
sqt_quantile_cell(struct sqt_distribution *d, unsigned per_mille)
{
    return (union sqt_cell){.number = d->count ? sqt_distribution_quantile(d, per_mille) : SQT_CELL_MISSING};
}

static inline union sqt_cell
sqt_max_cell(const struct sqt_distribution *d)
{
    return (union sqt_cell){.number = d->count ? d->max : SQT_CELL_MISSING};
}

#endif
