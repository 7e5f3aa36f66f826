/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * footer.c - see footer.h.
 *
 * Metadata is copied field by field.  What is read was checked once: sqt_footer_read() walks through all of it.  Row
 * groups must have what file.h writes: a file that is made of several is refused as a whole if one of them is wrong.
 */
#include "footer.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thrift.h"

#define MAGIC "PAR1"
#define MAGIC_SIZE 4
#define TAIL (MAGIC_SIZE + 4)
/* Longer metadata is not ours. */
#define FOOTER_MOST ((uint64_t)64 << 20)
#define NOT_OURS "not a file of sqtrace-ship: its metadata was expected at the end"
#define MAKER "sqtrace-" /* begins what a file says of who made it: others put more into files than is copied here */

/* Types of Thrift that are not written but by other programs. */
enum { THRIFT_TRUE = 1, THRIFT_FALSE = 2, THRIFT_BYTE = 3, THRIFT_I16 = 4 };

/* Fields of Parquet. */
enum { FILE_SCHEMA = 2, FILE_ROWS = 3, FILE_GROUPS = 4, FILE_NOTES = 5, FILE_MADE_BY = 6, FILE_ORDERS = 7 };
enum { GROUP_COLUMNS = 1, GROUP_OFFSET = 5 };
enum { CHUNK_OFFSET = 2, CHUNK_METADATA = 3 };
enum { META_PATH = 3, META_DATA_PAGE = 9, META_INDEX_PAGE = 10, META_DICTIONARY = 11, META_STATISTICS = 12 };
enum { STATISTICS_MOST = 5, STATISTICS_LEAST = 6 };

struct footer_cursor {
    const uint8_t *at, *end;
    int bad;
    uint64_t groups_end; /* offsets are below this; for those that copy them */
};

/* ---- Thrift ---- */

static uint64_t
footer_varint(struct footer_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        const uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return value;
    }
    c->bad = 1;
    return 0;
}

