/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_causes.c - table `findings`: causes that no other test makes, each in a small trace.
 */
#include "figure/finding/told.h"
#include "model/model-internal.h"
#include "model_found.h"

enum {
    SCANNER,
    CLEANER,
    GROUPS = 1,
    PARENT = 1,
    ORIGIN_1,
    ORIGIN_2,
    FIRST_PORT = 1,
    SECOND_PORT,
    LAB = 0,
    OFFICE,
    TEAM_OTHER,
    NO_NOTE = 6
};

static int64_t now;

static uint64_t
begin(void)
{
    const uint64_t xact = 100 + number++;
    begin_xact(now = (int64_t)number * 1000 * MS, xact, 7);
    return xact;
}

static void
finish(uint64_t xact, uint32_t tag, uint32_t miss, uint64_t object, uint64_t bytes)
{
    PUT(now += MS, XACT_END, xact, tag, 200);
    PART(PART_XACT_SIZES, bytes, bytes + 300, 1);
    PART(PART_XACT_FLAGS, object, 7, miss << SQT_XACT_MISS_SHIFT);
}

static void
end(uint64_t xact)
{
    finish(xact, MISS, SQT_MISS_ABSENT, number, 1000);
}

/* The first finding. */
static void
assert_cause(const char *cause, const char *culprit)
{
    find();
    assert_true(found_count > 0);
    assert_string_equal(TEXT(0, cause), cause);
    assert_string_equal(TEXT(0, culprit), culprit);
}

/* Between two records of a request lie so many ms. */
#define TAKES(ms, BEGIN, END) \
    do { \
        BEGIN; \
        now += (ms)*MS; \
        END; \
    } while (0)

static void
dns(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, DNS_BEGIN, xact, 1, 0), PUT(now, DNS_END, xact, 1, 0));
}

static void
access_takes(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, ACCESS_BEGIN, xact, 0, 0), PUT(now, ACCESS_END, xact, 0, 0));
}

static void
adapt(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, ADAPT_BEGIN, xact, 0, 0), PUT(now, ADAPT_END, xact, 0, 0));
}

static void
redirect(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, REDIRECT_BEGIN, xact, 0, 0), PUT(now, REDIRECT_END, xact, 0, 0));
}

static void
lookup(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, LOOKUP_BEGIN, xact, 0, 0), PUT(now, LOOKUP_END, xact, 0, 0));
}

static void
peer_select(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, PEER_SELECT_BEGIN, xact, 0, 0), PUT(now, PEER_SELECT_END, xact, 0, 1));
}

static void
reply_waits(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, REPLY_READY, xact, 0, SQT_REPLY_STORE), (void)0);
}

/* The file is opened, and nothing is read. */
static void
opens_file(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, SWAPIN_OPEN, xact, xact, 0);
          PART(PART_SWAP_FILE, 0xabc, 77, 0), PUT(now, SWAPIN_OPENED, xact, 0, 0));
    PUT(now, SWAPIN_CLOSED, xact, 0, 0);
}

/* Whom it follows is not known. */
static void
follows(uint64_t xact, int64_t ms)
{
    TAKES(ms, PUT(now, COLLAPSED, xact, 0, 0), PUT(now, REPLY_READY, xact, 0, SQT_REPLY_STORE));
}

/* The helper's answer is that of another request's question. */
static void
shares_answer(uint64_t xact, int64_t ms)
{
    PUT(now, ACCESS_BEGIN, xact, 0, 0);
    PUT(now, HELPER_BEGIN, xact, xact, GROUPS);
    PUT(now += ms * MS, HELPER_END, xact, xact, SQT_WAIT_SHARED);
    PART(PART_HELPER, 0, 0, 0);
    PUT(now, ACCESS_END, xact, 0, 0);
}

/* Servers have no names. */
static void
asked(uint64_t xact, int64_t ms)
{
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += ms * MS, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
}

static void
tries_again(uint64_t xact, int64_t ms)
{
    PUT(now, CONNECT_REUSED, xact, 51, 1);
    PUT(now, DISPATCH, xact, 51, 1);
    PUT(now += ms * MS, RETRY, xact, 0, 1);
    asked(xact, 1);
}

