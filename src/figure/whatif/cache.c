/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cache.c - see cache.h.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* One object in a million. */
#define HALVINGS_MOST 20
/* Nodes that there is room for at first. */
#define FIRST_NODES 1024
/* Of how many hits the share is that are the last to be sent their object: what was long ago counts for less. */
#define SENT_MOST 8192

static int
cache_follows(uint64_t object, unsigned halvings)
{
    return !halvings || sqt_cache_mix(object) >> (64 - halvings) == 0;
}

int
sqt_caches_follow(const struct sqt_caches *c, uint64_t object)
{
    return cache_follows(object, c->halvings);
}

static void
cache_clear_places(const struct sqt_caches *c, struct sqt_cache *cache)
{
    for (uint32_t i = 0, places = sqt_cache_places(c, cache); i < places; ++i)
        cache->places[i] = SQT_NO_NODE;
}

/* As many places as pages, and in all caches so many fewer of them that those of the largest do not take much memory. */
static void
cache_make_places(struct sqt_caches *c)
{
    while (c->count && c->caches[c->count - 1].pages >> c->halvings > SQT_CACHE_PLACES)
        ++c->halvings;
    for (unsigned i = 0; i < c->count; ++i) {
        struct sqt_cache *const cache = &c->caches[i];
        cache->place_count = cache->pages < UINT32_MAX ? (uint32_t)cache->pages : UINT32_MAX;
        cache->places = sqt_allocated(sqt_cache_places(c, cache) * sizeof(*cache->places));
        cache_clear_places(c, cache);
    }
}

void
sqt_caches_init(struct sqt_caches *c, const struct sqt_cache_kind *kind, const struct sqt_cache_size *sizes,
                unsigned count, int64_t none, uint32_t most)
{
    memset(c, 0, sizeof(*c));
    c->kind = kind;
    c->count = count;
    c->most = most ? most : SQT_CACHE_NODES;
    c->node_size = sizeof(struct sqt_cache_node) + (count * sizeof(struct sqt_cache_link) + 7) / 8 * 8;
    c->scatter = sqt_scatter();
    c->index_shift = (unsigned)__builtin_clzll((uint64_t)c->most); /* at least as many places as nodes */
    for (unsigned i = 0; i < count; ++i) {
        struct sqt_cache *const cache = &c->caches[i];
        cache->bytes = sizes[i].bytes;
        cache->limit = sizes[i].limit;
        cache->pages =
            sizes[i].bytes / kind->frame > none / kind->page ? sizes[i].bytes / kind->frame - none / kind->page : 0;
        cache->pace = 1;
        cache->newest = cache->oldest = SQT_NO_NODE;
        cache->walked = cache->until = INT64_MIN;
    }
    if (!kind->ordered)
        cache_make_places(c);
}

/* ---- order of use ---- */

static void
cache_unlink(struct sqt_caches *c, unsigned cache, uint32_t node)
{
    struct sqt_cache *const own = &c->caches[cache];
    struct sqt_cache_link *const link = sqt_cache_link_of(c, node, cache);
    if (link->newer != SQT_NO_NODE)
        sqt_cache_link_of(c, link->newer, cache)->older = link->older;
    else
        own->newest = link->older;
    if (link->older != SQT_NO_NODE)
        sqt_cache_link_of(c, link->older, cache)->newer = link->newer;
    else
        own->oldest = link->newer;
}

static void
cache_link(struct sqt_caches *c, unsigned cache, uint32_t node)
{
    struct sqt_cache *const own = &c->caches[cache];
    struct sqt_cache_link *const link = sqt_cache_link_of(c, node, cache);
    link->newer = SQT_NO_NODE;
    link->older = own->newest;
    if (own->newest != SQT_NO_NODE)
        sqt_cache_link_of(c, own->newest, cache)->newer = node;
    else
        own->oldest = node;
    own->newest = node;
}

void
sqt_cache_touch(struct sqt_caches *c, unsigned cache, uint32_t node)
{
    if (!c->kind->ordered || c->caches[cache].newest == node)
        return;
    cache_unlink(c, cache, node);
    cache_link(c, cache, node);
}

void
sqt_cache_enter(struct sqt_caches *c, unsigned cache, uint32_t node)
{
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    n->in |= (uint16_t)(1u << cache);
    n->links[cache].locks = 0;
    c->caches[cache].used += n->pages;
    if (c->kind->ordered)
        cache_link(c, cache, node);
}

