/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * many-records.c - writes a segment of as many records as asked for, like a busy proxy's, for reading benchmarks.
 *
 * usage: many-records FILE RECORDS [zstd|zlib|off [HOST NUMBER]]
 *
 * HOST is the trace's host=.  Each NUMBER has other requests, and a ring of its own; it is 1 if none is given.
 */
#include "../unit/make_trace.h"

#include <stdlib.h>
#include <string.h>

static struct sqt_record records[SQT_BLOCK_RECORDS];

static unsigned
compression(int argc, char **argv)
{
    if (argc < 4 || strcmp(argv[3], "zstd") == 0)
        return MAKE_ZSTD;
    return strcmp(argv[3], "zlib") == 0 ? MAKE_ZLIB : 0;
}

/* Makes room for the next piece by writing what is there. */
static int
spill(struct make_bytes *bytes, FILE *out)
{
    const int ok = fwrite(bytes->data, 1, bytes->size, out) == bytes->size;
    bytes->size = 0;
    return ok;
}

int
main(int argc, char **argv)
{
    if (argc < 3 || argc == 5) {
        fprintf(stderr, "usage: many-records FILE RECORDS [zstd|zlib|off [HOST NUMBER]]\n");
        return 2;
    }
    const uint64_t wanted = strtoull(argv[2], NULL, 10);
    const unsigned flags = compression(argc, argv), number = argc < 6 ? 1 : (unsigned)strtoul(argv[5], NULL, 10);
    FILE *const out = fopen(argv[1], "wb");
    if (!out) {
        perror(argv[1]);
        return 1;
    }
    struct sqt_identity who;
    struct make_bytes bytes = {0};
    struct make_traffic traffic;
    make_identity(&who, number, 0);
    make_traffic_init(&traffic, number);
    make_header_for(&bytes, &who, 0, MAKE_ZSTD);
    make_text(&bytes, make_traffic_texts());
    if (argc > 5) {
        char text[300];
        snprintf(text, sizeof(text), "def\t%d\t0\t%s\n", SQT_DEF_HOST, argv[4]);
        make_text(&bytes, text);
    }
    int ok = 1;
    uint64_t made = 0;
    while (ok && made < wanted) {
        const size_t n = make_traffic_records(&traffic, records, SQT_BLOCK_RECORDS);
        make_block(&bytes, &who, made, records, n, flags);
        made += n;
        ok = spill(&bytes, out);
    }
    struct sqt_totals totals;
    memset(&totals, 0, sizeof(totals));
    totals.head = made;
    totals.clean = 1;
    make_end(&bytes, &who, &totals);
    ok = spill(&bytes, out) && ok;
    make_free(&bytes);
    if (fclose(out) != 0 || !ok) {
        perror(argv[1]);
        return 1;
    }
    printf("%llu\n", (unsigned long long)made);
    return 0;
}
