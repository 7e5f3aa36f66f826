/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_golden.c - makes the traces of this directory that are not recorded from a Squid.
 *
 *     make_golden DIRECTORY
 *
 * They are kept, not made anew at each test: a reader of today must read what was written before.  Run it by hand when
 * a trace is added; then `read_golden print TRACE > TRACE.txt`, and look at what it says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "../unit/make_trace.h"

#define RECORDS 240

static struct sqt_record records[RECORDS];
static size_t count;
static struct sqt_identity who;
static const char *directory, *definitions;

static const char *
path(const char *name)
{
    static char buf[1024];
    snprintf(buf, sizeof(buf), "%s/%s", directory, name);
    return buf;
}

static size_t
unit_at(size_t i)
{
    while (records[i].flags & SQT_FLAG_PART)
        --i;
    return i;
}

/* Header, text, blocks of 30 records, totals.  block2: offset of the third block. */
static struct make_bytes
whole(unsigned flags, const char *text, size_t *block2)
{
    struct make_bytes b = {NULL, 0, 0};
    const struct sqt_totals totals = {.head = count, .clean = 1};
    const size_t cut = unit_at(60);
    make_header_for(&b, &who, 0, flags);
    make_text(&b, text);
    make_blocks(&b, &who, 0, records, cut, 30, flags);
    *block2 = b.size;
    make_blocks(&b, &who, cut, records + cut, count - cut, 30, flags);
    make_end(&b, &who, &totals);
    return b;
}

static void
keep(const char *name, struct make_bytes *b)
{
    make_file(path(name), b);
    make_free(b);
}

static void
seal_header(struct make_bytes *b)
{
    struct sqt_segment_header *const h = (struct sqt_segment_header *)b->data;
    h->crc = 0;
    h->crc = (uint32_t)crc32(0, b->data, sizeof(*h));
}

static void
make_damaged(void)
{
    size_t block2;
    struct make_bytes b = whole(0, definitions, &block2);
    b.size = block2 + 77;
    keep("truncated.sqt", &b);

    b = whole(MAKE_ZLIB, definitions, &block2);
    b.data[block2 + 150] ^= 0x40;
    keep("flipped.sqt", &b);

    b = whole(0, definitions, &block2);
    b.data[90] ^= 0x04;
    keep("flipped-header.sqt", &b);

    b = whole(0, definitions, &block2);
    b.size = block2;
    keep("growing.sqt", &b);

    memset(&b, 0, sizeof(b));
    keep("empty.sqt", &b);
}

