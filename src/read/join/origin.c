/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * origin.c - joins the segments and the ring of one origin; see origin.h.
 *
 * Segments are read in the order of their sequence, then the ring.  While the ring lives, its tail moves on behind
 * the reader's back: what fell behind the tail is in the last segment, which is then read on, or in one that is new.
 */
#include "origin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "read/file/clock.h"
#include "recorder.h"
#include "sources.h"

/* ---- records that the reader makes ---- */

/* Speaks of `count` records lost before `until`, the time of the next record. */
static void
make_lost(struct sqt_origin_reader *o, unsigned reason, uint64_t count, uint64_t from, uint64_t until,
          const struct sqt_line *line)
{
    memset(&o->lost, 0, sizeof(o->lost));
    o->lost.time = until;
    o->lost.id = from && from < until ? from : until;
    o->lost.arg = count;
    o->lost.aux = reason;
    o->lost.event = SQT_EV_LOST;
    o->lost_line = *line;
    o->lost_pending = 1;
}

/* Where the reader is, for messages. */
static const char *
origin_place(const struct sqt_origin_reader *o)
{
    return o->segment.name ? o->segment.name : o->ring_name ? o->ring_name : "-";
}

/* ---- taking a block ---- */

/* Time never goes back within an origin, nor behind its place in the merge, whatever its anchors say. */
static void
keep_time(struct sqt_origin_reader *o, struct sqt_line *line, uint64_t time_first)
{
    if (o->started)
        sqt_origin_push(line, time_first, o->last_ns);
    if (o->timed)
        sqt_origin_bound(line);
}

/* Whether a flight recorder made what is being read. */
static int
origin_is_recorder(const struct sqt_origin_reader *o)
{
    return (sqt_ring_is_open(&o->ring) && o->ring.recorder) ||
           (o->segment_open && (o->segment.header.compatible & SQT_RECORDER));
}

/* Speaks of the records from the expected one up to number `first`, of that time. */
static void
origin_tell_gap(struct sqt_origin_reader *o, uint64_t first, uint64_t time)
{
    const uint64_t missing = first - o->next;
    const unsigned reason = o->damaged           ? SQT_LOSS_DAMAGED
                            : o->public.recorder ? SQT_LOSS_OVERWRITTEN
                                                 : SQT_LOSS_MISSING;
    if (reason == SQT_LOSS_OVERWRITTEN)
        sqt_diagnose(o->diagnostics, SQT_WARNING,
                     "%s: %" PRIu64 " records before record %" PRIu64 " were overwritten before they were read",
                     origin_place(o), missing, first);
    if (reason == SQT_LOSS_MISSING)
        sqt_diagnose(o->diagnostics, SQT_WARNING,
                     "%s: %" PRIu64 " records before record %" PRIu64 " are missing (a segment is not there)",
                     origin_place(o), missing, first);
    make_lost(o, reason, missing, o->last_ticks, time, &o->line);
}

/* Which of the records in the buffer, numbered from `first`, is the first new one: no part of a unit whose head was seen. */
static size_t
origin_find_new(const struct sqt_origin_reader *o, uint64_t first, size_t count)
{
    if (!o->started || first >= o->next)
        return 0;
    size_t skip = o->next - first < count ? (size_t)(o->next - first) : count;
    while (skip < count && (o->buffer[skip].flags & SQT_FLAG_PART))
        ++skip;
    return skip;
}

/* Makes the `count` good records in the buffer, numbered from `first`, the ones to hand out.  Returns 0 if all were
 * seen before. */
