/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_findings.c - table `findings`: made requests with one fault or two, and what is said of them.
 */
#include "model_found.h"

enum { PARENT = 1, ORIGIN_1, ORIGIN_2, NAMED_SERVERS = 5 };
enum { AUFS, DISKD };

/* The row tells that cause, with a share in thousandths of a percent and costs in milliseconds. */
static void
assert_finding(unsigned row, const char *cause, const char *culprit, int64_t share, int64_t p50, int64_t p99)
{
    assert_true(row < found_count);
    assert_string_equal(TEXT(row, cause), cause);
    assert_string_equal(TEXT(row, culprit), culprit);
    assert_int_equal(NUMBER(row, rank), row + 1);
    assert_int_equal(NUMBER(row, share_pct), share);
    assert_int_equal(NUMBER(row, cost_p50_ms), p50 * MS);
    assert_int_equal(NUMBER(row, cost_p99_ms), p99 * MS);
}

static void
assert_only(const char *cause, const char *culprit, int64_t share, int64_t p50, int64_t p99)
{
    find();
    assert_int_equal(found_count, 1);
    assert_finding(0, cause, culprit, share, p50, p99);
}

/* ---- requests, one after the other, each with 1 ms that no stage explains ---- */

static int64_t now;

static uint64_t
begin(void)
{
    const uint64_t xact = 100 + number++;
    now = (int64_t)number * 10000 * MS;
    begin_xact(now, xact, 7);
    return xact;
}

static void
end(uint64_t xact, uint32_t tag)
{
    end_xact(now += MS, xact, tag, tag == TUNNEL ? SQT_XACT_TUNNEL : 0);
}

/* server: 0: the trace does not name it. */
static void
reuse(uint64_t xact, uint32_t server)
{
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    if (server)
        PART(PART_SERVER, 0, 0, server);
}

static void
wait_for_answer(uint64_t xact, int64_t ms)
{
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    now += ms * MS;
    PUT(now, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
}

static void
served(uint32_t server, int64_t wait_ms)
{
    const uint64_t xact = begin();
    reuse(xact, server);
    wait_for_answer(xact, wait_ms);
    end(xact, MISS);
}

static void
look_up_name(uint64_t xact, int64_t ms)
{
    PUT(now, DNS_BEGIN, xact, 1, 0);
    PUT(now += ms * MS, DNS_END, xact, 1, 0);
}

/* A hit that reads one block of the object. */
static void
read_object(uint64_t object, uint32_t dir, int64_t queue_ms, int64_t service_ms, int64_t notice_ms)
{
    const uint64_t xact = begin();
    PUT(now, SWAPIN_OPEN, xact, xact, dir);
    PART(PART_SWAP_FILE, object, 77, 0);
    PUT(now, SWAPIN_OPENED, xact, 0, 0);
    PUT(now, SWAPIN_READ, xact, 0, 4096);
    const int64_t begins = now + queue_ms * MS, ends = begins + service_ms * MS;
    PUT(now = ends + notice_ms * MS, SWAPIN_READ_DONE, xact, 0, 4096);
    PART(PART_DISKOP_IO, (uint64_t)begins, (uint64_t)ends, 0);
    PUT(now, SWAPIN_CLOSED, xact, 0, 0);
    PUT(now += MS, XACT_END, xact, HIT, 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, object, 7, 0);
}

static void
read_block(uint32_t dir, int64_t queue_ms, int64_t service_ms, int64_t notice_ms)
{
    read_object(0xabc, dir, queue_ms, service_ms, notice_ms);
}

/* ---- servers ---- */

static void
one_of_five_servers_is_slow(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; ++i)
        served(PARENT + i % NAMED_SERVERS, i % NAMED_SERVERS == 2 ? 500 : 10);
    strcpy(percentiles, "");
    /* 10 requests of 501 ms and 40 of 11 ms.  Without the wait for origin-2 these 10 are 1 ms. */
    assert_only("slow_server", "origin-2", 91743, 0, 490);
    assert_string_equal(percentiles, "exact");
    assert_string_equal(TEXT(0, sentence),
                        "92 % of the time of requests is waiting for origin-2: median 500 ms, other servers 10 ms.");
    assert_string_equal(TEXT(0, command), "sqtrace-dump --where='server == \"origin-2\"' TRACE");
}