/* ---- nodes ---- */

static uint32_t
cache_find(const struct sqt_caches *c, uint64_t object)
{
    if (!c->nodes)
        return SQT_NO_NODE;
    for (uint32_t next = *sqt_cache_index(c, object); next; next = sqt_cache_node_of(c, next - 1)->next)
        if (sqt_cache_node_of(c, next - 1)->object == object)
            return next - 1;
    return SQT_NO_NODE;
}

/* Frees a node that is nowhere any more. */
static void
cache_free_node(struct sqt_caches *c, uint32_t node)
{
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    uint32_t *from = sqt_cache_index(c, n->object);
    if (n->in || n->holds)
        return;
    while (*from != node + 1)
        from = &sqt_cache_node_of(c, *from - 1)->next;
    *from = n->next;
    n->next = c->free;
    c->free = node + 1;
}

void
sqt_cache_leave(struct sqt_caches *c, unsigned cache, uint32_t node)
{
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    struct sqt_cache *const own = &c->caches[cache];
    if (!(n->in & 1u << cache))
        return;
    if (c->kind->ordered)
        cache_unlink(c, cache, node);
    if (own->places)
        own->places[sqt_cache_place(c, own, n->object)] = SQT_NO_NODE;
    n->in &= (uint16_t) ~(1u << cache);
    own->used -= n->pages;
    cache_free_node(c, node);
}

/* With half as many places, objects stand elsewhere, and of two at one place one goes. */
static void
cache_move(struct sqt_caches *c, unsigned cache)
{
    struct sqt_cache *const own = &c->caches[cache];
    cache_clear_places(c, own);
    for (uint32_t n = 0; n < c->node_count; ++n) {
        const struct sqt_cache_node *const node = sqt_cache_node_of(c, n);
        if (!(node->in & 1u << cache))
            continue;
        const uint32_t place = sqt_cache_place(c, own, node->object);
        if (own->places[place] != SQT_NO_NODE)
            sqt_cache_leave(c, cache, own->places[place]);
        own->places[place] = n;
    }
}

/* The object goes from all caches. */
static void
cache_leave_all(struct sqt_caches *c, uint32_t node)
{
    for (uint32_t in = sqt_cache_node_of(c, node)->in; in; in &= in - 1)
        sqt_cache_leave(c, (unsigned)__builtin_ctz(in), node);
}

/* Leaves half of the objects out.  In a cache that is whole, only their names are forgotten. */
static void
cache_halve(struct sqt_caches *c)
{
    for (unsigned i = 0; i < c->count; ++i)
        c->caches[i].rest += c->caches[i].used;
    for (uint32_t n = 0; n < c->node_count; ++n)
        if (!cache_follows(sqt_cache_node_of(c, n)->object, c->halvings + 1))
            cache_leave_all(c, n);
    ++c->halvings;
    for (unsigned i = 0; i < c->count; ++i) {
        c->caches[i].rest -= c->caches[i].used;
        if (c->caches[i].places)
            cache_move(c, i);
    }
}

/* Makes room for another node. */
static void
cache_grow(struct sqt_caches *c)
{
    if (!c->index)
        c->index = sqt_zeroed((size_t)1 << (64 - c->index_shift), sizeof(*c->index));
    c->room = c->room ? 2 * c->room : FIRST_NODES;
    c->room = c->room < c->most ? c->room : c->most;
    c->nodes = sqt_resized(c->nodes, c->room * c->node_size);
}

/* A node for an object that has none; SQT_NO_NODE if the object is not followed any more. */
static uint32_t
cache_node(struct sqt_caches *c, uint64_t object, uint32_t pages)
{
    if (!c->free && c->node_count == c->room && c->room < c->most)
        cache_grow(c);
    while (!c->free && c->node_count == c->most && c->halvings < HALVINGS_MOST)
        cache_halve(c);
    if (!sqt_caches_follow(c, object) || (!c->free && c->node_count == c->most))
        return SQT_NO_NODE;
    const uint32_t node = c->free ? c->free - 1 : c->node_count++;
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    if (c->free)
        c->free = n->next;
    memset(n, 0, c->node_size);
    uint32_t *const first = sqt_cache_index(c, object);
    n->object = object;
    n->pages = pages;
    n->next = *first;
    *first = node + 1;
    return node;
}

/* ---- requests ---- */