static int
origin_take(struct sqt_origin_reader *o, uint64_t first, size_t count, const struct sqt_line *line, int unsure)
{
    if (o->followed && sqt_ring_is_open(&o->ring) && first + count > o->ring.head)
        sqt_ring_refresh(&o->ring);
    if (sqt_ring_is_open(&o->ring) && first >= o->ring.head) {
        o->finished = 1; /* written after the reader began */
        return 0;
    }
    o->public.recorder = origin_is_recorder(o);
    if (!o->started && first > 0 && o->segment_open && o->segment.header.sequence == 0 && !o->late_from &&
        !o->public.recorder)
        o->started = 1; /* the very first block is missing */
    if (!o->started) {
        if (o->public.recorder) {
            o->public.overwritten = first;
            sqt_diagnose(o->diagnostics, SQT_NOTE,
                         "%s: of a flight recorder: it has the last records, and %" PRIu64
                         " older ones were overwritten",
                         origin_place(o), first);
        } else if (first > 0 && !o->late_from)
            sqt_diagnose(o->diagnostics, SQT_NOTE, "%s: begins at record %" PRIu64 "; those before it were not given",
                         origin_place(o), first);
        o->next = first;
        o->started = 1;
        o->last_ticks = o->buffer[0].time;
    }
    if (sqt_ring_is_open(&o->ring) && first < o->ring.head && count > o->ring.head - first)
        count = (size_t)(o->ring.head - first);
    const size_t skip = origin_find_new(o, first, count);
    if (skip == count)
        return 0;
    o->unsure = unsure;
    o->line = *line;
    keep_time(o, &o->line, o->buffer[skip].time);
    if (first > o->next)
        origin_tell_gap(o, first, o->buffer[skip].time);
    o->damaged = 0;
    o->totals_valid = 0;
    o->first = first;
    o->skip = skip;
    o->count = count;
    o->next = first + count;
    o->last_ticks = o->buffer[count - 1].time;
    o->last_ns = sqt_line_ns(&o->line, o->last_ticks);
    o->last_line = o->line;
    if (unsure) /* its slope says nothing of what comes */
        o->last_line = (struct sqt_line){o->last_ticks, o->last_ns, 1e9 / (double)o->public.identity.ticks_per_second};
    return 1;
}

/* Without a table of events the numbers of this program are the best guess. */
static void
need_table(struct sqt_origin_reader *o)
{
    if (!o->dictionary.events)
        sqt_dictionary_assume(&o->dictionary);
    if (o->dictionary.assumed && !o->told_table)
        sqt_diagnose(o->diagnostics, SQT_WARNING, "%s: its table of events is lost; this program's own is used",
                     origin_place(o));
    o->told_table = 1;
}

static void
tell_refused(struct sqt_origin_reader *o)
{
    if (o->dictionary.refused && !o->told_refused)
        sqt_diagnose(o->diagnostics, SQT_WARNING,
                     "%s: definitions take more than %u MB; what comes after that is left out", origin_place(o),
                     SQT_DEFINITION_BYTES >> 20);
    o->told_refused = o->dictionary.refused != 0;
}

static void
tell_two_hosts(struct sqt_origin_reader *o)
{
    if (o->dictionary.two_hosts && !o->told_hosts)
        sqt_diagnose(o->diagnostics, SQT_ERROR,
                     "%s: is of another host than other segments of this ring; what they say is mixed",
                     origin_place(o));
    o->told_hosts = o->dictionary.two_hosts;
}

/* A gap in the numbers may be a segment that was made while the directory was listed, and missed.  Returns 1 if there are new
 * ones, of this look or of one that another gap made: the segment that is being read is then behind what may be one of its
 * own. */
static int
look_for_what_is_between(struct sqt_origin_reader *o, uint64_t first)
{
    const int live = sqt_ring_is_open(&o->ring) || o->pointer;
    if (!live || first <= o->next || o->damaged || o->gap_seen == o->next)
        return 0;
    o->gap_seen = o->next;
    if (!sqt_sources_rescan(o->sources, sqt_ring_is_open(&o->ring)) && !o->earlier)
        return 0;
    o->earlier = 0;
    sqt_origin_reader_leave(o);
    o->parts[--o->part_next]->resume = o->segment.frame_at;
    o->unsorted = 1;
    return 1;
}

/* From CLOCK_MONOTONIC to the time of day, as the nearer anchor has it. */
static int64_t
wall_of(const struct sqt_anchor *a, const struct sqt_anchor *b, uint64_t ticks)
{
    const uint64_t to_a = a->ticks > ticks ? a->ticks - ticks : ticks - a->ticks;
    const uint64_t to_b = b->ticks > ticks ? b->ticks - ticks : ticks - b->ticks;
    const struct sqt_anchor *const nearer = to_b < to_a ? b : a;
    return (int64_t)(nearer->realtime_ns % SQT_REALTIME_MAX) - (int64_t)(nearer->monotonic_ns % SQT_MONOTONIC_MAX);
}

