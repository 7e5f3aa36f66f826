/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tracks.h - where slices stand: processes, their tracks, and the threads of a track.
 *
 *     process "kid 1, pid 4711"
 *         track "requests"        threads "requests", "requests (2)", ...
 *         track "ufs /cache"      threads "ufs /cache", ...
 *
 * Slices of a thread must not overlap, so a track has as many threads as it has slices at a time.  Where slices come in
 * the order of their ends, it never has more.  Memory is bounded: SQT_LANES threads a track, and a budget for all.
 */
#ifndef SQT_TRACKS_H
#define SQT_TRACKS_H

#include "event.h"
#include "pass/family.h"

#define SQT_LANES 4096 /* most threads of a track */
#define SQT_DISKS 64   /* Squid has no more */

/* The tracks of a process, in the viewer's order. */
enum sqt_track {
    SQT_TRACK_LOOP,
    SQT_TRACK_LOSSES,
    SQT_TRACK_REQUESTS,
    SQT_TRACK_SERVERS,     /* waits for their responses */
    SQT_TRACK_CONNECTIONS, /* attempts to get one */
    SQT_TRACK_WAITS,       /* and one for each kind that is waited for */
    SQT_TRACK_DISKS = SQT_TRACK_WAITS + SQT_WAITED_KINDS,
    SQT_TRACKS = SQT_TRACK_DISKS + SQT_DISKS
};

struct sqt_track_lane {
    int64_t until; /* ns; the end of the last slice */
    unsigned number;
};

struct sqt_chrome_process {
    struct {
        struct sqt_track_lane *lanes; /* sorted by `until` */
        unsigned count, room;
    } tracks[SQT_TRACKS];
    unsigned counters[SQT_TRACKS]; /* see counters.h; 0: none yet */
    struct {
        const struct sqt_origin *origin; /* NULL: no pass yet */
        int64_t window;                  /* that of the last pass */
        int64_t busy;                    /* ns of work in it */
        int64_t shown;                   /* percent, the last value that is out */
    } loop;
};

struct sqt_tracks {
    struct sqt_events *events;
    struct sqt_chrome_process **processes; /* by the origin's index; NULL: not named yet */
    size_t process_count;
    size_t left;     /* bytes of the budget for lanes */
    uint64_t beyond; /* slices for which there was no thread */
};

/* The process of an origin, which is named when it is asked for first. */
struct sqt_chrome_process *sqt_process_of(struct sqt_tracks *tracks, const struct sqt_origin *origin);

/* The thread of a track where a slice from..until overlaps none.  Its `thread` is 0 where no more threads may be had. */
struct sqt_chrome_place sqt_track_place(struct sqt_tracks *tracks, const struct sqt_origin *origin, unsigned track,
                                        int64_t from, int64_t until);

/* The first thread of a track: for what is an instant. */
struct sqt_chrome_place sqt_track_first(struct sqt_tracks *tracks, const struct sqt_origin *origin, unsigned track);

/* Its name, made in text if need be. */
#define SQT_TRACK_NAME 300
const char *sqt_track_name(const struct sqt_origin *origin, unsigned track, char text[SQT_TRACK_NAME]);

/* The track of a cache_dir. */
static inline unsigned
sqt_track_of_disk(uint32_t dir)
{
    return SQT_TRACK_DISKS + (dir < SQT_DISKS ? dir : SQT_DISKS - 1);
}

void sqt_tracks_free(struct sqt_tracks *tracks);

#endif
