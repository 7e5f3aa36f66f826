/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_fleet.c - traces of four proxies in two cities, two days each, some of them ill.  doc/fleet.md asks about them.
 *
 * usage: make_fleet FOLDER
 *        make_fleet FOLDER twelve
 *
 * Writes FOLDER/HOST-DAY.sqt.  Each has 600 requests: a third are misses of two origins, a third hits from two
 * cache_dirs, a third hits from memory.  A request begins each 300 ms.
 *
 *   origin-far answers after 4 ms to Paris, and after 260 ms to Berlin
 *   on the second day, cache_dir aufs:1 of proxy-2.paris.example takes 30 ms for a block; all others take 1 ms
 *   on the second day, proxy-1.berlin.example lost 5,000 records
 *   on the second day, each tenth miss of proxy-2.berlin.example gets an error page after 290 ms
 *
 * With `twelve` it writes those of proxy-1 to proxy-12.example, each into a folder of its own, and the second day is a week
 * after the first.  Three are ill on that day:
 *
 *   proxy-3.example   a block of cache_dir aufs:1 takes 30 ms
 *   proxy-7.example   origin-far answers after 260 ms, and before that after 4 ms
 *   proxy-11.example  each second miss gets an error page
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/events.h"
#include "make_trace.h"

#define MS UINT64_C(3000000) /* ticks */
#define REQUESTS 600
#define EACH_MOST 40                          /* records of a request */
#define BASE_NS UINT64_C(1795428000000000000) /* Monday, 2026-11-23, 10:00 UTC */
#define DAY_NS UINT64_C(86400000000000)

enum { TAG_DISK = 1, TAG_MEMORY, TAG_MISS };
static const char fleet_texts[] =
    "def\t1\t0\taufs /cache/0\ndef\t1\t1\taufs /cache/1\n"
    "def\t2\t1\tTCP_HIT\ndef\t2\t2\tTCP_MEM_HIT\ndef\t2\t3\tTCP_MISS\ndef\t3\t1\tGET\ndef\t4\t1\tdirect\n"
    "def\t12\t0\torigin-near\ndef\t12\t1\torigin-far\n";

struct fleet_host {
    const char *name;
    unsigned far_ms;        /* what origin-far takes */
    unsigned slow_block_ms; /* of cache_dir 1 on the second day */
    unsigned lost;          /* records on the second day */
    unsigned failing;       /* each such miss of the second day gets an error page; 0: none */
    unsigned near_before;   /* origin-far is as near on the first day as the other one */
};

static const struct fleet_host fleet[] = {
    {"proxy-1.paris.example", 4, 1, 0, 0, 0},
    {"proxy-2.paris.example", 4, 30, 0, 0, 0},
    {"proxy-1.berlin.example", 260, 1, 5000, 0, 0},
    {"proxy-2.berlin.example", 260, 1, 0, 10, 0},
};
#define HOSTS (sizeof(fleet) / sizeof(*fleet))
#define TWELVE 12

/* A proxy on one day. */
struct fleet_day {
    const struct fleet_host *host;
    unsigned day;
    struct sqt_record records[REQUESTS * EACH_MOST];
    size_t count;
    uint64_t time;
};

static void
fleet_put(struct fleet_day *d, uint64_t after, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    d->time += after;
    d->records[d->count++] =
        (struct sqt_record){.time = d->time, .event = (uint16_t)event, .id = id, .arg = arg, .aux = aux};
}

/* What belongs to the record before. */
static void
fleet_part(struct fleet_day *d, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    fleet_put(d, 0, event, id, arg, aux);
    make_unit(&d->records[d->count - 2], 2);
}

static void
fleet_begin(struct fleet_day *d, uint64_t xact)
{
    const uint64_t made = SQT_UNNAMED | xact;
    fleet_put(d, MS / 100, SQT_EV_REQUEST_PARSED, xact, 300, 0);
    fleet_put(d, 0, SQT_EV_XACT_BEGIN, made, xact, 0);
    fleet_put(d, 0, SQT_EV_XACT_NAMED, xact, made, 1);
    fleet_put(d, MS / 50, SQT_EV_LOOKUP_BEGIN, xact, 0, 0);
    fleet_put(d, MS / 50, SQT_EV_LOOKUP_END, xact, xact, 1);
}

static void
fleet_end(struct fleet_day *d, uint64_t xact, unsigned tag, uint32_t status)
{
    fleet_put(d, MS / 20, SQT_EV_REPLY_WRITE, xact, 9000, 1);
    fleet_put(d, MS / 10 + xact % 7 * MS / 100, SQT_EV_REPLY_WRITTEN, xact, 9000, 0);
    fleet_put(d, 0, SQT_EV_XACT_END, xact, tag, status);
    fleet_put(d, 0, SQT_EV_PART_XACT_SIZES, 8700, 9000, tag == TAG_MISS);
    fleet_put(d, 0, SQT_EV_PART_XACT_FLAGS, xact, xact, status == 503 ? SQT_XACT_ERROR_PAGE : 0);
    make_unit(&d->records[d->count - 3], 3);
}

