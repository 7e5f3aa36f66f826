/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * recode.c - packs and compresses the records of a segment again, block by block, as a flusher does.
 *
 * usage: recode SEGMENT zstd|zlib|off [ROUNDS [OUT]]
 *
 * The records are kept in one piece of memory, as large as a default ring at least, so that each round meets them as a
 * flusher meets its ring: long out of the caches.  Printed: processor time of packing and of compression, each the
 * median of the rounds, and bytes a record.  It fails if the records of a block, packed, differ from what the segment
 * has.  OUT: the segment with these blocks, for a reader to be measured with.
 */
#include <fcntl.h>
#include <string.h>

#include "../../src/read/file/block.h"
#include "../../src/read/file/segment.h"
#include "../unit/make_trace.h"
#include "measure.h"

#define ROUNDS_MAX 1000

struct block {
    struct sqt_frame frame;
    struct sqt_block head;
    struct sqt_record *records;
    uint8_t *packed; /* as the segment has them */
};

static struct {
    struct sqt_segment_header header;
    struct sqt_dictionary dictionary;
    struct make_bytes others; /* frames before the first block that are none */
    struct block *blocks;
    size_t count;
    uint64_t records;
} trace;

static void
die(const char *what)
{
    fprintf(stderr, "recode: %s\n", what);
    exit(1);
}

static void *
more(size_t size)
{
    void *const memory = malloc(size);
    if (!memory)
        die("no memory");
    return memory;
}

static void
report(void *context, enum sqt_severity severity, const char *text)
{
    (void)context;
    (void)severity;
    fprintf(stderr, "recode: %s\n", text);
}

/* Keeps the records of the frame that was taken. */
static void
keep_block(const struct sqt_segment *s, struct sqt_unpacker *unpacker)
{
    trace.blocks = realloc(trace.blocks, (trace.count + 1) * sizeof(*trace.blocks));
    struct block *const b = trace.blocks ? &trace.blocks[trace.count++] : NULL;
    if (!b || sqt_block_head(&s->frame, s->payload, s->header.identity.ring_id, &b->head))
        die("a block that is none");
    b->frame = s->frame;
    b->records = more(b->head.count * sizeof(*b->records));
    b->packed = more(b->head.packed_size);
    const char *const wrong =
        sqt_block_unpack(unpacker, &trace.dictionary.pack, &s->frame, s->payload, &b->head, b->records);
    if (wrong)
        die(wrong);
    const int compressed = s->frame.flags & (SQT_FRAME_ZLIB | SQT_FRAME_ZSTD);
    memcpy(b->packed, compressed ? unpacker->packed : s->payload + sizeof(b->head), b->head.packed_size);
    trace.records += b->head.count;
}

static void
read_segment(const char *name)
{
    struct sqt_diagnostics diagnostics = {report, NULL, 0, 0};
    struct sqt_unpacker unpacker = {0};
    struct sqt_segment s;
    struct sqt_input input;
    size_t got;
    int damaged = 0;
    sqt_input_init(&input, open(name, O_RDONLY), 1, UINT64_MAX);
    const uint8_t *const bytes = sqt_input_at(&input, 0, sizeof(trace.header), &got);
    if (!bytes || sqt_segment_header_check(bytes, got, name, 0, &diagnostics, &trace.header) != SQT_HEADER_GOOD)
        die("not a segment");
    sqt_segment_begin(&s, input, 0, name, &trace.header, &diagnostics);
    sqt_dictionary_init(&trace.dictionary);
    while (sqt_segment_next(&s, &damaged)) {
        if (s.frame.type == SQT_FRAME_BLOCK) {
            keep_block(&s, &unpacker);
            continue;
        }
        if (s.frame.type == SQT_FRAME_TEXT)
            sqt_dictionary_take(&trace.dictionary, (const char *)s.payload, s.frame.size);
        make_frame(&trace.others, s.frame.type, s.frame.flags, s.payload, s.frame.size);
    }
    if (damaged || !trace.count)
        die("damaged, or empty");
    sqt_segment_leave(&s);
    sqt_unpacker_free(&unpacker);
}

