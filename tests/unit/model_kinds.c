/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_kinds.c - table `findings`: harm before a request begins, answers that no working server gives, errors of one method,
 * what is fetched again as it was, and whose wait it is where no single name stands out.
 */
#include "model_tenths.h"

#define SECOND (1000 * MS)
enum { ORIGIN_1 = 2, ORIGIN_2, ORIGIN_3, ORIGIN_4, FTP_SERVER };
enum { HTTP_PORT = 1, FTP_PORT = 3 };
enum { GET = 1, POST, PURGE };
enum { A_CALL = 4, ACCEPTS = 6 };

static void
end(uint64_t xact, uint32_t tag, uint32_t status, uint64_t bytes, uint64_t object)
{
    PUT(now += MS, XACT_END, xact, tag, status);
    PART(PART_XACT_SIZES, bytes, bytes + 300, 1);
    PART(PART_XACT_FLAGS, object, 7, 0);
}

/* A request on a kept connection of that server. */
static void
answered(uint32_t server, uint32_t method, uint32_t status)
{
    const uint64_t xact = 100 + number++;
    now = (int64_t)number * 100 * MS;
    PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
    PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, method);
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    end(xact, MISS, status, 1000, number);
}

static void
assert_first(const char *cause, const char *culprit)
{
    assert_int_equal(row_of(cause), 0);
    assert_string_equal(TEXT(0, culprit), culprit);
}

static void
assert_absent(const char *cause)
{
    const unsigned row = row_of(cause);
    assert_int_equal(row, found_count);
}

static void
assert_healthy(void)
{
    assert_int_equal(row_of("healthy"), 0);
    assert_int_equal(found_count, 1);
}

/* ---- before a request ---- */

/* Of each fifth request the header comes in three pieces, so far apart.  Squid's parser takes its first line before the rest
 * is there.  Uploads send as much afterwards, which is no header. */
static void
headers_in_pieces(int64_t apart, int as_body)
{
    for (unsigned i = 0; i < 60; ++i) {
        const uint64_t conn = 1000 + i, xact = 100 + number++;
        const int pieces = i % 5 == 0;
        now = (int64_t)number * 1000 * MS;
        PUT(now, CONN_ACCEPT, conn, 14, 3128);
        PART(PART_LISTENER, 0, UINT64_MAX, 1);
        PUT(now, CLIENT_READ, conn, 50, 0);
        for (unsigned k = 0; k < 2 && pieces && !as_body; ++k)
            PUT(now += apart, CLIENT_READ, conn, 50, k ? 0 : 50);
        PUT(now, REQUEST_PARSED, conn, pieces && !as_body ? 150 : 50, 0);
        begin_xact(now, xact, conn);
        for (unsigned k = 0; k < 2 && pieces && as_body; ++k)
            PUT(now += apart, CLIENT_READ, conn, 50, 0);
        end(xact, MEM_HIT, 200, 1000, 1);
        PUT(now, CONN_CLOSE, conn, 0, 0);
    }
}

static void
headers_are_sent_slowly(void **state)
{
    (void)state;
    headers_in_pieces(500 * MS, 0);
    assert_first("slow_headers", "clients");
    assert_int_equal(NUMBER(0, requests), 12);
    assert_int_equal(NUMBER(0, waiting_s), 12 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "12 of 60 requests in pieces: 1.00 s from its first bytes to its last"));
    headers_in_pieces(10 * MS, 0);
    assert_healthy();
    headers_in_pieces(500 * MS, 1);
    assert_int_not_equal(row_of("slow_headers"), 0);
}

/* What is no header comes first, 10 s before the rest: a header of the PROXY protocol when the connection is accepted, or an
 * empty line behind a body.  The header itself comes at once, or in two pieces. */
