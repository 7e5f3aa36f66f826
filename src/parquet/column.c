/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * column.c - see column.h.
 */
#include "column.h"

#include "codec.h"
#include "hybrid.h"

/* A page ends when its values have so many bytes before compression. */
#define PAGE_BYTES ((size_t)256 << 10)
/* Statistics hold no longer texts: readers keep them in memory. */
#define STATISTICS_BYTES 256

/* Numbers of Parquet. */
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

int64_t
sqt_parquet_column_value(struct sqt_parquet_column *c, const struct sqt_parquet_field *field, const union sqt_cell *row)
{
    const union sqt_cell cell = row[field->cell];
    if (!field->text && field->scale && (cell.number >= SQT_DECIMAL_LIMIT || cell.number <= -SQT_DECIMAL_LIMIT))
        return SQT_CELL_MISSING;
    if (!field->text)
        return cell.number;
    return cell.text ? (int64_t)sqt_texts_number(&c->texts, cell.text) : SQT_CELL_MISSING;
}

/* ---- pages ---- */

/* Appends a header, and the page behind it, compressed. */
static void
column_put_page(struct sqt_parquet_column *c, struct sqt_bytes *to, int type, size_t values, int encoding,
                const struct sqt_bytes *plain, void **codec)
{
    struct sqt_bytes packed = {0}, header = {0};
    struct sqt_thrift thrift = {.to = &header};
    sqt_codec_put(codec, &packed, plain->data, plain->used);
    sqt_thrift_begin(&thrift);
    sqt_thrift_number(&thrift, 1, SQT_THRIFT_I32, type);
    sqt_thrift_number(&thrift, 2, SQT_THRIFT_I32, (int64_t)plain->used);
    sqt_thrift_number(&thrift, 3, SQT_THRIFT_I32, (int64_t)packed.used);
    sqt_thrift_struct(&thrift, type == PAGE_DATA ? 5 : 7);
    sqt_thrift_number(&thrift, 1, SQT_THRIFT_I32, (int64_t)values);
    sqt_thrift_number(&thrift, 2, SQT_THRIFT_I32, encoding);
    if (type == PAGE_DATA) {
        sqt_thrift_number(&thrift, 3, SQT_THRIFT_I32, ENCODING_RLE); /* of levels */
        sqt_thrift_number(&thrift, 4, SQT_THRIFT_I32, ENCODING_RLE);
    }
    sqt_thrift_end(&thrift);
    sqt_thrift_end(&thrift);
    sqt_bytes_put(to, header.data, header.used);
    sqt_bytes_put(to, packed.data, packed.used);
    c->plain_size += header.used + plain->used;
    sqt_bytes_free(&packed);
    sqt_bytes_free(&header);
}

/* Appends the indices of texts, behind the number of bits of each. */
static void
column_put_indices(struct sqt_parquet_column *c, struct sqt_bytes *to)
{
    unsigned width = 1;
    while (c->texts.count > 1u << width)
        ++width;
    sqt_bytes_byte(to, width);
    sqt_hybrid_numbers(to, (const uint16_t *)(const void *)c->indices.data, c->page_values, width);
}

/* Ends the page being made. */
static void
column_end_page(struct sqt_parquet_column *c, const struct sqt_parquet_field *field, void **codec)
{
    struct sqt_bytes plain = {0};
    int encoding = ENCODING_PLAIN; /* nothing is there to be encoded */
    if (!c->page_rows)
        return;
    sqt_bytes_four(&plain, 0);
    sqt_hybrid_bits(&plain, c->levels.data, c->page_rows);
    const uint32_t levels = (uint32_t)plain.used - 4;
    for (unsigned i = 0; i < 4; ++i)
        plain.data[i] = (uint8_t)(levels >> 8 * i);
    if (c->page_values && field->text) {
        encoding = ENCODING_DICTIONARY;
        column_put_indices(c, &plain);
    } else if (c->page_values) {
        encoding = ENCODING_DELTA;
        sqt_delta_finish(&c->numbers, &plain);
    }
    *(c->page_values ? &c->coded : &c->empty) = 1;
    column_put_page(c, &c->pages, PAGE_DATA, c->page_rows, encoding, &plain, codec);
    sqt_bytes_free(&plain);
    c->levels.used = c->indices.used = 0;
    c->page_rows = c->page_values = 0;
}

/* ---- values ---- */

/* Keeps the values that are not missing, and notes which those are.  Returns how many. */
static unsigned
column_present(struct sqt_parquet_column *c, const struct sqt_parquet_field *field, const int64_t *values,
               unsigned count, int64_t *present)
{
    uint8_t *const levels = sqt_bytes_room(&c->levels, SQT_COLUMN_ROWS / 8);
    const int always = field->type == SQT_TYPE_RAW && !field->text;
    unsigned kept = 0;
    memset(levels, 0, SQT_COLUMN_ROWS / 8);
    for (unsigned i = 0; i < count; ++i) {
        const unsigned is = always || values[i] != SQT_CELL_MISSING;
        present[kept] = values[i];
        levels[i / 8] |= (uint8_t)(is << i % 8);
        kept += is;
    }
    c->levels.used += (count + 7) / 8;
    return kept;
}

static void
column_take_indices(struct sqt_parquet_column *c, const int64_t *present, unsigned kept)
{
    uint16_t indices[SQT_COLUMN_ROWS];
    for (unsigned i = 0; i < kept; ++i)
        indices[i] = (uint16_t)present[i];
    sqt_bytes_put(&c->indices, indices, kept * sizeof(*indices));
}

