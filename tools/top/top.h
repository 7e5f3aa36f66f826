/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * top.h - what the files of sqtrace-top share.
 */
#ifndef SQT_TOP_H
#define SQT_TOP_H

#include <stdio.h>

#include "figure/stat/names.h"
#include "read/follow.h"
#include "row/facts.h"
#include "row/where.h"
#include "row/kept.h"
#include "sink/sink.h"
#include "../program/options.h"
#include "window.h"

enum top_status { TOP_DONE = 0, TOP_FAILED = 1, TOP_USAGE = 2 };

/* ---- the command line ---- */

enum top_option {
#define TOP_OPTION(id, name, letter, value, doc) TOP_##id,
#include "options.def"
    TOP_OPTIONS
};
extern const struct option_info top_option_infos[TOP_OPTIONS];

/* Orders of the requests in flight. */
#define TOP_SORTS(X) X(age_ns) X(stage_ns) X(stage) X(whom) X(kid)
enum top_sort {
#define TOP_SORT(name) TOP_SORT_##name,
    TOP_SORTS(TOP_SORT)
#undef TOP_SORT
        TOP_SORT_COUNT
};
extern const char *const top_sort_names[TOP_SORT_COUNT];

struct top_request {
    const char **logs; /* files of access.log */
    size_t log_count;
    const char *given[TOP_OPTIONS]; /* value of each option; "" if it stands alone, NULL if not given */
    const char **traces;
    size_t trace_count;
    unsigned table; /* enum top_table; TOP_TABLES: the screen */
    const struct sqt_sink_type *format;
    enum top_sort sort;
    int64_t limit;            /* rows; 0: all */
    int64_t kid, xid;         /* -1: not given */
    int64_t now, last, every; /* ns */
};

/* Reads the command line.  Returns 0, or -1 with one line in error.  top_request_free() frees what it takes. */
int top_parse(struct top_request *request, int argc, char **argv, char *error, size_t error_size);
void top_request_free(struct top_request *request);
void top_help(FILE *to);

/* A filter of requests.  Returns NULL with one line in error; free it with sqt_where_free(). */
struct sqt_where *top_where_parse(const char *text, char *error, size_t error_size);

/* ---- tables ---- */

enum top_table {
#define TOP_TABLE(id, name, title, doc) TOP_TABLE_##id,
#include "tables.def"
    TOP_TABLES
};

enum top_column_number {
#define TOP_TABLE(id, name, title, doc) TOP_AT_##id,
#define TOP_COLUMN(id, name, type, doc) TOP_AT_##id##_##name,
#define TOP_TABLE_END(id) TOP_AT_##id##_end_,
#include "tables.def"
    TOP_COLUMNS
};

/* Place of a column in a row of its table, and how many there are. */
#define TOP_CELL(table, name) (TOP_AT_##table##_##name - TOP_AT_##table - 1)
#define TOP_CELLS(table) (TOP_AT_##table##_end_ - TOP_AT_##table - 1)
#define TOP_CELLS_MOST 16

extern const struct sqt_table top_tables[TOP_TABLES];

/* ---- what is known ---- */

#define TOP_NAME 256

/* A use of something that requests wait for, by second. */
struct top_uses {
    int64_t number; /* of the second */
    uint32_t count, failed;
    double ns; /* a double: the waits of a damaged trace can add up to more than an int64_t has room for */
};

/* Something that requests wait for. */
struct top_waited {
    struct sqt_name_entry named; /* "<kind> <name>" */
    unsigned waiting;            /* requests in flight */
    int64_t oldest;              /* ns; of those */
    int64_t last;                /* number of the second in which it was used last, or a request waited for it */
    struct top_uses seconds[WINDOW_SECONDS];
};
#define TOP_WAITED_MOST 256

/* Work of a main thread, by second. */
struct top_work {
    int64_t number; /* of the second */
    uint32_t passes;
    int64_t busy, longest; /* ns; of all passes, and of the longest one */
    uint32_t activity;     /* the longest one's, a definition; UINT32_MAX: none */
};

/* A process; hangs on its origin's user. */
struct top_process {
    const struct sqt_origin *origin;
    int ended;
    int64_t last; /* ns; time of its last record */
    char last_event[32];
    struct top_work seconds[WINDOW_SECONDS];
};

/* A request that is not over. */
struct top_flight {
    int64_t begin, since; /* ns; of the request, and of the stage */
    uint64_t xid;         /* with SQT_UNNAMED before it has one */
    uint64_t conn;
    uint32_t kid;
    unsigned stage;
    int sure;
    char method[24];
    char on[24];
    char whom[TOP_NAME];
};
/* Of more requests in flight, the first ones of each process are listed. */
#define TOP_FLIGHTS_MOST 20000

/* A request that is over.  Texts are safe to show; "": not known. */
struct top_ended {
    int64_t total, end;              /* ns */
    const struct sqt_origin *origin; /* NULL: it is gone */
    uint64_t xid;                    /* with SQT_UNNAMED if it never had one */
    uint64_t conn;
    uint32_t kid;
    int logged; /* its line in access.log was found */
    int64_t status;
    const char *class, *stage; /* the longest one */
    char method[24], server[64], client[64], user[64], host[128], url[TOP_NAME];
};
struct top_ends;

