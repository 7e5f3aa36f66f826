/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blocks.c - see blocks.h.
 */
#include "blocks.h"

#include <stdlib.h>

#include "base/memory.h"
#include "spans.h"

static struct sqt_otlp_events *
blocks_of(struct sqt_otlp_blocks *blocks, struct sqt_swap *swap)
{
    struct sqt_otlp_events *events = swap->user;
    if (events)
        return events;
    events = swap->user = sqt_zeroed(1, sizeof(*events));
    events->next = blocks->first;
    if (blocks->first)
        blocks->first->previous = events;
    return blocks->first = events;
}

static void
blocks_events_free(struct sqt_otlp_blocks *blocks, struct sqt_otlp_events *events)
{
    if (events->previous)
        events->previous->next = events->next;
    else
        blocks->first = events->next;
    if (events->next)
        events->next->previous = events->previous;
    blocks->bytes -= events->text.room;
    sqt_otlp_text_free(&events->text);
    free(events);
}

void
sqt_otlp_block(struct sqt_otlp_blocks *blocks, const struct sqt_io *io, uint64_t wall)
{
    struct sqt_otlp_events *const events = blocks_of(blocks, io->swap);
    if (events->count >= SQT_OTLP_EVENTS || blocks->bytes >= SQT_OTLP_EVENT_BYTES) {
        ++events->dropped;
        return;
    }
    const size_t room = events->text.room;
    sqt_otlp_io_text(&events->text, io, wall);
    ++events->count;
    blocks->bytes += events->text.room - room;
}

void
sqt_otlp_blocks_drop(struct sqt_otlp_blocks *blocks, struct sqt_swap *swap)
{
    if (swap->user)
        blocks_events_free(blocks, swap->user);
    swap->user = NULL;
}

void
sqt_otlp_blocks_free(struct sqt_otlp_blocks *blocks)
{
    while (blocks->first)
        blocks_events_free(blocks, blocks->first);
}