static void
uploads(uint64_t xact, int64_t ms)
{
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PUT(now, DISPATCH, xact, 50, 1);
    TAKES(ms, PUT(now, BODY_WAIT_BEGIN, xact, 0, 0), PUT(now, BODY_WAIT_END, xact, 0, 0));
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
}

/* Each of seven pools holds some back. */
static void
held_by_pool(uint64_t xact, int64_t ms)
{
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_HELD, xact, 0, 1 + number % 7);
    PUT(now += ms * MS, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
}

/* Of a stage that takes nearly all, and no single name is to blame: the culprit is whose stage it is, if it is anybody's. */
static void
stages_of_all(void **state)
{
    (void)state;
    static const struct {
        void (*takes)(uint64_t xact, int64_t ms);
        const char *cause, *culprit;
    } cases[] = {{access_takes, "access_checks", "http_access"},
                 {adapt, "adaptation", "adaptation services"},
                 {redirect, "url_helper", "URL rewriter or Store-ID helper"},
                 {lookup, "lookup", "-"},
                 {peer_select, "peer_selection", "neighbours"},
                 {reply_waits, "reply_wait", "-"},
                 {follows, "collapsed", "-"},
                 {shares_answer, "helpers", "helpers of access checks"},
                 {tries_again, "failed_tries", "servers"},
                 {uploads, "slow_uploads", "clients"},
                 {held_by_pool, "held_back", "delay pools"}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        for (unsigned i = 0; i < 70; ++i) {
            const uint64_t xact = begin();
            cases[c].takes(xact, 90);
            end(xact);
        }
        assert_cause(cases[c].cause, cases[c].culprit);
    }
}

/* Each stage has a seventh of the time. */
static void
nothing_explains_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; ++i) {
        const uint64_t xact = begin();
        access_takes(xact, 60);
        redirect(xact, 60);
        lookup(xact, 60);
        adapt(xact, 60);
        dns(xact, 60);
        now += 60 * MS;
        reply_waits(xact, 60);
        end(xact);
    }
    assert_cause("unexplained", "-");
    assert_int_equal(NUMBER(0, requests), 40);
}

/* Reading from disk is the largest part, and quick. */
static void
healthy_names_the_largest_part(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; ++i) {
        const uint64_t xact = begin();
        opens_file(xact, 1);
        PUT(now += MS / 2, XACT_END, xact, HIT, 200);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, number, 7, 0);
    }
    assert_cause("healthy", "-");
    assert_non_null(strstr(TEXT(0, sentence), "The largest part of the time, 67 %, is reading from cache_dirs: 1 ms"));
    assert_int_equal(NUMBER(0, share_pct), 66667);
}

/* A read of one block, which the disker does not take in time. */
static void
late_read(uint32_t dir)
{
    const uint64_t xact = begin();
    PUT(now, SWAPIN_OPEN, xact, xact, dir);
    PART(PART_SWAP_FILE, 0xabc, 77, 0);
    PUT(now, SWAPIN_OPENED, xact, 0, 0);
    PUT(now, SWAPIN_READ, xact, 0, 4096);
    PUT(now += 90 * MS, SWAPIN_READ_DONE, xact, 0, 3u << 30);
    PUT(now, SWAPIN_CLOSED, xact, 0, 0);
    end(xact);
}

/* Five that are late are not what the others wait for, even if no other cache_dir has as many. */
static void
few_reads_that_time_out(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 45; ++i)
        late_read(i < 5 ? 0 : 1 + i % 10);
    assert_cause("cache_dirs", "cache_dirs");
}

/* The disker does not take a block in time, so that nobody knows where its time went. */
static void
reads_that_time_out(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i)
        late_read(0);
    assert_cause("cache_dirs", "aufs:0 /cache");
    assert_non_null(strstr(TEXT(0, sentence), "20 of 20 swaps timed out"));
    assert_non_null(strstr(TEXT(0, advice), "max-swap-rate="));
}

/* Replies have no length, and the server closes the connection long after the last byte. */
static void
replies_end_late(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; ++i) {
        const uint64_t xact = begin();
        PUT(now, FORWARD_BEGIN, xact, 0, 0);
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_1);
        PUT(now, DISPATCH, xact, 50, 1);
        PUT(now, REQUEST_SENT, xact, 50, 0);
        PUT(now += 10 * MS, SERVER_READ, xact, 500, 0);
        PUT(now += 700 * MS, SERVER_DONE, xact, 50, 0);
        PUT(now, FORWARD_END, xact, 0, 0);
        end(xact);
        number += 10;
    }
    find();
    assert_non_null(strstr(TEXT(0, sentence), "Most of that is after the last byte of replies"));
}

