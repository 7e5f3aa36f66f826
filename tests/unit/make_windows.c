/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_windows.c - writes a trace of three kids for windows.py: segments, blocks of any size, a restart, losses, steps of clocks.
 *
 * usage: make_windows DIRECTORY RECORDS [shared | many | years]
 *
 * DIRECTORY is made.  Each process has so many records, in three segments.  Kid 1 runs twice, and some of its
 * transactions last for many blocks.  Kid 2 loses records again and again, and the clock of some of its blocks is ahead of that
 * of the blocks behind them.  Kid 3 sees steps of the time of day, and some of
 * its blocks are from around a step of its clock.
 *
 * shared: only kid 1 is there, once, and every fourth block repeats the last records of the block before it, as where the
 * ring of a process that was killed was saved beside its last segment.  The clocks of these blocks are ahead, too.
 *
 * many: there are more kids at a time than a reader opens.
 *
 * years: each block claims to last for four years, and to begin when the first one did.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/events.h"
#include "make_trace.h"

#define SEGMENTS 3
#define LOST_EVERY 7   /* blocks */
#define LOST 1200      /* records */
#define STEP_EVERY 11  /* blocks */
#define LONG 8         /* transactions that begin with the trace of kid 1 */
#define LONG_EVERY 5   /* blocks, in which one of them ends */
#define BEFORE 32      /* records that come before those of a block, at most */
#define AHEAD_EVERY 6  /* blocks */
#define SHARED_EVERY 4 /* blocks */
#define SHARED 100     /* records that a block repeats, at most */
#define MANY 52        /* kids */
#define YEARS 265      /* blocks, so that a search begins where sums of their times overflow */
#define YEARS_TICKS (UINT64_C(1) << 47)
#define SHARED_AHEAD 30000
#define AHEAD 1000000 /* ns by which such a block's clock is ahead of the next block's */

static struct sqt_record records[SQT_BLOCK_RECORDS], renewed[SQT_BLOCK_RECORDS];

/* One process, and how far its ring is. */
struct process {
    struct sqt_identity who;
    struct make_traffic traffic;
    uint64_t later; /* ticks after the start of the trace */
    uint64_t head, lost, marks, last;
    uint64_t random;
    unsigned blocks;
    int shares;
};

/* The end of the last block. */
static struct sqt_record last[SHARED];

static uint64_t
windows_random(struct process *p, uint64_t below)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return p->random % below;
}

/* The same records, so many ticks later. */
static void
windows_renew(struct process *p, size_t count)
{
    for (size_t i = 0; i < count;) {
        const unsigned n = 1 + (records[i].flags & SQT_FLAG_MORE);
        make_traffic_renew(renewed + i, records + i, n, records[i].time + p->later);
        for (unsigned part = 0; part < n; ++part)
            renewed[i + part].time += p->later;
        i += n;
    }
    memcpy(records, renewed, count * sizeof(*records));
}

static size_t
windows_make(struct process *p, size_t room)
{
    const size_t count = make_traffic_records(&p->traffic, records, room);
    windows_renew(p, count);
    return count;
}