/* By other bits of the hash than those that say whether the object is followed. */
static struct sqt_cache_group *
cache_group(struct sqt_caches *c, uint64_t object)
{
    return &c->groups[sqt_cache_mix(object) % SQT_CACHE_OBJECT_GROUPS];
}

void
sqt_caches_count(struct sqt_caches *c, uint64_t object, int64_t bytes)
{
    ++c->requests;
    c->bytes += (uint64_t)bytes;
    if (!sqt_caches_follow(c, object))
        return;
    c->followed += UINT64_C(1) << c->halvings;
    c->followed_bytes += (uint64_t)bytes << c->halvings;
    struct sqt_cache_group *const group = cache_group(c, object);
    group->followed += UINT64_C(1) << c->halvings;
    group->followed_bytes += (uint64_t)bytes << c->halvings;
}

/* Hits that come with one request more, or bytes of hits that come with one byte more: of groups, the slope of hits over
 * requests. */
static double
cache_slope(const uint64_t *hits, const uint64_t *followed)
{
    double mean_hits = 0, mean = 0, both = 0, square = 0;
    for (unsigned g = 0; g < SQT_CACHE_OBJECT_GROUPS; ++g) {
        mean_hits += (double)hits[g] / SQT_CACHE_OBJECT_GROUPS;
        mean += (double)followed[g] / SQT_CACHE_OBJECT_GROUPS;
    }
    for (unsigned g = 0; g < SQT_CACHE_OBJECT_GROUPS; ++g) {
        both += ((double)hits[g] - mean_hits) * ((double)followed[g] - mean);
        square += ((double)followed[g] - mean) * ((double)followed[g] - mean);
    }
    return square <= 0 || both >= square ? 1 : both <= 0 ? 0 : both / square;
}

static double
cache_share(uint64_t hits, uint64_t followed, uint64_t whole, double slope)
{
    const double adjusted = (double)hits + slope * ((double)whole - (double)followed);
    return !whole || adjusted <= 0 ? 0 : adjusted >= (double)whole ? 1 : adjusted / (double)whole;
}

double
sqt_cache_hit_slope(const struct sqt_caches *c, const struct sqt_cache *cache)
{
    uint64_t hits[SQT_CACHE_OBJECT_GROUPS], followed[SQT_CACHE_OBJECT_GROUPS];
    for (unsigned g = 0; g < SQT_CACHE_OBJECT_GROUPS; ++g) {
        hits[g] = c->groups[g].of[cache - c->caches].hits;
        followed[g] = c->groups[g].followed;
    }
    return cache_slope(hits, followed);
}

double
sqt_cache_byte_slope(const struct sqt_caches *c, const struct sqt_cache *cache)
{
    uint64_t hits[SQT_CACHE_OBJECT_GROUPS], followed[SQT_CACHE_OBJECT_GROUPS];
    for (unsigned g = 0; g < SQT_CACHE_OBJECT_GROUPS; ++g) {
        hits[g] = c->groups[g].of[cache - c->caches].hit_bytes;
        followed[g] = c->groups[g].followed_bytes;
    }
    return cache_slope(hits, followed);
}

double
sqt_cache_hit_share(const struct sqt_caches *c, const struct sqt_cache *cache)
{
    return cache_share(cache->hits, c->followed, c->requests, sqt_cache_hit_slope(c, cache));
}

double
sqt_cache_byte_share(const struct sqt_caches *c, const struct sqt_cache *cache)
{
    return cache_share(cache->hit_bytes, c->followed_bytes, c->bytes, sqt_cache_byte_slope(c, cache));
}

uint32_t
sqt_caches_look_up(struct sqt_caches *c, uint64_t object, int64_t bytes, uint32_t *joined)
{
    const uint32_t node = cache_find(c, object);
    *joined = 0;
    if (node == SQT_NO_NODE)
        return 0;
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    const uint32_t hits = n->in;
    *joined = n->coming & ~hits;
    struct sqt_cache_group *const group = cache_group(c, object);
    for (uint32_t all = hits | *joined; all; all &= all - 1) {
        const unsigned i = (unsigned)__builtin_ctz(all);
        c->caches[i].hits += UINT64_C(1) << c->halvings;
        c->caches[i].hit_bytes += (uint64_t)bytes << c->halvings;
        group->of[i].hits += UINT64_C(1) << c->halvings;
        group->of[i].hit_bytes += (uint64_t)bytes << c->halvings;
        if (hits & 1u << i) {
            n->links[i].locks += n->links[i].locks < UINT16_MAX;
            sqt_cache_touch(c, i, node);
        }
    }
    return hits;
}

