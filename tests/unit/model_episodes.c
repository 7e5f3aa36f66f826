/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_episodes.c - table `findings`: what is bad for some time only, who does not answer, and what sets requests apart.
 */
#include "model_found.h"

#define SECOND (1000 * MS)
enum { PARENT = 1, ORIGIN_1, ORIGIN_2, NAME_SERVER = 2, NAMED_SERVERS = 5, REWRITER = 5 };

static struct sqt_job job;

/* ---- records of a trace that may be long: they are played as they come ---- */

static void
trace_begin(void)
{
    job = (struct sqt_job){.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    consumer.context = &job;
    found_count = 0;
    kept_begin();
    sqt_family_findings.start(&job);
    sqt_model_free(script.model);
    script.model = sqt_model_new(&consumer);
}

static void
trace_end(int64_t length)
{
    play();
    job.length = length;
    sqt_model_finish(script.model);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
}

static uint64_t
begin(int64_t at)
{
    if (script.count > 4000)
        play();
    begin_xact(at, 100 + ++number, 7);
    return 100 + number;
}

/* A miss that the server makes wait for so long; its body takes body_ms and has so many bytes. */
static void
fetched(int64_t at, uint32_t server, int64_t wait_ms, int64_t body_ms, uint64_t bytes)
{
    const uint64_t xact = begin(at);
    PUT(at, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(at, DISPATCH, xact, 50, 1);
    PUT(at, REQUEST_SENT, xact, 50, 0);
    PUT(at += wait_ms * MS, SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_HEADER, xact, 200, 200);
    PUT(at += body_ms * MS, SERVER_READ, xact, bytes, 0);
    PUT(at, SERVER_DONE, xact, 50, 0);
    PUT(at += MS, XACT_END, xact, MISS, 200);
    PART(PART_XACT_SIZES, bytes, bytes + 300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, 0);
}

/* A request of 2 ms at each server in turn, each 100 ms. */
static void
all_is_well(int64_t from, int64_t until)
{
    for (int64_t at = from; at < until; at += 100 * MS)
        fetched(at, PARENT + (uint32_t)(at / (100 * MS) % NAMED_SERVERS), 2, 1, 1000);
}

static void
assert_when(unsigned row, const char *pattern, int64_t since_ms, int64_t until_ms)
{
    assert_string_equal(TEXT(row, pattern), pattern);
    assert_in_range(NUMBER(row, time_s) / MS, since_ms > 500 ? since_ms - 500 : 0, since_ms + 500);
    assert_in_range(NUMBER(row, until_s) / MS, until_ms - 1000, until_ms + 1000);
}

/* ---- when ---- */

/* Of an hour, ten seconds in which one server takes 800 ms.  The records of a script are in the order of time, so one request
 * comes after the other. */
static void
ten_seconds_of_an_hour(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 1800 * SECOND);
    for (int64_t at = 1800 * SECOND; at < 1810 * SECOND; at += SECOND)
        fetched(at, ORIGIN_1, 800, 1, 1000);
    all_is_well(1810 * SECOND, 3600 * SECOND);
    trace_end(3600 * SECOND);
    assert_string_equal(TEXT(0, culprit), "origin-1");
    assert_when(0, "once", 1800000, 1810000);
    assert_in_range(NUMBER(0, waiting_s), 7 * SECOND, 9 * SECOND);
    assert_int_equal(NUMBER(0, requests), 10);
}

/* Two seconds of each ten. */
static void
again_and_again(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t ten = 0; ten < 40; ten += 10) {
        all_is_well(ten * SECOND, (ten + 6) * SECOND);
        for (int64_t at = (ten + 6) * SECOND; at < (ten + 8) * SECOND; at += 500 * MS)
            fetched(at, ORIGIN_2, 400, 1, 1000);
        all_is_well((ten + 8) * SECOND, (ten + 10) * SECOND);
    }
    trace_end(40 * SECOND);
    assert_string_equal(TEXT(0, culprit), "origin-2");
    assert_when(0, "recurring", 6000, 38000);
}