/* Whether what is new among the records in the buffer is older than what came before. */
static int
origin_goes_back(const struct sqt_origin_reader *o, uint64_t first, size_t count)
{
    const size_t skip = origin_find_new(o, first, count);
    return o->started && skip < count && o->buffer[skip].time < o->last_ticks;
}

static int
origin_take_block(struct sqt_origin_reader *o)
{
    const struct sqt_frame *const frame = &o->segment.frame;
    const uint8_t *const payload = o->segment.payload;
    const int unpacked = sqt_ahead_take(o);
    struct sqt_block block;
    struct sqt_line line;
    const struct sqt_identity *const who = &o->public.identity;
    const char *wrong = sqt_block_head(frame, payload, who->ring_id, &block);

    if (!wrong && o->started && block.first + block.count <= o->next)
        return 0;
    if (!wrong && look_for_what_is_between(o, block.first))
        return 0;
    if (!wrong) {
        need_table(o);
        if (!unpacked)
            wrong = sqt_block_unpack(o->unpacker, &o->dictionary.pack, frame, payload, &block, o->buffer);
    }
    if (!wrong)
        wrong = sqt_block_check(&o->dictionary, &block, o->buffer);
    if (!wrong && sqt_clock_line(who, &block.from, &block.to, block.time_first, block.time_last, o->offset_ns, &line))
        wrong = "the block's times are impossible";
    if (!wrong && origin_goes_back(o, block.first, block.count))
        wrong = "the block's times lie before those of the block before it";
    if (wrong) {
        sqt_diagnose(o->diagnostics, SQT_WARNING, "%s: offset %" PRIu64 ": %s, %zu bytes skipped", o->segment.name,
                     o->segment.frame_at, wrong, sizeof(*frame) + frame->size);
        o->damaged = 1;
        return 0;
    }
    const int stepped = sqt_clock_stepped(&block.from, &block.to);
    if (!o->started)
        o->wall_ns = wall_of(&block.from, &block.to, block.time_first);
    if ((frame->flags & SQT_FRAME_SUSPECT) && !stepped && !o->told_suspect) {
        sqt_diagnose(o->diagnostics, SQT_NOTE,
                     "%s: offset %" PRIu64 ": the clock did not keep its rate here; times may be "
                     "off by more than 50 us",
                     o->segment.name, o->segment.frame_at);
        o->told_suspect = 1;
    }
    if (!origin_take(o, block.first, block.count, &line, stepped))
        return 0;
    o->from_ring = 0;
    sqt_ahead_begin(o, block.count);
    return 1;
}

/* ---- segments ---- */

/* What a record takes in a file at most: a block of its own. */
#define RECORD_IN_FILE (sizeof(struct sqt_frame) + sizeof(struct sqt_block) + 96)

/* Where reading ends: at the size that the file had when it was found, so that a reading has an end of its own.  What was in
 * a living ring then may still be added to it. */
static uint64_t
origin_part_end(const struct sqt_origin_reader *o, const struct sqt_part *part)
{
    if (o->followed || part->fd >= 0)
        return part->end;
    return part->size + (sqt_ring_is_open(&o->ring) ? o->ring.capacity * RECORD_IN_FILE + SQT_FRAME_MAX : 0);
}

/* Opens the next segment; 0 if there is none.  One that cannot be opened is reported and left out. */
static int
open_part(struct sqt_origin_reader *o)
{
    sqt_origin_reader_sort(o);
    if (o->followed && o->part_next > 1)
        sqt_origin_reader_drop_parts(o, o->part_next - 1);
    while (o->part_next < o->part_count) {
        const struct sqt_part *const part = o->parts[o->part_next++];
        struct sqt_input input;
        int fd = part->fd;
        if (fd < 0)
            fd = sqt_open_regular(AT_FDCWD, part->name, O_RDONLY, NULL);
        if (fd < 0) {
            sqt_diagnose(o->diagnostics, SQT_WARNING, SQT_CANNOT_OPEN(errno), part->name, strerror(errno));
            continue;
        }
        sqt_input_init(&input, fd, part->fd < 0, origin_part_end(o, part));
        sqt_segment_begin(&o->segment, input, part->begin, part->name, &part->header, o->diagnostics);
        if (part->resume)
            o->segment.at = part->resume;
        o->segment_open = 1;
        ++o->sources->segments_open;
        return 1;
    }
    return 0;
}

