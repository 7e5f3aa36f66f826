/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * window.h - a part of the time of a trace: only the blocks that can matter for it are read.
 *
 * What begins in the window may need earlier records: of its connection, of its leader, of its swap.  So reading starts some
 * records before the window.  Blocks before that are passed over by their headers, which say when they begin and end.
 */
#ifndef SQT_WINDOW_H
#define SQT_WINDOW_H

#include "stream.h"

struct sqt_window {
    int64_t since, until; /* ns since the start of the stream: since <= begin < until */
    uint64_t lookback;    /* records of each process that are read before since, at least; 0: only since counts */
    int64_t lookback_ns;  /* the same in time, if it is more; INT64_MAX: all that is before */
};

/* What reading the window costs.  Numbers of records come from the headers of blocks. */
struct sqt_window_cost {
    int64_t from;              /* ns: the earliest time from which a process is read; INT64_MIN: its first record */
    uint64_t records, all;     /* from there up to `until`, and in the whole trace */
    uint64_t behind;           /* from `until` on: read only as far as what began before it is not over */
    uint64_t bytes, all_bytes; /* of files */
    int cut;                   /* there are earlier records, which are not read */
};

/* From now on only that is read; reading goes on behind `until`, and who reads stops.  Times of records are the same as when all is
 * read.  Call it after sqt_stream_keep_kids, before the first sqt_stream_next, of a stream that is not followed. */
void sqt_stream_window(struct sqt_stream *stream, const struct sqt_window *window, struct sqt_window_cost *cost);

/* Narrows [since, until) to the begin of the transaction of that id and kid, INT64_MIN: any, by unpacking a few blocks.
 * Returns 1; or 0, and changes nothing, if that is not certain: ids may not grow, records be lost, or a process
 * still write.  Call it where sqt_stream_window may be called, and before that. */
int sqt_stream_find_xact(struct sqt_stream *stream, int64_t kid, uint64_t xid, int64_t *since, int64_t *until);

/* The same of the requests of a client's connection: from its accept to its close, if that comes within some minutes; else to
 * the end of the trace. */
int sqt_stream_find_conn(struct sqt_stream *stream, int64_t kid, uint64_t conn, int64_t *since, int64_t *until);

/* When a client's connection was accepted, and what happened to it before its first request. */
struct sqt_accepted {
    int64_t at, waited; /* ns; waited for the accept, -1: not known */
    uint32_t listener;  /* definition of the origin; UINT32_MAX: not known */
    int used;           /* it has had a request: the rest is of no more use */
    int unsure;         /* whether it has had one is not known, or a clock stepped */
    int64_t tls;        /* ns of the TLS handshake, -1: none */
    uint32_t tls_end;   /* aux of CLIENT_TLS_END */
};

/* Looks for a connection that was accepted before reading began, in a few blocks that are unpacked for it: 1, or 0 if it is not
 * certain, as above, or many blocks were unpacked before. */
typedef int sqt_accepted_function(void *context, const struct sqt_origin *origin, uint64_t conn,
                                  struct sqt_accepted *accepted);
int sqt_stream_accepted(void *stream, const struct sqt_origin *origin, uint64_t conn, struct sqt_accepted *accepted);

/* What reading all of it costs: the same as a window without an end. */
void sqt_stream_cost(struct sqt_stream *stream, struct sqt_window_cost *cost);

#endif
