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

static void
local_comes(struct sqt_caches *c, unsigned cache, int64_t now, uint32_t pages)
{
    struct sqt_cache *const own = &c->caches[cache];
    if (sqt_cache_in_use(c, own) + (INT64_C(1) << c->halvings) > own->pages &&
        own->walked != sqt_cache_second(c, own, now)) {
        uint32_t node = own->oldest;
        own->walked = own->second;
        while (node != SQT_NO_NODE && sqt_cache_in_use(c, own) + (INT64_C(1) << c->halvings) > own->pages) {
            const struct sqt_cache_link *const link = sqt_cache_link_of(c, node, cache);
            const uint32_t next = link->newer;
            if (!link->locks)
                sqt_cache_leave(c, cache, node);
            node = next;
        }
    }
    own->transit += local_transit(c, own, pages);
}

static void
local_fetched(struct sqt_caches *c, unsigned cache, uint32_t node, uint32_t pages, int keeps)
{
    struct sqt_cache *const own = &c->caches[cache];
    own->transit -= local_transit(c, own, pages);
    /* An object that is followed stands for 2^halvings of them. */
    const int fits = sqt_cache_in_use(c, own) + ((int64_t)pages << c->halvings) <= own->pages;
    if (keeps && fits)
        sqt_cache_enter(c, cache, node);
}

static void
local_sent(struct sqt_caches *c, unsigned cache, uint32_t node)
{
    struct sqt_cache *const own = &c->caches[cache];
    if (sqt_cache_in_use(c, own) <= own->pages)
        return;
    own->dropped += UINT64_C(1) << c->halvings;
    sqt_cache_leave(c, cache, node);
}

const struct sqt_cache_kind sqt_cache_local = {
    .method = "simulated: local memory, LRU, room made once a second",
    .page = 4096,
    .frame = 4136,
    .ordered = 1,
    .comes = local_comes,
    .fetched = local_fetched,
    .sent = local_sent,
};