static void
fleet_miss(struct fleet_day *d, uint64_t xact)
{
    const unsigned far = xact / 3 % 2, fails = d->day && d->host->failing && xact / 3 % d->host->failing == 0;
    const uint64_t wait = fails ? 290 : far ? (d->host->near_before && !d->day ? 4 : d->host->far_ms) : 2;
    fleet_put(d, 0, SQT_EV_FORWARD_BEGIN, xact, 0, 0);
    fleet_put(d, 0, SQT_EV_CONNECT_BEGIN, xact, 10000 + xact, 1);
    fleet_part(d, SQT_EV_PART_SERVER, 0, 0, far);
    fleet_put(d, MS / 2, SQT_EV_CONNECT_END, xact, 10000 + xact, SQT_CONNECT_OK);
    fleet_put(d, 0, SQT_EV_DISPATCH, xact, 10000 + xact, 1);
    fleet_put(d, MS / 50, SQT_EV_REQUEST_SENT, xact, 10000 + xact, 0);
    fleet_put(d, wait * MS + xact % 11 * MS / 10, SQT_EV_SERVER_READ, xact, 9000, 0);
    fleet_put(d, 0, SQT_EV_SERVER_HEADER, xact, 300, fails ? 503 : 200);
    fleet_put(d, MS / 10, SQT_EV_SERVER_DONE, xact, 10000 + xact, 0);
    fleet_put(d, 0, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_SERVER);
    fleet_end(d, xact, TAG_MISS, fails ? 503 : 200);
}

static void
fleet_disk_hit(struct fleet_day *d, uint64_t xact)
{
    const unsigned dir = xact / 3 % 2;
    const uint64_t block = dir && d->day ? d->host->slow_block_ms : 1;
    fleet_put(d, 0, SQT_EV_SWAPIN_OPEN, xact, xact, dir);
    fleet_part(d, SQT_EV_PART_SWAP_FILE, xact, xact, 0);
    fleet_put(d, MS / 50, SQT_EV_SWAPIN_OPENED, xact, 0, 0);
    for (unsigned b = 0; b < 2; ++b) {
        fleet_put(d, MS / 100, SQT_EV_SWAPIN_READ, xact, b * UINT64_C(4096), 4096);
        const uint64_t asked = d->time;
        fleet_put(d, block * MS + xact % 5 * MS / 10, SQT_EV_SWAPIN_READ_DONE, xact, b * UINT64_C(4096), 4096);
        fleet_part(d, SQT_EV_PART_DISKOP_IO, asked + MS / 100, d->time - MS / 100, 0);
    }
    fleet_put(d, 0, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_STORE);
    fleet_put(d, MS / 100, SQT_EV_SWAPIN_CLOSE, xact, 0, 0);
    fleet_put(d, 0, SQT_EV_SWAPIN_CLOSED, xact, 0, 0);
    fleet_end(d, xact, TAG_DISK, 200);
}

static void
fleet_request(struct fleet_day *d, uint64_t xact)
{
    d->time = MAKE_START + xact * 300 * MS;
    fleet_begin(d, xact);
    if (xact % 3 == 0) {
        fleet_miss(d, xact);
    } else if (xact % 3 == 1) {
        fleet_disk_hit(d, xact);
    } else {
        fleet_put(d, 0, SQT_EV_MEM_HIT, xact, 8700, 0);
        fleet_put(d, MS / 50, SQT_EV_REPLY_READY, xact, 0, SQT_REPLY_STORE);
        fleet_end(d, xact, TAG_MEMORY, 200);
    }
}

static void
fleet_write(const struct fleet_host *host, unsigned number, unsigned day, const char *folder, unsigned apart)
{
    static struct fleet_day d;
    struct sqt_identity who;
    char path[128], texts[sizeof(fleet_texts) + 64];
    d = (struct fleet_day){.host = host, .day = day, .time = MAKE_START};
    make_identity(&who, 100 + 2 * number + day, 1);
    who.start.realtime_ns = BASE_NS + day * apart * DAY_NS;
    fleet_put(&d, 0, SQT_EV_START, SQT_GROUP_DEFAULT, 4711, 32768);
    for (uint64_t xact = 1; xact <= REQUESTS; ++xact)
        fleet_request(&d, xact);
    if (day && d.host->lost)
        fleet_put(&d, MS, SQT_EV_LOST, d.time + 1, d.host->lost, SQT_LOSS_RING_FULL);
    snprintf(path, sizeof(path), "%s%s-%u.sqt", folder, d.host->name, day);
    snprintf(texts, sizeof(texts), "%sdef\t%d\t0\t%s\n", fleet_texts, SQT_DEF_HOST, d.host->name);
    make_segment_file(path, &who, 0, 0, d.records, d.count, texts, MAKE_ZLIB);
}

static void
fleet_write_twelve(void)
{
    char name[64], folder[80];
    for (unsigned number = 1; number <= TWELVE; ++number) {
        const struct fleet_host host = {.name = name,
                                        .far_ms = number == 7 ? 260 : 4,
                                        .slow_block_ms = number == 3 ? 30 : 1,
                                        .failing = number == 11 ? 2 : 0,
                                        .near_before = 1};
        snprintf(name, sizeof(name), "proxy-%u.example", number);
        snprintf(folder, sizeof(folder), "%s/", name);
        if (mkdir(name, 0755) != 0)
            exit(1);
        for (unsigned day = 0; day < 2; ++day)
            fleet_write(&host, number, day, folder, 7);
    }
}

int
main(int argc, char **argv)
{
    const int twelve = argc == 3 && strcmp(argv[2], "twelve") == 0;
    if ((argc != 2 && !twelve) || chdir(argv[1]) != 0) {
        fprintf(stderr, "usage: make_fleet FOLDER [twelve]\n");
        return 2;
    }
    if (twelve)
        fleet_write_twelve();
    for (unsigned host = 0; host < HOSTS && !twelve; ++host)
        for (unsigned day = 0; day < 2; ++day)
            fleet_write(&fleet[host], host, day, "", 1);
    return 0;
}