static void
files_open_slowly(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; ++i) {
        const uint64_t xact = begin();
        opens_file(xact, 90);
        end(xact);
    }
    assert_cause("disk_opens", "aufs:0 /cache");
    assert_non_null(
        strstr(TEXT(0, sentence), "90 ms for each request that reads, and nearly all of it is opening files"));
}

static void
a_neighbor_that_answers_late(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, PEER_SELECT_BEGIN, xact, 0, 0);
        PUT(now, NEIGHBORS_ASKED, xact, 2, 2);
        PUT(now += MS, NEIGHBOR_ANSWER, xact, 1, 0);
        PUT(now += 90 * MS, NEIGHBOR_ANSWER, xact, 2, 0);
        PUT(now, NEIGHBORS_DONE, xact, 2, 0);
        PUT(now, PEER_SELECT_END, xact, 0, 1);
        end(xact);
    }
    assert_cause("late_neighbor", "mars");
}

static void
a_service_that_lets_few_in(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, ADAPT_BEGIN, xact, 0, 0);
        PUT(now, ADAPT_SERVICE, xact, CLEANER, 1);
        PUT(now += 80 * MS, ADAPT_ADMITTED, xact, 0, 0);
        PUT(now += 9 * MS, ADAPT_END, xact, 0, 0);
        end(xact);
    }
    assert_cause("service_queue", "adaptation cleaner");
}

/* Ten requests wait for each of two seconds, and the service is asked nothing: it has not said what it can do. */
static void
a_service_without_options(void **state)
{
    (void)state;
    for (unsigned busy = 0; busy < 2; ++busy) {
        uint64_t before = 0;
        for (unsigned i = 0; i < 20; ++i) {
            const uint64_t xact = begin();
            PUT(now, ADAPT_BEGIN, xact, 0, 0);
            PUT(now, ADAPT_SERVICE, xact, CLEANER, 1);
            if (before) /* it had the one before, or was ready for it at once */
                PUT(now + (busy ? 79 * MS : 0), ADAPT_END, before, 0, 0);
            now += 80 * MS;
            PUT(now, ADAPT_ADMITTED, xact, 0, 0);
            before = xact;
            if (!busy) {
                PUT(now += MS, ADAPT_END, xact, 0, 0);
                before = 0;
            }
            end(xact);
        }
        find();
        assert_string_equal(TEXT(0, cause), "service_queue");
        if (!busy)
            assert_non_null(
                strstr(TEXT(0, sentence), "while it was asked nothing, 20 times: Squid waited for its options"));
        assert_int_equal(!!strstr(TEXT(0, advice), "OPTIONS"), !busy);
    }
}

/* The server sends for a second, the client gets its first byte with the last one, and the service is quick. */
static void
a_service_that_waits_for_the_whole_body(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PUT(now, DISPATCH, xact, 50, 1);
        PUT(now, REQUEST_SENT, xact, 50, 0);
        PUT(now, SERVER_READ, xact, 500, 0);
        PUT(now, ADAPT_BEGIN, xact, 0, 1);
        PUT(now, ADAPT_SERVICE, xact, CLEANER, 1);
        PUT(now += 500 * MS, SERVER_READ, xact, 500, 0);
        PUT(now, SERVER_DONE, xact, 50, 0);
        PUT(now += 2 * MS, ADAPT_END, xact, 0, 1);
        PUT(now, REPLY_READY, xact, 0, SQT_REPLY_SERVER);
        PUT(now, REPLY_WRITE, xact, 4096, 1);
        PUT(now, REPLY_WRITTEN, xact, 4096, 0);
        finish(xact, MISS, SQT_MISS_ABSENT, number, 1000);
    }
    assert_cause("withheld_replies", "adaptation cleaner");
}