static void
something_comes_first(int accepted, int64_t apart)
{
    for (unsigned i = 0; i < 30; ++i) {
        const uint64_t conn = 1000 + i, xact = 100 + number++;
        now = (int64_t)number * 20 * SECOND;
        if (accepted) {
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
        }
        PUT(now, CLIENT_READ, conn, accepted ? 50 : 2, 0);
        PUT(now += 10 * SECOND, CLIENT_READ, conn, apart ? 20 : 50, 0);
        if (apart)
            PUT(now += apart, CLIENT_READ, conn, 30, 20);
        PUT(now, REQUEST_PARSED, conn, 50, 0);
        begin_xact(now, xact, conn);
        end(xact, MEM_HIT, 200, 1000, 1);
        PUT(now, CONN_CLOSE, conn, 0, 0);
    }
}

/* The rest of a header is there at once, and Squid does something else for so long before it reads it. */
static void
squid_reads_late(int64_t late, int in_the_next_pass)
{
    for (unsigned i = 0; i < 30; ++i) {
        const uint64_t conn = 1000 + i, xact = 100 + number++;
        now = (int64_t)number * 5 * SECOND;
        PUT(now, WAIT_END, 0, 1, 0);
        PUT(now, CONN_ACCEPT, conn, 14, 3128);
        PART(PART_LISTENER, 0, UINT64_MAX, 1);
        PUT(now += MS, CLIENT_READ, conn, 50, 0);
        now += in_the_next_pass ? MS : late;
        PUT(now, WAIT_BEGIN, 0, 1000, 0);
        PUT(now += MS, WAIT_END, 0, 1, 0);
        now += in_the_next_pass ? late : 0;
        PUT(now, CLIENT_READ, conn, 50, 50);
        PUT(now, REQUEST_PARSED, conn, 100, 0);
        begin_xact(now, xact, conn);
        end(xact, MEM_HIT, 200, 1000, 1);
        PUT(now, CONN_CLOSE, conn, 0, 0);
        PUT(now += MS, WAIT_BEGIN, 0, 1000, 0);
    }
}

static void
headers_are_whole(void **state)
{
    (void)state;
    for (int accepted = 0; accepted < 2; ++accepted) {
        something_comes_first(accepted, 0);
        assert_absent("slow_headers");
        something_comes_first(accepted, 500 * MS);
        const unsigned row = row_of("slow_headers");
        assert_int_not_equal(row, found_count);
        assert_int_equal(NUMBER(row, waiting_s), 30 * 500 * MS);
    }
}

static void
squid_does_not_read(void **state)
{
    (void)state;
    for (int next = 0; next < 2; ++next) {
        squid_reads_late(1000 * MS, next);
        assert_absent("slow_headers");
    }
}

/* A pass of the event loop, and the wait after it. */
static void
pass_and_wait(uint32_t activity, int64_t wait)
{
    const int64_t from = now;
    PUT(now += MS, WAIT_BEGIN, 0, 1000, 0);
    PART(PART_ACTIVITY, (uint64_t)from, (uint64_t)now, activity);
    PUT(now += wait, WAIT_END, 0, 1, 0);
}

static void
pass(uint32_t activity)
{
    pass_and_wait(activity, 99 * MS);
}

static void
accepted(uint64_t conn, uint32_t port)
{
    const uint64_t xact = 100 + number++;
    PUT(now, CONN_ACCEPT, conn, 14, 3128);
    PART(PART_LISTENER, 0, UINT64_MAX, port);
    begin_xact(now, xact, conn);
    end(xact, MEM_HIT, 200, 1000, 1);
}

/* Connections come ten times a second, and are accepted, for four seconds; then so many are not, or something else is done.
 * now_and_then: each tenth is. */
static void
comes(unsigned in_vain, uint32_t activity, int now_and_then)
{
    PUT(now, WAIT_END, 0, 1, 0);
    for (unsigned i = 0; i < 40 + in_vain; ++i) {
        if (i < 40 || (now_and_then && i % 10 == 0)) {
            accepted(1000 + i, HTTP_PORT);
        } else if (i == 40) {
            PUT(now, RECONFIGURE, 0xff, 0, 0);
        }
        pass(activity);
    }
}