static void
close_part(struct sqt_origin_reader *o)
{
    sqt_ahead_settle(o);
    sqt_segment_report_cut(&o->segment);
    if (o->segment.cut)
        o->damaged = 1;
    sqt_origin_reader_leave(o);
}

/* Passes over what is before the window, but for texts. */
static void
origin_skip_to_resumed(struct sqt_origin_reader *o)
{
    const uint64_t until = o->resumed.at + o->resumed.size;
    if (o->part_next != o->resumed.part + 1 || o->segment.peeked || o->segment.at >= until)
        return;
    if (o->index.texts_many)
        sqt_segment_skip(&o->segment, o->resumed.next);
    else
        o->segment.at = sqt_index_next_text(&o->index, o->resumed.part, o->segment.at, until);
}

/* The next frame of the open segment, if there is one; blocks that are too old are none. */
static int
origin_next_frame(struct sqt_origin_reader *o)
{
    if (o->resumed.next && o->next == o->resumed.next)
        origin_skip_to_resumed(o);
    else if (!o->started && o->late_from)
        sqt_segment_skip(&o->segment, o->late_from);
    return sqt_segment_next(&o->segment, &o->damaged);
}

/* Reads on in the open segment: 1 if records came, 0 at its end. */
static int
read_segment(struct sqt_origin_reader *o, int *progress)
{
    const struct sqt_frame *const frame = &o->segment.frame;

    sqt_ahead_settle(o);
    while (o->segment_open && !o->finished && origin_next_frame(o)) {
        const char *const payload = (const char *)o->segment.payload;
        *progress = 1;
        if (frame->type == SQT_FRAME_TEXT) {
            if (sqt_dictionary_take(&o->dictionary, payload, frame->size) != 0)
                sqt_diagnose(o->diagnostics, SQT_WARNING,
                             "%s: offset %" PRIu64 ": a line of the text is not understood", o->segment.name,
                             o->segment.frame_at);
            tell_refused(o);
            tell_two_hosts(o);
        } else if (frame->type == SQT_FRAME_BLOCK) {
            if (origin_take_block(o))
                return 1;
        } else if (frame->type == SQT_FRAME_END && frame->size >= sizeof(o->totals) &&
                   memcmp(payload, o->public.identity.ring_id, sizeof(o->totals.ring_id)) == 0) {
            memcpy(&o->totals, payload, sizeof(o->totals));
            o->totals_valid = 1;
            o->public.head = o->totals.head;
            o->public.lost = o->totals.lost;
        }
    }
    /* A file that is still being written has more, or something else, here the next time. */
    if (o->segment_open && o->followed)
        sqt_input_rest(&o->segment.input);
    else if (o->segment_open)
        sqt_input_refresh(&o->segment.input);
    return 0;
}

/* ---- the ring ---- */

/* The line for records that are in no block yet. */
static int
ring_line(struct sqt_origin_reader *o, uint64_t time_first, uint64_t time_last, struct sqt_line *line)
{
    const struct sqt_identity *const who = &o->ring.identity;
    struct sqt_anchor anchor;
    if (!sqt_ring_anchor(&o->ring, &anchor))
        anchor = who->start;
    if (!o->started)
        o->wall_ns = wall_of(&anchor, &who->start, time_first);
    if (sqt_clock_line(who, &anchor, &anchor, time_first, time_last, o->offset_ns, line) != 0)
        return -1;
    if (o->started && o->last_line.ns_per_tick > 0)
        line->ns_per_tick = o->last_line.ns_per_tick;
    return 0;
}

/* Seconds that a step waits to be told, at most, as long as the main thread makes records at all. */
#define STEP_WAITS_NS 1000000000