/* Objects that were asked for before: too large, or their files are gone. */
static void
objects_that_are_fetched_again(void **state)
{
    (void)state;
    static const struct {
        uint32_t miss;
        uint64_t bytes;
        const char *cause, *culprit;
    } cases[] = {{SQT_MISS_UNCACHEABLE, 5000000, "not_stored", "maximum_object_size"},
                 {SQT_MISS_SWAP_FAIL, 1000, "files_gone", "aufs:0 /cache"}};
    for (unsigned c = 0; c < 2; ++c) {
        for (unsigned i = 0; i < 50; ++i) {
            const uint64_t xact = begin();
            if (c)
                opens_file(xact, 0);
            asked(xact, 80);
            finish(xact, MISS, cases[c].miss, 1 + i % 5, cases[c].bytes);
        }
        assert_cause(cases[c].cause, cases[c].culprit);
    }
}

static void
ends_with(uint64_t xact, uint32_t tag, uint32_t status, uint64_t object, uint64_t sent, uint32_t flags)
{
    PUT(now += MS, XACT_END, xact, tag, status);
    PART(PART_XACT_SIZES, 1000, sent, 1);
    PART(PART_XACT_FLAGS, object, 7, flags);
}

/* Squid itself says that the body is too large. */
static void
squid_refuses(uint64_t xact)
{
    ends_with(xact, NONE, 413, 0, 300, SQT_XACT_ERROR_PAGE);
}

static void
asks_server(uint64_t xact)
{
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, ORIGIN_1);
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += 90 * MS, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
}

static void
server_refuses(uint64_t xact)
{
    asks_server(xact);
    ends_with(xact, MISS, number <= 10 ? 200 : 404, xact, 1300, 0);
}

static void
sends_range(uint64_t xact)
{
    asks_server(xact);
    ends_with(xact, MISS, 206, 1 + xact % 3, 1300, SQT_MISS_ABSENT << SQT_XACT_MISS_SHIFT);
}

static void
takes_too_long(uint64_t xact)
{
    asks_server(xact);
    ends_with(xact, MISS_TIMEDOUT, 200, xact, 500, SQT_XACT_TIMEDOUT);
}

/* The name server answers, and no server is asked. */
static void
has_no_address(uint64_t xact)
{
    PUT(now, DNS_BEGIN, xact, 1, 0);
    PUT(now + 5 * MS, QUERY_END, xact, (uint64_t)now, 2);
    PART(PART_QUERY, 1, 0, SQT_WAIT_OK);
    PUT(now += 5 * MS, DNS_END, xact, 1, 0);
    ends_with(xact, MISS, 503, 0, 300, SQT_XACT_ERROR_PAGE);
}

static void
requests_that_fail_otherwise(void **state)
{
    (void)state;
    static const struct {
        void (*fails)(uint64_t xact);
        const char *cause, *culprit;
    } cases[] = {{squid_refuses, "refused_requests", "request_body_max_size"},
                 {server_refuses, "server_refuses", "origin-1"},
                 {sends_range, "ranges_not_stored", "ranges"},
                 {takes_too_long, "timed_out", "client_lifetime"},
                 {has_no_address, "no_address", "name_server 192.0.2.53"}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        for (unsigned i = 0; i < 50; ++i)
            cases[c].fails(begin());
        assert_cause(cases[c].cause, cases[c].culprit);
    }
}

enum { MOON = 1, MARS, VENUS };

/* 20 requests ask so many neighbours and wait for all, the first so many of which answer. */
static void
neighbors_are_asked(unsigned asked, unsigned answer)
{
    for (uint64_t peer = MOON; peer <= VENUS; ++peer)
        PUT(0, PEER_PROBED, 0, peer, 0);
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        PUT(now, PEER_SELECT_BEGIN, xact, 0, 0);
        PUT(now, NEIGHBORS_ASKED, xact, asked, asked);
        for (unsigned peer = MOON; peer < MOON + answer; ++peer)
            PUT(now += MS, NEIGHBOR_ANSWER, xact, peer, 0);
        PUT(now += 90 * MS, NEIGHBORS_DONE, xact, answer, 1);
        PUT(now, PEER_SELECT_END, xact, 0, 1);
        end(xact);
    }
}