static int64_t
footer_number(struct footer_cursor *c)
{
    const uint64_t value = footer_varint(c);
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

/* The number of the next field of a structure, whose last one was `last`; 0: it ends. */
static int
footer_field(struct footer_cursor *c, int last, int *type)
{
    if (c->at >= c->end)
        c->bad = 1;
    const unsigned head = c->bad ? 0 : *c->at++;
    if (!head)
        return 0;
    *type = (int)(head & 15);
    const int64_t field = head >> 4 ? last + (int)(head >> 4) : footer_number(c);
    if (field <= last || field > INT16_MAX)
        c->bad = 1;
    return c->bad ? 0 : (int)field;
}

/* The header of a list: how many elements, and of which type. */
static uint64_t
footer_list(struct footer_cursor *c, int *type)
{
    if (c->at >= c->end)
        c->bad = 1;
    const unsigned head = c->bad ? 0 : *c->at++;
    *type = (int)(head & 15);
    const uint64_t count = head >> 4 == 15 ? footer_varint(c) : head >> 4;
    if (count > (uint64_t)(c->end - c->at))
        c->bad = 1;
    return c->bad ? 0 : count;
}

static struct footer_cursor
footer_binary(struct footer_cursor *c)
{
    const uint64_t size = footer_varint(c);
    if (size > (uint64_t)(c->end - c->at))
        c->bad = 1;
    const struct footer_cursor found = {c->at, c->bad ? c->at : c->at + size, 0, 0};
    c->at = found.end;
    return found;
}

/* Goes on behind a value.  depth: of structures and lists that may stand in it. */
static void
footer_skip(struct footer_cursor *c, int type, unsigned depth) /* NOLINT(misc-no-recursion): depth bounds it */
{
    int field = 0, inner = 0;
    if (!depth)
        c->bad = 1;
    if (c->bad || type == THRIFT_TRUE || type == THRIFT_FALSE)
        return;
    if (type == THRIFT_BYTE && c->at < c->end) {
        ++c->at;
    } else if (type == THRIFT_I16 || type == SQT_THRIFT_I32) {
        c->bad |= footer_varint(c) > UINT32_MAX;
    } else if (type == SQT_THRIFT_I64) {
        footer_varint(c);
    } else if (type == SQT_THRIFT_BINARY) {
        footer_binary(c);
    } else if (type == SQT_THRIFT_LIST) {
        for (uint64_t count = footer_list(c, &inner); count && !c->bad; --count)
            footer_skip(c, inner == THRIFT_TRUE || inner == THRIFT_FALSE ? THRIFT_BYTE : inner, depth - 1);
    } else if (type == SQT_THRIFT_STRUCT) {
        while ((field = footer_field(c, field, &inner)))
            footer_skip(c, inner, depth - 1);
    } else {
        c->bad = 1;
    }
}

/* ---- what a row group has ---- */

/* A field of a structure that file.h writes; a reader of Parquet refuses a file that has another type there, or lacks one that is
 * not optional. */
struct footer_known {
    int field, type, optional, inner; /* inner: type of a list's elements */
    const struct footer_shape *shape; /* of these, or of the field, if they are structures */
};

/* The fields of a structure, by their numbers, up to one whose number is 0. */
struct footer_shape {
    struct footer_known known[12];
};

static const struct footer_shape footer_statistics_shape = {{{3, SQT_THRIFT_I64, 1, 0, NULL},
                                                             {STATISTICS_MOST, SQT_THRIFT_BINARY, 1, 0, NULL},
                                                             {STATISTICS_LEAST, SQT_THRIFT_BINARY, 1, 0, NULL}}};
static const struct footer_shape footer_column_shape = {
    {{1, SQT_THRIFT_I32, 0, 0, NULL},
     {2, SQT_THRIFT_LIST, 0, SQT_THRIFT_I32, NULL},
     {META_PATH, SQT_THRIFT_LIST, 0, SQT_THRIFT_BINARY, NULL},
     {4, SQT_THRIFT_I32, 0, 0, NULL},
     {5, SQT_THRIFT_I64, 0, 0, NULL},
     {6, SQT_THRIFT_I64, 0, 0, NULL},
     {7, SQT_THRIFT_I64, 0, 0, NULL},
     {META_DATA_PAGE, SQT_THRIFT_I64, 0, 0, NULL},
     {META_INDEX_PAGE, SQT_THRIFT_I64, 1, 0, NULL},
     {META_DICTIONARY, SQT_THRIFT_I64, 1, 0, NULL},
     {META_STATISTICS, SQT_THRIFT_STRUCT, 1, 0, &footer_statistics_shape}}};
static const struct footer_shape footer_chunk_shape = {
    {{CHUNK_OFFSET, SQT_THRIFT_I64, 0, 0, NULL}, {CHUNK_METADATA, SQT_THRIFT_STRUCT, 0, 0, &footer_column_shape}}};
static const struct footer_shape footer_group_shape = {
    {{GROUP_COLUMNS, SQT_THRIFT_LIST, 0, SQT_THRIFT_STRUCT, &footer_chunk_shape},
     {2, SQT_THRIFT_I64, 0, 0, NULL},
     {3, SQT_THRIFT_I64, 0, 0, NULL},
     {GROUP_OFFSET, SQT_THRIFT_I64, 1, 0, NULL},
     {6, SQT_THRIFT_I64, 1, 0, NULL}}};

static void footer_check(struct footer_cursor *c, const struct footer_shape *shape);

/* Goes on behind the field, which must be as it is known. */
static void
footer_check_field(struct footer_cursor *c,
                   const struct footer_known *known) /* NOLINT(misc-no-recursion): shapes end */
{
    int inner = 0;
    if (known->type == SQT_THRIFT_STRUCT) {
        footer_check(c, known->shape);
    } else if (known->type == SQT_THRIFT_LIST) {
        uint64_t count = footer_list(c, &inner);
        c->bad |= inner != known->inner || !count;
        for (; count && !c->bad; --count)
            if (known->shape)
                footer_check(c, known->shape);
            else
                footer_skip(c, inner, SQT_THRIFT_DEPTH);
    } else {
        footer_skip(c, known->type, SQT_THRIFT_DEPTH);
    }
}

/* Goes on behind a structure, which is bad if it has not that shape. */
static void
footer_check(struct footer_cursor *c, const struct footer_shape *shape) /* NOLINT(misc-no-recursion): shapes end */
{
    const struct footer_known *known = shape->known;
    int field = 0, type = 0;
    while (!c->bad && (field = footer_field(c, field, &type))) {
        for (; known->field && known->field < field; ++known)
            c->bad |= !known->optional;
        c->bad |= known->field != field || known->type != type;
        if (!c->bad)
            footer_check_field(c, known++);
    }
    for (; known->field; ++known)
        c->bad |= !known->optional;
}

/* ---- reading ---- */

static struct sqt_footer_span *
footer_span(struct sqt_footer *f, int field)
{
    return field == FILE_SCHEMA   ? &f->schema
           : field == FILE_GROUPS ? &f->groups
           : field == FILE_NOTES  ? &f->notes
           : field == FILE_ORDERS ? &f->orders
                                  : NULL;
}

static int
footer_parse(struct sqt_footer *f, size_t size)
{
    struct footer_cursor c = {f->data, f->data + size, 0, 0};
    int field = 0, type = 0, inner = 0, ours = 0;
    while ((field = footer_field(&c, field, &type))) {
        struct sqt_footer_span *const span = footer_span(f, field);
        if (span && type == SQT_THRIFT_LIST) {
            const uint64_t count = footer_list(&c, &inner);
            *span = (struct sqt_footer_span){c.at, 0, count};
            c.bad |= inner != SQT_THRIFT_STRUCT;
            for (uint64_t i = 0; i < count && !c.bad; ++i)
                if (field == FILE_GROUPS)
                    footer_check(&c, &footer_group_shape);
                else
                    footer_skip(&c, inner, SQT_THRIFT_DEPTH);
            span->size = (size_t)(c.at - span->at);
        } else if (field == FILE_ROWS && type == SQT_THRIFT_I64) {
            f->rows = (uint64_t)footer_number(&c);
        } else if (field == FILE_MADE_BY && type == SQT_THRIFT_BINARY) {
            const struct footer_cursor by = footer_binary(&c);
            ours = (size_t)(by.end - by.at) >= strlen(MAKER) && memcmp(by.at, MAKER, strlen(MAKER)) == 0;
        } else {
            footer_skip(&c, type, SQT_THRIFT_DEPTH);
        }
    }
    return c.bad || c.at != c.end || !ours || !f->schema.count || !f->orders.count ? -1 : 0;
}

static int
footer_get(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = pread(fd, to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}

int
sqt_footer_read(struct sqt_footer *f, int fd, const char **why)
{
    struct stat st;
    uint8_t tail[TAIL];
    memset(f, 0, sizeof(*f));
    *why = NOT_OURS;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < MAGIC_SIZE + TAIL)
        return -1;
    const uint64_t size = (uint64_t)st.st_size;
    if (footer_get(fd, tail, TAIL, size - TAIL) != 0) {
        *why = strerror(errno);
        return -1;
    }
    const uint64_t length =
        (uint64_t)tail[0] | (uint64_t)tail[1] << 8 | (uint64_t)tail[2] << 16 | (uint64_t)tail[3] << 24;
    if (memcmp(tail + 4, MAGIC, MAGIC_SIZE) != 0 || length > FOOTER_MOST || length + TAIL + MAGIC_SIZE > size ||
        !length)
        return -1;
    f->groups_end = size - TAIL - length;
    f->data = sqt_zeroed(1, length);
    if (footer_get(fd, f->data, length, f->groups_end) != 0) {
        *why = strerror(errno);
        return -1;
    }
    return footer_parse(f, length);
}

void
sqt_footer_free(struct sqt_footer *f)
{
    free(f->data);
    memset(f, 0, sizeof(*f));
}

/* ---- notes ---- */

static int
footer_is(const struct footer_cursor *text, const char *other)
{
    const size_t size = (size_t)(text->end - text->at);
    return size == strlen(other) && memcmp(text->at, other, size) == 0;
}

/* The next note; its fields are empty where they are missing. */
static void
footer_next_note(struct footer_cursor *c, struct footer_cursor *key, struct footer_cursor *text)
{
    int field = 0, type = 0;
    *key = *text = (struct footer_cursor){c->at, c->at, 0, 0};
    while ((field = footer_field(c, field, &type))) {
        if (type == SQT_THRIFT_BINARY && field <= 2)
            *(field == 1 ? key : text) = footer_binary(c);
        else
            footer_skip(c, type, SQT_THRIFT_DEPTH);
    }
}

char *
sqt_footer_note(const struct sqt_footer *f, const char *wanted)
{
    struct footer_cursor c = {f->notes.at, f->notes.at + f->notes.size, 0, 0}, key, text;
    for (uint64_t i = 0; i < f->notes.count; ++i) {
        footer_next_note(&c, &key, &text);
        if (footer_is(&key, wanted)) {
            char *const copy = sqt_zeroed(1, (size_t)(text.end - text.at) + 1);
            memcpy(copy, text.at, (size_t)(text.end - text.at));
            return copy;
        }
    }
    return NULL;
}

/* ---- ranges ---- */

/* What a chunk says of its column. */
struct footer_chunk {
    int is; /* of the column that is looked for */
    struct footer_cursor least, most;
    int64_t values, missing;
};

static void
footer_statistics(struct footer_cursor *c, struct footer_chunk *chunk)
{
    int field = 0, type = 0;
    while ((field = footer_field(c, field, &type))) {
        if (type == SQT_THRIFT_BINARY && field == STATISTICS_LEAST)
            chunk->least = footer_binary(c);
        else if (type == SQT_THRIFT_BINARY && field == STATISTICS_MOST)
            chunk->most = footer_binary(c);
        else if (type == SQT_THRIFT_I64 && field == 3)
            chunk->missing = footer_number(c);
        else
            footer_skip(c, type, SQT_THRIFT_DEPTH);
    }
}

static void
footer_metadata(struct footer_cursor *c, const char *column, struct footer_chunk *chunk)
{
    int field = 0, type = 0, inner = 0;
    while ((field = footer_field(c, field, &type))) {
        if (field == META_PATH && type == SQT_THRIFT_LIST) {
            for (uint64_t count = footer_list(c, &inner); count && !c->bad; --count) {
                const struct footer_cursor name = footer_binary(c);
                chunk->is = footer_is(&name, column);
            }
        } else if (field == 5 && type == SQT_THRIFT_I64) {
            chunk->values = footer_number(c);
        } else if (field == META_STATISTICS && type == SQT_THRIFT_STRUCT) {
            footer_statistics(c, chunk);
        } else {
            footer_skip(c, type, SQT_THRIFT_DEPTH);
        }
    }
}

static int64_t
footer_eight(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i)
        value |= (uint64_t)bytes[i] << 8 * i;
    return (int64_t)value;
}

