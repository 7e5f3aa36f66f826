/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_waste.c - table `findings`: bytes that were fetched and that no client got.
 */
#include "model_found.h"

#define MB 1000000
#define OBJECT 0xabc
enum { ORIGIN_1 = 2, ORIGIN_2 };

static int64_t now, server_waits; /* ns */
static struct {
    int asked, open;
    uint64_t bytes;
} range;

/* So many requests, each of which fetches and gets so many bytes of an object of its own from a server, within a second. */
static void
requests(unsigned count, uint32_t server, uint64_t fetched, uint64_t sent, uint32_t status, uint32_t flags)
{
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t xact = 100 + number++;
        begin_xact(now, xact, 7);
        if (range.asked)
            PUT(now, RANGE, xact, range.bytes, range.open);
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, server);
        PUT(now, DISPATCH, xact, 50, 1);
        PUT(now, REQUEST_SENT, xact, 50, 0);
        PUT(now += server_waits, SERVER_READ, xact, fetched / 2, 0);
        PUT(now += 2 * MS, SERVER_READ, xact, fetched - fetched / 2, 0);
        PUT(now, XACT_END, xact, MISS, status);
        PART(PART_XACT_SIZES, sent, sent, 1);
        PART(PART_XACT_FLAGS, OBJECT + i, 7, flags);
        now += 98 * MS;
    }
}

static void
assert_healthy(void)
{
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
}

static void
ranges(void **state)
{
    (void)state;
    requests(20, ORIGIN_1, 60 * MB, MB, 206, 0);
    requests(20, ORIGIN_2, MB, MB, 200, 0);
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "fetched_ranges");
    assert_string_equal(TEXT(0, culprit), "origin-1");
    assert_string_equal(TEXT(0, harm), "waste");
    assert_string_equal(TEXT(0, sentence),
                        "Squid fetched 1200 MB from origin-1 for 20 requests of ranges that got 20 MB: "
                        "97 % of all that it fetched was for nobody.");
    /* 59 of 60 of the 2 ms of each. */
    assert_int_equal(NUMBER(0, waiting_s), 20 * (2 * MS * 59 / 60));
    /* Two servers alike. */
    requests(20, ORIGIN_1, 60 * MB, MB, 206, 0);
    requests(20, ORIGIN_2, 60 * MB, MB, 206, 0);
    find();
    assert_string_equal(TEXT(0, culprit), "ranges");
}

static void
clients_that_left(void **state)
{
    (void)state;
    requests(20, ORIGIN_1, 60 * MB, MB, 200, SQT_XACT_ABORTED);
    requests(20, ORIGIN_1, MB, MB, 200, 0);
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "fetched_for_nobody");
    assert_int_equal(NUMBER(0, waiting_s), 0); /* they did not wait */
}

/* Servers that send all where a part is asked for, in one form or another. */
static void
whole_for_ranges(void **state)
{
    (void)state;
    for (unsigned open = 0; open < 2; ++open) {
        requests(3, ORIGIN_2, MB, MB, 206, 0);
        range.asked = 1;
        range.open = (int)open;
        range.bytes = open ? 59 * MB : MB;
        requests(20, ORIGIN_1, 60 * MB, 60 * MB, 200, 0);
        range.asked = 0;
        requests(20, ORIGIN_2, MB, MB, 200, 0);
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), "whole_for_ranges");
        assert_string_equal(TEXT(0, culprit), "origin-1");
        assert_string_equal(
            TEXT(0, sentence),
            "Squid fetched 1200 MB from origin-1 for 20 requests of ranges that asked for 20 MB and got "
            "the whole object (200): 96 % of all that it fetched was not asked for. 3 other requests of "
            "ranges got the range alone (206).");
        assert_int_equal(NUMBER(0, waiting_s), 20 * (2 * MS * 59 / 60));
        assert_int_equal(NUMBER(0, requests), 20);
    }
}

static void others(unsigned count, uint64_t sent);

/* All is asked for, or most of it; Squid keeps the object, and others get ranges of it. */
static void
whole_and_no_waste(void **state)
{
    (void)state;
    static const struct whole_case {
        int open;
        uint64_t bytes;
        uint64_t others;
    } cases[] = {{1, 0, 0}, {1, 20 * MB, 0}, {0, 60 * MB, 0}, {0, 90 * MB, 0}, {0, MB, 40 * MB}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        range.asked = 1;
        range.open = cases[c].open;
        range.bytes = cases[c].bytes;
        requests(20, ORIGIN_1, 60 * MB, 60 * MB, 200, 0);
        range.asked = 0;
        if (cases[c].others)
            others(20, cases[c].others);
        assert_healthy();
    }
}

/* Ranges that servers send alone; a range that is fetched whole, and asked for many times; little of much; 9 MB; an
 * error page. */
