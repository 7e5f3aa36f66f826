/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_why.c - table `findings`: what is known of connections, of children of helpers and of cache.log, beside the rules.
 */
#include "model_tenths.h"

#define SECOND (1000 * MS)
enum { PARENT = 1, ORIGIN_1, ORIGIN_2, ORIGIN_3 };
enum { REWRITER = 5, CACHE_LOG = 5 };

static void
tries(uint64_t xact, uint64_t conn, uint32_t server, unsigned version)
{
    PUT(now, CONNECT_BEGIN, xact, conn, 1);
    PART(PART_SERVER, version, 0, server);
}

static void
connects(uint64_t xact, uint64_t conn, uint32_t server, unsigned version)
{
    tries(xact, conn, server, version);
    PUT(now += MS, CONNECT_END, xact, conn, SQT_CONNECT_OK);
    PUT(now, DISPATCH, xact, conn, 1);
}

/* A request that waits for its server's answer. */
static void
answers(uint64_t xact, uint64_t conn, int64_t wait)
{
    PUT(now, REQUEST_SENT, xact, conn, 0);
    PUT(now += wait, SERVER_READ, xact, 1000, 0);
    PUT(now, SERVER_HEADER, xact, 300, 200);
    PUT(now, SERVER_DONE, xact, conn, 0);
    end_xact(now, xact, MISS, 0);
}

static int
is_told(const char *cause)
{
    const unsigned row = row_of(cause);
    return row < found_count;
}

/* ---- versions of IP ---- */

/* Of each second request, the connection by IPv6 is given up after 80 ms for one by IPv4.  live: now and then it is not. */
static void
by_ipv6(uint32_t server, unsigned live, int64_t patience)
{
    for (unsigned i = 0; i < 80; ++i) {
        const uint64_t xact = begin(), conn = 2 * xact;
        if (i % 2 == 0 && i % live == 0) {
            connects(xact, conn, server, 6);
        } else if (i % 2 == 0) {
            tries(xact, conn, server, 6);
            now += patience;
            connects(xact, conn + 1, ORIGIN_1, 4);
            PUT(now, CONNECT_END, xact, conn, SQT_CONNECT_CANCELLED);
        } else {
            connects(xact, conn, ORIGIN_3, 4);
        }
        end_xact(now += MS, xact, MISS, 0);
    }
}

static void
ipv6_does_not_work(void **state)
{
    (void)state;
    by_ipv6(ORIGIN_2, 1000, 80 * MS);
    const unsigned row = row_of("dead_ip_version");
    assert_int_equal(row, 0);
    assert_string_equal(TEXT(0, culprit), "IPv6 to origin-2");
    assert_int_equal(NUMBER(0, requests), 39);
    assert_non_null(strstr(TEXT(0, sentence),
                           "39 of 40 connections by it do not come about, and each is waited for for 81 ms "
                           "until Squid takes IPv4."));
    by_ipv6(ORIGIN_2, 4, 80 * MS); /* each second one works */
    assert_false(is_told("dead_ip_version"));
    by_ipv6(ORIGIN_2, 1000, MS); /* nobody waits for it */
    assert_false(is_told("dead_ip_version"));
}

/* Of several servers, it is the version itself. */
static void
it_works_for_nobody(void **state)
{
    (void)state;
    by_ipv6(ORIGIN_2, 1000, 80 * MS);
    by_ipv6(ORIGIN_3, 1000, 80 * MS);
    assert_int_equal(row_of("dead_ip_version"), 0);
    assert_string_equal(TEXT(0, culprit), "IPv6");
}

/* ---- what TCP knew ---- */

/* A fifth of requests waits for 300 ms for a server whose connections close with that many segments lost. */
static void
slow_server(uint32_t lost, uint32_t rtt_us)
{
    for (unsigned i = 0; i < 200; ++i) {
        const uint64_t xact = begin();
        const uint32_t server = i % 5 ? ORIGIN_1 : ORIGIN_2;
        connects(xact, xact, server, 4);
        answers(xact, xact, i % 5 ? 5 * MS : 300 * MS);
        PUT(now, SERVER_CLOSE, xact, 14000, rtt_us);
        PART(PART_TCP, rtt_us, i % 5 ? 0 : lost, i % 5 ? 0 : lost);
    }
    assert_int_equal(row_of("slow_server"), 0);
    assert_string_equal(TEXT(0, culprit), "origin-2");
}

static void
server_or_line(void **state)
{
    (void)state;
    slow_server(0, 400);
    assert_non_null(strstr(TEXT(0, sentence), "It is the server and not the line: TCP's round trip to it is 0.4 ms"));
    slow_server(1, 400);
    assert_non_null(strstr(TEXT(0, sentence),
                           "Its line loses packets: of about 440 segments that came from it 40 came out "
                           "of order, and Squid sent 40 again."));
    assert_non_null(strstr(TEXT(0, advice), "The network, not the server"));
    slow_server(0, 50000); /* a long way: neither is said */
    assert_null(strstr(TEXT(0, sentence), "the line"));
}

