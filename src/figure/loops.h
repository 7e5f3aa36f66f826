/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loops.h - rows of the table of passes of the event loop, for the figures that are made of them.
 */
#ifndef SQT_LOOPS_H
#define SQT_LOOPS_H

#include "family.h"

#define SQT_LONGEST_NAME 96

/* What took longest in a pass. */
struct sqt_longest {
    char name[SQT_LONGEST_NAME]; /* empty: nothing */
    int64_t ns;
};

/* Fills a row of `loops`, and finds what took longest, whose name the row points at. */
void sqt_loop_cells(union sqt_cell *row, const struct sqt_loop_row *pass, struct sqt_longest *longest);

#endif
