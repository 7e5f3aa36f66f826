/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exporter.h - what the files of sqtrace-exporter share.
 *
 *   sqtrace-exporter.c   main: one loop of events, in which a timer follows the trace
 *   options.c            the command line
 *   metrics.def          what is told
 *   series.c             label sets and their values
 *   take.c               rows that ended -> series
 *   samples.c            resource samples -> series
 *   spans.c              requests and what they wait for -> spans of OpenTelemetry
 *   send.c               spans -> a Collector
 *   findings.c           findings -> series
 *   flight.c             requests in flight -> series, and whether Squid lives
 *   follow.c             the trace
 *   messages.c           what is said meanwhile
 *   print.c              series -> text
 *   page.c               what the live page shows
 *   serve.c              what a scrape gets
 *   http.c               connections, requests and answers
 *
 * All runs in one thread.
 */
#ifndef SQT_EXPORTER_H
#define SQT_EXPORTER_H

#include <event2/event.h>
#include <sys/socket.h>

#include "live/live.h"
#include "model/model.h"
#include "read/follow.h"
#include "../program/options.h"
#include "../program/voice.h"
#include "../top/top.h"
#include "otlp/ids.h"
#include "send.h"
#include "known.h"
#include "series.h"

#define EXPORTER_SECOND INT64_C(1000000000) /* ns */

enum exporter_status { EXPORTER_DONE = 0, EXPORTER_FAILED = 1, EXPORTER_USAGE = 2 };

enum exporter_option {
#define EXPORTER_OPTION(id, name, letter, value, doc) EXPORTER_##id,
#include "options.def"
    EXPORTER_OPTIONS
};
extern const struct option_info exporter_option_infos[EXPORTER_OPTIONS];

/* What the command line asks for. */
struct exporter_request {
    const char *given[EXPORTER_OPTIONS];
    const char *trace; /* a trace directory, a ring or a segment */
    const char **words;
    const char *path;  /* of the metrics */
    const char *place; /* where it listens, as it was given */
    int everywhere;    /* at all addresses, of IPv4, too */
    struct sockaddr_storage address;
    int address_length;
    struct export_rules rules;
    int detail;
    struct export_receiver receiver; /* of spans */
    struct sqt_otlp_sampling sampling;
};

/* The trace that is followed. */
struct exporter_trace {
    struct sqt_stream *stream; /* NULL: it cannot be read, and is tried again */
    struct sqt_model *model;
    struct sqt_live *live;
    struct sqt_otlp *otlp; /* makes spans; NULL: nobody wants them */
    int64_t sent_from;     /* what belongs to no request and began before is not sent */
    int64_t ends;          /* when the request ended that is made a span of */
    int64_t last_ns;       /* time of the last record, as counted_from */
    int64_t started_ns;    /* when the exporter started, since 1970 */
    int64_t counted_from;  /* ns since the start of the stream: what ended before is not counted */
    int64_t caught_up;     /* when all that was there had been read, by the monotonic clock; 0: not yet */
    int64_t last_wall_ns;  /* time of day of the last record; 0: none */
    int64_t lived;         /* when a process was seen alive last, by the monotonic clock; 0: never */
    int64_t retry;         /* when it is tried again, by the monotonic clock */
    int64_t aged;          /* when rows began to count half, by the monotonic clock */
};

/* Messages of the reader: each is said once, and of many only some. */
struct exporter_messages {
    char last[8][256]; /* those that were said last */
    unsigned next;
    unsigned said;     /* in this minute */
    uint64_t left_out; /* the others of this minute */
    int64_t minute;    /* by the monotonic clock */
    uint64_t problems; /* warnings and errors, said or not */
    char error[256];   /* why the trace cannot be read; "": it can */
};

struct exporter {
    struct exporter_request request;
    struct program_voice voice;
    struct export_series *series;
    struct exporter_trace trace;
    struct exporter_messages messages;
    uint64_t scrapes, refused;
    int64_t scraped;  /* when it was scraped last, by the monotonic clock; 0: never */
    int64_t looked;   /* when somebody looked at the page last, by the monotonic clock; 0: never */
    struct top watch; /* what the page shows, as sqtrace-top keeps it */
    struct top_request watch_request;
    unsigned findings;            /* that there are now */
    struct export_known culprits; /* label sets of findings */
    uint64_t forgotten;           /* spans, of traces that are closed: sqt_otlp_forgotten() */
    struct export_sender *sender; /* NULL: no spans are sent */
    struct event_base *base;
    struct exporter_server *server;
};

