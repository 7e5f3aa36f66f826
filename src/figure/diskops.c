/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskops.c - the table of disk operations.
 */
#include "diskops.h"

#include <stdio.h>
#include <string.h>

static inline int64_t
known(uint64_t id)
{
    return id ? (int64_t)id : SQT_CELL_MISSING;
}

const char *
sqt_diskop_store(const struct sqt_diskop *op, struct sqt_row_text *text)
{
    const char *const definition = sqt_origin_text(op->origin, SQT_DEF_DIR, op->dir);
    const size_t length = definition ? strcspn(definition, " ") : 0;
    if (!definition || length >= sizeof(text->store))
        return NULL;
    memcpy(text->store, definition, length);
    text->store[length] = '\0';
    return text->store;
}

void
sqt_diskop_place(const struct sqt_diskop *op, char *name)
{
    struct sqt_row_text text;
    const char *const store = sqt_diskop_store(op, &text);
    if (op->dir == UINT32_MAX)
        snprintf(name, SQT_PLACE_NAME, "-");
    else
        snprintf(name, SQT_PLACE_NAME, "%s:%u", store ? store : "dir", (unsigned)op->dir);
}

#define CELL(name) row[SQT_CELL(diskops, name)]

void
sqt_diskop_cells(union sqt_cell *row, const struct sqt_diskop *op, struct sqt_row_text *text)
{
    CELL(time_s).number = op->begin;
    CELL(kid).number = op->origin->identity.kid;
    CELL(seq).number = known(op->serial);
    CELL(sio).number = known(op->sio);
    CELL(op).text = sqt_disk_op_names[op->op];
    CELL(dir).number = op->dir == UINT32_MAX ? SQT_CELL_MISSING : op->dir;
    memcpy(&CELL(enqueued_ns), op->stages, sizeof(op->stages));
    CELL(total_ns).number = op->end - op->begin;
    CELL(result).text = sqt_outcome_names[op->outcome];
    CELL(store).text = sqt_diskop_store(op, text);
    CELL(queue).number = known(op->queue);
    CELL(depth).number = op->depth;
    CELL(size_bytes).number = op->size;
    CELL(late).number = op->late;
}

static void
print(void *context, const struct sqt_diskop *op)
{
    struct sqt_job *const job = context;
    struct sqt_row_text text;
    union sqt_cell row[SQT_CELLS(diskops)];
    sqt_diskop_cells(row, op, &text);
    if (sqt_job_wants(job, op->begin, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_diskops = {
    .where = {SQT_TABLE_diskops}, .where_count = 1, .consumer = {.diskop = print}};
