/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follow.c - see follow.h.
 */
#include "read/follow.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "read/file/clock.h"
#include "stream-internal.h"

#define MS INT64_C(1000000)
/* Directories are looked at less often than rings. */
#define LOOK_NS (250 * MS)
/* Records that were read so long ago are not held back, whatever their times say: a clock may have stepped. */
#define HELD_MOST_NS (300 * MS)
/* A ring whose flusher has been silent for longer does not say what time it is: its process is gone, perhaps with its boot. */
#define SILENT_MOST_NS (60000 * MS)
/* For so long after that it has fallen silent just now. */
#define SILENT_NEW_NS (10000 * MS)

/* ---- origins ---- */

unsigned
sqt_stream_free_index(const struct sqt_stream *s)
{
    if (!s->followed)
        return s->opened;
    /* Among one more than there are origins, one is free. */
    const size_t most = s->open_count + SQT_FOLLOW_ENDED + 1;
    uint8_t *const taken = sqt_zeroed(most, 1);
    for (size_t i = 0; i < s->open_count; ++i)
        if (s->open[i]->public.index < most)
            taken[s->open[i]->public.index] = 1;
    for (unsigned i = 0; i < SQT_FOLLOW_ENDED; ++i)
        if (s->ended[i] && s->ended[i]->public.index < most)
            taken[s->ended[i]->public.index] = 1;
    unsigned index = 0;
    while (taken[index])
        ++index;
    free(taken);
    return index;
}

static void
follow_forget(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    if (s->following.forgotten && o->public.index != UINT_MAX)
        s->following.forgotten(s->following.context, &o->public);
    for (size_t i = 0; i < s->waiting_count; ++i)
        if (s->waiting[i] == o) {
            memmove(&s->waiting[i], &s->waiting[i + 1],
                    (s->waiting_count - i - 1) * sizeof(struct sqt_origin_reader *));
            --s->waiting_count;
            s->waiting_next -= i < s->waiting_next;
            break;
        }
    sqt_sources_forget(&s->sources, o);
}

/* Keeps the last ones that have ended.  A process's last segment is there before its pointer goes: it must be known before
 * the process is forgotten, or it would be taken for a new one. */
static void
follow_keep(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    struct sqt_origin_reader **const place = &s->ended[s->ended_next++ % SQT_FOLLOW_ENDED];
    sqt_ring_close(&o->ring);
    if (*place) {
        sqt_sources_look(&s->sources);
        follow_forget(s, *place);
    }
    *place = o;
}

void
sqt_stream_pass_over(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    if (!s->followed)
        return;
    o->public.index = UINT_MAX;
    follow_keep(s, o);
}

int
sqt_stream_settle(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    if (s->followed && !o->finished)
        return 1;
    if (s->final)
        sqt_stream_tell_final(s, o);
    sqt_origin_reader_rewind(o);
    if (!s->followed)
        return 0;
    if (s->following.ended)
        s->following.ended(s->following.context, &o->public);
    follow_keep(s, o);
    return 0;
}

int
sqt_stream_load(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    o->waits = s->followed && sqt_origin_reader_is_empty(o) && s->sources.kept - o->kept >= SQT_FOLLOW_KEPT_MOST;
    if (!o->waits)
        return sqt_origin_reader_load(o);
    sqt_origin_reader_save(o);
    s->waits = 1;
    return -1;
}

void
sqt_stream_load_waiting(struct sqt_stream *s)
{
    s->waits = 0;
    for (size_t i = 0; i < s->open_count && !s->waits; ++i)
        if (s->open[i]->waits && sqt_stream_load(s, s->open[i]) > 0)
            s->open[i]->taken_at = s->looked_now;
}

int
sqt_stream_lets(const struct sqt_stream *s, const struct sqt_origin_reader *o)
{
    if (s->final)
        return sqt_stream_is_final(s, o);
    return !s->followed || o->key <= s->limit || s->looked_now - o->taken_at > HELD_MOST_NS;
}

int64_t
sqt_stream_align(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    o->offset_ns -= (int64_t)s->start_ns;
    o->timed = 1;
    const int64_t too_late = o->offset_ns - (SQT_LATER_MAX - (int64_t)SQT_MONOTONIC_MAX);
    if (too_late <= 0)
        return 0;
    sqt_diagnose(&s->diagnostics, SQT_WARNING,
                 "kid %" PRIu32 ", pid %" PRIu32 ": its clock is more than 70 years "
                 "later than that of the first; its times are wrong",
                 o->public.identity.kid, o->public.identity.pid);
    o->offset_ns -= too_late;
    return too_late;
}

/* An origin that is new joins those that wait, and is opened next. */
static int
follow_add(struct sqt_stream *s, struct sqt_origin_reader *o)
{
    for (size_t i = 0; i < s->waiting_count; ++i)
        if (s->waiting[i] == o)
            return 0;
    s->waiting = sqt_resized(s->waiting, (s->waiting_count + 2) * sizeof(struct sqt_origin_reader *));
    s->open = sqt_resized(s->open, (s->waiting_count + 2) * sizeof(struct sqt_origin_reader *));
    sqt_stream_align(s, o);
    o->key = o->first_ns = o->last_ns = INT64_MIN;
    s->waiting[s->waiting_count++] = o;
    return 0;
}