/* Twice as slow as the others is not slow; nor is 10 ms, beside servers of 1 ms. */
static void
a_healthy_trace_says_so(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; ++i)
        served(PARENT + i % NAMED_SERVERS, 10);
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
    assert_int_equal(NUMBER(0, share_pct), 90909);
    assert_int_equal(NUMBER(0, cost_p50_ms), SQT_CELL_MISSING);
    assert_string_equal(TEXT(0, sentence),
                        "No cause stands out in 50 requests of 500 s. The largest part of the time, 91 %, "
                        "is waiting for servers: 10 ms of the mean request.");
    for (unsigned slow = 0; slow < 2; ++slow) {
        for (uint32_t i = 0; i < 50; ++i)
            served(PARENT + i % NAMED_SERVERS, i % NAMED_SERVERS == 2 ? slow ? 59 : 10 : slow ? 20 : 1);
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), "healthy");
    }
}

/* Nine requests to others are nothing to compare with. */
static void
the_only_server(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; ++i)
        served(PARENT, 99);
    find();
    assert_string_equal(TEXT(0, cause), "healthy");
    for (uint32_t i = 0; i < 20; ++i)
        served(PARENT, 199);
    for (uint32_t i = 0; i < 9; ++i)
        served(ORIGIN_1, 1);
    /* 3,980 of 4,018 ms.  Without them 20 requests of 1 ms and 9 of 2 ms. */
    assert_only("only_server", "parent", 99054, 199, 198);
}

/* All servers alike, and a trace that does not name them: there one slow server of five shows in the mean. */
static void
no_server_stands_out(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; ++i)
        served(0, i % NAMED_SERVERS ? 10 : 500);
    assert_only("slow_servers", "servers", 99083, 10, 500);
    for (unsigned named = 0; named < 2; ++named) {
        for (uint32_t i = 0; i < 50; ++i)
            served(named ? PARENT + i % NAMED_SERVERS : 0, 199);
        assert_only("slow_servers", named ? "all servers" : "servers", 99500, 199, 199);
    }
}

static void
connecting_and_handshakes(void **state)
{
    (void)state;
    for (unsigned tls = 0; tls < 2; ++tls)
        for (unsigned named = 0; named < 2; ++named) {
            for (unsigned i = 0; i < 20; ++i) {
                const uint64_t xact = begin();
                PUT(now, CONNECT_BEGIN, xact, 50, 1);
                if (named)
                    PART(PART_SERVER, 0, 0, ORIGIN_1);
                PUT(now += (tls ? 1 : 49) * MS, CONNECT_END, xact, 50, SQT_CONNECT_OK);
                if (tls) {
                    PUT(now, TLS_BEGIN, xact, 50, 0);
                    PUT(now += 48 * MS, TLS_END, xact, 50, SQT_CONNECT_OK);
                }
                wait_for_answer(xact, 0);
                end(xact, MISS);
            }
            const char *const causes[2][2] = {{"connect", "connect_server"}, {"tls", "tls_server"}};
            assert_only(causes[tls][named], named ? "origin-1" : "servers", tls ? 96000 : 98000, tls ? 48 : 49,
                        tls ? 48 : 49);
        }
}

/* A request on a new connection. */
static void
connected(uint32_t server, int64_t connect_ms, int64_t wait_ms)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_BEGIN, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(now += connect_ms * MS, CONNECT_END, xact, 50, SQT_CONNECT_OK);
    wait_for_answer(xact, wait_ms);
    end(xact, MISS);
}

