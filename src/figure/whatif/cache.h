/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cache.h - caches of several sizes, all of which get the same requests: miniature simulations.
 *
 * What Squid does with an object is done with a node of it, once for each size.  All sizes share the nodes.  While they
 * fit into a bound, each request is followed: the simulation is exact.  Beyond it only objects are followed whose hash
 * lies below a limit that is halved each time, in caches that are smaller by the same factor.
 *
 * Local memory is full because of what is in flight, and that of one object in sixteen says little about all of it.  So
 * its cache stays as large as Squid's there.  Objects that are not followed are in it as a number of pages.  Their requests
 * come and go like those that are followed.  Each is a hit where one of the last requests like it was, which is drawn.
 *
 *   C. Waldspurger, T. Saemundson, I. Ahmad, N. Park: Cache Modeling and Optimization using Miniature Simulations.
 *   USENIX ATC 2017.
 *   C. Waldspurger, N. Park, A. Garthwaite, I. Ahmad: Efficient MRC Construction with SHARDS.  FAST 2015.
 *
 * Time goes forward: a request is looked up, its reply's data come, it ends.  replay.h calls in that order.
 */
#ifndef SQT_WHATIF_CACHE_H
#define SQT_WHATIF_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/scatter.h"

/* Sizes that are tried at once. */
#define SQT_CACHE_SIZES 14
/* Places of the largest cache that are kept. */
#define SQT_CACHE_PLACES 500000
/* Objects that are followed at once, in all sizes, if nothing else is said: 20 MiB at most with their index. */
#define SQT_CACHE_NODES 100000

/* What is remembered of the last requests of a kind that are followed, and sizes that are told apart. */
#define SQT_CACHE_LIKES 32
#define SQT_CACHE_LIKE_SIZES 33
/* Groups of objects. */
#define SQT_CACHE_OBJECT_GROUPS 256
/* Objects that made room: what is remembered of the last ones. */
#define SQT_CACHE_GONE 16

#define SQT_NO_NODE UINT32_MAX

/* An object in the cache of one size. */
struct sqt_cache_link {
    uint32_t newer, older; /* nodes: neighbors by last use, where the policy has an order */
    uint16_t locks;        /* hits that are being sent */
    uint16_t coming;       /* fetches whose first data came: whoever asks now is a hit */
};

/* It is free if it is in no cache and nothing holds it. */
struct sqt_cache_node {
    uint64_t object;
    uint32_t pages;
    uint32_t next;       /* one more than the node after it: of those whose hash is the same, or that are free */
    uint16_t in, coming; /* bits of caches: it is there; it is being fetched into them */
    uint32_t holds;      /* fetches that hold it */
    struct sqt_cache_link links[];
};

/* The cache of one size. */
struct sqt_cache {
    int64_t bytes;   /* its size in squid.conf */
    int64_t limit;   /* bytes: larger objects do not stay */
    int64_t pages;   /* the same, less what is not for objects */
    int64_t used;    /* pages of objects that are followed and that nobody fetches */
    int64_t rest;    /* local: the same, of those that are not followed */
    int64_t transit; /* pages of all objects that are being fetched */
    int64_t walked;  /* local, ufs: the second of its own clock in which room was made last */
    double turn;     /* local, ufs: of the next object that is followed to go; it goes when this is 1 */
    double pace;     /* how much faster its clients come than those of the trace: 1 where nobody waits for answers */
    double clock;    /* ns: its own time, in which that many seconds fewer pass between two requests */
    int64_t clocked; /* ns: the time of the trace at which `clock` was right */
    int64_t second;  /* of its own clock, and the time of the trace (ns) until which that is so for certain */
    int64_t until;
    uint32_t newest, oldest;
    uint32_t *places;              /* shared: nodes by the place of their key; else NULL */
    uint32_t place_count;          /* of Squid's */
    uint64_t hand;                 /* shared: the place whose turn it was last */
    uint32_t gone[SQT_CACHE_GONE]; /* local: pages of objects that made room last */
    uint32_t gone_count;
    uint64_t hits, hit_bytes; /* as many as those that are followed stand for */
    uint64_t dropped;         /* local: the same, of hits that removed their object, because memory was full */
};

struct sqt_caches;

/* What became of requests of one size: bits of caches. */
struct sqt_cache_like {
    uint16_t hits[SQT_CACHE_LIKES], joined[SQT_CACHE_LIKES];
    uint32_t count; /* of all that came */
};

/* Some of the objects that are followed, by their hash: how many requests came for them, and in which caches they were hits. */
struct sqt_cache_group {
    uint64_t followed, followed_bytes;
    struct {
        uint64_t hits, hit_bytes;
    } of[SQT_CACHE_SIZES];
};

