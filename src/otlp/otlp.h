/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * otlp.h - requests and what they wait for as spans of OpenTelemetry, in the JSON encoding of its protocol, OTLP.
 *
 *     request      SERVER              squid.* has its row
 *         try      CLIENT              a connection to a server, or a try to get one
 *         sent     CLIENT              a try to send the request to a server, with trace_context=forward
 *         wait     CLIENT, INTERNAL    for an adaptation service or name server; for a helper
 *         swap     INTERNAL            its blocks are events
 *         stage    INTERNAL            a time in which the request was in one stage, if stages are asked for
 *
 * A request is told with all of its spans when it is over; those that end later follow.  A span that belongs to no
 * request is the root of a trace of its own, or of a trace with the others of its transaction.  A server's name or address is
 * there if the trace has it; nothing else is told of hosts, addresses and URLs: names of name servers, and paths, are left
 * out.
 *
 *     struct sqt_otlp *otlp = sqt_otlp_new(&settings);
 *     sqt_otlp_request(otlp, xact, record);   and the others, as the model hands things out
 *     sqt_otlp_finish(otlp);                  tells what still waits
 *     sqt_otlp_free(otlp);
 *
 * One thread.  Memory is bounded: keep.h, blocks.h.  It keeps nothing of an origin.
 */
#ifndef SQT_OTLP_H
#define SQT_OTLP_H

#include "ids.h"
#include "model/model.h"
#include "row/table.h"

/* Stages of a request that are spans, at most: the attribute squid.stages_left_out counts further ones. */
#define SQT_OTLP_STAGES 256

struct sqt_otlp_settings {
    struct sqt_otlp_sampling sampling;
    uint64_t start_ns; /* of the stream, ns since 1970: for traces that do not say the time of day */
    void *context;     /* of the functions */
    /* Whether a request with that row is asked for, or a thing that belongs to none (row is NULL); begin: ns since the
     * start of the stream.  NULL: all are. */
    int (*wants)(void *context, int64_t begin, const union sqt_cell *row);
    /* 1: wants() may refuse requests for what their row says.  So a span is told only with its request. */
    int picks;
    /* Takes one object ResourceSpans, of so many bytes and spans; it is valid during the call only. */
    void (*take)(void *context, const char *json, size_t size, unsigned spans);
};

struct sqt_otlp;

/* The settings are copied. */
struct sqt_otlp *sqt_otlp_new(const struct sqt_otlp_settings *settings);

/* What the model hands out.  record: sqt_model_record() meanwhile. */
void sqt_otlp_request(struct sqt_otlp *otlp, const struct sqt_xact *xact, uint64_t record);
void sqt_otlp_unlogged(struct sqt_otlp *otlp, const struct sqt_xact *xact);
void sqt_otlp_connection(struct sqt_otlp *otlp, const struct sqt_attempt *attempt, uint64_t record);
void sqt_otlp_sent(struct sqt_otlp *otlp, const struct sqt_try_row *row, uint64_t record);
void sqt_otlp_waited(struct sqt_otlp *otlp, const struct sqt_wait *wait, uint64_t record);
void sqt_otlp_io(struct sqt_otlp *otlp, const struct sqt_io *io); /* uses the swap's user */
void sqt_otlp_swap(struct sqt_otlp *otlp, struct sqt_swap *swap, uint64_t record);

/* Where a request's time goes, for the spans of stages; uses the transaction's user. */
void sqt_otlp_charge(struct sqt_otlp *otlp, const struct sqt_charge *charge);
void sqt_otlp_recharge(struct sqt_otlp *otlp, const struct sqt_charge *charge);

/* Spans that were left out, because too many waited for their requests, or waited too long. */
uint64_t sqt_otlp_forgotten(const struct sqt_otlp *otlp);

/* No more will come: tells the spans that still wait. */
void sqt_otlp_finish(struct sqt_otlp *otlp);
void sqt_otlp_free(struct sqt_otlp *otlp); /* NULL is welcome */

#endif
