/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_alike.c - table `findings`: servers that refuse alike, or whose kept connections are dead; connections that never come
 * about; what slow answers have in common; what a helper is asked for; and a clock that is set.
 */
#include "model_tenths.h"

#define SECOND (1000 * MS)
enum { PARENT = 1, ORIGIN_1, ORIGIN_2, ORIGIN_3 };
enum { AUTH, GROUPS, NEGOTIATE = 7 };

static void
end(uint64_t xact, uint32_t status, uint32_t flags)
{
    PUT(now += MS, XACT_END, xact, MISS, status);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, number, 7, flags);
}

static unsigned peer_kind = 1; /* direct; 2: a parent */

/* On a kept connection. */
static void
answered(uint32_t server, int64_t took, uint32_t status)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_REUSED, xact, 50, peer_kind);
    PART(PART_SERVER, 4, 0, server);
    PUT(now, DISPATCH, xact, 50, 0);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += took, SERVER_HEADER, xact, 100, status);
    PUT(now, SERVER_DONE, xact, 50, 0);
    end(xact, status, 0);
    number += (unsigned)(took / (100 * MS));
}

/* The same, until Squid gives up. */
static void
unanswered(uint32_t server, int64_t took)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 4, 0, server);
    PUT(now, DISPATCH, xact, 50, 0);
    PUT(now += MS, REQUEST_SENT, xact, 50, 0);
    now += took;
    end(xact, 504, SQT_XACT_ERROR_PAGE | SQT_XACT_ABORTED);
    number += (unsigned)(took / (100 * MS));
}

static int
is_found(const char *cause)
{
    const unsigned row = row_of(cause);
    return row != found_count;
}

static void
assert_first(const char *cause, const char *culprit)
{
    assert_int_equal(row_of(cause), 0);
    assert_string_equal(TEXT(0, culprit), culprit);
}

/* ---- servers ---- */

/* Three servers, and each that is one of the first `refusing` answers every second request with that status. */
static void
refuse(unsigned refusing, uint32_t status)
{
    for (unsigned i = 0; i < 120; ++i)
        answered(ORIGIN_1 + i % 3, MS, i % 3 < refusing && i / 3 % 2 ? status : 200);
}

static void
servers_refuse_alike(void **state)
{
    (void)state;
    refuse(3, 403);
    assert_first("server_refuses", "servers");
    assert_int_equal(NUMBER(0, failures), 60);
    assert_non_null(strstr(TEXT(0, sentence),
                           "60 of 120 requests (50 %) were refused by servers with status 403. 3 of "
                           "the 3 servers with 10 answers or more do so, for a part of the requests. "
                           "Unless these servers belong together, the cause is something that"));
    refuse(3, 429);
    assert_first("server_refuses", "servers");
    assert_non_null(strstr(TEXT(0, advice), "Ask less often"));
}

static void
one_server_refuses(void **state)
{
    (void)state;
    refuse(1, 403);
    assert_first("healthy", "-");
    refuse(3, 404); /* what is not there */
    assert_first("healthy", "-");
}

/* Of cache_peers, too, and logins that a proxy wants. */
static void
others_refuse(void **state)
{
    (void)state;
    peer_kind = 2;
    refuse(3, 403);
    peer_kind = 1;
    assert_false(is_found("server_refuses"));
    refuse(3, 407);
    assert_false(is_found("server_refuses"));
}

/* One 403 of each server comes first, and then a good part of 429. */
static void
a_stray_refusal_hides_no_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 120; ++i)
        answered(ORIGIN_1 + i % 3, MS, i < 3 ? 403 : i / 3 % 2 ? 429 : 200);
    assert_first("server_refuses", "servers");
    assert_int_equal(NUMBER(0, failures), 60);
    assert_non_null(strstr(TEXT(0, sentence), "with status 429."));
}

