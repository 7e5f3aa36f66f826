/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * account.c - see account.h.
 */
#include "account.h"
#include "base/digits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Most processes that are listed. */
#define TOLD_PROCESSES 20

const char *
account_kid_kind(uint32_t kind)
{
    static const char *const kinds[] = {[SQT_KID_SINGLE] = "single process",
                                        [SQT_KID_WORKER] = "worker",
                                        [SQT_KID_DISKER] = "disker",
                                        [SQT_KID_COORDINATOR] = "coordinator"};
    return kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : "unknown kind";
}

void
account_date(uint64_t ns, char text[32])
{
    const time_t seconds = (time_t)(ns / 1000000000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &utc);
}

/* ---- losses ---- */

const char *
account_loss(struct account *a, const struct sqt_loss_row *loss)
{
    char number[32];
    a->lost += loss->records;
    a->ring_full |= loss->reason == SQT_LOSS_RING_FULL;
    if (a->losses++ >= TOLD_LOSSES)
        return NULL;
    char *const text = a->told[a->losses - 1];
    snprintf(text, sizeof(a->told[0]), "%s records between %.2f s and %.2f s (%s)", sqt_grouped(loss->records, number),
             (double)loss->from / 1e9, (double)loss->until / 1e9, sqt_loss_reason(loss->reason));
    return text;
}

const char *
account_bound(struct account *a, const struct sqt_bound_row *bound)
{
    char number[32];
    char *const text = a->bound[a->bounds < TOLD_BOUNDS - 1 ? a->bounds++ : TOLD_BOUNDS - 1];
    snprintf(text, sizeof(a->bound[0]),
             "%s %s of kid %u are open at %.6f s: from there on the oldest are closed as lost",
             sqt_grouped(bound->open, number), bound->what, bound->origin->identity.kid, (double)bound->at / 1e9);
    return text;
}

const char *
account_step(struct account *a, const struct sqt_step_row *step)
{
    if (a->steps++ >= TOLD_STEPS)
        return NULL;
    char *const text = a->stepped[a->steps - 1];
    snprintf(text, sizeof(a->stepped[0]), "%+.3f s between %.2f s and %.2f s in kid %u (%s)",
             (double)sqt_step_ns(step) / 1e9, (double)step->from / 1e9, (double)step->until / 1e9,
             (unsigned)step->origin->identity.kid, sqt_step_kind_name(step->kind));
    return text;
}

void
account_finish(struct account *a)
{
    char records[32], losses[32];
    if (a->losses > TOLD_LOSSES)
        snprintf(a->more, sizeof(a->more), "%s records in %s stretches; --table=losses shows them all",
                 sqt_grouped(a->lost, records), sqt_grouped(a->losses, losses));
}

/* ---- comments ---- */

/* Who wrote it: a line for each Squid process, or how many there were if that would be a long list. */
static void
process_comments(struct sqt_sink *sink, const struct sqt_stream *stream)
{
    const size_t count = sqt_stream_origins(stream);
    char text[320];
    int told = 0; /* what no attached one shows */
    for (size_t i = 0; i < count && i < TOLD_PROCESSES; ++i) {
        const struct sqt_origin *const origin = sqt_stream_origin(stream, i);
        const struct sqt_identity *const who = &origin->identity;
        const char *const attached = sqt_origin_text(origin, SQT_DEF_ATTACHED, 0);
        if (!i || strcmp(who->squid_version, sqt_stream_origin(stream, i - 1)->identity.squid_version) != 0)
            sqt_sink_comment(sink, "squid", who->squid_version);
        snprintf(text, sizeof(text), "kid %u, %s, pid %u", who->kid, account_kid_kind(who->kid_kind), who->pid);
        sqt_sink_comment(sink, "process", text);
        if (attached) {
            snprintf(text, sizeof(text), "from outside, by sqtrace-attach, to the program with build id %.128s",
                     attached);
            sqt_sink_comment(sink, "attached", text);
            if (!told++)
                sqt_sink_comment(
                    sink, "not seen",
                    "status, method, names, ids of access.log, accepts, other threads' disk operations, the "
                    "event loop, the machine; a patched Squid shows them");
        }
    }
    if (count > TOLD_PROCESSES) {
        snprintf(text, sizeof(text), "and %zu more", count - TOLD_PROCESSES);
        sqt_sink_comment(sink, "process", text);
    }
}

