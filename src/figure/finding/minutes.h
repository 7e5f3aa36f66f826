/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * minutes.h - the table of findings by minute, for those who hand it out before the trace ends.
 */
#ifndef SQT_MINUTES_H
#define SQT_MINUTES_H

#include "pass/family.h"

/* Hands out the rows of all that the job's family has been told, of one process after the other, and forgets it.  job->source is that
 * of each row: the first row of a minute has the record that ended its first request, the others that of the last one. */
void sqt_minutes_emit(struct sqt_job *job);

/* Frees the state of a job whose finish() is never called. */
void sqt_minutes_free(struct sqt_job *job);

#endif