/* Three servers with 10 answers each refuse, and four with 9 each do not, if they are asked. */
static void
most_are_asked_elsewhere(void **state)
{
    static const uint32_t others[] = {PARENT, ORIGIN_3 + 1, ORIGIN_3 + 2, ORIGIN_3 + 3};
    (void)state;
    for (unsigned elsewhere = 0; elsewhere < 2; ++elsewhere) {
        for (unsigned i = 0; i < 30; ++i)
            answered(ORIGIN_1 + i % 3, MS, 403);
        for (unsigned i = 0; elsewhere && i < 36; ++i)
            answered(others[i % 4], MS, 200);
        assert_int_equal(is_found("server_refuses"), !elsewhere);
    }
}

/* One request in eight hangs on a kept connection, and others are answered on such connections meanwhile. */
static void
one_endpoint_hangs(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 240; ++i)
        if (i / 3 % 8 == 7)
            unanswered(ORIGIN_1 + i % 3, 4 * SECOND);
        else
            answered(ORIGIN_1 + i % 3, MS, 200);
    const unsigned row = row_of("failed_answer");
    assert_int_not_equal(row, found_count);
    for (unsigned i = 0; i < found_count; ++i) {
        assert_null(strstr(TEXT(i, sentence), "kept connections"));
        assert_null(strstr(TEXT(i, advice), "lead nowhere"));
    }
}

/* Kept connections to so many servers are dead from then on.  Others of the same servers work. */
static void
die(unsigned servers)
{
    for (unsigned i = 0; i < 90; ++i)
        if (i < 60 || i % 3 >= servers)
            answered(ORIGIN_1 + i % 3, MS, 200);
        else
            unanswered(ORIGIN_1 + i % 3, 4 * SECOND);
}

static void
kept_connections_are_dead(void **state)
{
    (void)state;
    die(3);
    assert_first("failed_answer", "servers");
    assert_int_equal(NUMBER(0, failures), 30);
    assert_non_null(
        strstr(TEXT(0, sentence), "nothing came back on kept connections. These lead to 3 servers (origin-"));
    assert_non_null(strstr(TEXT(0, sentence), "Each wait ends after about 4.0 s: that is read_timeout."));
    assert_false(is_found("no_answer"));
    die(1);
    assert_true(is_found("failed_answer"));
    die(1);
    const unsigned row = row_of("failed_answer");
    assert_string_equal(TEXT(row, culprit), "origin-1");
    assert_non_null(strstr(TEXT(row, sentence), "nothing came back on kept connections to origin-1."));
    assert_null(strstr(TEXT(row, sentence), "POST"));
}

/* Another server closes connections without an answer meanwhile, in many more requests: the share is of those that are named. */
static void
the_share_is_of_what_is_named(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 150; ++i)
        answered(ORIGIN_1 + i % 3, MS, 200);
    for (unsigned i = 0; i < 90; ++i) {
        if (i % 5 == 0)
            unanswered(ORIGIN_1 + i / 5 % 3, 4 * SECOND);
        const uint64_t xact = begin();
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 4, 0, ORIGIN_3 + 1);
        PUT(now, DISPATCH, xact, 50, 0);
        end(xact, 502, SQT_XACT_ERROR_PAGE);
    }
    unsigned i = row_of("failed_answer");
    while (i < found_count && strcmp(TEXT(i, culprit), "servers") != 0)
        ++i;
    assert_int_not_equal(i, found_count);
    assert_non_null(strstr(TEXT(i, sentence), "18 of 107 requests (17 %)"));
}

/* A request tries an origin in vain for a second, and then asks the parent; or the origin takes it then. */
static void
connect_in_vain(int in_vain)
{
    for (unsigned i = 0; i < 60; ++i) {
        const uint64_t xact = begin();
        PUT(now, CONNECT_BEGIN, xact, 51, 1);
        PART(PART_SERVER, 4, 0, ORIGIN_1 + i % 3);
        PUT(now += SECOND, CONNECT_END, xact, 51, in_vain ? SQT_CONNECT_TIMEOUT : SQT_CONNECT_OK);
        if (in_vain) {
            PUT(now, CONNECT_REUSED, xact, 50, 2);
            PART(PART_SERVER, 4, 0, PARENT);
        }
        PUT(now += MS, XACT_END, xact, MISS, 200);
        PART(PART_XACT_SIZES, 1000, 1300, in_vain ? 2 : 1);
        PART(PART_XACT_FLAGS, number, 7, 0);
        number += 11;
    }
}

