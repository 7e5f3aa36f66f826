/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * replay.h - requests, which come when they end, as look-ups, data and ends in the order of their times.
 *
 * A request that was a hit in the trace may be a miss in a cache of another size.  Its data then come, and it ends, as
 * late after its begin as those of misses of this size in the trace do, on average; and the other way around.
 *
 * A client that waits for its answer asks again the sooner, the sooner it is answered.  Where the clients of a trace wait
 * for most of their time, each cache has a pace: by how much its requests would come faster than those of the trace.  With
 * as many clients, that is the sum of wait and pause as it was, over what it would be (the interactive response time law:
 * P. Denning, J. Buzen, The Operational Analysis of Queueing Network Models, ACM Computing Surveys 1978).
 *
 * Several groups of caches, one for each setting, share one replay: their requests are put in order once, and what happens
 * at the same time in several groups is one event.
 */
#ifndef SQT_WHATIF_REPLAY_H
#define SQT_WHATIF_REPLAY_H

#include "cache.h"

/* Requests that are kept until nothing earlier can come, and for how long at most.  What began longer ago than that
 * counts as if it had begun then. */
#define SQT_REPLAY_FLIGHTS 16384
#define SQT_REPLAY_LAG INT64_C(5000000000)

/* Groups of caches. */
#define SQT_REPLAY_GROUPS 4

/* Whether a group is of memory, where a hit from disk counts as a miss, or of disks. */
enum sqt_replay_side { SQT_REPLAY_MEMORY, SQT_REPLAY_DISK, SQT_REPLAY_SIDES };

struct sqt_access {
    int64_t begin, data, end; /* ns; data: when the first data came */
    uint64_t object;
    uint64_t conn;        /* of the client; 0: not known */
    int64_t bytes;        /* of the body */
    int64_t stored_bytes; /* with the header */
    unsigned hit;         /* bits of sides on which it was one */
    int never;            /* it is a miss whatever is in the cache: the entry was stale, say */
    int keeps;            /* the object may stay in the cache */
    uint32_t place;       /* where it is counted beside the whole, from 1; 0: nowhere */
};

/* Some of the requests, as those of a minute: sums of a group of caches. */
struct sqt_replay_place {
    uint64_t requests, bytes;
    uint64_t seen_hits, seen_hit_bytes; /* hits in the trace */
    uint64_t followed, followed_bytes;  /* as many as those that are followed stand for; of these, hits by cache */
    uint64_t hits[SQT_CACHE_SIZES], hit_bytes[SQT_CACHE_SIZES];
};

struct sqt_flight {
    struct sqt_access access;
    struct {
        uint32_t node;         /* of the group's caches, while it is fetched */
        uint32_t hits, misses; /* bits of caches, known after the look-up */
    } of[SQT_REPLAY_GROUPS];
    uint32_t events; /* that are still to come; 0: it is free */
    uint32_t next;   /* free flight */
};

/* The last request of a connection. */
#define SQT_REPLAY_CONNS 4096
struct sqt_replay_conn {
    uint64_t conn;
    int64_t end;
};

/* What clients do between two requests: sums in ns. */
struct sqt_replay_clients {
    double gaps, waits;
    uint64_t cycles;
};

/* Shares of hits: smoothed, of blocks of requests. */
struct sqt_replay_share {
    uint64_t hits; /* at the end of the last block */
    double share;
};

struct sqt_replay_event {
    int64_t at;
    uint32_t flight;
    uint8_t what, groups; /* groups: bits of those that it is for */
};

/* What requests of some sizes took: means. */
#define SQT_REPLAY_SIZES 48
struct sqt_replay_mean {
    double data_ns, end_ns; /* from the begin; from the data */
    uint64_t count;
};

/* Requests of the trace, as one side has them. */
struct sqt_replay_seen {
    unsigned groups;                                   /* bits of those on this side; 0: it is not wanted */
    struct sqt_replay_mean means[2][SQT_REPLAY_SIZES]; /* of misses and of hits, by the size's power of two */
    double took_ns[2];                                 /* misses, hits: sums */
    uint64_t count[2];
    uint64_t looked_hits; /* requests that were looked up so far and hit in the trace */
    struct sqt_replay_share today;
};

struct sqt_replay_group {
    struct sqt_caches *caches;
    int64_t metadata; /* bytes that the group stores beside each object */
    struct sqt_replay_share shares[SQT_CACHE_SIZES];
    uint64_t followed;               /* at the end of the last block */
    struct sqt_replay_place *places; /* those of requests that are counted there */
    uint32_t place_count;
};

struct sqt_replay {
    struct sqt_replay_group groups[SQT_REPLAY_GROUPS];
    unsigned group_count;
    struct sqt_replay_seen seen[SQT_REPLAY_SIDES];
    struct sqt_flight *flights;
    uint32_t flight_count, flight_room, free;
    struct sqt_replay_event *events; /* a heap */
    size_t event_count, event_room;
    struct sqt_replay_conn *conns; /* by the number of the connection; a later one takes the place of an earlier one */
    int64_t newest, done;          /* ns: of ends that came; of events that were */
    uint64_t late;
    struct sqt_replay_clients clients;
    uint64_t looked, block_of; /* requests that were looked up so far; at the end of the last block */
};

void sqt_replay_init(struct sqt_replay *replay);
/* Adds caches, before the first request.  metadata: bytes that they store beside each object.  Returns their group. */
struct sqt_replay_group *sqt_replay_caches(struct sqt_replay *replay, struct sqt_caches *caches,
                                           enum sqt_replay_side side, int64_t metadata);
void sqt_replay_add(struct sqt_replay *replay, const struct sqt_access *access);
/* All that came is over, as at the end of the trace or when Squid starts again. */
void sqt_replay_drain(struct sqt_replay *replay);
void sqt_replay_free(struct sqt_replay *replay);

#endif
