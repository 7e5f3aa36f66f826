/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * recorder.c - see recorder.h.
 *
 *     ANCHOR ........ ANCHOR ........ CLOCK_STEP .. ANCHOR ........ head
 *
 * Records go by the anchors on either side of them.  Those before the first anchor go by it alone, and the newest ones by
 * the last anchor and that in the header.  Records between an anchor and a step that hides durations may be from both sides
 * of it.
 */
#include "recorder.h"

#include <stdlib.h>

#include "base/memory.h"
#include "read/file/clock.h"

/* Seconds that a step waits to be told, at most. */
#define STEP_WAITS_NS 1000000000

enum recorder_mark { RECORDER_NOTHING, RECORDER_ANCHOR, RECORDER_STEP };

static enum recorder_mark
recorder_mark_at(const struct sqt_origin_reader *o, const struct sqt_record *r, size_t count)
{
    const unsigned event = r->event <= 255 ? o->dictionary.event[r->event] : 0;
    if (event == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(r->aux))
        return RECORDER_STEP;
    return event == SQT_EV_ANCHOR && count > 1 && (r[1].flags & SQT_FLAG_PART) ? RECORDER_ANCHOR : RECORDER_NOTHING;
}

static struct sqt_anchor
recorder_anchor(const struct sqt_record *r)
{
    return (struct sqt_anchor){r[0].id, r[0].arg, r[1].id};
}

/* Where the first mark is among records; count: there is none. */
static size_t
recorder_find_mark(const struct sqt_origin_reader *o, const struct sqt_record *records, size_t from, size_t count,
                   enum recorder_mark *mark)
{
    for (size_t i = from; i < count; ++i)
        if ((*mark = recorder_mark_at(o, &records[i], count - i)) != RECORDER_NOTHING)
            return i;
    *mark = RECORDER_NOTHING;
    return count;
}

/* The anchor in the header, or that of the start. */
static struct sqt_anchor
recorder_newest(const struct sqt_origin_reader *o)
{
    struct sqt_anchor anchor;
    return sqt_ring_anchor(&o->ring, &anchor) ? anchor : o->ring.identity.start;
}

/* The first anchor from record number `at` on, if no step comes before it; else the newest one. */
static struct sqt_anchor
recorder_anchor_after(struct sqt_origin_reader *o, uint64_t at)
{
    struct sqt_record *const records = sqt_allocated(SQT_BLOCK_RECORDS * sizeof(*records));
    struct sqt_anchor anchor = recorder_newest(o);
    enum recorder_mark mark = RECORDER_NOTHING;
    uint64_t tail;
    size_t count;
    while ((count = sqt_ring_copy(&o->ring, at, SQT_BLOCK_RECORDS, records, &tail)) > 1) {
        const size_t i = recorder_find_mark(o, records, 0, count, &mark);
        if (mark == RECORDER_ANCHOR)
            anchor = recorder_anchor(&records[i]);
        if (mark != RECORDER_NOTHING)
            break;
        at += count - 1; /* an anchor may go on behind the last one */
    }
    free(records);
    return anchor;
}

/* Records up to one that tells a step, of time `until`: behind what came before, however flat. */
static int
recorder_line_to_step(struct sqt_origin_reader *o, uint64_t time_first, uint64_t until, const struct sqt_anchor *after,
                      struct sqt_line *line)
{
    if (sqt_clock_line(&o->ring.identity, after, after, until, until, o->offset_ns, line) != 0)
        return -1;
    const int64_t until_ns = sqt_line_ns(line, until);
    const int64_t from_ns = o->started && o->last_ns < until_ns ? o->last_ns : until_ns - STEP_WAITS_NS;
    if (until > time_first)
        *line = (struct sqt_line){time_first, from_ns, (double)(until_ns - from_ns) / (double)(until - time_first)};
    return 0;
}

int
sqt_recorder_line(struct sqt_origin_reader *o, uint64_t first, size_t *count, struct sqt_line *line, int *unsure)
{
    const struct sqt_record *const records = o->buffer;
    enum recorder_mark mark = recorder_mark_at(o, records, *count);
    if (mark == RECORDER_STEP)
        o->recorded = recorder_anchor_after(o, first + 1);
    else if (!o->recorded_known || !o->started || first != o->next)
        o->recorded = recorder_anchor_after(o, first);
    o->recorded_known = 1;
    const size_t at = recorder_find_mark(o, records, mark == RECORDER_STEP, *count, &mark);
    const struct sqt_anchor from = o->recorded;
    struct sqt_anchor to = recorder_newest(o);
    if (mark == RECORDER_STEP) {
        *unsure = 1;
        *count = at;
        to = recorder_anchor_after(o, first + at + 1);
        return recorder_line_to_step(o, records[0].time, records[at].time, &to, line);
    }
    if (mark == RECORDER_ANCHOR) {
        *count = at + 2;
        o->recorded = to = recorder_anchor(&records[at]);
    }
    return sqt_clock_line(&o->ring.identity, &from, to.ticks > from.ticks ? &to : &from, records[0].time,
                          records[*count - 1].time, o->offset_ns, line);
}
