/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_hostile.c - traces that nobody's Squid writes, made to exhaust whoever reads them.
 *
 *     make_hostile KIND BYTES FILE [SEED RECORDS]   writes a segment of about that many bytes (for `many` and `proxies` a
 *                                                   stream of segments)
 *     make_hostile                                  lists the kinds
 *
 * Each kind is about one bound or one loop of the reader, the model or the figures.  Blocks are deflated as far as
 * zlib can, so that a file of 1 MB holds up to 135 million records.  With SEED, random times follow the first RECORDS
 * records.  They cannot be deflated, so the rest of the file holds about a record a byte.
 */
#include <stdlib.h>
#include <string.h>

#include "make_trace.h"

#define BLOCK SQT_BLOCK_RECORDS
#define SECOND MAKE_TICKS_PER_SECOND
#define MINUTE (60 * SECOND)

struct maker {
    struct make_bytes bytes;
    struct sqt_identity who;
    struct sqt_record records[BLOCK];
    size_t count;
    uint64_t first, time, step; /* ticks between records */
    uint64_t n;                 /* calls so far */
    uint64_t random;
    uint64_t seed, dense; /* after so many records, times are random; UINT64_MAX: never */
    int enough;           /* however few bytes that are */
};

static uint64_t
draw(struct maker *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

static void
flush(struct maker *m)
{
    if (m->count)
        make_block(&m->bytes, &m->who, m->first, m->records, m->count, MAKE_ZLIB | MAKE_SMALL);
    m->first += m->count;
    m->count = 0;
}

/* Room for a unit. */
static void
unit(struct maker *m)
{
    if (m->count + SQT_UNIT_MAX > BLOCK)
        flush(m);
}

static struct sqt_record *
put(struct maker *m, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    unit(m);
    struct sqt_record *const r = &m->records[m->count++];
    m->time += m->step + (m->first + m->count > m->dense ? draw(m) % 128 : 0);
    *r = (struct sqt_record){.time = m->time, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
    return r;
}

static void
put_part(struct maker *m, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    struct sqt_record *const r = &m->records[m->count++];
    *r = (struct sqt_record){
        .time = m->time, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event, .flags = SQT_FLAG_PART};
    struct sqt_record *head = r;
    while (head->flags & SQT_FLAG_PART)
        --head;
    ++head->flags;
}

/* ---- transactions ---- */

static void
end_request(struct maker *m, uint64_t id, uint64_t tag, uint64_t object)
{
    put(m, SQT_EV_XACT_END, id, tag, 200);
    put_part(m, SQT_EV_PART_XACT_SIZES, 1000, 1000, 1);
    put_part(m, SQT_EV_PART_XACT_FLAGS, object, 0, 0);
}

static void
begins(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, m->n, 0, 0);
}
static void
one_connection(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, m->n, 7, 0);
}
static void
with_clients(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, m->n, m->n, 0);
}
static void
collisions(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, m->n << 44, 0, 0);
}

/* 30,000 of one id, which end in the order in which they began: each is the last of its chain. */
static void
one_id(struct maker *m)
{
    const uint64_t i = m->n % 60000;
    if (i < 30000)
        put(m, SQT_EV_XACT_BEGIN, 5, i + 1, 0);
    else
        put(m, SQT_EV_CONN_CLOSE, i - 29999, 0, 0);
    if (i == 29999)
        put(m, SQT_EV_LOST, m->time, 1, 1);
}

static void
renamed(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, SQT_UNNAMED | m->n, 0, 0);
    put(m, SQT_EV_XACT_NAMED, 5, SQT_UNNAMED | m->n, 1);
}

static void
losses(struct maker *m)
{
    if (m->n < 50000)
        put(m, SQT_EV_XACT_BEGIN, m->n, m->n, 0);
    else
        put(m, SQT_EV_LOST, m->time, 1, 1);
    if (m->n % 3 == 0)
        put(m, SQT_EV_CLIENT_READ, m->n % 50000, 10, 0);
}

static void
parsed(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, m->n, 7, 0);
    put(m, SQT_EV_REQUEST_PARSED, 7, 10, 0);
}

