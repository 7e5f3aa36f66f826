/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * figure_traces.c - writes the traces that the tests of figures read.
 *
 * usage: figure_traces DIRECTORY
 *   mixed.sqt       a minute of mixed traffic, nothing missing: every class, cache_dir, and way of a swap
 *   cut.sqt         half of the like, ended while requests and swaps are open
 *   lossy.sqt       half of the like, with two stretches of lost records
 *   kids/           two kids, of which one starts 15 s late
 *   killed/         a process that died within a swap, and the next one, which goes on for a minute
 *   open.sqt        a swap that does not end, and the trace goes on for 20 s
 *   step.sqt        a clock that was set back in between
 *   hits.sqt, misses.sqt, one.sqt, group.sqt (one time group), none.sqt (no request at all)
 *   overhead.sqt, overhead-peak.sqt
 *                   swaps of one block and of two whose medians are known
 *   planted.sqt     swap-ins whose first delay grows with their size
 *   overlap.sqt     requests and swaps that overlap in a known way
 *   large.sqt       a hit of 3,000 blocks, each sent when it is there
 *   whatif.sqt      a cache of 100 pages that is plain LRU, and two children of a helper with a queue
 *   variants.sqt, few-variants.sqt
 *                   the same, where each object has three variants, and where one object in 64 has
 *   sizes/          whatif.sqt of three hosts with other requests each.  The third one's memory has another policy
 *   served.sqt      an ICAP service with two connections, which are free some milliseconds before a question is over
 *   kept-off.sqt, kept-on.sqt
 *                   requests to three servers, with and without kept connections
 *   kept-others.sqt the same without; of one request in ten the server has no name of its own
 *   moved.sqt       leaders and their followers, replies that delay pools hold back, and tries that fail
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook_form.h"
#include "make_trace.h"
#include "model/model.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define MOST 400000

static const char texts[] =
    "def\t1\t0\taufs /var/cache/a\ndef\t1\t1\tdiskd /var/cache/d\n"
    "def\t2\t1\tTCP_HIT\ndef\t2\t2\tTCP_MEM_HIT\ndef\t2\t3\tTCP_MISS\ndef\t2\t4\tTCP_TUNNEL\n"
    "def\t2\t5\tTCP_MISS_ABORTED\ndef\t2\t6\tTCP_IMS_HIT\ndef\t2\t7\tTCP_NEGATIVE_HIT\n"
    "def\t2\t8\tTCP_REFRESH_UNMODIFIED\ndef\t2\t9\tTCP_REFRESH_MODIFIED\ndef\t2\t10\tTCP_DENIED\n"
    "def\t3\t1\tGET\ndef\t3\t2\tCONNECT\n"
    "def\t4\t1\tdirect\n"
    "def\t5\t1\tread handler\ndef\t5\t2\tstore callbacks\n"
    "def\t6\t1\tmoon\ndef\t6\t2\tmars\n"
    "def\t8\t1\tepoll_wait\ndef\t8\t2\tread\ndef\t8\t3\tread-disk\ndef\t8\t4\topen-write\n"
    "def\t9\t1\tmain\ndef\t9\t2\t4243\ndef\t14\t1\thttp_port 3128\n"
    "def\t12\t1\torigin-1\ndef\t12\t2\torigin-2\n"
    "def\t13\t301\texternal_acl groups\ndef\t13\t302\texternal_acl sites\ndef\t13\t303\texternal_acl "
    "quota\ndef\t13\t304\texternal_acl hours\ndef\t13\t305\texternal_acl users\n"
    "def\t13\t306\texternal_acl rooms\ndef\t13\t307\texternal_acl nets\ndef\t13\t308\texternal_acl "
    "agents\ndef\t13\t309\texternal_acl sizes\ndef\t13\t310\texternal_acl types\n"
    "def\t13\t311\turl_rewrite rewriter\ndef\t18\t0\tcache_mem 623 KB\n";
/* Values that are sampled: their texts are definitions from 1 on, in this order. */
static const struct {
    const char *text;
    uint64_t growth; /* of a counter: at most, each second; 0: a gauge */
} sampled[] = {
    {"process cpu_user_us", 700000},
    {"process cpu_system_us", 200000},
    {"process voluntary_switches", 900},
    {"process involuntary_switches", 40},
    {"process minor_faults", 3000},
    {"process major_faults", 3},
    {"process descriptors", 0},
    {"process rss_bytes", 0},
    {"machine cpu_user_ms", 800},
    {"machine cpu_system_ms", 400},
    {"machine cpu_idle_ms", 600},
    {"machine cpu_iowait_ms", 300},
    {"machine cpu_steal_ms", 50},
    {"machine paged_in_kb", 100000},
    {"machine paged_out_kb", 50000},
    {"machine swapped_in_pages", 2},
    {"machine swapped_out_pages", 20},
    {"disk vda reads", 90},
    {"disk vda read_bytes", 9000000},
    {"disk vda read_ms", 900},
    {"disk vda writes", 30},
    {"disk vda written_bytes", 5000000},
    {"disk vda write_ms", 2000},
    {"disk vda busy_ms", 1000},
    {"disk vda queue_ms", 3000},
    {"disk vda in_flight", 0},
    {"disk idle0 reads", 1},
    {"disk idle0 writes", 1},
    {"disk idle0 busy_ms", 1},
    {"disk idle0 queue_ms", 1},
    {"squid memory_bytes", 0},
    {"squid memory_objects", 0},
    {"squid disk_bytes", 0},
    {"squid disk_objects", 0},
    {"cache_dir 0 bytes", 0},
    {"cache_dir 0 objects", 0},
    {"listener 1 backlog", 0},
    {"listener 1 backlog_limit", 0},
    {"listener 1 drops", 50},
    {"listener 2 drops", 0},
    {"future thing", 0},
    {"process future_value", 0},
};
#define SAMPLED (sizeof(sampled) / sizeof(*sampled))
enum { HIT = 1, MEM_HIT, MISS, TUNNEL, MISS_ABORTED, IMS_HIT, NEGATIVE_HIT, REFRESH_HIT, REFRESH_MISS, DENIED };

