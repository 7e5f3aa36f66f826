/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * family.h - makers of tables and figures.
 */
#ifndef SQT_FAMILY_H
#define SQT_FAMILY_H

#include "base/whole.h"
#include "model/model.h"
#include "row/facts.h"
#include "row/identity.h"
#include "row/table.h"
#include "row/where.h"

struct sqt_family;
struct sqt_timeline;
struct sqt_timelines;
struct sqt_whatif;

/* Operations of a batch, if it is not given. */
#define SQT_BATCH 1000

/* Bytes of a job's time groups and the like, if it is one of few; and if it is one of many. */
#define SQT_JOB_ROOM ((size_t)64 << 20)
#define SQT_JOB_ROOM_OF_MANY ((size_t)3 << 19)

/* What is asked for, and where the rows go. */
struct sqt_job {
    const struct sqt_table *table;
    const struct sqt_family *family; /* NULL: the table's own */
    const struct sqt_where *where;   /* NULL: all */
    int64_t since, until;            /* ns; since <= begin < until */
    int64_t from;                    /* ns; the family is told only of what ended then or later; 0: of all */
    int64_t group;                   /* ns, width of a time group */
    int64_t peak;                    /* ns, width of the busiest window */
    int64_t batch;                   /* operations; 0: SQT_BATCH */
    const struct sqt_whatif *whatif; /* of table `whatif`: settings and values; NULL: none are given */
    sqt_row_function *row;
    void (*note)(void *context, const char *key, const char *text); /* a comment line */
    void *context;                                                  /* of row and note */
    void (*run)(struct sqt_job *job, const struct sqt_run *run);    /* in place of the family's; NULL: that */
    int sourced;                         /* its rows are asked where they come from, so `source` is kept */
    struct sqt_row_source source;        /* of the row that is handed over, if `sourced` */
    const struct sqt_request_fact *fact; /* of the request that consumer.request() gets, see sqt_job_fact() */
    const struct sqt_timelines *lines;   /* those that line() gets */
    int (*wants)(void *context,
                 const struct sqt_row_source *source); /* of tables that sum things up in pieces: whether a
                                                                       * thing counts; NULL: each does */
    int open_now;                                      /* what has not ended counts until now, whenever it began */
    int done;                                          /* no more rows are wanted */
    size_t room;                                       /* bytes of its time groups and the like; 0: SQT_JOB_ROOM */
    uint64_t rows;                                     /* handed over so far */
    int64_t start_ns;                                  /* time of day of the trace's start; 0: not known */
    int64_t length;                                    /* ns, time of the last record; known to finish() */
    void *state;                                       /* the family's */
};

/* Each function may be NULL.  Those of the consumer get the job as their context, and what the model holds; those that
 * take a fact get what was decoded from it once for all jobs, and are what figures use: they may run in another thread
 * than the model.  A family has functions of one of the three kinds only: run, the consumer's, or those of facts.  Beside
 * the consumer's it may have line(), which gets each request of the trace with its time line; NULL: there was no room
 * for it.  The line is valid during the call only. */
struct sqt_family {
    enum sqt_table_number where[SQT_WHERE_TABLES]; /* whose columns --where takes */
    unsigned where_count;
    int64_t group; /* ns, the width of a time group that --group changes; 0: the usual one */
    int unpicked;  /* what --where does not pick is in its rows, too */
    int chained;   /* where a row begins follows from the row before it, back to the start of the trace */
    void (*start)(struct sqt_job *job);
    void (*run)(struct sqt_job *job, const struct sqt_run *run);
    struct sqt_consumer consumer;
    void (*line)(struct sqt_job *job, const struct sqt_xact *xact, const struct sqt_request_fact *fact,
                 const struct sqt_timeline *line);
    void (*request)(struct sqt_job *job, const struct sqt_request_fact *request);
    void (*expect)(struct sqt_job *job, const struct sqt_request_fact *request); /* comes soon, perhaps: a hint */
    void (*swap)(struct sqt_job *job, const struct sqt_swap_fact *swap);
    void (*io)(struct sqt_job *job, const struct sqt_io_fact *io);
    void (*diskop)(struct sqt_job *job, const struct sqt_diskop_fact *op);
    /* Of a trace that is still being written, before finish(): what main threads do now. */
    void (*open_loop)(struct sqt_job *job, const struct sqt_open_loop *loop, const struct sqt_now *now);
    void (*finish)(struct sqt_job *job);
    void (*end)(
        struct sqt_job *job); /* at last, finished or not: of a family that has no rows then, but memory to give back */
};