/* A round trip takes 100 ms: to one of five servers, and to all. */
static void
the_way_to_servers(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; ++i)
        connected(PARENT + i % NAMED_SERVERS, i % NAMED_SERVERS == 2 ? 100 : 1, i % NAMED_SERVERS == 2 ? 109 : 10);
    /* 2,090 of 2,580 ms: 10 requests of 210 ms, and 40 of 12 ms. */
    assert_only("far_server", "origin-2", 81008, 0, 198);
    assert_string_equal(
        TEXT(0, sentence),
        "81 % of the time of requests is the way to origin-2: connecting takes 100 ms, and an answer 109 ms.");
    for (uint32_t i = 0; i < 50; ++i)
        connected(PARENT + i % NAMED_SERVERS, 100, 109);
    assert_only("far_servers", "servers", 99524, 209, 209);
    /* An answer that takes less than the connection: connecting itself is slow. */
    for (uint32_t i = 0; i < 50; ++i)
        connected(PARENT + i % NAMED_SERVERS, 100, 10);
    find();
    assert_string_equal(TEXT(0, cause), "connect");
}

/* The time to connect counts for the server that was meant, not for the one that was connected to in the end. */
static void
an_address_that_does_not_answer(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, CONNECT_BEGIN, xact, 50, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_1);
        PUT(now += 400 * MS, CONNECT_END, xact, 50, SQT_CONNECT_TIMEOUT);
        PUT(now, CONNECT_BEGIN, xact, 51, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_2);
        PUT(now += MS, CONNECT_END, xact, 51, SQT_CONNECT_OK);
        wait_for_answer(xact, 10);
        end(xact, MISS);
    }
    /* 8,000 of 20 * 412 ms. */
    assert_only("connect_server", "origin-1", 97087, 400, 400);
}

/* Of 60 answers, some begin and some end as late as a packet that TCP sends again.  With others half as late, they are
 * just slow. */
static void
lost_packets(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; ++slow) {
        for (uint32_t i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            reuse(xact, PARENT + i % NAMED_SERVERS);
            PUT(now, DISPATCH, xact, 50, 1);
            PUT(now, REQUEST_SENT, xact, 50, 0);
            PUT(now += (i < 6 ? 220 : slow && i < 9 ? 150 : 10) * MS, SERVER_READ, xact, 500, 0);
            PUT(now += (i >= 54 ? 210 : 0) * MS, SERVER_DONE, xact, 50, 0);
            end(xact, MISS);
        }
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), slow ? "slow_servers" : "lost_packets");
    }
}

/* Three of four look-ups are no hit because the client reloads, or because of Vary. */
static void
misses_that_need_not_be(void **state)
{
    (void)state;
    static const struct {
        uint32_t miss;
        const char *cause, *culprit;
    } cases[] = {{SQT_MISS_NO_CACHE, "reloads", "no_cache"},
                 {SQT_MISS_RELOAD, "reloads", "reload"},
                 {SQT_MISS_VARY, "vary", "vary"},
                 {SQT_MISS_ABSENT, "healthy", "-"}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        for (unsigned i = 0; i < 40; ++i) {
            const uint64_t xact = begin();
            reuse(xact, ORIGIN_1 + i % 3);
            wait_for_answer(xact, 10);
            end_xact(now += MS, xact, MISS, (i % 4 ? cases[c].miss : SQT_MISS_ABSENT) << SQT_XACT_MISS_SHIFT);
        }
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), cases[c].cause);
        assert_string_equal(TEXT(0, culprit), cases[c].culprit);
        if (c < 3)
            assert_int_equal(NUMBER(0, share_pct), 68182);
    }
}

/* ---- disks, names, clients ---- */

static void
the_cache_dir_is_named_and_its_part(void **state)
{
    (void)state;
    static const struct {
        const char *cause;
        uint32_t dir;
        const char *culprit;
        int64_t queue, service, notice;
    } cases[] = {{"disk_queue", AUFS, "aufs:0 /cache", 40, 6, 3},
                 {"disk_slow", AUFS, "aufs:0 /cache", 6, 40, 3},
                 {"disk_notice", AUFS, "aufs:0 /cache", 3, 6, 40},
                 {"diskd_poll", DISKD, "diskd:1 /cache/d", 0, 1, 48}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        for (unsigned i = 0; i < 20; ++i)
            read_block(cases[c].dir, cases[c].queue, cases[c].service, cases[c].notice);
        for (unsigned i = 0; i < 20; ++i)
            read_block(!cases[c].dir, 1, 0, 0);
        /* 980 of 1,040 ms; half of 40 requests take 50 ms, half 2 ms; without the cause 1 ms and 2 ms. */
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), cases[c].cause);
        assert_string_equal(TEXT(0, culprit), cases[c].culprit);
        assert_int_equal(NUMBER(0, share_pct), 94231);
        assert_int_equal(NUMBER(0, cost_p50_ms), 26 * MS - 3 * MS / 2);
        assert_int_equal(NUMBER(0, cost_p99_ms), 48 * MS);
    }
    assert_non_null(strstr(TEXT(0, sentence), ": 98 % of the time of its blocks is Squid not noticing"));
    assert_string_equal(TEXT(0, command), "sqtrace-dump --table=ios --where='direction == in and dir == 1' TRACE");
}

