/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * swap-cells.c - the rows of a swap and of its blocks.
 */
#include "cells.h"

#include <string.h>

const char *const sqt_direction_names[] = {"in", "out"};

/* A cache_dir's definition is its type, a space and its path. */
const char *
sqt_split_dir(const struct sqt_swap *swap, struct sqt_row_text *text, const char **path)
{
    const char *const definition = sqt_origin_text(swap->origin, SQT_DEF_DIR, swap->dir);
    const char *const space = definition ? strchr(definition, ' ') : NULL;
    *path = NULL;
    if (!space || (size_t)(space - definition) >= sizeof(text->store))
        return definition;
    memcpy(text->store, definition, (size_t)(space - definition));
    text->store[space - definition] = '\0';
    *path = space + 1;
    return text->store;
}

#define CELL(name) row[SQT_CELL(swaps, name)]

void
sqt_swap_cells(union sqt_cell *row, const struct sqt_swap *s, struct sqt_row_text *text)
{
    const int lost = s->outcome == SQT_OUTCOME_LOST;
    const int unknown = sqt_durations_unknown(s->outcome);
    const struct sqt_spans *const p = &s->phases;
    int64_t phase[SQT_SWAP_CLOSE + 1];
    for (unsigned i = 0; i <= SQT_SWAP_CLOSE; ++i)
        phase[i] = unknown || !(p->seen >> i & 1) ? SQT_CELL_MISSING : p->ns[i];
    CELL(time_s).number = s->begin;
    CELL(kid).number = s->origin->identity.kid;
    CELL(sio).number = (int64_t)s->sio;
    CELL(xid).number = s->xact && !(s->xact & SQT_UNNAMED) ? (int64_t)s->xact : SQT_CELL_MISSING;
    CELL(direction).text = sqt_direction_names[s->out];
    CELL(dir).number = s->dir;
    CELL(store).text = sqt_split_dir(s, text, &CELL(path).text);
    CELL(filen).number = (int64_t)s->file;
    CELL(size_bytes).number = s->size;
    CELL(ios).number = s->ios;
    CELL(open_ns).number = phase[SQT_SWAP_OPEN];
    CELL(first_io_ns).number = phase[SQT_SWAP_FIRST];
    CELL(first_delay_ns).number =
        phase[SQT_SWAP_FIRST] == SQT_CELL_MISSING ? SQT_CELL_MISSING : phase[SQT_SWAP_OPEN] + phase[SQT_SWAP_FIRST];
    CELL(rest_io_ns).number = phase[SQT_SWAP_REST];
    CELL(idle_ns).number = unknown ? SQT_CELL_MISSING : p->ns[SQT_SWAP_IDLE];
    CELL(close_ns).number = phase[SQT_SWAP_CLOSE];
    CELL(total_ns).number = unknown ? SQT_CELL_MISSING : s->end - s->begin;
    CELL(atomic).number = lost ? SQT_CELL_MISSING : s->ios == 1;
    CELL(outcome).text = sqt_outcome_names[s->outcome];
    CELL(image_bytes).number = s->image;
    CELL(object).number = s->object ? (int64_t)s->object : SQT_CELL_MISSING;
    CELL(update).number = s->update;
}

#undef CELL
#define CELL(name) row[SQT_CELL(ios, name)]

void
sqt_io_cells(union sqt_cell *row, const struct sqt_io *io)
{
    const struct sqt_swap *const s = io->swap;
    CELL(time_s).number = io->asked;
    CELL(kid).number = s->origin->identity.kid;
    CELL(sio).number = (int64_t)s->sio;
    CELL(xid).number = s->xact && !(s->xact & SQT_UNNAMED) ? (int64_t)s->xact : SQT_CELL_MISSING;
    CELL(direction).text = sqt_direction_names[s->out];
    CELL(dir).number = s->dir;
    CELL(index).number = io->index;
    CELL(offset_bytes).number = (int64_t)io->offset;
    CELL(size_bytes).number = io->size;
    CELL(queue_ns).number = io->queue;
    CELL(service_ns).number = io->service;
    CELL(notice_ns).number = io->notice;
    CELL(total_ns).number = !sqt_durations_unknown(io->outcome) ? io->done - io->asked : SQT_CELL_MISSING;
    CELL(outcome).text = sqt_outcome_names[io->outcome];
}
