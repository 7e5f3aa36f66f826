/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_losses.c - what becomes of things that were open across lost records.
 */
#include "model_script.h"

static void
lost(int64_t from, int64_t until, uint64_t count)
{
    PUT(until, LOST, (uint64_t)from, count, SQT_LOSS_RING_FULL);
}

static void
a_loss_is_a_row(void **state)
{
    (void)state;
    lost(100, 200, 7002);
    PUT(300, LOST, 250, 3, SQT_LOSS_MISSING);
    play();
    assert_int_equal(script.losses.count, 2);
    assert_number(LOSS(0, time_s), 100);
    assert_number(LOSS(0, until_s), 200);
    assert_number(LOSS(0, records), 7002);
    assert_string_equal(LOSS(0, reason).text, "ring full");
    assert_string_equal(LOSS(1, reason).text, "missing segment");
}

/* Its own end closes it; nothing between can be trusted. */
static void
closed_by_its_own_end(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(10, ACCESS_BEGIN, 5, 0, 0);
    PUT(15, ACCESS_END, 5, 0, 0);
    lost(20, 30, 5);
    PUT(40, REPLY_WRITE, 5, 10, 1);
    PUT(45, REPLY_WRITTEN, 5, 10, 0);
    end_xact(50, 5, MISS, 0);
    begin_xact(60, 6, 7);
    end_xact(70, 6, MISS, 0);
    play();
    assert_int_equal(script.requests.count, 2);
    assert_string_equal(REQUEST(0, outcome).text, "lost");
    assert_string_equal(REQUEST(0, tag).text, "TCP_MISS");
    assert_string_equal(stages(0), "");
    assert_number(REQUEST(0, unaccounted_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(0, first_byte_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(0, total_ns), SQT_CELL_MISSING);
    assert_string_equal(REQUEST(1, outcome).text, "complete");
    assert_number(REQUEST(1, total_ns), 10);
}

static void
closed_by_the_close_of_its_connection(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    begin_xact(1, 6, 8);
    lost(20, 30, 5);
    PUT(40, CONN_CLOSE, 7, 0, 0);
    play();
    assert_int_equal(script.requests.count, 1);
    assert_number(REQUEST(0, xid), 5);
    assert_string_equal(REQUEST(0, outcome).text, "lost");
    assert_ptr_equal(REQUEST(0, tag).text, NULL);
    assert_number(REQUEST(0, total_ns), SQT_CELL_MISSING);
    sqt_model_finish(script.model);
    assert_string_equal(REQUEST(1, outcome).text, "lost");
    assert_number(REQUEST(1, total_ns), SQT_CELL_MISSING);
}

static void
closed_by_the_next_request_of_its_connection(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    lost(20, 30, 5);
    PUT(40, REQUEST_PARSED, 7, 100, 0);
    begin_xact(41, 6, 7);
    end_xact(45, 5, MISS, 0); /* it was not over after all, but has its row */
    end_xact(50, 6, MISS, 0);
    play();
    assert_int_equal(script.requests.count, 2);
    assert_number(REQUEST(0, xid), 5);
    assert_number(REQUEST(0, total_ns), SQT_CELL_MISSING);
    assert_string_equal(REQUEST(0, outcome).text, "lost");
    assert_number(REQUEST(1, xid), 6);
    assert_string_equal(REQUEST(1, outcome).text, "complete");
}

static void
closed_by_the_next_use_of_its_id(void **state)
{
    (void)state;
    PUT(0, XACT_BEGIN, SQT_UNNAMED | 1, 0, 0);
    lost(20, 30, 5);
    PUT(40, XACT_BEGIN, SQT_UNNAMED | 1, 0, 0);
    end_unparsed(50, 1, 0);
    play();
    assert_int_equal(script.requests.count, 2);
    assert_string_equal(REQUEST(0, outcome).text, "lost");
    assert_string_equal(REQUEST(1, outcome).text, "error");
}

/* The begin was lost: the end still is a line of access.log. */
static void
an_end_without_a_begin(void **state)
{
    (void)state;
    PUT(10, REPLY_WRITE, 5, 10, 1);
    PUT(15, REPLY_WRITTEN, 5, 10, 0);
    end_xact(50, 5, MISS, 0);
    play();
    assert_int_equal(script.requests.count, 1);
    assert_number(REQUEST(0, xid), 5);
    assert_number(REQUEST(0, conn), 7);
    assert_number(REQUEST(0, time_s), SQT_CELL_MISSING);
    assert_number(REQUEST(0, total_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(0, sent_bytes), 1300);
    assert_string_equal(REQUEST(0, outcome).text, "lost");
}

static void
swaps_and_attempts(void **state)
{
    (void)state;
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(1, SWAPIN_READ, 9, 0, 4096);
    PUT(2, CONNECT_BEGIN, 5, 50, 1);
    PUT(3, CONNECT_BEGIN, 5, 51, 1);
    lost(20, 30, 5);
    PUT(35, SWAPIN_READ_DONE, 9, 4096, 4096); /* asked for in the lost stretch */
    PUT(36, SWAPIN_READ_DONE, 9, 0, 4096);
    PUT(40, SWAPIN_CLOSED, 9, 0, 0);
    PUT(41, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(41, DISPATCH, 5, 50, 1);
    PUT(42, SERVER_CLOSE, 51, 0, 0);
    play();
    assert_int_equal(script.swaps.count, 1);
    assert_string_equal(SWAP(0, outcome).text, "lost");
    assert_number(SWAP(0, open_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, idle_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, atomic), SQT_CELL_MISSING);
    assert_number(SWAP(0, total_ns), SQT_CELL_MISSING);
    assert_int_equal(script.connections.count, 2);
    assert_string_equal(CONNECTION(0, outcome).text, "lost");
    assert_number(CONNECTION(0, connect_ns), SQT_CELL_MISSING);
    assert_string_equal(CONNECTION(1, outcome).text, "lost");
}

/* The bytes of a connection cannot be counted on across a loss. */
static void
connections_start_anew(void **state)
{
    (void)state;
    PUT(0, CONN_ACCEPT, 7, 1, 1);
    PUT(1, CLIENT_READ, 7, 100, 0);
    lost(20, 30, 5);
    PUT(40, REQUEST_PARSED, 7, 100, 0);
    begin_xact(40, 5, 7);
    end_xact(45, 5, MISS, 0);
    PUT(50, CLIENT_READ, 7, 100, 0);
    PUT(60, REQUEST_PARSED, 7, 100, 0);
    begin_xact(60, 6, 7);
    end_xact(65, 6, MISS, 0);
    play();
    assert_number(REQUEST(0, client_connect_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(1, client_connect_ns), 10);
}

/* Ids are unique within one origin only, and so are its losses. */
static void
origins_are_apart(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(1, ACCESS_BEGIN, 5, 0, 0);
    play_as(0);
    begin_xact(2, 5, 7);
    lost(2, 3, 1);
    PUT(4, ACCESS_BEGIN, 5, 0, 0);
    PUT(6, ACCESS_END, 5, 0, 0);
    end_xact(7, 5, MISS, 0);
    play_as(1);
    PUT(9, ACCESS_END, 5, 0, 0);
    end_xact(10, 5, HIT, 0);
    play_as(0);
    assert_int_equal(script.requests.count, 2);
    assert_number(REQUEST(0, kid), 2);
    assert_string_equal(REQUEST(0, outcome).text, "lost");
    assert_number(REQUEST(1, kid), 0);
    assert_string_equal(REQUEST(1, outcome).text, "complete");
    assert_string_equal(stages(1), "access 8");
}

/* Losses that hide ends for ever do not make the decoder grow for ever. */
static void
what_losses_leave_behind_is_bounded(void **state)
{
    (void)state;
    uint64_t id = 1;
    for (unsigned round = 0; round < 400; ++round) {
        for (unsigned i = 0; i < 100; ++i, ++id) {
            PUT(round, CONN_ACCEPT, 1000000 + id, 1, 1);
            begin_xact(round, id, 1000000 + id);
            swap_in_opens(round, id, id);
            PUT(round, CONNECT_BEGIN, id, 2000000 + id, 1);
        }
        lost(round, round, 1);
        play();
    }
    /* 40,000 of each began; all but some 8,000 have been given up. */
    assert_in_range(script.requests.count, 31000, 40000);
    assert_in_range(script.swaps.count, 31000, 40000);
    assert_in_range(script.connections.count, 31000, 40000);
    /* The one that was given up last has its row. */
    const size_t given_up = script.requests.count;
    end_xact(401, given_up, MISS, 0);
    play();
    assert_int_equal(script.requests.count, given_up);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_loss_is_a_row),
        SCRIPT_TEST(closed_by_its_own_end),
        SCRIPT_TEST(closed_by_the_close_of_its_connection),
        SCRIPT_TEST(closed_by_the_next_request_of_its_connection),
        SCRIPT_TEST(closed_by_the_next_use_of_its_id),
        SCRIPT_TEST(an_end_without_a_begin),
        SCRIPT_TEST(swaps_and_attempts),
        SCRIPT_TEST(connections_start_anew),
        SCRIPT_TEST(origins_are_apart),
        SCRIPT_TEST(what_losses_leave_behind_is_bounded),
    };
    return cmocka_run_group_tests_name("model: losses", tests, NULL, NULL);
}
