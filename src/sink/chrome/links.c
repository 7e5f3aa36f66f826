/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * links.c - see links.h.
 */
#include "links.h"
#include "base/memory.h"

#include <stdlib.h>

static uint64_t
links_key(uint64_t xid, unsigned process)
{
    return xid ^ (uint64_t)process << 40;
}

static void
links_start(struct sqt_links *l)
{
    l->links = sqt_zeroed(SQT_LINKED, sizeof(*l->links));
    l->blocks = sqt_zeroed(SQT_LINK_BLOCKS, sizeof(*l->blocks));
    for (size_t i = SQT_LINK_BLOCKS; i--;) {
        l->blocks[i].next = l->free_blocks;
        l->free_blocks = &l->blocks[i];
    }
}

static void
links_free_block(struct sqt_links *l, struct sqt_link_block *block)
{
    block->next = l->free_blocks;
    l->free_blocks = block;
}

static void
links_drop(struct sqt_links *l, struct sqt_link *link)
{
    if (!link->xid)
        return;
    for (struct sqt_link_block *b = link->blocks, *next; b; b = next) {
        next = b->next;
        links_free_block(l, b);
        ++l->forgotten;
    }
    sqt_idmap_take(&l->map, link->key);
    link->xid = 0;
    link->blocks = NULL;
}

static void
links_forget_oldest(struct sqt_links *l)
{
    links_drop(l, &l->links[l->oldest++ % SQT_LINKED]);
    l->full = 1;
}

/* The entry of a transaction, a new one if it has none.  One whose key is the same by chance has to go. */
static struct sqt_link *
links_entry(struct sqt_links *l, uint64_t xid, unsigned process)
{
    const uint64_t key = links_key(xid, process);
    if (!l->links)
        links_start(l);
    struct sqt_link *link = sqt_idmap_get(&l->map, key);
    if (link && link->xid == xid && link->process == process)
        return link;
    if (link)
        links_drop(l, link);
    if (l->next - l->oldest == SQT_LINKED)
        links_forget_oldest(l);
    link = &l->links[l->next++ % SQT_LINKED];
    *link = (struct sqt_link){.key = key, .xid = xid, .process = process};
    sqt_idmap_put(&l->map, key, link);
    return link;
}

/* The arrow begins in the request, also if the block was asked for after its end. */
void
sqt_links_arrow(struct sqt_events *events, const struct sqt_linked_slice *request, const struct sqt_linked_block *block)
{
    const int64_t last = request->until - 1;
    sqt_event_flow(events, "block", request->place, block->asked < last ? block->asked : last, block->place,
                   block->from);
}

static int
links_belongs(const struct sqt_linked_slice *request, const struct sqt_linked_block *block)
{
    return block->asked >= request->from;
}

void
sqt_links_block(struct sqt_links *l, uint64_t xid, const struct sqt_linked_block *block)
{
    struct sqt_link *link = links_entry(l, xid, block->place.process);
    if (link->ended && links_belongs(&link->request, block)) {
        sqt_links_arrow(l->events, &link->request, block);
        return;
    }
    while (!l->free_blocks)
        links_forget_oldest(l);
    link = links_entry(l, xid, block->place.process); /* it may have been the oldest */
    struct sqt_link_block *const waits = l->free_blocks;
    l->free_blocks = waits->next;
    waits->block = *block;
    waits->next = link->blocks;
    link->blocks = waits;
}

void
sqt_links_request(struct sqt_links *l, uint64_t xid, const struct sqt_linked_slice *request)
{
    struct sqt_link *const link = links_entry(l, xid, request->place.process);
    link->ended = 1;
    link->request = *request;
    for (struct sqt_link_block **b = &link->blocks; *b;) {
        struct sqt_link_block *const block = *b;
        if (links_belongs(request, &block->block)) {
            sqt_links_arrow(l->events, request, &block->block);
            *b = block->next;
            links_free_block(l, block);
        } else {
            b = &block->next;
        }
    }
}

void
sqt_links_finish(struct sqt_links *l)
{
    for (; l->full && l->oldest != l->next; ++l->oldest)
        links_drop(l, &l->links[l->oldest % SQT_LINKED]);
}

void
sqt_links_free(struct sqt_links *l)
{
    sqt_idmap_free(&l->map);
    free(l->links);
    free(l->blocks);
}