/* ---- the same anywhere, to the second ---- */

/* Requests at each server in turn, one after the other. */
static void
quiet(int64_t from, int64_t until, int64_t each_ms, int64_t wait_ms)
{
    for (int64_t at = from; at + wait_ms * MS < until; at += each_ms * MS)
        fetched(at, PARENT + (uint32_t)(at / (each_ms * MS) % NAMED_SERVERS), wait_ms, 1, 1000);
}

static void
asks_slow_server(int64_t at)
{
    const uint64_t xact = begin(at);
    PUT(at, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, ORIGIN_1);
    PUT(at, DISPATCH, xact, 50, 1);
    PUT(at, REQUEST_SENT, xact, 50, 0);
}

static void
slow_server_answers(int64_t at, uint64_t xact)
{
    PUT(at, SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_DONE, xact, 50, 0);
    PUT(at, XACT_END, xact, MISS, 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, xact, 7, 0);
}

/* 25 requests a second, each of which waits for 800 ms: 20 are under way at a time. */
static void
bad_seconds(int64_t from, int64_t seconds)
{
    const uint64_t first = 101 + number;
    for (int64_t i = 0; i < 25 * seconds + 20; ++i) {
        if (i >= 20)
            slow_server_answers(from + i * 40 * MS, first + (uint64_t)(i - 20));
        if (i < 25 * seconds)
            asks_slow_server(from + i * 40 * MS);
    }
}

static void
assert_to_the_second(const char *pattern, int64_t since, int64_t until)
{
    assert_string_equal(TEXT(0, culprit), "origin-1");
    assert_string_equal(TEXT(0, pattern), pattern);
    assert_in_range(NUMBER(0, time_s), since - SECOND, since + SECOND);
    assert_in_range(NUMBER(0, until_s), until - SECOND, until + SECOND);
}

/* Twenty places: ten seconds that are nearly all waiting of an hour, or a seventh of it. */
static void
ten_seconds_anywhere_in_an_hour(void **state)
{
    (void)state;
    uint32_t random = 2463534242;
    for (unsigned i = 0; i < 20; ++i) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        const int64_t at = (int64_t)(5000 + random % 3580000) * MS;
        trace_begin();
        quiet(0, at, i % 2 ? 1000 : 100, i % 2 ? 2 : 30);
        bad_seconds(at, 10);
        quiet(at + 11 * SECOND, 3600 * SECOND, i % 2 ? 1000 : 100, i % 2 ? 2 : 30);
        trace_end(3600 * SECOND);
        assert_to_the_second("once", at, at + 10 * SECOND);
    }
}

/* Three times or more. */
static void
two_of_ten_seconds(void **state)
{
    (void)state;
    for (unsigned times = 3; times <= 60; times = 2 * times + 1) {
        trace_begin();
        quiet(0, 123456 * MS, 100, 5);
        for (unsigned i = 0; i < times; ++i) {
            const int64_t at = 123456 * MS + i * 10 * SECOND;
            bad_seconds(at, 2);
            quiet(at + 3 * SECOND, at + 10 * SECOND, 100, 5);
        }
        quiet(123456 * MS + times * 10 * SECOND, 900 * SECOND, 100, 5);
        trace_end(900 * SECOND);
        assert_to_the_second("recurring", 123456 * MS, 123456 * MS + (int64_t)(10 * (times - 1) + 2) * SECOND);
    }
}

static void
nothing_is_wrong(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 60 * SECOND);
    trace_end(60 * SECOND);
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
    assert_int_equal(NUMBER(0, requests), 600);
}

/* ---- what sets them apart ---- */