/* From where to where it goes, by the headers of frames. */
static void
account_holds(struct sqt_sink *sink, const struct sqt_stream *stream)
{
    struct sqt_extent extent;
    char text[128];
    sqt_stream_extent(stream, &extent);
    snprintf(text, sizeof(text), "0 s to %.9f s", (double)extent.last_ns / 1e9);
    sqt_sink_comment(sink, "range", text);
    snprintf(text, sizeof(text), "%" PRIu64 " records, %" PRIu64 "%s lost", extent.records, extent.lost,
             extent.lost_known ? "" : " or more");
    sqt_sink_comment(sink, "holds", text);
    if (!extent.recorder)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " records, by a flight recorder, which keeps the last ones",
             extent.overwritten);
    sqt_sink_comment(sink, "overwritten", text);
}

static void
log_comments(struct sqt_sink *sink, const struct sqt_log_account *log)
{
    sqt_sink_comment(sink, "format", log->format);
    sqt_sink_comment(sink, "has", "requests only, from access.log; what it does not say is -");
    if (!log->has_total)
        sqt_sink_comment(sink, "without", "durations: the format has no %tr");
}

void
account_head(struct sqt_sink *sink, const char *const *traces, size_t trace_count, const struct sqt_stream *stream)
{
    char text[128], date[32];
    const struct sqt_log_account *const log = sqt_stream_is_log(stream) ? sqt_stream_log(stream) : NULL;
    if (sink->no_comments)
        return;
    for (size_t i = 0; i < trace_count; ++i)
        sqt_sink_comment(sink, log ? "log" : "trace", traces[i]);
    if (log)
        log_comments(sink, log);
    else
        process_comments(sink, stream);
    const uint64_t start = sqt_stream_start_ns(stream);
    account_date(start, date);
    snprintf(text, sizeof(text), "%s.%09uZ (%" PRIu64 ".%09u)", date, (unsigned)(start % 1000000000),
             start / 1000000000, (unsigned)(start % 1000000000));
    sqt_sink_comment(sink, "start", text);
    if (!log)
        account_holds(sink, stream);
    sqt_sink_comment(sink, sink->table->figure ? "figure" : "table", sink->table->name);
}

void
account_log_tail(struct sqt_sink *sink, const struct sqt_log_account *log, int64_t length)
{
    char text[128];
    snprintf(text, sizeof(text), "%.9f s", (double)length / 1e9);
    sqt_sink_comment(sink, "length", text);
    snprintf(text, sizeof(text), "%" PRIu64 " requests; %" PRIu64 " lines are not of the format", log->lines,
             log->not_understood);
    sqt_sink_comment(sink, "lines", text);
}

void
account_joined(struct sqt_sink *sink, const struct sqt_stream *stream)
{
    const struct sqt_log_account *const log = sqt_stream_log(stream);
    char text[160];
    snprintf(text, sizeof(text),
             "%" PRIu64 " requests have a line; %" PRIu64 " lines were read, %" PRIu64 " are not of the "
             "format %.40s",
             sqt_stream_joined(stream), log->lines, log->not_understood, log->format);
    sqt_sink_comment(sink, "joined", text);
}

void
account_tail(struct sqt_sink *sink, const struct account *a, int64_t length, uint64_t records)
{
    char text[64];
    snprintf(text, sizeof(text), "%.9f s", (double)length / 1e9);
    sqt_sink_comment(sink, "length", text);
    snprintf(text, sizeof(text), "%" PRIu64, records);
    sqt_sink_comment(sink, "records", text);
    for (uint64_t i = 0; i < a->losses && i < TOLD_LOSSES; ++i)
        sqt_sink_comment(sink, "lost", a->told[i]);
    if (*a->more)
        sqt_sink_comment(sink, "lost", a->more);
    for (unsigned i = 0; i < a->bounds; ++i)
        sqt_sink_comment(sink, "bound", a->bound[i]);
    if (!a->losses)
        sqt_sink_comment(sink, "lost", "0");
    for (uint64_t i = 0; i < a->steps && i < TOLD_STEPS; ++i)
        sqt_sink_comment(sink, "clock", a->stepped[i]);
    if (a->steps > TOLD_STEPS) {
        snprintf(text, sizeof(text), "and %" PRIu64 " more steps", a->steps - TOLD_STEPS);
        sqt_sink_comment(sink, "clock", text);
    }
}
