/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_traces.c - writes the traces that the dump_*.sh tests read.
 *
 * usage: dump_traces DIRECTORY
 *   story/1.sqt   kid 1: a memory hit, a disk hit, a miss, a swap-out, a tunnel, an abort, and what is unfinished
 *   story/2.sqt   kid 2, at the same time: one transaction before a loss, one across it
 *   crossed.sqt   a transaction with two swap-ins whose blocks overlap, one whose begin is missing, and a cache_dir
 *                 with a strange name
 *   held.sqt      an event loop that computes for an ACL, is blocked in reads, does not run, and is idle
 *   context.sqt   requests whose clients name their span, and others; made of a helper and a swap-in each
 *   long.sqt      requests of twenty minutes, and long-unsampled.sqt the same of clients that do not sample them
 *   unasked.sqt   a transaction that no client asked for, of fourteen minutes
 *   busy.sqt      30,000 records of a busy proxy
 *   cut.sqt       the same, cut off in its middle
 *   foreign.sqt   no trace at all
 *   empty/        no trace in it
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make_trace.h"
#include "model/model.h"

static const char texts[] =
    "def\t1\t0\taufs /var/cache/a\ndef\t1\t1\tdiskd /var/cache/d\n"
    "def\t2\t1\tTCP_HIT\ndef\t2\t2\tTCP_MEM_HIT\ndef\t2\t3\tTCP_MISS\ndef\t2\t4\tTCP_TUNNEL\n"
    "def\t2\t5\tTCP_MISS_ABORTED\n"
    "def\t3\t1\tGET\ndef\t3\t2\tCONNECT\n"
    "def\t4\t1\tdirect\ndef\t12\t1\torigin-00000001\ndef\t12\t3\tparent\ndef\t14\t1\thttp_port 3128\n"
    "def\t6\t1\tmoon\ndef\t15\t7\tbad_sites\ndef\t17\t1\tno memory\n"
    "def\t7\t1\tscanner\ndef\t13\t100\tauth basic\ndef\t13\t101\tname_server 192.0.2.53\n";

static struct sqt_record records[512];
static unsigned count;

