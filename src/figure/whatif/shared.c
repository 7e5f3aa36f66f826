/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * shared.c - the memory cache that workers share: pages of 32 KB, victims in turn.  A rock cache_dir works the same way,
 * with slots of 16 KB.
 *
 * What Squid 5 to 7 do (MemStore.cc, Ipc::StoreMap in src/ipc/StoreMap.cc): an object has one place, from the hash of its
 * key, among as many places as there are pages.  The object that was there before goes.  When no page is free, the
 * object at the next place that has one goes, and so on around.  When an object was used last does not matter.
 */
#include "cache.h"

static void
shared_purge(struct sqt_caches *c, unsigned cache)
{
    struct sqt_cache *const own = &c->caches[cache];
    const uint32_t places = sqt_cache_places(c, own);
    for (uint32_t tries = 0; tries < places; ++tries) {
        const uint32_t victim = own->places[++own->hand % places];
        if (victim != SQT_NO_NODE) {
            sqt_cache_leave(c, cache, victim);
            return;
        }
    }
}

static void
shared_fetched(struct sqt_caches *c, unsigned cache, uint32_t node, uint32_t pages, int keeps)
{
    struct sqt_cache *const own = &c->caches[cache];
    if (!keeps || pages > own->pages >> c->halvings)
        return;
    uint32_t *const place = &own->places[sqt_cache_place(c, own, sqt_cache_node_of(c, node)->object)];
    if (*place != SQT_NO_NODE)
        sqt_cache_leave(c, cache, *place);
    while (own->used && sqt_cache_in_use(c, own) + ((int64_t)pages << c->halvings) > own->pages)
        shared_purge(c, cache);
    *place = node;
    sqt_cache_enter(c, cache, node);
}

const struct sqt_cache_kind sqt_cache_shared = {
    .method = "simulated: memory shared by workers, pages of 32 KB, victims in turn",
    .page = 32768,
    .frame = 32768,
    .fetched = shared_fetched,
};

const struct sqt_cache_kind sqt_cache_rock = {
    .method = "simulated: slots of 16 KB, victims in turn",
    .page = 16384 - 40, /* each slot has a header */
    .frame = 16384,
    .fetched = shared_fetched,
};
