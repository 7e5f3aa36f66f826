/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_apart.c - table `findings`: answers that contradict each other, denials that are no 403, tunnels that Squid ends at
 * their hello, and what sets slow requests and name servers apart.
 */
#include "model_tenths.h"

enum { PARENT = 1, ORIGIN_1, ORIGIN_2, ORIGIN_3 };
enum { NAME_SERVER = 2 };
enum { GET = 1, POST = 2, CONNECT = 4 };

static void
end(uint64_t xact, enum tag tag, uint32_t status, uint64_t object, uint32_t flags)
{
    PUT(now += MS, XACT_END, xact, tag, status);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, object, 7, flags);
}

/* On a kept connection. */
static void
answered(uint32_t server, uint64_t object, int64_t took, uint32_t status, unsigned reason)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 4, 0, server);
    PUT(now, DISPATCH, xact, 50, 0);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += took, SERVER_HEADER, xact, 100, status);
    PUT(now, SERVER_DONE, xact, 50, 0);
    end(xact, MISS, status, object, reason << SQT_XACT_MISS_SHIFT);
    number += (unsigned)(took / (100 * MS));
}

static int
is_told(const char *cause)
{
    const unsigned row = row_of(cause);
    return row < found_count;
}

static int
says(const char *text)
{
    return strstr(TEXT(0, sentence), text) != NULL;
}

/* ---- answers ---- */

/* Two servers have half of the objects each.  They are asked in turn for all; or each for what it has, and for some that are
 * nowhere. */
static void
two_servers_contradict(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned object = 1 + i % 40, server = i / 40 % 2;
        answered(ORIGIN_1 + server, object, MS, object % 2 == server ? 200 : 404, 0);
    }
    assert_int_equal(row_of("contradicting_answers"), 0);
    assert_string_equal(TEXT(0, culprit), "origin-1 origin-2");
    assert_string_equal(TEXT(0, harm), "failure");
    assert_int_equal(NUMBER(0, failures), 100);
    assert_true(says("100 of 200 requests (50 %) were answered with 404 by a server that does not have what another "
                     "one has: origin-"));
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned object = 1 + i % 40, server = object % 2;
        answered(ORIGIN_1 + server, object, MS, object % 10 ? 200 : 404, 0);
    }
    assert_int_equal(row_of("healthy"), 0);
    assert_true(
        says("Servers refused 20 of the requests (10 %) with 4xx, most often origin-1, with 404: as they know"));
}

/* One server is asked some times before the other one. */
static void
the_other_one_comes_later(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; ++i)
        answered(i % 5 == 4 ? ORIGIN_2 : ORIGIN_1, 1 + i / 5, MS, i % 5 == 4 ? 200 : 404, 0);
    assert_int_equal(row_of("contradicting_answers"), 0);
    assert_string_equal(TEXT(0, culprit), "origin-1");
    assert_true(says("origin-1 160 of 160 of its answers. 160 times another server gave a good answer to the same."));
}

/* Servers that are alike: what comes, what goes, what fails now and then, and what is asked for once or twice. */
static void
what_comes_and_goes_is_no_contradiction(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; ++i) /* uploaded between two questions, of one server each */
        answered(ORIGIN_1 + i / 2 % 2, 1 + i / 4, MS, i % 2 ? 200 : 404, 0);
    assert_false(is_told("contradicting_answers"));
    for (unsigned i = 0; i < 200; ++i) /* some seconds of a stream, which are gone after three answers */
        answered(ORIGIN_1 + i % 2, 1 + i / 8, MS, i % 8 < 3 ? 200 : 404, 0);
    assert_false(is_told("contradicting_answers"));
    for (unsigned i = 0; i < 200; ++i) /* one answer in ten */
        answered(ORIGIN_1 + i % 3, 1 + i * 7 % 30, MS, i * 13 % 10 ? 200 : 403, 0);
    assert_false(is_told("contradicting_answers"));
    for (unsigned i = 0; i < 200; ++i) /* asked twice, of one server each time */
        answered(ORIGIN_1 + i % 2, 1 + i / 2, MS, i * 31 % 3 ? 200 : 403, 0);
    assert_false(is_told("contradicting_answers"));
    for (unsigned i = 0; i < 200; ++i) /* not now */
        answered(ORIGIN_1 + i / 40 % 2, 1 + i % 40, MS, i % 2 == i / 40 % 2 ? 200 : 429, 0);
    assert_false(is_told("contradicting_answers"));
}

/* What one of them lacks, the other one has: that it fails is told already. */
static void
one_server_fails(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned object = 1 + i % 40, server = i / 40 % 2;
        answered(ORIGIN_1 + server, object, MS, server && object <= 10 ? 500 : 200, 0);
    }
    assert_false(is_told("contradicting_answers"));
    assert_string_equal(TEXT(0, cause), "server_errors");
}