/* The same few objects are read again and again, from a disk that is not broken; then each only once. */
static void
reads_that_memory_could_save(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; ++again) {
        for (unsigned i = 0; i < 40; ++i)
            read_object(again ? i % 8 + 1 : i + 1, AUFS, 0, 14, 0);
        find();
        assert_int_equal(found_count, 1);
        assert_string_equal(TEXT(0, cause), again ? "memory_small" : "disk_slow");
    }
    for (unsigned i = 0; i < 40; ++i)
        read_object(i % 8 + 1, AUFS, 0, 16, 0);
    find();
    assert_string_equal(TEXT(0, cause), "disk_slow");
}

static void
a_slow_name_server(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        if (i % 2)
            look_up_name(xact, 200);
        reuse(xact, ORIGIN_1);
        wait_for_answer(xact, 10);
        end(xact, MISS);
    }
    /* 2,000 of 2,220 ms; 211 ms and 11 ms against 11 ms. */
    assert_only("name_server", "name servers", 90090, 100, 200);
}

static void
slow_clients(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, REPLY_WRITE, xact, 4096, 1);
        PUT(now += 99 * MS, REPLY_WRITTEN, xact, 4096, 0);
        end(xact, MEM_HIT);
    }
    assert_only("slow_clients", "clients", 99000, 99, 99);
}

/* ---- several, and what is left out ---- */

/* Followers of a fetch that takes 400 ms at one origin, and of fast ones. */
static void
a_slow_leader(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t leader = begin();
        reuse(leader, i % 2 ? ORIGIN_1 : ORIGIN_2);
        PUT(now, DISPATCH, leader, 50, 1);
        PUT(now, REQUEST_SENT, leader, 50, 0);
        const uint64_t follower = 1000 + leader;
        begin_xact(now, follower, 8);
        PUT(now, COLLAPSED, follower, leader, 0);
        PUT(now += (i % 2 ? 400 : 1) * MS, SERVER_READ, leader, 500, 0);
        PUT(now, REPLY_READY, follower, 0, SQT_REPLY_STORE);
        PUT(now, SERVER_DONE, leader, 50, 0);
        end(leader, MISS);
        end(follower, HIT);
    }
    find();
    assert_int_equal(found_count, 2);
    assert_string_equal(TEXT(1, cause), "slow_leader");
    assert_string_equal(TEXT(1, culprit), "origin-1");
    assert_non_null(strstr(TEXT(1, sentence), "Most of that time the first one is in server_wait."));
}

static void
a_delay_pool(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        reuse(xact, PARENT);
        PUT(now, DISPATCH, xact, 50, 1);
        PUT(now, REQUEST_SENT, xact, 50, 0);
        PUT(now += 10 * MS, SERVER_READ, xact, 500, 0);
        PUT(now, SERVER_HELD, xact, 0, i % 2 ? 3 : 0); /* a slow client is no pool */
        PUT(now += (i % 2 ? 200 : 1) * MS, SERVER_READ, xact, 500, 0);
        PUT(now, SERVER_DONE, xact, 50, 0);
        end(xact, MISS);
    }
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "delay_pool");
    assert_string_equal(TEXT(0, culprit), "delay pool 3");
}

/* An origin takes requests and closes so much later, or answers then with an error; kept tells whether on connections that were
 * used before. */