/* The line for records up to one of time `until`, which tells a step: behind what came before, however flat. */
static int
ring_line_around_step(struct sqt_origin_reader *o, uint64_t time_first, uint64_t until, struct sqt_line *line)
{
    if (ring_line(o, until, until, line) != 0)
        return -1;
    const int64_t until_ns = sqt_line_ns(line, until);
    const int64_t from_ns = o->started && o->last_ns < until_ns ? o->last_ns : until_ns - STEP_WAITS_NS;
    if (until > time_first)
        *line = (struct sqt_line){time_first, from_ns, (double)(until_ns - from_ns) / (double)(until - time_first)};
    return 0;
}

/* Where among `count` records, but not as the first one, a step is told that hides durations; else count.  Those before it
 * may be from both sides of the step. */
static size_t
origin_find_step(const struct sqt_origin_reader *o, size_t count)
{
    for (size_t i = 1; i < count; ++i) {
        const struct sqt_record *const r = &o->buffer[i];
        if (r->event <= 255 && o->dictionary.event[r->event] == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(r->aux))
            return i;
    }
    return count;
}

/* The line for the records in the buffer, of which only those before a step are taken. */
static int
origin_ring_line(struct sqt_origin_reader *o, size_t *count, struct sqt_line *line, int *unsure)
{
    const size_t step = origin_find_step(o, *count);
    *unsure = step < *count;
    *count = step;
    return *unsure ? ring_line_around_step(o, o->buffer[0].time, o->buffer[step].time, line)
                   : ring_line(o, o->buffer[0].time, o->buffer[step - 1].time, line);
}

/* The same of a flight recorder. */
static int
origin_recorded_line(struct sqt_origin_reader *o, uint64_t first, size_t *count, struct sqt_line *line, int *unsure)
{
    const int failed = sqt_recorder_line(o, first, count, line, unsure);
    if (!o->started)
        o->wall_ns = wall_of(&o->recorded, &o->recorded, o->buffer[0].time);
    return failed;
}

/* Takes `count` records that were copied from the ring, numbered from `first`. */
static int
origin_take_ring(struct sqt_origin_reader *o, uint64_t first, size_t count)
{
    struct sqt_line line;
    size_t text_size;
    const char *const text = sqt_ring_text(&o->ring, &text_size);

    if (sqt_dictionary_take(&o->dictionary, text, text_size) != 0)
        sqt_diagnose(o->diagnostics, SQT_WARNING, "%s: a line of the text is not understood", o->ring_name);
    need_table(o);
    int unsure = 0, wrong = 0;
    const uint64_t full = count;
    if (o->ring.recorder)
        wrong = origin_recorded_line(o, first, &count, &line, &unsure);
    else
        wrong = origin_ring_line(o, &count, &line, &unsure);
    /* A full buffer may end within a unit; the head never does. */
    const size_t good = wrong ? 0 : sqt_records_check(&o->dictionary, o->buffer, count, o->started ? o->last_ticks : 0);
    if (good == 0 || (good < count && (good + SQT_UNIT_MAX <= count || full < SQT_BLOCK_RECORDS))) {
        sqt_diagnose(o->diagnostics, SQT_WARNING,
                     "%s: damaged ring: record %" PRIu64 " makes no sense; it and the %" PRIu64
                     " after it are left out",
                     o->ring_name, first + good, o->ring.head - first - good - 1);
        o->finished = 1;
        o->damaged = 1;
    }
    const int taken = good && origin_take(o, first, good, &line, unsure);
    o->from_ring |= taken;
    o->damaged |= o->finished;
    return taken;
}

/* Says why no more can be read of the ring. */
static void
origin_tell_ring(struct sqt_origin_reader *o)
{
    if (!o->told_ring)
        sqt_diagnose(o->diagnostics, SQT_WARNING, "%s: damaged ring: %s", o->ring_name, o->ring.wrong);
    o->told_ring = 1;
}

/* Nothing came from the ring: if no more ever will, it ends here.  Returns whether. */
static int
origin_ring_failed(struct sqt_origin_reader *o)
{
    if (!o->ring.wrong)
        return 0;
    origin_tell_ring(o);
    o->finished = 1;
    o->damaged = 1;
    return 1;
}