/* Adds a record, microseconds after the start. */
static void
put(double us, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    records[count++] = (struct sqt_record){
        .time = MAKE_START + (uint64_t)(us * 3000), .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
}

#define PUT(us, name, id, arg, aux) put(us, SQT_EV_##name, id, arg, aux)

static void
unit(unsigned n)
{
    make_unit(records + count - n, n);
}

static void
begin_xact(double us, uint64_t xact, uint64_t conn, uint32_t method)
{
    PUT(us, CLIENT_READ, conn, 120, 0);
    PUT(us + 2, REQUEST_PARSED, conn, 120, 0);
    PUT(us + 3, XACT_BEGIN, SQT_UNNAMED | xact, conn, 0);
    PUT(us + 4, XACT_NAMED, xact, SQT_UNNAMED | xact, method);
    PUT(us + 5, ACCESS_BEGIN, xact, 0, 0);
    PUT(us + 8, ACCESS_END, xact, 0, 0);
}

static void
look_up(double us, uint64_t xact, uint64_t object, uint32_t found)
{
    PUT(us, LOOKUP_BEGIN, xact, 0, 0);
    PUT(us + 1, LOOKUP_END, xact, object, found);
}

static void
reply(double us, uint64_t xact, uint64_t bytes)
{
    PUT(us, REPLY_WRITE, xact, bytes, 1);
    PUT(us + 10, REPLY_WRITTEN, xact, bytes, 0);
}

static void
end_xact(double us, uint64_t xact, uint64_t conn, uint32_t tag, uint64_t size, uint32_t tries, uint32_t flags)
{
    PUT(us, XACT_END, xact, tag, 200);
    PUT(us, PART_XACT_SIZES, size, size + 300, tries);
    PUT(us, PART_XACT_FLAGS, 0xfeed0000 + xact, conn, flags);
    unit(3);
}

static uint64_t
tick(double us)
{
    return MAKE_START + (uint64_t)(us * 3000);
}

/* A block that another thread or process moves: from 1 us to 3 us after it was asked for. */
static void
block(double us, double done, uint64_t sio, uint64_t offset, uint32_t size, unsigned ask, unsigned answer)
{
    static uint64_t operation;
    put(us, ask, sio, offset, size);
    PUT(us + 0.5, DISKOP_QUEUED, ++operation, sio, 0);
    put(done, answer, sio, offset, size);
    PUT(done, PART_DISKOP_IO, tick(us + 1), tick(us + 3), 0);
    unit(2);
    PUT(done + 0.2, DISKOP_END, operation, tick(done - 0.1), size);
}

/* What happens to connections, to helpers and to Squid itself. */
static void
lives(void)
{
    PUT(900092, CONNECT_BEGIN, 0, 15, 1);
    PUT(900092, PART_SERVER, 6, 0, 1);
    unit(2);
    PUT(900093, CONNECT_END, 0, 15, SQT_CONNECT_FAILED);
    PUT(900093, PART_CONNECT_ERROR, 40001, 0, 111);
    unit(2);
    PUT(900094, SERVER_IDLE, 11, 61000, SQT_CLOSER_SERVER);
    PUT(900094, SERVER_CLOSE, 11, 4000, 1500);
    PUT(900094, PART_TCP, 900, 2, 3);
    unit(2);
    PUT(900094, CHILD_STARTED, 77, 3, 100);
    PUT(900095, CHILD_DIED, 77, 1, 100 | SQT_CHILD_SILENT);
    PUT(900095, CHILD_DIED, 78, SQT_EXIT_SIGNAL + 9, 100);
    PUT(900095, CHILD_DIED, 79, SQT_EXIT_UNKNOWN, 100);
    PUT(900095, SERVICE_STATE, 0, 1, SQT_SERVICE_SUSPENDED);
    PUT(900096, SERVICE_STATE, 0, 1, SQT_SERVICE_UP);
    PUT(900096, PEER_PROBED, 0, 1, 113);
    PUT(900096, PEER_PROBED, 0, 1, 0);
    PUT(900097, LIST_READ, 20000, 1500000, 7);
    PUT(900097, DIR_REBUILT, 500, 120, 1);
    PUT(900098, SWAP_LOGS_WRITTEN, 400, 30000, 0);
    PUT(900098, CLIENT_RESENT, 10, 6000000, 5);
    PUT(900098, PART_CLIENT_RESENT, 17, 1400, 900);
    unit(2);
    PUT(900098, CLIENT_RESENT, 11, 400000, 2);
    PUT(900098, PART_CLIENT_RESENT, 40, 0, 900);
    unit(2);
    PUT(900098, FATAL, 0, 0, 1);
}

static void
first_kid(void)
{
    count = 0;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    PUT(1, CONN_ACCEPT, 10, 12, 3128);
    PUT(1, PART_LISTENER, 0, 20, 1);
    unit(2);
    begin_xact(5, 1, 10, 1);
    look_up(20, 1, 0x1111, 1);
    PUT(21, MEM_HIT, 1, 1000, 0);
    PUT(21, REPLY_READY, 1, 0, SQT_REPLY_STORE);
    reply(30, 1, 1300);
    end_xact(45, 1, 10, 2, 1000, 0, 0);

    begin_xact(100, 2, 10, 1);
    look_up(110, 2, 0x2222, 1);
    PUT(112, SWAPIN_OPEN, 1, 2, 1);
    PUT(112, PART_SWAP_FILE, 0x2222, 77, 0);
    unit(2);
    PUT(120, SWAPIN_OPENED, 1, 0, 0);
    block(121, 9600, 1, 0, 4096, SQT_EV_SWAPIN_READ, SQT_EV_SWAPIN_READ_DONE);
    PUT(9601, REPLY_READY, 2, 0, SQT_REPLY_STORE);
    reply(9602, 2, 4096);
    block(9615, 19100, 1, 4096, 2000, SQT_EV_SWAPIN_READ, SQT_EV_SWAPIN_READ_DONE);
    reply(19102, 2, 2000);
    PUT(19115, SWAPIN_CLOSE, 1, 0, 0);
    end_xact(19120, 2, 10, 1, 5800, 0, 0);
    PUT(19130, SWAPIN_CLOSED, 1, 0, 0);

    begin_xact(20000, 3, 10, 1);
    look_up(20010, 3, 0x3333, 0);
    PUT(20012, FORWARD_BEGIN, 3, 0, 0);
    PUT(20012, PEER_SELECT_BEGIN, 3, 0, 0);
    PUT(20013, DNS_BEGIN, 3, 1, 0);
    PUT(20500, DNS_END, 3, 1, 0);
    PUT(20501, PEER_SELECT_END, 3, 0, 1);
    PUT(20502, CONNECT_BEGIN, 3, 11, 1);
    PUT(20502, PART_SERVER, 4, 0, 1);
    unit(2);
    PUT(20800, CONNECT_END, 3, 11, SQT_CONNECT_OK);
    PUT(20801, DISPATCH, 3, 11, 1);
    PUT(20810, REQUEST_SENT, 3, 11, 0);
    PUT(170810, SERVER_READ, 3, 500, 0);
    PUT(170811, SERVER_HEADER, 3, 300, 200);
    PUT(170812, REPLY_READY, 3, 0, SQT_REPLY_SERVER);
    PUT(170815, SWAPOUT_OPEN, 2, 3, 0);
    PUT(170815, PART_SWAP_FILE, 0x3333, 78, 0);
    unit(2);
    PUT(170850, SWAPOUT_OPENED, 2, 0, 0);
    reply(170860, 3, 500);
    PUT(420810, SERVER_READ, 3, 500, 0);
    PUT(420811, SERVER_DONE, 3, 11, 0);
    PUT(420812, FORWARD_END, 3, 0, 1);
    block(420815, 420900, 2, 0, 800, SQT_EV_SWAPOUT_WRITE, SQT_EV_SWAPOUT_WRITTEN);
    reply(420901, 3, 500);
    end_xact(420920, 3, 10, 3, 700, 1, 0);
    PUT(420930, SWAPOUT_CLOSE, 2, 0, 0);
    PUT(420940, SWAPOUT_CLOSED, 2, 800, 0);

    begin_xact(500000, 4, 10, 2);
    PUT(500020, CONNECT_BEGIN, 4, 12, 1);
    PUT(500020, PART_SERVER, 0, 0, 3);
    unit(2);
    PUT(500120, CONNECT_END, 4, 12, SQT_CONNECT_OK);
    reply(500121, 4, 39);
    PUT(500132, TUNNEL_BEGIN, 4, 12, 0);
    PUT(600000, TUNNEL_END, 4, 0, 0);
    end_xact(600010, 4, 10, 4, UINT64_MAX, 1, SQT_XACT_TUNNEL);
    PUT(600020, SERVER_CLOSE, 12, 0, 0);
    PUT(600030, CONN_CLOSE, 10, 0, 0);

    begin_xact(700000, 5, 13, 1);
    PUT(700020, CONNECT_REUSED, 5, 11, 1);
    PUT(700020, PART_SERVER, 0, 0, 1);
    unit(2);
    PUT(700021, DISPATCH, 5, 11, 1);
    PUT(700030, REQUEST_SENT, 5, 11, 0);
    end_xact(800000, 5, 13, 5, UINT64_MAX, 1, SQT_XACT_ABORTED);
    begin_xact(900000, 6, 14, 1);
    PUT(900010, ACCESS_BEGIN, 6, 0, 0);
    PUT(900012, HELPER_BEGIN, 6, 1, 100);
    PUT(900040, HELPER_BEGIN, 0, 2, 100);
    PUT(900062, HELPER_END, 6, 1, SQT_WAIT_OK);
    PUT(900062, PART_HELPER, MAKE_START + UINT64_C(900022) * 3000, 2, 0);
    unit(2);
    PUT(900070, QUERY_END, 6, MAKE_START + UINT64_C(900020) * 3000, 101);
    PUT(900070, PART_QUERY, 0, 0, SQT_WAIT_TIMEOUT);
    unit(2);
    PUT(900080, ACCESS_END, 6, 0, 0);
    PUT(900081, ADAPT_BEGIN, 6, 0, 0);
    PUT(900081, ADAPT_SERVICE, 6, 1, 1);
    PUT(900085, ADAPT_ADMITTED, 6, 0, 0);
    PUT(900091, ADAPT_FAILED, 6, 0, SQT_WAIT_FAILED);
    PUT(900091, ADAPT_END, 6, 0, 0);
    lives();
    PUT(900100, WAIT_BEGIN, 0, 1000, 0);
}

static void
second_kid(void)
{
    count = 0;
    begin_xact(50000, 1, 10, 1);
    PUT(50020, REPLY_READY, 1, 0, SQT_REPLY_MADE);
    reply(50021, 1, 700);
    end_xact(50040, 1, 10, 2, 400, 0, 0);
    begin_xact(60000, 2, 10, 1);
    PUT(80000, LOST, MAKE_START + UINT64_C(70000) * 3000, 7002, SQT_LOSS_RING_FULL);
    end_xact(90000, 2, 10, 2, 400, 0, 0);
}

/* As make_segment_file, but the totals tell of the losses. */
static void
story_with_losses(const char *path, const struct sqt_identity *who)
{
    struct make_bytes bytes = {0};
    const struct sqt_totals totals = {.head = count, .lost = 7002, .marks = 1, .clean = 1};
    make_header(&bytes, who, 0);
    make_text(&bytes, texts);
    make_blocks(&bytes, who, 0, records, count, 1000, 0);
    make_end(&bytes, who, &totals);
    make_file(path, &bytes);
    make_free(&bytes);
}

static void
read_block(double begun, double done, uint64_t sio, uint64_t offset)
{
    PUT(done, SWAPIN_READ_DONE, sio, offset, 4096);
    PUT(done, PART_DISKOP_IO, tick(begun), tick(done), 0);
    unit(2);
}

static void
crossed(const char *path, const struct sqt_identity *who)
{
    static const char strange[] = "def\t1\t0\taufs /a \"b\\c\" \xc3\xa9 \xff\x01\ndef\t2\t1\tTCP_HIT\n";
    count = 0;
    end_xact(10, 77, 9, 1, 100, 0, 0);
    begin_xact(1000, 1, 10, 1);
    for (uint64_t sio = 1; sio <= 2; ++sio) {
        PUT(1020 + 20 * sio, SWAPIN_OPEN, sio, 1, 0);
        PUT(1020 + 20 * sio, PART_SWAP_FILE, 0xfeed0000, sio, 0);
        unit(2);
        PUT(1030 + 20 * sio, SWAPIN_OPENED, sio, 0, 0);
    }
    PUT(1100, SWAPIN_READ, 1, 0, 4096);
    PUT(1150, SWAPIN_READ, 2, 0, 4096);
    read_block(1200, 1250, 2, 0);
    PUT(1260, SWAPIN_READ, 2, 4096, 4096);
    read_block(1290, 1300, 1, 0);
    read_block(1270, 1400, 2, 4096);
    PUT(1450, SWAPIN_READ, 1, 4096, 4096);
    end_xact(1500, 1, 10, 1, 8000, 0, SQT_XACT_ABORTED);
    read_block(1460, 1600, 1, 4096);
    PUT(1700, SWAPIN_CLOSED, 1, 0, 0);
    PUT(1700, SWAPIN_CLOSED, 2, 0, 0);
    make_segment_file(path, who, 0, 0, records, count, strange, 0);
}

/* A request before a clock went back, one across that, and one across a change of the time of day. */
static void
stepped(const char *path, const struct sqt_identity *who)
{
    count = 0;
    begin_xact(1000, 1, 10, 1);
    end_xact(2000, 1, 10, 1, 100, 0, 0);
    begin_xact(3000, 2, 10, 1);
    PUT(4000, CLOCK_STEP, records[count - 1].time, 1000000000, SQT_STEP_BACK);
    end_xact(5000, 2, 10, 1, 100, 0, 0);
    begin_xact(6000, 3, 10, 1);
    PUT(7000, CLOCK_STEP, records[count - 1].time, 3600000000000, SQT_STEP_WALL_FORWARD);
    end_xact(8000, 3, 10, 1, 100, 0, 0);
    make_segment_file(path, who, 0, 0, records, count, texts, 0);
}

/* A sample of the main thread, in microseconds; flags: SQT_LOOP_IN_WAIT and so on. */
static void
sample(double from, double at, double ran, double queued, uint32_t flags)
{
    PUT(at + 1, LOOP_SAMPLE, tick(from), tick(at), flags & SQT_LOOP_IN_WAIT ? 0 : 1);
    PUT(at + 1, PART_LOOP_RAN, (uint64_t)(ran * 1000), (uint64_t)(queued * 1000),
        flags | (uint32_t)(at - from) << SQT_LOOP_FLAG_BITS);
}

static void
held(const char *path, const struct sqt_identity *who)
{
    static const char names[] = "def\t1\t0\tufs /c\ndef\t2\t1\tTCP_HIT\ndef\t3\t1\tGET\ndef\t5\t1\ta call\n"
                                "def\t8\t65537\tread\ndef\t15\t9\tbad_sites\n";
    count = 0;
    PUT(100, WAIT_BEGIN, 0, 1000, 0);
    PUT(10000, WAIT_END, 0, 1, 0);
    sample(0, 20000, 10000, 0, 0);
    unit(2);
    begin_xact(20100, 1, 10, 1);
    for (unsigned i = 0; i < 20; ++i) {
        sample(20000 + 20000 * i, 40000 + 20000 * i, 18000, 2000, 0);
        PUT(40001 + 20000 * i, PART_LOOP_IN, 9, 0, UINT32_MAX);
        unit(3);
    }
    for (unsigned i = 0; i < 10; ++i) {
        sample(420000 + 20000 * i, 440000 + 20000 * i, 1000, 0, 0);
        PUT(440001 + 20000 * i, PART_LOOP_HELD, 0, 0, SQT_LOOP_CALLS + 1);
        PUT(440001 + 20000 * i, PART_LOOP_IN, 0, SQT_DISK_READ, 0);
        unit(4);
    }
    end_xact(620100, 1, 10, 1, 100, 0, 0);
    PUT(630000, WAIT_BEGIN, 0, 1000, 0);
    PUT(930000, WAIT_END, 0, 1, 0);
    sample(620000, 940000, 20000, 0, 0);
    unit(2);
    sample(940000, 1240000, 50000, 50000, 0);
    PUT(1240001, PART_LOOP_HELD, 150000000, 40000000, 0);
    unit(3);
    PUT(1300000, WAIT_BEGIN, 0, 1000, 0);
    make_segment_file(path, who, 0, 0, records, count, names, 0);
}

/* The lower half of the trace id is the transaction; the parent is named by the whole range of ids. */
static void
context(double us, uint64_t xact, uint64_t parent, uint32_t flags)
{
    PUT(us, TRACE_CONTEXT, xact, parent, flags);
    PUT(us, PART_TRACE_ID, UINT64_C(0x8000000000000000), xact, 0);
    unit(2);
}

/* Helpers answer before their request is over, and swap-ins are closed after it. */
static void
contexts(const char *path, const struct sqt_identity *who)
{
    static const struct {
        uint64_t parent; /* 0: none */
        uint32_t flags;
    } of[] = {{1, 1}, {0, 0}, {UINT64_C(0x8000000000000000), 0}, {UINT64_MAX, 3}, {2, 0xff}, {0, 0}, {3, 2}};
    count = 0;
    for (unsigned i = 0; i < sizeof(of) / sizeof(*of); ++i) {
        const double us = 1000 * (i + 1);
        const uint64_t xact = i + 1;
        begin_xact(us, xact, 10, 1);
        if (of[i].parent)
            context(us + 10, xact, of[i].parent, of[i].flags);
        PUT(us + 12, HELPER_BEGIN, xact, xact, 100);
        PUT(us + 20, HELPER_END, xact, xact, 0);
        PUT(us + 20, PART_HELPER, tick(us + 13), 0, 0);
        unit(2);
        PUT(us + 30, SWAPIN_OPEN, xact, xact, 0);
        PUT(us + 30, PART_SWAP_FILE, 0xfeed0000, (uint32_t)xact, 0);
        unit(2);
        PUT(us + 40, SWAPIN_OPENED, xact, 0, 0);
        end_xact(us + 100, xact, 10, 1, 100, 0, 0);
        PUT(us + 200, SWAPIN_CLOSED, xact, 0, 0);
    }
    make_segment_file(path, who, 0, 0, records, count, texts, 0);
}

/* Requests of twenty minutes: the first goes from stage to stage, the second stays in one. */
static void
long_requests(const char *path, const struct sqt_identity *who, uint32_t flags)
{
    const double minute = 60e6;
    count = 0;
    for (unsigned xact = 1; xact <= 2; ++xact) {
        const double us = 1000 * xact;
        begin_xact(us, xact, 10 + xact, 1);
        context(us + 10, xact, xact, flags);
        PUT(us + 12, ACCESS_BEGIN, xact, 0, 0);
        PUT(us + 13, HELPER_BEGIN, xact, xact, 100);
        PUT(us + 20, HELPER_END, xact, xact, 0);
        PUT(us + 20, PART_HELPER, tick(us + 14), 0, 0);
        unit(2);
        PUT(us + 30, ACCESS_END, xact, 0, 0);
        look_up(us + 40, xact, 77, 0);
    }
    PUT(7 * minute, ACCESS_BEGIN, 1, 0, 0);
    PUT(7 * minute + 10, ACCESS_END, 1, 0, 0);
    begin_xact(14 * minute, 3, 13, 1);
    PUT(14 * minute + 20, HELPER_BEGIN, 3, 3, 100);
    PUT(14 * minute + 30, HELPER_END, 3, 3, 0);
    PUT(14 * minute + 30, PART_HELPER, tick(14 * minute + 21), 0, 0);
    unit(2);
    for (unsigned xact = 1; xact <= 3; ++xact)
        end_xact(20 * minute + xact, xact, 10 + xact, 1, 100, 0, 0);
    make_segment_file(path, who, 0, 0, records, count, texts, 0);
}

/* A transaction without a request: helpers answer it at once, seven minutes later, and seven minutes after that. */
static void
unasked(const char *path, const struct sqt_identity *who)
{
    count = 0;
    for (unsigned i = 0; i < 3; ++i) {
        const double us = 7 * 60e6 * i + 1000;
        PUT(us, HELPER_BEGIN, 9, i + 1, 100);
        PUT(us + 10, HELPER_END, 9, i + 1, 0);
        PUT(us + 10, PART_HELPER, tick(us + 1), 0, 0);
        unit(2);
    }
    make_segment_file(path, who, 0, 0, records, count, texts, 0);
}

/* Tunnels with a status of 500: the server of the first closed it, and that of the second never let it be set up. */
static void
tunnels(const char *path, const struct sqt_identity *who)
{
    count = 0;
    for (unsigned xact = 1; xact <= 2; ++xact) {
        const double us = 1000 * xact;
        begin_xact(us, xact, 10, 2);
        PUT(us + 20, CONNECT_BEGIN, xact, 12, 1);
        PUT(us + 20, PART_SERVER, 0, 0, 3);
        unit(2);
        PUT(us + 120, CONNECT_END, xact, 12, SQT_CONNECT_OK);
        if (xact == 1)
            PUT(us + 132, TUNNEL_BEGIN, xact, 12, 0);
        PUT(us + 200, XACT_END, xact, 4, 500);
        PUT(us + 200, PART_XACT_SIZES, UINT64_MAX, 300, 1);
        PUT(us + 200, PART_XACT_FLAGS, xact, 10, xact == 1 ? SQT_XACT_TUNNEL : 0);
        unit(3);
    }
    make_segment_file(path, who, 0, 0, records, count, texts, 0);
}

static void
busy(const char *path, const struct sqt_identity *who)
{
    static struct sqt_record made[30000];
    struct make_traffic traffic;
    make_traffic_init(&traffic, 7);
    const size_t n = make_traffic_records(&traffic, made, 30000);
    make_segment_file(path, who, 0, 0, made, n, make_traffic_texts(), MAKE_ZLIB);
}

int
main(int argc, char **argv)
{
    struct sqt_identity who;
    if (argc != 2 || (mkdir(argv[1], 0777), chdir(argv[1])) != 0)
        return 1;
    mkdir("story", 0777);
    mkdir("empty", 0777);
    make_identity(&who, 1, 1);
    first_kid();
    make_segment_file("story/1.sqt", &who, 0, 0, records, count, texts, MAKE_ZLIB);
    make_identity(&who, 2, 2);
    second_kid();
    story_with_losses("story/2.sqt", &who);
    make_identity(&who, 3, 0);
    crossed("crossed.sqt", &who);
    stepped("stepped.sqt", &who);
    held("held.sqt", &who);
    contexts("context.sqt", &who);
    tunnels("tunnels.sqt", &who);
    long_requests("long.sqt", &who, 1);
    long_requests("long-unsampled.sqt", &who, 0);
    unasked("unasked.sqt", &who);
    busy("busy.sqt", &who);
    busy("cut.sqt", &who);
    struct stat cut;
    if (stat("cut.sqt", &cut) != 0 || truncate("cut.sqt", cut.st_size / 2) != 0)
        return 1;
    FILE *const foreign = fopen("foreign.sqt", "w");
    if (!foreign || fputs("This is no trace, but it is long enough to look at.\n", foreign) < 0 || fclose(foreign) != 0)
        return 1;
    return 0;
}