static void
no_waste(void **state)
{
    (void)state;
    requests(20, ORIGIN_1, MB, MB, 206, 0);
    assert_healthy();
    requests(1, ORIGIN_1, 60 * MB, MB, 206, 0);
    requests(39, ORIGIN_1, 0, MB, 206, 0);
    assert_healthy();
    requests(2, ORIGIN_1, 11 * MB, MB, 206, 0);
    requests(40, ORIGIN_1, 2 * MB, 2 * MB, 200, 0);
    assert_healthy();
    requests(20, ORIGIN_1, MB / 2, MB / 20, 206, 0);
    assert_healthy();
    requests(4, ORIGIN_1, 60 * MB, MB, 502, SQT_XACT_ABORTED | SQT_XACT_ERROR_PAGE);
    requests(300, ORIGIN_1, MB, MB, 200, 0);
    assert_healthy();
}

/* Squid reads on after they have left; somebody else's bytes say nothing. */
static void
squid_reads_on(void **state)
{
    (void)state;
    for (unsigned on = 0; on < 2; ++on) {
        requests(20, ORIGIN_1, MB, MB, 200, SQT_XACT_ABORTED);
        requests(20, ORIGIN_2, MB, MB, 200, 0);
        for (unsigned i = 0; i < 20; ++i)
            PUT(now, SERVER_READ, on ? 100 + i : 900 + i, 5 * MB, 0);
        if (!on) {
            assert_healthy();
            continue;
        }
        find();
        assert_string_equal(TEXT(0, cause), "fetched_for_nobody");
        assert_string_equal(TEXT(0, culprit), "origin-1");
        assert_int_equal(NUMBER(0, requests), 20);
        assert_non_null(
            strstr(TEXT(0, sentence), "Squid fetched 120 MB from origin-1 for 20 clients that left and got 20 MB"));
    }
}

/* So many others get so many bytes each of these objects, and fetch nothing. */
static void
others(unsigned count, uint64_t sent)
{
    for (unsigned i = 0; i < count; ++i) {
        begin_xact(now, 2000 + i, 8);
        PUT(now += 2 * MS, XACT_END, 2000 + i, HIT, 200);
        PART(PART_XACT_SIZES, sent, sent, 1);
        PART(PART_XACT_FLAGS, OBJECT + i, 8, 0);
    }
}

static void
late_reads(unsigned count)
{
    for (unsigned i = 0; i < count; ++i)
        PUT(now, SERVER_READ, 100 + i, 5 * MB, 0);
}

/* Squid reads on for others: who waits for the same object, or gets it from the cache later. */
static void
squid_reads_on_for_others(void **state)
{
    (void)state;
    static const struct others_case {
        int later;
        unsigned count;
        uint64_t sent;
        const char *found; /* NULL: nothing */
    } cases[] = {{1, 20, 6 * MB, NULL},
                 {0, 20, 6 * MB, NULL},
                 {1, 20, 300, "120 MB from origin-1 for 20 clients that left and got 20 MB"}, /* as a 304 */
                 {1, 8, 6 * MB, "72 MB from origin-1 for 12 clients that left and got 12 MB"},
                 {0, 8, 6 * MB, "72 MB from origin-1 for 12 clients that left and got 12 MB"}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        others(20, 6 * MB); /* before that, they say nothing */
        requests(20, ORIGIN_1, MB, MB, 200, SQT_XACT_ABORTED);
        requests(20, ORIGIN_2, MB, MB, 200, 0);
        if (cases[c].later)
            late_reads(20);
        others(cases[c].count, cases[c].sent);
        if (!cases[c].later)
            late_reads(20);
        if (!cases[c].found) {
            assert_healthy();
            continue;
        }
        find();
        assert_string_equal(TEXT(0, cause), "fetched_for_nobody");
        assert_non_null(strstr(TEXT(0, sentence), cases[c].found));
    }
}

/* Where servers are slow, those that left and wasted nothing are not said to be among those for whom Squid read on. */
static void
slow_servers_and_clients_that_left(void **state)
{
    (void)state;
    server_waits = 500 * MS;
    requests(12, ORIGIN_1, 60 * MB, MB, 200, SQT_XACT_ABORTED);
    requests(20, ORIGIN_1, MB, MB, 200, SQT_XACT_ABORTED);
    requests(12, ORIGIN_2, MB, MB, 200, 0);
    server_waits = 0;
    find();
    assert_string_equal(TEXT(0, cause), "slow_servers");
    assert_non_null(strstr(TEXT(0, sentence), " were for nobody: 12 clients had left, and Squid read on."));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(ranges),
                                       SCRIPT_TEST(whole_for_ranges),
                                       SCRIPT_TEST(whole_and_no_waste),
                                       SCRIPT_TEST(clients_that_left),
                                       SCRIPT_TEST(no_waste),
                                       SCRIPT_TEST(squid_reads_on),
                                       SCRIPT_TEST(squid_reads_on_for_others),
                                       SCRIPT_TEST(slow_servers_and_clients_that_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