/* Bytes of the stages that are remembered of requests in flight. */
#define TOP_KEEP_BYTES ((size_t)8 << 20)
#define TOP_TILES 256

/* Where the time of one request went. */
struct top_waterfall {
    int wanted, found, ended; /* ended: it has been over since */
    uint64_t xid;
    uint32_t kid;
    int64_t begin, end;               /* ns; end: of what is known */
    struct sqt_tile tiles[TOP_TILES]; /* the longest turns, in the order of time */
    unsigned count;
    struct top_sum {
        unsigned stage, turns;
        int64_t ns;
    } sums[SQT_STAGES + 1]; /* by stage; the last one is of no stage */
    unsigned turns;         /* all that are known */
    int cut;                /* there were more, which are in the sums of ns alone */
    char head[256];         /* method, server, result */
    char line[512];         /* of a request that is over: what its line in access.log says; "": it has none */
};

static inline int64_t
top_tile_ns(const struct sqt_tile *tile)
{
    return tile->until - tile->from;
}

struct top {
    const struct top_request *request;
    struct sqt_stream *stream;
    struct sqt_model *model;
    struct sqt_live *live;
    struct sqt_where *where; /* NULL: all */
    struct window window;    /* what has been told */
    struct window open;      /* what is open: stages since the last record of each request, up to now */
    struct sqt_names waited; /* struct top_waited */
    struct top_ends *ends;   /* ended.c; NULL: no request has ended */
    struct sqt_keep keep;
    struct top_waterfall waterfall;
    int64_t begin;  /* ns; time of the first record that was read; INT64_MAX: none was */
    int64_t latest; /* ns; of the last one */
    int64_t now;    /* ns; as of the last look */
    int live_now;   /* a process writes */
    uint64_t begun_before;
    struct top_flight *flights; /* as of the last look, in order */
    size_t flight_count, flight_room;
    size_t in_flight; /* all of them */
    enum top_sort sort;
    int drawn;         /* messages go to the screen */
    char message[256]; /* the last one */
};

/* follow.c: reads.  The top is zeroed.  top_open returns 0, or -1 after a report. */
int top_open(struct top *top, const struct top_request *request);
/* Reads what there is now, after waiting so many milliseconds, and looks at what is open. */
void top_look(struct top *top, int milliseconds);
/* Only reads: what is shown stays as it is. */
void top_read(struct top *top);
void top_close(struct top *top);

/* watch.c: takes what the model hands out; a process hangs on its origin's user. */
void top_watch_request(struct top *top, const struct sqt_request_fact *fact);
void top_watch_wait(void *top, const struct sqt_wait *wait);
void top_watch_io(void *top, const struct sqt_io *io);
void top_watch_loss(void *top, const struct sqt_loss_row *loss);
void top_watch_loop(void *top, const struct sqt_loop_row *pass);
/* A run, before the model takes it; an origin that has ended. */
void top_watch_run(struct top *top, const struct sqt_run *run);
void top_watch_ended(const struct sqt_origin *origin);
/* The top is zeroed but for request, stream and model; looks what is open now; frees what the others took. */
void top_watch_begin(struct top *top);
void top_watch_look(struct top *top);
void top_watch_end(struct top *top);

/* flight.c: what is in flight now. */
void top_flights(struct top *top);
/* Brings them into the order that is asked for. */
void top_flight_sort(struct top *top);

/* waited.c: what is waited for.  The name may be NULL.  A new name takes the place of one that was not used of late. */
struct top_waited *top_waited_of(struct top *top, const char *on, const char *whom, int64_t at);
void top_waited_use(struct top *top, const char *on, const char *whom, int64_t at, int64_t ns, int failed);

/* ended.c: takes a request that is over; looks for lines of access.log that were not there yet. */
void top_ended_take(struct top *top, const struct sqt_request_fact *fact, const struct sqt_xact *xact);
void top_ended_look(struct top *top);
/* An origin is about to be freed; nothing of before counts any more. */
void top_ended_forget(struct top *top, const struct sqt_origin *origin);
void top_ended_clear(struct top *top);
/* Those that ended in some seconds, the slowest first.  Free the list. */
const struct top_ended **top_ended_of(const struct top *top, const struct window_span *span, size_t *count);

/* rows.c: hands out the rows of a table, at most `limit` (0: all). */
void top_rows(const struct top *top, unsigned table, int64_t limit, sqt_row_function *row, void *context);

/* findings.c: asks what findings there are, at most once a second; with --once, waits for them. */
void top_findings_look(struct top *top);

/* waterfall.c: of an open request, and of one that ends. */
void top_waterfall_take(struct top *top, const struct sqt_xact *xact, int ended);

/* print.c: what --once prints.  Returns enum top_status. */
int top_print(struct top *top);

/* screen.c: draws until the user leaves.  Returns enum top_status. */
int top_screen(struct top *top);

#endif