/* ns of processor a record of packing and of compressing all blocks once, and bytes a record of both */
static void
measure_round(enum sqt_compression compression, double *pack_ns, double *compress_ns, double *packed_bytes,
              double *bytes)
{
    static struct sqt_compressor compressor;
    static uint8_t *packed, *data;
    const size_t bound = sqt_pack_bound(SQT_BLOCK_RECORDS), room = sqt_compress_bound(bound);
    if (!packed) {
        packed = more(bound);
        data = more(room);
    }
    uint64_t pack = 0, compress = 0, raw = 0, size = 0;
    for (const struct block *b = trace.blocks; b < trace.blocks + trace.count; ++b) {
        const uint64_t begin = measure_cpu();
        const size_t n = sqt_pack(&trace.dictionary.pack, b->records, b->head.count, packed);
        const uint64_t between = measure_cpu();
        const size_t small = sqt_compress(&compressor, compression, packed, n, data, room);
        compress += measure_cpu() - between;
        pack += between - begin;
        raw += n;
        size += small ? small : n;
        if (n != b->head.packed_size || memcmp(packed, b->packed, n) != 0)
            die("records of a block are packed otherwise than in the segment");
    }
    *pack_ns = (double)pack / (double)trace.records;
    *compress_ns = (double)compress / (double)trace.records;
    *packed_bytes = (double)raw / (double)trace.records;
    *bytes = (double)size / (double)trace.records;
}

static void
write_segment(const char *name, enum sqt_compression compression)
{
    struct make_bytes out = {0};
    struct sqt_identity *const who = &trace.header.identity;
    const unsigned flags = compression == SQT_COMPRESSION_ZSTD   ? MAKE_ZSTD
                           : compression == SQT_COMPRESSION_ZLIB ? MAKE_ZLIB
                                                                 : 0;
    make_header_for(&out, who, trace.header.sequence, flags);
    make_append(&out, trace.others.data, trace.others.size);
    for (const struct block *b = trace.blocks; b < trace.blocks + trace.count; ++b)
        make_block_with(&out, who, b->head.first, b->records, b->head.count, flags, b->frame.flags & SQT_FRAME_SUSPECT,
                        &b->head.from, &b->head.to, &trace.dictionary.pack);
    make_file(name, &out);
    make_free(&out);
}

static enum sqt_compression
compression_of(const char *name)
{
    for (unsigned c = SQT_COMPRESSION_OFF; sqt_compression_is_known(c); ++c)
        if (strcmp(name, sqt_compression_name(c)) == 0)
            return c;
    die("unknown compression");
    return SQT_COMPRESSION_OFF;
}

int
main(int argc, char **argv)
{
    static double pack[ROUNDS_MAX], compress[ROUNDS_MAX];
    double packed_bytes = 0, bytes = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: recode SEGMENT zstd|zlib|off [ROUNDS [OUT]]\n");
        return 2;
    }
    const enum sqt_compression compression = compression_of(argv[2]);
    const unsigned rounds = argc > 3 && atoi(argv[3]) < ROUNDS_MAX ? (unsigned)atoi(argv[3]) : 11;
    read_segment(argv[1]);
    for (unsigned i = 0; i < rounds; ++i)
        measure_round(compression, &pack[i], &compress[i], &packed_bytes, &bytes);
    measure_print("records", (double)trace.records, "");
    if (rounds) {
        measure_print("pack", measure_median(pack, rounds), "ns/record");
        measure_print("compress", measure_median(compress, rounds), "ns/record");
        measure_print("packed", packed_bytes, "bytes/record");
        measure_print("compressed", bytes, "bytes/record");
    }
    if (argc > 4)
        write_segment(argv[4], compression);
    return 0;
}
