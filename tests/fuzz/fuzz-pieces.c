/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-pieces.c - see fuzz.h.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "read/file/block.h"

/* Most bytes that a block is unpacked to when it is changed. */
#define COMPRESSED (SQT_FRAME_ZLIB | SQT_FRAME_ZSTD)

/* ---- cutting and joining ---- */

static void
add(struct fuzz_pieces *p, enum fuzz_kind kind, const uint8_t *data, size_t size)
{
    struct fuzz_piece *const piece = &p->piece[p->count++];
    memset(piece, 0, sizeof(*piece));
    piece->kind = kind;
    make_append(&piece->bytes, data, size);
}

/* The size of the piece that begins here; 0 if none does. */
static size_t
piece_at(const uint8_t *data, size_t size, enum fuzz_kind *kind)
{
    struct sqt_frame frame;
    if (*data != *SQT_SEGMENT_MAGIC) /* with which all magics begin */
        return 0;
    if (size >= SQT_RING_HEADER && memcmp(data, SQT_RING_MAGIC, 8) == 0) {
        const uint8_t *const next = memmem(data + 8, size - 8, SQT_SEGMENT_MAGIC, 8);
        *kind = FUZZ_RING;
        return next ? (size_t)(next - data) : size;
    }
    if (size >= sizeof(struct sqt_segment_header) && memcmp(data, SQT_SEGMENT_MAGIC, 8) == 0) {
        *kind = FUZZ_HEADER;
        return sizeof(struct sqt_segment_header);
    }
    if (size < sizeof(frame))
        return 0;
    memcpy(&frame, data, sizeof(frame));
    *kind = FUZZ_FRAME;
    return frame.magic == SQT_FRAME_MAGIC && frame.size <= size - sizeof(frame) ? sizeof(frame) + frame.size : 0;
}

void
fuzz_pieces_parse(struct fuzz_pieces *p, const uint8_t *data, size_t size)
{
    size_t raw = 0, at = 0;
    p->count = 0;
    while (at < size && p->count + 3 < FUZZ_PIECES) {
        enum fuzz_kind kind;
        const size_t length = piece_at(data + at, size - at, &kind);
        if (!length) {
            ++at;
            continue;
        }
        if (raw < at)
            add(p, FUZZ_RAW, data + raw, at - raw);
        add(p, kind, data + at, length);
        raw = at += length;
    }
    if (raw < size)
        add(p, FUZZ_RAW, data + raw, size - raw);
}

void
fuzz_pieces_free(struct fuzz_pieces *p)
{
    while (p->count)
        make_free(&p->piece[--p->count].bytes);
}

void
fuzz_pieces_join(const struct fuzz_pieces *p, struct make_bytes *bytes)
{
    for (size_t i = 0; i < p->count; ++i)
        make_append(bytes, p->piece[i].bytes.data, p->piece[i].bytes.size);
}

void
fuzz_pieces_remove(struct fuzz_pieces *p, size_t at)
{
    if (at >= p->count)
        return;
    make_free(&p->piece[at].bytes);
    memmove(&p->piece[at], &p->piece[at + 1], (--p->count - at) * sizeof(p->piece[0]));
}

void
fuzz_pieces_insert(struct fuzz_pieces *p, size_t at, const struct fuzz_piece *copied)
{
    struct fuzz_piece piece = {.kind = copied->kind};
    if (at > p->count || p->count == FUZZ_PIECES)
        return;
    make_append(&piece.bytes, copied->bytes.data, copied->bytes.size);
    memmove(&p->piece[at + 1], &p->piece[at], (p->count++ - at) * sizeof(p->piece[0]));
    p->piece[at] = piece;
}

void
fuzz_pieces_swap(struct fuzz_pieces *p, size_t a, size_t b)
{
    if (a >= p->count || b >= p->count)
        return;
    const struct fuzz_piece piece = p->piece[a];
    p->piece[a] = p->piece[b];
    p->piece[b] = piece;
}

unsigned
fuzz_frame_type(const struct fuzz_piece *piece)
{
    struct sqt_frame frame;
    if (piece->kind != FUZZ_FRAME || piece->bytes.size < sizeof(frame))
        return 0;
    memcpy(&frame, piece->bytes.data, sizeof(frame));
    return frame.type;
}

/* ---- sizes and checksums ---- */

