/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * account.h - what a tool says about the traces themselves: who wrote them, what they hold, what was lost.
 */
#ifndef SQT_ACCOUNT_H
#define SQT_ACCOUNT_H

#include "model/model.h"
#include "sink/sink.h"

/* Most losses that are told one by one; the others are summed up. */
#define TOLD_LOSSES 10
/* Kinds of things that can be too many: more than the model has. */
#define TOLD_BOUNDS 8

/* Most steps of clocks that are told. */
#define TOLD_STEPS 10

struct account {
    uint64_t lost, losses;
    int ring_full; /* some were lost to a full ring */
    char told[TOLD_LOSSES][128];
    uint64_t steps;
    char stepped[TOLD_STEPS][128];
    char more[128]; /* all of them together, if they were not all told; else "" */
    unsigned bounds;
    char bound[TOLD_BOUNDS][160];
};

/* Counts it.  Returns what is to be said of it, "7,002 records between 0.07 s and 0.08 s (ring full)", or NULL when
 * enough was said. */
const char *account_loss(struct account *account, const struct sqt_loss_row *loss);
/* Notes that the model had no room for more of something, and returns the words for it. */
const char *account_bound(struct account *account, const struct sqt_bound_row *bound);
/* The same of a step of a clock: "-1.000 s between 3.20 s and 3.40 s in kid 1 (back)". */
const char *account_step(struct account *account, const struct sqt_step_row *step);
/* No more will come: fills in `more`. */
void account_finish(struct account *account);

/* Comment lines: what can be said before the rows, and the exact account behind them (length: time of the last record
 * in ns). */
void account_head(struct sqt_sink *sink, const char *const *traces, size_t trace_count,
                  const struct sqt_stream *stream);
void account_tail(struct sqt_sink *sink, const struct account *account, int64_t length, uint64_t records);

/* The same behind the rows of a log. */
void account_log_tail(struct sqt_sink *sink, const struct sqt_log_account *log, int64_t length);

/* How many requests have a line in the access.log that is beside a trace. */
void account_joined(struct sqt_sink *sink, const struct sqt_stream *stream);

/* "single process", "worker", ... */
const char *account_kid_kind(uint32_t kind);

/* A wall time in nanoseconds since the epoch -> "2026-11-21T20:07:18" in UTC; the fraction is left out. */
void account_date(uint64_t ns, char text[32]);

#endif
