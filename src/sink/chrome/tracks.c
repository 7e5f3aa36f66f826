/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tracks.c - see tracks.h.
 */
#include "tracks.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4
#define THREADS 10000 /* thread numbers of a track: THREADS * (track + 1) + lane */

const char *
sqt_track_name(const struct sqt_origin *origin, unsigned track, char text[SQT_TRACK_NAME])
{
    static const char *const names[SQT_TRACK_WAITS] = {[SQT_TRACK_LOOP] = "event loop",
                                                       [SQT_TRACK_LOSSES] = "losses",
                                                       [SQT_TRACK_REQUESTS] = "requests",
                                                       [SQT_TRACK_SERVERS] = "server_wait",
                                                       [SQT_TRACK_CONNECTIONS] = "server connections"};
    if (track < SQT_TRACK_WAITS)
        return names[track];
    if (track < SQT_TRACK_DISKS)
        return sqt_waited_names[track - SQT_TRACK_WAITS];
    const char *const dir = sqt_origin_text(origin, SQT_DEF_DIR, track - SQT_TRACK_DISKS);
    snprintf(text, SQT_TRACK_NAME, "%s", dir ? dir : "cache_dir");
    return text;
}

struct sqt_chrome_process *
sqt_process_of(struct sqt_tracks *t, const struct sqt_origin *origin)
{
    if (origin->index >= t->process_count) {
        t->processes = sqt_resized(t->processes, (origin->index + 1) * sizeof(*t->processes));
        while (t->process_count <= origin->index)
            t->processes[t->process_count++] = NULL;
    }
    if (!t->processes[origin->index]) {
        char name[80];
        t->processes[origin->index] = sqt_zeroed(1, sizeof(struct sqt_chrome_process));
        snprintf(name, sizeof(name), "kid %u, pid %u", origin->identity.kid, origin->identity.pid);
        sqt_event_name(t->events, "process", (struct sqt_chrome_place){origin->index + 1, 0}, name,
                       origin->identity.kid);
    }
    return t->processes[origin->index];
}

static void
tracks_name_thread(struct sqt_tracks *t, const struct sqt_origin *origin, unsigned track, struct sqt_chrome_place place,
                   unsigned number)
{
    char text[SQT_TRACK_NAME], name[SQT_TRACK_NAME + 16];
    const char *const plain = sqt_track_name(origin, track, text);
    if (number)
        snprintf(name, sizeof(name), "%s (%u)", plain, number + 1);
    sqt_event_name(t->events, "thread", place, number ? name : plain, place.thread);
}

static struct sqt_chrome_place
tracks_place_of(const struct sqt_origin *origin, unsigned track, unsigned number)
{
    return (struct sqt_chrome_place){origin->index + 1, THREADS * (track + 1) + number};
}

/* Adds a thread to a track, behind its other lanes; 0 if there is no room. */
static int
tracks_grow(struct sqt_tracks *t, const struct sqt_origin *origin, unsigned track)
{
    struct sqt_chrome_process *const p = t->processes[origin->index];
    const unsigned count = p->tracks[track].count;
    if (count == p->tracks[track].room) {
        const unsigned more = count ? count : FIRST_ROOM;
        const size_t bytes = more * sizeof(struct sqt_track_lane);
        if (count >= SQT_LANES || bytes > t->left)
            return 0;
        t->left -= bytes;
        p->tracks[track].room += more;
        p->tracks[track].lanes =
            sqt_resized(p->tracks[track].lanes, p->tracks[track].room * sizeof(struct sqt_track_lane));
    }
    p->tracks[track].lanes[count] = (struct sqt_track_lane){.until = INT64_MIN, .number = count};
    ++p->tracks[track].count;
    tracks_name_thread(t, origin, track, tracks_place_of(origin, track, count), count);
    return 1;
}

/* How many of the lanes, which are sorted, are free at that time. */
static unsigned
tracks_free_lanes(const struct sqt_track_lane *lanes, unsigned count, int64_t at)
{
    unsigned low = 0, high = count;
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (lanes[middle].until <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of the free threads that whose last slice ended last: so slices that come in the order of their ends need as few
 * threads as can be. */
struct sqt_chrome_place
sqt_track_place(struct sqt_tracks *t, const struct sqt_origin *origin, unsigned track, int64_t from, int64_t until)
{
    struct sqt_chrome_process *const p = sqt_process_of(t, origin);
    const unsigned lanes_free = tracks_free_lanes(p->tracks[track].lanes, p->tracks[track].count, from);
    unsigned i = lanes_free - 1;
    if (!lanes_free) {
        if (!tracks_grow(t, origin, track)) {
            ++t->beyond;
            return (struct sqt_chrome_place){origin->index + 1, 0};
        }
        i = p->tracks[track].count - 1;
    }
    struct sqt_track_lane *const lanes = p->tracks[track].lanes;
    const struct sqt_track_lane chosen = {.until = until, .number = lanes[i].number};
    for (; i && lanes[i - 1].until > until; --i)
        lanes[i] = lanes[i - 1];
    const unsigned behind = tracks_free_lanes(lanes + i + 1, p->tracks[track].count - i - 1, until);
    memmove(lanes + i, lanes + i + 1, behind * sizeof(*lanes));
    lanes[i + behind] = chosen;
    return tracks_place_of(origin, track, chosen.number);
}

struct sqt_chrome_place
sqt_track_first(struct sqt_tracks *t, const struct sqt_origin *origin, unsigned track)
{
    const struct sqt_chrome_process *const p = sqt_process_of(t, origin);
    if (!p->tracks[track].count && !tracks_grow(t, origin, track))
        return (struct sqt_chrome_place){origin->index + 1, 0};
    return tracks_place_of(origin, track, 0);
}

void
sqt_tracks_free(struct sqt_tracks *t)
{
    for (size_t i = 0; i < t->process_count; ++i) {
        for (unsigned track = 0; t->processes[i] && track < SQT_TRACKS; ++track)
            free(t->processes[i]->tracks[track].lanes);
        free(t->processes[i]);
    }
    free(t->processes);
}
