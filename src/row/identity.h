/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * identity.h - which proxy a row is of, and which of its rows it is.
 *
 * One thread.  Memory: a hundred bytes for each process that wrote the trace.
 */
#ifndef SQT_ROW_IDENTITY_H
#define SQT_ROW_IDENTITY_H

#include "read/stream.h"
#include "table.h"

/* What a row is of, as its maker knows it. */
struct sqt_row_source {
    const struct sqt_origin *origin; /* NULL: no process, or several */
    uint64_t record;                 /* number in its ring of the record that ended it; UINT64_MAX: none did */
    uint64_t index;                  /* rows of its kind that the same record ended before */
    int64_t later_ns;                /* that time_s is later than by the origin's clock, so that time_ns is not */
};

/* Cells of the columns of wide-columns.def, in its order.  time_ns: what is added to time_s. */
enum sqt_identity_cell {
#define SQT_IDENTITY_COLUMN(name, type, doc) SQT_IDENTITY_##name,
#include "wide-columns.def"
    SQT_IDENTITY_CELLS
};
struct sqt_identity_cells {
    union sqt_cell cells[SQT_IDENTITY_CELLS];
};

/* Rows that one record ends have indexes below this. */
#define SQT_ROW_INDEXES 1000000

/* What is known of the processes so far.  Zeroed at first but for the stream. */
struct sqt_identities {
    const struct sqt_stream *stream;
    int64_t kid;                        /* only this one was read; -1: all */
    struct sqt_origin_identity **known; /* by the origin's index */
    size_t count;
    struct sqt_origin_identity *common; /* of rows that are of no process */
};

/* Fills in the cells of a row.  Their texts are valid until sqt_identities_free(), while the stream is open.  Of a row
 * that is of no process, a cell holds the value that all processes share, if they do. */
void sqt_identity(struct sqt_identities *identities, const struct sqt_row_source *source,
                  struct sqt_identity_cells *cells);

/* The origin is about to be freed; its index will be another's. */
void sqt_identities_forget(struct sqt_identities *identities, const struct sqt_origin *origin);

void sqt_identities_free(struct sqt_identities *identities);

#endif
