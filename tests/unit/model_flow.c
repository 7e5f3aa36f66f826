/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_flow.c - table `findings`: objects that are on their way already, servers that are full, replies that stop, and
 * helpers that are asked where no rule expects it.
 */
#include "model_found.h"

#define SECOND (1000 * MS)
enum { ORIGIN_1 = 2, ORIGIN_2 };
enum { GROUPS = 1 };

struct request {
    int64_t begin, header, end; /* header: when the first bytes come from the server */
    int64_t joins;              /* 0: it asks the server; else it follows another request up to then */
    uint32_t server, flags;
    uint64_t object, bytes;
    int only_joins; /* it asks nobody */
    int slow;       /* its client takes the reply slowly */
};

/* Records of requests in the order of time: what happens at which time, of all. */
enum step { BEGINS, ASKS, SENT, HEADER, END, STEPS };

static int64_t
step_at(const struct request *r, enum step step)
{
    const int64_t asks = r->joins ? r->joins : r->begin;
    const int64_t at[STEPS] = {r->begin, asks, asks, r->header, r->end};
    return at[step];
}

static void
put_step(const struct request *r, uint64_t xact, enum step step)
{
    const int64_t now = step_at(r, step);
    if (step == BEGINS) {
        begin_xact(now, xact, xact);
        PUT(now, LOOKUP_BEGIN, xact, 0, 0);
        PUT(now, LOOKUP_END, xact, r->object, (unsigned)r->only_joins);
        if (r->only_joins)
            PUT(now, REPLY_READY, xact, 0, 0);
        else if (r->joins)
            PUT(now, COLLAPSED, xact, 0, 0);
    } else if (step == ASKS && !r->only_joins) {
        PUT(now, FORWARD_BEGIN, xact, 0, 0);
        PUT(now, PEER_SELECT_BEGIN, xact, 0, 0);
        PUT(now, PEER_SELECT_END, xact, 0, 1);
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, r->server);
        PUT(now, DISPATCH, xact, 50, 1);
    } else if (step == SENT && !r->only_joins) {
        PUT(now, REQUEST_SENT, xact, 50, 0);
    } else if (step == HEADER) {
        if (!r->only_joins) {
            PUT(now, SERVER_READ, xact, r->bytes, 0);
            PUT(now, SERVER_HEADER, xact, 100, 200);
        }
        if (r->slow)
            PUT(now, REPLY_WRITE, xact, r->bytes, 1);
    } else if (step == END) {
        if (r->slow)
            PUT(now, REPLY_WRITTEN, xact, r->bytes, 0);
        if (!r->only_joins)
            PUT(now, FORWARD_END, xact, 0, 0);
        PUT(now, XACT_END, xact, MISS, 200);
        PART(PART_XACT_SIZES, r->flags ? 6000 : r->bytes, r->bytes, 1);
        PART(PART_XACT_FLAGS, r->object, 7, r->flags);
    }
}

static void
play_requests(const struct request *requests, unsigned count)
{
    unsigned done[1024] = {0};
    assert_true(count <= 1024);
    for (;;) {
        unsigned next = count;
        for (unsigned i = 0; i < count; ++i)
            if (done[i] < STEPS && (next == count || step_at(&requests[i], (enum step)done[i]) <
                                                         step_at(&requests[next], (enum step)done[next])))
                next = i;
        if (next == count)
            return;
        put_step(&requests[next], 100 + next, (enum step)done[next]++);
    }
}

static struct request some[1024];

/* Others, of 10 ms each. */
static unsigned
quick(unsigned count)
{
    for (unsigned i = 0; i < count; ++i)
        some[i] = (struct request){.begin = i * 100 * MS,
                                   .header = i * 100 * MS + 10 * MS,
                                   .end = i * 100 * MS + 10 * MS,
                                   .server = ORIGIN_2,
                                   .object = 5000 + i,
                                   .bytes = 1000};
    return count;
}

static void
assert_first(const char *cause, const char *culprit)
{
    find();
    assert_string_equal(TEXT(0, cause), cause);
    assert_string_equal(TEXT(0, culprit), culprit);
}