/* Takes what the ring has.  Returns 1 if records came, 0 at the head, -1 if the wanted ones are in segments now. */
static int
read_ring(struct sqt_origin_reader *o)
{
    uint64_t tail;
    const size_t count = sqt_ring_copy(&o->ring, o->next, SQT_BLOCK_RECORDS, o->buffer, &tail);
    if (count)
        return origin_take_ring(o, o->next, count);
    return origin_ring_failed(o) || tail <= o->next ? 0 : -1;
}

/* How often the tail may move on between two looks at it. */
#define TAIL_MOVES_MOST 64

/* The wanted records are in no segment that is there: takes what the ring still has after them. */
static int
read_ring_after_gap(struct sqt_origin_reader *o)
{
    uint64_t from, tail;
    sqt_ring_copy(&o->ring, 0, 0, o->buffer, &tail);
    for (unsigned moves = 0; moves < TAIL_MOVES_MOST && tail < o->ring.head; ++moves) {
        from = tail;
        const size_t count = sqt_ring_copy(&o->ring, from, SQT_BLOCK_RECORDS, o->buffer, &tail);
        if (count)
            return origin_take_ring(o, from, count);
        if (origin_ring_failed(o))
            break;
    }
    return 0;
}

/* ---- the end ---- */

/* When the last of the records was lost of which no record LOST speaks, as far as that is known; ticks. */
static uint64_t
origin_lost_until(const struct sqt_origin_reader *o, uint64_t from, uint32_t us)
{
    const double more = (double)us * 1e-6 * (double)o->public.identity.ticks_per_second;
    const uint64_t until = from < SQT_TICKS_MAX && more < (double)(SQT_TICKS_MAX - from) ? from + (uint64_t)more : 0;
    return until > o->last_ticks ? until : o->last_ticks;
}

/* What the last totals, or the ring, say beyond the last record.  Returns 1 if a record was made of it. */
static int
origin_finish(struct sqt_origin_reader *o)
{
    uint64_t lost = 0, from = 0;
    uint32_t lost_us = 0;

    if (o->segment_open)
        close_part(o);
    if (sqt_ring_is_open(&o->ring)) {
        o->from_ring = 1;
        o->public.head = o->ring.head;
        o->public.lost = o->ring.totals.lost;
        lost = o->ring.totals.lost_open;
        from = o->ring.totals.lost_from;
        lost_us = o->ring.totals.lost_us;
    } else if (o->totals_valid) {
        lost = o->totals.lost_open;
        from = o->totals.lost_from;
        lost_us = o->totals.lost_us;
    } else if (o->pointer && !o->told_gone) {
        sqt_diagnose(o->diagnostics, SQT_WARNING, "%s: its ring is gone, and with it what came after record %" PRIu64,
                     o->pointer, o->next);
        o->told_gone = 1;
    }

    const uint64_t head = sqt_ring_is_open(&o->ring) ? o->ring.head : o->totals_valid ? o->totals.head : 0;
    if (o->started && head > o->next && (sqt_ring_is_open(&o->ring) || o->totals.clean || o->damaged)) {
        make_lost(o, o->damaged ? SQT_LOSS_DAMAGED : SQT_LOSS_MISSING, head - o->next, o->last_ticks, o->last_ticks,
                  &o->last_line);
        if (!o->damaged)
            sqt_diagnose(o->diagnostics, SQT_WARNING, "%s: the last %" PRIu64 " records are missing", origin_place(o),
                         head - o->next);
        o->next = head;
        return 1;
    }
    if (lost && o->started && !o->told_open) {
        o->told_open = 1;
        make_lost(o, SQT_LOSS_RING_FULL, lost, from, origin_lost_until(o, from, lost_us), &o->last_line);
        return 1;
    }
    return 0;
}

/* ---- all together ---- */

/* Reads segments on: 1 if records came, 0 if there is none left that has more. */
static int
read_segments(struct sqt_origin_reader *o, int *progress)
{
    while (o->segment_open || open_part(o)) {
        if (read_segment(o, progress))
            return 1;
        if (!o->segment_open)
            continue;
        if (o->finished)
            return 0;
        if (o->part_next == o->part_count)
            return 0;
        close_part(o);
    }
    return 0;
}