/* The time of a clock, in ns. */
int64_t exporter_now(int clock);

/* options.c */
/* Returns 0, or -1 with a line in error. */
int exporter_parse(struct exporter_request *request, int argc, char **argv, char *error, size_t error_size);
void exporter_request_free(struct exporter_request *request);
void exporter_help(FILE *to);

/* messages.c */
/* Says what is wrong, and counts it; the context is the exporter. */
void exporter_report(void *exporter, enum sqt_severity severity, const char *text);
/* There is no error any more: says so, in these words and the trace's name. */
void exporter_recovered(struct exporter *exporter, const char *words);

/* follow.c */
/* Reads what has come, for at most 50 ms.  Returns whether there is more to read at once. */
int exporter_follow(struct exporter *exporter);
void exporter_unfollow(struct exporter *exporter);

/* take.c */
/* Puts all that the model hands out into the series; the context is the exporter. */
extern const struct sqt_consumer exporter_consumer;
/* Whether what ended then, in ns since the start of the stream, is counted. */
static inline int
exporter_counts(const struct exporter *exporter, int64_t end)
{
    return end >= exporter->trace.counted_from;
}
/* Counts records of a kid. */
void exporter_take_records(struct exporter *exporter, const struct sqt_run *run);
/* What the exporter tells of itself, just before it is printed. */
void exporter_take_own(struct exporter *exporter);

/* Whether the trace can be read now. */
static inline int
exporter_reads(const struct exporter *exporter)
{
    return exporter->trace.stream && !*exporter->messages.error;
}

/* flight.c */
/* The stream is open; what only the page needs. */
void exporter_watch_begin(struct exporter *exporter);
void exporter_watch_consume(const struct exporter *exporter, struct sqt_consumer *consumer);
void exporter_watch_request(struct exporter *exporter, const struct sqt_request_fact *fact);
static inline int
exporter_has_page(const struct exporter *exporter)
{
    return !exporter->request.given[EXPORTER_no_page];
}
/* Takes what is in flight, just before it is printed. */
void exporter_flight_take(struct exporter *exporter);
/* Looks which processes live; whether one did in the last 10 s; and how many do not, and did not end. */
void exporter_flight_look(struct exporter *exporter, int64_t monotonic);
int exporter_squid_is_up(const struct exporter *exporter);
unsigned exporter_silent_processes(const struct exporter *exporter);

/* page.c */
/* A part of the page. */
struct exporter_file {
    const char *path, *type;
    const unsigned char *bytes;
    size_t size;
};
/* The file of that path; NULL: there is none. */
const struct exporter_file *exporter_page_file(const char *path);
/* Prints what the page shows now, as JSON. */
void exporter_page_print(struct exporter *exporter, FILE *to);

/* samples.c */
void exporter_take_sample(void *exporter, const struct sqt_sample_row *sample);

/* findings.c */
/* Takes what was found, and looks for more.  All records that there are have been read. */
void exporter_findings_look(struct exporter *exporter, int64_t monotonic);
/* There are none. */
void exporter_findings_forget(struct exporter *exporter);

/* spans.c */
/* The stream is open; it is about to be closed. */
void exporter_spans_begin(struct exporter *exporter);
void exporter_spans_end(struct exporter *exporter);
/* Adds what only spans need. */
void exporter_spans_consume(const struct exporter *exporter, struct sqt_consumer *consumer);
/* What the model hands out. */
void exporter_spans_request(struct exporter *exporter, const struct sqt_xact *xact);
void exporter_spans_connection(struct exporter *exporter, const struct sqt_attempt *attempt);
void exporter_spans_charge(struct exporter *exporter, const struct sqt_charge *charge);
void exporter_spans_io(struct exporter *exporter, const struct sqt_io *io);
void exporter_spans_swap(struct exporter *exporter, struct sqt_swap *swap);
void exporter_spans_wait(struct exporter *exporter, const struct sqt_wait *wait);
/* Spans that were left out, because too many waited for their requests, or waited too long. */
uint64_t exporter_spans_forgotten(const struct exporter *exporter);

/* serve.c */
/* Listens, and answers.  Returns NULL after a message. */
struct exporter_server *exporter_serve(struct exporter *exporter);
void exporter_server_free(struct exporter_server *server);

#endif