static void
fail_first(unsigned kept, int64_t later, int answers)
{
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        if (kept) {
            reuse(xact, ORIGIN_1);
        } else {
            PUT(now, CONNECT_BEGIN, xact, 51, 1);
            PART(PART_SERVER, 0, 0, ORIGIN_1);
            PUT(now, CONNECT_END, xact, 51, SQT_CONNECT_OK);
        }
        PUT(now, DISPATCH, xact, 51, 1);
        now += later;
        if (answers)
            PUT(now, SERVER_READ, xact, 300, 0);
        PUT(now, RETRY, xact, 0, 1);
        reuse(xact, PARENT);
        wait_for_answer(xact, 1);
        end(xact, MISS);
    }
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), answers ? "answered_tries" : kept ? "closed_connections" : "failed_server");
    assert_string_equal(TEXT(0, culprit), "origin-1");
}

static void
tries_that_fail(void **state)
{
    (void)state;
    fail_first(0, 90 * MS, 0);
    assert_null(strstr(TEXT(0, sentence), "answers nothing"));
    fail_first(1, 90 * MS, 0);
    fail_first(0, 3000 * MS, 0);
    assert_non_null(strstr(TEXT(0, sentence), "It takes connections and answers nothing: 3.00 s later, in the mean"));
    fail_first(1, 90 * MS, 1);
    fail_first(0, 3000 * MS, 1);
    assert_null(strstr(TEXT(0, sentence), "answers nothing"));
    assert_non_null(strstr(TEXT(0, sentence), "answers with an error, after which Squid asks another server: 3"));
}

static void
two_causes_at_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        look_up_name(xact, 79);
        reuse(xact, PARENT);
        wait_for_answer(xact, 120);
        end(xact, MISS);
    }
    find();
    assert_int_equal(found_count, 2);
    assert_finding(0, "only_server", "parent", 60000, 120, 120);
    assert_finding(1, "name_server", "name servers", 39500, 79, 79);
}

/* Of 231 ms, 200 are the server's; 30 are less than a fifth of all, and most of what is left. */
static void
a_cause_behind_a_large_one(void **state)
{
    (void)state;
    for (int64_t name_ms = 30; name_ms > 0; name_ms -= 21) {
        for (unsigned i = 0; i < 20; ++i) {
            const uint64_t xact = begin();
            look_up_name(xact, name_ms);
            reuse(xact, PARENT);
            wait_for_answer(xact, 200);
            end(xact, MISS);
        }
        find();
        assert_int_equal(found_count, name_ms == 30 ? 2 : 1); /* 9 ms of 210 are below 5 % */
        assert_string_equal(TEXT(0, cause), "only_server");
        if (found_count == 2)
            assert_finding(1, "name_server", "name servers", 12987, 30, 30);
    }
}

/* A tunnel is as long as its client keeps it open. */
static void
tunnels_count_until_they_open(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, TUNNEL_BEGIN, xact, 50, 0);
        PUT(now += 1000 * MS, TUNNEL_END, xact, 0, 0);
        end(xact, TUNNEL);
    }
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
    assert_int_equal(NUMBER(0, requests), 20);
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        look_up_name(xact, 500);
        PUT(now, TUNNEL_BEGIN, xact, 50, 0);
        PUT(now += 1000 * MS, TUNNEL_END, xact, 0, 0);
        end(xact, TUNNEL);
    }
    find();
    assert_finding(0, "name_server", "name servers", 99800, 500, 500);
    assert_non_null(strstr(TEXT(0, sentence), "until tunnels (CONNECT) open"));
}

static void
few_requests_say_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 9; ++i)
        served(PARENT, 500);
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "too_few");
    assert_string_equal(TEXT(0, sentence), "Findings need at least 10 requests, and there are 9.");
}

/* More requests than are kept one by one: percentiles come from histograms, and are a little off. */
static void
many_requests_make_it_coarse(void **state)
{
    (void)state;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    consumer.context = &job;
    found_count = 0;
    sqt_family_findings.start(&job);
    sqt_model_free(script.model);
    script.model = sqt_model_new(&consumer);
    for (uint32_t i = 0; i < 200000; ++i) {
        served(PARENT + i % NAMED_SERVERS, i % NAMED_SERVERS == 2 ? 500 : 10);
        if (script.count > 4000)
            play();
    }
    play();
    sqt_family_findings.finish(&job);
    assert_non_null(strstr(percentiles, "at most 0.2 % off"));
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "slow_server");
    assert_string_equal(TEXT(0, culprit), "origin-2");
    assert_int_equal(NUMBER(0, share_pct), 91743);
    assert_int_equal(NUMBER(0, cost_p50_ms), 0);
    assert_in_range(NUMBER(0, cost_p99_ms), 489 * MS, 491 * MS);
    number = 0;
}