/* The makers: each table has its own, and a figure has the one that its row in figures.def names. */
#define SQT_TABLE(id, name, kind, doc) extern const struct sqt_family sqt_family_##id;
#define SQT_FIGURE(id, name, family, title, x, y, rule, caption) extern const struct sqt_family sqt_family_##family;
#define SQT_CURVE(id, curve, FORM, part, whole)
#define SQT_COLUMN(id, name, type, doc)
#define SQT_STAGE_COLUMNS(id, part, count)
#define SQT_TABLE_END(id)
#include "row/tables.def"
#undef SQT_TABLE
#undef SQT_COLUMN
#undef SQT_STAGE_COLUMNS
#undef SQT_TABLE_END
#undef SQT_FIGURE
#undef SQT_CURVE

/* The maker of a table or figure. */
const struct sqt_family *sqt_family_of(const struct sqt_table *table);

/* Whether a thing that began at that time, with this row, is asked for. */
static inline int
sqt_job_wants(const struct sqt_job *job, int64_t begin, const union sqt_cell *row)
{
    return begin >= job->since && begin < job->until && sqt_where_match(job->where, &row);
}

static inline void
sqt_job_row(struct sqt_job *job, const union sqt_cell *row)
{
    if (!job->done)
        job->done = !job->row(job->context, row);
    ++job->rows;
}

/* The fact of the request that consumer.request() got: decoded for all jobs of the pass, or else in own. */
static inline const struct sqt_request_fact *
sqt_job_fact(const struct sqt_job *job, struct sqt_request_fact *own, const struct sqt_xact *xact)
{
    if (job->fact)
        return job->fact;
    sqt_request_fact(own, xact);
    return own;
}

/* Whether it makes the trace busy at a time that is asked for. */
static inline int
sqt_job_counts_request(const struct sqt_job *job, const struct sqt_request_fact *r)
{
    return !sqt_durations_unknown(r->outcome) && r->outcome != SQT_OUTCOME_UNFINISHED && r->begin >= job->since &&
           r->begin < job->until;
}

/* Whether it is asked for, and its stages are what they would have been: it is neither lost nor unfinished. */
static inline int
sqt_job_wants_request(const struct sqt_job *job, const struct sqt_request_fact *r)
{
    return !sqt_durations_unknown(r->outcome) && r->outcome != SQT_OUTCOME_UNFINISHED &&
           sqt_job_wants(job, r->begin, r->row);
}

static inline int
sqt_job_wants_swap(const struct sqt_job *job, const struct sqt_swap_fact *s)
{
    return !sqt_durations_unknown(s->outcome) && s->outcome != SQT_OUTCOME_UNFINISHED &&
           sqt_job_wants(job, s->begin, s->row);
}

/* The bytes that a job has for its time groups and the like. */
static inline int64_t
sqt_job_room(const struct sqt_job *job)
{
    return (int64_t)(job->room ? job->room : SQT_JOB_ROOM);
}

/* The bytes that a job has for requests and swaps that are not over: 24 MiB, or 6 MiB in a pass of many. */
static inline int64_t
sqt_job_open_room(const struct sqt_job *job)
{
    const int64_t room = 4 * sqt_job_room(job), most = (int64_t)24 << 20;
    return room < most ? room : most;
}

/* The line that says that a bound was met: the count of things, and what became of them. */
void sqt_job_note_bound(const struct sqt_job *job, uint64_t count, const char *words);

/* 100 * part / whole in thousandths, rounded; missing where there is no whole. */
static inline int64_t
sqt_percent(double part, double whole)
{
    const double value = whole > 0 ? part / whole * 100000 : 0;
    return whole <= 0 ? SQT_CELL_MISSING : sqt_whole(value + (value < 0 ? -0.5 : 0.5));
}

/* Says how good the medians or percentiles are: coarse ones come from histograms, see distribution.h. */
void sqt_job_note_coarse(const struct sqt_job *job, const char *key, int coarse);

/* part / whole in thousandths of a percent, rounded; missing where the whole is less than 10. */
int64_t sqt_share(uint64_t part, uint64_t whole);

/* Events for each second in thousandths, rounded. */
int64_t sqt_rate(uint64_t events, int64_t ns);

#endif