/* Widens the range by a chunk.  Returns 1 if it has values; 0 if it has none, or is of another column; -1 if it does not say. */
static int
footer_widen(const struct footer_chunk *chunk, int any, int64_t *least, int64_t *most)
{
    if (!chunk->is || chunk->values == chunk->missing)
        return 0;
    if (chunk->least.end - chunk->least.at != 8 || chunk->most.end - chunk->most.at != 8)
        return -1;
    const int64_t low = footer_eight(chunk->least.at), high = footer_eight(chunk->most.at);
    *least = any && *least < low ? *least : low;
    *most = any && *most > high ? *most : high;
    return 1;
}

/* The same by a row group. */
static int
footer_group_range(struct footer_cursor *c, const char *column, int any, int64_t *least, int64_t *most)
{
    int field = 0, type = 0, inner = 0, result = 0;
    while ((field = footer_field(c, field, &type))) {
        if (field != GROUP_COLUMNS || type != SQT_THRIFT_LIST) {
            footer_skip(c, type, SQT_THRIFT_DEPTH);
            continue;
        }
        for (uint64_t count = footer_list(c, &inner); count && !c->bad; --count) {
            struct footer_chunk chunk = {0};
            int part = 0, kind = 0;
            while ((part = footer_field(c, part, &kind))) {
                if (part == CHUNK_METADATA && kind == SQT_THRIFT_STRUCT)
                    footer_metadata(c, column, &chunk);
                else
                    footer_skip(c, kind, SQT_THRIFT_DEPTH);
            }
            if (chunk.is)
                result = footer_widen(&chunk, any, least, most);
        }
    }
    return result;
}

