/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * named.c - the block in which a transaction got its id, or a client's connection was accepted: ids grow, so few blocks are
 * unpacked.
 */
#include "named.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/open.h"
#include "read/file/clock.h"
#include "read/window.h"
#include "read/join/stream-internal.h"

/* Blocks without such an id that are passed over, at most. */
#define NAMED_EMPTY_MOST 64
/* Records of a transaction's begin come so long before its id, at most, if they are not in the same block.  ns */
#define NAMED_BEGIN_BEFORE INT64_C(60000000000)
/* The lines of two blocks differ by less.  ns */
#define NAMED_NEAR INT64_C(1000000)
/* Blocks in which the end of a connection is looked for: some minutes of a busy proxy. */
#define NAMED_CLOSE_MOST 128

struct named_search {
    struct sqt_origin_reader *reader;
    struct sqt_named_block *blocks;
    size_t count, room;
    struct sqt_record *records;
    unsigned event; /* whose id is looked for */
    uint64_t id;
    size_t lower, upper; /* in between it is, if it is there: numbers of blocks + 1; upper = count + 1: up to the end */
    struct sqt_named_memo *memo; /* NULL: none */

    /* while blocks are listed */
    size_t part, most;
    const struct sqt_index_block *stop; /* NULL: none */
    int full;
};

/* What a block says. */
struct named_ids {
    uint64_t least, most; /* ids that are in it; least > most: none */
    int64_t since, until; /* of the transaction or connection, if it is there; ns */
    int found;
};

/* ---- blocks ---- */

static void
named_add(struct named_search *n, uint64_t at, uint32_t size, size_t part)
{
    if (n->count == n->room) {
        n->room = n->room ? 2 * n->room : 256;
        n->blocks = sqt_resized(n->blocks, n->room * sizeof(*n->blocks));
    }
    n->blocks[n->count++] = (struct sqt_named_block){at, size, (uint32_t)part};
}

static int
named_take_frame(void *context, const struct sqt_part_frame *frame)
{
    struct named_search *const n = context;
    const uint64_t at = frame->at - sizeof(frame->frame);
    if (frame->frame.type != SQT_FRAME_BLOCK)
        return 1;
    n->full = n->count == n->most || (n->stop && n->part == n->stop->part && at >= n->stop->at);
    if (!n->full)
        named_add(n, at, (uint32_t)sizeof(frame->frame) + frame->frame.size, n->part);
    return !n->full;
}

/* Lists blocks from that offset of that part on, so many at most, and up to one, NULL: up to the end. */
static void
named_list(struct named_search *n, size_t part, uint64_t at, size_t most, const struct sqt_index_block *stop)
{
    n->count = 0;
    n->most = most;
    n->stop = stop;
    n->full = 0;
    for (n->part = part; n->part < n->reader->part_count && !n->full; ++n->part, at = 0)
        sqt_part_each_frame(n->reader->parts[n->part], at, named_take_frame, n);
}

/* ---- what is in them ---- */

static void
named_times(const struct named_search *n, const struct sqt_line *line, size_t count, size_t at, struct named_ids *ids)
{
    const struct sqt_record *const r = n->records;
    ids->found = 1;
    ids->since = sqt_line_ns(line, r[at].time) - NAMED_NEAR;
    ids->until = INT64_MAX;
    if (n->event != SQT_EV_XACT_NAMED)
        return;
    size_t begin = at + 1;
    while (begin-- > 0 && !(r[begin].event == SQT_EV_XACT_BEGIN && r[begin].id == r[at].arg))
        ;
    ids->until = sqt_line_ns(line, r[at].time) + NAMED_NEAR;
    ids->since = begin < count ? sqt_line_ns(line, r[begin].time) - NAMED_NEAR
                               : sqt_line_ns(line, r[0].time) - NAMED_BEGIN_BEFORE;
}

static void
named_look(const struct named_search *n, const struct sqt_block *block, const struct sqt_line *line,
           struct named_ids *ids)
{
    *ids = (struct named_ids){.least = UINT64_MAX};
    for (size_t i = 0; i < block->count; ++i) {
        const struct sqt_record *const r = &n->records[i];
        if (r->event != n->event)
            continue;
        ids->least = r->id < ids->least ? r->id : ids->least;
        ids->most = r->id > ids->most ? r->id : ids->most;
        if (r->id == n->id)
            named_times(n, line, block->count, i, ids);
    }
}