/* Two servers send the same objects, and forbid them to one client in three, who has no login. */
static void
servers_ask_for_logins(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 240; ++i)
        answered(ORIGIN_1 + i % 2, 1 + i / 2 % 7, MS, i % 3 ? 200 : 403, 0);
    assert_int_equal(row_of("healthy"), 0);
    assert_true(says("Servers refused 80 of the requests (33 %) with 4xx, most often origin-2, with 403: as they"));
    assert_true(says("If it is not: that server changed its mind 71 times about what it was asked before"));
}

/* The same of what clients send: what it does depends on its body. */
static void
servers_take_some_forms(void **state)
{
    (void)state;
    begins_with = POST;
    for (unsigned i = 0; i < 240; ++i)
        answered(ORIGIN_1 + i % 2, 1 + i / 2 % 7, MS, i % 2 ? 200 : 404, 0);
    begins_with = GET;
    assert_false(is_told("contradicting_answers"));
}

/* ---- what Squid does ---- */

/* Half of the requests are denied, and get another URL, nothing, or a request for a login. */
static void
denied_in_another_way(void **state)
{
    static const uint32_t statuses[] = {302, 0, 429, 407};
    static const char *const words[] = {"(302, to another URL, by deny_info) by access rules",
                                        "(without a reply, as by deny_info TCP_RESET) by access rules",
                                        "(429) by access rules", ""};
    (void)state;
    for (unsigned test = 0; test < 4; ++test) {
        for (unsigned i = 0; i < 100; ++i)
            if (i % 2)
                answered(ORIGIN_1, 0xabc, MS, 200, 0);
            else
                end(begin(), DENIED, statuses[test], 0xabc, SQT_XACT_ERROR_PAGE);
        const unsigned row = row_of("denied");
        assert_int_equal(row, test == 3 ? found_count : 0);
        if (test < 3)
            assert_true(says(words[test]));
    }
}

/* Of each third tunnel Squid ends the handshake in the pass of the event loop that read the hello; or it fails there, or ends in
 * the next pass; or Squid ends each thirtieth, as a list of names has it. */
static void
tunnels_end_at_their_hello(void **state)
{
    (void)state;
    enum { AT_ONCE, FAILS, LATER, FEW, WAYS };
    for (unsigned way = 0; way < WAYS; ++way) {
        for (unsigned i = 0; i < (way == FEW ? 150 : 60); ++i) {
            const uint64_t conn = 1000 + i, xact = 100 + i;
            const int bad = i % (way == FEW ? 30 : 3) == 0;
            now = (int64_t)(++number) * 1000 * MS;
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            PUT(now, CLIENT_READ, conn, 70, 0);
            PUT(now, REQUEST_PARSED, conn, 70, 0);
            PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, conn, 0);
            PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, CONNECT);
            PUT(now, CLIENT_TLS_BEGIN, conn, 0, 0);
            PUT(now, WAIT_BEGIN, 0, 1000, 0);
            PUT(now += 5 * MS, WAIT_END, 0, 1, 0);
            PUT(now, CLIENT_READ, conn, 300, 0);
            if (way == LATER) {
                PUT(now, WAIT_BEGIN, 0, 1000, 0);
                PUT(now += 5 * MS, WAIT_END, 0, 1, 0);
            }
            PUT(now, CLIENT_TLS_END, conn, 0,
                !bad           ? SQT_CONNECT_OK
                : way == FAILS ? SQT_CONNECT_FAILED
                               : SQT_CONNECT_CANCELLED);
            PUT(now, XACT_END, xact, NONE, 200);
            PART(PART_XACT_SIZES, 0, 0, 0);
            PART(PART_XACT_FLAGS, 0, conn, (bad ? SQT_XACT_ABORTED : 0) | SQT_XACT_INTERNAL);
            PUT(now, CONN_CLOSE, conn, 0, 0);
            PUT(now, WAIT_BEGIN, 0, 1000, 0);
        }
        for (unsigned i = 0; i < 40; ++i)
            answered(ORIGIN_1 + i % 3, i + 1, 150 * MS, 200, SQT_MISS_ABSENT);
        const unsigned row = row_of("failed_client_tls");
        if (way == FEW) {
            assert_int_equal(row, found_count);
            continue;
        }
        /* Squid may be meant to end them: what is slow comes first. */
        assert_int_equal(row, way == AT_ONCE);
        assert_string_equal(TEXT(row, culprit), way ? "http_port 3128" : "ssl_bump on http_port 3128");
        assert_int_equal(!strstr(TEXT(row, sentence), "as the rule `ssl_bump terminate` does"), way != AT_ONCE);
    }
}

/* ---- what sets apart ---- */

/* Servers are slow for what may not be stored, or for a fourth of all. */
static void
slow_for_a_reason(void **state)
{
    (void)state;
    for (unsigned all = 0; all < 2; ++all) {
        for (unsigned i = 0; i < 240; ++i)
            answered(ORIGIN_1 + (i / 4 + i) % 3, i + 1, i % 4 == (all ? i / 16 % 4 : 0) ? 600 * MS : 10 * MS, 200,
                     i % 4 == 0 ? SQT_MISS_UNCACHEABLE : SQT_MISS_ABSENT);
        assert_int_equal(row_of("slow_servers"), 0);
        assert_int_equal(found_count, 1);
        assert_int_equal(
            says("What sets the slow ones apart: they are misses whose replies may not be stored (uncacheable)."),
            !all);
        assert_int_equal(!strstr(TEXT(0, advice), "No cache helps where a page is made for one client"), all);
        if (!all)
            assert_string_equal(TEXT(0, command), "sqtrace-dump --where='miss_reason == \"uncacheable\"' TRACE");
        assert_true(says(" 60 of the 240 answers took 600 ms, the others 10"));
    }
}