int
sqt_footer_range(const struct sqt_footer *f, const char *column, int64_t *least, int64_t *most)
{
    struct footer_cursor c = {f->groups.at, f->groups.at + f->groups.size, 0, 0};
    int any = 0;
    for (uint64_t i = 0; i < f->groups.count; ++i) {
        const int got = footer_group_range(&c, column, any, least, most);
        if (got < 0 || c.bad)
            return -1;
        any |= got;
    }
    return any ? 0 : -1;
}

/* ---- putting together ---- */

static int
footer_same(const struct sqt_footer_span *one, const struct sqt_footer_span *other)
{
    return one->count == other->count && one->size == other->size && memcmp(one->at, other->at, one->size) == 0;
}

int
sqt_footer_same_columns(const struct sqt_footer *one, const struct sqt_footer *other)
{
    return footer_same(&one->schema, &other->schema) && footer_same(&one->orders, &other->orders);
}

/* Where a structure stands in the metadata of a row group. */
enum footer_place { PLACE_GROUP, PLACE_CHUNK, PLACE_METADATA };

static int
footer_is_offset(enum footer_place place, int field)
{
    return place == PLACE_GROUP   ? field == GROUP_OFFSET
           : place == PLACE_CHUNK ? field == CHUNK_OFFSET
                                  : field == META_DATA_PAGE || field == META_INDEX_PAGE || field == META_DICTIONARY;
}