static void
nobody_is_accepted(void **state)
{
    (void)state;
    comes(60, ACCEPTS, 0);
    assert_first("not_accepted", "http_port 3128");
    assert_int_equal(NUMBER(0, failures), 60);
    assert_string_equal(TEXT(0, pattern), "since");
    assert_non_null(strstr(TEXT(0, sentence), "Squid was reconfigured just then."));
    comes(60, ACCEPTS, 1);
    assert_absent("not_accepted");
    comes(60, A_CALL, 0);
    assert_absent("not_accepted");
    comes(20, ACCEPTS, 0);
    assert_absent("not_accepted");
}

/* 40 connections are accepted, and then so many passes accept none. */
static void
accepts_none(unsigned passes, int64_t wait)
{
    PUT(now, WAIT_END, 0, 1, 0);
    for (unsigned i = 0; i < 40; ++i) {
        accepted(1000 + i, HTTP_PORT);
        pass(ACCEPTS);
    }
    for (unsigned i = 0; i < passes; ++i)
        pass_and_wait(ACCEPTS, wait);
}

/* A health check that connects and leaves, each 5 s, is none; nor are accepts that are not traced any more. */
static void
little_is_not_accepted(void **state)
{
    (void)state;
    accepts_none(60, 5 * SECOND);
    assert_absent("not_accepted");
    accepts_none(60, 500 * MS);
    assert_first("not_accepted", "http_port 3128");
    accepts_none(0, 0);
    PUT(now, RECONFIGURE, 0xff & ~SQT_GROUP_CLIENT, 0, 0);
    for (unsigned i = 0; i < 60; ++i)
        pass(ACCEPTS);
    assert_absent("not_accepted");
}

/* Each file that comes by FTP has a connection of its own for its data, which Squid may accept: nothing says so. */
enum ftp { DATA, SERVER, PORT, FTP_KINDS };
static void
ftp_comes(enum ftp kind)
{
    accepts_none(0, 0);
    for (unsigned i = 0; i < 60; ++i) {
        const uint64_t xact = 1000000 + number++, conn = 2 * xact;
        if (kind == DATA) {
            begin_xact(now, xact, 7);
            PUT(now, CONNECT_BEGIN, xact, conn, 8);
            PUT(now, CONNECT_END, xact, conn, SQT_CONNECT_OK);
            end(xact, MISS, 200, 1000, 1);
        } else if (kind == SERVER) {
            begin_xact(now, xact, 7);
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, FTP_SERVER);
            end(xact, MISS, 200, 1000, 1);
        } else if (i % 50 == 0) {
            accepted(5000, FTP_PORT);
        }
        pass(ACCEPTS);
    }
    assert_absent("not_accepted");
}

static void
ftp_is_accepted(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < FTP_KINDS; ++kind)
        ftp_comes((enum ftp)kind);
}

/* Numbers of the longest row, not of the last. */
static void
the_longest_is_told(void **state)
{
    (void)state;
    accepts_none(60, 99 * MS);
    for (unsigned i = 0; i < 40; ++i) {
        accepted(2000 + i, 2);
        pass(ACCEPTS);
    }
    PUT(now, RECONFIGURE, 0xff, 0, 0);
    for (unsigned i = 0; i < 52; ++i)
        pass(ACCEPTS);
    assert_first("not_accepted", "http_port 3128");
    assert_int_equal(NUMBER(0, failures), 60);
    assert_string_equal(TEXT(0, pattern), "once");
    assert_non_null(strstr(TEXT(0, sentence), "Of those before, it accepted 40."));
    assert_null(strstr(TEXT(0, sentence), "reconfigured"));
}

/* One worker accepts none, and the coordinator has that number, or no passes in the trace.  Returns whether that is told. */
static int
a_worker_accepts_none(uint32_t worker, uint32_t coordinator)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    found_count = 0;
    consumer.context = &job;
    kept_begin();
    sqt_family_findings.start(&job);
    struct sqt_model *const model = sqt_model_new(&consumer);
    script.origins[0].identity.kid = worker;
    script.origins[0].identity.kid_kind = SQT_KID_WORKER;
    script.origins[1].identity.kid = coordinator;
    script.origins[1].identity.kid_kind = SQT_KID_COORDINATOR;
    for (unsigned k = 0; k < (coordinator ? 2 : 1); ++k) {
        if (k)
            PUT(now, WAIT_END, 0, 1, 0);
        else
            accepts_none(60, 99 * MS);
        pass(A_CALL);
        pass(A_CALL);
        const struct sqt_run run = script_run(k);
        kept_play(k, script.records, script.count);
        sqt_model_run(model, &run);
        script.count = 0;
    }
    job.length = now;
    sqt_model_finish(model);
    sqt_model_free(model);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
    number = 0;
    now = 0;
    unsigned row = 0;
    while (row < found_count && strcmp(TEXT(row, cause), "not_accepted") != 0)
        ++row;
    return row < found_count;
}

