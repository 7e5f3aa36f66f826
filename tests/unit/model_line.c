/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_line.c - table `findings`: a line to servers that is full, and tunnels in which nothing comes back.
 */
#include "model_found.h"

#define SECOND (1000 * MS)
enum { ORIGIN_1 = 2, ORIGIN_2 };

/* One body in twenty has so many bytes; 0: none. */
static unsigned large;

/* Each second as many bodies begin as `begin` says, each of 100,000 bytes; it brings so many bytes a second if `shared`, and
 * else each brings 20,000. */
static void
bodies(const unsigned begin[], unsigned seconds, uint32_t server, double shared)
{
    struct {
        uint64_t xact;
        unsigned size;
        double left;
    } open[400];
    unsigned count = 0;
    for (unsigned at = 0; at < seconds || count; ++at) {
        const int64_t now = (at + 1) * SECOND;
        for (unsigned i = 0; at < seconds && i < begin[at]; ++i) {
            const uint64_t xact = 100 + number++;
            const int64_t begun = now + i * MS;
            begin_xact(begun, xact, 7);
            PUT(begun, FORWARD_BEGIN, xact, 0, 0);
            PUT(begun, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, server + i % 2);
            PUT(begun, DISPATCH, xact, 50, 1);
            PUT(begun, REQUEST_SENT, xact, 50, 0);
            PUT(begun, SERVER_READ, xact, 1000, 0);
            open[count].xact = xact;
            open[count].size = large && number % 20 == 1 ? large : 100000;
            open[count].left = open[count].size - 1000;
            ++count;
        }
        unsigned kept = 0;
        const double each = shared > 0 && count ? shared / count : 20000;
        for (unsigned i = 0; i < count; ++i) {
            open[i].left -= each;
            if (open[i].left > 0) {
                open[kept++] = open[i];
                continue;
            }
            PUT(now + SECOND - 1, SERVER_READ, open[i].xact, open[i].size - 1000, 0);
            PUT(now + SECOND - 1, FORWARD_END, open[i].xact, 0, 0);
            PUT(now + SECOND - 1, XACT_END, open[i].xact, MISS, 200);
            PART(PART_XACT_SIZES, open[i].size, open[i].size, 1);
            PART(PART_XACT_FLAGS, 0xabc, 7, 0);
        }
        count = kept;
    }
}

static const unsigned more[] = {5, 5, 5, 5, 5, 5, 5, 5, 10, 10, 10, 10, 10, 10, 10, 10};

static void
full_line(void **state)
{
    (void)state;
    bodies(more, 16, ORIGIN_1, 300000);
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "full_line");
    assert_string_equal(TEXT(0, culprit), "line to servers");
    assert_non_null(strstr(TEXT(0, sentence), "The line to servers is full: with "));
    assert_true(NUMBER(0, waiting_s) > 100 * SECOND);
    assert_null(strstr(TEXT(0, sentence), "A few large ones"));
}

/* A few bodies have half of the bytes, or less. */
static void
large_bodies(void **state)
{
    (void)state;
    large = 2000000;
    bodies(more, 16, ORIGIN_1, 600000);
    find();
    assert_string_equal(TEXT(0, cause), "full_line");
    assert_non_null(
        strstr(TEXT(0, sentence), "6 of the 120 bodies that waited have 51 % of the bytes, 1.91 MB each in the mean."));
    large = 1000000;
    bodies(more, 16, ORIGIN_1, 600000);
    find();
    assert_string_equal(TEXT(0, cause), "full_line");
    assert_null(strstr(TEXT(0, sentence), "A few large ones"));
    large = 0;
}

/* Each connection has a rate of its own: more of them bring more. */
static void
slow_bodies(void **state)
{
    (void)state;
    bodies(more, 16, ORIGIN_1, 0);
    find();
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, cause), "full_line");
}

/* What the end of each tunnel says, ns and bytes; pool 0 and all else 0: an older trace. */
static struct moved {
    int64_t first, held, unsent, rest;
    uint64_t uploaded, came;
    uint32_t pool;
    int plain; /* without TLS */
} moved;

