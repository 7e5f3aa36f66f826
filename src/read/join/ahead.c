/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ahead.c - see ahead.h.
 */
#include "ahead.h"

#include <stdlib.h>

#include "base/memory.h"
#include "origin.h"
#include "sources.h"

/* To wake a thread costs as much as to unpack some hundred records, and the next block is mostly as long. */
#define RECORDS_LEAST 1024

/* A block takes 2 MiB: of many origins that are open at a time only these read ahead. */
#define ORIGINS_MOST 8

static void
unpack_next(void *context)
{
    struct sqt_origin_reader *const o = context;
    struct sqt_segment *const s = &o->segment;
    struct sqt_block block;
    o->ahead.unpacked = sqt_segment_peek(s) && s->frame.type == SQT_FRAME_BLOCK &&
                        !sqt_block_head(&s->frame, s->payload, s->header.identity.ring_id, &block) &&
                        !sqt_block_unpack(&o->sources->ahead->unpacker, &o->dictionary.pack, &s->frame, s->payload,
                                          &block, o->ahead.records);
}

/* Whether the origin has room for a block more. */
static int
have_room(struct sqt_ahead *all, struct sqt_ahead_block *a)
{
    if (!a->records && all->origins < ORIGINS_MOST) {
        a->records = sqt_allocated(SQT_BLOCK_RECORDS * sizeof(*a->records));
        ++all->origins;
    }
    return a->records != NULL;
}

void
sqt_ahead_begin(struct sqt_origin_reader *o, size_t count)
{
    struct sqt_ahead *const all = o->sources->ahead;
    struct sqt_ahead_block *const a = &o->ahead;
    if (!all->crew || count < RECORDS_LEAST || !have_room(all, a))
        return;
    a->begun = 1;
    a->task = (struct sqt_task){.function = unpack_next, .context = o};
    sqt_crew_give(all->crew, SQT_LANE_READING, &a->task);
}

void
sqt_ahead_settle(struct sqt_origin_reader *o)
{
    if (!o->ahead.begun)
        return;
    o->ahead.begun = 0;
    sqt_crew_wait(o->sources->ahead->crew, &o->ahead.task);
    /* What was no good frame may be one when it is looked at again. */
    if (!o->segment.peeked)
        sqt_input_refresh(&o->segment.input);
}

int
sqt_ahead_take(struct sqt_origin_reader *o)
{
    struct sqt_ahead_block *const a = &o->ahead;
    if (!a->unpacked)
        return 0;
    struct sqt_record *const records = a->records;
    a->records = o->buffer;
    o->buffer = records;
    a->unpacked = 0;
    return 1;
}

void
sqt_ahead_drop(struct sqt_origin_reader *o)
{
    struct sqt_ahead_block *const a = &o->ahead;
    sqt_ahead_settle(o);
    a->unpacked = 0;
    if (!a->records)
        return;
    free(a->records);
    a->records = NULL;
    --o->sources->ahead->origins;
}
