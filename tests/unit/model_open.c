/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_open.c - what the model says of transactions and loops that are not over: stage, since when, on whom they wait; and
 * that it takes up nothing new once only settled transactions are waited for.
 */
#include "model_script.h"

enum { BASIC, GROUPS };

#define OPEN_MOST 8
static struct sqt_open_request requests[OPEN_MOST];
static struct sqt_open_loop loops[OPEN_MOST];
static unsigned request_count, loop_count;

static void
take_request(void *context, const struct sqt_open_request *open)
{
    (void)context;
    requests[request_count++] = *open;
}

static void
take_loop(void *context, const struct sqt_open_loop *loop)
{
    (void)context;
    loops[loop_count++] = *loop;
}

/* Plays the script, and asks what is open then. */
static void
look(void)
{
    play();
    request_count = loop_count = 0;
    sqt_model_open_requests(script.model, take_request, NULL);
    sqt_model_open_loops(script.model, take_loop, NULL);
}

static void
expect(unsigned row, uint64_t id, unsigned stage, int64_t since)
{
    assert_true(row < request_count);
    assert_int_equal(requests[row].xact->id, id);
    assert_int_equal(requests[row].stage, stage);
    assert_int_equal(requests[row].since, since);
    assert_true(requests[row].sure);
}

static void
the_stage_is_the_one_that_is_charged_and_begins_when_it_came_to_be_charged(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    look();
    expect(0, 1, SQT_UNACCOUNTED, 100);
    PUT(150, ACCESS_BEGIN, 1, 0, 0);
    look();
    expect(0, 1, SQT_STAGE_ACCESS, 150);
    PUT(160, HELPER_BEGIN, 1, 1, BASIC);
    look();
    expect(0, 1, SQT_STAGE_HELPER, 160);
    PUT(170, HELPER_END, 1, 1, SQT_WAIT_OK);
    PART(PART_HELPER, 160, 0, 0);
    look();
    expect(0, 1, SQT_STAGE_ACCESS, 170); /* it goes on, but has been charged anew since then */
    PUT(180, ACCESS_END, 1, 0, 0);
    end_xact(190, 1, MISS, 0);
    look();
    assert_int_equal(request_count, 0);
}

static void
a_record_that_changes_no_stage_does_not_begin_it_anew(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    PUT(110, REPLY_READY, 1, 0, SQT_REPLY_SERVER);
    PUT(120, REPLY_WRITE, 1, 500, 1);
    PUT(130, DIGEST_KEY, 1, 3, 0);
    PUT(140, SERVER_HEADER, 1, 300, 200); /* closes a stage that is not open */
    look();
    expect(0, 1, SQT_STAGE_PROXY_REPLY, 120);
}

static void
a_wait_is_that_of_the_stage(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    begin_xact(100, 2, 8);
    begin_xact(100, 3, 9);
    PUT(110, HELPER_BEGIN, 1, 1, BASIC);
    PUT(112, HELPER_BEGIN, 1, 2, GROUPS);
    PUT(115, HELPER_BEGIN, 0, 3, GROUPS); /* nobody waits */
    PUT(120, ADAPT_BEGIN, 2, 0, 0);
    PUT(121, ADAPT_SERVICE, 2, 1, 1);
    PUT(130, HELPER_BEGIN, 3, 4, GROUPS);
    PUT(131, PEER_SELECT_BEGIN, 3, 0, 0); /* takes precedence over the helper */
    look();
    assert_int_equal(request_count, 3);
    expect(0, 1, SQT_STAGE_HELPER, 110);
    assert_int_equal(requests[0].wait->who, BASIC); /* the oldest */
    expect(1, 2, SQT_STAGE_ADAPT, 120);
    assert_int_equal(requests[1].wait->def, SQT_DEF_SERVICE);
    assert_int_equal(requests[1].wait->who, 1);
    expect(2, 3, SQT_STAGE_PEER_SELECT, 131);
    assert_null(requests[2].wait);
}

static void
a_follower_knows_its_leader(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    begin_xact(110, 2, 8);
    PUT(120, COLLAPSED, 2, 1, 0);
    look();
    expect(1, 2, SQT_STAGE_COLLAPSED_WAIT, 120);
    assert_int_equal(requests[1].leader->id, 1);
    assert_null(requests[0].leader);
    end_xact(130, 1, MISS, 0);
    look();
    expect(0, 2, SQT_STAGE_COLLAPSED_WAIT, 120);
    assert_null(requests[0].leader); /* it is over */
}

static void
what_losses_may_have_ended_is_not_sure(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    PUT(110, LOST, 105, 3, SQT_LOSS_RING_FULL);
    begin_xact(120, 2, 8);
    look();
    assert_int_equal(request_count, 2);
    assert_false(requests[0].sure);
    assert_true(requests[1].sure);
}