/* Another worker may accept what this one does not. */
static void
all_workers_are_asked(void **state)
{
    (void)state;
    assert_false(a_worker_accepts_none(1, 0));
    assert_false(a_worker_accepts_none(2, 3));
    assert_false(a_worker_accepts_none(1, 3));
    assert_true(a_worker_accepts_none(1, 2));
}

/* ---- what servers answer ---- */

/* 426 is no answer that a server gives to all that it serves; 404 may be. */
static void
a_server_never_says_else(void **state)
{
    (void)state;
    for (unsigned odd = 0; odd < 2; ++odd) {
        for (unsigned i = 0; i < 120; ++i)
            answered(i % 4 ? ORIGIN_1 : ORIGIN_2, GET, i % 4 ? 200 : odd ? 426 : 404);
        if (odd) {
            assert_first("server_refuses", "origin-2");
            assert_non_null(strstr(TEXT(0, sentence), "answered 30 requests in a row with an error, at last 426"));
            assert_non_null(strstr(TEXT(0, advice), "http_upgrade_request_protocols"));
        } else {
            assert_healthy();
        }
    }
}

/* Uploads to a server are refused, and all else is answered: because they are too large, from the begin on; or for any reason,
 * since some were taken.  That a method is never allowed is meant. */
static void
a_server_refuses_one_method(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 3; ++test) {
        for (unsigned i = 0; i < 200; ++i) {
            const int upload = i % 8 == 0, taken = test == 1 && i < 40;
            answered(i % 4 ? ORIGIN_1 : ORIGIN_2, upload ? POST : GET, !upload || taken ? 200 : test ? 403 : 413);
        }
        if (test == 2) {
            assert_healthy();
            continue;
        }
        assert_first("server_refuses", "origin-2");
        assert_non_null(strstr(TEXT(0, sentence), test ? "answered 20 requests of method POST in a row"
                                                       : "answered 25 requests of method POST in a row"));
        assert_non_null(strstr(TEXT(0, sentence), "It answers other requests well meanwhile."));
        if (test == 0)
            assert_non_null(strstr(TEXT(0, advice), "client_max_body_size"));
    }
    for (unsigned i = 0; i < 200; ++i) /* all are refused: it is said once */
        answered(i % 4 ? ORIGIN_1 : ORIGIN_2, i % 8 ? GET : POST, i % 4 || i < 40 ? 200 : 403);
    assert_first("server_refuses", "origin-2");
    assert_int_equal(found_count, 1);
    for (unsigned i = 0; i < 200; ++i) /* it gets nothing but uploads: it answers no other request */
        answered(i % 4 ? ORIGIN_1 : ORIGIN_2, i % 4 ? GET : POST, i % 4 ? 200 : 413);
    assert_first("server_refuses", "origin-2");
    assert_non_null(strstr(TEXT(0, sentence), "answered 50 requests of method POST in a row"));
    assert_null(strstr(TEXT(0, sentence), "other requests well"));
}

/* An interface for programs may say to each request that it is not as it should be. */
static void
what_interfaces_answer(void **state)
{
    (void)state;
    static const uint32_t ordinary[] = {400, 401, 403, 405, 408, 409, 410, 411, 412, 413,
                                        414, 415, 416, 417, 418, 422, 423, 424, 428, 451};
    static const uint32_t odd[] = {407, 421, 426, 429, 431};
    for (unsigned k = 0; k < sizeof(ordinary) / sizeof(*ordinary); ++k) {
        for (unsigned i = 0; i < 120; ++i)
            answered(i % 4 ? ORIGIN_1 : ORIGIN_2, GET, i % 4 ? 200 : ordinary[k]);
        assert_healthy();
    }
    for (unsigned k = 0; k < sizeof(odd) / sizeof(*odd); ++k) {
        for (unsigned i = 0; i < 120; ++i)
            answered(i % 4 ? ORIGIN_1 : ORIGIN_2, GET, i % 4 ? 200 : odd[k]);
        assert_first("server_refuses", "origin-2");
    }
}

