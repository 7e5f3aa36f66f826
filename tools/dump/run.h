/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run.h - one run of sqtrace-dump.
 */
#ifndef SQT_DUMP_RUN_H
#define SQT_DUMP_RUN_H

#include <time.h>

#include "parquet/parquet.h"
#include "pass/pass.h"
#include "tally/spread.h"
#include "../program/account.h"
#include "../program/pager.h"
#include "../program/voice.h"
#include "dump.h"

/* Findings that are told behind another table. */
struct dump_findings {
    struct sqt_job job;
    char **lines;
    size_t count;
};

struct dump {
    struct sqt_sink sink; /* the first: jobs have it as their context */
    const struct dump_request *request;
    struct sqt_job job;
    struct dump_findings findings;
    struct dump_live *live; /* findings that are followed; NULL: they are not */
    int lived, gone;       /* --follow: by the last look, a process wrote the trace; or one did before, and none does */
    struct sqt_crew *crew; /* NULL: one processor, or no trace */
    struct sqt_pass *pass;
    struct sqt_wide_table wide; /* makes times of day, and says whose rows they are */
    struct sqt_identities identities;
    const struct sqt_job *maker;     /* of the rows */
    struct sqt_tally *tally;         /* counts the rows for --group-by; NULL: does not */
    struct sqt_histogram *histogram; /* the same for --histogram */
    struct sqt_histogram histogram_of;
    struct sqt_spread *spread; /* makes a wide table of the groups for --wide; NULL: does not */
    unsigned char spread_columns[SQT_SPREAD_COLUMNS + 1];
    struct sqt_order *order;     /* keeps the rows for --sort; NULL: none */
    struct sqt_parquet *parquet; /* takes the rows in place of the sink; NULL: does not */
    struct dump_parquet_table *parquet_tables;
    int cut;              /* --limit: no more rows are wanted */
    int64_t since, until; /* ns, what the request's mean in this trace */
    struct program_window window;
    struct pager pager;
    int quiet;
    struct account account;
    struct timespec began, shown;
    int priced;                 /* what reading on behind --until may cost was said */
    struct program_voice voice; /* for the progress */
    char told[512];             /* the first error of the reader; "": none */
    char dead[160];             /* with --fail-if and a time before now: no process writes the trace; "": not so */
    int dead_fails;             /* that is an alarm */
};

/* rows.c */
/* Takes a row of the table: a sqt_row_function whose context is the dump. */
int dump_row(void *context, const union sqt_cell *row);
/* Call it when the start of the trace is known, before the first row. */
void dump_rows_begin(struct dump *dump);
/* Prints what was kept.  Returns 0, or -1 if there was no room for it, which it says. */
int dump_rows_finish(struct dump *dump);
/* Forgets what was kept, where it cannot be finished. */
void dump_rows_free(struct dump *dump);

/* follow.c */
/* Prepares it; call it before the first record is read.  Returns 0, or -1 after a report. */
int dump_follow_begin(struct dump *dump, struct sqt_stream *stream);
/* Reads until a signal comes, or no more rows are wanted. */
void dump_follow(struct dump *dump, struct sqt_stream *stream);

/* live.c: findings that are followed; each does nothing where they are not. */
int dump_live_wanted(const struct dump_request *request);
/* The job takes runs in place of the family's. */
void dump_live_begin(struct dump *dump, struct sqt_job *job, struct sqt_stream *stream);
/* Prints what was found, and looks for more. */
void dump_live_look(struct dump *dump, struct sqt_stream *stream);
void dump_live_end_origin(struct dump *dump, const struct sqt_origin *origin);
void dump_live_forget_origin(struct dump *dump, const struct sqt_origin *origin);
void dump_live_free(struct dump *dump);

/* alarm.c */
/* Prints what became of the conditions.  damaged: whether --strict is to be told so.  Returns the exit status. */
int dump_alarms_finish(const struct dump *dump, int damaged);

/* findings.c */
/* Whether the table that is asked for ends with the findings; their job is then ready. */
int dump_findings_begin(struct dump *dump);
/* Prints them, and frees them. */
void dump_findings_print(struct dump *dump);

/* parquet.c */
/* The jobs of --format=parquet, which the caller frees after dump_parquet_finish().  The output folder is open. */
struct sqt_job *dump_parquet_begin(struct dump *dump, size_t *count);
/* Writes what is left.  Returns 0, or -1 if that failed or an earlier write did, which it says. */
int dump_parquet_finish(struct dump *dump);

/* say.c */
/* Takes what the reader has to say; the context is a struct dump. */
void dump_report(void *context, enum sqt_severity severity, const char *text);
/* Shows how far it is, at most twice a second, when that takes longer than a second. */
void dump_show_progress(struct dump *dump);
/* What to do next, for a person at a terminal. */
void dump_hint(const struct dump *dump);
/* Whether no process of the trace is the kid that is asked for, which it says. */
int dump_misses_kid(struct dump *dump, const struct sqt_stream *stream);
/* Counts lost records and says so. */
void dump_take_loss(struct dump *dump, const struct sqt_loss_row *loss);
/* Says that there was no room for more of something. */
void dump_take_bound(struct dump *dump, const struct sqt_bound_row *bound);
/* A step of a clock. */
void dump_take_step(struct dump *dump, const struct sqt_step_row *step);
/* What can be said before the rows, and the exact account behind them. */
void dump_head_comments(struct dump *dump, const struct sqt_stream *stream);
void dump_tail_comments(struct dump *dump, const struct sqt_stream *stream);

#endif