static void footer_move(struct footer_cursor *c, struct sqt_thrift *t, enum footer_place place, int64_t shift);

static void
footer_move_columns(struct footer_cursor *c, struct sqt_thrift *t, int64_t shift) /* NOLINT(misc-no-recursion) */
{
    int type = 0;
    uint64_t count = footer_list(c, &type);
    sqt_thrift_list(t, GROUP_COLUMNS, SQT_THRIFT_STRUCT, count);
    for (; count && !c->bad; --count) {
        sqt_thrift_begin(t);
        footer_move(c, t, PLACE_CHUNK, shift);
        sqt_thrift_end(t);
    }
}

/* Copies a field as it is. */
static void
footer_copy(struct footer_cursor *c, struct sqt_thrift *t, int field, int type)
{
    const uint8_t *const begin = c->at;
    footer_skip(c, type, SQT_THRIFT_DEPTH);
    sqt_thrift_raw(t, field, type, begin, (size_t)(c->at - begin));
}

/* Copies the fields of a structure.  Offsets move.  Recursion ends after three places. */
static void
footer_move(struct footer_cursor *c, struct sqt_thrift *t, enum footer_place place, /* NOLINT(misc-no-recursion) */
            int64_t shift)
{
    int field = 0, type = 0;
    while ((field = footer_field(c, field, &type))) {
        if (type == SQT_THRIFT_I64 && footer_is_offset(place, field)) {
            const int64_t offset = footer_number(c);
            c->bad |= offset < MAGIC_SIZE || (uint64_t)offset >= c->groups_end;
            sqt_thrift_number(t, field, SQT_THRIFT_I64, c->bad ? 0 : offset + shift);
        } else if (place == PLACE_GROUP && field == GROUP_COLUMNS && type == SQT_THRIFT_LIST) {
            footer_move_columns(c, t, shift);
        } else if (place == PLACE_CHUNK && field == CHUNK_METADATA && type == SQT_THRIFT_STRUCT) {
            sqt_thrift_struct(t, field);
            footer_move(c, t, PLACE_METADATA, shift);
            sqt_thrift_end(t);
        } else {
            footer_copy(c, t, field, type);
        }
    }
}

