/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * local.c - the memory cache of a Squid with one process: pages of 4 KB, the least recently used object goes first.
 *
 * What Squid 5 to 7 do (Store::Controller, src/store/Controller.cc):
 *
 * - freeMemorySpace(): when data come and no page is free, room is made for them, but only once a second.  It is for the
 *   first bytes of a reply's header, so for one page, and for as much as is over the limit then.
 * - handleIdleEntry(): when nobody uses an object any more, it stays only if all pages in use, also those of objects that
 *   are being fetched, are within the limit.  This is so for objects that were fetched, and for objects that were hit: a
 *   hit that ends while others fetch more than there is room for removes its object.
 *
 * - Pages are counted, and each of them is a mem_node: 4096 bytes of data and 40 of its own (src/mem_node.h).
 * - memoryOut(): what is too large to stay is let go while it is sent.  Squid then reads at most read_ahead_gap in advance,
 *   which is 16 KB if nobody sets it.
 *
 * So a busy Squid replaces few objects a second, whatever is asked for, and not those that LRU would.
 */
#include "cache.h"

/* Pages of an object that is too large to stay: 16 KB, and the one that is being filled. */
#define PASSING 5

/* What an object takes while it is fetched. */
static int64_t
local_transit(const struct sqt_caches *c, const struct sqt_cache *own, uint32_t pages)
{
    return pages > PASSING && pages - 1 > own->limit / c->kind->page ? PASSING : pages;
}

/* ---- objects that make room ---- */

/* How strongly objects that are followed return to their share of the cache, once they have more or less than it. */
#define PULL 8

/* By how much each object that makes room brings the turn of the next one that is followed nearer. */
static double
local_turns(const struct sqt_caches *c, const struct sqt_cache *own)
{
    const double of = (double)(UINT64_C(1) << c->halvings), all = (double)(own->used + own->rest);
    double turns = 1 / of;
    for (unsigned i = 0; i < PULL; ++i)
        turns *= (double)own->used * of / all;
    return turns < 1 ? turns : 1;
}

/* Pages of an object that is not followed: those of one that was, and that made room before. */
static uint32_t
local_like_gone(struct sqt_caches *c, const struct sqt_cache *own)
{
    const uint32_t known = own->gone_count < SQT_CACHE_GONE ? own->gone_count : SQT_CACHE_GONE;
    return known ? own->gone[sqt_cache_draw(c) % known] : 1;
}

static void
local_rest_goes(struct sqt_cache *own, uint32_t pages)
{
    own->rest -= pages < own->rest ? pages : own->rest;
}

static uint32_t
local_unlocked(const struct sqt_caches *c, unsigned cache, uint32_t node)
{
    while (node != SQT_NO_NODE && sqt_cache_link_of(c, node, cache)->locks)
        node = sqt_cache_link_of(c, node, cache)->newer;
    return node;
}

/* Makes room for one page.  Objects go in the order of their last use, of which those that are followed are a sample. */
static void
local_walk(struct sqt_caches *c, unsigned cache)
{
    struct sqt_cache *const own = &c->caches[cache];
    const double turns = local_turns(c, own);
    uint32_t node = local_unlocked(c, cache, own->oldest);
    while (sqt_cache_in_use(c, own) >= own->pages && (node != SQT_NO_NODE || own->rest)) {
        own->turn = own->rest ? own->turn + turns : 1;
        if (node == SQT_NO_NODE || own->turn < 1) {
            local_rest_goes(own, local_like_gone(c, own));
            continue;
        }
        own->turn -= 1;
        const uint32_t next = local_unlocked(c, cache, sqt_cache_link_of(c, node, cache)->newer);
        own->gone[own->gone_count++ % SQT_CACHE_GONE] = sqt_cache_node_of(c, node)->pages;
        sqt_cache_leave(c, cache, node);
        node = next;
    }
}

static void
local_comes(struct sqt_caches *c, unsigned cache, int64_t now, uint32_t pages)
{
    struct sqt_cache *const own = &c->caches[cache];
    if (sqt_cache_in_use(c, own) >= own->pages && own->walked != sqt_cache_second(own, now)) {
        own->walked = own->second;
        local_walk(c, cache);
    }
    own->transit += local_transit(c, own, pages);
}

static void
local_fetched(struct sqt_caches *c, unsigned cache, uint32_t node, uint32_t pages, int keeps)
{
    struct sqt_cache *const own = &c->caches[cache];
    own->transit -= local_transit(c, own, pages);
    if (!keeps || sqt_cache_in_use(c, own) + pages > own->pages)
        return;
    if (node == SQT_NO_NODE)
        own->rest += pages;
    else
        sqt_cache_enter(c, cache, node);
}

static void
local_sent(struct sqt_caches *c, unsigned cache, uint32_t node, uint32_t pages)
{
    struct sqt_cache *const own = &c->caches[cache];
    if (sqt_cache_in_use(c, own) <= own->pages)
        return;
    if (node == SQT_NO_NODE) {
        local_rest_goes(own, pages ? pages : local_like_gone(c, own));
        return;
    }
    own->dropped += UINT64_C(1) << c->halvings;
    sqt_cache_leave(c, cache, node);
}

const struct sqt_cache_kind sqt_cache_local = {
    .method = "simulated: local memory, LRU, room made once a second",
    .page = 4096,
    .frame = 4136,
    .ordered = 1,
    .whole = 1,
    .comes = local_comes,
    .fetched = local_fetched,
    .sent = local_sent,
};