/* A server fails for some time, whatever it is asked: it says nothing of methods.  It has so much of all requests, in %. */
static void
fails_for_some_time(unsigned share)
{
    for (unsigned i = 0; i < 500; ++i)
        answered(i % (100 / share) ? ORIGIN_1 : ORIGIN_2, GET,
                 i >= 60 && i < 480 && i % (100 / share) == 0 ? 500 : 200);
}

static void
an_outage_is_of_no_method(void **state)
{
    (void)state;
    fails_for_some_time(25);
    assert_first("server_errors", "origin-2");
    assert_int_equal(NUMBER(0, failures), 105);
    assert_null(strstr(TEXT(0, sentence), "All of them were"));
    fails_for_some_time(5); /* fewer than SHARE_OF_SERVER */
    assert_healthy();
}

/* One request in twenty is an upload to a server that fails all of them, or each second one. */
static void
one_method_fails(void **state)
{
    (void)state;
    for (unsigned each = 1; each <= 2; ++each) {
        for (unsigned i = 0; i < 400; ++i)
            answered(i % 2 ? ORIGIN_1 : ORIGIN_2, i % 20 ? GET : POST, i % (20 * each) ? 200 : 500);
        if (each == 1) {
            assert_first("server_errors", "origin-2");
            assert_int_equal(NUMBER(0, failures), 20);
            assert_non_null(strstr(TEXT(0, sentence), "All of them were POST, one after the other"));
        } else {
            assert_healthy();
        }
    }
}

/* A host that a request names is not where its client connected to. */
static void
hosts_are_forged(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; ++i) {
        const uint64_t xact = begin();
        PUT(now += MS, XACT_END, xact, NONE, i % 3 ? 200 : 409);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, 0, 7, i % 3 ? 0 : SQT_XACT_ERROR_PAGE);
    }
    assert_first("refused_requests", "host_verify_strict");
    assert_int_equal(NUMBER(0, failures), 20);
}

/* ---- what is fetched again ---- */

/* Why nothing is kept of an object, beside enum sqt_unkept. */
enum { KEPT = SQT_UNKEPT_NONE, REFUSED = SQT_UNKEPTS };

/* An object of 10 KB, which its server takes 50 ms for. */
static void
fetch_and_keep(uint64_t object, unsigned why)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, ORIGIN_1);
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += 50 * MS, SERVER_READ, xact, 10000, 0);
    PUT(now, SERVER_HEADER, xact, 300, 200);
    PUT(now, SERVER_DONE, xact, 50, 0);
    if (why == REFUSED)
        PUT(now, SWAP_REFUSED, xact, UINT32_MAX, 1);
    else if (why)
        PUT(now, NOT_KEPT, xact, 0, why);
    end(xact, MISS, 200, 10000, object);
    script.records[script.count - 1].aux = (why && why != REFUSED ? SQT_MISS_UNCACHEABLE : SQT_MISS_ABSENT)
                                           << SQT_XACT_MISS_SHIFT;
}

static void
fetch(uint64_t object)
{
    fetch_and_keep(object, KEPT);
}

/* Forty objects of 10 KB are fetched twice, as no cache_dir takes them; or the second time only. */
static void
objects_are_not_taken(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 2; ++late) {
        for (unsigned i = 0; i < 80; ++i)
            fetch_and_keep(500 + i % 40, late && i < 40 ? KEPT : REFUSED);
        if (late) {
            assert_first("cache_too_small", "cache");
            continue;
        }
        assert_first("not_taken", "limits of cache_dir");
        assert_int_equal(NUMBER(0, requests), 40);
        assert_non_null(strstr(TEXT(0, sentence), "They have 9.77 KB to 9.77 KB, and no object at all was written"));
    }
}