/* How Squid replaces objects. */
struct sqt_cache_kind {
    const char *method; /* in words, for column `method` */
    int64_t page;       /* bytes of an object */
    int64_t frame;      /* bytes of the cache that a page takes */
    int ordered;        /* by last use */
    int whole;          /* objects that are not followed count, too: `fetched` and `sent` get them without a node */
    /* The first data of a reply that is fetched came, and take pages from now on. */
    void (*comes)(struct sqt_caches *caches, unsigned cache, int64_t now, uint32_t pages);
    /* A fetch is over.  keeps: the object may stay. */
    void (*fetched)(struct sqt_caches *caches, unsigned cache, uint32_t node, uint32_t pages, int keeps);
    /* A hit has been sent.  pages: 0 if the size is not known. */
    void (*sent)(struct sqt_caches *caches, unsigned cache, uint32_t node, uint32_t pages);
};
extern const struct sqt_cache_kind sqt_cache_local, sqt_cache_shared, sqt_cache_rock, sqt_cache_ufs;

struct sqt_cache_size {
    int64_t bytes, limit; /* of the cache; of its largest object */
};

struct sqt_caches {
    const struct sqt_cache_kind *kind;
    struct sqt_cache caches[SQT_CACHE_SIZES];
    unsigned count;
    unsigned low, high;  /* percent: cache_swap_low and cache_swap_high */
    unsigned halvings;   /* one object in 2^halvings is sampled */
    uint32_t most, room; /* nodes; those that there is room for */
    uint32_t held;       /* nodes of objects that are being fetched */
    char *nodes;         /* each has a link for each cache */
    size_t node_size;
    uint32_t node_count, free; /* free: one more than the first free node */
    uint32_t *index;           /* by the hash of an object, one more than the first node; 0: there is none */
    unsigned index_shift;
    uint64_t scatter;
    uint64_t draws; /* that were drawn */
    struct sqt_cache_like likes[2]
                               [SQT_CACHE_LIKE_SIZES]; /* misses and hits of the trace, by the power of two of pages */
    uint32_t sent, sent_last;          /* hits of caches, of those that are followed; nobody else was sent it then */
    uint64_t requests, bytes;          /* that look into the cache */
    uint64_t followed, followed_bytes; /* the same, estimated from those that are followed */
    struct sqt_cache_group groups[SQT_CACHE_OBJECT_GROUPS]; /* the same, by hash */
};

/* sizes: in rising order; none: bytes that something else takes from each.  most: nodes, 0 for the usual. */
void sqt_caches_init(struct sqt_caches *caches, const struct sqt_cache_kind *kind, const struct sqt_cache_size *sizes,
                     unsigned count, int64_t none, uint32_t most);

/* Whether the object is followed. */
int sqt_caches_follow(const struct sqt_caches *caches, uint64_t object);

/* A request looks into the caches, whether its object is followed or not. */
void sqt_caches_count(struct sqt_caches *caches, uint64_t object, int64_t bytes);

/* Hits and bytes of hits of a cache, as shares.  Those that are followed may be too many or too few for their share, mostly
 * because of objects that are asked for very often.  The authors of SHARDS take the difference for hits.  In a busy memory
 * cache such objects have misses, too.  So the difference has as many hits as groups of objects have that are asked for more
 * often than others (the regression estimator of W. Cochran, Sampling Techniques, 1977, over random groups). */
/* slope: how many hits the difference has, of each request or byte. */
double sqt_cache_hit_slope(const struct sqt_caches *caches, const struct sqt_cache *cache);
double sqt_cache_byte_slope(const struct sqt_caches *caches, const struct sqt_cache *cache);
double sqt_cache_hit_share(const struct sqt_caches *caches, const struct sqt_cache *cache);
double sqt_cache_byte_share(const struct sqt_caches *caches, const struct sqt_cache *cache);

/* Looks an object up; returns bits of the caches that have it, in which it is then locked until `sent`.  joined: bits of
 * those into which it is just being fetched, which are hits as well, and end with the fetch. */
uint32_t sqt_caches_look_up(struct sqt_caches *caches, uint64_t object, int64_t bytes, uint32_t *joined);

/* A request for an object that is followed had that outcome.  hit: it was one in the trace. */
void sqt_caches_learn(struct sqt_caches *caches, int64_t stored_bytes, int hit, uint32_t hits, uint32_t joined);
/* As sqt_caches_look_up, for an object that is not followed: what became of a request like it. */
uint32_t sqt_caches_draw(struct sqt_caches *caches, int64_t stored_bytes, int hit, uint32_t *joined);

uint32_t sqt_caches_pages(const struct sqt_caches *caches, int64_t stored_bytes);

/* The same request, later.  misses, hits: bits of caches.  stored_bytes: 0 if it is not known.  `data` returns the node
 * that `end` must get. */
uint32_t sqt_caches_data(struct sqt_caches *caches, int64_t now, uint64_t object, int64_t stored_bytes, uint32_t misses,
                         int keeps);
