/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.c - where the time of one request went: a copy, which stays when the request is over.
 */
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

static void
waterfall_count(struct top_waterfall *w, unsigned stage, int64_t ns, unsigned turns)
{
    struct top_sum *const sum = &w->sums[stage < SQT_STAGES ? stage : SQT_STAGES];
    sum->turns += turns;
    sum->ns += ns;
    w->turns += turns;
}

/* What is charged now, and not told yet. */
static void
waterfall_open_tile(struct top_waterfall *w, const struct sqt_xact *x)
{
    const unsigned stage = sqt_spans_charged(&x->stages);
    const int64_t from = x->stages.last;
    const int goes_on = w->count && w->tiles[w->count - 1].stage == stage;
    if (w->end > from)
        waterfall_count(w, stage, w->end - from, goes_on ? 0 : 1);
    if (goes_on)
        w->tiles[w->count - 1].until = w->end;
    else if (w->end > from && w->count < TOP_TILES)
        w->tiles[w->count++] = (struct sqt_tile){.stage = stage, .from = from, .until = w->end};
}

void
top_waterfall_take(struct top *top, const struct sqt_xact *x, int ended)
{
    struct top_waterfall *const w = &top->waterfall;
    struct sqt_tile tile;
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
        w->sums[i] = (struct top_sum){.stage = i};
    struct sqt_xact copy = *x;
    copy.end = ended ? x->end : x->stages.last;
    for (size_t i = 0; sqt_keep_tile(&copy, &i, &tile);) {
        waterfall_count(w, tile.stage, tile.until - tile.from, 1);
        if (w->count < TOP_TILES)
            w->tiles[w->count++] = tile;
    }
    if (!ended)
        waterfall_open_tile(w, x);
    waterfall_head(w, x);
}