/* The same, and the trace says why nothing is kept; the second time it may be kept. */
static void
objects_are_not_kept(void **state)
{
    (void)state;
    static const struct unkept_case {
        unsigned why;
        const char *culprit, *words;
    } cases[] = {{SQT_UNKEPT_TOO_LARGE, "maximum_object_size", "it is larger than any cache takes"},
                 {SQT_UNKEPT_TOO_SMALL, "minimum_object_size", "it is smaller than minimum_object_size"},
                 {SQT_UNKEPT_OPEN_FILES, "max_open_disk_fds", "more files of cache_dirs open than max_open_disk_fds"},
                 {SQT_UNKEPT_DESCRIPTORS, "max_filedescriptors", "too few descriptors were free"}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c)
        for (unsigned again = 0; again < 2; ++again) {
            for (unsigned i = 0; i < 80; ++i)
                fetch_and_keep(500 + i % 40, i < 40 || again ? cases[c].why : KEPT);
            assert_first("not_kept", cases[c].culprit);
            assert_int_equal(NUMBER(0, requests), 40);
            assert_non_null(strstr(TEXT(0, sentence), cases[c].words));
        }
}

/* Forty objects are fetched, removed by clients, and fetched again. */
static void
objects_are_purged(void **state)
{
    (void)state;
    for (unsigned few = 0; few < 2; ++few) {
        for (unsigned i = 0; i < 40; ++i)
            fetch(500 + i);
        for (unsigned i = 0; i < (few ? 10 : 30); ++i) {
            const uint64_t xact = 100 + number++;
            now = (int64_t)number * 100 * MS;
            PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
            PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, PURGE);
            end(xact, NONE, 200, 0, 0);
        }
        for (unsigned i = 0; i < 40; ++i)
            fetch(500 + i);
        assert_first(few ? "cache_too_small" : "purged", few ? "cache" : "PURGE");
        if (!few)
            assert_non_null(strstr(TEXT(0, sentence), "Clients removed 30 objects from the cache meanwhile (PURGE)."));
    }
}

/* Sixty objects are fetched by a worker, and forty of them again: by another one, by the same one, or by another one that finds
 * the rest in the cache. */
enum { NOT_SHARED, REMOVED, SHARED, CACHES };
static void
workers_have_caches(void **state)
{
    (void)state;
    for (unsigned cache = 0; cache < CACHES; ++cache) {
        struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
        struct sqt_consumer consumer = sqt_family_findings.consumer;
        found_count = 0;
        consumer.context = &job;
        kept_begin();
        sqt_family_findings.start(&job);
        struct sqt_model *const model = sqt_model_new(&consumer);
        for (unsigned k = 0; k < 2; ++k) {
            script.origins[k].identity.kid = cache == REMOVED ? 1 : 1 + k;
            script.origins[k].identity.kid_kind = SQT_KID_WORKER;
            for (unsigned i = 0; i < (k ? 40 : 60); ++i)
                fetch(500 + i);
            for (unsigned i = 40; i < 60 && k && cache == SHARED; ++i)
                end(begin(), MEM_HIT, 200, 10000, 500 + i);
            const struct sqt_run run = script_run(k);
            kept_play(k, script.records, script.count);
            sqt_model_run(model, &run);
            script.count = 0;
        }
        job.length = now;
        sqt_model_finish(model);
        sqt_model_free(model);
        sqt_family_findings.finish(&job);
        kept_write(script.origins);
        number = 0;
        now = 0;
        assert_string_equal(TEXT(0, cause), cache == NOT_SHARED ? "caches_not_shared" : "cache_too_small");
        assert_string_equal(TEXT(0, culprit), cache == NOT_SHARED ? "memory_cache_shared" : "cache");
        assert_int_equal(NUMBER(0, requests), 40);
        if (cache == NOT_SHARED)
            assert_non_null(
                strstr(TEXT(0, sentence), "40 of 100 requests fetch what another worker has fetched before"));
    }
}

/* Objects that have expired, 50 ms each, of 100 KB: as large as before, or each time larger.  Others were asked for by a
 * client that wants no older ones, or their servers answered with an error. */
