/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lines.h - the time lines of a pass: kept once, and shown to each job whose family has a function `line`.
 */
#ifndef SQT_LINES_H
#define SQT_LINES_H

#include "family.h"

struct sqt_lines;

/* Keeps lines in that many bytes.  The caller frees them with sqt_lines_free(). */
struct sqt_lines *sqt_lines_new(int64_t bytes);

/* Shows all lines to that job, too.  The job must live as long as the lines. */
void sqt_lines_show(struct sqt_lines *lines, struct sqt_job *job, const struct sqt_family *family);

/* The lines listen to the model as a job does: this job, of this family.  The lines own it. */
struct sqt_job *sqt_lines_job(struct sqt_lines *lines);
extern const struct sqt_family sqt_lines_family;

/* NULL is welcome. */
void sqt_lines_free(struct sqt_lines *lines);

#endif