/* ---- following ---- */

int
sqt_stream_follow(struct sqt_stream *s, const struct sqt_following *following)
{
    if (s->sources.spool_count) {
        sqt_diagnose(&s->diagnostics, SQT_ERROR, "standard input: a pipe cannot be followed; name a trace directory");
        return -1;
    }
    s->following = *following;
    s->followed = s->sources.followed = 1;
    for (size_t i = 0; i < s->sources.origin_count; ++i)
        s->sources.origins[i]->followed = 1;
    /* All files are looked at once more, and then known. */
    s->diagnostics.muted = 1;
    s->sources.look_again = 1;
    s->limit = INT64_MAX;
    sqt_sources_look(&s->sources);
    s->diagnostics.muted = 0;
    for (size_t i = 0; i < s->sources.origin_count; ++i)
        if (follow_add(s, s->sources.origins[i]) != 0)
            return -1;
    sqt_stream_wait(s, 0);
    return 0;
}

void
sqt_stream_wait(struct sqt_stream *s, int milliseconds)
{
    if (milliseconds > 0)
        poll(NULL, 0, milliseconds);
    const int64_t now = s->looked_now = sqt_monotonic_ns();
    if (now - s->looked >= LOOK_NS) {
        s->looked = now;
        sqt_sources_look(&s->sources);
        for (size_t i = 0; i < s->sources.origin_count; ++i)
            follow_add(s, s->sources.origins[i]);
    }
    for (size_t i = s->waiting_next; i < s->waiting_count; ++i)
        sqt_origin_reader_look(s->waiting[i]);
    sqt_stream_limit(s, now, s->open, s->open_count);
    for (size_t i = 0; i < s->open_count; ++i) {
        struct sqt_origin_reader *const o = s->open[i];
        sqt_origin_reader_look(o);
        if (!o->left && o != s->current && sqt_stream_load(s, o) > 0)
            o->taken_at = now;
    }
}

void
sqt_stream_wait_for_none(struct sqt_stream *s)
{
    sqt_stream_wait(s, 0);
    s->limit = INT64_MAX;
}

void
sqt_stream_unfollow(struct sqt_stream *s)
{
    sqt_stream_wait(s, 0);
    s->limit = INT64_MAX;
    for (size_t i = 0; i < s->waiting_count; ++i)
        s->waiting[i]->ended = 1;
}

/* ---- now ---- */

/* For how long the ring's flusher has not looked at it; INT64_MAX: the heartbeat is of another boot. */
static int64_t
follow_silent(const struct sqt_ring *ring)
{
    const uint64_t beat = sqt_ring_heartbeat(ring), now = (uint64_t)sqt_monotonic_ns(); /* in that order */
    return beat <= now ? (int64_t)(now - beat) : INT64_MAX;
}

int64_t
sqt_stream_now(const struct sqt_stream *s)
{
    int64_t now = INT64_MIN;
    for (size_t i = 0; i < s->sources.origin_count; ++i) {
        const struct sqt_origin_reader *const o = s->sources.origins[i];
        if (sqt_ring_is_open(&o->ring) && o->timed && !o->ended && follow_silent(&o->ring) < SILENT_MOST_NS &&
            s->looked_now + o->offset_ns > now)
            now = s->looked_now + o->offset_ns;
    }
    return now;
}

int
sqt_stream_fell_silent(const struct sqt_stream *s)
{
    for (size_t i = 0; i < s->sources.origin_count; ++i) {
        const struct sqt_origin_reader *const o = s->sources.origins[i];
        const int64_t silent = sqt_ring_is_open(&o->ring) && o->timed && !o->ended ? follow_silent(&o->ring) : 0;
        if (silent >= SILENT_MOST_NS && silent < SILENT_MOST_NS + SILENT_NEW_NS)
            return 1;
    }
    return 0;
}

uint64_t
sqt_stream_losing(const struct sqt_stream *s)
{
    uint64_t losing = 0;
    for (size_t i = 0; i < s->sources.origin_count; ++i) {
        const struct sqt_origin_reader *const o = s->sources.origins[i];
        if (sqt_ring_is_open(&o->ring) && !o->ended)
            losing += o->ring.totals.lost_open;
    }
    return losing;
}

int64_t
sqt_origin_silent(const struct sqt_origin *origin)
{
    const struct sqt_origin_reader *const o = (const struct sqt_origin_reader *)origin;
    return sqt_ring_is_open(&o->ring) ? follow_silent(&o->ring) : -1;
}

uint32_t
sqt_origin_acl(const struct sqt_origin *origin)
{
    const struct sqt_origin_reader *const o = (const struct sqt_origin_reader *)origin;
    return sqt_ring_is_open(&o->ring) ? sqt_ring_acl(&o->ring) : 0;
}
