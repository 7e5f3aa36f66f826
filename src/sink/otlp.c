/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * otlp.c - spans for OpenTelemetry: a line for each request, an object TracesData; see otlp/otlp.h.
 */
#include <string.h>

#include "otlp/otlp.h"
#include "sink.h"

static void
otlp_bytes(struct sqt_out *out, const char *bytes, size_t size)
{
    while (size) {
        const size_t some = size < SQT_OUT_ROOM ? size : SQT_OUT_ROOM;
        memcpy(sqt_out_room(out, some), bytes, some);
        out->used += some;
        bytes += some;
        size -= some;
    }
}

static void
otlp_line(void *context, const char *json, size_t size, unsigned spans)
{
    static const char head[] = "{\"resourceSpans\":[", foot[] = "]}\n";
    struct sqt_job *const job = context;
    struct sqt_sink *const sink = job->context;
    (void)spans;
    otlp_bytes(&sink->out, head, sizeof(head) - 1);
    otlp_bytes(&sink->out, json, size);
    otlp_bytes(&sink->out, foot, sizeof(foot) - 1);
    ++sink->rows;
    job->done = sink->out.error || sink->out.gone;
}

static int
otlp_wants(void *context, int64_t begin, const union sqt_cell *row)
{
    const struct sqt_job *const job = context;
    return !job->done && sqt_job_wants(job, begin, row);
}

static void
otlp_start(struct sqt_job *job)
{
    const struct sqt_sink *const sink = job->context;
    const struct sqt_otlp_settings settings = {
        .sampling = *sink->sampling,
        .start_ns = sink->start_ns,
        .context = job,
        .wants = otlp_wants,
        .picks = job->where != NULL,
        .take = otlp_line,
    };
    job->state = sqt_otlp_new(&settings);
}

#define OTLP_TAKES(name, type) \
    static void otlp_##name(void *context, type *thing) \
    { \
        const struct sqt_job *const job = context; \
        sqt_otlp_##name(job->state, thing, job->source.record); \
    }
OTLP_TAKES(request, const struct sqt_xact)
OTLP_TAKES(connection, const struct sqt_attempt)
OTLP_TAKES(sent, const struct sqt_try_row)
OTLP_TAKES(waited, const struct sqt_wait)
OTLP_TAKES(swap, struct sqt_swap)
#undef OTLP_TAKES

static void
otlp_unlogged(void *context, const struct sqt_xact *xact)
{
    sqt_otlp_unlogged(((struct sqt_job *)context)->state, xact);
}

static void
otlp_charge(void *context, const struct sqt_charge *charge)
{
    sqt_otlp_charge(((struct sqt_job *)context)->state, charge);
}

static void
otlp_recharge(void *context, const struct sqt_charge *charge)
{
    sqt_otlp_recharge(((struct sqt_job *)context)->state, charge);
}

static void
otlp_io(void *context, const struct sqt_io *io)
{
    sqt_otlp_io(((struct sqt_job *)context)->state, io);
}

static void
otlp_finish(struct sqt_job *job)
{
    struct sqt_otlp *const otlp = job->state;
    sqt_otlp_finish(otlp);
    sqt_job_note_bound(job, sqt_otlp_forgotten(otlp),
                       "spans were left out, because too many waited for their requests, or waited too long");
    sqt_otlp_free(otlp);
}

const struct sqt_family sqt_otlp_family = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = otlp_start,
    .consumer = {.charge = otlp_charge,
                 .recharge = otlp_recharge,
                 .request = otlp_request,
                 .unlogged = otlp_unlogged,
                 .connection = otlp_connection,
                 .sent = otlp_sent,
                 .wait = otlp_waited,
                 .io = otlp_io,
                 .swap = otlp_swap},
    .finish = otlp_finish,
};