void sqt_caches_end(struct sqt_caches *caches, uint32_t node, uint64_t object, int64_t stored_bytes, uint32_t misses,
                    int keeps);
void sqt_caches_sent(struct sqt_caches *caches, uint64_t object, int64_t stored_bytes, uint32_t hits);

/* The object is not in any cache any more, as after a purge or when a newer one takes its place. */
void sqt_caches_drop(struct sqt_caches *caches, uint64_t object);

/* Squid started again: all are empty.  Counts stay. */
void sqt_caches_empty(struct sqt_caches *caches);

void sqt_caches_free(struct sqt_caches *caches);

/* ---- for the kinds ---- */

static inline uint64_t
sqt_cache_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline struct sqt_cache_node *
sqt_cache_node_of(const struct sqt_caches *caches, uint32_t node)
{
    return (struct sqt_cache_node *)(void *)(caches->nodes + node * caches->node_size);
}

static inline struct sqt_cache_link *
sqt_cache_link_of(const struct sqt_caches *caches, uint32_t node, unsigned cache)
{
    return &sqt_cache_node_of(caches, node)->links[cache];
}

/* Pages of the whole cache that are not free.  Clients that come faster fetch more at once, in proportion (J. Little, A
 * proof for the queuing formula L = lambda W, Operations Research 1961). */
static inline int64_t
sqt_cache_in_use(const struct sqt_caches *caches, const struct sqt_cache *cache)
{
    const int64_t stored = caches->kind->whole ? cache->used + cache->rest : cache->used << caches->halvings;
    return stored + (int64_t)((double)cache->transit * cache->pace);
}

static inline void
sqt_cache_advance(struct sqt_cache *cache, int64_t now)
{
    if (now <= cache->clocked)
        return;
    cache->clock += (double)(now - cache->clocked) / cache->pace;
    cache->clocked = now;
}

/* The second of the cache's own clock. */
static inline int64_t
sqt_cache_second(struct sqt_cache *cache, int64_t now)
{
    if (now < cache->until)
        return cache->second;
    const double period = 1e9;
    sqt_cache_advance(cache, now);
    cache->second = (int64_t)(cache->clock / period);
    /* Ten microseconds are more than what is lost when the sum is rounded. */
    const double left = ((double)(cache->second + 1) * period - cache->clock) * cache->pace - 10000;
    cache->until = cache->clocked + (int64_t)(left > 0 ? left : 0);
    return cache->second;
}

/* From now on clients come at that pace. */
static inline void
sqt_cache_set_pace(struct sqt_cache *cache, int64_t now, double pace)
{
    sqt_cache_advance(cache, now);
    cache->pace = pace;
    cache->until = INT64_MIN;
}

/* Where the object stands in a cache that has places: with 2^halvings fewer of them than Squid has.  The hash is another
 * one than that which says whether an object is followed. */
static inline uint32_t
sqt_cache_places(const struct sqt_caches *caches, const struct sqt_cache *cache)
{
    const uint32_t places = caches->halvings < 32 ? cache->place_count >> caches->halvings : 0;
    return places ? places : 1;
}

static inline uint32_t
sqt_cache_place(const struct sqt_caches *caches, const struct sqt_cache *cache, uint64_t object)
{
    const uint64_t hash = sqt_cache_mix(object ^ UINT64_C(0x9e3779b97f4a7c15));
    return (uint32_t)(hash % sqt_cache_places(caches, cache));
}

/* Where the number of the object's first node is, once there are nodes. */
static inline uint32_t *
sqt_cache_index(const struct sqt_caches *caches, uint64_t object)
{
    return &caches->index[sqt_scattered(object, caches->scatter) >> caches->index_shift];
}

/* The object is looked up soon: fetches its place in the index, and later what is there. */
static inline void
sqt_caches_expect(const struct sqt_caches *caches, uint64_t object)
{
    if (caches->index)
        __builtin_prefetch(sqt_cache_index(caches, object));
}

static inline void
sqt_caches_expect_node(const struct sqt_caches *caches, uint64_t object)
{
    const uint32_t next = caches->index ? *sqt_cache_index(caches, object) : 0;
    if (!next)
        return;
    const char *const node = caches->nodes + (next - 1) * caches->node_size;
    __builtin_prefetch(node);
    __builtin_prefetch(node + 64);
}

/* A number at random, and the same in each run. */
static inline uint64_t
sqt_cache_draw(struct sqt_caches *caches)
{
    return sqt_cache_mix(++caches->draws);
}

void sqt_cache_enter(struct sqt_caches *caches, unsigned cache, uint32_t node);
void sqt_cache_leave(struct sqt_caches *caches, unsigned cache, uint32_t node);
/* The object was used. */
void sqt_cache_touch(struct sqt_caches *caches, unsigned cache, uint32_t node);

#endif