static void
one_server_sends_slowly(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t i = 0; i < 300; ++i) {
        const int64_t at = i * 2 * SECOND;
        const uint32_t server = PARENT + (uint32_t)(i % NAMED_SERVERS);
        fetched(at, server, 2, server == ORIGIN_2 ? 1500 : 1, 30000);
    }
    trace_end(600 * SECOND);
    assert_string_equal(TEXT(0, cause), "slow_at_server");
    assert_string_equal(TEXT(0, culprit), "origin-2");
    assert_non_null(strstr(TEXT(0, sentence), "bodies of origin-2 that come at 19.5 KB/s"));
}

/* Connections to the parent time out, and each of these requests goes on to a server that answers at once. */
static void
who_answered_is_not_who_was_tried(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t i = 0; i < 300; ++i) {
        int64_t at = i * 4 * SECOND;
        if (i % 3 || i < 30) {
            fetched(at, i % 2 ? ORIGIN_1 : ORIGIN_2, 10, 1, 1000);
            continue;
        }
        const uint64_t xact = begin(at);
        PUT(at, CONNECT_BEGIN, xact, 50, 1);
        PART(PART_SERVER, 0, 0, PARENT);
        PUT(at += 2 * SECOND, CONNECT_END, xact, 50, SQT_CONNECT_TIMEOUT);
        PUT(at, CONNECT_BEGIN, xact, 51, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_1);
        PUT(at += MS, CONNECT_END, xact, 51, SQT_CONNECT_OK);
        PUT(at, DISPATCH, xact, 51, 1);
        PUT(at, REQUEST_SENT, xact, 51, 0);
        PUT(at += 10 * MS, SERVER_READ, xact, 1000, 0);
        PUT(at, SERVER_DONE, xact, 51, 0);
        PUT(at += MS, XACT_END, xact, MISS, 200);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, 0xabc, 7, 0);
    }
    trace_end(1200 * SECOND);
    assert_string_equal(TEXT(0, culprit), "parent");
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, culprit), "origin-1");
}

/* The parent answers with an error after two seconds.  That is the reply, or the request goes on to a server that answers at
 * once. */
static void
who_answered_is_not_who_was_late(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t i = 0; i < 300; ++i) {
        int64_t at = i * 4 * SECOND;
        if (i % 3) {
            fetched(at, i % 2 ? ORIGIN_1 : ORIGIN_2, 10, 1, 1000);
            continue;
        }
        const uint64_t xact = begin(at);
        PUT(at, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, PARENT);
        PUT(at, DISPATCH, xact, 50, 1);
        PUT(at, REQUEST_SENT, xact, 50, 0);
        PUT(at += 2 * SECOND, SERVER_READ, xact, 300, 0);
        PUT(at, SERVER_HEADER, xact, 200, 504);
        if (i % 2) {
            PUT(at, RETRY, xact, 0, 1);
            PUT(at, CONNECT_REUSED, xact, 51, 1);
            PART(PART_SERVER, 0, 0, ORIGIN_1);
            PUT(at, DISPATCH, xact, 51, 1);
            PUT(at, REQUEST_SENT, xact, 51, 0);
            PUT(at += 10 * MS, SERVER_READ, xact, 1000, 0);
            PUT(at, SERVER_HEADER, xact, 200, 200);
        }
        PUT(at, SERVER_DONE, xact, 50 + (uint64_t)i % 2, 0);
        PUT(at += MS, XACT_END, xact, MISS, i % 2 ? 200 : 504);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, 0xabc, 7, 0);
    }
    trace_end(1200 * SECOND);
    assert_string_equal(TEXT(0, cause), "server_errors");
    assert_string_equal(TEXT(0, culprit), "parent");
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, culprit), "origin-1");
}

/* A server of large objects is not slow: others have none. */
static void
large_objects_are_not_slow(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t i = 0; i < 300; ++i) {
        const int64_t at = i * 2 * SECOND;
        const uint32_t server = PARENT + (uint32_t)(i % NAMED_SERVERS);
        fetched(at, server, 2, server == ORIGIN_2 ? 1000 : 1, server == ORIGIN_2 ? 20000000 : 1000);
    }
    trace_end(600 * SECOND);
    assert_string_equal(TEXT(0, cause), "healthy");
}