/* So many tunnels to a server, open for so long, which bring so many bytes. */
static void
tunnels(unsigned count, uint32_t server, int64_t open, uint64_t sent)
{
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t xact = 100 + number++;
        const int64_t now = number * 10 * SECOND;
        begin_xact(now, xact, 7);
        PUT(now, TUNNEL_BEGIN, xact, 0, 0);
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, server);
        PUT(now + open, TUNNEL_END, xact, (uint64_t)moved.first, 0);
        if (moved.first) {
            PART(PART_TUNNEL_HELD, 0, (uint64_t)moved.held, moved.pool);
            PART(PART_TUNNEL_UPLOAD, moved.uploaded, (uint64_t)moved.unsent, 0);
            if (!moved.plain)
                PART(PART_TUNNEL_DOWNLOAD, moved.came, (uint64_t)moved.rest, 0);
        }
        PUT(now + open, XACT_END, xact, TUNNEL, 200);
        PART(PART_XACT_SIZES, sent, sent, 1);
        PART(PART_XACT_FLAGS, 0, 7, SQT_XACT_TUNNEL);
    }
}

static void
silent_tunnels(void **state)
{
    (void)state;
    tunnels(6, ORIGIN_1, 8 * SECOND, 39);
    tunnels(10, ORIGIN_2, 8 * SECOND, 4000);
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "silent_tunnels");
    assert_string_equal(TEXT(0, culprit), "origin-1");
    assert_string_equal(TEXT(0, harm), "failure");
    assert_int_equal(NUMBER(0, failures), 6);
    assert_int_equal(NUMBER(0, waiting_s), 48 * SECOND);
}

/* The same, of which the server, or the client, closes each: TCP counts the end of a connection as a byte. */
static void
closed_tunnels(unsigned count, uint32_t server, uint64_t received)
{
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t xact = 100 + number++;
        const int64_t now = number * 10 * SECOND;
        begin_xact(now, xact, 7);
        PUT(now, CONNECT_BEGIN, xact, xact, 1);
        PART(PART_SERVER, 4, 0, server);
        PUT(now, CONNECT_END, xact, xact, SQT_CONNECT_OK);
        PUT(now, TUNNEL_BEGIN, xact, xact, 0);
        PUT(now + MS, SERVER_CLOSE, xact, received, 10);
        PART(PART_TCP, 10, 0, 0);
        PUT(now + MS, TUNNEL_END, xact, 0, 0);
        PUT(now + MS, XACT_END, xact, TUNNEL, 200);
        PART(PART_XACT_SIZES, UINT64_MAX, received > 1 ? 4000 : 39, 1);
        PART(PART_XACT_FLAGS, 0, 7, SQT_XACT_TUNNEL);
    }
}

static void
who_closes_tunnels(void **state)
{
    (void)state;
    for (unsigned by_client = 0; by_client < 2; ++by_client) {
        closed_tunnels(8, ORIGIN_1, by_client ? 0 : 1);
        closed_tunnels(8, ORIGIN_2, 4000);
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), by_client ? "healthy" : "closed_tunnels");
        if (by_client)
            continue;
        assert_string_equal(TEXT(0, culprit), "origin-1");
        assert_int_equal(NUMBER(0, failures), 8);
        assert_non_null(strstr(TEXT(0, sentence), "8 of 8 tunnels to origin-1 were closed by that server"));
    }
}

/* Short ones; few of many; and all are silent: then it is what clients do. */
static void
quiet_tunnels(void **state)
{
    (void)state;
    tunnels(6, ORIGIN_1, SECOND / 2, 39);
    tunnels(10, ORIGIN_2, 8 * SECOND, 4000);
    find();
    assert_string_equal(TEXT(0, cause), "healthy");
    tunnels(5, ORIGIN_1, 8 * SECOND, 39);
    tunnels(6, ORIGIN_1, 8 * SECOND, 4000);
    tunnels(10, ORIGIN_2, 8 * SECOND, 4000);
    find();
    assert_string_equal(TEXT(0, cause), "healthy");
    tunnels(8, ORIGIN_1, 8 * SECOND, 39);
    tunnels(8, ORIGIN_2, 8 * SECOND, 39);
    find();
    assert_string_equal(TEXT(0, cause), "healthy");
}

static void
tunnels_that(struct moved what, unsigned count, uint32_t server)
{
    moved = what;
    tunnels(count, server, 8 * SECOND, 4000);
    moved = (struct moved){0};
}