/* One request fetches for 2 s, eleven others are sent what has come, and wait for the rest. */
static void
some_join_a_fetch(void **state)
{
    (void)state;
    unsigned count = quick(100);
    for (unsigned i = 0; i < 12; ++i)
        some[count++] = (struct request){.begin = SECOND + i,
                                         .header = SECOND + 10 * MS,
                                         .end = 3 * SECOND + (i ? i : 20), /* the fetch ends last */
                                         .server = ORIGIN_1,
                                         .object = 77,
                                         .bytes = 1000,
                                         .only_joins = i > 0};
    play_requests(some, count);
    find();
    unsigned row = 0;
    while (row < found_count && strcmp(TEXT(row, cause), "joined_fetch") != 0)
        ++row;
    assert_true(row < found_count);
    assert_string_equal(TEXT(row, culprit), "origin-1");
    assert_int_equal(NUMBER(row, requests), 11);
    assert_in_range(NUMBER(row, waiting_s), 11 * (2 * SECOND - MS), 11 * (2 * SECOND + MS));
}

/* The client of the fetch, or one that joins it, takes 2 s for the reply; the others wait as long.  Or nobody does. */
static void
a_slow_client_joins(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 3; ++slow) {
        unsigned count = quick(100);
        for (unsigned i = 0; i < 12; ++i)
            some[count++] = (struct request){.begin = SECOND + i,
                                             .header = SECOND + 10 * MS,
                                             .end = 3 * SECOND + (i ? i : 20),
                                             .server = ORIGIN_1,
                                             .object = 77,
                                             .bytes = 1000,
                                             .only_joins = i > 0,
                                             .slow = i == slow && slow < 2};
        play_requests(some, count);
        find();
        unsigned row = 0;
        while (row < found_count && strcmp(TEXT(row, cause), slow < 2 ? "slow_reader" : "joined_fetch") != 0)
            ++row;
        assert_true(row < found_count);
        assert_string_equal(TEXT(row, culprit), slow < 2 ? "clients" : "origin-1");
        assert_int_equal(NUMBER(row, requests), slow == 1 ? 10 : 11);
    }
}

/* Each second 20 requests ask for one object, and the server answers one after the other. */
static void
all_fetch_the_same(void **state)
{
    (void)state;
    unsigned count = quick(100);
    for (unsigned at = 1; at <= 4; ++at)
        for (unsigned i = 0; i < 20; ++i)
            some[count++] = (struct request){.begin = at * 2 * SECOND + i,
                                             .header = at * 2 * SECOND + (i + 1) * 40 * MS,
                                             .end = at * 2 * SECOND + (i + 1) * 40 * MS,
                                             .server = ORIGIN_1,
                                             .object = 77,
                                             .bytes = 1000};
    play_requests(some, count);
    assert_first("fetched_at_once", "origin-1");
    assert_non_null(strstr(TEXT(0, sentence), "up to 20 at once"));
}

/* They follow a fetch for 300 ms, and ask themselves after all. */
static void
they_follow_in_vain(void **state)
{
    (void)state;
    unsigned count = quick(100);
    for (unsigned i = 0; i < 40; ++i)
        some[count++] = (struct request){.begin = i * 200 * MS + 1,
                                         .joins = i * 200 * MS + 300 * MS,
                                         .header = i * 200 * MS + 600 * MS,
                                         .end = i * 200 * MS + 600 * MS,
                                         .server = ORIGIN_1,
                                         .object = 7000 + i,
                                         .bytes = 1000};
    play_requests(some, count);
    find();
    unsigned row = 0;
    while (row < found_count && strcmp(TEXT(row, cause), "collapsed_in_vain") != 0)
        ++row;
    assert_true(row < found_count);
    assert_int_equal(NUMBER(row, requests), 40);
}

/* 20 requests a second come, and the server answers 10: they queue.  Or it takes 300 ms for each, however many there are.  Or
 * they queue, and all ask for one object. */
static void
a_server_is_full(void **state)
{
    (void)state;
    for (unsigned full = 0; full < 3; ++full) {
        for (unsigned i = 0; i < 150; ++i)
            some[i] = (struct request){.begin = i * 50 * MS,
                                       .header = full ? (i + 1) * 100 * MS : i * 50 * MS + 300 * MS,
                                       .end = full ? (i + 1) * 100 * MS : i * 50 * MS + 300 * MS,
                                       .server = ORIGIN_1,
                                       .object = full == 2 ? 7000 : 7000 + i,
                                       .bytes = 1000};
        play_requests(some, 150);
        assert_first(full ? "queue_at_server" : "only_server", "origin-1");
        assert_int_equal(!!strstr(TEXT(0, sentence), "that wait longest ask for one object"), full == 2);
        assert_int_equal(strncmp(TEXT(0, advice), "collapsed_forwarding on", 23) == 0, full == 2);
    }
}