static void
seal_header(struct make_bytes *b)
{
    struct sqt_segment_header h;
    memcpy(&h, b->data, sizeof(h));
    h.crc = 0;
    h.crc = (uint32_t)crc32(0, (const Bytef *)&h, sizeof(h));
    memcpy(b->data, &h, sizeof(h));
}

static void
seal_frame(struct make_bytes *b)
{
    struct sqt_frame f;
    memcpy(&f, b->data, sizeof(f));
    f.magic = SQT_FRAME_MAGIC;
    f.size = (uint32_t)(b->size - sizeof(f));
    f.crc = 0;
    f.crc = (uint32_t)crc32(crc32(0, (const Bytef *)&f, sizeof(f)), b->data + sizeof(f), f.size);
    memcpy(b->data, &f, sizeof(f));
}

/* Gives blocks and totals the ring id of their segment, and blocks numbers that follow each other. */
static void
renumber_frame(struct fuzz_piece *piece, const uint8_t *ring_id, uint64_t *next)
{
    uint8_t *const payload = piece->bytes.data + sizeof(struct sqt_frame);
    const size_t size = piece->bytes.size - sizeof(struct sqt_frame);
    const unsigned type = fuzz_frame_type(piece);
    struct sqt_block block;
    if (type == SQT_FRAME_BLOCK && size >= sizeof(block)) {
        memcpy(&block, payload, sizeof(block));
        memcpy(block.ring_id, ring_id, sizeof(block.ring_id));
        if (*next != UINT64_MAX)
            block.first = *next;
        *next = block.first + block.count;
        memcpy(payload, &block, sizeof(block));
    } else if (type == SQT_FRAME_END && size >= sizeof(struct sqt_totals))
        memcpy(payload, ring_id, sizeof(block.ring_id));
}

void
fuzz_pieces_seal(struct fuzz_pieces *p, int renumber)
{
    const struct fuzz_piece *header = NULL;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < p->count; ++i) {
        struct fuzz_piece *const piece = &p->piece[i];
        if (piece->kind == FUZZ_HEADER && piece->bytes.size >= sizeof(struct sqt_segment_header)) {
            seal_header(&piece->bytes);
            header = piece;
            next = UINT64_MAX;
        } else if (piece->kind == FUZZ_FRAME && piece->bytes.size >= sizeof(struct sqt_frame)) {
            if (header && renumber)
                renumber_frame(piece,
                               header->bytes.data + offsetof(struct sqt_segment_header, identity) +
                                   offsetof(struct sqt_identity, ring_id),
                               &next);
            seal_frame(&piece->bytes);
        }
    }
}

/* ---- blocks ---- */

/* What the texts before a piece declare.  Returns the last of them, NULL if there is none. */
static struct fuzz_piece *
declared(const struct fuzz_pieces *p, size_t at, struct sqt_dictionary *d)
{
    struct fuzz_piece *last = NULL;
    sqt_dictionary_init(d);
    for (size_t i = 0; i < at; ++i) {
        const struct fuzz_piece *const piece = &p->piece[i];
        if (fuzz_frame_type(piece) != SQT_FRAME_TEXT)
            continue;
        sqt_dictionary_take(d, (const char *)piece->bytes.data + sizeof(struct sqt_frame),
                            piece->bytes.size - sizeof(struct sqt_frame));
        last = (struct fuzz_piece *)(uintptr_t)piece;
    }
    if (!d->events)
        sqt_dictionary_assume(d);
    return last;
}

static struct make_bytes
decompressed(enum sqt_compression compression, const uint8_t *data, size_t size, size_t whole)
{
    struct sqt_decompressor d = {NULL, NULL};
    struct make_bytes b = {malloc(whole ? whole : 1), 0, whole};
    if (b.data && !sqt_decompress(&d, compression, data, size, b.data, whole))
        b.size = whole;
    sqt_decompressor_free(&d);
    return b;
}

