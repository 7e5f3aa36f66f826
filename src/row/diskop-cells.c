/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskop-cells.c - the row of a disk operation.
 */
#include "cells.h"

#include <string.h>

static inline int64_t
known(uint64_t id)
{
    return id ? (int64_t)id : SQT_CELL_MISSING;
}

/* The type of its cache_dir, made in text; NULL if it is not known. */
static const char *
store_of(const struct sqt_diskop *op, struct sqt_row_text *text)
{
    const char *const definition = sqt_origin_text(op->origin, SQT_DEF_DIR, op->dir);
    const size_t length = definition ? strcspn(definition, " ") : 0;
    if (!definition || length >= sizeof(text->store))
        return NULL;
    memcpy(text->store, definition, length);
    text->store[length] = '\0';
    return text->store;
}

#define CELL(name) row[SQT_CELL(diskops, name)]

void
sqt_diskop_cells(union sqt_cell *row, const struct sqt_diskop *op, struct sqt_row_text *text)
{
    const int unknown = sqt_durations_unknown(op->outcome);
    CELL(time_s).number = op->begin;
    CELL(kid).number = op->origin->identity.kid;
    CELL(seq).number = known(op->serial);
    CELL(sio).number = known(op->sio);
    CELL(op).text = sqt_disk_op_names[op->op];
    CELL(dir).number = op->dir == UINT32_MAX ? SQT_CELL_MISSING : op->dir;
    for (unsigned i = 0; i < SQT_DISKOP_STAGES; ++i)
        row[SQT_CELL(diskops, enqueued_ns) + i].number = unknown ? SQT_CELL_MISSING : op->stages[i];
    CELL(total_ns).number = unknown ? SQT_CELL_MISSING : op->end - op->begin;
    CELL(result).text = sqt_outcome_names[op->outcome];
    CELL(store).text = store_of(op, text);
    CELL(queue).number = known(op->queue);
    CELL(depth).number = op->depth;
    CELL(size_bytes).number = op->size;
    CELL(late).number = op->late;
}