static struct sqt_record
windows_record(uint64_t time, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    return (struct sqt_record){.time = time, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
}

/* Transactions that last for many blocks, as tunnels do.  Their ids are lower than those of all others. */
static size_t
windows_long(struct process *p, struct sqt_record *first)
{
    const unsigned ended = p->blocks / LONG_EVERY;
    const uint64_t time = p->last ? p->last : MAKE_START + p->later;
    size_t count = 0;
    for (uint64_t id = 1; !p->blocks && id <= LONG; ++id) {
        first[count++] = windows_record(time, SQT_EV_XACT_BEGIN, SQT_UNNAMED | id, 0, 0);
        first[count++] = windows_record(time, SQT_EV_XACT_NAMED, id, SQT_UNNAMED | id, 1);
    }
    if (!p->blocks || p->blocks % LONG_EVERY || ended > LONG)
        return count;
    first[0] = windows_record(time, SQT_EV_XACT_END, ended, 1, 200);
    first[1] = windows_record(time, SQT_EV_PART_XACT_SIZES, 100, 400, 1);
    first[2] = windows_record(time, SQT_EV_PART_XACT_FLAGS, 0, 0, 0);
    make_unit(first, 3);
    return 3;
}

/* What comes before the next block: nothing, long transactions, a loss, or a step of the time of day. */
static size_t
windows_before(struct process *p, struct sqt_record *first)
{
    if (p->who.kid == 1)
        return windows_long(p, first);
    if (p->who.kid == 2 && p->blocks % LOST_EVERY == LOST_EVERY - 1) {
        const size_t lost = windows_make(p, LOST);
        const uint64_t from = records[0].time, until = records[lost - 1].time;
        p->lost += lost;
        ++p->marks;
        *first = windows_record(until, SQT_EV_LOST, from, lost, SQT_LOSS_RING_FULL);
        return 1;
    }
    if (p->who.kid == 3 && p->blocks % STEP_EVERY == STEP_EVERY - 1) {
        *first = windows_record(p->last, SQT_EV_CLOCK_STEP, p->last, 1000000, 5);
        return 1;
    }
    return 0;
}

/* A block that begins with records of the last one.  Returns how many. */
static size_t
windows_share(const struct process *p, size_t count)
{
    size_t from = 0;
    if (!p->shares || p->blocks % SHARED_EVERY != SHARED_EVERY - 1)
        return 0;
    while (last[from].flags & SQT_FLAG_PART)
        ++from;
    memmove(records + SHARED - from, records, count * sizeof(*records));
    memcpy(records, last + from, (SHARED - from) * sizeof(*records));
    return SHARED - from;
}

static void
windows_block(struct process *p, struct make_bytes *bytes)
{
    struct sqt_record first[BEFORE];
    const size_t before = windows_before(p, first);
    size_t count = windows_make(p, 300 + windows_random(p, 9000));
    memmove(records + before, records, count * sizeof(*records));
    memcpy(records, first, before * sizeof(*records));
    count += before;
    const size_t shared = windows_share(p, count);
    count += shared;
    memcpy(last, records + count - SHARED, sizeof(last));
    p->last = records[count - 1].time;
    struct sqt_anchor from = make_anchor(&p->who, records[0].time), to = make_anchor(&p->who, p->last);
    struct sqt_pack_table table;
    sqt_pack_table_init(&table);
    if (p->who.kid == 3 && p->blocks % STEP_EVERY == STEP_EVERY / 2)
        make_block_with(bytes, &p->who, p->head, records, count, MAKE_ZSTD, SQT_FRAME_SUSPECT, &to, &from, &table);
    else if (shared || (p->who.kid == 2 && p->blocks % AHEAD_EVERY == AHEAD_EVERY - 1)) {
        from.monotonic_ns += shared ? SHARED_AHEAD : AHEAD;
        to.monotonic_ns += shared ? SHARED_AHEAD : AHEAD;
        make_block_with(bytes, &p->who, p->head - shared, records, count, MAKE_ZSTD, 0, &from, &to, &table);
    } else
        make_block(bytes, &p->who, p->head, records, count, MAKE_ZSTD);
    p->head += count - shared;
    ++p->blocks;
}

static void
windows_process(unsigned seed, uint32_t kid, uint64_t later, uint64_t wanted, int shares)
{
    static struct process p;
    memset(&p, 0, sizeof(p));
    make_identity(&p.who, seed, kid);
    make_traffic_init(&p.traffic, seed);
    p.traffic.xact += LONG;
    p.who.start = make_anchor(&p.who, MAKE_START + later);
    p.later = later;
    p.shares = shares;
    p.random = seed * 77 + 1;
    for (unsigned s = 0; s < SEGMENTS; ++s) {
        struct make_bytes bytes = {0};
        char path[64];
        make_header_for(&bytes, &p.who, s, MAKE_ZSTD);
        make_text(&bytes, make_traffic_texts());
        while (p.head < (s + 1) * wanted / SEGMENTS)
            windows_block(&p, &bytes);
        const struct sqt_totals totals = {.head = p.head, .lost = p.lost, .marks = p.marks, .clean = s == SEGMENTS - 1};
        struct sqt_totals copy = totals;
        make_end(&bytes, &p.who, &copy);
        snprintf(path, sizeof(path), "squid.%u.%u.%06u.sqt", (unsigned)kid, seed, s);
        make_file(path, &bytes);
        make_free(&bytes);
    }
}

static void
windows_years(void)
{
    struct sqt_identity who;
    struct make_bytes bytes = {0};
    struct sqt_pack_table table;
    make_identity(&who, 1, 1);
    who.ticks_per_second = 1000000;
    sqt_pack_table_init(&table);
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    for (uint64_t i = 0; i < YEARS; ++i) {
        struct sqt_anchor from = who.start;
        from.ticks = who.start.ticks + i * YEARS_TICKS;
        const struct sqt_record pair[] = {
            windows_record(from.ticks, SQT_EV_CONN_CLOSE, i, 0, 0),
            windows_record(from.ticks + YEARS_TICKS - 1, SQT_EV_CONN_CLOSE, i, 0, 0),
        };
        make_block_with(&bytes, &who, 2 * i, pair, 2, MAKE_ZLIB, 0, &from, &from, &table);
    }
    const struct sqt_totals totals = {.head = UINT64_C(2) * YEARS, .clean = 1};
    make_end(&bytes, &who, &totals);
    make_file("squid.1.1.000000.sqt", &bytes);
    make_free(&bytes);
}

int
main(int argc, char **argv)
{
    const int shares = argc == 4 && strcmp(argv[3], "shared") == 0, many = argc == 4 && strcmp(argv[3], "many") == 0;
    const int years = argc == 4 && strcmp(argv[3], "years") == 0;
    if ((argc != 3 && !shares && !many && !years) || mkdir(argv[1], 0777) != 0 || chdir(argv[1]) != 0) {
        fputs("usage: make_windows DIRECTORY RECORDS [shared | many | years]\n", stderr);
        return 2;
    }
    const uint64_t wanted = strtoull(argv[2], NULL, 10);
    for (unsigned kid = 1; many && kid <= MANY; ++kid)
        windows_process(kid, kid, 0, wanted, 0);
    if (years)
        windows_years();
    if (many || years)
        return 0;
    windows_process(1, 1, 0, wanted, shares);
    if (shares)
        return 0;
    windows_process(2, 2, MAKE_TICKS_PER_SECOND, wanted, 0);
    windows_process(3, 3, 2 * MAKE_TICKS_PER_SECOND, wanted, 0);
    windows_process(4, 1, wanted / 20000 * MAKE_TICKS_PER_SECOND, wanted, 0);
    return 0;
}