static void
nobody_is_reached(void **state)
{
    (void)state;
    connect_in_vain(1);
    assert_first("connect", "servers");
    assert_non_null(
        strstr(TEXT(0, sentence), "60 of 60 attempts to connect to 3 servers fail, because no answer came in time"));
    assert_non_null(strstr(TEXT(0, sentence), "Squid goes direct first. Only when that has failed, parent is asked"));
    assert_null(strstr(TEXT(0, sentence), "SYN"));
    connect_in_vain(0);
    assert_first("connect", "servers");
    assert_null(strstr(TEXT(0, sentence), "fail"));
}

/* A server takes 400 ms to say that something is not there, or whatever it says. */
static void
slow_is_one_status(void **state)
{
    (void)state;
    for (unsigned all = 0; all < 2; ++all) {
        for (unsigned i = 0; i < 120; ++i)
            if (i % 2)
                answered(ORIGIN_2, MS, 200);
            else
                answered(ORIGIN_1, all || i % 4 ? 400 * MS : MS, i % 4 ? 404 : 200);
        find();
        now = 0;
        const char *const said =
            strstr(TEXT(0, sentence), "What takes long is its answer 404 (not found): 30 of its 60 answers");
        assert_string_equal(TEXT(0, culprit), "origin-1");
        if (all)
            assert_null(said);
        else
            assert_non_null(said);
    }
}

/* ---- helpers ---- */

/* So many of ten requests ask a helper, and of four answers so many are no. */
static void
ask(uint32_t who, unsigned asked, unsigned no)
{
    for (unsigned i = 0; i < 100; ++i) {
        const uint64_t xact = begin();
        const int is_no = i % 10 < asked && i % 4 < no;
        if (i == 0)
            PUT(now - MS, CONN_ACCEPT, 7, 9, 3128);
        PUT(now, ACCESS_BEGIN, xact, 0, 0);
        if (i % 10 < asked) {
            PUT(now, HELPER_BEGIN, xact, xact, who);
            PUT(now += 98 * MS, HELPER_END, xact, xact, is_no ? SQT_WAIT_ERR : SQT_WAIT_OK);
            PART(PART_HELPER, (uint64_t)(now - 98 * MS), 0, 0);
        }
        PUT(now, ACCESS_END, xact, 0, 0);
        PUT(now += MS, XACT_END, xact, is_no ? DENIED : MEM_HIT, is_no ? 407 : 200);
        PART(PART_XACT_SIZES, 1000, 1300, 0);
        PART(PART_XACT_FLAGS, 1, 7, 0);
    }
}

static void
logins_are_wrong(void **state)
{
    (void)state;
    ask(AUTH, 10, 3);
    unsigned row = row_of("slow_helper");
    assert_string_equal(TEXT(row, culprit), "auth basic");
    assert_non_null(strstr(TEXT(row, sentence), "75 of its 100 answers are no (ERR): wrong logins"));
    ask(AUTH, 10, 3);
    row = row_of("challenges");
    assert_string_equal(TEXT(row, culprit), "auth basic");
    ask(AUTH, 5, 0);
    row = row_of("slow_helper");
    assert_null(strstr(TEXT(row, sentence), "ERR"));
}

static void
nothing_is_kept(void **state)
{
    (void)state;
    ask(GROUPS, 10, 0);
    assert_first("slow_helper", "external_acl groups");
    assert_non_null(strstr(TEXT(0, sentence), "It is asked 100 times for 100 requests"));
    ask(GROUPS, 5, 0);
    assert_first("slow_helper", "external_acl groups");
    assert_null(strstr(TEXT(0, sentence), "It is asked"));
}

/* ---- the clock ---- */

