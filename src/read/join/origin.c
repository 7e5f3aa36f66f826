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

#include "read/file/clock.h"
#include "read/file/pointer.h"
#include "sources.h"

/* Where a line's base may be pushed to by those before it. */
#define BASE_MAX (SQT_LATER_MAX + (int64_t)SQT_MONOTONIC_MAX)

/* Gaps in the numbers for which the directory of a living writer is looked at again. */
#define RESCANS_MOST 64

/* ---- records that the reader makes ---- */

/* Speaks of `count` records lost before `until`, the time of the next record. */
static void
make_lost(struct sqt_joined *j, unsigned reason, uint64_t count, uint64_t from, uint64_t until,
          const struct sqt_line *line)
{
    memset(&j->lost, 0, sizeof(j->lost));
    j->lost.time = until;
    j->lost.id = from && from < until ? from : until;
    j->lost.arg = count;
    j->lost.aux = reason;
    j->lost.event = SQT_EV_LOST;
    j->lost_line = *line;
    j->lost_pending = 1;
}

/* Where the reader is, for messages. */
static const char *
origin_place(const struct sqt_joined *j)
{
    return j->segment.name ? j->segment.name : j->ring_name ? j->ring_name : "-";
}

/* ---- taking a block ---- */

/* Time never goes back within an origin, nor behind its place in the merge, whatever its anchors say. */
static void
keep_time(struct sqt_joined *j, struct sqt_line *line, uint64_t time_first)
{
    const int64_t ns = sqt_line_ns(line, time_first);
    if (j->started && ns < j->last_ns)
        line->base_ns += j->last_ns - ns;
    if (line->base_ns > BASE_MAX && j->timed)
        line->base_ns = BASE_MAX; /* block after block may claim to be years long */
}

/* Makes the `count` good records in the buffer, numbered from `first`, the ones to hand out.  Returns 0 if all were
 * seen before. */
static int
origin_take(struct sqt_joined *j, uint64_t first, size_t count, const struct sqt_line *line, int unsure)
{
    size_t skip = 0;

    if (j->followed && j->ring.map && first + count > j->ring.head)
        sqt_ring_refresh(&j->ring);
    if (j->ring.map && first >= j->ring.head) {
        j->finished = 1; /* written after the reader began */
        return 0;
    }
    if (!j->started && first > 0 && j->segment_open && j->segment.header.sequence == 0 && !j->late_from)
        j->started = 1; /* the very first block is missing */
    if (!j->started) {
        if (first > 0 && !j->late_from)
            sqt_report(j->reporter, SQT_NOTE, "%s: begins at record %" PRIu64 "; those before it were not given",
                       origin_place(j), first);
        j->next = first;
        j->started = 1;
        j->last_ticks = j->buffer[0].time;
    }
    if (j->ring.map && first < j->ring.head && count > j->ring.head - first)
        count = (size_t)(j->ring.head - first);
    if (first + count <= j->next)
        return 0;
    if (first < j->next) {
        skip = (size_t)(j->next - first);
        while (skip < count && (j->buffer[skip].flags & SQT_FLAG_PART))
            ++skip;
        if (skip == count)
            return 0;
    }
    j->unsure = unsure;
    j->line = *line;
    keep_time(j, &j->line, j->buffer[skip].time);
    if (first > j->next) {
        const uint64_t missing = first - j->next;
        if (!j->damaged)
            sqt_report(j->reporter, SQT_WARNING,
                       "%s: %" PRIu64 " records before record %" PRIu64 " are missing (a segment is not there)",
                       origin_place(j), missing, first);
        make_lost(j, j->damaged ? SQT_LOSS_DAMAGED : SQT_LOSS_MISSING, missing, j->last_ticks, j->buffer[skip].time,
                  &j->line);
    }
    j->damaged = 0;
    j->totals_valid = 0;
    j->first = first;
    j->skip = skip;
    j->count = count;
    j->next = first + count;
    j->last_ticks = j->buffer[count - 1].time;
    j->last_ns = sqt_line_ns(&j->line, j->last_ticks);
    j->last_line = j->line;
    if (unsure) /* its slope says nothing of what comes */
        j->last_line = (struct sqt_line){j->last_ticks, j->last_ns, 1e9 / (double)j->public.identity.ticks_per_second};
    return 1;
}

