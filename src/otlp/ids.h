/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ids.h - the ids of OpenTelemetry's traces and spans, and which traces are sampled.
 *
 * Ids are hashes of the ring's id and of numbers within that ring.  So a span has the same id whenever it is made, and a
 * receiver that gets it twice can see that.  Rings have random ids, so those of two proxies differ.
 */
#ifndef SQT_OTLP_IDS_H
#define SQT_OTLP_IDS_H

#include "format/format.h"

/* What a span is of; part of its id. */
enum sqt_otlp_kind { SQT_OTLP_REQUEST, SQT_OTLP_TRY, SQT_OTLP_WAIT, SQT_OTLP_SWAP, SQT_OTLP_STAGE, SQT_OTLP_KINDS };

/* Where the span of a request stands.  An id of zeroes means that there is none. */
struct sqt_otlp_ids {
    uint8_t trace[16];
    uint8_t span[8];
    uint8_t parent[8]; /* of the span */
    uint32_t flags;    /* of W3C's Trace Context, 1: sampled; and those of OTLP for a span's parent */
};

/* OTLP's flags of a span whose parent is of another process. */
#define SQT_OTLP_REMOTE_PARENT UINT32_C(0x300)
#define SQT_OTLP_TRACE_FLAGS UINT32_C(0xff)

/* Which traces are told of. */
struct sqt_otlp_sampling {
    uint64_t head; /* a trace is left out if its random number is smaller: 0 keeps all, 2^56 none.  Where a client named
                    * its trace, the client's choice counts instead */
    int64_t slow;  /* ns: requests that take so long are kept; 0: not asked for */
    int failed;    /* requests that failed are kept */
    uint64_t rest; /* as head, for those that are neither slow nor failed; counts if slow or failed is asked for */
    int stages;    /* stages of requests are spans, too */
};
#define SQT_OTLP_RANDOM_BITS 56

/* The ids of the request of that transaction id (sqt_xact.id). */
void sqt_otlp_request_ids(struct sqt_otlp_ids *ids, const uint8_t ring[16], uint64_t xact);

/* A number as eight bytes of an id. */
void sqt_otlp_put_id(uint8_t to[8], uint64_t half);

/* The id of another span: never 0.  The numbers tell it from others of its kind in that ring. */
void sqt_otlp_span_id(uint8_t id[8], const uint8_t ring[16], enum sqt_otlp_kind kind, const uint64_t numbers[3]);

/* The trace of a span that belongs to no request. */
void sqt_otlp_own_trace(uint8_t trace[16], const uint8_t span[8], const uint8_t ring[16]);

/* Whether the trace with this id is sampled, by a threshold as in struct sqt_otlp_sampling.  OpenTelemetry's own samplers
 * look at the same bits, so they agree. */
int sqt_otlp_sampled(const uint8_t trace[16], uint64_t threshold);

/* The threshold that keeps that share, in billionths from 0 to 1e9, of all traces. */
uint64_t sqt_otlp_threshold(uint64_t billionths);

#endif