/* ---- requests for objects that are not followed ---- */

static struct sqt_cache_like *
cache_like(struct sqt_caches *c, int64_t stored_bytes, int hit)
{
    const uint32_t pages = sqt_caches_pages(c, stored_bytes);
    return &c->likes[hit != 0][pages ? 32 - __builtin_clz(pages) : 0];
}

void
sqt_caches_learn(struct sqt_caches *c, int64_t stored_bytes, int hit, uint32_t hits, uint32_t joined)
{
    struct sqt_cache_like *const like = cache_like(c, stored_bytes, hit);
    const uint32_t place = like->count++ % SQT_CACHE_LIKES;
    like->hits[place] = (uint16_t)hits;
    like->joined[place] = (uint16_t)joined;
}

uint32_t
sqt_caches_draw(struct sqt_caches *c, int64_t stored_bytes, int hit, uint32_t *joined)
{
    const struct sqt_cache_like *const like = cache_like(c, stored_bytes, hit);
    const uint32_t known = like->count < SQT_CACHE_LIKES ? like->count : SQT_CACHE_LIKES;
    uint32_t may = (UINT32_C(1) << c->count) - 1;
    *joined = 0;
    for (unsigned i = 0; i < c->count; ++i)
        if (stored_bytes > c->caches[i].limit)
            may &= ~(UINT32_C(1) << i);
    if (!known)
        return hit ? may : 0;
    const uint32_t place = (uint32_t)(sqt_cache_draw(c) % known);
    *joined = like->joined[place] & may;
    return like->hits[place] & may;
}

/* The node of an object that is being fetched, so that others find it.  Such nodes never make the sample smaller. */
static uint32_t
cache_hold(struct sqt_caches *c, uint64_t object, int64_t stored_bytes)
{
    uint32_t node = cache_find(c, object);
    if (c->held >= c->most / 4)
        return SQT_NO_NODE;
    if (node == SQT_NO_NODE && (c->free || c->node_count < c->most))
        node = cache_node(c, object, sqt_caches_pages(c, stored_bytes));
    if (node != SQT_NO_NODE) {
        ++sqt_cache_node_of(c, node)->holds;
        ++c->held;
    }
    return node;
}

uint32_t
sqt_caches_data(struct sqt_caches *c, int64_t now, uint64_t object, int64_t stored_bytes, uint32_t misses, int keeps)
{
    const uint32_t pages = sqt_caches_pages(c, stored_bytes),
                   node = keeps && stored_bytes && sqt_caches_follow(c, object) ? cache_hold(c, object, stored_bytes)
                                                                                : SQT_NO_NODE;
    for (; misses; misses &= misses - 1) {
        const unsigned cache = (unsigned)__builtin_ctz(misses);
        if (c->kind->comes)
            c->kind->comes(c, cache, now, pages);
        if (node == SQT_NO_NODE || stored_bytes > c->caches[cache].limit)
            continue;
        struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
        n->links[cache].coming += n->links[cache].coming < UINT16_MAX;
        n->coming |= (uint16_t)(1u << cache);
    }
    return node;
}

/* The fetch of an object that was held is over. */
static void
cache_arrived(struct sqt_caches *c, uint32_t node, uint32_t misses)
{
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    --c->held;
    for (misses &= n->coming; misses; misses &= misses - 1) {
        const unsigned cache = (unsigned)__builtin_ctz(misses);
        if (!--n->links[cache].coming)
            n->coming &= (uint16_t) ~(1u << cache);
    }
}

/* The object has another size now than where it already is. */
static void
cache_resize(struct sqt_caches *c, uint32_t node, uint32_t pages)
{
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    const int64_t more = (int64_t)pages - n->pages;
    for (uint32_t in = more ? n->in : 0; in; in &= in - 1)
        c->caches[__builtin_ctz(in)].used += more;
    n->pages = pages;
}

uint32_t
sqt_caches_pages(const struct sqt_caches *c, int64_t stored_bytes)
{
    const int64_t pages = (stored_bytes + c->kind->page - 1) / c->kind->page;
    return pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
}

