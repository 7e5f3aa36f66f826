/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spans.c - what the model hands out, as spans, to the sender.
 *
 * Requests that ended before the exporter started are not sent, as they are not counted.
 */
#include "exporter.h"
#include "otlp/otlp.h"
#include "send.h"

static void
spans_take(void *context, const char *json, size_t size, unsigned spans)
{
    export_sender_take(((struct exporter *)context)->sender, json, size, spans);
}

/* Of what belongs to no request, only the begin is known. */
static int
spans_wants(void *context, int64_t begin, const union sqt_cell *row)
{
    const struct exporter *const e = context;
    return row ? exporter_counts(e, e->trace.ends) : begin >= e->trace.sent_from;
}

void
exporter_spans_begin(struct exporter *e)
{
    const struct sqt_otlp_settings settings = {.sampling = e->request.sampling,
                                               .start_ns = sqt_stream_start_ns(e->trace.stream),
                                               .context = e,
                                               .wants = spans_wants,
                                               .take = spans_take};
    if (e->sender)
        e->trace.otlp = sqt_otlp_new(&settings);
    e->trace.sent_from = e->trace.counted_from;
    e->trace.last_ns = INT64_MIN;
}

void
exporter_spans_end(struct exporter *e)
{
    if (e->trace.otlp)
        e->forgotten += sqt_otlp_forgotten(e->trace.otlp);
    sqt_otlp_free(e->trace.otlp);
    e->trace.otlp = NULL;
}

uint64_t
exporter_spans_forgotten(const struct exporter *e)
{
    return e->forgotten + (e->trace.otlp ? sqt_otlp_forgotten(e->trace.otlp) : 0);
}

static uint64_t
spans_record(const struct exporter *e)
{
    return sqt_model_record(e->trace.model);
}

void
exporter_spans_request(struct exporter *e, const struct sqt_xact *xact)
{
    e->trace.ends = xact->end;
    if (e->trace.otlp)
        sqt_otlp_request(e->trace.otlp, xact, spans_record(e));
}

void
exporter_spans_connection(struct exporter *e, const struct sqt_attempt *attempt)
{
    if (e->trace.otlp)
        sqt_otlp_connection(e->trace.otlp, attempt, spans_record(e));
}

void
exporter_spans_wait(struct exporter *e, const struct sqt_wait *wait)
{
    if (e->trace.otlp)
        sqt_otlp_waited(e->trace.otlp, wait, spans_record(e));
}

static void
spans_unlogged(void *context, const struct sqt_xact *xact)
{
    sqt_otlp_unlogged(((struct exporter *)context)->trace.otlp, xact);
}

static void
spans_sent(void *context, const struct sqt_try_row *row)
{
    struct exporter *const e = context;
    sqt_otlp_sent(e->trace.otlp, row, spans_record(e));
}

void
exporter_spans_charge(struct exporter *e, const struct sqt_charge *charge)
{
    if (e->trace.otlp)
        sqt_otlp_charge(e->trace.otlp, charge);
}

static void
spans_recharge(void *context, const struct sqt_charge *charge)
{
    struct exporter *const e = context;
    if (e->trace.otlp)
        sqt_otlp_recharge(e->trace.otlp, charge);
}

void
exporter_spans_io(struct exporter *e, const struct sqt_io *io)
{
    if (e->trace.otlp)
        sqt_otlp_io(e->trace.otlp, io);
}

void
exporter_spans_swap(struct exporter *e, struct sqt_swap *swap)
{
    if (e->trace.otlp)
        sqt_otlp_swap(e->trace.otlp, swap, spans_record(e));
}

void
exporter_spans_consume(const struct exporter *e, struct sqt_consumer *consumer)
{
    if (!e->sender)
        return;
    consumer->unlogged = spans_unlogged;
    consumer->sent = spans_sent;
    consumer->recharge = spans_recharge;
}