static void
interim(struct maker *m)
{
    if (m->n % 100000 == 1)
        put(m, SQT_EV_XACT_BEGIN, 9, 0, 0);
    put(m, SQT_EV_SERVER_READ, 9, 10, 0);
    put(m, m->n % 4000 < 3000 ? SQT_EV_RETRY : SQT_EV_SERVER_1XX, 9, 0, 100);
}

/* No attack: 100,000 requests that are open at once, and end. */
static void
crowd(struct maker *m)
{
    for (unsigned i = 1; i <= 100000; ++i) {
        put(m, SQT_EV_CONN_ACCEPT, i, 0, 0);
        put(m, SQT_EV_XACT_BEGIN, i, i, 0);
        put(m, SQT_EV_ACCESS_BEGIN, i, 0, 0);
    }
    for (unsigned i = 1; i <= 100000; ++i) {
        end_request(m, i, 2, i);
        put(m, SQT_EV_CONN_CLOSE, i, 0, 0);
    }
    m->enough = 1;
}

/* Each request is in a minute of its own: more minutes than table finding_minutes has. */
static void
minutes(struct maker *m)
{
    m->enough = m->n >= 160000;
    put(m, SQT_EV_XACT_BEGIN, 1, 0, 0);
    end_request(m, 1, 2, 1);
}

/* Harmful characters in a tag, a cache_dir and a method, which begins as a comment does. */
static void
texts_of_all_kinds(struct maker *m)
{
    make_text(&m->bytes, "def\t2\t7\tTCP_\xc2\x9b"
                         "31m\x9b"
                         "2J\x1b[0m\x7f\xe2\x80\xaegnp\xe2\x80\xa8\xe2\x81\xa6\n"
                         "def\t1\t2000\tufs /\xc2\x9b\x07\n"
                         "def\t3\t7\t#G\x9b\xff\rT\n");
    put(m, SQT_EV_XACT_BEGIN, SQT_UNNAMED | 1, 0, 0);
    put(m, SQT_EV_XACT_NAMED, 1, SQT_UNNAMED | 1, 7);
    put(m, SQT_EV_SWAPIN_OPEN, 1, 1, 2000);
    put(m, SQT_EV_SWAPIN_READ, 1, 0, 10);
    put(m, SQT_EV_SWAPIN_READ_DONE, 1, 0, 10);
    put(m, SQT_EV_SWAPIN_CLOSED, 1, 0, 0);
    end_request(m, 1, 7, 1);
    m->enough = 1;
}

/* A method of 4 MB, which all requests have. */
static void
long_text(struct maker *m)
{
    if (!m->first && !m->count) {
        static const char definition[] = "def\t3\t9\t";
        const size_t size = 4u << 20, begin = sizeof(definition) - 1;
        char *const text = malloc(size);
        memset(text, 'a', size);
        memcpy(text, definition, begin);
        text[size - 1] = '\n';
        make_frame(&m->bytes, SQT_FRAME_TEXT, 0, text, size);
        free(text);
    }
    put(m, SQT_EV_XACT_BEGIN, SQT_UNNAMED | 1, 0, 0);
    put(m, SQT_EV_XACT_NAMED, 1, SQT_UNNAMED | 1, 9);
    end_request(m, 1, 2, 1);
}

static void
clients(struct maker *m)
{
    put(m, SQT_EV_CONN_ACCEPT, m->n, 0, 0);
}
static void
attempts(struct maker *m)
{
    put(m, SQT_EV_CONNECT_BEGIN, 0, m->n, 1);
}
static void
helpers(struct maker *m)
{
    put(m, SQT_EV_HELPER_BEGIN, m->n, m->n, 1);
}

/* Queries of every duration, to ever other name servers. */
static void
queries(struct maker *m)
{
    put(m, SQT_EV_QUERY_END, m->n, m->time - (UINT64_C(1) << m->n % 36), (uint32_t)(m->n % 1000));
}
/* All for one transaction, whose request never ends. */
static void
queries_of_one(struct maker *m)
{
    put(m, SQT_EV_QUERY_END, 7, m->time - (UINT64_C(1) << m->n % 36), (uint32_t)(m->n % 1000));
}
static void
digests(struct maker *m)
{
    put(m, SQT_EV_DIGEST_FETCH_BEGIN, m->n, 0, 1);
}

