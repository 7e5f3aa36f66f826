/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whatif-minutes.h - the table of hits at each size by minute, for those who hand it out before the trace ends.
 */
#ifndef SQT_WHATIF_MINUTES_H
#define SQT_WHATIF_MINUTES_H

#include "pass/family.h"

/* Hands out the rows of all requests that came, of one process after the other, and forgets them.  job->source is that of each
 * row: it has the record of the last request of its minute. */
void sqt_whatif_minutes_emit(struct sqt_job *job);

/* Frees the state of a job whose finish() is never called. */
void sqt_whatif_minutes_free(struct sqt_job *job);

#endif