/* ---- the event loop ---- */

/* A sample of the last 10 ms, in which the main thread ran for that long. */
static void
sampled(int64_t ran_ms, uint32_t flags, uint32_t call, uint32_t acl, uint64_t op)
{
    static int64_t before;
    PUT(now, LOOP_SAMPLE, (uint64_t)(before < now - 11 * MS ? 0 : before), (uint64_t)now, 4);
    PART(PART_LOOP_RAN, (uint64_t)(ran_ms * MS), 0, flags | 10000u << SQT_LOOP_FLAG_BITS);
    if (call)
        PART(PART_LOOP_HELD, 0, 0, call);
    if (acl || op)
        PART(PART_LOOP_IN, acl, op, op ? DISKD : UINT32_MAX);
    before = now;
}

/* A request that another one's work of 100 ms holds up while it waits for its server. */
static void
held_up(int64_t ran_ms, uint32_t flags, uint32_t call, uint32_t acl, uint64_t op)
{
    PUT(now += 1000 * MS, WAIT_BEGIN, 0, 1000, 0);
    PUT(now += MS, WAIT_END, 0, 1, 0);
    sampled(0, 0, 0, 0, 0);
    const uint64_t xact = 100 + number++;
    begin_xact(now, xact, 7);
    reuse(xact, ORIGIN_1);
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    for (unsigned i = 0; i < 10; ++i) {
        now += 10 * MS;
        sampled(ran_ms, flags, call, acl, op);
    }
    PUT(now, WAIT_BEGIN, 0, 1000, 0);
    PUT(now += 5 * MS, WAIT_END, 0, 1, 0);
    PUT(now, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
    end(xact, MISS);
}

static void
many_are_held_up(int64_t ran_ms, uint32_t flags, uint32_t call, uint32_t acl, uint64_t op)
{
    now = 0;
    for (unsigned i = 0; i < 20; ++i)
        held_up(ran_ms, flags, call, acl, op);
    find();
    assert_int_equal(found_count, 1);
    assert_int_equal(NUMBER(0, share_pct), 94340); /* 100 of 106 ms */
}

/* The same while it connects: no server is to blame for that time. */
static void
held_up_while_connecting(void **state)
{
    (void)state;
    now = 0;
    for (unsigned i = 0; i < 20; ++i) {
        PUT(now += 1000 * MS, WAIT_BEGIN, 0, 1000, 0);
        PUT(now += MS, WAIT_END, 0, 1, 0);
        const uint64_t xact = 100 + number++;
        begin_xact(now, xact, 7);
        PUT(now, CONNECT_BEGIN, xact, 50, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_1);
        sampled(0, 0, 0, 0, 0);
        for (unsigned k = 0; k < 10; ++k) {
            now += 10 * MS;
            sampled(10, 0, 0, 7, 0);
        }
        PUT(now, WAIT_BEGIN, 0, 1000, 0);
        PUT(now += 5 * MS, WAIT_END, 0, 1, 0);
        PUT(now, CONNECT_END, xact, 50, SQT_CONNECT_OK);
        wait_for_answer(xact, 0);
        end(xact, MISS);
    }
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "loop_computing");
}

static void
the_loop_is_held(void **state)
{
    (void)state;
    many_are_held_up(0, 0, SQT_LOOP_CALLS + 2, 0, SQT_DISK_READ);
    assert_string_equal(TEXT(0, cause), "loop_blocked");
    assert_string_equal(TEXT(0, culprit), "read on cache_dir 1 (diskd)");
    many_are_held_up(0, 0, SQT_LOOP_CALLS + 2, 0, 0);
    assert_string_equal(TEXT(0, culprit), "write in a call");
    many_are_held_up(10, 0, 0, 7, 0);
    assert_string_equal(TEXT(0, cause), "loop_computing");
    assert_string_equal(TEXT(0, culprit), "acl bad_sites");
    many_are_held_up(1, SQT_LOOP_RUNNABLE, 0, 7, 0);
    assert_string_equal(TEXT(0, cause), "not_running");
    assert_string_equal(TEXT(0, culprit), "waiting for a processor");
}

