/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loops.h - rows of the table of passes of the event loop, for the figures that are made of them.
 */
#ifndef SQT_LOOPS_H
#define SQT_LOOPS_H

#include "pass/family.h"

#define SQT_LONGEST_NAME 96

/* What took longest in a pass. */
struct sqt_longest {
    char name[SQT_LONGEST_NAME]; /* empty: nothing */
    int64_t ns;
};

/* Fills a row of `loops`, and finds what took longest, whose name the row points at. */
void sqt_loop_cells(union sqt_cell *row, const struct sqt_loop_row *pass, struct sqt_longest *longest);

/* Whether the pass is asked for.  Its row is made only if there is a condition: the name in it takes long. */
static inline int
sqt_job_wants_loop(const struct sqt_job *job, const struct sqt_loop_row *pass)
{
    union sqt_cell row[SQT_CELLS(loops)];
    struct sqt_longest longest;
    if (job->where)
        sqt_loop_cells(row, pass, &longest);
    return sqt_job_wants(job, pass->begin, row);
}

#endif
