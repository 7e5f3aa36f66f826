/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_fuzz.c - the reader against bytes that nobody wrote.
 *
 *     read_fuzz FILE...                          reads each file once
 *     read_fuzz --runs=N [--seed=S] [FILE...]    reads N mutations of the files, or of traces made here
 *
 * Whatever the bytes are, the stream must end, touch no memory that is not its own (build with --enable-sanitizers),
 * and keep its promises: time does not go back, no unit is split, a run is never empty.
 *
 * With clang, -fsanitize=fuzzer and -DSQT_LIBFUZZER this is a libFuzzer target.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "../../src/read/crew.h"
#include "../../src/read/stream.h"
#include "../unit/make_trace.h"

static void
broken(const char *promise)
{
    fprintf(stderr, "read_fuzz: broken promise: %s\n", promise);
    abort();
}

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity;
    if (strchr(text, '\n') || strlen(text) < 8)
        broken("a message is one line");
}

static struct sqt_crew *crew;

static void
read_one(const char *path)
{
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, hear, NULL);
    struct sqt_run run;
    int64_t before = INT64_MIN;
    struct sqt_extent extent;
    if (!stream)
        return;
    sqt_stream_extent(stream, &extent);
    if (!crew)
        crew = sqt_crew_new(1);
    sqt_stream_share(stream, crew);
    while (sqt_stream_next(stream, &run)) {
        if (run.count == 0)
            broken("a run has records");
        if (run.records[0].flags & SQT_FLAG_PART)
            broken("a unit is whole");
        for (size_t i = 0; i < run.count; ++i) {
            const int64_t ns = sqt_line_ns(&run.line, run.records[i].time);
            if (ns < before)
                broken("time does not go back");
            before = ns;
            if (!sqt_origin_event_name(run.origin, run.records[i].event))
                broken("an event has a name");
            sqt_origin_text(run.origin, run.records[i].aux, (uint32_t)run.records[i].id);
        }
    }
    sqt_stream_close(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    const int fd = memfd_create("read_fuzz", MFD_CLOEXEC);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) {
        perror("read_fuzz");
        exit(2);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    read_one(path);
    close(fd);
    return 0;
}

#ifndef SQT_LIBFUZZER

static uint64_t state = 1;

static uint64_t
below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return limit ? state % limit : 0;
}

/* Makes the checksums right again, so that what is behind them is reached too. */
static void
seal(struct make_bytes *b)
{
    struct sqt_segment_header h;
    struct sqt_frame f;
    if (b->size < sizeof(h) || memcmp(b->data, SQT_SEGMENT_MAGIC, 8) != 0)
        return;
    memcpy(&h, b->data, sizeof(h));
    h.crc = 0;
    h.crc = (uint32_t)crc32(0, (const Bytef *)&h, sizeof(h));
    memcpy(b->data, &h, sizeof(h));
    for (size_t at = sizeof(h); at + sizeof(f) <= b->size; at += sizeof(f) + f.size) {
        memcpy(&f, b->data + at, sizeof(f));
        if (f.size > b->size - at - sizeof(f))
            return;
        f.magic = SQT_FRAME_MAGIC;
        f.crc = 0;
        f.crc = (uint32_t)crc32(crc32(0, (const Bytef *)&f, sizeof(f)), b->data + at + sizeof(f), f.size);
        memcpy(b->data + at, &f, sizeof(f));
    }
}

