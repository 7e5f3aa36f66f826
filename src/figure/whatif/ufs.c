/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ufs.c - cache_dirs of types ufs, aufs and diskd: blocks of 4 KB, the least recently used objects go first.
 *
 * What Squid 5 to 7 do (Fs::Ufs::UFSSwapDir::maintain, src/fs/ufs/UFSSwapDir.cc): once a second, if cache_swap_low of the
 * size is used, objects go until less is used, but at most 20, and 300 more when cache_swap_high is reached, and so on in
 * proportion.  Nothing is stored while the size is exceeded.
 */
#include "cache.h"

#include <math.h>

/* Objects that one pass removes at most, whatever the formula says. */
#define REMOVED_MOST 1e9

/* So many percent of the size.  Squid takes any number, also one that is never reached. */
static int64_t
ufs_mark(const struct sqt_cache *own, unsigned percent)
{
    const __int128 pages = (__int128)own->pages * percent / 100;
    return pages < INT64_MAX / 2 ? (int64_t)pages : INT64_MAX / 2;
}

/* One pass.  Returns whether another one may remove an object. */
static int
ufs_maintain(struct sqt_caches *c, unsigned cache)
{
    struct sqt_cache *const own = &c->caches[cache];
    const int64_t low = ufs_mark(own, c->low), high = ufs_mark(own, c->high);
    const double over = (double)(sqt_cache_in_use(c, own) - low), gap = high > low ? (double)(high - low) : over;
    const double share = gap > 0 ? over / gap : 1;
    const double removed = share * 300 + 20 < REMOVED_MOST ? floor(share * 300 + 20) : REMOVED_MOST;
    /* Of those that are followed, one in 2^halvings goes. */
    own->turn += ldexp(removed, -(int)c->halvings);
    const int most = (int)own->turn;
    int went = 0;
    own->turn -= most;
    for (uint32_t node = own->oldest, next; node != SQT_NO_NODE && went < most; node = next) {
        next = sqt_cache_link_of(c, node, cache)->newer;
        if (sqt_cache_in_use(c, own) < low)
            break;
        if (sqt_cache_link_of(c, node, cache)->locks)
            continue;
        sqt_cache_leave(c, cache, node);
        ++went;
    }
    return went || !most;
}

/* Of the seconds that passed without a reply, those that make no room all do the same: nothing. */
static void
ufs_pass(struct sqt_caches *c, unsigned cache, int64_t now)
{
    struct sqt_cache *const own = &c->caches[cache];
    const int64_t second = sqt_cache_second(own, now);
    for (; own->walked < second; ++own->walked) {
        if (own->walked == INT64_MIN || sqt_cache_in_use(c, own) < ufs_mark(own, c->low) || !ufs_maintain(c, cache))
            own->walked = second - 1;
    }
}

static void
ufs_comes(struct sqt_caches *c, unsigned cache, int64_t now, uint32_t pages)
{
    (void)pages;
    if (now >= c->caches[cache].until)
        ufs_pass(c, cache, now);
}

static void
ufs_fetched(struct sqt_caches *c, unsigned cache, uint32_t node, uint32_t pages, int keeps)
{
    struct sqt_cache *const own = &c->caches[cache];
    (void)pages;
    if (keeps && sqt_cache_in_use(c, own) <= own->pages)
        sqt_cache_enter(c, cache, node);
}

const struct sqt_cache_kind sqt_cache_ufs = {
    .method = "simulated: LRU, trimmed to cache_swap_low once a second",
    .page = 4096,
    .frame = 4096,
    .ordered = 1,
    .comes = ufs_comes,
    .fetched = ufs_fetched,
};