/* A record, and its place among those of the same time: units stay together. */
struct made {
    struct sqt_record record;
    int64_t at; /* ns */
    uint64_t unit;
};
static struct made made[MOST];
static struct sqt_record sorted[MOST];
static size_t count;
static uint64_t units, next_sio = 1, random_state = 1;

static uint64_t
any(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static void
put(int64_t at, int part, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    if (count == MOST)
        abort();
    struct made *const m = &made[count++];
    *m = (struct made){{.id = id, .arg = arg, .aux = aux, .event = (uint16_t)event}, at, part ? units : ++units};
    m->record.time = MAKE_START + (uint64_t)at * 3;
}
#define PUT(at, name, id, arg, aux) put(at, 0, SQT_EV_##name, id, arg, aux)
#define PART(at, name, id, arg, aux) put(at, 1, SQT_EV_##name, id, arg, aux)

static int
by_time(const void *a, const void *b)
{
    const struct made *const x = a, *const y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x < y ? -1 : 1;
}

/* Puts what was made in order, up to that time, and empties it.  Returns how many records stand in sorted[]. */
static size_t
in_order(int64_t until)
{
    size_t n = 0;
    /* qsort does not keep the order of equals, which parts of a unit are: so they get their own times for a moment. */
    for (size_t i = 0, part = 0; i < count; ++i) {
        part = i && made[i].unit == made[i - 1].unit ? part + 1 : 0;
        made[i].unit = made[i].unit * SQT_UNIT_MAX + part;
    }
    qsort(made, count, sizeof(*made), by_time);
    for (size_t i = 0; i < count && made[i].at <= until; ++i)
        sorted[n++] = made[i].record;
    for (size_t i = 0; i < n;) {
        unsigned length = 1;
        while (i + length < n && made[i + length].unit / SQT_UNIT_MAX == made[i].unit / SQT_UNIT_MAX)
            ++length;
        if (length > 1)
            make_unit(&sorted[i], length);
        const char *const wrong = hook_form_error(&sorted[i], n - i);
        if (wrong) {
            fprintf(stderr, "figure_traces: %s\n", wrong);
            exit(1);
        }
        i += length;
    }
    count = 0;
    return n;
}

/* Servers have names that a shell or gnuplot might take for something else. */
static int odd_names;
/* Definitions of one trace. */
static char own_texts[256];

static const char *
all_texts(void)
{
    static char all[sizeof(texts) + sizeof(own_texts) + 64 * SAMPLED];
    size_t used = (size_t)snprintf(all, sizeof(all), "%s%s", texts, own_texts);
    for (size_t i = 0; i < SAMPLED; ++i)
        used += (size_t)snprintf(all + used, sizeof(all) - used, "def\t%d\t%zu\t%s\n", SQT_DEF_SAMPLE, i + 1,
                                 sampled[i].text);
    if (odd_names) {
        memcpy(strstr(all, "origin-1\n"), "`>odd`'\\", 8);
        memcpy(strstr(all, "origin-2\n"), "#\"@f(x)'", 8);
    }
    return all;
}

static void
write_trace(const char *path, unsigned seed, uint32_t kid, int64_t until)
{
    struct sqt_identity who;
    make_identity(&who, seed, kid);
    const size_t n = in_order(until);
    make_segment_file(path, &who, 0, 0, sorted, n, all_texts(), MAKE_ZLIB);
}

/* ---- swaps ---- */

static uint64_t
swap_open(int64_t *at, int out, uint64_t xact, uint32_t dir, uint64_t object, int64_t open)
{
    const uint64_t sio = next_sio++;
    put(*at, 0, out ? SQT_EV_SWAPOUT_OPEN : SQT_EV_SWAPIN_OPEN, sio, xact, dir);
    PART(*at, PART_SWAP_FILE, object, sio * 3, 0);
    *at += open;
    put(*at, 0, out ? SQT_EV_SWAPOUT_OPENED : SQT_EV_SWAPIN_OPENED, sio, 0, 0);
    return sio;
}

static uint64_t
ticks(int64_t at)
{
    return MAKE_START + (uint64_t)at * 3;
}

/* A block that another thread or process moves.  It takes service, after a queue and before a notice. */
static void
swap_block(int64_t *at, int out, uint64_t sio, uint64_t offset, uint64_t bytes, int64_t service)
{
    static uint64_t operation = UINT64_C(1) << 24;
    put(*at, 0, out ? SQT_EV_SWAPOUT_WRITE : SQT_EV_SWAPIN_READ, sio, offset, (uint32_t)bytes);
    PUT(*at, DISKOP_QUEUED, ++operation, sio, 0);
    const uint64_t begin = ticks(*at + service / 10), end = ticks(*at + service * 9 / 10);
    *at += service;
    put(*at, 0, out ? SQT_EV_SWAPOUT_WRITTEN : SQT_EV_SWAPIN_READ_DONE, sio, offset, (uint32_t)bytes);
    PART(*at, PART_DISKOP_IO, begin, end, 0);
    PUT(*at, DISKOP_END, operation, ticks(*at), (uint32_t)bytes);
}

static void
swap_close(int64_t at, int out, uint64_t sio, uint64_t size)
{
    put(at, 0, out ? SQT_EV_SWAPOUT_CLOSE : SQT_EV_SWAPIN_CLOSE, sio, 0, 0);
    put(at, 0, out ? SQT_EV_SWAPOUT_CLOSED : SQT_EV_SWAPIN_CLOSED, sio, out ? size : 0, 0);
}

/* A swap from its open to its close.  Returns its end. */
static int64_t
swap(int64_t at, int out, uint64_t xact, uint32_t dir, uint64_t object, uint64_t size, int64_t open, int64_t service)
{
    const uint64_t block = 4096, sio = swap_open(&at, out, xact, dir, object, open);
    for (uint64_t offset = 0; offset < size; offset += block)
        swap_block(&at, out, sio, offset, size - offset < block ? size - offset : block, service);
    swap_close(at, out, sio, size);
    return at;
}

/* ---- requests ---- */

static int64_t
begin_xact(int64_t at, uint64_t xact, uint64_t conn)
{
    PUT(at, CONN_ACCEPT, conn, 12, 3128);
    at += (int64_t)any(3 * MS);
    PUT(at, CLIENT_READ, conn, 120, 0);
    PUT(at, REQUEST_PARSED, conn, 120, 0);
    PUT(at, XACT_BEGIN, SQT_UNNAMED | xact, conn, 0);
    PUT(at, XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
    PUT(at, ACCESS_BEGIN, xact, 0, 0);
    at += (int64_t)any(MS);
    PUT(at, ACCESS_END, xact, 0, 0);
    return at;
}

static int64_t
look_up(int64_t at, uint64_t xact, uint64_t object, uint32_t found)
{
    PUT(at, LOOKUP_BEGIN, xact, 0, 0);
    at += (int64_t)any(MS / 10);
    PUT(at, LOOKUP_END, xact, object, found);
    return at;
}

static int64_t
end_xact(int64_t at, uint64_t xact, uint64_t conn, uint32_t tag, uint32_t status, uint64_t object, uint64_t size,
         int64_t reply)
{
    PUT(at, REPLY_WRITE, xact, size + 300, 1);
    at += reply;
    PUT(at, REPLY_WRITTEN, xact, size + 300, 0);
    PUT(at, XACT_END, xact, tag, status);
    PART(at, PART_XACT_SIZES, tag == TUNNEL ? UINT64_MAX : size, size + 300, tag == MISS);
    PART(at, PART_XACT_FLAGS, object, conn, tag == MISS_ABORTED ? SQT_XACT_ABORTED : 0);
    PUT(at, CONN_CLOSE, conn, 0, 0);
    return at;
}

/* From peer selection to the server's last byte. */
static int64_t
forward(int64_t at, uint64_t xact, int reused)
{
    PUT(at, FORWARD_BEGIN, xact, 0, 0);
    PUT(at, PEER_SELECT_BEGIN, xact, 0, 0);
    if (reused) {
        PUT(at, CONNECT_REUSED, xact, 1000 + xact, 1);
    } else {
        PUT(at, DNS_BEGIN, xact, xact, 0);
        at += (int64_t)any(20 * MS);
        PUT(at, DNS_END, xact, xact, 0);
        PUT(at, PEER_SELECT_END, xact, 0, 1);
        PUT(at, CONNECT_BEGIN, xact, 1000 + xact, 1);
        at += (int64_t)(5 * MS + any(30 * MS));
        PUT(at, CONNECT_END, xact, 1000 + xact, SQT_CONNECT_OK);
    }
    PUT(at, DISPATCH, xact, 1000 + xact, 1);
    at += (int64_t)any(MS);
    PUT(at, REQUEST_SENT, xact, 1000 + xact, 0);
    at += (int64_t)(20 * MS + any(200 * MS));
    PUT(at, SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_HEADER, xact, 300, 200);
    PUT(at, REPLY_READY, xact, 0, SQT_REPLY_SERVER);
    at += (int64_t)any(100 * MS);
    PUT(at, SERVER_DONE, xact, 1000 + xact, 0);
    PUT(at, FORWARD_END, xact, 0, 1);
    PUT(at + SECOND, SERVER_CLOSE, 1000 + xact, 0, 0);
    return at;
}

/* A request of that tag; objects are few, so that they come again. */
static void
request(int64_t at, uint64_t xact, uint32_t tag)
{
    const uint64_t conn = xact, number = 1 + any(200), object = number * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t size = 100 + number * number * (number % 7 ? 1 : 8);
    const int64_t reply = (int64_t)(any(2 * MS) + size * 100);
    const uint32_t dir = number % 2;
    at = begin_xact(at, xact, conn);
    if (tag == DENIED) {
        PUT(at, REPLY_READY, xact, 0, SQT_REPLY_MADE);
        end_xact(at, xact, conn, tag, 403, 0, 300, reply);
        return;
    }
    if (tag == TUNNEL) {
        PUT(at, CONNECT_BEGIN, xact, 1000 + xact, 1);
        at += (int64_t)any(30 * MS);
        PUT(at, CONNECT_END, xact, 1000 + xact, SQT_CONNECT_OK);
        PUT(at, TUNNEL_BEGIN, xact, 1000 + xact, 0);
        at += (int64_t)any(5 * SECOND);
        PUT(at, TUNNEL_END, xact, 0, 0);
        PUT(at, SERVER_CLOSE, 1000 + xact, 0, 0);
        end_xact(at, xact, conn, tag, 200, 0, size, 0);
        return;
    }
    at = look_up(at, xact, object, tag != MISS && tag != MISS_ABORTED);
    const int server = tag == MISS || tag == MISS_ABORTED || tag == REFRESH_HIT || tag == REFRESH_MISS;
    if (tag == MEM_HIT)
        PUT(at, MEM_HIT, xact, size, 0);
    if (tag == HIT) {
        const int64_t from = at + (int64_t)any(MS / 10);
        at = swap(from, 0, xact, dir, object, size, (int64_t)(MS + any(8 * MS)),
                  (int64_t)(MS + any((dir + 1) * 4 * MS)));
    }
    if (server) {
        const int64_t from = at;
        at = forward(at, xact, (int)any(2));
        if (tag == MISS)
            swap(from + 30 * MS, 1, xact, dir, object, size, (int64_t)(2 * MS + any(10 * MS)),
                 (int64_t)(MS / 2 + any(4 * MS)));
    } else {
        PUT(at, REPLY_READY, xact, 0, SQT_REPLY_STORE);
    }
    end_xact(at, xact, conn, tag,
             tag == IMS_HIT || (tag == REFRESH_HIT && any(2)) ? 304
             : tag == NEGATIVE_HIT                            ? 404
                                                              : 200,
             object, tag == IMS_HIT ? 0 : size, reply);
}

/* ---- what goes on meanwhile ---- */

/* A disk operation of a thread or of diskd for a swap from before the trace, which has no number; now and then one that
 * waits, fails or never comes back. */
static void
disk_operation(int64_t at, uint64_t serial)
{
    const uint32_t op = (uint32_t)(any(2) ? SQT_DISK_READ : any(SQT_DISK_OPS));
    const uint64_t fate = any(400);
    const int64_t queued = at + (int64_t)any(3000), taken = queued + (int64_t)any(fate < 20 ? 90 * MS : MS);
    const int64_t done = taken + (int64_t)any(8 * MS), back = done + (int64_t)any(2000);
    const int64_t noticed = back + (int64_t)any(10 * MS), finished = noticed + (int64_t)any(100000);
    PUT(queued, DISKOP_BEGIN, serial, 0, op == SQT_DISK_OTHER ? UINT32_MAX : (uint32_t)(serial % 3));
    PART(queued, PART_DISKOP, ticks(at), any(9), op);
    if (fate == 21)
        return;
    PUT(finished, DISKOP_END, serial, ticks(noticed),
        fate == 22   ? SQT_IO_FAILED | SQT_IO_TIMED_OUT
        : fate == 23 ? SQT_IO_FAILED
        : fate == 24 ? SQT_IO_CANCELLED
                     : 4096);
    if (fate == 22) {
        PUT(finished + 10 * MS, DISKOP_LATE, serial, ticks(finished + 9 * MS), 4096);
        PART(finished + 10 * MS, PART_DISKOP_IO, ticks(taken), ticks(done), (uint32_t)(ticks(back) - ticks(done)));
        return;
    }
    PART(finished, PART_DISKOP_IO, ticks(taken), ticks(done), (uint32_t)(ticks(back) - ticks(done)));
    if (fate == 25)
        PART(finished, PART_STAMP, 0, ticks(taken - (taken - queued) / 2), SQT_STAMP_SECOND_QUEUE);
}

/* A heartbeat of the flusher that was late in the wait or in the work of a pass, or in both. */
static void
heartbeat_late(int64_t at, int64_t work, int64_t end)
{
    const int64_t from = any(2) ? at : work, until = any(4) ? (from == at ? work : end) : end;
    const int64_t last = from - (int64_t)any(30 * MS) + (int64_t)any(10 * MS), again = until + (int64_t)any(5 * MS);
    const int64_t us = (again - last) / 1000;
    PUT(work + (end - work) / 2, HEARTBEAT_LATE, ticks(last), ticks(again),
        any(4) ? (uint32_t)any((uint64_t)(us > 0 ? us : 0) + 1) : SQT_HEARTBEAT_AT_WORK);
}

/* A pass of the event loop and its system calls, and some of a thread.  Returns its end. */
static int64_t
loop_pass(int64_t at)
{
    const int64_t work = at + (int64_t)any(any(30) ? 30 * MS : 400 * MS);
    const int64_t end = work + (int64_t)any(any(50) ? 2 * MS : 200 * MS);
    PUT(work, WAIT_END, 0, any(5), any(3) == 0);
    if (work - at > 40 * MS || end - work > 40 * MS)
        heartbeat_late(at, work, end);
    for (uint32_t call = 1; call <= 4; ++call) {
        const uint64_t calls = call == 1 ? 1 : any(4), each = 1 + any((uint64_t)(end - work) / 20 + 1);
        const uint64_t time = call == 1 ? (uint64_t)(work - at) : calls * each;
        if (!calls)
            continue;
        PUT(end, CALLS, calls, time * 3, call);
        PART(end, PART_CALLS, 0, (call == 1 ? time : each) * 3, call == 4 ? 2 : 1);
    }
    PUT(end, CALLS_TOLD, 0, ticks(end), 0);
    PUT(end, WAIT_BEGIN, 0, any(3) ? 1000 : 10, 0);
    if (any(4))
        PART(end, PART_ACTIVITY, ticks(work), ticks(end - (end - work) / 3), 1 + (uint32_t)any(2));
    return end;
}

/* A round of samples about every second, told up to 0.9 s later; a stretch without any; counters that begin anew. */
static void
samples(int64_t from, int64_t length)
{
    uint64_t value[SAMPLED];
    for (size_t i = 0; i < SAMPLED; ++i)
        value[i] = UINT64_C(1000000000) + any(UINT64_C(1) << 40);
    for (int64_t at = from + 20 * MS; at < from + length; at += SECOND - 2 * MS + (int64_t)any(8 * MS)) {
        const int64_t told = at + (int64_t)any(900 * MS);
        if (at > from + 8 * SECOND && at < from + 12 * SECOND)
            continue;
        for (size_t i = 0; i < SAMPLED; ++i) {
            value[i] = !sampled[i].growth ? any(UINT64_C(5000000000))
                       : any(50)          ? value[i] + any(sampled[i].growth + 1)
                                          : 7;
            if (told < from + length && any(40))
                PUT(told, SAMPLE, value[i], ticks(at), (uint32_t)i + 1);
        }
    }
}

/* The digests of two peers are looked up, and the one that says hit is asked. */
static void
look_in_digests(int64_t at, uint64_t xact)
{
    PUT(at, DIGEST_KEY, xact, any(9000), 0);
    uint32_t hit = 0;
    for (uint32_t peer = 1; peer <= 2; ++peer) {
        const uint64_t fate = any(5);
        at += (int64_t)any(4000);
        if (fate == 0) {
            PUT(at, DIGEST_NONE, xact, any(900), peer);
        } else {
            PUT(at, DIGEST_LOOKUP, xact, any(9000), peer | (fate == 1 ? SQT_DIGEST_SAYS_HIT : 0));
            hit = fate == 1 ? peer : hit;
        }
    }
    if (!hit)
        return;
    PUT(at, DIGEST_HIT, xact, hit - 1, hit);
    at += (int64_t)any(20 * MS);
    if (any(9) == 0) {
        PUT(at, RETRY, xact, 0, 1);
        return;
    }
    PUT(at, SERVER_READ, xact, 1000 + any(1000), 0);
    PUT(at, SERVER_HEADER, xact, 300, any(9) ? 200 : 504);
    PUT(at + (int64_t)any(MS), SERVER_DONE, xact, 1, any(9) == 0);
}

/* The own digest is made anew and written, and a peer's is fetched. */
static void
renew_digests(int64_t at, uint64_t xact)
{
    for (uint32_t step = SQT_DIGEST_BEGUN; step <= SQT_DIGEST_DONE; ++step) {
        const uint64_t whole = 60000 + any(90000);
        PUT(at, DIGEST_REBUILD, 0, whole, step);
        for (uint32_t added = 0; step != SQT_DIGEST_BEGUN && added < 2; ++added)
            PART(at, PART_DIGEST_UPDATES, 1 + any(300), any(whole / 2), added);
        at += (int64_t)any(MS);
    }
    for (uint32_t step = SQT_DIGEST_BEGUN; step <= SQT_DIGEST_DONE; ++step) {
        PUT(at, DIGEST_REWRITE, step ? 4096 : 128, any(90000), step);
        at += (int64_t)any(MS);
    }
    PUT(at, DIGEST_FETCH_BEGIN, xact, 0, 1 + (uint32_t)any(2));
    PUT(at + (int64_t)any(50 * MS), DIGEST_FETCH_END, xact, any(5000), (uint32_t)any(3));
}

static void
machinery(int64_t from, int64_t length)
{
    uint64_t serial = 0;
    PUT(from, CALLS_TOLD, 0, ticks(from), 1);
    PUT(from, WAIT_BEGIN, 0, 1000, 0);
    for (int64_t at = from; at < from + length;)
        at = loop_pass(at);
    for (int64_t at = from; at < from + length; at += (int64_t)any(40 * MS))
        disk_operation(at, ++serial);
    samples(from, length);
    for (int64_t at = from; at < from + length; at += (int64_t)any(60 * MS))
        look_in_digests(at, SECOND + ++serial);
    for (int64_t at = from; at < from + length; at += SECOND)
        renew_digests(at, SECOND + ++serial);
}

/* Requests for that long, 30 a second and more and more: so there is a peak. */
static void
traffic(uint64_t seed, int64_t from, int64_t length, const uint32_t *tags, unsigned tag_count)
{
    uint64_t xact = 1;
    random_state = seed;
    PUT(from, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (int64_t at = from; at < from + length; ++xact) {
        request(at, xact, tags[any(tag_count)]);
        at += (int64_t)any((uint64_t)(at - from > length / 2 ? 20 : 70) * MS);
    }
    machinery(from, length);
}

static const uint32_t mixture[] = {HIT,     HIT,          HIT,         HIT,         HIT,          MEM_HIT,
                                   MEM_HIT, MEM_HIT,      MEM_HIT,     MISS,        MISS,         MISS,
                                   MISS,    MISS,         MISS,        TUNNEL,      MISS_ABORTED, IMS_HIT,
                                   IMS_HIT, NEGATIVE_HIT, REFRESH_HIT, REFRESH_HIT, REFRESH_MISS, DENIED};
#define MIXTURE mixture, sizeof(mixture) / sizeof(*mixture)

/* Stretches of records that never came: what was open across them is lost. */
static void
lossy(const char *path)
{
    struct sqt_identity who;
    struct make_bytes bytes = {0};
    traffic(5, 0, 30 * SECOND, MIXTURE);
    size_t n = in_order(INT64_MAX), kept = 0;
    uint64_t lost = 0;
    for (size_t i = 0; i < n;) {
        const uint64_t hole = i < n / 2 ? n / 3 : n * 2 / 3;
        if (i >= hole && i < hole + 200 && !(sorted[i].flags & SQT_FLAG_PART)) {
            const uint64_t from = sorted[i].time;
            size_t gone = 0;
            while (i + gone < n && (gone < 200 || sorted[i + gone].flags & SQT_FLAG_PART))
                ++gone;
            lost += gone;
            i += gone;
            sorted[kept++] = (struct sqt_record){
                .time = sorted[i].time, .id = from, .arg = gone, .aux = SQT_LOSS_RING_FULL, .event = SQT_EV_LOST};
        } else {
            sorted[kept++] = sorted[i++];
        }
    }
    make_identity(&who, 3, 0);
    const struct sqt_totals totals = {.head = kept, .lost = lost, .marks = 2, .clean = 1};
    make_header(&bytes, &who, 0);
    make_text(&bytes, all_texts());
    make_blocks(&bytes, &who, 0, sorted, kept, 1000, 0);
    make_end(&bytes, &who, &totals);
    make_file(path, &bytes);
    make_free(&bytes);
}

/* The wall clock is set back by 10 s in the middle; times must go on. */
static void
step(const char *path)
{
    struct sqt_identity who;
    struct make_bytes bytes = {0};
    struct sqt_pack_table table;
    sqt_pack_table_init(&table);
    traffic(6, 0, 12 * SECOND, MIXTURE);
    const size_t n = in_order(INT64_MAX);
    size_t half = n / 2;
    while (sorted[half].flags & SQT_FLAG_PART)
        ++half;
    make_identity(&who, 4, 0);
    make_header(&bytes, &who, 0);
    make_text(&bytes, all_texts());
    for (size_t from = 0; from < n;) {
        const size_t end = from < half ? half : n;
        size_t length = end - from < 4000 ? end - from : 4000;
        while (from + length < end && sorted[from + length].flags & SQT_FLAG_PART)
            ++length;
        struct sqt_anchor first = make_anchor(&who, sorted[from].time);
        struct sqt_anchor last = make_anchor(&who, sorted[from + length - 1].time);
        if (from >= half) {
            first.realtime_ns -= 10 * (uint64_t)SECOND;
            last.realtime_ns -= 10 * (uint64_t)SECOND;
        }
        make_block_with(&bytes, &who, from, &sorted[from], length, MAKE_ZLIB, 0, &first, &last, &table);
        from += length;
    }
    const struct sqt_totals totals = {.head = n, .clean = 1};
    make_end(&bytes, &who, &totals);
    make_file(path, &bytes);
    make_free(&bytes);
}

/* Swaps of one block and of two, in and out, with these times (ms) in the median of an I/O and of an open. */
static void
overhead(int64_t in_io, int64_t in_open, int64_t out_io, int64_t out_open)
{
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (unsigned i = 0; i < 101; ++i) {
        const int64_t off = ((int64_t)i - 50) * MS / 100;
        for (unsigned blocks = 1; blocks <= 2; ++blocks) {
            const int64_t at = 1 + (int64_t)i * SECOND + blocks * SECOND / 4;
            swap(at, 0, 0, 0, 1 + i, 4096 * blocks, in_open * MS + off, in_io * MS);
            swap(at, 1, 0, 0, 1 + i, 4096 * blocks, out_open * MS + off, out_io * MS);
        }
    }
}

static void
planted(int64_t slope)
{
    random_state = 11;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (unsigned i = 0; i < 400; ++i) {
        const uint64_t blocks = 1 + any(16);
        swap(1 + (int64_t)i * SECOND / 4, 0, 0, 0, 1 + i, blocks * 4096 - any(4000),
             (int64_t)(4 * MS + any(4 * MS)) + (int64_t)blocks * slope, 2 * MS);
    }
}

/* In each second one swap-in lasts 400 ms, and a second one the last 200 ms of these; one request lasts 900 ms, a
 * second one 300 ms of these. */
static void
overlap(void)
{
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (uint64_t i = 0; i < 60; ++i) {
        const int64_t at = (int64_t)i * SECOND + 1;
        swap(at, 0, 0, 0, 1, 4096, 100 * MS, 300 * MS);
        swap(at + 200 * MS, 0, 0, 1, 2, 4096, 100 * MS, 100 * MS);
        for (uint64_t second = 0; second < 2; ++second) {
            const uint64_t xact = 2 * i + second + 1, tag = second ? MISS : MEM_HIT;
            PUT(at + (int64_t)second * 300 * MS, XACT_BEGIN, SQT_UNNAMED | xact, xact, 0);
            PUT(at + (int64_t)second * 300 * MS, XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
            PUT(at + (second ? 600 : 900) * MS, XACT_END, xact, tag, 200);
            PART(at + (second ? 600 : 900) * MS, PART_XACT_SIZES, 100, 400, 0);
            PART(at + (second ? 600 : 900) * MS, PART_XACT_FLAGS, xact, xact, 0);
        }
    }
    PUT(60 * SECOND, WAIT_BEGIN, 0, 0, 0);
}

/* Most blocks take 10 us to 100 us, some take 30 ms; a block in ten is sent a while later. */
static void
large(void)
{
    const uint64_t xact = 1, object = 77, blocks = 3000, size = blocks * 4096;
    random_state = 12;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    int64_t at = look_up(begin_xact(MS, xact, 1), xact, object, 1);
    PUT(at, REPLY_READY, xact, 0, SQT_REPLY_STORE);
    const uint64_t sio = swap_open(&at, 0, xact, 0, object, MS);
    for (uint64_t i = 0; i < blocks; ++i) {
        swap_block(&at, 0, sio, i * 4096, 4096, (int64_t)(i % 200 == 150 ? 30 * MS : 10000 + any(90000)));
        at += (int64_t)any(5000);
        PUT(at, REPLY_WRITE, xact, 4096, i == 0);
        at += (int64_t)any(20000);
        PUT(at, REPLY_WRITTEN, xact, 4096, 0);
        at += (int64_t)(i % 10 ? 0 : any(50000));
    }
    swap_close(at, 0, sio, size);
    end_xact(at, xact, 1, HIT, 200, object, size, MS);
}

static void
begin_named(int64_t at, uint64_t xact)
{
    PUT(at, XACT_BEGIN, SQT_UNNAMED | xact, xact, 0);
    PUT(at, XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
}

static void
end_of_reply(int64_t at, uint64_t xact, uint32_t tag, uint32_t flags, uint64_t object)
{
    PUT(at, XACT_END, xact, tag, 200);
    PART(at, PART_XACT_SIZES, 100, 400, 1);
    PART(at, PART_XACT_FLAGS, object, xact, flags);
}

/* One of ten helpers is asked; the first ones more often. */
static void
helper_use(int64_t at, uint64_t xact, uint64_t use)
{
    const int64_t end = at + (int64_t)any(9 * MS);
    PUT(at, HELPER_BEGIN, xact, use, 301 + (uint32_t)any(1 + any(10)));
    PUT(end, HELPER_END, xact, use, SQT_WAIT_OK);
    PART(end, PART_HELPER, 0, 0, 0);
}

/* A leader, its followers, and what holds its reply back or fails before. */
static void
moved_group(int64_t at, uint64_t xact, unsigned followers, uint32_t pool, unsigned failures)
{
    const int64_t from = at;
    begin_named(at, xact);
    helper_use(at, xact, xact);
    PUT(at += (int64_t)any(MS), FORWARD_BEGIN, xact, 0, 0);
    PUT(at, PEER_SELECT_BEGIN, xact, 0, 0);
    for (unsigned i = 0; i < failures; ++i) {
        PUT(at += (int64_t)any(MS), DISPATCH, xact, 50, 1);
        PUT(at += (int64_t)any(20 * MS), RETRY, xact, 0, 1);
    }
    PUT(at += (int64_t)any(MS), CONNECT_BEGIN, xact, 1, 1);
    PART(at, PART_SERVER, 0, 0, 1 + (uint32_t)any(2));
    const int64_t connecting = at;
    PUT(at += 30 * MS, CONNECT_END, xact, 1, SQT_CONNECT_OK);
    PUT(at, DISPATCH, xact, 1, 1);
    PUT(at += (int64_t)any(MS), REQUEST_SENT, xact, 1, 0);
    PUT(at += (int64_t)any(100 * MS), SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_HEADER, xact, 300, 200);
    PUT(at, REPLY_READY, xact, 0, SQT_REPLY_SERVER);
    if (pool)
        PUT(at += (int64_t)any(MS), SERVER_HELD, xact, 0, pool - 1);
    for (unsigned i = 1; i <= followers; ++i) {
        const int64_t come = connecting + (int64_t)any(20 * MS), ready = at + (int64_t)any(9 * MS);
        begin_named(come, xact + i);
        PUT(come, COLLAPSED, xact + i, any(9) ? xact : 0, 0);
        PUT(ready, REPLY_READY, xact + i, 0, SQT_REPLY_STORE);
        end_of_reply(ready + (int64_t)any(MS), xact + i, HIT, SQT_XACT_COLLAPSED, xact + i);
    }
    PUT(at += (int64_t)any(5 * MS), SERVER_READ, xact, 500, 0);
    PUT(at += (int64_t)any(5 * MS), SERVER_DONE, xact, 1, 0);
    end_of_reply(at < from + 60 * MS ? from + 60 * MS : at, xact, MISS, 0, xact);
}

static void
moved(void)
{
    random_state = 14;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (uint64_t i = 0; i < 300; ++i)
        moved_group((int64_t)i * 100 * MS, 1 + 10 * i, (unsigned)any(4), (uint32_t)(any(3) ? 0 : any(4)),
                    any(4) ? 0 : 1 + (unsigned)any(2));
    PUT(31 * SECOND, WAIT_BEGIN, 0, 0, 0);
}

/* ---- what a change would bring ---- */

#define WHATIF_REQUESTS 6000
#define WHATIF_PAGES 100 /* cache_mem, less the pages that are not for objects */

/* Whether the object is in the cache: 1, or SQT_MISS_VARY << 8 if only another variant of it is.  Then it is its newest. */
static unsigned
whatif_hit(uint64_t *newest, uint64_t object, uint64_t variant)
{
    const uint64_t own = object * 4 + variant;
    unsigned place = 0, other = 0;
    for (; place < WHATIF_PAGES && newest[place] != own; ++place)
        other |= newest[place] / 4 == object;
    const unsigned hit = place < WHATIF_PAGES;
    memmove(newest + 1, newest, (hit ? place : WHATIF_PAGES - 1) * sizeof(*newest));
    newest[0] = own;
    return hit ? 1 : other ? SQT_MISS_VARY << SQT_XACT_MISS_SHIFT : 0;
}

/* A request every two seconds, each of one page, so that Squid has room for each: that is plain LRU.  Before it is looked
 * up, a helper of two children is asked.  vary: of so many objects, one has three variants; 0: none has. */
static void
whatif(unsigned vary, uint64_t seed)
{
    int64_t free_at[2] = {0, 0};
    uint64_t newest[WHATIF_PAGES] = {0};
    random_state = seed;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (uint64_t i = 1; i <= WHATIF_REQUESTS; ++i) {
        const int64_t at = (int64_t)i * 2 * SECOND, service = (int64_t)any(6 * SECOND);
        const unsigned child = free_at[1] < free_at[0];
        const int64_t given = free_at[child] > at ? free_at[child] : at, end = given + service;
        const uint64_t object = 1 + any(1 + any(1 + any(1000)));
        const unsigned found = whatif_hit(newest, object, vary && object % vary == 0 ? any(3) : 0), hit = found == 1;
        free_at[child] = end;
        begin_named(at, i);
        PUT(at, HELPER_BEGIN, 0, i, 311);
        PUT(end, HELPER_END, 0, i, SQT_WAIT_OK);
        PART(end, PART_HELPER, ticks(given), given > at, 0);
        PUT(at + MS, LOOKUP_BEGIN, i, 0, 0);
        PUT(at + MS, LOOKUP_END, i, object * UINT64_C(0x9e3779b97f4a7c15), 0);
        PUT(at + 2 * MS, XACT_END, i, hit ? MEM_HIT : MISS, 200);
        PART(at + 2 * MS, PART_XACT_SIZES, 100, 400, 1);
        PART(at + 2 * MS, PART_XACT_FLAGS, object * UINT64_C(0x9e3779b97f4a7c15), i, hit ? 0 : found);
    }
}

/* A request every two seconds. */
static void
served(void)
{
    int64_t free_at[2] = {0, 0};
    random_state = 17;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    for (uint64_t i = 1; i <= 6000; ++i) {
        const int64_t at = (int64_t)i * 2 * SECOND, service = 20 * MS + (int64_t)any(6 * SECOND);
        const unsigned which = free_at[1] < free_at[0];
        const int64_t given = free_at[which] > at ? free_at[which] : at, end = given + service;
        free_at[which] = end - (int64_t)any(10 * MS);
        begin_named(at, i);
        PUT(at, ADAPT_BEGIN, i, 0, 0);
        PUT(at, ADAPT_SERVICE, i, 1, 1);
        if (given > at)
            PUT(given, ADAPT_ADMITTED, i, 0, 0);
        PUT(end, ADAPT_END, i, 0, 0);
        PUT(end, XACT_END, i, MISS, 200);
        PART(end, PART_XACT_SIZES, 100, 400, 1);
        PART(end, PART_XACT_FLAGS, i, i, 0);
    }
    snprintf(own_texts, sizeof(own_texts), "def\t%d\t1\tscanner\n", SQT_DEF_SERVICE);
    write_trace("served.sqt", 29, 0, INT64_MAX);
    *own_texts = '\0';
}

static void
sizes(void)
{
    char path[64];
    for (unsigned host = 1; host <= 3; ++host) {
        snprintf(path, sizeof(path), "sizes/proxy-%u.example", host);
        mkdir(path, 0777);
        snprintf(path, sizeof(path), "sizes/proxy-%u.example/1.sqt", host);
        snprintf(own_texts, sizeof(own_texts), "def\t%d\t0\tproxy-%u.example\n%s", SQT_DEF_HOST, host,
                 host == 3 ? "def\t18\t7\tmemory_replacement_policy heap GDSF\n" : "");
        whatif(0, 100 + host);
        write_trace(path, 30 + host, 0, INT64_MAX);
    }
    *own_texts = '\0';
}

/* A request to one of three servers.  All of its time is with the server. */
static void
kept_request(int64_t at, uint64_t xact, uint32_t server, int reused)
{
    begin_named(at, xact);
    PUT(at, FORWARD_BEGIN, xact, 0, 0);
    PUT(at, PEER_SELECT_BEGIN, xact, 0, 0);
    if (any(12) == 0) {
        PUT(at, DNS_BEGIN, xact, xact, 0);
        PUT(at += (int64_t)any(90 * MS), DNS_END, xact, xact, 0);
    }
    PUT(at, PEER_SELECT_END, xact, 0, 1);
    if (reused) {
        PUT(at, CONNECT_REUSED, xact, 1000 + xact, 1);
        PART(at, PART_SERVER, 0, 0, server);
    } else {
        PUT(at, CONNECT_BEGIN, xact, 1000 + xact, 1);
        PART(at, PART_SERVER, 0, 0, server);
        PUT(at += 5 * MS + (int64_t)any(30 * MS), CONNECT_END, xact, 1000 + xact, SQT_CONNECT_OK);
    }
    PUT(at, DISPATCH, xact, 1000 + xact, 1);
    PUT(at += (int64_t)any(MS), REQUEST_SENT, xact, 1000 + xact, 0);
    PUT(at += (int64_t)any(reused ? 800 * MS : 900 * MS), SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_HEADER, xact, 300, 200);
    PUT(at, REPLY_READY, xact, 0, SQT_REPLY_SERVER);
    PUT(at += (int64_t)any(100 * MS), SERVER_DONE, xact, 1000 + xact, 0);
    PUT(at, FORWARD_END, xact, 0, 1);
    end_of_reply(at, xact, any(9) ? MISS : REFRESH_HIT, 0, 1 + any(20000));
}

/* An idle connection that is closed. */
static void
left_idle(uint64_t conn, uint32_t server, uint64_t ms, uint32_t closer)
{
    const int64_t at = (int64_t)conn * MS;
    PUT(at, CONNECT_BEGIN, 0, conn, 1);
    PART(at, PART_SERVER, 0, 0, server);
    PUT(at + MS, CONNECT_END, 0, conn, SQT_CONNECT_OK);
    PUT(at + MS + (int64_t)ms * MS, SERVER_IDLE, conn, ms, closer);
    PUT(at + MS + (int64_t)ms * MS, SERVER_CLOSE, conn, 0, 0);
}

/* Server 3 closes what is idle for 3 s.  So does server 2, but one stayed for longer; of server 1 there are too few. */
static void
left_by_servers(void)
{
    for (uint64_t i = 1; i <= 6; ++i) {
        left_idle(i, 3, 2990 + i, i % 2 ? SQT_CLOSER_SERVER : SQT_CLOSER_RESET);
        left_idle(10 + i, 2, 3000, SQT_CLOSER_SERVER);
        left_idle(20 + i, 1, 3000, i < 3 ? SQT_CLOSER_SQUID : SQT_CLOSER_SERVER);
    }
    left_idle(30, 2, 3500, SQT_CLOSER_SQUID);
}

static void
kept(const char *path, const char *persistent, int on, unsigned others)
{
    int64_t at = on ? 5 * SECOND : 0;
    random_state = 16;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    if (on)
        left_by_servers();
    for (uint64_t i = 1; i <= 3000; ++i)
        kept_request(at += (int64_t)any(900 * MS), i,
                     others && any(100) < others ? 0 : 1 + (uint32_t)any(1 + any(any(40) ? 2 : 3)), on && any(8));
    snprintf(own_texts, sizeof(own_texts),
             "def\t12\t3\torigin-3\ndef\t18\t11\tserver_persistent_connections %s\n"
             "def\t18\t12\tserver_idle_pconn_timeout 2 seconds\ndef\t18\t13\tnegative_dns_ttl 60 seconds\n",
             persistent);
    write_trace(path, on ? 27 : 28, 0, INT64_MAX);
    *own_texts = '\0';
}

/* A swap-in that has no end, and records until then. */
static void
open_swap(int64_t until)
{
    int64_t at = SECOND;
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    swap_open(&at, 0, 0, 0, 77, MS);
    PUT(until, WAIT_BEGIN, 0, 0, 0);
}

int
main(int argc, char **argv)
{
    static const uint32_t hits[] = {HIT, MEM_HIT, IMS_HIT}, misses[] = {MISS};
    if (argc != 2 || (mkdir(argv[1], 0777), chdir(argv[1])) != 0)
        return 1;
    mkdir("kids", 0777);
    mkdir("killed", 0777);
    mkdir("sizes", 0777);
    traffic(1, 0, 60 * SECOND, MIXTURE);
    write_trace("mixed.sqt", 1, 0, INT64_MAX);
    traffic(2, 0, 30 * SECOND, MIXTURE);
    write_trace("cut.sqt", 2, 0, 25 * SECOND);
    lossy("lossy.sqt");
    step("step.sqt");
    traffic(7, 0, 40 * SECOND, MIXTURE);
    write_trace("kids/1.sqt", 7, 1, INT64_MAX);
    traffic(8, 15 * SECOND, 25 * SECOND, MIXTURE);
    write_trace("kids/2.sqt", 8, 2, INT64_MAX);
    traffic(9, 0, 15 * SECOND, hits, 3);
    write_trace("hits.sqt", 9, 0, INT64_MAX);
    traffic(10, 0, 15 * SECOND, misses, 1);
    write_trace("misses.sqt", 10, 0, INT64_MAX);
    traffic(11, 0, 1, MIXTURE);
    write_trace("one.sqt", 11, 0, INT64_MAX);
    traffic(12, 0, SECOND, MIXTURE);
    write_trace("group.sqt", 12, 0, INT64_MAX);
    PUT(0, START, SQT_GROUP_DEFAULT, 4242, 0);
    PUT(SECOND, WAIT_BEGIN, 0, 10, 0);
    write_trace("none.sqt", 13, 0, INT64_MAX);
    overhead(38, 16, 12, 58);
    write_trace("overhead.sqt", 14, 0, INT64_MAX);
    overhead(44, 28, 16, 58);
    write_trace("overhead-peak.sqt", 18, 0, INT64_MAX);
    planted(2 * MS);
    write_trace("planted.sqt", 15, 0, INT64_MAX);
    planted(0);
    write_trace("clean.sqt", 16, 0, INT64_MAX);
    overlap();
    write_trace("overlap.sqt", 17, 0, INT64_MAX);
    large();
    write_trace("large.sqt", 19, 0, INT64_MAX);
    moved();
    write_trace("moved.sqt", 23, 0, INT64_MAX);
    whatif(0, 15);
    write_trace("whatif.sqt", 24, 0, INT64_MAX);
    whatif(1, 15);
    write_trace("variants.sqt", 25, 0, INT64_MAX);
    whatif(64, 15);
    write_trace("few-variants.sqt", 26, 0, INT64_MAX);
    served();
    kept("kept-off.sqt", "off", 0, 0);
    kept("kept-on.sqt", "on", 1, 0);
    kept("kept-others.sqt", "off", 0, 10);
    sizes();
    odd_names = 1;
    moved();
    write_trace("odd.sqt", 23, 0, INT64_MAX);
    odd_names = 0;
    open_swap(2 * SECOND);
    write_trace("killed/1.sqt", 20, 0, INT64_MAX);
    PUT(3 * SECOND, START, SQT_GROUP_DEFAULT, 4243, 0);
    PUT(60 * SECOND, WAIT_BEGIN, 0, 0, 0);
    write_trace("killed/2.sqt", 21, 0, INT64_MAX);
    open_swap(21 * SECOND);
    write_trace("open.sqt", 22, 0, INT64_MAX);
    return 0;
}
