/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * live.h - findings of what running processes write: of the last minute, again and again.
 *
 *     live = sqt_live_new(&own, NULL);
 *     model = sqt_model_new(sqt_live_consumer(live));
 *     sqt_live_model(live, model);
 *     while (...) {
 *         while (sqt_stream_next(stream, &run)) {
 *             sqt_live_run(live, &run);
 *             sqt_model_run(model, &run);
 *         }
 *         sqt_live_ask(live, &now, every);
 *         if (sqt_live_take(live, 0) > 0)
 *             ... sqt_live_found(live, &count) ...;
 *     }
 *     sqt_live_free(live);
 *
 * Table `findings` of two windows is made at a time, the second of which begins when the first is half full.  A window is
 * told of what ends in it, and when it is asked, of what is open.  The window that is asked has 30 s to 60 s of the trace, or all
 * of it in the beginning.
 *
 * Telling uses up what a window knows, and closes what is open.  So a copy of this process does it, which a fork makes:
 * what it finds comes through a pipe, and the trace is read on meanwhile.  The findings are those of sqtrace-dump, from the
 * same code.  Memory: that of two tables, and of pages that change while a copy lives, which is 10 s at most.
 *
 * All of it belongs to one thread.  No other thread needs to exist in the copy.
 */
#ifndef SQT_LIVE_H
#define SQT_LIVE_H

#include "model/model.h"
#include "row/table.h"
#include "row/where.h"

/* How long a window is, ns. */
#define SQT_LIVE_WINDOW INT64_C(60000000000)
/* Findings that are handed over; those of least weight are left out. */
#define SQT_LIVE_MOST 16

/* A row of table `findings`. */
struct sqt_live_finding {
    union sqt_cell row[SQT_CELLS(findings)]; /* texts are those below */
    char texts[SQT_CELLS(findings)][1024];
};

struct sqt_live;

/* own: gets all that the model hands out, too, through those of its members that are not NULL.  It is copied.  where: of which
 * requests findings are, the caller's; NULL: of all. */
struct sqt_live *sqt_live_new(const struct sqt_consumer *own, const struct sqt_where *where);

/* The consumer that the model must be made with, valid until the live is freed; and that model. */
const struct sqt_consumer *sqt_live_consumer(const struct sqt_live *live);
void sqt_live_model(struct sqt_live *live, struct sqt_model *model);

/* Takes note of a run before the model does: windows begin and end by the times of records. */
void sqt_live_run(struct sqt_live *live, const struct sqt_run *run);

/* An origin has ended, after sqt_model_end(); and it is about to be freed, with its texts.  Windows that were told of it begin anew
 * then. */
void sqt_live_end(struct sqt_live *live, const struct sqt_origin *origin);
void sqt_live_forget(struct sqt_live *live, const struct sqt_origin *origin);

/* Begins to look for findings, if that is so many ns after it began last, and ten times the processor time that it took then.  now: NULL if no
 * process writes the trace.  Returns 1, or 0 if it is too early, or under way already, if nothing has been read, or there is no
 * process or descriptor left for it. */
int sqt_live_ask(struct sqt_live *live, const struct sqt_now *now, int64_t every);

/* Takes what was found, after waiting so many milliseconds for it at most.  Returns 1: it is here; 0: not yet; -1: nothing is under
 * way, or it failed. */
int sqt_live_take(struct sqt_live *live, int milliseconds);

/* What was found last, most important first, and how many; without what is healthy or too little. */
const struct sqt_live_finding *sqt_live_found(const struct sqt_live *live, unsigned *count);

/* When the window began that was asked last, ns. */
int64_t sqt_live_from(const struct sqt_live *live);

/* Whether the row is of something that hangs now. */
int sqt_live_is_now(const union sqt_cell *row);

/* Ends what is under way. */
void sqt_live_free(struct sqt_live *live);

/* Whether the row says that there is no finding: healthy, or too few requests. */
int sqt_live_is_none(const union sqt_cell *row);

/* A duration or number of a finding. */
#define SQT_LIVE_NUMBER(finding, name) ((finding)->row[SQT_CELL(findings, name)].number)
/* A text of it; NULL: it has none. */
#define SQT_LIVE_TEXT(finding, name) ((finding)->row[SQT_CELL(findings, name)].text)

#endif
