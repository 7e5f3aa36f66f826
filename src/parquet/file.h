/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * file.h - one file of Parquet: row groups, and the metadata behind them.
 *
 * A file is made under a name that begins with a dot, which engines do not look at, and is renamed when it is whole.  It
 * is open only while a row group is written, so any number of files can be made at a time.
 */
#ifndef SQT_PARQUET_FILE_H
#define SQT_PARQUET_FILE_H

#include <sys/types.h>

#include "column.h"

/* Rows of a row group, and row groups of a file, at most. */
#define SQT_GROUP_ROWS 131072
#define SQT_FILE_GROUPS 32

/* A text of a file's metadata. */
struct sqt_parquet_note {
    const char *key, *text;
};

struct sqt_parquet_file {
    int directory; /* descriptor of the folder of its table, of the caller */
    char name[80]; /* there */
    mode_t mode;   /* that it is made with */
    dev_t device;  /* of what was made */
    ino_t inode;
    const struct sqt_parquet_field *fields;
    unsigned field_count;
    struct sqt_parquet_column *columns; /* field_count of them, as values[] */
    int64_t (*values)[SQT_COLUMN_ROWS]; /* of rows that the columns did not take yet */
    unsigned waiting;                   /* so many rows */
    uint64_t rows;                      /* of the row group being made, those not taken yet left out */
    uint64_t written, rows_written;     /* bytes and rows in the file */
    struct sqt_bytes groups;            /* metadata of the row groups in the file */
    unsigned group_count;
    void **codec; /* see codec.h */
};

/* Begins a file.  mode: as open() takes it.  Fields live until it is finished. */
void sqt_parquet_file_begin(struct sqt_parquet_file *file, int directory, const char *name, mode_t mode,
                            const struct sqt_parquet_field *fields, unsigned field_count, void **codec);

/* Takes a row. */
void sqt_parquet_file_row(struct sqt_parquet_file *file, const union sqt_cell *row);

/* The functions that follow return 0, or -1 with errno. */

/* Writes the row group being made, if it has rows. */
int sqt_parquet_file_end_group(struct sqt_parquet_file *file);

/* Whether the row group being made has as many rows or texts as it may. */
int sqt_parquet_file_group_full(const struct sqt_parquet_file *file);

/* Writes all that is left, and gives the file its name.  Call sqt_parquet_file_free() then. */
int sqt_parquet_file_finish(struct sqt_parquet_file *file, const struct sqt_parquet_note *notes, unsigned note_count);

/* Bytes of memory. */
size_t sqt_parquet_file_size(const struct sqt_parquet_file *file);

/* Gives up memory.  remove: what was written goes, too. */
void sqt_parquet_file_free(struct sqt_parquet_file *file, int remove);

#endif