void
sqt_caches_end(struct sqt_caches *c, uint32_t node, uint64_t object, int64_t stored_bytes, uint32_t misses, int keeps)
{
    const uint32_t pages = sqt_caches_pages(c, stored_bytes);
    const int wanted = keeps && stored_bytes, followed = wanted && sqt_caches_follow(c, object);
    if (node != SQT_NO_NODE)
        cache_arrived(c, node, misses);
    else if (followed) {
        node = cache_find(c, object);
        node = node != SQT_NO_NODE ? node : cache_node(c, object, pages);
        if (node != SQT_NO_NODE)
            ++sqt_cache_node_of(c, node)->holds; /* it is not freed meanwhile */
    }
    if (node != SQT_NO_NODE)
        cache_resize(c, node, pages);
    for (; misses; misses &= misses - 1) {
        const unsigned cache = (unsigned)__builtin_ctz(misses);
        const int stays =
            (followed ? node != SQT_NO_NODE : wanted && c->kind->whole) && stored_bytes <= c->caches[cache].limit;
        /* A newer copy takes the place of an older one. */
        if (stays && followed)
            sqt_cache_leave(c, cache, node);
        /* If its object is not followed any more, the node is only held, and perhaps by another fetch, too. */
        c->kind->fetched(c, cache, followed ? node : SQT_NO_NODE, pages, stays);
    }
    if (node == SQT_NO_NODE)
        return;
    --sqt_cache_node_of(c, node)->holds;
    cache_free_node(c, node); /* if no cache took it */
}

/* Of those that are not followed, as many are the last to be sent their object as of those that are. */
static void
cache_sent_rest(struct sqt_caches *c, int64_t stored_bytes, uint32_t hits)
{
    const uint32_t pages = sqt_caches_pages(c, stored_bytes);
    if (c->sent && sqt_cache_draw(c) % c->sent >= c->sent_last)
        return;
    for (; hits; hits &= hits - 1)
        c->kind->sent(c, (unsigned)__builtin_ctz(hits), SQT_NO_NODE, pages);
}

static void
cache_count_sent(struct sqt_caches *c, int last)
{
    ++c->sent;
    c->sent_last += last != 0;
    if (c->sent >= SENT_MOST) {
        c->sent /= 2;
        c->sent_last /= 2;
    }
}

void
sqt_caches_sent(struct sqt_caches *c, uint64_t object, int64_t stored_bytes, uint32_t hits)
{
    if (c->kind->whole && !sqt_caches_follow(c, object)) {
        cache_sent_rest(c, stored_bytes, hits);
        return;
    }
    const uint32_t node = cache_find(c, object);
    if (node == SQT_NO_NODE)
        return;
    struct sqt_cache_node *const n = sqt_cache_node_of(c, node);
    for (hits &= n->in; hits; hits &= hits - 1) {
        const unsigned cache = (unsigned)__builtin_ctz(hits);
        if (!n->links[cache].locks)
            continue;
        const int last = !--n->links[cache].locks;
        cache_count_sent(c, last);
        if (last && c->kind->sent)
            c->kind->sent(c, cache, node, n->pages);
    }
}

void
sqt_caches_drop(struct sqt_caches *c, uint64_t object)
{
    const uint32_t node = cache_find(c, object);
    if (node != SQT_NO_NODE)
        cache_leave_all(c, node);
}

/* The time that it takes follows from how many objects there are, and not from how many there may be. */
void
sqt_caches_empty(struct sqt_caches *c)
{
    for (uint32_t n = 0; n < c->node_count; ++n) {
        const struct sqt_cache_node *const node = sqt_cache_node_of(c, n);
        for (uint32_t in = node->in; in; in &= in - 1) {
            struct sqt_cache *const cache = &c->caches[__builtin_ctz(in)];
            if (cache->places)
                cache->places[sqt_cache_place(c, cache, node->object)] = SQT_NO_NODE;
        }
        *sqt_cache_index(c, node->object) = 0;
    }
    c->node_count = c->held = c->free = 0;
    for (unsigned i = 0; i < c->count; ++i) {
        struct sqt_cache *const cache = &c->caches[i];
        cache->used = cache->rest = cache->transit = 0;
        cache->newest = cache->oldest = SQT_NO_NODE;
    }
}

void
sqt_caches_free(struct sqt_caches *c)
{
    sqt_freed(c->index);
    sqt_freed(c->nodes);
    for (unsigned i = 0; i < c->count; ++i)
        sqt_freed(c->caches[i].places);
}