/* A miss of an object that is in no cache. */
static void
fetched_object(int64_t at, uint64_t object)
{
    const uint64_t xact = begin(at);
    PUT(at, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, PARENT + (uint32_t)(object % NAMED_SERVERS));
    PUT(at, DISPATCH, xact, 50, 1);
    PUT(at, REQUEST_SENT, xact, 50, 0);
    PUT(at += 60 * MS, SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_DONE, xact, 50, 0);
    PUT(at += MS, XACT_END, xact, MISS, 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, object, 7, SQT_MISS_ABSENT << SQT_XACT_MISS_SHIFT);
}

/* Objects that were asked for before are not in the cache any more; others are new each time. */
static void
objects_that_were_removed(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; ++again) {
        trace_begin();
        for (int64_t i = 0; i < 200; ++i) {
            fetched_object(i * SECOND, (uint64_t)(again ? i % 20 : i) + 1);
        }
        trace_end(200 * SECOND);
        assert_string_equal(TEXT(0, cause), again ? "cache_too_small" : "healthy");
        assert_int_equal(NUMBER(0, requests), again ? 180 : 200);
    }
}

/* Writing them failed: whether they are gone, or their files are, it is one finding.  It was the open that failed, the first
 * write, the end after a good one, or a write of a store with one file. */
enum { OPEN, WRITE, CLOSE, ROCK };

static void
nothing_is_written(unsigned how)
{
    trace_begin();
    for (int64_t i = 0; i < 200; ++i) {
        int64_t at = i * SECOND;
        const uint64_t xact = begin(at), sio = 100000 + (uint64_t)i;
        PUT(at, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, PARENT + (uint32_t)(i % NAMED_SERVERS));
        PUT(at, DISPATCH, xact, 50, 1);
        PUT(at, REQUEST_SENT, xact, 50, 0);
        PUT(at += 60 * MS, SERVER_READ, xact, 500, 0);
        PUT(at, SWAPOUT_OPEN, sio, xact, how == ROCK ? 9 : 0);
        PART(PART_SWAP_FILE, (uint64_t)i % 20 + 1, 77, 0);
        PUT(at, SWAPOUT_OPENED, sio, 0, how == OPEN ? 28 : 0);
        if (how != OPEN) {
            PUT(at, SWAPOUT_WRITE, sio, 0, 1000);
            PUT(at, SWAPOUT_WRITTEN, sio, how == CLOSE ? 1000 : 0, how == CLOSE ? 1000 : 0x80000000);
        }
        PUT(at, SWAPOUT_CLOSED, sio, 0, 28);
        PUT(at, SERVER_DONE, xact, 50, 0);
        PUT(at += MS, XACT_END, xact, MISS, 200);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, (uint64_t)i % 20 + 1, 7,
             (i / 20 % 2 ? SQT_MISS_ABSENT : SQT_MISS_SWAP_FAIL) << SQT_XACT_MISS_SHIFT);
    }
    trace_end(200 * SECOND);
    unsigned count = 0;
    for (unsigned i = 0; i < found_count; ++i)
        count += strcmp(TEXT(i, cause), "not_written") == 0;
    assert_int_equal(count, 1);
    assert_string_equal(TEXT(0, cause), "not_written");
    assert_int_equal(NUMBER(0, requests), 200);
    assert_non_null(strstr(TEXT(0, sentence), "200 of 200 objects could not be written to "));
    static const char *const words[] = {": their files could not be created.",
                                        ": files can be created there, and writing to them fails", ": writing failed.",
                                        ": writing failed."};
    assert_non_null(strstr(TEXT(0, sentence), words[how]));
    assert_non_null(strstr(TEXT(0, culprit), how == ROCK ? "rock:9" : ":"));
}

