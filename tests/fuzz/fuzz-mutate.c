/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-mutate.c - mutations that keep the shape of an input: the words, segments, frames, records.
 *
 * Sizes and checksums are right after each of them, so that what was changed is looked at; now and then one is left
 * wrong, as damage on a disk leaves it.
 */
#include "fuzz.h"

#include <string.h>

/* Inputs that are smaller than this do not grow beyond it, and larger ones do not grow: small ones are fast. */
#define GROWN 8192

struct mutation {
    struct fuzz_random random;
    char line[FUZZ_LINE + 1];
    struct fuzz_pieces pieces;
};

static uint64_t
below(struct mutation *m, uint64_t limit)
{
    return fuzz_below(&m->random, limit);
}

/* Mostly one, so that inputs stay small. */
static enum sqt_compression
any_compression(struct mutation *m)
{
    static const enum sqt_compression some[] = {SQT_COMPRESSION_ZLIB, SQT_COMPRESSION_ZSTD, SQT_COMPRESSION_ZLIB,
                                                SQT_COMPRESSION_OFF};
    const enum sqt_compression compression = some[below(m, 4)];
    return sqt_compression_is_known(compression) ? compression : SQT_COMPRESSION_ZLIB;
}

/* ---- the input apart, and joined ---- */

static int
open_input(struct mutation *m, const uint8_t *data, size_t size, uint64_t seed)
{
    struct fuzz_input input;
    fuzz_random_init(&m->random, seed);
    m->pieces.count = 0;
    if (fuzz_input_parse(&input, data, size) != 0)
        return -1;
    const size_t length = (size_t)(input.body - data) - 1;
    memcpy(m->line, data, length);
    m->line[length] = '\0';
    fuzz_pieces_parse(&m->pieces, input.body, input.body_size);
    return 0;
}

/* Writes the input; pieces that have no room are left out.  Returns its size. */
static size_t
close_input(struct mutation *m, uint8_t *data, size_t room)
{
    size_t size = strlen(m->line);
    if (size + 1 > room)
        size = 0;
    memcpy(data, m->line, size);
    data[size++] = '\n';
    for (size_t i = 0; i < m->pieces.count; ++i) {
        const struct make_bytes *const b = &m->pieces.piece[i].bytes;
        if (b->size > room - size)
            continue;
        memcpy(data + size, b->data, b->size);
        size += b->size;
    }
    fuzz_pieces_free(&m->pieces);
    return size;
}

/* ---- changes of pieces ---- */

/* A number of the payload, at a place of its size as a rule, gets another value. */
static void
change_number(struct mutation *m, uint8_t *data, size_t size)
{
    const size_t width = (size_t)2 << below(m, 3);
    uint64_t number = fuzz_edge(&m->random);
    if (size < width)
        return;
    const size_t at = below(m, size - width + 1) & ~(below(m, 8) ? width - 1 : 0);
    if (below(m, 4) == 0) {
        memcpy(&number, data + at, width);
        number += below(m, 5) - 2;
    }
    memcpy(data + at, &number, width);
}

/* The bytes after `skip`, as libFuzzer changes them. */
static void
change_bytes(struct make_bytes *b, size_t skip)
{
    static const uint8_t room[512];
    if (b->size < skip)
        return;
    const size_t size = b->size;
    make_append(b, room, sizeof(room));
    b->size = skip + LLVMFuzzerMutate(b->data + skip, size - skip, b->size - skip);
}

static void
change_text(struct mutation *m, struct make_bytes *b)
{
    static const char *const texts[] = {"ufs /cache",
                                        "aufs /a",
                                        "diskd /d",
                                        "rock /r",
                                        "TCP_HIT",
                                        "TCP_MISS",
                                        "GET",
                                        "CONNECT",
                                        "direct",
                                        "parent",
                                        "read",
                                        "open-write",
                                        "epoll_wait",
                                        "main",
                                        "process cpu_user_us",
                                        "machine cpu_idle_ms",
                                        "disk vda reads",
                                        "disk vda busy_ms",
                                        "cache_dir 0 bytes",
                                        "squid memory_bytes",
                                        "\\t\\n\\\\"};
    char line[128];
    if (below(m, 3) == 0) {
        change_bytes(b, sizeof(struct sqt_frame));
        return;
    }
    const int n =
        snprintf(line, sizeof(line), "def\t%llu\t%llu\t%s\n", (unsigned long long)(1 + below(m, SQT_DEF_KINDS)),
                 (unsigned long long)below(m, 12), texts[below(m, sizeof(texts) / sizeof(*texts))]);
    make_append(b, line, (size_t)n);
}

static void
change_records(struct mutation *m, size_t at)
{
    static struct sqt_record records[FUZZ_RECORDS + SQT_UNIT_MAX];
    const size_t count = fuzz_block_unpack(&m->pieces, at, records);
    if (count)
        fuzz_block_pack(&m->pieces, at, records, fuzz_records_mutate(records, count, &m->random), any_compression(m));
    else
        change_number(m, m->pieces.piece[at].bytes.data, m->pieces.piece[at].bytes.size);
}