enum { SAME, SAME_OF_ONE, GROWS, RELOADED, FAILED, WAYS };
static void
fetched_as_it_was(void **state)
{
    (void)state;
    for (unsigned way = 0; way < WAYS; ++way) {
        for (unsigned i = 0; i < 100; ++i) {
            const uint64_t xact = begin();
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, i % 2 && way != SAME_OF_ONE ? ORIGIN_1 : ORIGIN_2);
            PUT(now, DISPATCH, xact, 50, 1);
            PUT(now, REQUEST_SENT, xact, 50, 0);
            PUT(now += 50 * MS, SERVER_READ, xact, 1000, 0);
            PUT(now, SERVER_HEADER, xact, 300, 200);
            PUT(now, SERVER_DONE, xact, 50, 0);
            end(xact, i < 10 ? MISS : REFRESH_MODIFIED, i >= 10 && way == FAILED ? 502 : 200,
                10000 + (way == GROWS ? i : 0), 500 + i % 10);
            if (i >= 10)
                script.records[script.count - 1].aux = (way == RELOADED ? SQT_MISS_RELOAD : SQT_MISS_STALE)
                                                       << SQT_XACT_MISS_SHIFT;
        }
        if (way > SAME_OF_ONE) {
            assert_absent("fetched_again");
        } else {
            assert_first("fetched_again", way == SAME ? "servers" : "origin-2");
            assert_int_equal(NUMBER(0, requests), 90);
            assert_non_null(strstr(TEXT(0, sentence), "90 of them are as large as before"));
            assert_non_null(strstr(TEXT(0, advice), "ETag"));
        }
    }
}

/* ---- whose wait it is ---- */

/* Each second connection to these servers takes a second, as when its first packet is lost. */
static void
loses(unsigned servers)
{
    for (unsigned i = 0; i < 160; ++i) {
        const uint64_t xact = begin(), conn = 2 * xact;
        const uint32_t server = ORIGIN_1 + i % 4;
        PUT(now, CONNECT_BEGIN, xact, conn, 1);
        PART(PART_SERVER, 4, 0, server);
        PUT(now += i / 4 % 2 && i % 4 < servers ? SECOND + 5 * MS : 5 * MS, CONNECT_END, xact, conn, SQT_CONNECT_OK);
        PUT(now, DISPATCH, xact, conn, 1);
        PUT(now, REQUEST_SENT, xact, conn, 0);
        PUT(now += MS, SERVER_READ, xact, 1000, 0);
        PUT(now, SERVER_HEADER, xact, 300, 200);
        PUT(now, SERVER_DONE, xact, conn, 0);
        end(xact, MISS, 200, 1000, number);
        number += 11;
    }
}

static void
all_connections_are_lost_alike(void **state)
{
    (void)state;
    loses(4);
    assert_first("connect", "servers");
    assert_non_null(strstr(TEXT(0, sentence), "80 of them took 1 s or 3 s, as when a first packet (SYN) is lost"));
    loses(1);
    assert_first("connect_server", "origin-1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(headers_are_sent_slowly),   SCRIPT_TEST(headers_are_whole),
        SCRIPT_TEST(squid_does_not_read),       SCRIPT_TEST(nobody_is_accepted),
        SCRIPT_TEST(little_is_not_accepted),    SCRIPT_TEST(ftp_is_accepted),
        SCRIPT_TEST(the_longest_is_told),       SCRIPT_TEST(all_workers_are_asked),
        SCRIPT_TEST(a_server_never_says_else),  SCRIPT_TEST(a_server_refuses_one_method),
        SCRIPT_TEST(workers_have_caches),       SCRIPT_TEST(objects_are_purged),
        SCRIPT_TEST(objects_are_not_taken),     SCRIPT_TEST(objects_are_not_kept),
        SCRIPT_TEST(what_interfaces_answer),    SCRIPT_TEST(one_method_fails),
        SCRIPT_TEST(an_outage_is_of_no_method), SCRIPT_TEST(hosts_are_forged),
        SCRIPT_TEST(fetched_as_it_was),         SCRIPT_TEST(all_connections_are_lost_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
