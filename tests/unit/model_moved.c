/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_moved.c - waits that were only a reply's or a server's before: followers, delay pools, tries that failed; and
 * why a look-up was no hit.
 */
#include "model_script.h"

static struct sqt_follow followed[8];
static unsigned followed_count;

static void
moved_request(void *context, const struct sqt_xact *x)
{
    script_request(context, x);
    if (x->follow)
        followed[followed_count++ % 8] = *x->follow;
}

/* A script whose followers are told, too. */
static int
moved_begin(void **state)
{
    static const struct sqt_consumer consumer = {.charge = script_charge,
                                                 .recharge = script_recharge,
                                                 .request = moved_request,
                                                 .swap = script_swap,
                                                 .io = script_io,
                                                 .connection = script_connection,
                                                 .loss = script_loss};
    script_begin(state);
    sqt_model_free(script.model);
    script.model = sqt_model_new(&consumer);
    followed_count = 0;
    return 0;
}

#define MOVED_TEST(name) cmocka_unit_test_setup_teardown(name, moved_begin, script_end)

/* ---- tries ---- */

/* The columns are those of the last try. */
static void
retried(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, FORWARD_BEGIN, 5, 0, 0);
    PUT(0, CONNECT_REUSED, 5, 50, 1);
    PUT(10, DISPATCH, 5, 50, 1);
    PUT(12, REQUEST_SENT, 5, 50, 0);
    PUT(20, RETRY, 5, 0, 1); /* the server closed the connection */
    PUT(30, CONNECT_BEGIN, 5, 51, 1);
    PUT(34, CONNECT_END, 5, 51, SQT_CONNECT_OK);
    server_exchange(40, 5, 51, 2);
    end_xact(60, 5, MISS, 0);
    play();
    assert_string_equal(stages(0),
                        "server_reply 6, server_wait 3, request_send 1, connect 4, peer_select 16, failed_tries 10");
    assert_number(REQUEST(0, unaccounted_ns), 20);
    assert_number(REQUEST(0, reused_conn), 0);
    assert_adds_up(0);
}

