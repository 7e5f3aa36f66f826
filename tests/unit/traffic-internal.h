/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic-internal.h - what the parts of make_traffic share.
 *
 * A request is made in one go, into a slot.  Where Squid would wait for a client, a server or a disk, its next record is
 * marked TRAFFIC_WAIT.  make_traffic.c then hands out the records of all slots in turns, from wait to wait, and puts the
 * passes of the event loop between them.
 */
#ifndef SQT_TRAFFIC_INTERNAL_H
#define SQT_TRAFFIC_INTERNAL_H

#include "make_trace.h"

/* Columns of traffic.def. */
enum traffic_column {
    TRAFFIC_ALL,
#define TRAFFIC_CLASS(class, share) TRAFFIC_##class,
#include "traffic.def"
    TRAFFIC_COLUMNS
};
_Static_assert(TRAFFIC_COLUMNS == MAKE_TRAFFIC_COLUMNS, "make_trace.h has room for each column");

enum traffic_server {
#define TRAFFIC_SERVER(name, kind, text, share) TRAFFIC_TO_##name,
#include "traffic.def"
    TRAFFIC_SERVERS
};
_Static_assert(TRAFFIC_SERVERS == MAKE_TRAFFIC_SERVERS, "make_trace.h has room for each server");

/* Numbers of definitions.  Squid's own are hashes of the texts, so most are as large as these. */
enum traffic_definition {
    TRAFFIC_CALLS_SEEN = 3, /* system calls that the main thread was blocked in, from SQT_LOOP_CALLS on */
    TRAFFIC_TAG_COLLAPSED = TRAFFIC_COLUMNS, /* other tags have the number of their column */
    TRAFFIC_ACL = 1504276129,
    TRAFFIC_DIRECT,
    TRAFFIC_SIBLING = 2,
    TRAFFIC_PARENT,
    TRAFFIC_HTTP_PORT = 1,
    TRAFFIC_HTTPS_PORT,
    TRAFFIC_REWRITER = 30870411,
    TRAFFIC_QUOTA = 91210313,
    TRAFFIC_NAME_SERVER = 1734882915,
    TRAFFIC_ANTIVIRUS = 1040543277
};
#define TRAFFIC_SERVER_NUMBER(server) (UINT32_C(123850703) + UINT32_C(245614177) * (server))

/* In `time` of a record in a slot: Squid waits before it. */
#define TRAFFIC_WAIT 1u

/* A number below `below`, which is not 0. */
uint64_t traffic_random(struct make_traffic *traffic, uint64_t below);

/* Notes that a request of that column makes its share of the event. */
void traffic_owe(struct make_traffic *traffic, unsigned column, unsigned event);
/* Takes one record of the event from what is noted, if that is at least `least`.  Returns whether it did. */
int traffic_take(struct make_traffic *traffic, unsigned column, unsigned event, double least);

/* Records of the event for a thousand requests, if it belongs to no class. */
double traffic_per_thousand(unsigned event);
/* A number below `count`, each as often among a thousand as `of_thousand` says; `count` for the rest of the thousand. */
unsigned traffic_pick(struct make_traffic *traffic, const double *of_thousand, unsigned count);

/* The column of the next request. */
unsigned traffic_class(struct make_traffic *traffic);

/* How many records of that event this request of that column makes now.  The mean follows traffic.def exactly: what is
 * left over counts for the next request. */
unsigned traffic_times(struct make_traffic *traffic, unsigned column, unsigned event);
/* The same, at least one. */
unsigned traffic_once_or_more(struct make_traffic *traffic, unsigned column, unsigned event);
/* The same, of an event whose number differs much from request to request: 1 to MAKE_TRAFFIC_BLOCKS. */
unsigned traffic_varied(struct make_traffic *traffic, unsigned column, unsigned event);

/* Adds a record, or a part to the one before, to a slot. */
void traffic_add(struct make_traffic_slot *slot, unsigned event, uint64_t id, uint64_t arg, uint32_t aux);
void traffic_part(struct make_traffic_slot *slot, unsigned event, uint64_t id, uint64_t arg, uint32_t aux);
/* Squid waits before what is added next. */
void traffic_wait(struct make_traffic_slot *slot);

/* ---- traffic_swaps.c ---- */

/* A swap that is under way. */
struct traffic_swap {
    struct make_traffic_slot *slot;
    uint64_t sio;
    uint64_t opening;          /* operation that opens the file, until it has ended */
    uint64_t writing, written; /* operations of diskd: the first write, and one that is answered and has not ended */
    unsigned column, dir, blocks, moved;
    int out;
};
/* Asks for the file.  A swap-out will write so many blocks. */
void traffic_swap_open(struct make_traffic *traffic, struct traffic_swap *swap, uint64_t xact, uint64_t object,
                       unsigned blocks);
/* Moves the next block. */
void traffic_swap_block(struct make_traffic *traffic, struct traffic_swap *swap);
void traffic_swap_close(struct make_traffic *traffic, struct traffic_swap *swap);
/* A file is removed. */
void traffic_unlink(struct make_traffic *traffic, struct make_traffic_slot *slot);

/* ---- traffic_loop.c ---- */

/* Fills the event loop's slot with what comes before the next request goes on. */
void traffic_loop(struct make_traffic *traffic);

/* ---- traffic_waits.c ---- */

/* A transaction asks the helpers that check or rewrite its request. */
void traffic_helpers(struct make_traffic *traffic, struct make_traffic_slot *slot, uint64_t xact, unsigned column);
/* A query of the transaction, or of none (0), to a name server ends. */
void traffic_query(struct make_traffic_slot *slot, uint64_t xact);
/* A name is looked up for the transaction if it may be and one is due. */
void traffic_look_up_name(struct make_traffic *traffic, struct make_traffic_slot *slot, uint64_t xact, unsigned column,
                          int may);
/* A reply is to be adapted, or is not.  Returns whether it is. */
int traffic_adapt_begin(struct make_traffic *traffic, struct make_traffic_slot *slot, uint64_t xact, unsigned column);
/* An adaptation service gets the reply, and answers. */
void traffic_adapt(struct make_traffic *traffic, struct make_traffic_slot *slot, uint64_t xact, unsigned column);

/* ---- traffic_requests.c ---- */

/* Fills an empty slot with the next request, or with the fetch of a peer's digest. */
void traffic_request(struct make_traffic *traffic, struct make_traffic_slot *slot);

/* ---- traffic_servers.c ---- */

/* A transaction goes to a server, which answers. */
struct traffic_forward {
    struct make_traffic_slot *slot;
    uint64_t xact, conn;
    unsigned column, tries, reads; /* reads that are still to come */
    int says_hit;                  /* the sibling's digest */
    int has_body;                  /* the request */
    int held;                      /* since the last read */
    int fast;                      /* its client */
};
/* From FORWARD_BEGIN to the header of the final reply. */
void traffic_forward_begin(struct make_traffic *traffic, struct traffic_forward *forward);
/* What follows the header, before a reply of so many pieces is written: of a short one the end, and the adaptation. */
void traffic_forward_rest(struct make_traffic *traffic, struct traffic_forward *forward, unsigned pieces);
/* What comes while a piece is written, up to the end with the last one: a read, or none as the client is slower. */
void traffic_forward_more(struct make_traffic *traffic, struct traffic_forward *forward, int last);
/* A connection to that server, for a tunnel or a try; returns its number. */
uint64_t traffic_connect(struct make_traffic *traffic, const struct traffic_forward *forward, unsigned server);

#endif
