/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parquet.h - rows of tables as files of Parquet: a folder for each table, and files there for each process.
 *
 *     struct sqt_parquet *parquet = sqt_parquet_new(directory, "out");
 *     struct sqt_parquet_table *table = sqt_parquet_add(parquet, &wide.table);
 *     sqt_parquet_row(table, origin, row);
 *     if (sqt_parquet_finish(parquet) != 0)
 *         puts(sqt_parquet_error(parquet));
 *     sqt_parquet_free(parquet);
 *
 * One thread.  Memory: SQT_PARQUET_BYTES, however many tables and processes there are.  When it is spent, the largest row
 * group is written before it is full, or the file ends that got no row for longest.
 */
#ifndef SQT_PARQUET_H
#define SQT_PARQUET_H

#include <sys/types.h>

#include "read/stream.h"
#include "row/table.h"

#define SQT_PARQUET_BYTES ((size_t)40 << 20)

struct sqt_parquet;
struct sqt_parquet_table;

/* directory: a descriptor of the output folder, which lives until sqt_parquet_free(); name: that folder, for messages.
 * start_ns: of the trace, nanoseconds since the epoch, for the files' metadata; 0: of the ring that a file is of.
 * mode: of the files, as open() takes it. */
struct sqt_parquet *sqt_parquet_new(int directory, const char *name, uint64_t start_ns, mode_t mode);

/* Adds a table.  Columns without a name are none; of raw columns, what is printed is a column of its own.  The table must
 * live until sqt_parquet_free().  After an error, rows are refused. */
struct sqt_parquet_table *sqt_parquet_add(struct sqt_parquet *parquet, const struct sqt_table *table);

/* Adds a table whose files stand in the output folder itself, as PREFIX-RING-NUMBER.parquet.  Without rows it gets none.
 * prefix: up to 30 characters, copied. */
struct sqt_parquet_table *sqt_parquet_add_beside(struct sqt_parquet *parquet, const struct sqt_table *table,
                                                 const char *prefix);

/* Takes a row.  origin: the process that it is of; NULL: none.  Returns 0 after an error, else 1. */
int sqt_parquet_row(struct sqt_parquet_table *table, const struct sqt_origin *origin, const union sqt_cell *row);

/* Writes all that is left.  A table without rows gets a file without rows, so that it has a schema, unless its files stand
 * beside others.  Returns 0, or -1
 * after an error, also an earlier one. */
int sqt_parquet_finish(struct sqt_parquet *parquet);

/* What went wrong first: "FILE: cannot write: REASON"; empty if nothing did. */
const char *sqt_parquet_error(const struct sqt_parquet *parquet);

/* Files so far, of all tables; those that are being made, too. */
uint64_t sqt_parquet_files(const struct sqt_parquet *parquet);

/* Rows so far, of all tables. */
uint64_t sqt_parquet_rows(const struct sqt_parquet *parquet);

/* Files that are not whole are removed. */
void sqt_parquet_free(struct sqt_parquet *parquet);

#endif