static void
objects_that_were_not_written(void **state)
{
    (void)state;
    for (unsigned how = OPEN; how <= ROCK; ++how)
        nothing_is_written(how);
}

/* Each tenth request has an object that could not be written.  The others are for objects that may not be stored, or that
 * were stored before. */
static void
few_are_not_written(int storable)
{
    trace_begin();
    for (int64_t i = 0; i < 400; ++i) {
        int64_t at = i * SECOND;
        const uint64_t xact = begin(at), sio = 100000 + (uint64_t)i, object = 1 + (uint64_t)i % 100;
        PUT(at, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, PARENT + (uint32_t)(i % NAMED_SERVERS));
        PUT(at, DISPATCH, xact, 50, 1);
        PUT(at, REQUEST_SENT, xact, 50, 0);
        PUT(at += 60 * MS, SERVER_READ, xact, 500, 0);
        if (i % 10 == 0) {
            PUT(at, SWAPOUT_OPEN, sio, xact, 0);
            PART(PART_SWAP_FILE, object, 77, 0);
            PUT(at, SWAPOUT_OPENED, sio, 0, 0);
            PUT(at, SWAPOUT_CLOSED, sio, 0, 28);
        }
        PUT(at, SERVER_DONE, xact, 50, 0);
        PUT(at += MS, XACT_END, xact, MISS, 200);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, object, 7,
             (storable && i < 100 ? SQT_MISS_ABSENT : SQT_MISS_UNCACHEABLE) << SQT_XACT_MISS_SHIFT);
    }
    trace_end(400 * SECOND);
}

static void
objects_that_may_not_be_stored(void **state)
{
    (void)state;
    few_are_not_written(0);
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, cause), "not_written");
    few_are_not_written(1);
    assert_string_equal(TEXT(0, cause), "not_written");
    assert_int_equal(NUMBER(0, requests), 300);
}

/* ---- who does not answer ---- */

static void
ask_rewriter(int64_t at, uint64_t xact)
{
    PUT(at, ACCESS_BEGIN, xact, 0, 0);
    PUT(at, REDIRECT_BEGIN, xact, 0, 0);
    PUT(at, HELPER_BEGIN, xact, xact, REWRITER);
}

static void
requests_that_hang(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND);
    for (int64_t at = 10 * SECOND; at < 20 * SECOND; at += SECOND)
        ask_rewriter(at, begin(at));
    all_is_well(20 * SECOND, 21 * SECOND);
    trace_end(21 * SECOND);
    assert_string_equal(TEXT(0, cause), "hanging");
    assert_string_equal(TEXT(0, culprit), "url_rewrite rewriter");
    assert_int_equal(NUMBER(0, requests), 10);
    assert_int_equal(found_count, 1);
}

/* A request that asks for both types of addresses, and waits so long for both. */
static void
looks_up(int64_t at, int64_t ns, uint32_t outcome)
{
    const uint64_t xact = begin(at);
    PUT(at, DNS_BEGIN, xact, 1, 0);
    for (unsigned type = 1; type <= 28; type += 27) {
        PUT(at + ns, QUERY_END, xact, (uint64_t)at, NAME_SERVER);
        PART(PART_QUERY, type, 0, outcome);
    }
    PUT(at + ns, DNS_END, xact, 1, 0);
    PUT(at + ns, XACT_END, xact, MISS, 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, 0);
}

/* Clients wait once for two queries at a time. */
static void
two_queries_at_once(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND);
    for (int64_t at = 10 * SECOND; at < 50 * SECOND; at += 2 * SECOND)
        looks_up(at, SECOND, SQT_WAIT_TIMEOUT);
    trace_end(50 * SECOND);
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "no_answer");
    assert_int_equal(NUMBER(0, requests), 20);
    assert_int_equal(NUMBER(0, waiting_s), 20 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "answers none of 40 questions"));
    assert_int_equal(NUMBER(0, until_s), 49 * SECOND);
}