static void
mutate(struct make_bytes *b)
{
    static const uint64_t edges[] = {0, 1, 7, 8, 255, 4096, 65535, 65536, 0x7fffffff, 0x80000000, UINT32_MAX,
                                     INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (uint64_t n = 1 + below(4); n && b->size; --n) {
        const size_t at = below(2) ? below(b->size) : below(b->size < 700 ? b->size : 700);
        const size_t rest = b->size - at;
        switch (below(8)) {
        case 0: case 1:
            b->data[at] ^= (uint8_t)(1u << below(8));
            break;
        case 2:
            b->data[at] = (uint8_t)below(256);
            break;
        case 3: case 4: {
            const size_t width = (size_t)1 << below(4);
            const size_t aligned = at & ~(width - 1);
            const uint64_t value = edges[below(sizeof(edges) / sizeof(edges[0]))];
            if (aligned + width <= b->size)
                memcpy(b->data + aligned, &value, width);
            break;
        }
        case 5:
            if (below(4) == 0)
                b->size = at;
            break;
        case 6: { /* a stretch stands elsewhere too */
            const size_t from = below(b->size), most = b->size - from < rest ? b->size - from : rest;
            memmove(b->data + at, b->data + from, below(most + 1));
            break;
        }
        default: { /* a stretch is gone */
            const size_t size = below(rest < 300 ? rest : 300);
            memmove(b->data + at, b->data + at + size, rest - size);
            b->size -= size;
        }
        }
    }
    if (below(3))
        seal(b);
}

static struct make_bytes
load(const char *path)
{
    struct make_bytes b = {NULL, 0, 0};
    uint8_t piece[65536];
    size_t n;
    FILE *const f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "read_fuzz: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        make_append(&b, piece, n);
    fclose(f);
    return b;
}

#define MADE 8
#define RECORDS 6000 /* of the large ones, whose blocks are read ahead */

/* Traces of each kind, most of them small. */
static void
make_seeds(struct make_bytes *seeds)
{
    char path[] = "/tmp/sqtrace-fuzz-XXXXXX";
    static struct sqt_record records[RECORDS];
    struct make_traffic traffic;
    struct sqt_identity who;
    const struct sqt_totals totals = {.head = 300, .lost = 5, .lost_open = 5, .lost_from = MAKE_START};
    const int fd = mkstemp(path);
    if (fd < 0) {
        perror("read_fuzz");
        exit(2);
    }
    close(fd);
    make_identity(&who, 1, 1);
    for (unsigned i = 0; i < MADE; ++i) {
        const int large = i == 4 || i == 5;
        make_traffic_init(&traffic, 1);
        const size_t n = make_traffic_records(&traffic, records, large ? RECORDS : 300);
        if (i < 6) {
            make_header(&seeds[i], &who, i % 2);
            make_text(&seeds[i], "def\t2\t1\tTCP_HIT\ndef\t1\t0\tufs /a\\tb\n");
            make_blocks(&seeds[i], &who, i % 2 ? 7 : 0, records, n, large ? RECORDS / 4 : 100,
                        i < 2 || i == 4 ? MAKE_ZLIB : 0);
            make_end(&seeds[i], &who, &totals);
        } else {
            make_ring_file(path, &who, 512, i == 6 ? 0 : 1000, i == 6 ? 0 : 1000, records, n,
                           "def\t2\t1\tTCP_HIT\n", NULL);
            seeds[i] = load(path);
        }
    }
    unlink(path);
}

int
main(int argc, char **argv)
{
    uint64_t runs = 0;
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; ++i)
        if (strncmp(argv[i], "--runs=", 7) == 0)
            runs = strtoull(argv[i] + 7, NULL, 10);
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            state = strtoull(argv[i] + 7, NULL, 10) * 2 + 1;
        else {
            fprintf(stderr, "usage: read_fuzz [--runs=N] [--seed=S] [FILE...]\n");
            return 2;
        }
    const size_t files = (size_t)(argc - i), count = files ? files : MADE;
    struct make_bytes *const seeds = calloc(count, sizeof(*seeds));
    struct make_bytes one = {NULL, 0, 0};
    if (!seeds)
        return 2;
    if (!files)
        make_seeds(seeds);
    for (size_t k = 0; k < files; ++k)
        seeds[k] = load(argv[i + (int)k]);
    for (size_t k = 0; k < count; ++k)
        LLVMFuzzerTestOneInput(seeds[k].data, seeds[k].size);
    for (uint64_t run = 0; run < runs; ++run) {
        const struct make_bytes *const seed = &seeds[run % count];
        one.size = 0;
        make_append(&one, seed->data, seed->size);
        mutate(&one);
        if (getenv("READ_FUZZ_KEEP")) /* the last one read is the one that failed */
            make_file(getenv("READ_FUZZ_KEEP"), &one);
        LLVMFuzzerTestOneInput(one.data, one.size);
    }
    for (size_t k = 0; k < count; ++k)
        make_free(&seeds[k]);
    make_free(&one);
    free(seeds);
    printf("read_fuzz: %zu traces and %" PRIu64 " mutations read\n", count, runs);
    return 0;
}

#endif