static unsigned kids = 1; /* that note it */

/* After 5 s the time of day is set by so much.  Of all requests so many fail just then. */
static void
set_clock_to(uint64_t step, unsigned failing, uint32_t kind)
{
    for (unsigned i = 0; i < 100; ++i)
        if (i >= 50 && i < 50 + failing)
            unanswered(ORIGIN_1, MS);
        else {
            answered(ORIGIN_1, MS, 200);
            for (unsigned kid = 0; i == 49 && kid < kids; ++kid)
                PUT(now + MS, CLOCK_STEP, (uint64_t)now, step + 100000 * kid, kind);
        }
}

static void
set_clock(uint64_t step, unsigned failing)
{
    set_clock_to(step, failing, SQT_STEP_WALL_FORWARD);
}

static void
the_clock_is_set(void **state)
{
    (void)state;
    set_clock(UINT64_C(7200000000000), 6);
    assert_first("clock_set", "time of day");
    assert_int_equal(NUMBER(0, failures), 6);
    assert_non_null(strstr(TEXT(0, sentence), "was set forward by 7,200 s. 6 requests failed just then"));
    set_clock(UINT64_C(7200000000000), 0);
    assert_false(is_found("clock_set"));
    set_clock(UINT64_C(1000000000), 6);
    assert_false(is_found("clock_set"));
    set_clock_to(UINT64_C(7200000000000), 6, SQT_STEP_WALL_BACK);
    assert_false(is_found("clock_set"));
}

/* Each process notes the step. */
static void
one_step_is_one(void **state)
{
    (void)state;
    kids = 3;
    set_clock(UINT64_C(7200000000000), 6);
    kids = 1;
    assert_first("clock_set", "time of day");
    assert_null(strstr(TEXT(0, sentence), "at other times"));
}

/* One request in three fails, whatever the clock does. */
static void
failures_before_the_clock(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; ++i) {
        if (i % 3 == 0)
            unanswered(ORIGIN_1, MS);
        else
            answered(ORIGIN_1, MS, 200);
        if (i == 31)
            PUT(now + MS, CLOCK_STEP, (uint64_t)now, UINT64_C(7200000000000), SQT_STEP_WALL_FORWARD);
    }
    assert_false(is_found("clock_set"));
}

/* Of so many requests before the step none asks about an expired object, and of those after it all do. */
static unsigned
expire(unsigned before)
{
    for (unsigned i = 0; i < before + 100; ++i) {
        const uint64_t xact = begin();
        if (i >= before) {
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 4, 0, ORIGIN_1);
            PUT(now, DISPATCH, xact, 50, 0);
            PUT(now += MS, SERVER_HEADER, xact, 100, 304);
        }
        PUT(now += MS, XACT_END, xact, i < before ? MEM_HIT : MISS, 200);
        PART(PART_XACT_SIZES, 1000, 1300, i >= before);
        PART(PART_XACT_FLAGS, number, 7, i < before ? 0 : SQT_MISS_STALE << SQT_XACT_MISS_SHIFT);
        if (i + 1 == before)
            PUT(now + MS, CLOCK_STEP, (uint64_t)now, UINT64_C(7200000000000), SQT_STEP_WALL_FORWARD);
    }
    return row_of("clock_set");
}

static void
all_has_expired(void **state)
{
    (void)state;
    const unsigned row = expire(150);
    assert_int_not_equal(row, found_count);
    assert_non_null(strstr(TEXT(row, sentence), "100 ask servers about objects that had expired (stale). Of the 150 "
                                                "before it, 0 did"));
    const unsigned few = expire(30);
    assert_int_equal(few, found_count);
    const unsigned none = expire(0);
    assert_int_equal(none, found_count);
}

/* ---- what looks like that, and is not ---- */

static unsigned
rows_with(const char *words)
{
    unsigned rows = 0;
    for (unsigned i = 0; i < found_count; ++i)
        rows += strstr(TEXT(i, sentence), words) != NULL;
    return rows;
}

