/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pass.h - one reading of a trace for any number of tables and figures.
 *
 *     struct sqt_job jobs[] = {{.table = sqt_table_find("load", 1), .since = INT64_MIN, .until = INT64_MAX,
 *                               .group = ..., .peak = ..., .row = take_row, .note = take_note, .context = ...}, ...};
 *     struct sqt_pass *pass = sqt_pass_new(jobs, count, &observer, crew);
 *     while (!sqt_pass_done(pass) && sqt_stream_next(stream, &run))
 *         sqt_pass_run(pass, &run);
 *     sqt_pass_finish(pass);
 *     sqt_pass_free(pass);
 *     sqt_stream_close(stream);
 *
 * Of several figures, those that need only facts get them in batches, in any thread of the crew if there is one.  The
 * rows and notes are the same without a crew, and are always handed out in the calling thread.  Rows of tables come while the trace is read.
 * Rows of figures come from sqt_pass_finish, after the figure's notes, job by job in the order of the array.
 */
#ifndef SQT_PASS_H
#define SQT_PASS_H

#include "family.h"

struct sqt_pass;

/* The jobs are the caller's, and live until the pass is freed.  observer: told of what the model hands out besides; may be
 * NULL.  Its loss() and step() are called even where no model is needed.  crew: takes work off the caller, and must live until the
 * pass is freed; NULL if there is none. */
struct sqt_pass *sqt_pass_new(struct sqt_job *jobs, size_t count, const struct sqt_consumer *observer,
                              struct sqt_crew *crew);

/* From now on requests get their lines of an access.log: from sqt_stream_logged() and a stream, say. */
void sqt_pass_join(struct sqt_pass *pass, sqt_logged_function *logged, void *context);

/* From now on requests that begin at `since` or later, and before `until`, learn of connections that were accepted before reading
 * began: from sqt_stream_accepted() and a stream, say. */
void sqt_pass_look_back(struct sqt_pass *pass, sqt_accepted_function *accepted, void *context, int64_t since,
                        int64_t until);

/* Takes the records of a run of the stream, which may be empty. */
void sqt_pass_run(struct sqt_pass *pass, const struct sqt_run *run);

/* From now on it is done, too, once all that began from since until until has come to its end. */
void sqt_pass_stop_early(struct sqt_pass *pass, int64_t since, int64_t until);
/* Whether it reads on only because something that began before `until` is not over. */
int sqt_pass_reads_on(const struct sqt_pass *pass);

/* The trace has records up to then, of which those at the end were not read: struct sqt_job, length. */
void sqt_pass_lasts(struct sqt_pass *pass, int64_t last_ns);

/* Whether no job wants more. */
int sqt_pass_done(const struct sqt_pass *pass);

/* The trace has ended: all that is left comes out.  The stream must still be open. */
void sqt_pass_finish(struct sqt_pass *pass);

/* The same of a trace that is still being written: it ends now. */
void sqt_pass_finish_now(struct sqt_pass *pass, const struct sqt_now *now);

/* Of a stream that is followed: an origin has ended, and what is open in it comes out; and it is about to be freed.  Only
 * for jobs of tables whose families have no finish(), which keep nothing of an origin. */
void sqt_pass_end_origin(struct sqt_pass *pass, const struct sqt_origin *origin);
void sqt_pass_forget_origin(struct sqt_pass *pass, const struct sqt_origin *origin);

void sqt_pass_free(struct sqt_pass *pass);

/* What was read so far. */
uint64_t sqt_pass_records(const struct sqt_pass *pass);
int64_t sqt_pass_last_ns(const struct sqt_pass *pass);

#endif