/* What TCP knows of a server's connections says nothing about look-ups of its name. */
static void
its_name_is_slow(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; ++i) {
        const uint64_t xact = begin();
        const int64_t asked = now;
        PUT(now, DNS_BEGIN, xact, 1, 0);
        now += i % 5 ? MS : 300 * MS;
        PUT(now, QUERY_END, xact, (uint64_t)asked, 1);
        PART(PART_QUERY, 1, 0, SQT_WAIT_OK);
        PUT(now, DNS_END, xact, 1, 0);
        connects(xact, xact, i % 5 ? ORIGIN_1 : ORIGIN_2, 4);
        answers(xact, xact, 5 * MS);
        PUT(now, SERVER_CLOSE, xact, 14000, 400);
        PART(PART_TCP, 400, 0, 0);
    }
    assert_int_equal(row_of("slow_at_server"), 0);
    assert_string_equal(TEXT(0, culprit), "origin-2");
    assert_non_null(strstr(TEXT(0, sentence), "look-ups of its name"));
    assert_null(strstr(TEXT(0, sentence), "the line"));
}

/* ---- children of helpers ---- */

static void
served(unsigned count)
{
    while (count--)
        end_xact(now + MS, begin(), MEM_HIT, 0);
}

static void
children_die(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 3; ++round) {
        const unsigned deaths = round ? 4 : 2, again = round < 2;
        served(50);
        for (unsigned i = 0; i < deaths; ++i) {
            PUT(now, CHILD_DIED, 70 + i, SQT_EXIT_SIGNAL + 11, REWRITER | (i % 2 ? SQT_CHILD_SILENT : 0));
            if (again)
                PUT(now, CHILD_STARTED, 80 + i, 5, REWRITER);
            served(10);
        }
        const unsigned row = row_of("dying_children");
        if (deaths == 2) {
            assert_int_equal(row, found_count);
            continue;
        }
        assert_int_equal(row, 0);
        assert_string_equal(TEXT(0, culprit), "url_rewrite rewriter");
        assert_string_equal(TEXT(0, harm), "resource");
        assert_non_null(strstr(TEXT(0, sentence),
                               "4 children of url_rewrite rewriter died, most by signal 11; 2 had not "
                               "answered one question. Squid started "));
        assert_non_null(strstr(TEXT(0, sentence), again ? "Squid started 4 again." : "Squid started none again."));
    }
}

/* Where requests fail because of that, it is said there. */
static void
children_die_with_questions(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; ++i) {
        const uint64_t xact = begin();
        PUT(now, HELPER_BEGIN, xact, 1000 + i, REWRITER);
        PUT(now, HELPER_END, xact, 1000 + i, SQT_WAIT_DIED);
        PART(PART_HELPER, (uint64_t)now, 0, 0);
        PUT(now, CHILD_DIED, 70 + i, 1, REWRITER);
        PUT(now += MS, XACT_END, xact, MISS, 500);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, 0xabc, 7, SQT_XACT_ERROR_PAGE);
    }
    assert_int_equal(row_of("failed_helper"), 0);
    assert_non_null(strstr(TEXT(0, sentence), "50 children of url_rewrite rewriter died, most with status 1;"));
    assert_false(is_told("dying_children"));
}

/* ---- cache.log ---- */

/* Each pass of 50 ms goes to lines of cache.log, of which there are so many a second. */
static void
lines_are_logged(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; ++i) {
        const uint64_t xact = begin();
        PUT(now, WAIT_BEGIN, 0, 1000, 0);
        PUT(now, LOOP_SAMPLE, (uint64_t)(now - MS), (uint64_t)now, 0);
        PART(PART_LOOP_RAN, 0, 0, SQT_LOOP_IN_WAIT);
        PUT(now, WAIT_END, 0, 1, 0);
        PUT(now + 50 * MS, LOOP_SAMPLE, (uint64_t)now, (uint64_t)(now + 49 * MS), CACHE_LOG);
        PART(PART_LOOP_RAN, 49000000, 0, UINT32_C(49000) << SQT_LOOP_FLAG_BITS);
        if (i % 10 == 0)
            PUT(now + 50 * MS, SAMPLE, i * 700, (uint64_t)(now + 50 * MS), SQT_SAMPLE_SQUID_cache_log_lines);
        PUT(now += 50 * MS, WAIT_BEGIN, 0, 1000, 0);
        PUT(now, WAIT_END, 0, 1, 0);
        end_xact(now, xact, MEM_HIT, 0);
    }
    assert_int_equal(row_of("loop_computing"), 0);
    assert_string_equal(TEXT(0, culprit), "write to cache.log");
    assert_non_null(strstr(TEXT(0, sentence), "Squid writes 7000 lines a second to it."));
    assert_non_null(strstr(TEXT(0, advice), "debug_options ALL,1"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(ipv6_does_not_work), SCRIPT_TEST(it_works_for_nobody),
                                       SCRIPT_TEST(server_or_line),     SCRIPT_TEST(its_name_is_slow),
                                       SCRIPT_TEST(children_die),       SCRIPT_TEST(children_die_with_questions),
                                       SCRIPT_TEST(lines_are_logged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