/* A server's header comes after 400 ms, and Squid makes a page of its own. */
static void
a_page_of_squid_is_no_answer(void **state)
{
    (void)state;
    for (unsigned own = 0; own < 2; ++own) {
        for (unsigned i = 0; i < 120; ++i)
            if (i % 4) {
                answered(ORIGIN_1 + i % 2, MS, 200);
            } else {
                const uint64_t xact = begin();
                PUT(now, CONNECT_REUSED, xact, 50, 1);
                PART(PART_SERVER, 4, 0, ORIGIN_1);
                PUT(now, DISPATCH, xact, 50, 0);
                PUT(now, REQUEST_SENT, xact, 50, 0);
                PUT(now += 400 * MS, SERVER_HEADER, xact, 100, own ? 200 : 403);
                PUT(now, SERVER_DONE, xact, 50, 0);
                end(xact, 403, own ? SQT_XACT_ERROR_PAGE : 0);
                number += 4;
            }
        find();
        now = 0;
        assert_int_equal(rows_with("What takes long is its answer 403"), !own);
    }
}

/* Groups say no of each client that is in none. */
static void
a_group_says_no(void **state)
{
    (void)state;
    ask(GROUPS, 10, 2);
    find();
    now = 0;
    assert_string_equal(TEXT(0, culprit), "external_acl groups");
    assert_int_equal(rows_with("ERR"), 0);
    assert_int_equal(
        rows_with("It is asked 100 times for 100 requests: Squid answers hardly one by what it keeps (ttl="), 1);
    assert_non_null(strstr(TEXT(0, advice), "%ul, %>a or %>rd"));
}

static void
only_basic_has_credentialsttl(void **state)
{
    (void)state;
    ask(NEGOTIATE, 10, 0);
    unsigned row = row_of("slow_helper");
    assert_string_equal(TEXT(row, culprit), "auth negotiate");
    assert_non_null(strstr(TEXT(row, sentence), "each connection of a client logs in again"));
    assert_non_null(strstr(TEXT(row, advice), "client_persistent_connections on"));
    assert_int_equal(rows_with("credentialsttl"), 0);
    ask(AUTH, 10, 0);
    row = row_of("slow_helper");
    assert_non_null(strstr(TEXT(row, sentence), "(credentialsttl)"));
}

/* What else is said of connecting stays. */
static void
since_when_nobody_is_reached(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; ++i)
        answered(ORIGIN_1, MS, 200);
    connect_in_vain(1);
    assert_first("connect", "servers");
    assert_null(strstr(TEXT(0, sentence), "SYN"));
    assert_non_null(strstr(TEXT(0, sentence), " from 30.0 s to "));
    assert_non_null(strstr(TEXT(0, sentence), "60 of 60 attempts to connect to 3 servers fail"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(servers_refuse_alike),
                                       SCRIPT_TEST(one_server_refuses),
                                       SCRIPT_TEST(kept_connections_are_dead),
                                       SCRIPT_TEST(nobody_is_reached),
                                       SCRIPT_TEST(slow_is_one_status),
                                       SCRIPT_TEST(logins_are_wrong),
                                       SCRIPT_TEST(nothing_is_kept),
                                       SCRIPT_TEST(the_clock_is_set),
                                       SCRIPT_TEST(others_refuse),
                                       SCRIPT_TEST(a_stray_refusal_hides_no_other),
                                       SCRIPT_TEST(most_are_asked_elsewhere),
                                       SCRIPT_TEST(one_endpoint_hangs),
                                       SCRIPT_TEST(one_step_is_one),
                                       SCRIPT_TEST(failures_before_the_clock),
                                       SCRIPT_TEST(all_has_expired),
                                       SCRIPT_TEST(the_share_is_of_what_is_named),
                                       SCRIPT_TEST(a_page_of_squid_is_no_answer),
                                       SCRIPT_TEST(a_group_says_no),
                                       SCRIPT_TEST(only_basic_has_credentialsttl),
                                       SCRIPT_TEST(since_when_nobody_is_reached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