/* Each fourth reply of a server stops until its client leaves, 6 s later; those of others are whole. */
static void
replies_stop(void **state)
{
    (void)state;
    unsigned count = quick(100);
    for (unsigned i = 0; i < 40; ++i)
        some[count++] = (struct request){.begin = i * 200 * MS + 1,
                                         .header = i * 200 * MS + 10 * MS,
                                         .end = i * 200 * MS + (i % 4 ? 10 * MS : 6 * SECOND),
                                         .server = ORIGIN_1,
                                         .flags = i % 4 ? 0 : SQT_XACT_ABORTED,
                                         .object = 7000 + i,
                                         .bytes = i % 4 ? 500 : 100};
    play_requests(some, count);
    assert_first("stopped_bodies", "origin-1");
    assert_int_equal(NUMBER(0, failures), 10);
    assert_non_null(strstr(TEXT(0, sentence), "10 of 40 replies of origin-1 stop"));
    assert_non_null(strstr(TEXT(0, sentence), "large packets are lost"));
}

/* A helper is asked while a server is chosen. */
static void
a_helper_of_peer_access(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; ++i) {
        const uint64_t xact = 100 + i;
        const int64_t now = i * SECOND;
        begin_xact(now, xact, 7);
        PUT(now, FORWARD_BEGIN, xact, 0, 0);
        PUT(now, PEER_SELECT_BEGIN, xact, 0, 0);
        PUT(now, HELPER_BEGIN, xact, 1000 + i, GROUPS);
        PUT(now + 300 * MS, HELPER_END, xact, 1000 + i, SQT_WAIT_OK);
        PART(PART_HELPER, (uint64_t)now, 0, 0);
        PUT(now + 300 * MS, PEER_SELECT_END, xact, 0, 1);
        PUT(now + 300 * MS, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, ORIGIN_1);
        PUT(now + 300 * MS, FORWARD_END, xact, 0, 0);
        end_xact(now + 301 * MS, xact, MISS, 0);
    }
    assert_first("asked", "external_acl groups");
    assert_int_equal(found_count, 1);
    assert_int_equal(NUMBER(0, waiting_s), 50 * 300 * MS);
}

/* A server takes four seconds for each sixth request, then for each second one, and answers those that come after it soon:
 * nobody queues. */
static void
some_answers_are_slow(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 240; ++i) {
        const int slow = i < 120 ? i % 12 == 10 : i % 4 == 2;
        const int64_t until = i * 50 * MS + (slow ? 4 * SECOND : 10 * MS);
        some[i] = (struct request){.begin = i * 50 * MS,
                                   .header = until,
                                   .end = until,
                                   .server = i % 2 ? ORIGIN_2 : ORIGIN_1,
                                   .object = 7000 + i,
                                   .bytes = 1000};
    }
    play_requests(some, 240);
    assert_first("slow_at_server", "origin-1");
    assert_non_null(strstr(TEXT(0, sentence), " 40 of its 120 answers took 4.00 s, the others 10.0 ms."));
}

/* Every two seconds 20 requests come at once for something of their own, and the server answers one after the other; or all
 * of them together, after as long. */
static void
they_come_at_once(void **state)
{
    (void)state;
    for (unsigned together = 0; together < 2; ++together) {
        unsigned count = quick(100);
        for (unsigned at = 1; at <= 4; ++at)
            for (unsigned i = 0; i < 20; ++i) {
                const int64_t until = at * 2 * SECOND + (together ? 800 * MS + i * MS : (i + 1) * 40 * MS);
                some[count++] = (struct request){.begin = at * 2 * SECOND + i,
                                                 .header = until,
                                                 .end = until,
                                                 .server = ORIGIN_1,
                                                 .object = 100 * at + i,
                                                 .bytes = 1000};
            }
        play_requests(some, count);
        if (together) {
            find();
            assert_string_not_equal(TEXT(0, cause), "queue_at_server");
            continue;
        }
        assert_first("queue_at_server", "origin-1");
        assert_non_null(strstr(TEXT(0, sentence), "it answers one at a time, one every 40.0 ms."));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(some_join_a_fetch),     SCRIPT_TEST(a_slow_client_joins), SCRIPT_TEST(all_fetch_the_same),
        SCRIPT_TEST(they_follow_in_vain),   SCRIPT_TEST(a_server_is_full),    SCRIPT_TEST(replies_stop),
        SCRIPT_TEST(some_answers_are_slow), SCRIPT_TEST(they_come_at_once),   SCRIPT_TEST(a_helper_of_peer_access)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
