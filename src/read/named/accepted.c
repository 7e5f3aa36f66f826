/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * accepted.c - connections that clients opened long before a window, and use in it.
 *
 *     accept           first request        where reading begins   a request in the window
 *     |  block  |  block  |  block  |  ...  |  block  |  block  |  block  |
 *      1 found: ids grow
 *      2 -------------->  up to the first request
 *
 * What a block has of all its connections is kept, because connections that are idle were often accepted together.
 */
#include "read/window.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format/events.h"
#include "named.h"
#include "read/join/stream-internal.h"

/* Blocks in which requests are looked for, at most: six minutes of a busy proxy, and Squid closes a connection without a request
 * after five, unless request_start_timeout says otherwise. */
#define ACCEPTED_SCANNED 192u
/* Connections that are looked for in vain, at most. */
#define ACCEPTED_FAILED 192u
/* Connections that are kept, at most. */
#define ACCEPTED_MOST 65536u

struct accepted_conn {
    uint64_t id;
    struct sqt_accepted what;
    int tls_open; /* what.tls is when the handshake began */
};

/* The connections that were accepted in one block. */
struct accepted_block {
    struct accepted_conn *conns; /* by their ids */
    size_t count;
    struct sqt_named_block last; /* up to which requests were looked for */
    int over;                    /* nothing is behind it, before reading begins */
    int unsure;                  /* it cannot be read, or a clock stepped */
};

struct sqt_accepted_search {
    struct sqt_origin_reader *reader;
    struct sqt_named_memo memo;
    struct accepted_block blocks[SQT_NAMED_RANGES];
    size_t count, conns, scanned, failed;
    struct sqt_record *records;

    /* while the block behind another one is looked for */
    struct sqt_named_block next;
    int found;
};

/* ---- one block's connections ---- */

static int
accepted_by_id(const void *one, const void *two)
{
    const struct accepted_conn *const a = one, *const b = two;
    return a->id < b->id ? -1 : a->id > b->id;
}

static struct accepted_conn *
accepted_conn_of(const struct accepted_block *b, uint64_t id)
{
    const struct accepted_conn key = {.id = id};
    return b->count ? bsearch(&key, b->conns, b->count, sizeof(key), accepted_by_id) : NULL;
}

static struct accepted_conn
accepted_make(const struct sqt_record *r, const struct sqt_line *line)
{
    const int named = (r->flags & SQT_FLAG_MORE) && r[1].event == SQT_EV_PART_LISTENER;
    return (struct accepted_conn){.id = r->id,
                                  .what = {.at = sqt_line_ns(line, r->time),
                                           .waited = named && r[1].arg <= UINT32_MAX ? (int64_t)r[1].arg * 1000000 : -1,
                                           .listener = named ? r[1].aux : UINT32_MAX,
                                           .tls = -1}};
}

/* Takes the accepts that are in the records. */
static void
accepted_take(struct sqt_accepted_search *s, struct accepted_block *b, size_t count, const struct sqt_line *line)
{
    size_t accepts = 0;
    for (size_t i = 0; i < count; ++i)
        accepts += s->records[i].event == SQT_EV_CONN_ACCEPT;
    b->conns = sqt_zeroed(accepts + 1, sizeof(*b->conns));
    for (size_t i = 0; i < count && s->conns < ACCEPTED_MOST; ++i)
        if (s->records[i].event == SQT_EV_CONN_ACCEPT) {
            b->conns[b->count++] = accepted_make(&s->records[i], line);
            ++s->conns;
        }
    qsort(b->conns, b->count, sizeof(*b->conns), accepted_by_id);
}

/* What happened to the connections in a block of that line. */
static void
accepted_scan(const struct sqt_accepted_search *s, struct accepted_block *b, size_t count, const struct sqt_line *line)
{
    for (size_t i = 0; i < count; ++i) {
        const struct sqt_record *const r = &s->records[i];
        if (r->event == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(r->aux))
            b->unsure = 1;
        if (r->event != SQT_EV_REQUEST_PARSED && r->event != SQT_EV_CLIENT_TLS_BEGIN &&
            r->event != SQT_EV_CLIENT_TLS_END)
            continue;
        struct accepted_conn *const c = accepted_conn_of(b, r->id);
        if (!c || c->what.used)
            continue;
        if (r->event == SQT_EV_REQUEST_PARSED) {
            c->what.used = 1;
        } else if (r->event == SQT_EV_CLIENT_TLS_BEGIN) {
            c->what.tls = sqt_line_ns(line, r->time);
            c->tls_open = 1;
        } else if (c->tls_open) {
            c->what.tls = sqt_line_ns(line, r->time) - c->what.tls;
            c->what.tls_end = r->aux;
            c->tls_open = 0;
        }
    }
}

/* ---- block after block ---- */