/* Without a table of events the numbers of this program are the best guess. */
static void
need_table(struct sqt_joined *j)
{
    if (!j->dictionary.events)
        sqt_dictionary_assume(&j->dictionary);
    if (j->dictionary.assumed && !j->told_table)
        sqt_report(j->reporter, SQT_WARNING, "%s: its table of events is lost; this program's own is used",
                   origin_place(j));
    j->told_table = 1;
}

static void
tell_refused(struct sqt_joined *j)
{
    if (j->dictionary.refused && !j->told_refused)
        sqt_report(j->reporter, SQT_WARNING, "%s: definitions take more than %u MB; what comes after that is left out",
                   origin_place(j), SQT_DEFINITION_BYTES >> 20);
    j->told_refused = j->dictionary.refused != 0;
}

/* A gap in the numbers may be a segment that was made while the directory was listed, and missed.  Returns 1 if the
 * directory was looked at again: the segment that is being read is then behind what may be new. */
static int
look_for_what_is_between(struct sqt_joined *j, uint64_t first)
{
    const int live = j->ring.map || j->pointer;
    if (!live || first <= j->next || j->damaged || j->gap_seen == j->next || j->rescans == RESCANS_MOST)
        return 0;
    ++j->rescans;
    j->gap_seen = j->next;
    sqt_segment_leave(&j->segment);
    j->segment_open = 0;
    j->parts[--j->part_next]->resume = j->segment.frame_at;
    sqt_sources_rescan(j->sources);
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

static int
origin_take_block(struct sqt_joined *j)
{
    const struct sqt_frame *const frame = &j->segment.frame;
    const uint8_t *const payload = j->segment.payload;
    const int unpacked = sqt_ahead_take(j);
    struct sqt_block block;
    struct sqt_line line;
    const struct sqt_identity *const who = &j->public.identity;
    const char *wrong = sqt_block_head(frame, payload, who->ring_id, &block);

    if (!wrong && j->started && block.first + block.count <= j->next)
        return 0;
    if (!wrong && look_for_what_is_between(j, block.first))
        return 0;
    if (!wrong) {
        need_table(j);
        if (!unpacked)
            wrong = sqt_block_unpack(j->unpacker, &j->dictionary.pack, frame, payload, &block, j->buffer);
    }
    if (!wrong)
        wrong = sqt_block_check(&j->dictionary, &block, j->buffer);
    if (!wrong && sqt_clock_line(who, &block.from, &block.to, block.time_first, block.time_last, j->offset_ns, &line))
        wrong = "the block's times are impossible";
    if (!wrong && j->started && block.first >= j->next && block.time_first < j->last_ticks)
        wrong = "the block's times lie before those of the block before it";
    if (wrong) {
        sqt_report(j->reporter, SQT_WARNING, "%s: offset %" PRIu64 ": %s, %zu bytes skipped", j->segment.name,
                   j->segment.frame_at, wrong, sizeof(*frame) + frame->size);
        j->damaged = 1;
        return 0;
    }
    const int stepped = sqt_clock_stepped(&block.from, &block.to);
    if (!j->started)
        j->wall_ns = wall_of(&block.from, &block.to, block.time_first);
    if ((frame->flags & SQT_FRAME_SUSPECT) && !stepped && !j->told_suspect) {
        sqt_report(j->reporter, SQT_NOTE,
                   "%s: offset %" PRIu64 ": the clock did not keep its rate here; times may be "
                   "off by more than 50 us",
                   j->segment.name, j->segment.frame_at);
        j->told_suspect = 1;
    }
    if (!origin_take(j, block.first, block.count, &line, stepped))
        return 0;
    j->from_ring = 0;
    sqt_ahead_begin(j, block.count);
    return 1;
}

/* ---- segments ---- */

/* Opens the next segment; 0 if there is none.  One that cannot be opened is reported and left out. */
static int
open_part(struct sqt_joined *j)
{
    sqt_joined_sort(j);
    if (j->followed && j->part_next > 1)
        sqt_joined_drop_parts(j, j->part_next - 1);
    while (j->part_next < j->part_count) {
        const struct sqt_part *const part = j->parts[j->part_next++];
        struct sqt_input input;
        int fd = part->fd;
        if (fd < 0)
            fd = sqt_open_regular(part->name, 0);
        if (fd < 0) {
            sqt_report(j->reporter, SQT_WARNING, "%s: cannot be opened: %s", part->name, strerror(errno));
            continue;
        }
        sqt_input_init(&input, fd, part->fd < 0, part->end);
        sqt_segment_begin(&j->segment, input, part->begin, part->name, &part->header, j->reporter);
        if (part->resume)
            j->segment.at = part->resume;
        j->segment_open = 1;
        return 1;
    }
    return 0;
}

static void
close_part(struct sqt_joined *j)
{
    sqt_ahead_settle(j);
    sqt_segment_report_cut(&j->segment);
    if (j->segment.cut)
        j->damaged = 1;
    sqt_segment_leave(&j->segment);
    j->segment_open = 0;
}

/* The next frame of the open segment, if there is one; blocks that are too old are none. */
static int
origin_next_frame(struct sqt_joined *j)
{
    if (!j->started && j->late_from)
        sqt_segment_skip(&j->segment, j->late_from);
    return sqt_segment_next(&j->segment, &j->damaged);
}

/* Reads on in the open segment: 1 if records came, 0 at its end. */
static int
read_segment(struct sqt_joined *j, int *progress)
{
    const struct sqt_frame *const frame = &j->segment.frame;

    sqt_ahead_settle(j);
    while (j->segment_open && !j->finished && origin_next_frame(j)) {
        const char *const payload = (const char *)j->segment.payload;
        *progress = 1;
        if (frame->type == SQT_FRAME_TEXT) {
            if (sqt_dictionary_take(&j->dictionary, payload, frame->size) != 0)
                sqt_report(j->reporter, SQT_WARNING, "%s: offset %" PRIu64 ": a line of the text is not understood",
                           j->segment.name, j->segment.frame_at);
            tell_refused(j);
        } else if (frame->type == SQT_FRAME_BLOCK) {
            if (origin_take_block(j))
                return 1;
        } else if (frame->type == SQT_FRAME_END && frame->size >= sizeof(j->totals) &&
                   memcmp(payload, j->public.identity.ring_id, sizeof(j->totals.ring_id)) == 0) {
            memcpy(&j->totals, payload, sizeof(j->totals));
            j->totals_valid = 1;
            j->public.head = j->totals.head;
            j->public.lost = j->totals.lost;
        }
    }
    /* A file that is still being written has more, or something else, here the next time. */
    if (j->segment_open)
        sqt_input_refresh(&j->segment.input);
    return 0;
}

/* ---- the ring ---- */

/* The line for records that are in no block yet. */
static int
ring_line(struct sqt_joined *j, uint64_t time_first, uint64_t time_last, struct sqt_line *line)
{
    const struct sqt_identity *const who = &j->ring.identity;
    struct sqt_anchor anchor;
    if (!sqt_ring_anchor(&j->ring, &anchor))
        anchor = who->start;
    if (!j->started)
        j->wall_ns = wall_of(&anchor, &who->start, time_first);
    if (sqt_clock_line(who, &anchor, &anchor, time_first, time_last, j->offset_ns, line) != 0)
        return -1;
    if (j->started && j->last_line.ns_per_tick > 0)
        line->ns_per_tick = j->last_line.ns_per_tick;
    return 0;
}

/* Seconds that a step waits to be told, at most, as long as the main thread makes records at all. */
#define STEP_WAITS_NS 1000000000

/* The line for records up to one of time `until`, which tells a step: behind what came before, however flat. */
static int
ring_line_around_step(struct sqt_joined *j, uint64_t time_first, uint64_t until, struct sqt_line *line)
{
    if (ring_line(j, until, until, line) != 0)
        return -1;
    const int64_t until_ns = sqt_line_ns(line, until);
    const int64_t from_ns = j->started && j->last_ns < until_ns ? j->last_ns : until_ns - STEP_WAITS_NS;
    if (until > time_first)
        *line = (struct sqt_line){time_first, from_ns, (double)(until_ns - from_ns) / (double)(until - time_first)};
    return 0;
}

/* Where among `count` records, but not as the first one, a step is told that hides durations; else count.  Those before it
 * may be from both sides of the step. */
static size_t
origin_find_step(const struct sqt_joined *j, size_t count)
{
    for (size_t i = 1; i < count; ++i) {
        const struct sqt_record *const r = &j->buffer[i];
        if (r->event <= 255 && j->dictionary.event[r->event] == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(r->aux))
            return i;
    }
    return count;
}

/* Takes `count` records that were copied from the ring, numbered from `first`. */
static int
origin_take_ring(struct sqt_joined *j, uint64_t first, size_t count)
{
    struct sqt_line line;
    size_t text_size;
    const char *const text = sqt_ring_text(&j->ring, &text_size);

    if (sqt_dictionary_take(&j->dictionary, text, text_size) != 0)
        sqt_report(j->reporter, SQT_WARNING, "%s: a line of the text is not understood", j->ring_name);
    need_table(j);
    const size_t step = origin_find_step(j, count);
    const int unsure = step < count;
    const uint64_t told = j->buffer[unsure ? step : 0].time;
    if (unsure)
        count = step;
    /* A full buffer may end within a unit; the head never does. */
    size_t good = sqt_records_check(&j->dictionary, j->buffer, count, j->started ? j->last_ticks : 0);
    if (good && (unsure ? ring_line_around_step(j, j->buffer[0].time, told, &line)
                        : ring_line(j, j->buffer[0].time, j->buffer[good - 1].time, &line)) != 0)
        good = 0;
    if (good == 0 || (good < count && (good + SQT_UNIT_MAX <= count || count < SQT_BLOCK_RECORDS))) {
        sqt_report(j->reporter, SQT_WARNING,
                   "%s: damaged ring: record %" PRIu64 " makes no sense; it and the %" PRIu64 " after it are left out",
                   j->ring_name, first + good, j->ring.head - first - good - 1);
        j->finished = 1;
        j->damaged = 1;
    }
    const int taken = good && origin_take(j, first, good, &line, unsure);
    j->from_ring |= taken;
    j->damaged |= j->finished;
    return taken;
}

/* Takes what the ring has.  Returns 1 if records came, 0 at the head, -1 if the wanted ones are in segments now. */
static int
read_ring(struct sqt_joined *j)
{
    uint64_t tail;
    const size_t count = sqt_ring_copy(&j->ring, j->next, SQT_BLOCK_RECORDS, j->buffer, &tail);
    if (count)
        return origin_take_ring(j, j->next, count);
    return tail > j->next ? -1 : 0;
}

/* The wanted records are in no segment that is there: takes what the ring still has after them. */
static int
read_ring_after_gap(struct sqt_joined *j)
{
    uint64_t tail;
    size_t count = 0;
    do {
        sqt_ring_copy(&j->ring, 0, 0, j->buffer, &tail);
        if (tail >= j->ring.head)
            return 0;
        const uint64_t from = tail;
        count = sqt_ring_copy(&j->ring, from, SQT_BLOCK_RECORDS, j->buffer, &tail);
        if (count)
            return origin_take_ring(j, from, count);
    } while (1);
}

/* ---- the end ---- */

/* What the last totals, or the ring, say beyond the last record.  Returns 1 if a record was made of it. */
static int
origin_finish(struct sqt_joined *j)
{
    uint64_t lost = 0, from = 0;

    if (j->segment_open)
        close_part(j);
    if (j->ring.map) {
        j->from_ring = 1;
        j->public.head = j->ring.head;
        j->public.lost = j->ring.totals.lost;
        lost = j->ring.totals.lost_open;
        from = j->ring.totals.lost_from;
    } else if (j->totals_valid) {
        lost = j->totals.lost_open;
        from = j->totals.lost_from;
    } else if (j->pointer && !j->told_gone) {
        sqt_report(j->reporter, SQT_WARNING, "%s: its ring is gone, and with it what came after record %" PRIu64,
                   j->pointer, j->next);
        j->told_gone = 1;
    }

    const uint64_t head = j->ring.map ? j->ring.head : j->totals_valid ? j->totals.head : 0;
    if (j->started && head > j->next && (j->ring.map || j->totals.clean || j->damaged)) {
        make_lost(j, j->damaged ? SQT_LOSS_DAMAGED : SQT_LOSS_MISSING, head - j->next, j->last_ticks, j->last_ticks,
                  &j->last_line);
        if (!j->damaged)
            sqt_report(j->reporter, SQT_WARNING, "%s: the last %" PRIu64 " records are missing", origin_place(j),
                       head - j->next);
        j->next = head;
        return 1;
    }
    if (lost && j->started && !j->told_open) {
        const uint64_t until = from > j->last_ticks && from < SQT_TICKS_MAX ? from : j->last_ticks;
        j->told_open = 1;
        make_lost(j, SQT_LOSS_RING_FULL, lost, from, until, &j->last_line);
        return 1;
    }
    return 0;
}

/* ---- all together ---- */

/* Reads segments on: 1 if records came, 0 if there is none left that has more. */
static int
read_segments(struct sqt_joined *j, int *progress)
{
    while (j->segment_open || open_part(j)) {
        if (read_segment(j, progress))
            return 1;
        if (!j->segment_open)
            continue;
        if (j->finished)
            return 0;
        if (j->part_next == j->part_count)
            return 0;
        close_part(j);
    }
    return 0;
}

/* Fills the buffer from wherever the next records are: 1, or 0 when there are no more. */
static int
fill(struct sqt_joined *j)
{
    while (!j->finished) {
        int progress = 0;
        /* A live ring is read up to the head that it had when it was opened. */
        if (j->ring.map && j->next >= j->ring.head)
            return 0;
        if (read_segments(j, &progress))
            return 1;
        if (!j->ring.map)
            return 0;
        const int result = read_ring(j);
        if (result >= 0) {
            /* What a block that is cut off would have held came from the ring. */
            j->segment.cut = 0;
            return result;
        }
        /* They fell behind the tail, so they are in a segment by now. */
        if (read_segments(j, &progress))
            return 1;
        if (!progress && !sqt_sources_rescan(j->sources))
            return read_ring_after_gap(j);
    }
    return 0;
}

/* Hands out the record that the reader made, or the buffer. */
static void
origin_hand_out(struct sqt_joined *j)
{
    if (j->lost_pending) {
        j->lost_pending = 0;
        j->records = &j->lost;
        j->left = 1;
        j->number = UINT64_MAX;
        j->out_line = j->lost_line;
    } else {
        j->records = j->buffer + j->skip;
        j->left = j->count - j->skip;
        j->number = j->first + j->skip;
        j->out_line = j->line;
        j->count = j->skip = 0;
    }
    j->key = sqt_line_ns(&j->out_line, j->records->time);
}

void
sqt_joined_look(struct sqt_joined *j)
{
    if (j->ring.map && sqt_ring_refresh(&j->ring) != 0) {
        sqt_report(j->reporter, SQT_WARNING, "%s: damaged ring: its head and tail are impossible now", j->ring_name);
        j->ended = 1;
    }
    j->rescans = 0;
    if (j->ended || j->writer_gone)
        j->ended = 1; /* seen at the last look, so this head is the last one */
    else
        j->writer_gone = !j->named_by || (access(j->named_by, F_OK) != 0 && errno == ENOENT);
}

int
sqt_joined_load(struct sqt_joined *j)
{
    if (!j->buffer) {
        j->buffer = j->unpacker->spare ? j->unpacker->spare : malloc(SQT_BLOCK_RECORDS * sizeof(*j->buffer));
        j->unpacker->spare = NULL;
        if (!j->buffer) {
            sqt_report(j->reporter, SQT_ERROR, "%s: no memory to read it", origin_place(j));
            return 0;
        }
    }
    if (!j->lost_pending && j->count == j->skip) {
        if (j->finished > 1)
            return 0;
        if (!fill(j)) {
            if (j->followed && !j->ended && !j->finished)
                return 0;
            j->finished = 1;
            if (!origin_finish(j)) {
                j->finished = 2;
                return 0;
            }
        }
    }
    origin_hand_out(j);
    return 1;
}