static void
make_foreign(void)
{
    size_t block2;
    struct make_bytes b = {NULL, 0, 0};
    static const char line[] = "1753000000.123    462 127.0.0.1 TCP_HIT/200 10486356 GET - HIER_NONE/- text/plain\n";
    make_append(&b, line, sizeof(line) - 1);
    keep("text.sqt", &b);

    make_append(&b, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
    keep("gzip.sqt", &b);

    b = whole(0, definitions, &block2);
    ((struct sqt_segment_header *)b.data)->version = 2;
    seal_header(&b);
    keep("newer.sqt", &b);

    b = whole(0, definitions, &block2);
    ((struct sqt_segment_header *)b.data)->incompatible = 8; /* a bit that has no meaning yet */
    seal_header(&b);
    keep("newer-features.sqt", &b);
}

/* A later program's trace: its own numbers, two events and a kind that today's does not know, lines of a new sort. */
static void
make_future(void)
{
    static const char text[] = "event\t1\tXACT_BEGIN\tclient\txact\tconn\tnone\tsomething more\n"
                               "event\t2\tQUIC_STREAM\tquic\tstream\tbytes\tpriority\n"
                               "event\t3\tXACT_NAMED\tclient\txact\txact\tmethod\n"
                               "event\t4\tQUIC_PUSH\tquic\txact\tstream\tnone\n"
                               "def\t2\t1\tTCP_HIT\n"
                               "def\t41\t7\ta kind of definition to come\n"
                               "colour\tblue\n";
    struct make_bytes b = {NULL, 0, 0};
    struct sqt_pack_table table;
    struct sqt_record r[40];
    const struct sqt_totals totals = {.head = 40, .clean = 1};
    memset(&table, 0, sizeof(table));
    memset(r, 0, sizeof(r));
    for (unsigned i = 1; i <= 4; ++i)
        table.id[i] = table.arg[i] = table.aux[i] = sqt_pack_slot(SQT_PREDICT_EVENT, 0, i);
    table.id[1] = table.id[3] = table.id[4] = table.arg[3] = sqt_pack_slot(SQT_PREDICT_KIND, SQT_KIND_XACT, 0);
    table.arg[1] = sqt_pack_slot(SQT_PREDICT_KIND, SQT_KIND_CONN, 1);
    for (unsigned i = 0; i < 40; ++i) {
        r[i].time = MAKE_START + 3000 * i;
        r[i].event = (uint16_t)(1 + i % 4);
        r[i].id = 10 + i / 4;
        r[i].arg = 1000 - i;
        r[i].aux = i % 4 == 1 ? 7 * i : 0;
    }
    const struct sqt_anchor from = make_anchor(&who, r[0].time), to = make_anchor(&who, r[39].time);
    make_header(&b, &who, 0);
    make_frame(&b, SQT_FRAME_TEXT, 0, text, sizeof(text) - 1);
    make_frame(&b, 12, 3, "a frame to come", 15);
    make_block_with(&b, &who, 0, r, 40, 0, 0, &from, &to, &table);
    make_end(&b, &who, &totals);
    keep("future.sqt", &b);
}

static void
make_directories(void)
{
    const size_t cut = unit_at(40), again = unit_at(80);
    struct sqt_identity other;
    mkdir(path("gap"), 0755);
    make_segment_file(path("gap/a.sqt"), &who, 0, 0, records, cut, definitions, MAKE_ZLIB);
    make_segment_file(path("gap/c.sqt"), &who, 2, again, records + again, count - again, definitions, MAKE_ZLIB);
    mkdir(path("kids"), 0755);
    make_identity(&other, 2, 2);
    make_segment_file(path("kids/2.sqt"), &other, 0, 0, records, cut, definitions, MAKE_ZLIB);
    make_segment_file(path("kids/1-a.sqt"), &who, 0, 0, records, cut, definitions, MAKE_ZLIB);
    make_segment_file(path("kids/1-b.sqt"), &who, 1, unit_at(30), records + unit_at(30), count - unit_at(30),
                      definitions, MAKE_ZLIB);
    mkdir(path("none"), 0755);
    struct make_bytes b = {NULL, 0, 0};
    make_append(&b, "no trace is kept here\n", 22);
    keep("none/README", &b);
}

/* A writer that was killed: losses open, and half a record where the next one was to stand. */
static void
make_left_over(void)
{
    struct sqt_ring_writer writer = {.lost = 9, .marks = 1, .episodes = 2};
    const size_t tail = unit_at(20), head = unit_at(100);
    writer.loss[0].at = head;
    writer.loss[0].from = records[head - 1].time + 500;
    writer.loss[0].base = 5;
    memset(&records[head], 0xee, 20);
    make_ring_file(path("died.ring"), &who, 128, 0, tail, records, head, definitions, &writer);
    FILE *const f = fopen(path("died.ring"), "r+b");
    struct sqt_ring_header h;
    if (!f || fread(&h, sizeof(h), 1, f) != 1 || fseek(f, (long)(h.records_offset + head * 32), SEEK_SET) != 0 ||
        fwrite(&records[head], 32, 1, f) != 1 || fclose(f) != 0)
        exit(1);
}

int
main(int argc, char **argv)
{
    struct make_traffic traffic;
    struct make_bytes b;
    size_t block2;
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    definitions = make_traffic_texts();
    make_traffic_init(&traffic, 42);
    traffic.at_a_time = 1; /* so that some requests are whole */
    count = make_traffic_records(&traffic, records, RECORDS);
    make_identity(&who, 1, 1);
    b = whole(0, definitions, &block2);
    keep("good.sqt", &b);
    b = whole(MAKE_ZLIB, definitions, &block2);
    keep("good-zlib.sqt", &b);
    b = whole(MAKE_ZSTD, definitions, &block2);
    keep("good-zstd.sqt", &b);
    make_damaged();
    make_foreign();
    make_future();
    make_directories();
    make_left_over();
    return 0;
}
