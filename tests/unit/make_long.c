/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_long.c - writes a trace in which much stays open for all of its time, for windows.py and benchmarks.
 *
 * usage: make_long FILE RECORDS [BLOCK]
 *
 * Beside the traffic of a busy proxy, from the first block to the last one:
 *   - IDLE client connections.  Half of them have had a request.  In each block one of them has its next request.
 *   - a tunnel, and a download with records in each block
 *   - a second tunnel and a second download, from the middle of the trace on
 *
 * A block has BLOCK records, or a little less.
 */
#include <stdlib.h>
#include <string.h>

#include "format/events.h"
#include "make_trace.h"
#include "traffic-internal.h"

#define IDLE 2000u
#define OPEN_MOST (IDLE * 16u) /* records */
#define PIECES 3u              /* of a download, in a block */

static struct sqt_record records[SQT_BLOCK_RECORDS];

struct long_trace {
    struct sqt_identity who;
    struct make_traffic traffic;
    struct make_bytes bytes;
    uint64_t head, last, blocks, wanted;
    uint64_t downloads[2], tunnels[2]; /* ids of transactions; 0: not yet */
    size_t count;                      /* of records */
};

static void
long_add(struct long_trace *t, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    records[t->count++] =
        (struct sqt_record){.time = t->last, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
}

static void
long_unit(struct long_trace *t, unsigned n)
{
    make_unit(records + t->count - n, n);
}

static void
long_accept(struct long_trace *t, uint64_t conn)
{
    long_add(t, SQT_EV_CONN_ACCEPT, conn, 12, 3128);
    long_add(t, SQT_EV_PART_LISTENER, 0, conn % 7, TRAFFIC_HTTP_PORT);
    long_unit(t, 2);
}

/* Returns the transaction. */
static uint64_t
long_begin(struct long_trace *t, uint64_t conn, uint32_t method)
{
    const uint64_t xact = ++t->traffic.xact;
    long_add(t, SQT_EV_CLIENT_READ, conn, 120, 0);
    long_add(t, SQT_EV_REQUEST_PARSED, conn, 120, 0);
    long_add(t, SQT_EV_XACT_BEGIN, SQT_UNNAMED | xact, conn, 0);
    long_add(t, SQT_EV_XACT_NAMED, xact, SQT_UNNAMED | xact, method);
    return xact;
}

static void
long_end(struct long_trace *t, uint64_t xact, uint64_t conn, uint32_t tag, uint32_t flags)
{
    long_add(t, SQT_EV_XACT_END, xact, tag, 200);
    long_add(t, SQT_EV_PART_XACT_SIZES, 100, 400, 0);
    long_add(t, SQT_EV_PART_XACT_FLAGS, xact, conn, flags);
    long_unit(t, 3);
}

static void
long_request(struct long_trace *t, uint64_t conn)
{
    const uint64_t xact = long_begin(t, conn, 1);
    long_add(t, SQT_EV_MEM_HIT, xact, 100, 0);
    long_add(t, SQT_EV_REPLY_WRITE, xact, 400, 1);
    long_add(t, SQT_EV_REPLY_WRITTEN, xact, 400, 0);
    long_end(t, xact, conn, TRAFFIC_mem_hit, 0);
}

/* A tunnel and a download, on connections of their own. */
static void
long_open(struct long_trace *t, unsigned which)
{
    const uint64_t conn = IDLE + 1 + 2 * which;
    long_accept(t, conn);
    t->tunnels[which] = long_begin(t, conn, 2);
    long_add(t, SQT_EV_TUNNEL_BEGIN, t->tunnels[which], 0, 0);
    long_accept(t, conn + 1);
    t->downloads[which] = long_begin(t, conn + 1, 1);
}

static void
long_pieces(struct long_trace *t, uint64_t xact)
{
    for (unsigned i = 0; xact && i < PIECES; ++i) {
        long_add(t, SQT_EV_SERVER_READ, xact, 65536, 0);
        long_add(t, SQT_EV_REPLY_WRITE, xact, 65536, 0);
        long_add(t, SQT_EV_REPLY_WRITTEN, xact, 65536, 0);
    }
}

static void
long_close(struct long_trace *t, unsigned which)
{
    const uint64_t conn = IDLE + 1 + 2 * which;
    long_add(t, SQT_EV_TUNNEL_END, t->tunnels[which], 0, 0);
    long_end(t, t->tunnels[which], conn, TRAFFIC_tunnel, SQT_XACT_TUNNEL);
    long_end(t, t->downloads[which], conn + 1, TRAFFIC_miss, 0);
}

static void
long_write(struct long_trace *t)
{
    make_block(&t->bytes, &t->who, t->head, records, t->count, MAKE_ZSTD);
    t->head += t->count;
    t->last = records[t->count - 1].time;
    t->count = 0;
    ++t->blocks;
}

static void
long_first(struct long_trace *t)
{
    for (unsigned i = 1; i <= IDLE; ++i) {
        long_accept(t, i);
        if (i % 2)
            long_request(t, i);
    }
    long_open(t, 0);
    long_write(t);
}

static void
long_block(struct long_trace *t, size_t room)
{
    if (!t->tunnels[1] && t->head >= t->wanted / 2)
        long_open(t, 1);
    long_pieces(t, t->downloads[0]);
    long_pieces(t, t->downloads[1]);
    long_request(t, 1 + t->blocks % IDLE);
    t->count += make_traffic_records(&t->traffic, records + t->count, room - t->count);
    long_write(t);
}

static void
long_spill(struct long_trace *t, FILE *out)
{
    if (fwrite(t->bytes.data, 1, t->bytes.size, out) != t->bytes.size) {
        perror("make_long");
        exit(1);
    }
    t->bytes.size = 0;
}

static void
long_make(struct long_trace *t, size_t room, FILE *out)
{
    const uint64_t above = IDLE + 4; /* numbers of connections */
    make_identity(&t->who, 1, 1);
    make_traffic_init(&t->traffic, 1);
    t->traffic.conn += above;
    t->last = MAKE_START;
    make_header_for(&t->bytes, &t->who, 0, MAKE_ZSTD);
    make_text(&t->bytes, make_traffic_texts());
    long_first(t);
    while (t->head < t->wanted) {
        long_block(t, room);
        long_spill(t, out);
    }
    for (unsigned i = 0; i < 2; ++i)
        if (t->tunnels[i])
            long_close(t, i);
    long_write(t);
    struct sqt_totals totals = {.head = t->head, .clean = 1};
    make_end(&t->bytes, &t->who, &totals);
    long_spill(t, out);
    make_free(&t->bytes);
}

int
main(int argc, char **argv)
{
    static struct long_trace t;
    const size_t room = argc == 4 ? strtoul(argv[3], NULL, 10) : SQT_BLOCK_RECORDS;
    _Static_assert(OPEN_MOST <= SQT_BLOCK_RECORDS, "what is open first fits into one block");
    if ((argc != 3 && argc != 4) || room < 1000 || room > SQT_BLOCK_RECORDS) {
        fputs("usage: make_long FILE RECORDS [BLOCK]\n", stderr);
        return 2;
    }
    FILE *const out = fopen(argv[1], "wb");
    if (!out) {
        perror(argv[1]);
        return 1;
    }
    t.wanted = strtoull(argv[2], NULL, 10);
    long_make(&t, room, out);
    if (fclose(out) != 0) {
        perror(argv[1]);
        return 1;
    }
    return 0;
}