/* Each try that failed, with all that it had; a stage that the last try did not enter is missing. */
static void
retried_twice(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, FORWARD_BEGIN, 5, 0, 0);
    PUT(1, CONNECT_BEGIN, 5, 50, 1);
    PUT(4, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(4, DISPATCH, 5, 50, 1);
    PUT(6, REQUEST_SENT, 5, 50, 0);
    PUT(9, SERVER_READ, 5, 100, 0);
    PUT(9, SERVER_HEADER, 5, 90, 503);
    PUT(11, RETRY, 5, 0, 1);
    PUT(13, DISPATCH, 5, 51, 2);
    PUT(15, BODY_WAIT_BEGIN, 5, 0, 0);
    PUT(19, BODY_WAIT_END, 5, 10, 0);
    PUT(20, REQUEST_SENT, 5, 51, 0);
    PUT(30, RETRY, 5, 0, 2);
    server_exchange(31, 5, 52, 3);
    end_xact(50, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 6, server_wait 3, request_send 1, peer_select 3, failed_tries 27");
    assert_adds_up(0);
}

/* What an earlier fetch of the same request took is no try of the later one. */
static void
retried_after_a_fetch(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, FORWARD_BEGIN, 5, 0, 0);
    server_exchange(0, 5, 50, 1);
    PUT(10, FORWARD_END, 5, 0, 1);
    PUT(20, FORWARD_BEGIN, 5, 0, 0);
    PUT(20, DISPATCH, 5, 51, 1);
    PUT(22, REQUEST_SENT, 5, 51, 0);
    PUT(30, RETRY, 5, 0, 1);
    server_exchange(30, 5, 52, 2);
    end_xact(40, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 12, server_wait 6, request_send 2, peer_select 0, failed_tries 10");
    assert_number(REQUEST(0, unaccounted_ns), 10);
    assert_adds_up(0);
}

/* An interim response in a try that failed, and one in the next. */
static void
retried_with_interim_replies(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    for (unsigned try = 0; try < 2; ++try) {
        PUT(20 * try, DISPATCH, 5, 50 + try, 1 + try);
        PUT(20 * try + 2, REQUEST_SENT, 5, 50 + try, 0);
        PUT(20 * try + 5, SERVER_READ, 5, 50, 0);
        PUT(20 * try + 7, SERVER_1XX, 5, 0, 103);
        if (!try)
            PUT(19, RETRY, 5, 0, 1);
    }
    PUT(30, SERVER_READ, 5, 50, 0);
    PUT(31, SERVER_DONE, 5, 51, 0);
    end_xact(40, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 1, server_wait 8, request_send 2, peer_select 1, failed_tries 19");
    assert_adds_up(0);
}

/* ---- delay pools ---- */

static void
hold_back(uint32_t pool)
{
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(1, REQUEST_SENT, 5, 50, 0);
    PUT(5, SERVER_HELD, 5, 0, pool);
    PUT(10, SERVER_READ, 5, 500, 0);
    PUT(12, SERVER_HEADER, 5, 300, 200);
    PUT(12, REPLY_READY, 5, 0, SQT_REPLY_SERVER);
    PUT(20, SERVER_HELD, 5, 0, pool);
    PUT(30, REPLY_WRITE, 5, 500, 1);
    PUT(31, REPLY_WRITTEN, 5, 500, 0);
    PUT(70, SERVER_READ, 5, 500, 0);
    PUT(80, SERVER_DONE, 5, 50, 0);
    end_xact(85, 5, MISS, 0);
    play();
    assert_adds_up(0);
}

/* What a delay pool holds back is neither the server's time nor the client's. */
static void
held_back(void **state)
{
    (void)state;
    hold_back(2);
    assert_string_equal(stages(0), "proxy_reply 1, server_reply 20, server_wait 4, request_send 1, held_back 54, "
                                   "reply_wait 5");
}

/* A slow client does the same, and so did everything in a trace that knows of no delay pools. */
static void
held_by_the_client(void **state)
{
    (void)state;
    hold_back(0);
    assert_string_equal(stages(0), "proxy_reply 1, server_reply 20, server_wait 4, request_send 1, reply_wait 59");
}

/* A pool that held back before the first byte does not do so again after an interim response. */
static void
held_before_an_interim_reply(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(1, REQUEST_SENT, 5, 50, 0);
    PUT(5, SERVER_HELD, 5, 0, 1);
    PUT(10, SERVER_READ, 5, 50, 0);
    PUT(12, SERVER_1XX, 5, 0, 103);
    PUT(20, SERVER_DONE, 5, 50, 0);
    end_xact(20, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_wait 4, request_send 1, held_back 5, reply_wait 10");
    assert_adds_up(0);
}

/* ---- followers: times are in microseconds ---- */

static void
play_us(unsigned origin)
{
    assert_hooks_emit_it();
    struct sqt_run run = {.origin = &script.origins[origin],
                          .records = script.records,
                          .count = script.count,
                          .next = script.count,
                          .line = {0, 0, 1000.0}};
    sqt_model_run(script.model, &run);
    script.count = 0;
}

static void
begin_leader(int64_t time)
{
    begin_xact(time, 4, 6);
    PUT(time, FORWARD_BEGIN, 4, 0, 0);
    PUT(time, CONNECT_BEGIN, 4, 50, 1);
    PART(PART_SERVER, 0, 0, 1);
}

static void
leader_connects(int64_t time)
{
    PUT(time, CONNECT_END, 4, 50, SQT_CONNECT_OK);
    PUT(time, DISPATCH, 4, 50, 1);
    PUT(time + 5, REQUEST_SENT, 4, 50, 0);
}

static void
begin_follower(int64_t time, uint64_t id, uint64_t leader, uint32_t kid)
{
    begin_xact(time, id, id + 2);
    PUT(time + 1, LOOKUP_BEGIN, id, 0, 0);
    PUT(time + 2, COLLAPSED, id, leader, kid);
}

static void
end_follower(int64_t time, uint64_t id)
{
    PUT(time, LOOKUP_END, id, 1, 1);
    PUT(time + 1, REPLY_READY, id, 0, SQT_REPLY_STORE);
    PUT(time + 3, REPLY_WRITE, id, 10, 1);
    PUT(time + 5, REPLY_WRITTEN, id, 10, 0);
    end_xact(time + 5, id, CF_HIT, SQT_XACT_COLLAPSED);
}

static void
assert_leader(unsigned i, enum sqt_stage stage, int64_t ns)
{
    assert_int_equal(followed[i].ns[stage], 1000 * ns);
}

static int64_t
followed_ns(unsigned i)
{
    int64_t sum = 0;
    for (unsigned s = 0; s < SQT_FOLLOW_STAGES; ++s)
        sum += followed[i].ns[s];
    return sum / 1000;
}

static void
follower(void **state)
{
    (void)state;
    begin_leader(0);
    begin_follower(3, 5, 4, 0);
    leader_connects(10);
    PUT(40, SERVER_READ, 4, 500, 0);
    PUT(40, SERVER_HEADER, 4, 300, 200);
    end_follower(42, 5);
    play_us(0);
    assert_string_equal(stages(0), "proxy_reply 2000, lookup 1000, collapsed_wait 37000, reply_wait 2000");
    assert_number(REQUEST(0, collapsed), 1);
    assert_string_equal(REQUEST(0, class).text, "mem_hit");
    assert_adds_up(0);
    assert_int_equal(followed_count, 1);
    assert_leader(0, SQT_STAGE_CONNECT, 5);
    assert_leader(0, SQT_STAGE_REQUEST_SEND, 5);
    assert_leader(0, SQT_STAGE_SERVER_WAIT, 25);
    assert_leader(0, SQT_STAGE_SERVER_REPLY, 2);
    assert_int_equal(followed_ns(0), 37);
    assert_int_equal(followed[0].server, 1);
}

/* The leader's time after a try that failed, and after it is over. */
static void
follower_that_outlives_its_leader(void **state)
{
    (void)state;
    begin_leader(0);
    begin_follower(3, 5, 4, 0);
    leader_connects(10);
    begin_follower(18, 6, 4, 0);
    PUT(25, RETRY, 4, 0, 1);
    server_exchange(30, 4, 51, 2);
    end_xact(45, 4, MISS_ABORTED, 0);
    end_follower(50, 5);
    end_follower(60, 6);
    play_us(0);
    assert_int_equal(followed_count, 2);
    assert_leader(0, SQT_STAGE_FAILED_TRIES, 20);
    assert_leader(0, SQT_STAGE_PEER_SELECT, 5);
    assert_leader(0, SQT_STAGE_SERVER_WAIT, 3);
    assert_leader(0, (enum sqt_stage)SQT_UNACCOUNTED, 5);
    assert_leader(0, (enum sqt_stage)SQT_FOLLOW_UNKNOWN, 5);
    assert_int_equal(followed_ns(0), 45);
    assert_leader(1, SQT_STAGE_FAILED_TRIES, 9); /* of which 4 came after the failure, see follows.c */
    assert_int_equal(followed_ns(1), 40);
}

/* Another worker's, and one that the trace does not know. */
static void
leaders_elsewhere(void **state)
{
    (void)state;
    begin_leader(0);
    leader_connects(10);
    play_us(1);
    begin_follower(20, 5, 4, 2);
    begin_follower(20, 6, 99, 2);
    begin_follower(20, 7, 4, 3);
    begin_follower(20, 8, 8, 0);
    for (uint64_t id = 5; id < 9; ++id)
        end_follower(50 + 10 * (int64_t)id, id);
    play_us(0);
    assert_int_equal(followed_count, 4);
    assert_leader(0, SQT_STAGE_SERVER_WAIT, 78);
    for (unsigned i = 1; i < 4; ++i)
        assert_leader(i, (enum sqt_stage)SQT_FOLLOW_UNKNOWN, followed_ns(i));
    assert_ptr_equal(followed[0].origin, &script.origins[1]);
    assert_ptr_equal(followed[1].origin, NULL);
}

/* A leader's private reply: the follower asks for itself. */
static void
follower_that_turns_away(void **state)
{
    (void)state;
    begin_follower(0, 5, 4, 0);
    PUT(30, LOOKUP_END, 5, 1, 1);
    PUT(32, PEER_SELECT_BEGIN, 5, 0, 0);
    server_exchange(35, 5, 50, 1);
    end_xact(50, 5, MISS, SQT_XACT_COLLAPSED | SQT_MISS_UNSHAREABLE << SQT_XACT_MISS_SHIFT);
    play_us(0);
    assert_string_equal(stages(0),
                        "server_reply 6000, server_wait 3000, request_send 1000, peer_select 3000, lookup 1000, "
                        "collapsed_wait 28000");
    assert_string_equal(REQUEST(0, miss_reason).text, "unshareable");
    assert_number(REQUEST(0, collapsed), 1);
    assert_adds_up(0);
}

/* A trace from before says at once that the reply is ready: these times are in nanoseconds. */
static void
follower_of_an_old_trace(void **state)
{
    (void)state;
    for (unsigned gap = 0; gap < 2; ++gap) {
        const int64_t at = 100 * gap;
        begin_xact(at, 5, 7);
        PUT(at + 1, LOOKUP_BEGIN, 5, 0, 0);
        PUT(at + 2, COLLAPSED, 5, 0, 0);
        PUT(at + 2 + gap, LOOKUP_END, 5, 1, 1);
        PUT(at + 2 + gap, REPLY_READY, 5, 0, SQT_REPLY_STORE);
        PUT(at + 90, REPLY_WRITE, 5, 10, 1);
        PUT(at + 95, REPLY_WRITTEN, 5, 10, 0);
        end_xact(at + 100, 5, CF_HIT, SQT_XACT_COLLAPSED);
    }
    play();
    assert_string_equal(stages(0), "proxy_reply 5, lookup 1, reply_wait 93");
    assert_string_equal(stages(1), "proxy_reply 5, lookup 2, reply_wait 92");
    assert_adds_up(0);
    assert_adds_up(1);
    assert_int_equal(followed_count, 0);
}

/* ---- reasons ---- */

static void
reasons(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SQT_MISSES_COUNT; ++i) {
        begin_xact(i, 5, 7);
        end_xact(i, 5, MISS, SQT_XACT_ERROR_PAGE | i << SQT_XACT_MISS_SHIFT);
    }
    play();
    assert_ptr_equal(REQUEST(0, miss_reason).text, NULL);
    assert_string_equal(REQUEST(SQT_MISS_ABSENT, miss_reason).text, "absent");
    assert_string_equal(REQUEST(SQT_MISS_SWAP_FAIL, miss_reason).text, "swap_fail");
    for (unsigned i = 0; i < SQT_MISSES_COUNT; ++i)
        assert_string_equal(REQUEST(i, class).text, "miss");
    script.foreign = 1;
    begin_xact(100, 5, 7);
    end_xact(100, 5, MISS, UINT32_MAX);
    play();
    assert_ptr_equal(REQUEST(SQT_MISSES_COUNT, miss_reason).text, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MOVED_TEST(retried),
        MOVED_TEST(retried_twice),
        MOVED_TEST(retried_after_a_fetch),
        MOVED_TEST(retried_with_interim_replies),
        MOVED_TEST(held_back),
        MOVED_TEST(held_by_the_client),
        MOVED_TEST(held_before_an_interim_reply),
        MOVED_TEST(follower),
        MOVED_TEST(follower_of_an_old_trace),
        MOVED_TEST(follower_that_outlives_its_leader),
        MOVED_TEST(leaders_elsewhere),
        MOVED_TEST(follower_that_turns_away),
        MOVED_TEST(reasons),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("model: what moved", tests, NULL, NULL);
}
