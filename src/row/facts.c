/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * facts.c - see facts.h.
 */
#include "facts.h"

#include <string.h>

SQT_ASSERT(SQT_CELL(requests, notes) <= 64, "SQT_NS has bits enough");

/* Every swap and operation has one: with snprintf names took a tenth of the time of all figures. */
void
sqt_place_name(char *name, const char *store, uint32_t dir)
{
    char digits[10];
    size_t first = sizeof(digits);
    if (!store)
        store = "dir";
    const size_t length = strnlen(store, SQT_PLACE_NAME - sizeof(digits) - 2);
    do
        digits[--first] = (char)('0' + dir % 10);
    while ((dir /= 10));
    memcpy(name, store, length);
    name[length] = ':';
    memcpy(name + length + 1, digits + first, sizeof(digits) - first);
    name[length + 1 + sizeof(digits) - first] = '\0';
}

void
sqt_request_fact(struct sqt_request_fact *fact, const struct sqt_xact *x)
{
    fact->origin = x->origin;
    fact->xact = x->id;
    fact->begin = x->begin;
    fact->end = x->end;
    fact->outcome = x->outcome;
    fact->got_error = sqt_xact_got_error(x);
    fact->class = sqt_request_cells(fact->row, x);
    if (x->context) {
        memcpy(fact->trace_id, x->context->trace_text, sizeof(fact->trace_id));
        memcpy(fact->parent_id, x->context->parent_text, sizeof(fact->parent_id));
        fact->row[SQT_CELL(requests, trace_id)].text = fact->trace_id;
        fact->row[SQT_CELL(requests, parent_id)].text = fact->parent_id;
    }
    if (x->notes) {
        memcpy(fact->notes, x->notes->text, sizeof(fact->notes));
        fact->row[SQT_CELL(requests, notes)].text = fact->notes;
    }
}

void
sqt_swap_fact(struct sqt_swap_fact *fact, const struct sqt_swap *s)
{
    fact->origin = s->origin;
    fact->sio = s->sio;
    fact->xact = s->xact;
    fact->object = s->object;
    fact->begin = s->begin;
    fact->end = s->end;
    fact->dir = s->dir;
    fact->out = s->out;
    fact->outcome = s->outcome;
    sqt_swap_cells(fact->row, s, &fact->text);
    sqt_place_name(fact->place, fact->row[SQT_CELL(swaps, store)].text, s->dir);
}

void
sqt_io_fact(struct sqt_io_fact *fact, const struct sqt_io *io)
{
    fact->origin = io->swap->origin;
    fact->sio = io->swap->sio;
    fact->xact = io->swap->xact;
    fact->out = io->swap->out;
    const char *path;
    fact->store = sqt_split_dir(io->swap, &fact->text, &path);
    sqt_io_cells(fact->row, io);
}

void
sqt_diskop_fact(struct sqt_diskop_fact *fact, const struct sqt_diskop *op)
{
    fact->begin = op->begin;
    fact->end = op->end;
    fact->op = op->op;
    fact->outcome = op->outcome;
    fact->main_thread = op->queue == SQT_QUEUE_NONE;
    fact->came_back = !op->late && (op->outcome == SQT_OUTCOME_COMPLETE || op->outcome == SQT_OUTCOME_ERROR);
    fact->late = op->late;
    sqt_diskop_cells(fact->row, op, &fact->text);
    if (op->dir == UINT32_MAX)
        memcpy(fact->place, "-", 2);
    else
        sqt_place_name(fact->place, fact->row[SQT_CELL(diskops, store)].text, op->dir);
}