/* Whole requests, each of another object, with a blip in it. */
static void
objects(struct maker *m)
{
    put(m, SQT_EV_XACT_BEGIN, m->n, 0, 0);
    end_request(m, m->n, 1 + m->n % 3, m->n * UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- disks ---- */

static void
swaps(struct maker *m)
{
    put(m, SQT_EV_SWAPIN_OPEN, m->n, 0, 0);
}

static void
blocks(struct maker *m)
{
    if (m->n == 1)
        put(m, SQT_EV_SWAPOUT_OPEN, 1, 0, 0);
    put(m, SQT_EV_SWAPOUT_WRITE, 1, m->n * 4096, 4096);
}

/* Of many blocks under way the newest comes first, and then one that nobody asked for. */
static void
blocks_backwards(struct maker *m)
{
    const uint64_t i = m->n % 100000;
    if (m->n == 1)
        put(m, SQT_EV_SWAPIN_OPEN, 1, 0, 0);
    if (i < 50000) {
        put(m, SQT_EV_SWAPIN_READ, 1, i * 4096, 4096);
    } else {
        put(m, SQT_EV_SWAPIN_READ_DONE, 1, (99999 - i) * 4096, 4096);
        put(m, SQT_EV_SWAPIN_READ_DONE, 1, 1, 4096);
    }
}

static void
swaps_with_blocks(struct maker *m)
{
    put(m, SQT_EV_SWAPIN_OPEN, m->n, 0, (uint32_t)(m->n % 5000));
    put(m, SQT_EV_SWAPIN_READ, m->n, 0, 4096);
    put(m, SQT_EV_SWAPIN_READ_DONE, m->n, 0, 4096);
}

static void
places(struct maker *m)
{
    swaps_with_blocks(m);
    put(m, SQT_EV_SWAPIN_CLOSED, m->n, 0, 0);
    put(m, SQT_EV_UNLINK, m->n % 5000, 0, 0);
    put(m, SQT_EV_UNLINKED, m->n % 5000, 0, 0);
}

static void
operations(struct maker *m)
{
    put(m, SQT_EV_DISKOP_QUEUED, m->n, 0, 0);
}

static void
reconfigured(struct maker *m)
{
    put(m, m->n < 100000 ? SQT_EV_DISKOP_QUEUED : SQT_EV_RECONFIGURE, m->n, 0, 0);
}

/* Requests that wait for blocks, charged to and fro: what waterfall, block-comb and the trace-event JSON keep. */
static void
waiting(struct maker *m)
{
    const uint64_t i = m->n % 60000 + 1;
    if (m->n <= 60000) {
        put(m, SQT_EV_XACT_BEGIN, i, 0, 0);
        put(m, SQT_EV_SWAPIN_OPEN, i, i, 0);
    }
    put(m, SQT_EV_SWAPIN_READ, i, m->n, 4096);
    put(m, SQT_EV_SWAPIN_READ_DONE, i, m->n, 4096);
}

/* ---- time ---- */

/* A request each quarter of a time group. */
static void
groups(struct maker *m)
{
    m->time += 5 * MINUTE;
    places(m);
    objects(m);
}

/* The next record is seven months later, as often as a clock of 9 years allows. */
static void
ages(struct maker *m)
{
    if (m->time < MAKE_START + 140000 * MINUTE * 24)
        m->time += 300000 * MINUTE;
    places(m);
    objects(m);
}

/* ---- samples, system calls ---- */

static void
samples(struct maker *m)
{
    put(m, SQT_EV_SAMPLE, m->n, m->time, (uint32_t)(m->n % 20000));
}

static void
calls(struct maker *m)
{
    put(m, SQT_EV_CALLS_TOLD, 0, m->time, 1);
    put(m, SQT_EV_CALLS, 1, 10, (uint32_t)(m->n % 32));
    put_part(m, SQT_EV_PART_CALLS, 0, 10, (uint32_t)m->n);
    put(m, SQT_EV_CALLS_TOLD, 0, m->time, 0);
}

/* Samples of the main thread that follow each other, each of several seconds and of something else. */
static void
main_thread(struct maker *m)
{
    static uint64_t before = MAKE_START;
    if (m->n % 100 == 0)
        put(m, SQT_EV_WAIT_BEGIN, 0, 10, 0);
    if (m->n % 100 == 0)
        put(m, SQT_EV_WAIT_END, 0, 1, 0);
    const struct sqt_record *const r = put(m, SQT_EV_LOOP_SAMPLE, before, m->time, (uint32_t)m->n);
    before = r->arg;
    put_part(m, SQT_EV_PART_LOOP_RAN, m->n << 40, UINT64_MAX, UINT32_MAX & ~1u);
    put_part(m, SQT_EV_PART_LOOP_HELD, UINT64_MAX, UINT64_MAX, (uint32_t)m->n);
    put_part(m, SQT_EV_PART_LOOP_IN, m->n % 3, m->n % 7, (uint32_t)m->n);
}

/* ---- anything ---- */

static void
anything(struct maker *m)
{
    const unsigned more = draw(m) % 4 ? 0 : (unsigned)(draw(m) % 3);
    const uint64_t word = draw(m);
    const uint64_t values[] = {word, word % 16, UINT64_MAX - word % 4, (uint64_t)INT64_MAX - word % 4, word % 16};
    put(m, 1 + draw(m) % (SQT_EVENTS - 1), values[draw(m) % 5], values[draw(m) % 5], (uint32_t)values[draw(m) % 5]);
    for (unsigned i = 0; i < more; ++i)
        put_part(m, 1 + draw(m) % (SQT_EVENTS - 1), values[draw(m) % 5], values[draw(m) % 5],
                 (uint32_t)values[draw(m) % 5]);
}

/* ---- events and definitions ---- */

static void
unknown_events(struct maker *m)
{
    put(m, (unsigned)(m->n % 256), m->n, 0, 0);
}

static void
definitions(struct maker *m)
{
    char lines[4096];
    size_t size = 0;
    for (unsigned i = 0; i < 128; ++i)
        size += (size_t)sprintf(lines + size, "def\t1\t%u\t%c\n", (unsigned)(m->n * 128 + i), 'a' + i % 26);
    make_frame(&m->bytes, SQT_FRAME_TEXT, 0, lines, size);
}

/* ---- frames ---- */

/* Heads of frames, each of which claims what its place allows; the sums are wrong. */
static void
false_frame(struct maker *m, uint32_t size)
{
    const struct sqt_frame f = {SQT_FRAME_MAGIC, SQT_FRAME_TEXT, 0, size, 0x12345678};
    make_append(&m->bytes, &f, sizeof(f));
}

static void
magics(struct maker *m)
{
    false_frame(m, (512u << 10) - (uint32_t)m->seed * 4099);
}
static void
large_magics(struct maker *m)
{
    false_frame(m, SQT_FRAME_MAX - 64 - (uint32_t)(m->n % 1000));
}

static void
magics_between(struct maker *m)
{
    false_frame(m, (256u << 10) - (uint32_t)m->seed * 4099);
    make_frame(&m->bytes, SQT_FRAME_TEXT, 0, "x\n", 2);
}

static void
crumbs(struct maker *m)
{
    make_append(&m->bytes, "x", 1);
    make_frame(&m->bytes, SQT_FRAME_TEXT, 0, "x\n", 2);
}

static void
bare_magics(struct maker *m)
{
    const uint32_t magic = SQT_FRAME_MAGIC;
    make_append(&m->bytes, &magic, sizeof(magic));
}

/* ---- segments ---- */

static void
many(struct maker *m)
{
    struct maker other = *m;
    memset(&m->who, 0, sizeof(m->who));
    make_identity(&m->who, (unsigned)m->n, 1);
    memcpy(m->who.ring_id, &m->n, sizeof(m->n));
    make_header(&m->bytes, &m->who, 0);
    for (unsigned i = 0; i < 8; ++i)
        put(m, SQT_EV_XACT_BEGIN, i, i, 0);
    m->first = 0;
    flush(m);
    m->time = other.time + 1;
    m->first = 0;
}

/* Each is of another service, and asks servers of its own: what is kept for each proxy is kept for each of them. */
static void
proxies(struct maker *m)
{
    char text[1024], *p = text;
    const uint64_t time = m->time;
    memset(&m->who, 0, sizeof(m->who));
    make_identity(&m->who, (unsigned)m->n, 0);
    memcpy(m->who.ring_id, &m->n, sizeof(m->n));
    snprintf(m->who.service, sizeof(m->who.service), "service%u", (unsigned)m->n);
    make_header(&m->bytes, &m->who, 0);
    p += sprintf(p, "def\t2\t2\tTCP_MISS\ndef\t3\t1\tGET\n");
    for (unsigned i = 0; i < 8; ++i)
        p += sprintf(p, "def\t12\t%u\ts%u\n", i, i);
    make_text(&m->bytes, text);
    for (unsigned i = 0; i < 64; ++i) {
        put(m, SQT_EV_XACT_BEGIN, i + 1, 0, 0);
        put(m, SQT_EV_FORWARD_BEGIN, i + 1, 0, 0);
        put(m, SQT_EV_CONNECT_BEGIN, i + 1, i + 1, 0);
        put_part(m, SQT_EV_PART_SERVER, 0, 0, i % 8);
        put(m, SQT_EV_CONNECT_END, i + 1, i + 1, 0);
        put(m, SQT_EV_FORWARD_END, i + 1, 0, 1);
        end_request(m, i + 1, 2, i * 1024);
    }
    flush(m);
    m->time = time + 1;
    m->first = 0;
}

static void
headers(struct maker *m)
{
    struct sqt_segment_header h = {.version = SQT_VERSION, .header_size = sizeof(h)};
    memcpy(h.magic, SQT_SEGMENT_MAGIC, sizeof(h.magic));
    memcpy(h.identity.ring_id, &m->n, sizeof(m->n));
    make_append(&m->bytes, &h, 48);
}

static void together(struct maker *m);
static void everything(struct maker *m);
static void in_turn(struct maker *m);

static const struct kind {
    const char *name;
    void (*make)(struct maker *m);
    uint64_t step; /* 0: it is not about records, and its segment has no texts; UINT64_MAX: nor a header */
} kinds[] = {
    {"begins", begins, 1},
    {"one-connection", one_connection, 1},
    {"with-clients", with_clients, 1},
    {"collisions", collisions, 1},
    {"one-id", one_id, 1},
    {"renamed", renamed, 1},
    {"losses", losses, 1},
    {"parsed", parsed, 1},
    {"interim", interim, 30},
    {"crowd", crowd, 300},
    {"minutes", minutes, 60 * SECOND},
    {"texts", texts_of_all_kinds, 300},
    {"long-text", long_text, 300},
    {"clients", clients, 1},
    {"attempts", attempts, 1},
    {"helpers", helpers, 1},
    {"queries", queries, 1},
    {"queries-of-one", queries_of_one, 1},
    {"digests", digests, 1},
    {"objects", objects, 300},
    {"swaps", swaps, 1},
    {"blocks", blocks, 1},
    {"blocks-backwards", blocks_backwards, 30},
    {"swaps-with-blocks", swaps_with_blocks, 30},
    {"places", places, 3000},
    {"operations", operations, 1},
    {"reconfigured", reconfigured, 1},
    {"waiting", waiting, 30},
    {"groups", groups, 30},
    {"ages", ages, 30},
    {"samples", samples, 300},
    {"calls", calls, 30},
    {"main-thread", main_thread, UINT64_C(15000000000)},
    {"main-thread-often", main_thread, 30000},
    {"anything", anything, 30},
    {"unknown-events", unknown_events, 1},
    {"together", together, 30},
    {"everything", everything, 30},
    {"in-turn", in_turn, 1},
    {"definitions", definitions, 0},
    {"magics", magics, 0},
    {"large-magics", large_magics, 0},
    {"magics-between", magics_between, 0},
    {"crumbs", crumbs, 0},
    {"bare-magics", bare_magics, 0},
    {"many", many, UINT64_MAX},
    {"proxies", proxies, UINT64_MAX},
    {"headers", headers, UINT64_MAX},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* What stays open in the model and what figures keep, and how many calls fill it. */
static const struct fill {
    void (*make)(struct maker *);
    unsigned calls;
} fill[] = {
    {begins, 300000},
    {with_clients, 300000},
    {clients, 300000},
    {attempts, 300000},
    {helpers, 300000},
    {digests, 300000},
    {swaps, 300000},
    {blocks, 300000},
    {operations, 300000},
    {waiting, 300000},
    {places, 30000},
    {objects, 2200000},
    {collisions, 30000},
    {renamed, 30000},
    {parsed, 300000},
    {interim, 100000},
    {swaps_with_blocks, 300000},
    {groups, 70000},
    {samples, 100000},
    {calls, 30000},
    {unknown_events, 1000},
};
#define FILL (sizeof(fill) / sizeof(*fill))

/* Kinds that end what others began as well. */
static void (*const all[])(struct maker *) = {
    together, together, together, one_id, losses, blocks_backwards, reconfigured, ages, anything,
};
#define ALL (sizeof(all) / sizeof(*all))

/* Each kind counts its own calls. */
static void
make_counted(struct maker *m, void (*make)(struct maker *), uint64_t *calls)
{
    const uint64_t n = m->n;
    m->n = ++*calls;
    make(m);
    m->n = n;
}

static void
together(struct maker *m)
{
    static uint64_t calls[FILL];
    const unsigned i = (unsigned)(draw(m) % FILL);
    make_counted(m, fill[i].make, &calls[i]);
}

static void
everything(struct maker *m)
{
    static uint64_t calls[ALL];
    const unsigned i = (unsigned)(draw(m) % ALL);
    make_counted(m, all[i], &calls[i]);
}

/* One kind until its bound is met, then the next: the bounds of all are met at once.  The seed says which comes first. */
static void
in_turn(struct maker *m)
{
    static uint64_t calls[FILL];
    static unsigned turn;
    const unsigned i = (unsigned)(turn + 7 * m->seed) % FILL;
    make_counted(m, fill[i].make, &calls[i]);
    if (calls[i] % fill[i].calls == 0)
        ++turn;
}

/* Texts that records of many kinds speak of. */
static char *
texts(unsigned sampled)
{
    static const char *const values[] = {"cpu_user_us", "reads", "memory_bytes", "no_such_value"};
    char *const text = malloc(4u << 20), *p = text;
    p += sprintf(p, "def\t2\t1\tTCP_HIT\ndef\t2\t2\tTCP_MISS\ndef\t2\t3\tTCP_MEM_HIT\ndef\t3\t1\tGET\n");
    for (unsigned i = 0; i < 1000; ++i)
        p += sprintf(p, "def\t1\t%u\tufs%u /cache\n", i, i % 50);
    for (unsigned i = 0; i < sampled; ++i)
        p += sprintf(p, "def\t11\t%u\t%s %u %s\n", i, i % 3 ? "disk" : "squid", i / 4, values[i % 4]);
    for (unsigned i = 0; i < 1000; ++i)
        p += sprintf(p, "def\t13\t%u\tname_server 192.0.2.%u\n", i, i);
    for (unsigned i = 0; i < 32; ++i)
        p += sprintf(p, "def\t8\t%u\tcall%u\n", i, i);
    return text;
}

int
main(int argc, char **argv)
{
    static struct maker m;
    const struct kind *kind = NULL;
    for (unsigned i = 0; i < KINDS; ++i)
        if (argc < 2)
            puts(kinds[i].name);
        else if (strcmp(argv[1], kinds[i].name) == 0)
            kind = &kinds[i];
    if (argc < 2)
        return 0;
    if ((argc != 4 && argc != 6) || !kind) {
        fputs("usage: make_hostile [KIND BYTES FILE [SEED RECORDS]]\n", stderr);
        return 2;
    }
    const size_t size = strtoul(argv[2], NULL, 10);
    char *const text = texts(kind->make == samples ? 20000 : 1000);
    make_identity(&m.who, 1, 1);
    m.time = MAKE_START;
    m.step = kind->step == UINT64_MAX ? 1 : kind->step;
    m.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    m.dense = argc > 4 ? strtoull(argv[5], NULL, 10) : UINT64_MAX;
    m.random = 88172645463325252u + m.seed;
    if (kind->step != UINT64_MAX)
        make_header(&m.bytes, &m.who, 0);
    if (m.step && kind->step != UINT64_MAX)
        make_text(&m.bytes, text);
    free(text);
    do {
        ++m.n;
        kind->make(&m);
    } while (m.bytes.size < size && !m.enough);
    flush(&m);
    make_file(argv[3], &m.bytes);
    make_free(&m.bytes);
    return 0;
}