size_t
fuzz_block_unpack(const struct fuzz_pieces *p, size_t at, struct sqt_record *records)
{
    const struct fuzz_piece *const piece = &p->piece[at];
    const uint8_t *const payload = piece->bytes.data + sizeof(struct sqt_frame);
    struct sqt_frame frame;
    struct sqt_block block;
    struct sqt_dictionary d;
    if (fuzz_frame_type(piece) != SQT_FRAME_BLOCK || piece->bytes.size < sizeof(frame) + sizeof(block))
        return 0;
    memcpy(&frame, piece->bytes.data, sizeof(frame));
    memcpy(&block, payload, sizeof(block));
    if (!block.count || block.count > FUZZ_RECORDS)
        return 0;
    const size_t size = piece->bytes.size - sizeof(frame) - sizeof(block);
    struct make_bytes packed = {NULL, 0, 0};
    if ((frame.flags & COMPRESSED) && block.packed_size <= sqt_pack_bound(block.count))
        packed = decompressed(frame.flags & SQT_FRAME_ZSTD ? SQT_COMPRESSION_ZSTD : SQT_COMPRESSION_ZLIB,
                              payload + sizeof(block), size, block.packed_size);
    else
        make_append(&packed, payload + sizeof(block), size);
    declared(p, at, &d);
    const int wrong = sqt_unpack(&d.pack, packed.data, packed.size, block.time_first, records, block.count) != 0;
    sqt_dictionary_free(&d);
    make_free(&packed);
    return wrong ? 0 : block.count;
}

/* The line of the table of events that declares it. */
static void
append_declaration(struct make_bytes *text, unsigned event)
{
    static char all[32768];
    char head[32];
    if (!all[0])
        sqt_events_text(all, sizeof(all));
    const int length = snprintf(head, sizeof(head), "event\t%u\t", event);
    for (const char *line = all; *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, head, (size_t)length) == 0)
            make_append(text, line, (size_t)(strchr(line, '\n') + 1 - line));
}

static void
declare_missing(struct fuzz_pieces *p, size_t at, const struct sqt_record *records, size_t count,
                struct sqt_dictionary *d)
{
    struct fuzz_piece *const text = declared(p, at, d);
    uint8_t seen[256] = {0};
    if (!text || d->assumed)
        return;
    for (size_t i = 0; i < count; ++i) {
        const unsigned event = records[i].event & 255u;
        if (event && event < SQT_EVENTS && !d->event[event] && !seen[event])
            append_declaration(&text->bytes, event);
        seen[event] = 1;
    }
    sqt_dictionary_free(d);
    declared(p, at, d);
}

/* Appends the packed bytes, compressed if that makes them fewer.  Returns the frame's flag. */
static unsigned
append_compressed(struct make_bytes *to, enum sqt_compression compression, const uint8_t *packed, size_t size)
{
    struct sqt_compressor c = {NULL, NULL};
    const size_t room = sqt_compress_bound(size);
    uint8_t *const compressed = malloc(room);
    if (!compressed)
        abort();
    const size_t used = sqt_compress(&c, compression, packed, size, compressed, room);
    make_append(to, used ? compressed : packed, used ? used : size);
    free(compressed);
    sqt_compressor_free(&c);
    return !used ? 0 : compression == SQT_COMPRESSION_ZSTD ? SQT_FRAME_ZSTD : SQT_FRAME_ZLIB;
}

void
fuzz_block_pack(struct fuzz_pieces *p, size_t at, const struct sqt_record *records, size_t count,
                enum sqt_compression compression)
{
    struct fuzz_piece *const piece = &p->piece[at];
    struct sqt_frame frame;
    struct sqt_block block;
    struct sqt_dictionary d;
    memcpy(&frame, piece->bytes.data, sizeof(frame));
    memcpy(&block, piece->bytes.data + sizeof(frame), sizeof(block));
    declare_missing(p, at, records, count, &d);
    uint8_t *const packed = malloc(sqt_pack_bound(count));
    if (!packed)
        abort();
    block.count = (uint32_t)count;
    block.packed_size = (uint32_t)sqt_pack(&d.pack, records, count, packed);
    block.time_first = records[0].time;
    block.time_last = records[count - 1].time;
    piece->bytes.size = 0;
    make_append(&piece->bytes, &frame, sizeof(frame));
    make_append(&piece->bytes, &block, sizeof(block));
    frame.flags = (uint16_t)((frame.flags & ~COMPRESSED) |
                             append_compressed(&piece->bytes, compression, packed, block.packed_size));
    memcpy(piece->bytes.data, &frame, sizeof(frame));
    free(packed);
    sqt_dictionary_free(&d);
}