/* Unpacks a block whose bytes are good.  Returns 0, or -1. */
static int
named_unpack(struct sqt_origin_reader *o, const uint8_t *bytes, size_t size, struct sqt_record *records,
             struct sqt_block *block, struct sqt_line *line)
{
    struct sqt_frame frame, copy;
    memcpy(&frame, bytes, sizeof(frame));
    if (frame.size != size - sizeof(frame)) /* somebody writes it meanwhile */
        return -1;
    copy = frame;
    copy.crc = 0;
    const uint8_t *const payload = bytes + sizeof(frame);
    const uint32_t crc =
        (uint32_t)crc32(crc32(0, (const Bytef *)&copy, sizeof(copy)), payload, (uInt)(size - sizeof(frame)));
    if (crc != frame.crc || sqt_block_head(&frame, payload, o->public.identity.ring_id, block) ||
        sqt_block_unpack(o->unpacker, &o->dictionary.pack, &frame, payload, block, records) ||
        sqt_block_check(&o->dictionary, block, records) ||
        sqt_clock_line(&o->public.identity, &block->from, &block->to, block->time_first, block->time_last, o->offset_ns,
                       line) != 0)
        return -1;
    return 0;
}

int
sqt_named_unpack(struct sqt_origin_reader *o, const struct sqt_named_block *b, struct sqt_record *records,
                 struct sqt_block *block, struct sqt_line *line)
{
    const struct sqt_part *const part = o->parts[b->part];
    uint8_t *const bytes = sqt_allocated(b->size);
    const int fd = part->fd >= 0 ? part->fd : sqt_open_regular(AT_FDCWD, part->name, O_RDONLY, NULL);
    const int got = fd >= 0 && pread(fd, bytes, b->size, (off_t)b->at) == (ssize_t)b->size;
    const int failed = !got || named_unpack(o, bytes, b->size, records, block, line) != 0;
    if (fd >= 0 && part->fd < 0)
        close(fd);
    free(bytes);
    return failed ? -1 : 0;
}

/* What is remembered of that block, if the id is not in it. */
static const struct sqt_named_range *
named_remembered(const struct named_search *n, const struct sqt_named_block *b)
{
    for (size_t i = 0; n->memo && i < n->memo->count; ++i) {
        const struct sqt_named_range *const r = &n->memo->ranges[i];
        if (r->at == b->at && r->part == b->part)
            return n->id < r->least || n->id > r->most ? r : NULL;
    }
    return NULL;
}

/* Notes which ids are in the block.  Returns 0, or -1 where enough blocks were read. */
static int
named_remember(const struct named_search *n, const struct sqt_named_block *b, const struct named_ids *ids)
{
    struct sqt_named_memo *const m = n->memo;
    if (!m)
        return 0;
    if (m->count == SQT_NAMED_RANGES)
        return -1;
    m->ranges[m->count++] = (struct sqt_named_range){b->at, b->part, ids->least, ids->most};
    return 0;
}

static int
named_read(struct named_search *n, size_t i, struct named_ids *ids)
{
    const struct sqt_named_range *const known = named_remembered(n, &n->blocks[i]);
    struct sqt_block block;
    struct sqt_line line;
    if (known) {
        *ids = (struct named_ids){.least = known->least, .most = known->most};
        return 0;
    }
    if (sqt_named_unpack(n->reader, &n->blocks[i], n->records, &block, &line) != 0)
        return -1;
    named_look(n, &block, &line, ids);
    return named_remember(n, &n->blocks[i], ids);
}

/* Reads the first block from i on, before end, that has such an id: its number; end: there is none; SIZE_MAX: it cannot be
 * read, or many are without one. */
static size_t
named_next(struct named_search *n, size_t i, size_t end, struct named_ids *ids)
{
    for (unsigned empty = 0; i < end; ++i) {
        if (named_read(n, i, ids) != 0 || ++empty > NAMED_EMPTY_MOST)
            return SIZE_MAX;
        if (ids->least <= ids->most)
            return i;
    }
    return end;
}

/* ---- searching ---- */

enum named_result { NAMED_UNSURE, NAMED_FOUND, NAMED_ELSEWHERE, NAMED_LATER }; /* all ids are lower: it is nowhere */

/* Blocks before `low` have lower ids, those from `high` on have higher ones. */
static enum named_result
named_bisect(struct named_search *n, struct named_ids *ids, size_t *found)
{
    size_t low = 0, high = n->count;
    n->lower = 0;
    n->upper = n->count + 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2, at = named_next(n, middle, high, ids);
        *found = at;
        if (at == SIZE_MAX)
            return NAMED_UNSURE;
        if (at < high && ids->found)
            return NAMED_FOUND;
        if (at < high && n->id >= ids->least && n->id <= ids->most)
            return NAMED_UNSURE; /* ids do not quite follow each other */
        if (at < high && n->id > ids->most) {
            n->lower = at + 1;
            low = at + 1;
        } else {
            n->upper = at < high ? at + 1 : n->upper;
            high = middle;
        }
    }
    return NAMED_ELSEWHERE;
}

