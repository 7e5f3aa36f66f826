/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.c - where the time of one request went: a copy, which stays when the request is over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "top.h"

/* What stands above it: who asked whom for what, and how it ended. */
static void
waterfall_head(struct top_waterfall *w, const struct sqt_xact *x)
{
    const char *const texts[] = {x->method == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_METHOD, x->method),
                                 x->server == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_SERVER, x->server),
                                 !w->ended || x->tag == UINT32_MAX ? NULL
                                                                   : sqt_origin_text(x->origin, SQT_DEF_TAG, x->tag)};
    char seen[3][64];
    for (unsigned i = 0; i < 3; ++i)
        sqt_visible_text(seen[i], sizeof(seen[i]), texts[i] ? texts[i] : "-");
    snprintf(w->head, sizeof(w->head), "request %llu, kid %u: %s, server %s, %s%s", (unsigned long long)w->xid, w->kid,
             seen[0], seen[1], w->ended ? "ended: " : "in flight", w->ended ? seen[2] : "");
}

/* What its line in access.log says, if it has one. */
static void
waterfall_names(struct top_waterfall *w, const struct sqt_logged *l)
{
    char client[64], user[64], url[256];
    if (!w->ended || !l)
        return;
    sqt_visible_text(client, sizeof(client), l->client ? l->client : "-");
    sqt_visible_text(user, sizeof(user), l->user ? l->user : "-");
    sqt_visible_text(url, sizeof(url), l->url ? l->url : "-");
    snprintf(w->line, sizeof(w->line), "client %s, user %s, %s", client, user, url);
}

/* Keeps the longest turns, in any order. */
static void
waterfall_keep(struct top_waterfall *w, const struct sqt_tile *tile)
{
    unsigned shortest = 0;
    ++w->sums[tile->stage < SQT_STAGES ? tile->stage : SQT_STAGES].turns;
    ++w->turns;
    if (w->count < TOP_TILES) {
        w->tiles[w->count++] = *tile;
        return;
    }
    for (unsigned i = 1; i < TOP_TILES; ++i)
        if (top_tile_ns(&w->tiles[i]) < top_tile_ns(&w->tiles[shortest]))
            shortest = i;
    if (top_tile_ns(&w->tiles[shortest]) < top_tile_ns(tile))
        w->tiles[shortest] = *tile;
}

static int
waterfall_order(const void *a, const void *b)
{
    const int64_t from_a = ((const struct sqt_tile *)a)->from, from_b = ((const struct sqt_tile *)b)->from;
    return from_a < from_b ? -1 : from_a > from_b;
}

/* Turns of the request: last is the one before, which goes on where the stage is the same. */
static void
waterfall_turns(struct top_waterfall *w, const struct sqt_xact *x)
{
    const struct sqt_spans *const s = &x->stages;
    const struct sqt_kept *const kept = x->user;
    struct sqt_xact copy = *x;
    struct sqt_tile tile, last;
    int any = 0;
    copy.end = w->ended ? x->end : s->last;
    for (size_t i = 0; sqt_keep_tile(&copy, &i, &tile); last = tile, any = 1)
        if (any)
            waterfall_keep(w, &last);
    if (!w->ended && w->end > s->last) { /* what is charged now, and not told yet */
        const unsigned stage = sqt_spans_charged(s);
        tile = (struct sqt_tile){.stage = stage, .from = stage == s->stage ? s->since : s->last, .until = w->end};
        if (any && last.stage == stage && last.until >= tile.from)
            tile.from = last.from;
        else if (any)
            waterfall_keep(w, &last);
        last = tile;
        any = 1;
    }
    if (any)
        waterfall_keep(w, &last);
    w->cut = kept && kept->until != INT64_MAX;
    qsort(w->tiles, w->count, sizeof(*w->tiles), waterfall_order);
}

void
top_waterfall_take(struct top *top, const struct sqt_xact *x, int ended)
{
    struct top_waterfall *const w = &top->waterfall;
    if (!w->wanted || w->ended || x->id != w->xid || (w->kid != UINT32_MAX && x->origin->identity.kid != w->kid) ||
        x->begin == SQT_MISSING)
        return;
    w->found = 1;
    w->ended = ended;
    w->kid = x->origin->identity.kid;
    w->begin = x->begin;
    w->end = ended ? x->end : top->now;
    w->count = w->turns = 0;
    for (unsigned i = 0; i <= SQT_STAGES; ++i)
        w->sums[i] = (struct top_sum){.stage = i, .ns = x->stages.ns[i]};
    if (!ended && w->end > x->stages.last)
        w->sums[sqt_spans_charged(&x->stages)].ns += w->end - x->stages.last;
    waterfall_turns(w, x);
    waterfall_head(w, x);
    waterfall_names(w, x->logged);
}