/* A slow name server answers nothing for a while: that is said once, and not for each type. */
static void
a_slow_name_server_that_stops(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t i = 0; i < 100; ++i)
        looks_up(i * 2 * SECOND, SECOND, SQT_WAIT_OK);
    for (int64_t i = 50; i < 60; ++i)
        looks_up(i * 4 * SECOND, 3 * SECOND + SECOND / 2, SQT_WAIT_TIMEOUT);
    trace_end(240 * SECOND);
    assert_string_equal(TEXT(0, cause), "slow_name_server");
    const char *const first = strstr(TEXT(0, sentence), "answers none of");
    assert_non_null(first);
    assert_null(strstr(first + 1, "answers none of"));
}

static void
wait_for_rewriter(int64_t at, int64_t ns, uint32_t outcome)
{
    const uint64_t xact = begin(at);
    ask_rewriter(at, xact);
    PUT(at + ns, HELPER_END, xact, xact, outcome);
    PART(PART_HELPER, (uint64_t)at, 0, 0);
    PUT(at + ns, REDIRECT_END, xact, 0, 0);
    PUT(at + ns, XACT_END, xact, MEM_HIT, 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, 0);
}

/* A slow helper that does not answer some is told once, with both. */
static void
a_slow_helper_that_misses_some(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t i = 0; i < 70; ++i)
        wait_for_rewriter(i * 4 * SECOND, SECOND, SQT_WAIT_OK);
    for (int64_t i = 70; i < 80; ++i)
        wait_for_rewriter(i * 4 * SECOND, 3 * SECOND + SECOND / 2, SQT_WAIT_TIMEOUT);
    trace_end(320 * SECOND);
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "slow_rewriter");
    assert_int_equal(NUMBER(0, waiting_s), 105 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "url_rewrite rewriter answers none of 10 questions"));
    assert_non_null(strstr(TEXT(0, advice), "flush its output"));
}

/* A server that took requests and answers none; before that it did. */
static void
a_server_that_fell_silent(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND);
    for (int64_t at = 10 * SECOND; at < 20 * SECOND; at += SECOND) {
        const uint64_t xact = begin(at);
        PUT(at, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_1);
        PUT(at, DISPATCH, xact, 50, 1);
        PUT(at, REQUEST_SENT, xact, 50, 0);
    }
    trace_end(21 * SECOND);
    assert_string_equal(TEXT(0, cause), "hanging");
    assert_string_equal(TEXT(0, culprit), "origin-1");
    assert_string_equal(TEXT(0, pattern), "since");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ten_seconds_of_an_hour, script_begin, script_end),
        cmocka_unit_test_setup_teardown(again_and_again, script_begin, script_end),
        SCRIPT_TEST(ten_seconds_anywhere_in_an_hour),
        SCRIPT_TEST(two_of_ten_seconds),
        cmocka_unit_test_setup_teardown(nothing_is_wrong, script_begin, script_end),
        cmocka_unit_test_setup_teardown(one_server_sends_slowly, script_begin, script_end),
        cmocka_unit_test_setup_teardown(who_answered_is_not_who_was_tried, script_begin, script_end),
        cmocka_unit_test_setup_teardown(who_answered_is_not_who_was_late, script_begin, script_end),
        cmocka_unit_test_setup_teardown(large_objects_are_not_slow, script_begin, script_end),
        cmocka_unit_test_setup_teardown(objects_that_were_removed, script_begin, script_end),
        cmocka_unit_test_setup_teardown(objects_that_were_not_written, script_begin, script_end),
        cmocka_unit_test_setup_teardown(objects_that_may_not_be_stored, script_begin, script_end),
        SCRIPT_TEST(requests_that_hang),
        SCRIPT_TEST(two_queries_at_once),
        SCRIPT_TEST(a_slow_name_server_that_stops),
        SCRIPT_TEST(a_slow_helper_that_misses_some),
        cmocka_unit_test_setup_teardown(a_server_that_fell_silent, script_begin, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