static void
change_frame(struct mutation *m, size_t at)
{
    struct make_bytes *const b = &m->pieces.piece[at].bytes;
    const unsigned type = fuzz_frame_type(&m->pieces.piece[at]);
    if (type == SQT_FRAME_TEXT && below(m, 8))
        change_text(m, b);
    else if (type == SQT_FRAME_BLOCK && below(m, 8))
        change_records(m, at);
    else if (below(m, 4) == 0) { /* type, flags */
        const size_t field = offsetof(struct sqt_frame, type) + below(m, 4);
        b->data[field] = (uint8_t)below(m, below(m, 2) ? 4 : 256);
    } else if (b->size > sizeof(struct sqt_frame) + sizeof(struct sqt_block) && below(m, 4))
        change_number(m, b->data + sizeof(struct sqt_frame), sizeof(struct sqt_block));
    else
        change_number(m, b->data + sizeof(struct sqt_frame), b->size - sizeof(struct sqt_frame));
}

static void
change_ring(struct mutation *m, struct make_bytes *b)
{
    static const size_t areas[] = {0, offsetof(struct sqt_ring_header, writer),
                                   offsetof(struct sqt_ring_header, flusher), SQT_RING_HEADER};
    const size_t from = areas[below(m, 4)];
    if (from >= b->size)
        return;
    const size_t size = b->size - from;
    change_number(m, b->data + from, from < SQT_RING_HEADER && size > 160 ? 160 : size);
}

static void
change_piece(struct mutation *m)
{
    /* Most of what a trace says is in its blocks. */
    size_t at = below(m, m->pieces.count);
    for (unsigned tries = 0; tries < 8 && fuzz_frame_type(&m->pieces.piece[at]) != SQT_FRAME_BLOCK; ++tries)
        at = below(m, 4) ? below(m, m->pieces.count) : at;
    struct fuzz_piece *const piece = &m->pieces.piece[at];
    switch (piece->kind) {
    case FUZZ_FRAME:
        change_frame(m, at);
        break;
    case FUZZ_HEADER:
        change_number(m, piece->bytes.data + 8, piece->bytes.size - 8);
        break;
    case FUZZ_RING:
        change_ring(m, &piece->bytes);
        break;
    default:
        change_bytes(&piece->bytes, 0);
    }
}

static void
move_pieces(struct mutation *m)
{
    const size_t at = below(m, m->pieces.count);
    switch (below(m, 4)) {
    case 0:
        fuzz_pieces_remove(&m->pieces, at);
        break;
    case 1: {
        struct fuzz_piece copy = m->pieces.piece[at];
        fuzz_pieces_insert(&m->pieces, below(m, m->pieces.count + 1), &copy);
        break;
    }
    default:
        fuzz_pieces_swap(&m->pieces, at, below(m, m->pieces.count));
    }
}

/* Damage: one byte, after sizes and checksums were made right. */
static void
damage(struct mutation *m)
{
    struct make_bytes *const b = m->pieces.count ? &m->pieces.piece[below(m, m->pieces.count)].bytes : NULL;
    if (!b || !b->size)
        return;
    if (below(m, 2))
        b->data[below(m, b->size)] ^= (uint8_t)(1u << below(m, 8));
    else
        b->size = below(m, b->size);
}

/* ---- the functions of libFuzzer ---- */

static size_t
room_of(size_t size, size_t max_size)
{
    const size_t room = size > GROWN ? size : GROWN;
    return room < max_size ? room : max_size;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static struct mutation m;
    if (open_input(&m, data, size, seed) != 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (uint64_t n = 1 + below(&m, 3); n; --n) {
        const uint64_t what = below(&m, 10);
        if (what < 3 || !m.pieces.count)
            fuzz_words_mutate(m.line, &m.random);
        else if (what < 4)
            move_pieces(&m);
        else
            change_piece(&m);
    }
    fuzz_pieces_seal(&m.pieces, below(&m, 8) != 0);
    if (below(&m, 16) == 0)
        damage(&m);
    return close_input(&m, data, room_of(size, max_size));
}

/* The records of two blocks, one after the other. */
static void
join_records(struct mutation *m, size_t at, const struct fuzz_pieces *other, size_t from)
{
    static struct sqt_record records[2 * FUZZ_RECORDS];
    const size_t count = fuzz_block_unpack(&m->pieces, at, records);
    const size_t more = count ? fuzz_block_unpack(other, from, records + count) : 0;
    if (!more || count + more > FUZZ_RECORDS)
        return;
    const uint64_t shift = below(m, 4) ? records[count - 1].time - records[count].time : 0;
    for (size_t i = count; i < count + more; ++i)
        records[i].time += shift;
    fuzz_block_pack(&m->pieces, at, records, count + more, any_compression(m));
}

size_t
LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                          size_t max_out_size, unsigned seed)
{
    static struct mutation m, other;
    if (open_input(&m, data1, size1, seed) != 0)
        return 0;
    if (open_input(&other, data2, size2, seed) == 0 && other.pieces.count) {
        const size_t from = below(&m, other.pieces.count), at = below(&m, m.pieces.count);
        if (below(&m, 4) == 0)
            memcpy(m.line, other.line, sizeof(m.line));
        if (m.pieces.count && fuzz_frame_type(&m.pieces.piece[at]) == SQT_FRAME_BLOCK &&
            fuzz_frame_type(&other.pieces.piece[from]) == SQT_FRAME_BLOCK)
            join_records(&m, at, &other.pieces, from);
        else
            for (size_t i = from; i < other.pieces.count && below(&m, 4); ++i)
                fuzz_pieces_insert(&m.pieces, m.pieces.count ? at + 1 + i - from : 0, &other.pieces.piece[i]);
    }
    fuzz_pieces_free(&other.pieces);
    fuzz_pieces_seal(&m.pieces, below(&m, 8) != 0);
    return close_input(&m, out, room_of(size1, max_out_size));
}
