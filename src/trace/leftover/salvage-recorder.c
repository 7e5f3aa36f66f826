/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * salvage-recorder.c - the ring of a flight recorder as blocks.
 *
 *     tail      ANCHOR          ANCHOR          CLOCK_STEP   ANCHOR      head
 *     |---------|---------------|.................|----------|-----------|
 *
 * Each stretch between two anchors is a block of its own, or several.  What lies before the first anchor goes by that and
 * the next one, too.  Records between an anchor and a step that hides durations may be from both sides of it: their anchors
 * stand in reverse order.
 */
#include "salvage-internal.h"

#include "format/events.h"

/* Records that are read first to find a mark.  Each time none is among them, twice as many are read: so the cost of finding all
 * marks is that of reading the ring once or twice, however many there are. */
#define SALVAGE_FIRST 64

/* A place in the ring where times begin anew. */
struct salvage_mark {
    uint64_t at;   /* number of its record; the head: there is none */
    uint64_t next; /* of the record behind it */
    int is_step;
    struct sqt_anchor anchor; /* unless it is a step */
};

static int
salvage_is_mark(const struct sqt_record *r)
{
    return r->event == SQT_EV_ANCHOR || (r->event == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(r->aux));
}

/* Finds the first mark from number `at` on.  Returns 0, or -1 with errno. */
static int
salvage_find_mark(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t at,
                  struct salvage_mark *mark)
{
    const uint64_t head = ring->header->writer.head;
    size_t most = SALVAGE_FIRST;
    for (size_t count; at < head; at += count, most *= 2) {
        if (most > w->block_records)
            most = w->block_records;
        count = head - at < most ? (size_t)(head - at) : most;
        if (sqt_dead_ring_records(ring, at, count, w->straight) != 0)
            return -1;
        for (size_t i = 0; i < count; ++i) {
            struct sqt_record pair[2];
            if (!salvage_is_mark(&w->straight[i]))
                continue;
            *mark = (struct salvage_mark){.at = at + i, .next = at + i + 1, .is_step = 1};
            if (w->straight[i].event == SQT_EV_CLOCK_STEP)
                return 0;
            if (head - mark->at < 2)
                break;
            if (sqt_dead_ring_records(ring, mark->at, 2, pair) != 0)
                return -1;
            *mark = (struct salvage_mark){mark->at, mark->at + 2, 0, {pair[0].id, pair[0].arg, pair[1].id}};
            return 0;
        }
    }
    *mark = (struct salvage_mark){.at = head, .next = head};
    return 0;
}

/* The first anchor from number `at` on, before which no step comes; else that of the ring. */
static int
salvage_anchor_after(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t at,
                     struct sqt_anchor *anchor)
{
    struct salvage_mark mark;
    if (salvage_find_mark(w, ring, at, &mark) != 0)
        return -1;
    *anchor = mark.at < ring->header->writer.head && !mark.is_step ? mark.anchor : ring->header->flusher.last;
    return 0;
}

/* Writes the records from `first` up to a mark.  *since: the anchor before them, and then that of the mark. */
static int
salvage_stretch(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t first,
                const struct salvage_mark *mark, struct sqt_anchor *since)
{
    struct sqt_anchor to;
    if (mark->at == ring->header->writer.head) /* the newest ones */
        return first < mark->at && sqt_salvage_end(ring, since, &to) == 0
                   ? sqt_salvage_blocks(w, ring, first, mark->at, since, &to, 0)
                   : -(first < mark->at);
    if (mark->is_step) {
        if (salvage_anchor_after(w, ring, mark->next, &to) != 0 ||
            sqt_salvage_blocks(w, ring, first, mark->at, &to, since, SQT_FRAME_SUSPECT) != 0)
            return -1;
        *since = to;
        return sqt_salvage_blocks(w, ring, mark->at, mark->next, since, since, 0);
    }
    const struct sqt_anchor from = *since;
    *since = mark->anchor;
    return sqt_salvage_blocks(w, ring, first, mark->next, &from, &mark->anchor, 0);
}

int
sqt_salvage_recorded(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t first)
{
    struct sqt_anchor since = ring->header->flusher.last;
    struct salvage_mark mark;
    if (salvage_find_mark(w, ring, first, &mark) != 0)
        return -1;
    const int anchored = mark.at < ring->header->writer.head && !mark.is_step;
    uint64_t look = anchored ? mark.next : first;
    if (anchored)
        since = mark.anchor;
    do {
        if (salvage_find_mark(w, ring, look, &mark) != 0 || salvage_stretch(w, ring, first, &mark, &since) != 0)
            return -1;
        first = look = mark.next;
    } while (mark.at < ring->header->writer.head);
    return 0;
}