static void
each_process_has_a_loop_that_waits_works_or_is_not_known(void **state)
{
    (void)state;
    begin_xact(90, 1, 7);
    look();
    assert_int_equal(loop_count, 1);
    assert_int_equal(loops[0].works, -1);
    PUT(100, WAIT_BEGIN, 0, 1000, 0);
    look();
    assert_int_equal(loops[0].works, 0);
    assert_int_equal(loops[0].since, 100);
    PUT(110, WAIT_END, 0, 1, 0);
    begin_xact(130, 2, 7);
    look();
    assert_int_equal(loops[0].works, 1);
    assert_int_equal(loops[0].since, 110);
    assert_int_equal(loops[0].told, 130);
    PUT(140, WAIT_BEGIN, 0, 1000, 0);
    play_as(1);
    look();
    assert_int_equal(loop_count, 2);
    assert_int_equal(loops[1].origin->identity.kid, 2);
    sqt_model_forget(script.model, &script.origins[0]);
    look();
    assert_int_equal(loop_count, 1);
    assert_int_equal(request_count, 0);
}

/* ---- reading on for what began before 120 ---- */

static void
settle(void)
{
    play();
    sqt_model_settle(script.model, 0, 120);
}

static void
a_settled_model_takes_up_nothing_new(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    PUT(110, TUNNEL_BEGIN, 1, 0, 0);
    begin_xact(130, 2, 8);
    settle();
    begin_xact(140, 3, 9);
    PUT(145, ACCESS_BEGIN, 2, 0, 0);
    look();
    assert_int_equal(request_count, 2);
    expect(0, 1, SQT_STAGE_TUNNEL, 110);
    expect(1, 2, SQT_STAGE_ACCESS, 145); /* it is known */
    end_xact(150, 2, MISS, 0);
    PUT(160, TUNNEL_END, 1, 0, 0);
    look();
    expect(0, 1, SQT_UNACCOUNTED, 160);
    end_xact(170, 1, MISS, 0);
    look();
    assert_int_equal(request_count, 0);
}

static void
a_settled_transaction_still_reads_its_object(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    PUT(110, REPLY_READY, 1, 0, SQT_REPLY_STORE);
    begin_xact(130, 2, 8);
    settle();
    PUT(140, SWAPIN_OPEN, 21, 0, 0); /* nobody's: not taken up */
    PART(PART_SWAP_FILE, 5, 5, 0);
    PUT(141, SWAPIN_OPEN, 22, 1, 0);
    PART(PART_SWAP_FILE, 6, 6, 0);
    PUT(142, SWAPIN_OPENED, 22, 0, 0);
    PUT(143, SWAPIN_READ, 22, 0, 4096);
    look();
    expect(0, 1, SQT_STAGE_SWAP_IN_FIRST, 143);
    PUT(150, SWAPIN_READ_DONE, 21, 0, 4096);
    PUT(151, SWAPIN_READ_DONE, 22, 0, 4096);
    look();
    expect(0, 1, SQT_STAGE_REPLY_WAIT, 151);
}

static void
what_may_still_follow_another_one_is_not_settled(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    PUT(110, HELPER_BEGIN, 1, 1, BASIC);
    PUT(112, HELPER_END, 1, 1, SQT_WAIT_OK);
    PART(PART_HELPER, 111, 0, 0);
    begin_xact(130, 2, 8);
    settle();
    begin_xact(140, 3, 9);
    PUT(150, COLLAPSED, 1, 3, 0);
    settle();
    look();
    assert_int_equal(request_count, 3);
    assert_int_equal(requests[0].leader->id, 3);
}

static void
a_process_of_which_nothing_later_was_read_is_not_settled(void **state)
{
    (void)state;
    begin_xact(100, 1, 7);
    PUT(110, TUNNEL_BEGIN, 1, 0, 0);
    settle();
    begin_xact(115, 2, 8);
    look();
    assert_int_equal(request_count, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(the_stage_is_the_one_that_is_charged_and_begins_when_it_came_to_be_charged),
        SCRIPT_TEST(a_record_that_changes_no_stage_does_not_begin_it_anew),
        SCRIPT_TEST(a_wait_is_that_of_the_stage),
        SCRIPT_TEST(a_follower_knows_its_leader),
        SCRIPT_TEST(what_losses_may_have_ended_is_not_sure),
        SCRIPT_TEST(each_process_has_a_loop_that_waits_works_or_is_not_known),
        SCRIPT_TEST(a_settled_model_takes_up_nothing_new),
        SCRIPT_TEST(a_settled_transaction_still_reads_its_object),
        SCRIPT_TEST(what_may_still_follow_another_one_is_not_settled),
        SCRIPT_TEST(a_process_of_which_nothing_later_was_read_is_not_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