/* Looks at the blocks that the index lists, and then between two of them. */
static enum named_result
named_search(struct named_search *n, struct named_ids *ids, struct sqt_named_block *found)
{
    const struct sqt_index *const index = &n->reader->index;
    const struct sqt_index_block *const blocks = index->blocks;
    size_t at = 0;
    for (size_t i = 0; i < index->count; ++i)
        named_add(n, blocks[i].at, blocks[i].size, blocks[i].part);
    enum named_result result = named_bisect(n, ids, &at);
    int below = n->lower != 0, above = n->upper <= n->count;
    if (result == NAMED_ELSEWHERE && index->stride > 1) {
        const struct sqt_index_block *const from = below ? &blocks[n->lower - 1] : NULL;
        named_list(n, from ? from->part : 0, from ? from->at + from->size : 0, NAMED_EMPTY_MOST * index->stride,
                   above ? &blocks[n->upper - 1] : NULL);
        if (n->count == n->most)
            return NAMED_UNSURE; /* there may be more */
        result = named_bisect(n, ids, &at);
        below |= n->lower != 0;
        above |= n->upper <= n->count;
    }
    if (result == NAMED_FOUND)
        *found = n->blocks[at];
    if (result != NAMED_ELSEWHERE)
        return result;
    /* Its record may have been lost between two, and a connection may be older than the trace. */
    return below && !above ? NAMED_LATER : below || n->event == SQT_EV_CONN_ACCEPT ? NAMED_UNSURE : NAMED_ELSEWHERE;
}

/* When the connection was closed, if it was soon. */
static void
named_find_close(struct named_search *n, const struct sqt_named_block *accepted, struct named_ids *ids)
{
    struct named_ids closed;
    n->event = SQT_EV_CONN_CLOSE;
    named_list(n, accepted->part, accepted->at, NAMED_CLOSE_MOST, NULL);
    for (size_t i = 0; i < n->count && named_read(n, i, &closed) == 0; ++i)
        if (closed.found) {
            ids->until = closed.since + 2 * NAMED_NEAR;
            return;
        }
}

/* Whether blocks can be searched: all are there, and nothing is added or missing. */
static int
named_is_sure(struct sqt_origin_reader *o)
{
    const struct sqt_extent *const extent = sqt_origin_reader_extent(o);
    int sure = !sqt_ring_is_open(&o->ring) && !o->pointer && !extent->recorder && !extent->lost && extent->lost_known &&
               o->dictionary.events && o->part_count && !o->parts[0]->first && !o->index.odd;
    for (size_t i = 0; i < o->part_count; ++i)
        sure &= o->parts[i]->whole;
    return sure;
}

static enum named_result
named_find(struct sqt_origin_reader *o, unsigned event, uint64_t id, struct named_ids *ids)
{
    struct named_search n = {.reader = o, .event = event, .id = id};
    struct sqt_named_block found = {0};
    if (!named_is_sure(o))
        return NAMED_UNSURE;
    n.records = sqt_allocated(SQT_BLOCK_RECORDS * sizeof(*n.records));
    const enum named_result result = named_search(&n, ids, &found);
    if (result == NAMED_FOUND && event == SQT_EV_CONN_ACCEPT)
        named_find_close(&n, &found, ids);
    free(n.blocks);
    free(n.records);
    return result;
}

int
sqt_named_find_accept(struct sqt_origin_reader *o, uint64_t conn, struct sqt_record *records,
                      struct sqt_named_memo *memo, struct sqt_named_block *found)
{
    struct named_search n = {.reader = o, .event = SQT_EV_CONN_ACCEPT, .id = conn, .records = records, .memo = memo};
    struct named_ids ids;
    if (!named_is_sure(o))
        return -1;
    const enum named_result result = named_search(&n, &ids, found);
    free(n.blocks);
    return result == NAMED_FOUND ? 0 : -1;
}

static int
named_find_all(struct sqt_stream *s, int64_t kid, unsigned event, uint64_t id, int64_t *since, int64_t *until)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    int nowhere = 1;
    for (size_t i = 0; i < s->waiting_count; ++i) {
        struct named_ids ids;
        if (!sqt_stream_wants(s, s->waiting[i]) || (kid != INT64_MIN && s->waiting[i]->public.identity.kid != kid))
            continue;
        const enum named_result result = named_find(s->waiting[i], event, id, &ids);
        if (result == NAMED_UNSURE)
            return 0;
        nowhere &= result == NAMED_LATER;
        if (result != NAMED_FOUND)
            continue;
        from = ids.since < from ? ids.since : from;
        to = ids.until > to ? ids.until : to;
    }
    if (from > to) {
        *until = nowhere ? *since : *until;
        return nowhere;
    }
    *since = from > *since ? from : *since;
    *until = to < *until ? to : *until;
    return 1;
}

int
sqt_stream_find_xact(struct sqt_stream *s, int64_t kid, uint64_t xid, int64_t *since, int64_t *until)
{
    return named_find_all(s, kid, SQT_EV_XACT_NAMED, xid, since, until);
}

int
sqt_stream_find_conn(struct sqt_stream *s, int64_t kid, uint64_t conn, int64_t *since, int64_t *until)
{
    return named_find_all(s, kid, SQT_EV_CONN_ACCEPT, conn, since, until);
}
