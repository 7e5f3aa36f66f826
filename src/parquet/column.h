/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * column.h - one column of a row group: values become pages, and pages a chunk of the file.
 *
 *     values of up to 128 rows -> page being made: levels, and numbers or indices of texts -> compressed pages
 */
#ifndef SQT_PARQUET_COLUMN_H
#define SQT_PARQUET_COLUMN_H

#include "delta.h"
#include "row/table.h"
#include "texts.h"
#include "thrift.h"

/* Rows that a column takes at a time. */
#define SQT_COLUMN_ROWS SQT_DELTA_BLOCK

/* A DECIMAL in 64 bits has 18 digits: numbers from this on are missing.  Times of a trace reach it after 31 years. */
#define SQT_DECIMAL_LIMIT INT64_C(1000000000000000000)

/* A column as it stands in the schema. */
struct sqt_parquet_field {
    char name[64];
    unsigned cell;      /* where it stands in a row */
    enum sqt_type type; /* of that cell */
    int text;           /* BYTE_ARRAY of UTF-8; else INT64 */
    unsigned scale;     /* digits behind the point of a DECIMAL, 0: plain INT64 */
};

struct sqt_parquet_column {
    /* the page being made */
    struct sqt_bytes levels; /* a bit for each row: whether it has a value */
    size_t page_rows, page_values;
    struct sqt_delta numbers;
    struct sqt_bytes indices; /* uint16_t each, of texts */

    /* the chunk so far */
    struct sqt_texts texts;
    struct sqt_bytes pages;
    size_t plain_size; /* of the pages before compression, headers included */
    uint64_t rows, values;
    int64_t least, most; /* of numbers, if there are values */
    int coded, empty;    /* it has pages with values, and pages without */
};

/* The cell of a row as a number: of a text its index; SQT_CELL_MISSING if it has none.  Call it for a text once a row. */
int64_t sqt_parquet_column_value(struct sqt_parquet_column *column, const struct sqt_parquet_field *field,
                                 const union sqt_cell *row);

/* Takes the next rows, SQT_COLUMN_ROWS of them but at the end of a row group.  codec: see codec.h. */
void sqt_parquet_column_take(struct sqt_parquet_column *column, const struct sqt_parquet_field *field,
                             const int64_t *values, unsigned count, void **codec);

/* Ends the row group: appends the chunk to `to`, which will stand at `offset` of the file, and its metadata, an element of
 * a list.  Adds to
 * *plain_size the bytes of its pages before compression.  The column is then as at first. */
void sqt_parquet_column_finish(struct sqt_parquet_column *column, const struct sqt_parquet_field *field,
                               struct sqt_bytes *to, uint64_t offset, struct sqt_thrift *metadata, size_t *plain_size,
                               void **codec);

/* Bytes of memory. */
size_t sqt_parquet_column_size(const struct sqt_parquet_column *column);

void sqt_parquet_column_free(struct sqt_parquet_column *column);

#endif