static int
accepted_next_frame(void *context, const struct sqt_part_frame *frame)
{
    struct sqt_accepted_search *const s = context;
    if (frame->frame.type != SQT_FRAME_BLOCK)
        return 1;
    s->next.at = frame->at - sizeof(frame->frame);
    s->next.size = (uint32_t)sizeof(frame->frame) + frame->frame.size;
    s->found = 1;
    return 0;
}

/* Finds the block behind that one, into s->next.  Returns 0 if reading begins before it. */
static int
accepted_next(struct sqt_accepted_search *s, const struct sqt_named_block *last)
{
    const struct sqt_index_block *const end = &s->reader->resumed;
    uint64_t at = last->at + last->size;
    s->next.part = last->part;
    for (s->found = 0; s->next.part <= end->part && s->next.part < s->reader->part_count; ++s->next.part, at = 0) {
        sqt_part_each_frame(s->reader->parts[s->next.part], at, accepted_next_frame, s);
        if (s->found)
            return s->next.part < end->part || s->next.at <= end->at;
    }
    return 0;
}

/* Unpacks a block.  Its line is the one that reading has, which index.h knows.  Returns the number of its records; 0: it cannot
 * be used. */
static size_t
accepted_unpack(struct sqt_accepted_search *s, const struct sqt_named_block *place, struct sqt_line *line)
{
    struct sqt_index_block known;
    struct sqt_block block;
    if (sqt_named_unpack(s->reader, place, s->records, &block, line) != 0 ||
        sqt_clock_stepped(&block.from, &block.to) ||
        !sqt_index_search(s->reader, INT64_MAX, block.first + block.count, &known) || known.at != place->at ||
        known.part != place->part)
        return 0;
    *line = known.line;
    return block.count;
}

/* Looks for the first request of a connection of the block. */
static void
accepted_find_use(struct sqt_accepted_search *s, struct accepted_block *b, const struct accepted_conn *conn)
{
    struct sqt_line line;
    while (!conn->what.used && !b->over && !b->unsure) {
        if (!accepted_next(s, &b->last)) {
            b->over = 1;
            return;
        }
        const size_t count = s->scanned < ACCEPTED_SCANNED ? accepted_unpack(s, &s->next, &line) : 0;
        ++s->scanned;
        b->last = s->next;
        b->unsure |= !count;
        accepted_scan(s, b, count, &line);
    }
}

/* ---- all of them ---- */

/* The connection, from a block that was unpacked before. */
static struct accepted_block *
accepted_known(struct sqt_accepted_search *s, uint64_t id)
{
    for (size_t i = 0; i < s->count; ++i)
        if (accepted_conn_of(&s->blocks[i], id))
            return &s->blocks[i];
    return NULL;
}

static struct accepted_block *
accepted_find(struct sqt_accepted_search *s, uint64_t id)
{
    struct accepted_block *b = accepted_known(s, id);
    struct sqt_named_block place;
    struct sqt_line line;
    if (b || s->count == SQT_NAMED_RANGES || s->conns == ACCEPTED_MOST || s->memo.count == SQT_NAMED_RANGES ||
        s->failed == ACCEPTED_FAILED)
        return b;
    if (sqt_named_find_accept(s->reader, id, s->records, &s->memo, &place) != 0) {
        ++s->failed;
        return NULL;
    }
    b = &s->blocks[s->count++];
    b->last = place;
    const size_t count = accepted_unpack(s, &place, &line);
    accepted_take(s, b, count, &line);
    accepted_scan(s, b, count, &line);
    return accepted_conn_of(b, id) ? b : NULL;
}

static void
accepted_free(struct sqt_accepted_search *s)
{
    for (size_t i = 0; i < s->count; ++i)
        free(s->blocks[i].conns);
    free(s->records);
    free(s);
}

int
sqt_stream_accepted(void *context, const struct sqt_origin *origin, uint64_t conn, struct sqt_accepted *accepted)
{
    /* Of an origin of this stream. */
    struct sqt_origin_reader *const o = (struct sqt_origin_reader *)(uintptr_t)origin;
    (void)context;
    if (!o->resumed.next)
        return 0;
    if (!o->accepted) {
        o->accepted = sqt_zeroed(1, sizeof(*o->accepted));
        o->accepted->reader = o;
        o->accepted_free = accepted_free;
        o->accepted->records = sqt_allocated(SQT_BLOCK_RECORDS * sizeof(*o->accepted->records));
    }
    struct accepted_block *const b = accepted_find(o->accepted, conn);
    if (!b)
        return 0;
    const struct accepted_conn *const c = accepted_conn_of(b, conn);
    accepted_find_use(o->accepted, b, c);
    *accepted = c->what;
    accepted->unsure = b->unsure && !c->what.used;
    accepted->tls = c->tls_open ? -1 : accepted->tls;
    return 1;
}