/* Squid connects to three neighbours, but it may ask fewer.  One that answers is never named, be it last or not. */
static void
neighbors_that_never_answer(void **state)
{
    (void)state;
    static const struct neighbors_case {
        unsigned asked, answer;
        const char *culprit, *by;
    } cases[] = {{3, 2, "venus", "answered by venus."},
                 {3, 1, "venus, mars", "answered by venus, mars."},
                 {3, 0, "venus, mars, moon", "answered by venus, mars, moon."},
                 {2, 1, "neighbours", "answered by one of these at least: venus, mars."},
                 {4, 2, "neighbours", "answered by some of them."}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
        neighbors_are_asked(cases[c].asked, cases[c].answer);
        assert_cause("mute_neighbor", cases[c].culprit);
        assert_non_null(strstr(TEXT(0, sentence), cases[c].by));
    }
    for (unsigned i = 0; i < 20; ++i) { /* more of them than are kept of a transaction: who is mute is not known */
        const uint64_t xact = begin();
        PUT(0, PEER_PROBED, 0, VENUS, 0);
        PUT(now, PEER_SELECT_BEGIN, xact, 0, 0);
        PUT(now, NEIGHBORS_ASKED, xact, 10, 10);
        for (unsigned answers = 0; answers < 9; ++answers)
            PUT(now += MS, NEIGHBOR_ANSWER, xact, answers < 8 ? MOON : VENUS, 0);
        PUT(now += 90 * MS, NEIGHBORS_DONE, xact, 9, 1);
        PUT(now, PEER_SELECT_END, xact, 0, 1);
        end(xact);
    }
    assert_cause("mute_neighbor", "neighbours");
}

enum apart { BY_PORT, BY_NOTE, BY_BOTH };

/* Every third request takes half a second that no stage explains: those of a port, with a note, or both. */
static void
each_third_is_slow(enum apart apart)
{
    for (unsigned i = 0; i < 100; ++i) {
        const int second = apart != BY_NOTE && i % 3 == 0;
        now = (int64_t)(number + 1) * 1000 * MS;
        PUT(now, CONN_ACCEPT, 1000 + number, 14, second ? 3129 : 3128);
        PART(PART_LISTENER, 0, UINT64_MAX, second ? SECOND_PORT : FIRST_PORT);
        const uint64_t xact = 100 + number;
        begin_xact(now, xact, 1000 + number++);
        now += i % 3 ? MS : 500 * MS;
        if (apart != BY_PORT)
            PUT(now + MS, NOTE, xact, i % 3 ? OFFICE : LAB, 0);
        for (uint64_t other = TEAM_OTHER; other <= NO_NOTE; ++other)
            PUT(now + MS, NOTE, xact, other, 0);
        PUT(now += MS, XACT_END, xact, MEM_HIT, 200);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, number, 1000 + number - 1, 0);
    }
}

static void
a_port_that_is_slow(void **state)
{
    (void)state;
    each_third_is_slow(BY_PORT);
    assert_cause("set_apart", "https_port 3129");
}

/* A note says more than a port. */
static void
a_note_that_is_slow(void **state)
{
    (void)state;
    for (enum apart apart = BY_NOTE; apart <= BY_BOTH; ++apart) {
        each_third_is_slow(apart);
        assert_cause("set_apart", "note site=lab");
        assert_non_null(strstr(TEXT(0, sentence), "those of note site=lab apart"));
        assert_string_equal(TEXT(0, command), "sqtrace-dump --where='note_site == \"lab\"' TRACE");
    }
}

static void
notes_are_json(void **state)
{
    (void)state;
    struct sqt_notes notes = {.count = 0};
    sqt_notes_add(&notes, "team a\"b\\c");
    sqt_notes_add(&notes, "site \x1b\xe2\x80\xae \xc3\xa9\xe6\x97");
    assert_string_equal(notes.text, "{\"team\":\"a\\\"b\\\\c\",\"site\":\"?? \xc3\xa9??\"}");
}

/* ---- what is told of all that was found ---- */

static struct sqt_told *
tell(struct sqt_tolds *tolds, const char *cause, const char *culprit, uint64_t seconds)
{
    struct sqt_told *const told = sqt_tolds_add(tolds, cause, SQT_HARM_WAITING, seconds * 1000 * MS);
    told->waiting = seconds * 1000 * MS;
    snprintf(told->culprit, sizeof(told->culprit), "%s", culprit);
    return told;
}