static void
column_take_numbers(struct sqt_parquet_column *c, const int64_t *present, unsigned kept)
{
    if (!c->values)
        c->least = c->most = present[0];
    for (unsigned i = 0; i < kept; ++i) {
        c->least = present[i] < c->least ? present[i] : c->least;
        c->most = present[i] > c->most ? present[i] : c->most;
    }
    sqt_delta_add(&c->numbers, present, kept);
}

void
sqt_parquet_column_take(struct sqt_parquet_column *c, const struct sqt_parquet_field *field, const int64_t *values,
                        unsigned count, void **codec)
{
    int64_t present[SQT_COLUMN_ROWS];
    const unsigned kept = column_present(c, field, values, count, present);
    if (kept && field->text)
        column_take_indices(c, present, kept);
    else if (kept)
        column_take_numbers(c, present, kept);
    c->page_rows += count;
    c->page_values += kept;
    c->rows += count;
    c->values += kept;
    const size_t size = c->levels.used + c->indices.used + c->numbers.blocks.used;
    if (size >= PAGE_BYTES)
        column_end_page(c, field, codec);
}

/* ---- the chunk ---- */

static void
column_put_statistics(const struct sqt_parquet_column *c, const struct sqt_parquet_field *field, struct sqt_thrift *t)
{
    const void *least = &c->least, *most = &c->most;
    size_t least_size = sizeof(c->least), most_size = sizeof(c->most);
    sqt_thrift_struct(t, 12);
    sqt_thrift_number(t, 3, SQT_THRIFT_I64, (int64_t)(c->rows - c->values));
    if (c->values && field->text) {
        least = sqt_texts_plain(&c->texts, c->texts.least, &least_size);
        most = sqt_texts_plain(&c->texts, c->texts.most, &most_size);
    }
    if (c->values && least_size <= STATISTICS_BYTES && most_size <= STATISTICS_BYTES) {
        sqt_thrift_binary(t, 5, most, most_size);
        sqt_thrift_binary(t, 6, least, least_size);
    }
    sqt_thrift_end(t);
}

/* dictionary: bytes before the first page of data, 0: there is no dictionary */
static void
column_put_metadata(const struct sqt_parquet_column *c, const struct sqt_parquet_field *field, size_t dictionary,
                    size_t size, uint64_t offset, struct sqt_thrift *t)
{
    sqt_thrift_begin(t);
    sqt_thrift_number(t, 2, SQT_THRIFT_I64, (int64_t)offset);
    sqt_thrift_struct(t, 3);
    sqt_thrift_number(t, 1, SQT_THRIFT_I32, field->text ? TYPE_BYTE_ARRAY : TYPE_INT64);
    sqt_thrift_list(t, 2, SQT_THRIFT_I32, 1 + (size_t)c->coded + (dictionary || c->empty));
    sqt_thrift_element(t, ENCODING_RLE);
    if (c->coded)
        sqt_thrift_element(t, field->text ? ENCODING_DICTIONARY : ENCODING_DELTA);
    if (dictionary || c->empty)
        sqt_thrift_element(t, ENCODING_PLAIN);
    sqt_thrift_list(t, 3, SQT_THRIFT_BINARY, 1);
    sqt_thrift_text_element(t, field->name);
    sqt_thrift_number(t, 4, SQT_THRIFT_I32, sqt_codec());
    sqt_thrift_number(t, 5, SQT_THRIFT_I64, (int64_t)c->rows);
    sqt_thrift_number(t, 6, SQT_THRIFT_I64, (int64_t)c->plain_size);
    sqt_thrift_number(t, 7, SQT_THRIFT_I64, (int64_t)size);
    sqt_thrift_number(t, 9, SQT_THRIFT_I64, (int64_t)(offset + dictionary));
    if (dictionary)
        sqt_thrift_number(t, 11, SQT_THRIFT_I64, (int64_t)offset);
    column_put_statistics(c, field, t);
    sqt_thrift_end(t);
    sqt_thrift_end(t);
}

void
sqt_parquet_column_finish(struct sqt_parquet_column *c, const struct sqt_parquet_field *field, struct sqt_bytes *to,
                          uint64_t offset, struct sqt_thrift *metadata, size_t *plain_size, void **codec)
{
    const size_t before = to->used;
    column_end_page(c, field, codec);
    if (c->texts.count)
        column_put_page(c, to, PAGE_DICTIONARY, c->texts.count, ENCODING_PLAIN, &c->texts.plain, codec);
    const size_t dictionary = to->used - before;
    sqt_bytes_put(to, c->pages.data, c->pages.used);
    column_put_metadata(c, field, dictionary, to->used - before, offset, metadata);
    *plain_size += c->plain_size;
    sqt_parquet_column_free(c);
}

size_t
sqt_parquet_column_size(const struct sqt_parquet_column *c)
{
    return c->levels.room + c->numbers.blocks.room + c->indices.room + c->pages.room + sqt_texts_size(&c->texts);
}

void
sqt_parquet_column_free(struct sqt_parquet_column *c)
{
    sqt_bytes_free(&c->levels);
    sqt_bytes_free(&c->numbers.blocks);
    sqt_bytes_free(&c->indices);
    sqt_bytes_free(&c->pages);
    sqt_texts_free(&c->texts);
    memset(c, 0, sizeof(*c));
}
