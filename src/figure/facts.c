/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * facts.c - see facts.h.
 */
#include "family.h"

SQT_ASSERT(SQT_CELLS(requests) <= 64, "SQT_NS has bits enough");

void
sqt_request_fact(struct sqt_request_fact *fact, const struct sqt_xact *x)
{
    fact->origin = x->origin;
    fact->xact = x->id;
    fact->begin = x->begin;
    fact->end = x->end;
    fact->outcome = x->outcome;
    sqt_request_cells(fact->row, x);
    fact->class = sqt_class_of(fact->row[SQT_CELL(requests, tag)].text, x->disk_reads, x->flags);
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
