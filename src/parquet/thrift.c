/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * thrift.c - see thrift.h.
 */
#include "thrift.h"

void
sqt_thrift_begin(struct sqt_thrift *t)
{
    t->last[t->depth++] = 0;
}

void
sqt_thrift_end(struct sqt_thrift *t)
{
    sqt_bytes_byte(t->to, 0);
    --t->depth;
}

static void
thrift_field(struct sqt_thrift *t, int field, unsigned type)
{
    int *const last = &t->last[t->depth - 1];
    if (field - *last < 16) {
        sqt_bytes_byte(t->to, (unsigned)(field - *last) << 4 | type);
    } else {
        sqt_bytes_byte(t->to, type);
        sqt_bytes_zigzag(t->to, field);
    }
    *last = field;
}

void
sqt_thrift_struct(struct sqt_thrift *t, int field)
{
    thrift_field(t, field, SQT_THRIFT_STRUCT);
    sqt_thrift_begin(t);
}

void
sqt_thrift_number(struct sqt_thrift *t, int field, enum sqt_thrift_type type, int64_t value)
{
    thrift_field(t, field, type);
    sqt_bytes_zigzag(t->to, value);
}

void
sqt_thrift_binary(struct sqt_thrift *t, int field, const void *data, size_t size)
{
    thrift_field(t, field, SQT_THRIFT_BINARY);
    sqt_bytes_varint(t->to, size);
    sqt_bytes_put(t->to, data, size);
}

void
sqt_thrift_raw(struct sqt_thrift *t, int field, int type, const void *value, size_t size)
{
    thrift_field(t, field, (unsigned)type);
    sqt_bytes_put(t->to, value, size);
}

void
sqt_thrift_text(struct sqt_thrift *t, int field, const char *text)
{
    sqt_thrift_binary(t, field, text, strlen(text));
}

void
sqt_thrift_list(struct sqt_thrift *t, int field, enum sqt_thrift_type type, size_t count)
{
    thrift_field(t, field, SQT_THRIFT_LIST);
    if (count < 15) {
        sqt_bytes_byte(t->to, (unsigned)count << 4 | type);
    } else {
        sqt_bytes_byte(t->to, 15 << 4 | type);
        sqt_bytes_varint(t->to, count);
    }
}

void
sqt_thrift_element(struct sqt_thrift *t, int64_t value)
{
    sqt_bytes_zigzag(t->to, value);
}

void
sqt_thrift_text_element(struct sqt_thrift *t, const char *text)
{
    const size_t size = strlen(text);
    sqt_bytes_varint(t->to, size);
    sqt_bytes_put(t->to, text, size);
}
