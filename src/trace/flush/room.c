/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * room.c - see room-internal.h.
 */
#include "room-internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "trace/file/apart-internal.h"

#define MS UINT64_C(1000000)             /* ns */
#define ROOM_AGAIN_NS (1000 * MS)        /* between looks at what is free on the disk */
#define AGE_AGAIN_NS (60000 * MS)        /* between looks for what is too old */
#define UNKNOWN_ROOM (UINT64_C(1) << 20) /* bytes until the next look, if the directory cannot be listed */
#define EPISODE_NS (600000 * MS)         /* without a deletion, until an episode of a full disk is over */
#define PIECES 32 /* segments are this part of what the traces may have, so that little is deleted at once */
#define PIECE_MIN (UINT64_C(64) << 10) /* bytes */

static struct sqt_keep
room_bounds(struct sqt_flusher *f)
{
    return (struct sqt_keep){
        .leftovers = &f->leftovers,
        .kid = f->kid,
        .open = f->writer.segment.fd >= 0 ? f->writer.segment.sequence : UINT64_MAX,
        .limits = f->now.limits,
    };
}

/* "2 hours"; the unit that leaves a number that says something. */
static void
room_span(char text[32], uint64_t ns)
{
    const uint64_t s = ns / (1000 * MS);
    if (s < 120)
        snprintf(text, 32, "%" PRIu64 " seconds", s);
    else if (s < 7200)
        snprintf(text, 32, "%" PRIu64 " minutes", s / 60);
    else
        snprintf(text, 32, "%" PRIu64 " hours", s / 3600);
}

/* Says once that other files on the disk leave less and less room for the trace: reserve= has deleted a quarter of it and
 * more.  A trace that itself fills the disk up to reserve= deletes as much as it writes, which is no news.  The episode
 * ends once reserve= has deleted nothing for ten minutes. */
static void
room_tell_shrinking(struct sqt_flusher *f)
{
    const struct sqt_room *const r = &f->room;
    const uint64_t now_ns = sqt_monotonic_ns(), other = r->freed - r->for_disk;
    char span[32];
    if (f->history.told && now_ns - f->history.shrunk_ns > EPISODE_NS && !r->for_disk) {
        f->history.told = 0;
        f->history.most = 0;
    }
    f->history.most -= other < f->history.most ? other : f->history.most; /* as other bounds want it */
    if (r->bytes + r->for_disk > f->history.most)
        f->history.most = r->bytes + r->for_disk;
    if (!r->for_disk)
        return;
    f->history.shrunk_ns = now_ns;
    if (f->history.told || r->bytes >= f->history.most / 4 * 3)
        return;
    f->history.told = 1;
    room_span(span, r->reach_ns);
    sqt_say(
        f->mailbox, 0,
        "WARNING: sqtrace: the disk of %.255s is filled by other files: so that reserve= stays free, old traces are "
        "deleted; %" PRIu64 " KB of %" PRIu64 " KB are left, back to %s ago",
        f->leftovers.directory_path, r->bytes >> 10, f->history.most >> 10, span);
}

/* While the disk has room, reserve= deletes nothing: what is missing then was deleted by other bounds, of any kid. */
static void
room_note_spare(struct sqt_flusher *f, uint64_t spare)
{
    if (spare >= f->history.most / 4)
        f->history.most = 0;
}

static long
room_keep(void *context)
{
    struct sqt_flusher *const f = context;
    const struct sqt_keep keep = room_bounds(f);
    f->room = (struct sqt_room){.left = UNKNOWN_ROOM, .total = UINT64_MAX};
    room_note_spare(f, sqt_keep_spare(&keep));
    sqt_keep_apply(&keep, &f->room);
    room_tell_shrinking(f);
    f->roomed_ns = f->kept_ns = sqt_monotonic_ns();
    return 0;
}

void
sqt_room_keep(struct sqt_flusher *f)
{
    sqt_apart_call(room_keep, f);
}

/* The directory is listed when the share is used up.  What is free on the disk changes at any time. */
static long
room_look(void *context)
{
    struct sqt_flusher *const f = context;
    const struct sqt_keep keep = room_bounds(f);
    const uint64_t spare = sqt_keep_spare(&keep);
    if (!f->room.left || !spare)
        return room_keep(f);
    room_note_spare(f, spare);
    f->roomed_ns = sqt_monotonic_ns();
    return 0;
}

uint64_t
sqt_room_look(struct sqt_flusher *f)
{
    if (!f->room.left || sqt_monotonic_ns() - f->roomed_ns >= ROOM_AGAIN_NS)
        sqt_apart_call(room_look, f);
    return f->room.left;
}

const char *
sqt_room_why(const struct sqt_flusher *f)
{
    return f->room.shortage == SQT_SHORT_OF_TOTAL
               ? "the traces of this service are as large as total= allows, and none can be deleted"
               : "no more is free on the disk than reserve= says, and no trace can be deleted";
}

void
sqt_room_used(struct sqt_flusher *f, uint64_t bytes)
{
    if (f->room.left != UINT64_MAX)
        f->room.left -= bytes < f->room.left ? bytes : f->room.left;
}

void
sqt_room_ages(struct sqt_flusher *f)
{
    if (f->now.limits.age_ns && sqt_monotonic_ns() - f->kept_ns >= AGE_AGAIN_NS)
        sqt_room_keep(f);
}

int
sqt_room_is_full(const struct sqt_flusher *f)
{
    uint64_t most = f->now.segment;
    if (!most) {
        const uint64_t piece = f->room.total / PIECES > PIECE_MIN ? f->room.total / PIECES : PIECE_MIN;
        most = piece < f->now.default_segment ? piece : f->now.default_segment;
    }
    return f->writer.segment.size >= most;
}

int
sqt_room_is_old(const struct sqt_flusher *f)
{
    return f->now.every_ns && f->writer.segment.fd >= 0 && f->writer.segment.blocks &&
           sqt_monotonic_ns() - f->opened_ns >= f->now.every_ns;
}
