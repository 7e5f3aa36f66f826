/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * writer.c - see writer.h.
 */
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/events.h"
#include "trace/clock/clock-internal.h"
#include "trace/life/identity-internal.h"
#include "trace/ring/emit-internal.h"
#include "trace/segment/run-internal.h"

#define WRITER_TEXT (64u << 10)
#define WRITER_RECORDS 16384u /* of a block */

static int
writer_identify(struct sqt_identity *who, int directory, const struct sqt_attach_process *process,
                struct sqt_error *error)
{
    const struct sqt_process whose = {.kid = process->kid,
                                      .kid_kind = process->kid_kind,
                                      .service = process->service,
                                      .squid_version = process->squid_version};
    if (sqt_identify(who, &whose, error) != 0)
        return -1;
    who->clock = SQT_CLOCK_MONOTONIC;
    who->ticks_per_second = UINT64_C(1000000000);
    who->start = sqt_clock_anchor(who->clock, 0);
    const uint64_t ago = who->start.monotonic_ns > process->since ? who->start.monotonic_ns - process->since : 0;
    who->start.ticks -= ago;
    who->start.monotonic_ns -= ago;
    who->start.realtime_ns -= ago;
    who->pid = process->pid;
    who->run = sqt_run_next(directory, geteuid(), who->service, who->kid);
    return 0;
}

/* A header as of a ring, which the segments take identity, text and totals from. */
static void
writer_make_ring(struct sqt_attach_writer *w, const struct sqt_identity *who, const char *build_id)
{
    w->ring = sqt_zeroed(1, sizeof(*w->ring) + WRITER_TEXT);
    w->ring->compatible = SQT_ATTACHED;
    w->ring->identity = *who;
    w->ring->text_offset = sizeof(*w->ring);
    w->ring->text_size = WRITER_TEXT;
    w->ring->writer.text_used = sqt_events_text(sqt_ring_text_area(w->ring), WRITER_TEXT);
    sqt_attach_writer_define(w, SQT_DEF_ATTACHED, 0, *build_id ? build_id : "?");
}

int
sqt_attach_writer_open(struct sqt_attach_writer *w, int directory, const struct sqt_attach_process *process,
                       struct sqt_error *error)
{
    struct sqt_identity who;
    char base[SQT_BASE_MAX], name[SQT_NAME_MAX];
    memset(w, 0, sizeof(*w));
    w->segments.segment.fd = -1;
    if (writer_identify(&who, directory, process, error) != 0)
        return -1;
    if (sqt_segment_writer_init(&w->segments, directory, geteuid(), WRITER_RECORDS) != 0)
        return sqt_fail(error, "no memory");
    writer_make_ring(w, &who, process->build_id);
    w->records = sqt_zeroed(WRITER_RECORDS, sizeof(*w->records));
    w->from = who.start;
    w->last = who.start.ticks;
    sqt_base_name(base, who.service, who.kid, who.start.realtime_ns, who.ring_id);
    sqt_segment_name(name, base, 0);
    if (sqt_segment_open(&w->segments, w->ring, name, 0, w->ring->writer.text_used, sqt_compression_default()) != 0)
        return sqt_fail(error, "cannot create %s: %s", name, sqt_create_error(errno));
    const struct sqt_record begin = {.time = who.start.ticks, .arg = process->pid, .event = SQT_EV_START};
    sqt_attach_writer_add(w, &begin, 1);
    return 0;
}

void
sqt_attach_writer_define(struct sqt_attach_writer *w, unsigned kind, uint32_t number, const char *text)
{
    const uint64_t used = w->ring->writer.text_used, left = w->ring->text_size - used;
    char *const to = sqt_ring_text_area(w->ring) + used;
    const int size = snprintf(to, left, "def\t%u\t%u\t%s\n", kind, (unsigned)number, text);
    if (size > 0 && (uint64_t)size < left)
        w->ring->writer.text_used = used + (uint64_t)size;
}

/* What a failed write had is lost. */
static void
writer_fail(struct sqt_attach_writer *w)
{
    const int cause = errno;
    if (!w->failed)
        w->failed = cause ? cause : EIO;
    w->ring->writer.lost += w->count;
    w->count = 0;
}

static void
writer_write(struct sqt_attach_writer *w)
{
    if (!w->count)
        return;
    const struct sqt_anchor to = sqt_clock_anchor(SQT_CLOCK_MONOTONIC, 0);
    if (w->failed || sqt_segment_text(&w->segments, w->ring, w->ring->writer.text_used) != 0 ||
        sqt_segment_records(&w->segments, w->ring, w->records, w->first, w->count, &w->from, &to, 0,
                            sqt_compression_default()) != 0) {
        writer_fail(w);
        return;
    }
    w->first += w->count;
    w->ring->writer.head = w->first;
    w->count = 0;
    w->from = to;
}

/* Says a failure once. */
static int
writer_tell(struct sqt_attach_writer *w)
{
    if (!w->failed || w->told)
        return 0;
    w->told = 1;
    errno = w->failed;
    return -1;
}

void
sqt_attach_writer_add(struct sqt_attach_writer *w, const struct sqt_record *records, unsigned count)
{
    if (w->count + count > WRITER_RECORDS)
        writer_write(w);
    struct sqt_record *const to = w->records + w->count;
    memcpy(to, records, count * sizeof(*records));
    for (unsigned i = 0; i < count; ++i) {
        if (to[i].time < w->last)
            to[i].time = w->last;
        w->last = to[i].time;
    }
    w->count += count;
}

void
sqt_attach_writer_lost(struct sqt_attach_writer *w, uint64_t from, uint64_t to, uint64_t count, uint32_t reason)
{
    const struct sqt_record lost = {
        .time = to, .id = from > w->last ? from : w->last, .arg = count, .aux = reason, .event = SQT_EV_LOST};
    w->ring->writer.lost += count;
    ++w->ring->writer.marks;
    sqt_attach_writer_add(w, &lost, 1);
}

int
sqt_attach_writer_flush(struct sqt_attach_writer *w)
{
    writer_write(w);
    return writer_tell(w);
}

int
sqt_attach_writer_close(struct sqt_attach_writer *w, int goes_on)
{
    int result = 0;
    if (w->ring && w->segments.segment.fd >= 0) {
        const struct sqt_record end = {
            .time = sqt_monotonic_ns(), .arg = w->ring->identity.pid, .aux = goes_on != 0, .event = SQT_EV_STOP};
        sqt_attach_writer_add(w, &end, 1);
        writer_write(w);
        if (!w->failed && sqt_segment_end(&w->segments, w->ring, 1) != 0)
            writer_fail(w);
        result = writer_tell(w);
    }
    sqt_segment_writer_free(&w->segments);
    free(w->ring);
    free(w->records);
    w->ring = NULL;
    w->records = NULL;
    return result;
}