/* Of 100 s of waiting, one claims 80 s: of 50 s that another claims, 30 s are claimed already; of 30 s only 10 s. */
static void
no_wait_is_told_twice(void **state)
{
    (void)state;
    struct sqt_tolds tolds = {.count = 0};
    tell(&tolds, "only_server", "origin-1", 80);
    tell(&tolds, "set_apart", "https_port 3129", 50);
    tell(&tolds, "one_worker", "worker 1", 49);
    tell(&tolds, "slow_clients", "", 30);
    tell(&tolds, "connect", "", 10)->weight *= 2; /* with what is no waiting */
    sqt_tolds_sort(&tolds);
    sqt_tolds_spend(&tolds, UINT64_C(100000) * MS);
    assert_int_equal(tolds.count, 4);
    assert_string_equal(tolds.told[0]->cause, "only_server");
    assert_string_equal(tolds.told[1]->cause, "one_worker");
    assert_string_equal(tolds.told[2]->cause, "slow_clients");
    sqt_tolds_free(&tolds);
    tell(&tolds, "unaccounted", "", 90);
    tell(&tolds, "set_apart", "https_port 3129", 80);
    sqt_tolds_sort(&tolds);
    sqt_tolds_spend(&tolds, UINT64_C(100000) * MS);
    assert_int_equal(tolds.count, 2); /* the first one blames nobody */
    sqt_tolds_free(&tolds);
}

static void
windows_end_with_the_trace(void **state)
{
    (void)state;
    struct sqt_tolds tolds = {.count = 0};
    struct sqt_told *const told = tell(&tolds, "connect", "", 10);
    told->since = 250 * MS;
    told->until = 1250 * MS;
    sqt_tolds_cut(&tolds, 300 * MS, 1100 * MS);
    assert_int_equal(told->since, 300 * MS);
    assert_int_equal(told->until, 1100 * MS);
    sqt_tolds_free(&tolds);
}

static void
findings_are_found(void **state)
{
    struct sqt_tolds tolds = {.count = 0};
    (void)state;
    assert_null(sqt_tolds_find(&tolds, NULL, NULL, 0));
    struct sqt_told *const helper = sqt_tolds_add(&tolds, "failed_helper", SQT_HARM_FAILURE, 5),
                           *const server = sqt_tolds_add(&tolds, "slow_server", SQT_HARM_WAITING, 7);
    strcpy(helper->culprit, "auth basic");
    strcpy(server->culprit, "origin-1");
    server->waiting = 7;
    assert_ptr_equal(sqt_tolds_find(&tolds, NULL, NULL, 0), helper);
    assert_ptr_equal(sqt_tolds_find(&tolds, NULL, NULL, 1), server);
    assert_ptr_equal(sqt_tolds_find(&tolds, "slow_server", NULL, 0), server);
    assert_ptr_equal(sqt_tolds_find(&tolds, NULL, "basic", 0), helper);
    assert_ptr_equal(sqt_tolds_find(&tolds, "slow_server", "origin-1", 7), server);
    assert_null(sqt_tolds_find(&tolds, "slow_server", "origin-1", 8));
    assert_null(sqt_tolds_find(&tolds, "slow_server", "origin", 0));
    assert_null(sqt_tolds_find(&tolds, "slow_server", "", 0));
    sqt_tolds_free(&tolds);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(stages_of_all),
        SCRIPT_TEST(nothing_explains_it),
        SCRIPT_TEST(healthy_names_the_largest_part),
        SCRIPT_TEST(a_neighbor_that_answers_late),
        SCRIPT_TEST(a_service_that_lets_few_in),
        SCRIPT_TEST(a_service_without_options),
        SCRIPT_TEST(a_service_that_waits_for_the_whole_body),
        SCRIPT_TEST(objects_that_are_fetched_again),
        SCRIPT_TEST(a_port_that_is_slow),
        SCRIPT_TEST(a_note_that_is_slow),
        SCRIPT_TEST(notes_are_json),
        SCRIPT_TEST(requests_that_fail_otherwise),
        SCRIPT_TEST(findings_are_found),
        SCRIPT_TEST(neighbors_that_never_answer),
        SCRIPT_TEST(few_reads_that_time_out),
        SCRIPT_TEST(reads_that_time_out),
        SCRIPT_TEST(files_open_slowly),
        SCRIPT_TEST(replies_end_late),
        SCRIPT_TEST(no_wait_is_told_twice),
        SCRIPT_TEST(windows_end_with_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