/* ---- the rules ---- */

static void
rules_claim_each_stage_once(void **state)
{
    (void)state;
    uint64_t claimed = 0, all = SQT_NS(unaccounted);
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        all |= UINT64_C(1) << SQT_STAGE_CELL(i);
    for (unsigned i = 0; i < SQT_FINDINGS; ++i)
        if (sqt_finding_rules[i].by == SQT_FINDING_ALL && sqt_finding_rules[i].part &&
            sqt_finding_rules[i].stages != SQT_NS(loop_held)) {
            assert_true((claimed & sqt_finding_rules[i].stages) == 0);
            claimed |= sqt_finding_rules[i].stages;
        }
    assert_true(claimed == (all & ~SQT_NS(tunnel)));
}

/* What a name holds goes neither past the quotes of the shell nor past those of the condition. */
static void
awkward_names_become_patterns(void **state)
{
    (void)state;
    char text[128];
    const struct sqt_finding_values evil = {.culprit = "a'; rm \"*[b]\\\t\x7f"}, plain = {.culprit = "a*[b]?"};
    sqt_finding_text(text, sizeof(text), "'{server}'", &evil);
    assert_string_equal(text, "'server ~ \"a?; rm ???b]???\"'");
    sqt_finding_text(text, sizeof(text), "'{server}'", &plain);
    assert_string_equal(text, "'server == \"a*[b]?\"'");
    sqt_finding_text(text, 8, "123{server}", &plain);
    assert_string_equal(text, "123serv");
}

/* ---- helpers, adaptation services, name servers ---- */

enum { BASIC, GROUPS, FIRST_NAME_SERVER, SECOND_NAME_SERVER, REWRITER = 5, SCANNER = 0, CLEANER };

/* Access checks wait for a helper. */
static void
ask_helper(uint64_t xact, uint32_t who, int64_t queue_ms, int64_t service_ms)
{
    PUT(now, HELPER_BEGIN, xact, xact, who);
    const int64_t given = now + queue_ms * MS;
    PUT(now = given + service_ms * MS, HELPER_END, xact, xact, SQT_WAIT_OK);
    PART(PART_HELPER, (uint64_t)given, 0, 0);
}

static void
checked(uint32_t who, int64_t queue_ms, int64_t service_ms)
{
    const uint64_t xact = begin();
    PUT(now, ACCESS_BEGIN, xact, 0, 0);
    ask_helper(xact, who, queue_ms, service_ms);
    PUT(now, ACCESS_END, xact, 0, 0);
    end(xact, MEM_HIT);
}

static void
a_helper_of_access_checks_by_its_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i)
        checked(GROUPS, 1, 98); /* 99 of 100 ms */
    assert_only("slow_helper", "external_acl groups", 99000, 99, 99);
    assert_string_equal(TEXT(0, sentence),
                        "99 % of the time of requests is waiting for external_acl groups: 99 ms for each "
                        "request, 99 % of it the helper's own time.");
    assert_string_equal(TEXT(0, command),
                        "sqtrace-dump --table=waits --where='kind == external_acl and name == \"groups\"' TRACE");
    for (unsigned i = 0; i < 20; ++i)
        checked(BASIC, 90, 9);
    assert_only("helper_queue", "auth basic", 99000, 99, 99);
}

static void
a_rewriter_by_its_queue_or_its_own_time(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; ++slow) {
        for (unsigned i = 0; i < 20; ++i) {
            const uint64_t xact = begin();
            PUT(now, REDIRECT_BEGIN, xact, 0, 0);
            ask_helper(xact, REWRITER, slow ? 0 : 99, slow ? 99 : 0);
            PUT(now, REDIRECT_END, xact, 0, 0);
            end(xact, MEM_HIT);
        }
        assert_only(slow ? "slow_rewriter" : "rewriter_queue", "url_rewrite rewriter", 99000, 99, 99);
    }
}