/* Fills the buffer from wherever the next records are: 1, or 0 when there are no more. */
static int
origin_fill(struct sqt_origin_reader *o)
{
    while (!o->finished) {
        int progress = 0;
        /* A live ring is read up to the head that it had when it was opened. */
        if (sqt_ring_is_open(&o->ring) && o->next >= o->ring.head)
            return 0;
        if (read_segments(o, &progress))
            return 1;
        if (!sqt_ring_is_open(&o->ring))
            return 0;
        const int result = read_ring(o);
        if (result >= 0) {
            /* What a block that is cut off would have held came from the ring. */
            o->segment.cut = 0;
            return result;
        }
        /* They fell behind the tail, so they are in a segment by now. */
        if (read_segments(o, &progress))
            return 1;
        if (!progress && !sqt_sources_rescan(o->sources, 1))
            return read_ring_after_gap(o);
    }
    return 0;
}

/* Hands out the record that the reader made, or the buffer. */
static void
origin_hand_out(struct sqt_origin_reader *o)
{
    if (o->lost_pending) {
        o->lost_pending = 0;
        o->records = &o->lost;
        o->left = 1;
        o->number = UINT64_MAX;
        o->out_line = o->lost_line;
    } else {
        o->records = o->buffer + o->skip;
        o->left = o->count - o->skip;
        o->number = o->first + o->skip;
        o->out_line = o->line;
        o->count = o->skip = 0;
    }
    o->key = sqt_line_ns(&o->out_line, o->records->time);
}

void
sqt_origin_reader_look(struct sqt_origin_reader *o)
{
    if (sqt_ring_is_open(&o->ring) && sqt_ring_refresh(&o->ring) != 0) {
        origin_tell_ring(o);
        o->ended = 1;
    }
    if (o->ended || o->writer_gone)
        o->ended = 1; /* seen at the last look, so this head is the last one */
    else
        o->writer_gone = !o->named_by || (access(o->named_by, F_OK) != 0 && errno == ENOENT);
}

/* Room for a whole block. */
static void
origin_make_room(struct sqt_origin_reader *o)
{
    if (o->room == SQT_BLOCK_RECORDS)
        return;
    free(o->buffer);
    o->buffer = o->unpacker->spare ? o->unpacker->spare : sqt_allocated(SQT_BLOCK_RECORDS * sizeof(*o->buffer));
    o->unpacker->spare = NULL;
    o->room = SQT_BLOCK_RECORDS;
}

void
sqt_origin_reader_save(struct sqt_origin_reader *o)
{
    const int empty = o->count == o->skip;
    if (empty)
        sqt_origin_reader_drop_buffer(o);
    else if (o->count < o->room / 2) {
        o->buffer = sqt_resized(o->buffer, o->count * sizeof(*o->buffer));
        o->room = o->count;
    }
    /* Of a segment that the crew reads, all is the crew's. */
    const int ours = o->segment_open && !o->ahead.begun && !o->segment.peeked;
    if (ours && empty)
        sqt_input_rest(&o->segment.input);
    if (ours && !o->segment.input.room && o->sources->segments_open > SQT_SEGMENTS_OPEN) {
        o->parts[--o->part_next]->resume = o->segment.at;
        sqt_origin_reader_leave(o);
    }
    const size_t kept = o->room * sizeof(*o->buffer) + (ours ? o->segment.input.room : 0);
    o->sources->kept += kept - o->kept;
    o->kept = kept;
}

/* Has records to hand out, if there are more. */
static int
origin_read_on(struct sqt_origin_reader *o)
{
    if (o->finished > 1)
        return 0;
    origin_make_room(o);
    if (origin_fill(o))
        return 1;
    if (o->followed && !o->ended && !o->finished)
        return 0;
    o->finished = 1;
    if (origin_finish(o))
        return 1;
    o->finished = 2;
    return 0;
}

int
sqt_origin_reader_load(struct sqt_origin_reader *o)
{
    if (!o->lost_pending && o->count == o->skip) {
        const int more = origin_read_on(o);
        if (o->followed)
            sqt_origin_reader_save(o);
        if (!more)
            return 0;
    }
    origin_hand_out(o);
    return 1;
}
