/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * links.h - arrows from requests to the blocks that they read, or that were written because of them.
 *
 * A block may end before its request or after it, so each waits for the other.  Memory is bounded: the oldest of more than
 * SQT_LINKED requests, or SQT_LINK_BLOCKS blocks that wait, are forgotten.
 */
#ifndef SQT_LINKS_H
#define SQT_LINKS_H

#include "base/idmap.h"
#include "event.h"

#define SQT_LINKED ((size_t)1 << 16)
#define SQT_LINK_BLOCKS ((size_t)1 << 16)

/* The slice of a request that is out. */
struct sqt_linked_slice {
    struct sqt_chrome_place place;
    int64_t from, until; /* ns */
};

/* That of a block, which was asked for before. */
struct sqt_linked_block {
    struct sqt_chrome_place place;
    int64_t asked, from, until; /* ns */
};

/* Viewers do not find the end of an arrow in an instant. */
static inline int
sqt_block_can_be_linked(const struct sqt_linked_block *block)
{
    return block->place.thread && block->until > block->from;
}

struct sqt_link_block {
    struct sqt_link_block *next;
    struct sqt_linked_block block;
};

struct sqt_link {
    uint64_t key; /* in the map */
    uint64_t xid; /* 0: free */
    unsigned process;
    int ended;                       /* the request is out */
    struct sqt_linked_slice request; /* if it is */
    struct sqt_link_block *blocks;   /* that wait for it */
};

struct sqt_links {
    struct sqt_events *events;
    struct sqt_idmap map;          /* to struct sqt_link */
    struct sqt_link *links;        /* a ring of SQT_LINKED; NULL at first */
    struct sqt_link_block *blocks; /* SQT_LINK_BLOCKS */
    struct sqt_link_block *free_blocks;
    size_t oldest, next; /* of the ring: numbers that only grow */
    uint64_t forgotten;  /* blocks that waited when they were forgotten */
    int full;            /* something was forgotten */
};

/* A block is out; xid: its transaction. */
void sqt_links_block(struct sqt_links *links, uint64_t xid, const struct sqt_linked_block *block);
/* A request is out. */
void sqt_links_request(struct sqt_links *links, uint64_t xid, const struct sqt_linked_slice *request);
/* The arrow from one to the other; the block was asked for in the request's time or later. */
void sqt_links_arrow(struct sqt_events *events, const struct sqt_linked_slice *request,
                     const struct sqt_linked_block *block);
/* No more will come. */
void sqt_links_finish(struct sqt_links *links);
void sqt_links_free(struct sqt_links *links);

#endif