/* All are for objects of their own, or each object is asked for four times in a row. */
static void
objects_are_asked_for_once(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; ++again) {
        for (unsigned i = 0; i < 160; ++i)
            answered(ORIGIN_1 + i % 3, 1 + i / (again ? 4 : 1), 150 * MS, 200, SQT_MISS_ABSENT);
        assert_true(is_told("slow_servers"));
        assert_int_equal(says("The cache could not help in this trace, because hardly an object is asked for twice: "),
                         !again);
        assert_int_equal(says("160 of 160 requests ask for what nobody had asked for before"), !again);
    }
}

/* Two name servers: the second one, asked where the first does not answer, knows no name.  Or neither knows all. */
static void
name_servers_differ(void **state)
{
    (void)state;
    for (unsigned both = 0; both < 2; ++both) {
        for (unsigned i = 0; i < 150; ++i) {
            const uint64_t xact = begin();
            const int lost = i % 3 == 0;
            PUT(now, DNS_BEGIN, xact, i, 0);
            now += MS;
            if (!lost || both) {
                PUT(now, QUERY_END, xact, (uint64_t)(now - MS), NAME_SERVER);
                PART(PART_QUERY, 1, 0, lost ? SQT_WAIT_ERR : SQT_WAIT_OK);
            }
            if (lost) {
                now += MS;
                PUT(now, QUERY_END, xact, (uint64_t)(now - MS), NAME_SERVER + 1);
                PART(PART_QUERY, 1, 0, SQT_WAIT_ERR);
            }
            PUT(now, DNS_END, xact, i, lost);
            end(xact, MISS, lost ? 503 : 200, 0xabc, lost ? SQT_XACT_ERROR_PAGE | SQT_XACT_ABORTED : 0);
        }
        assert_int_equal(row_of("failed_look_up"), 0);
        assert_string_equal(TEXT(0, culprit), "name_server 192.0.2.54");
        assert_int_equal(says("50 of its 50 answers are errors, such as that a name does not exist (NXDOMAIN)."),
                         !both);
        assert_int_equal(says("Of name_server 192.0.2.53 100 answers are good and 0 are errors"), !both);
        assert_int_equal(says("they do not know the same names"), !both);
    }
}

/* A query to the name server ends, at `now`. */
static void
looked_up(uint64_t xact, int64_t begun, int lost)
{
    PUT(now, QUERY_END, xact, (uint64_t)begun, NAME_SERVER);
    PART(PART_QUERY, 1, 0, lost ? SQT_WAIT_TIMEOUT : SQT_WAIT_OK);
    PUT(now, DNS_END, xact, xact, lost);
    end(xact, MISS, lost ? 503 : 200, 0xabc, lost ? SQT_XACT_ERROR_PAGE | SQT_XACT_ABORTED : 0);
}

/* Each tenth query has no answer, for two seconds and more, in which others have one; or all have none for a while. */
static void
a_name_server_loses_some(void **state)
{
    (void)state;
    for (unsigned all = 0; all < 2; ++all) {
        struct {
            uint64_t xact;
            int64_t begun;
        } waits[160] = {{0, 0}};
        for (unsigned i = 0; i < 160; ++i) {
            const int lost = i < 120 && (all ? i >= 40 && i < 80 : i % 10 == 0);
            if (i >= 24 && waits[i - 24].xact) {
                now = waits[i - 24].begun + 2400 * MS;
                looked_up(waits[i - 24].xact, waits[i - 24].begun, 1);
            }
            const uint64_t xact = begin();
            PUT(now, DNS_BEGIN, xact, xact, 0);
            if (lost)
                waits[i].xact = xact, waits[i].begun = now;
            else
                looked_up(xact, now++, 0);
        }
        assert_int_equal(row_of("failed_look_up"), 0);
        assert_int_equal(says(" It answered others meanwhile: it has no answer for some names, or loses some"), !all);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(two_servers_contradict),
                                       SCRIPT_TEST(the_other_one_comes_later),
                                       SCRIPT_TEST(what_comes_and_goes_is_no_contradiction),
                                       SCRIPT_TEST(one_server_fails),
                                       SCRIPT_TEST(servers_ask_for_logins),
                                       SCRIPT_TEST(servers_take_some_forms),
                                       SCRIPT_TEST(denied_in_another_way),
                                       SCRIPT_TEST(tunnels_end_at_their_hello),
                                       SCRIPT_TEST(slow_for_a_reason),
                                       SCRIPT_TEST(objects_are_asked_for_once),
                                       SCRIPT_TEST(name_servers_differ),
                                       SCRIPT_TEST(a_name_server_loses_some)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