/* Of one server: its first bytes are late, a pool holds them back, and it takes uploads slowly. */
static void
slow_tunnels(void **state)
{
    (void)state;
    static const struct slow_case {
        struct moved slow;
        const char *cause, *culprit, *sentence; /* NULL: healthy */
    } cases[] = {
        {{.first = 700 * MS, .uploaded = 500},
         "late_tunnels",
         "origin-1",
         "Tunnels wait for the first bytes of origin-1: in 8 of 8 they come 700 ms after the client's."},
        {{.first = 2 * SECOND, .held = 2 * SECOND, .pool = 2},
         "held_tunnels",
         "delay pool 2",
         "Tunnels are held back by delay pool 2: in 8 of 8 Squid reads nothing from their servers for 2.00 s."},
        {{.first = MS, .unsent = 3 * SECOND, .uploaded = 1000000},
         "slow_tunnel_uploads",
         "origin-1",
         "What clients send through tunnels waits to be taken by origin-1: in 8 of 8 it waits 2.00 s longer than its "
         "bytes need "
         "at 1 MB/s."},
        {{.first = MS, .rest = 6 * SECOND, .came = 1000000},
         "slow_tunnels",
         "origin-1",
         "What comes through tunnels is slow from origin-1: in 8 of 8 the rest of what the server had begun to send "
         "comes 5.00 s "
         "later than its bytes need at 1 MB/s."},
        {.slow = {.first = 100 * MS, .uploaded = 500}},
        {.slow = {.first = 700 * MS}},                                /* its client sends nothing */
        {.slow = {.first = 700 * MS, .uploaded = 500, .plain = 1}},   /* a long poll without TLS */
        {.slow = {.first = MS, .unsent = 500 * MS, .uploaded = 500}}, /* of a long tunnel */
        {.slow = {.first = MS, .rest = 500 * MS, .came = 500}},
        {.slow = {.first = MS, .rest = 2 * SECOND, .came = 2000000}},
        {.slow = {.first = MS, .unsent = 5 * SECOND, .uploaded = 5000000}},
        {.slow = {.first = MS, .held = 100 * MS, .pool = 1}},
    };
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        tunnels_that(cases[c].slow, 8, ORIGIN_1);
        tunnels_that((struct moved){.first = 20 * MS, .uploaded = 500}, 12, ORIGIN_2);
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), cases[c].cause ? cases[c].cause : "healthy");
        if (!cases[c].cause)
            continue;
        assert_string_equal(TEXT(0, culprit), cases[c].culprit);
        assert_string_equal(TEXT(0, sentence), cases[c].sentence);
        assert_int_equal(NUMBER(0, requests), 8);
    }
}

/* The others are hardly quicker; few of many; and no other server is there to compare with. */
static void
late_tunnels(void **state)
{
    (void)state;
    tunnels_that((struct moved){.first = 700 * MS, .uploaded = 500}, 8, ORIGIN_1);
    tunnels_that((struct moved){.first = 280 * MS, .uploaded = 500}, 12, ORIGIN_2);
    find();
    assert_string_equal(TEXT(0, cause), "healthy");
    tunnels_that((struct moved){.first = 700 * MS, .uploaded = 500}, 8, ORIGIN_1);
    tunnels_that((struct moved){.first = 600 * MS, .uploaded = 500}, 12, ORIGIN_2);
    find();
    assert_string_equal(TEXT(0, cause), "late_tunnels");
    assert_string_equal(TEXT(0, culprit), "servers");
    assert_int_equal(NUMBER(0, requests), 20);
    tunnels_that((struct moved){.first = 700 * MS, .uploaded = 500}, 6, ORIGIN_1);
    tunnels_that((struct moved){.first = 20 * MS, .uploaded = 500}, 14, ORIGIN_1);
    find();
    assert_string_equal(TEXT(0, cause), "healthy");
    tunnels_that((struct moved){.first = 700 * MS, .uploaded = 500}, 20, ORIGIN_1);
    find();
    assert_string_equal(TEXT(0, cause), "late_tunnels");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(full_line),          SCRIPT_TEST(large_bodies),
                                       SCRIPT_TEST(slow_bodies),        SCRIPT_TEST(silent_tunnels),
                                       SCRIPT_TEST(who_closes_tunnels), SCRIPT_TEST(quiet_tunnels),
                                       SCRIPT_TEST(slow_tunnels),       SCRIPT_TEST(late_tunnels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
