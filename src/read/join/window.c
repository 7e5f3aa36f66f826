/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * window.c - see window.h.
 *
 * Reading begins behind the last block that ends before the window.  What is damaged is not passed over, unless a whole block
 * behind it lies before the window, too.
 */
#include "read/window.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/open.h"
#include "base/whole.h"
#include "read/file/clock.h"
#include "stream-internal.h"

/* Whether the bytes of that frame are what was written: what its head says decides what is read. */
static int
window_is_whole(const struct sqt_part *part, const struct sqt_index_block *place)
{
    struct sqt_frame frame;
    uint8_t *const bytes = sqt_allocated(place->size);
    const int fd = part->fd >= 0 ? part->fd : sqt_open_regular(AT_FDCWD, part->name, O_RDONLY, NULL);
    int whole = fd >= 0 && pread(fd, bytes, place->size, (off_t)place->at) == (ssize_t)place->size;
    if (whole) {
        memcpy(&frame, bytes, sizeof(frame));
        const uint32_t crc = frame.crc;
        frame.crc = 0;
        memcpy(bytes, &frame, sizeof(frame));
        whole = (uint32_t)crc32(0, bytes, (uInt)place->size) == crc;
    }
    if (fd >= 0 && part->fd < 0)
        close(fd);
    free(bytes);
    return whole;
}

/* ---- one origin ---- */

/* Blocks that are tried, at most. */
#define WINDOW_TRIES 64

/* The last block before that time and record whose header can be believed: it is whole, and its times do not follow from those
 * of a block that may be damaged. */
static int
window_find_sure(const struct sqt_origin_reader *o, int64_t before, uint64_t number, struct sqt_index_block *place)
{
    for (unsigned tries = 0; tries < WINDOW_TRIES && sqt_index_search(o, before, number, place); ++tries) {
        if (!place->pushed && window_is_whole(o->parts[place->part], place))
            return 1;
        number = place->next - 1;
    }
    return 0;
}

/* Where the window begins, and the records before it that are read, too: so many of this process. */
static int64_t
window_begin(struct sqt_origin_reader *o, const struct sqt_window *window, uint64_t lookback)
{
    struct sqt_index_block place;
    int64_t since;
    /* A flight recorder has no more than its ring. */
    if (sqt_origin_reader_extent(o)->recorder || __builtin_sub_overflow(window->since, window->lookback_ns, &since))
        return INT64_MIN;
    if (!sqt_index_search(o, window->since, UINT64_MAX, &place) || place.next <= lookback)
        return INT64_MIN;
    /* Of a process that is gone, one block says who it was. */
    if (!window_find_sure(o, since, place.next - (lookback ? lookback : 1), &place))
        return INT64_MIN;
    o->resumed = place;
    o->public.late = 1;
    sqt_origin_reader_rewind(o);
    return place.last_ns;
}

/* A process that ended so long before the window has no rows in it.  ns */
#define WINDOW_GONE INT64_C(1000000000)

static int
window_is_gone(struct sqt_origin_reader *o, int64_t since)
{
    return !sqt_ring_is_open(&o->ring) && !o->pointer && sqt_origin_reader_extent(o)->last_ns + WINDOW_GONE < since;
}

/* ---- what it costs ---- */

/* The number of the first record of a block that begins at that time or later, nearly: by the block that is next. */
static uint64_t
window_number_at(const struct sqt_origin_reader *o, int64_t ns, uint64_t end)
{
    struct sqt_index_block place;
    return ns == INT64_MAX ? end : sqt_index_search(o, ns, UINT64_MAX, &place) ? place.next : 0;
}

static uint64_t
window_bytes(const struct sqt_origin_reader *o)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < o->part_count; ++i)
        if (o->parts[i]->fd < 0)
            bytes += o->parts[i]->size;
        else if (o->parts[i]->end != UINT64_MAX) /* of a pipe that goes on, the end is not known */
            bytes += o->parts[i]->end - o->parts[i]->begin;
    return bytes;
}

/* Adds what is read of one process. */
static void
window_count(struct sqt_origin_reader *o, const struct sqt_window *window, struct sqt_window_cost *cost)
{
    const uint64_t all = sqt_origin_reader_extent(o)->records, bytes = window_bytes(o);
    const uint64_t begin = o->resumed.next ? o->resumed.next : o->extent_from;
    const uint64_t end = window_number_at(o, window->until, o->extent_to), numbers = end > begin ? end - begin : 0;
    const uint64_t read = numbers < all ? numbers : all; /* some of these numbers may be missing */
    cost->all += all;
    cost->all_bytes += bytes;
    cost->records += read;
    cost->behind += o->extent_to > end ? o->extent_to - end : 0;
    cost->bytes += read < all ? (uint64_t)sqt_whole((double)bytes * (double)read / (double)all) : all ? bytes : 0;
}

/* ---- all of them ---- */

void
sqt_stream_window(struct sqt_stream *s, const struct sqt_window *window, struct sqt_window_cost *cost)
{
    uint64_t there = 0;
    *cost = (struct sqt_window_cost){.from = INT64_MAX};
    if (sqt_stream_is_log(s))
        return;
    for (size_t i = 0; i < s->waiting_count; ++i) {
        sqt_origin_reader_sort(s->waiting[i]);
        there += sqt_stream_wants(s, s->waiting[i]) && !window_is_gone(s->waiting[i], window->since);
    }
    for (size_t i = 0; i < s->waiting_count; ++i) {
        struct sqt_origin_reader *const o = s->waiting[i];
        if (!sqt_stream_wants(s, o))
            continue;
        const int gone = window_is_gone(o, window->since);
        const int64_t from = window_begin(o, window, gone ? 0 : window->lookback / there);
        if (o->resumed.next && !gone) { /* others are read from their first record on */
            cost->from = from < cost->from ? from : cost->from;
            cost->cut = 1;
        }
        window_count(o, window, cost);
    }
}

void
sqt_stream_cost(struct sqt_stream *s, struct sqt_window_cost *cost)
{
    const struct sqt_window all = {.since = INT64_MIN, .until = INT64_MAX};
    *cost = (struct sqt_window_cost){.from = INT64_MIN};
    for (size_t i = 0; i < s->waiting_count && !sqt_stream_is_log(s); ++i)
        if (sqt_stream_wants(s, s->waiting[i]))
            window_count(s->waiting[i], &all, cost);
}