/* A queue of 200 s, in which no child is started, or one every four seconds, or still more. */
static void
no_children_are_started(void **state)
{
    (void)state;
    for (unsigned starts = 0; starts < 3; ++starts) {
        for (unsigned i = 0; i < 20; ++i) {
            const uint64_t xact = begin();
            PUT(now, REDIRECT_BEGIN, xact, 0, 0);
            ask_helper(xact, REWRITER, 99, 0);
            PUT(now, REDIRECT_END, xact, 0, 0);
            end(xact, MEM_HIT);
            for (unsigned k = 0; k < (starts > 1 ? 9 : 3) && starts; ++k)
                PUT(now + k * 4000 * MS / starts / starts, CHILD_STARTED, 80 + i, 3 + i, REWRITER);
        }
        find();
        assert_string_equal(TEXT(0, cause), "rewriter_queue");
        assert_int_equal(strstr(TEXT(0, sentence), "Squid started no more of its children for") != NULL, !starts);
        assert_int_equal(strstr(TEXT(0, advice), "fork fails") != NULL, !starts);
    }
}

static void
one_of_two_adaptation_services(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, ADAPT_BEGIN, xact, 0, 0);
        PUT(now, ADAPT_SERVICE, xact, CLEANER, 1);
        PUT(now += 9 * MS, ADAPT_SERVICE, xact, SCANNER, 2);
        PUT(now += 90 * MS, ADAPT_END, xact, 0, 0);
        end(xact, MEM_HIT);
    }
    assert_only("slow_service", "adaptation scanner", 99000, 99, 99);
}

/* The dead one is the culprit, not the one that answers. */
static void
a_dead_name_server_by_its_address(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, DNS_BEGIN, xact, 1, 0);
        PUT(now + 95 * MS, QUERY_END, xact, (uint64_t)now, FIRST_NAME_SERVER);
        PART(PART_QUERY, 0, 0, SQT_WAIT_TIMEOUT);
        PUT(now + 99 * MS, QUERY_END, xact, (uint64_t)now + 95 * MS, SECOND_NAME_SERVER | UINT32_C(1) << 31);
        PART(PART_QUERY, 0, 0, SQT_WAIT_OK);
        PUT(now += 99 * MS, DNS_END, xact, 1, 0);
        end(xact, MISS);
    }
    assert_only("slow_name_server", "name_server 192.0.2.53", 99000, 99, 99);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_helper_of_access_checks_by_its_name),
        SCRIPT_TEST(a_rewriter_by_its_queue_or_its_own_time),
        SCRIPT_TEST(no_children_are_started),
        SCRIPT_TEST(one_of_two_adaptation_services),
        SCRIPT_TEST(a_dead_name_server_by_its_address),
        SCRIPT_TEST(one_of_five_servers_is_slow),
        SCRIPT_TEST(a_healthy_trace_says_so),
        SCRIPT_TEST(the_only_server),
        SCRIPT_TEST(no_server_stands_out),
        SCRIPT_TEST(connecting_and_handshakes),
        SCRIPT_TEST(the_way_to_servers),
        SCRIPT_TEST(an_address_that_does_not_answer),
        SCRIPT_TEST(lost_packets),
        SCRIPT_TEST(misses_that_need_not_be),
        SCRIPT_TEST(the_cache_dir_is_named_and_its_part),
        SCRIPT_TEST(reads_that_memory_could_save),
        SCRIPT_TEST(a_slow_name_server),
        SCRIPT_TEST(slow_clients),
        SCRIPT_TEST(a_slow_leader),
        SCRIPT_TEST(a_delay_pool),
        SCRIPT_TEST(tries_that_fail),
        SCRIPT_TEST(two_causes_at_once),
        SCRIPT_TEST(a_cause_behind_a_large_one),
        SCRIPT_TEST(tunnels_count_until_they_open),
        SCRIPT_TEST(few_requests_say_nothing),
        SCRIPT_TEST(many_requests_make_it_coarse),
        SCRIPT_TEST(the_loop_is_held),
        SCRIPT_TEST(held_up_while_connecting),
        SCRIPT_TEST(rules_claim_each_stage_once),
        SCRIPT_TEST(awkward_names_become_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
