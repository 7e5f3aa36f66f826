/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskops.h - rows of the table of disk operations, for the figures that are made of them.
 */
#ifndef SQT_DISKOPS_H
#define SQT_DISKOPS_H

#include "family.h"

/* Fills a row of `diskops`. */
void sqt_diskop_cells(union sqt_cell *row, const struct sqt_diskop *op, struct sqt_row_text *text);

/* Whether it has a stage of its own for all of its time, and was not told before. */
static inline int
sqt_diskop_came_back(const struct sqt_diskop *op)
{
    return !op->late && (op->outcome == SQT_OUTCOME_COMPLETE || op->outcome == SQT_OUTCOME_ERROR);
}

/* The type of its cache_dir, made in text; NULL if it is not known. */
const char *sqt_diskop_store(const struct sqt_diskop *op, struct sqt_row_text *text);

/* Its cache_dir as figures name it: type and number; "-" if it is not known. */
#define SQT_PLACE_NAME 48
void sqt_diskop_place(const struct sqt_diskop *op, char *name);

#endif