int
sqt_footer_put_groups(const struct sqt_footer *f, int64_t shift, struct sqt_bytes *to)
{
    struct footer_cursor c = {f->groups.at, f->groups.at + f->groups.size, 0, f->groups_end};
    struct sqt_thrift t = {.to = to};
    for (uint64_t i = 0; i < f->groups.count; ++i) {
        sqt_thrift_begin(&t);
        footer_move(&c, &t, PLACE_GROUP, shift);
        sqt_thrift_end(&t);
    }
    return c.bad ? -1 : 0;
}

static void
footer_put_note(struct sqt_thrift *t, const void *key, size_t key_size, const void *text, size_t size)
{
    sqt_thrift_begin(t);
    sqt_thrift_binary(t, 1, key, key_size);
    sqt_thrift_binary(t, 2, text, size);
    sqt_thrift_end(t);
}

static void
footer_put_notes(const struct sqt_footer *f, struct sqt_thrift *t, const char *own, const char *own_text)
{
    struct footer_cursor c = {f->notes.at, f->notes.at + f->notes.size, 0, 0}, key, text;
    struct sqt_bytes notes = {0};
    struct sqt_thrift list = {.to = &notes};
    size_t count = 1;
    footer_put_note(&list, own, strlen(own), own_text, strlen(own_text));
    for (uint64_t i = 0; i < f->notes.count; ++i) {
        footer_next_note(&c, &key, &text);
        if (footer_is(&key, own))
            continue;
        footer_put_note(&list, key.at, (size_t)(key.end - key.at), text.at, (size_t)(text.end - text.at));
        ++count;
    }
    sqt_thrift_list(t, FILE_NOTES, SQT_THRIFT_STRUCT, count);
    sqt_bytes_put(t->to, notes.data, notes.used);
    sqt_bytes_free(&notes);
}

void
sqt_footer_put(const struct sqt_footer *like, const struct sqt_bytes *groups, uint64_t group_count, uint64_t rows,
               const char *key, const char *text, struct sqt_bytes *to)
{
    struct sqt_thrift t = {.to = to};
    const size_t before = to->used;
    sqt_thrift_begin(&t);
    sqt_thrift_number(&t, 1, SQT_THRIFT_I32, 2);
    sqt_thrift_list(&t, FILE_SCHEMA, SQT_THRIFT_STRUCT, like->schema.count);
    sqt_bytes_put(to, like->schema.at, like->schema.size);
    sqt_thrift_number(&t, FILE_ROWS, SQT_THRIFT_I64, (int64_t)rows);
    sqt_thrift_list(&t, FILE_GROUPS, SQT_THRIFT_STRUCT, group_count);
    sqt_bytes_put(to, groups->data, groups->used);
    footer_put_notes(like, &t, key, text);
    sqt_thrift_text(&t, 6, "sqtrace-ship " PACKAGE_VERSION);
    sqt_thrift_list(&t, FILE_ORDERS, SQT_THRIFT_STRUCT, like->orders.count);
    sqt_bytes_put(to, like->orders.at, like->orders.size);
    sqt_thrift_end(&t);
    sqt_bytes_four(to, (uint32_t)(to->used - before));
    sqt_bytes_put(to, MAGIC, MAGIC_SIZE);
}
