/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stream.h - traces of any kind as one stream of records in time order.
 *
 * A source is a segment, a live or left-over ring, a directory of both, or a pipe ("-").  Sources of the same ring id,
 * boot and start are one origin: one process's life as a writer, and the name space of the ids in its records.  The stream joins
 * the segments and the ring of each origin without a gap or a double, merges origins by time, and hands out runs:
 * consecutive records of one origin before which no record of another origin remains.  A unit is never split.
 *
 * Records come in this program's numbering of events (an event that this program does not know has number
 * SQT_EVENTS + n and its name is sqt_origin_event_name).  Memory is bounded by a block for each origin that is open
 * at the time being read.
 */
#ifndef SQT_STREAM_H
#define SQT_STREAM_H

#include "../format/events.h"
#include "base/crew.h"
#include "logged.h"

struct sqt_origin {
    struct sqt_identity identity;
    uint8_t
        shown_ring[16];   /* what rows and files call its ring: identity.ring_id, or what sqt_stream_show_ring() said */
    unsigned index;       /* dense, from 0 in the order of opening */
    uint64_t head, lost;  /* from the last totals seen, if any */
    int over;             /* all its records were handed out; not of a stream that is followed */
    int late;             /* earlier records are there, and are not read: window.h */
    int recorder;         /* a flight recorder made it */
    uint64_t overwritten; /* of a flight recorder: records before the first one that was there to read */
    void *user;           /* the consumer's; NULL at first */
};

/* Ticks to nanoseconds since the start of the stream: a straight line, exact to the nanosecond near its base. */
struct sqt_line {
    uint64_t base_ticks;
    int64_t base_ns;
    double ns_per_tick;
};

/* No time is farther from the base of its line: 9 years, 2^58 ns. */
#define SQT_SPAN_MAX_NS 288230376151711744.0

static inline int64_t
sqt_line_ns(const struct sqt_line *line, uint64_t ticks)
{
    /* A stamp that a damaged record carries may lie anywhere.  9 years are enough, and no sum of two differences between
     * times overflows: clock.h. */
    const double limit = SQT_SPAN_MAX_NS;
    double ns = (double)(int64_t)(ticks - line->base_ticks) * line->ns_per_tick;
    ns = ns > limit ? limit : ns < -limit ? -limit : ns;
    return line->base_ns + (int64_t)ns;
}

struct sqt_run {
    struct sqt_origin *origin;
    const struct sqt_record *records; /* valid until the next call */
    size_t count;
    uint64_t first; /* number of the first record within its origin; UINT64_MAX for records the reader made (LOST) */
    uint64_t next;  /* number of the record behind them; also where the reader made them */
    struct sqt_line line;
    int unsure;  /* these records are from around a step of the clock: no duration that touches them is known */
    int overdue; /* others have earlier records, but are not opened or read on yet: too many are open at a time */
    /* Of a log there are no records, but requests, each with its own origin; else NULL.  origin is that of the first. */
    struct sqt_logged *logged;
    size_t logged_count;
};

enum sqt_severity { SQT_NOTE, SQT_WARNING, SQT_ERROR };

/* Receives one line without newline about what is wrong with a trace: "<file>: offset <n>: <what>".  A WARNING means
 * that something could not be read and the rest was; an ERROR that a source could not be read at all. */
typedef void sqt_diagnosis_function(void *context, enum sqt_severity severity, const char *text);

struct sqt_stream;

/* Opens sources.  Returns NULL when nothing at all can be read, after reporting why. */
struct sqt_stream *sqt_stream_open(const char *const *paths, size_t count, sqt_diagnosis_function *report,
                                   void *context);

/* Opens an access.log in place of a trace: its runs have requests in the order of its lines.  Returns NULL when nothing at
 * all can be read, after reporting why. */
struct sqt_stream *sqt_stream_open_log(const struct sqt_log_request *request, sqt_diagnosis_function *report,
                                       void *context);

/* Opens an access.log beside a trace, for sqt_stream_logged().  Returns 0, or -1 after reporting why not.  Call it before the
 * first sqt_stream_next. */
int sqt_stream_join_log(struct sqt_stream *stream, const struct sqt_log_request *request);

/* The line of a transaction in the log beside; the context is the stream.  Each line is found once.  Valid until the next
 * call. */
sqt_logged_function sqt_stream_logged;

/* Transactions that the log beside has a line of, so far. */
uint64_t sqt_stream_joined(const struct sqt_stream *stream);

/* What became of the lines of a log so far, in place of a trace or beside it; NULL: there is none. */
const struct sqt_log_account *sqt_stream_log(const struct sqt_stream *stream);

/* Whether the stream is a log, and no trace. */
int sqt_stream_is_log(const struct sqt_stream *stream);

/* Leaves out the origins of other kids; call it before the first sqt_stream_next.  The stream's start stays that of
 * all. */
void sqt_stream_keep_kids(struct sqt_stream *stream, const uint32_t *kids, size_t count);

/* Lets a crew read ahead where that pays; what is handed out and reported is the same, and comes in the thread that
 * calls.  Call it before the first sqt_stream_next.  The crew must live until the stream is closed; NULL is welcome. */
void sqt_stream_share(struct sqt_stream *stream, struct sqt_crew *crew);

/* How much there is to read, from the headers of frames alone: quick, but damage is not looked for, and what a live
 * writer adds later is not in it. */
struct sqt_extent {
    int64_t last_ns; /* time of the last record, since the start of the stream */
    uint64_t records;
    uint64_t lost;
    int lost_known;       /* each writer has said how many it lost, at the end of what it left */
    uint64_t overwritten; /* records of flight recorders that are there no more */
    int recorder;         /* one of the writers was a flight recorder */
};
void sqt_stream_extent(const struct sqt_stream *stream, struct sqt_extent *extent);

/* The next run: 1, or 0 at the end.  What is wrong on the way is reported and left out. */
int sqt_stream_next(struct sqt_stream *stream, struct sqt_run *run);

void sqt_stream_close(struct sqt_stream *stream);

/* Wall time of the earliest record, nanoseconds since the epoch. */
uint64_t sqt_stream_start_ns(const struct sqt_stream *stream);

/* What is added to a time of the origin, to get nanoseconds since the epoch: by the time of day when its ring was made.
 * It is the same from whichever segment reading starts.  INT64_MIN if the trace has no such moment. */
int64_t sqt_origin_wall_ns(const struct sqt_origin *origin);

/* From now on rows and files call the ring of the origin by another id: 16 bytes.  Call it before rows are made. */
void sqt_stream_show_ring(struct sqt_stream *stream, const struct sqt_origin *origin, const uint8_t *id);

/* How many WARNINGs and ERRORs were reported so far. */
unsigned sqt_stream_problems(const struct sqt_stream *stream);

/* All origins, in the order of their first records; those of kids that are left out are among them. */
size_t sqt_stream_origins(const struct sqt_stream *stream);
const struct sqt_origin *sqt_stream_origin(const struct sqt_stream *stream, size_t i);

/* Text of a definition of the origin; NULL if unknown.  Valid until the stream is closed. */
const char *sqt_origin_text(const struct sqt_origin *origin, unsigned kind, uint32_t number);

/* Name of an event as it stands in this origin's records. */
const char *sqt_origin_event_name(const struct sqt_origin *origin, unsigned event);

#endif
