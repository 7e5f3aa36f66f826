/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * thrift.h - the compact protocol of Thrift, as far as the metadata of Parquet needs it.
 *
 * The fields of a structure are written in the order of their numbers, between begin and end.
 */
#ifndef SQT_PARQUET_THRIFT_H
#define SQT_PARQUET_THRIFT_H

#include "bytes.h"

#define SQT_THRIFT_DEPTH 8

enum sqt_thrift_type {
    SQT_THRIFT_I32 = 5,
    SQT_THRIFT_I64 = 6,
    SQT_THRIFT_BINARY = 8,
    SQT_THRIFT_LIST = 9,
    SQT_THRIFT_STRUCT = 12
};

struct sqt_thrift {
    struct sqt_bytes *to;
    unsigned depth;
    int last[SQT_THRIFT_DEPTH]; /* number of the last field, of each open structure */
};

/* Begins and ends a structure that is no field: the outermost one, or an element of a list. */
void sqt_thrift_begin(struct sqt_thrift *thrift);
void sqt_thrift_end(struct sqt_thrift *thrift);

/* A field that is a structure; ends with sqt_thrift_end. */
void sqt_thrift_struct(struct sqt_thrift *thrift, int field);

void sqt_thrift_number(struct sqt_thrift *thrift, int field, enum sqt_thrift_type type, int64_t value);
void sqt_thrift_binary(struct sqt_thrift *thrift, int field, const void *data, size_t size);
void sqt_thrift_text(struct sqt_thrift *thrift, int field, const char *text);

/* A field whose value is encoded already; any type of Thrift. */
void sqt_thrift_raw(struct sqt_thrift *thrift, int field, int type, const void *value, size_t size);

/* A field that is a list.  `count` elements follow: structures, or numbers and texts by the next two. */
void sqt_thrift_list(struct sqt_thrift *thrift, int field, enum sqt_thrift_type type, size_t count);
void sqt_thrift_element(struct sqt_thrift *thrift, int64_t value);
void sqt_thrift_text_element(struct sqt_thrift *thrift, const char *text);

#endif
