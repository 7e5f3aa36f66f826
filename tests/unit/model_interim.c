/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_interim.c - 1xx responses: what was charged to server_reply goes back.
 */
#include "model_script.h"

/* server_wait goes on through an interim response. */
static void
interim_response(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(1, REQUEST_SENT, 5, 50, 0);
    PUT(10, SERVER_READ, 5, 30, 0);
    PUT(13, SERVER_1XX, 5, 0, 103);
    PUT(50, SERVER_READ, 5, 500, 0);
    PUT(51, SERVER_HEADER, 5, 300, 200);
    PUT(60, SERVER_DONE, 5, 50, 0);
    end_xact(60, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 10, server_wait 49, request_send 1");
    assert_adds_up(0);
}

/* The final response came in the same read. */
static void
interim_response_with_more(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(1, REQUEST_SENT, 5, 50, 0);
    PUT(10, SERVER_READ, 5, 530, 0);
    PUT(13, SERVER_1XX, 5, 500, 103);
    PUT(13, SERVER_HEADER, 5, 300, 200);
    PUT(60, SERVER_DONE, 5, 50, 0);
    end_xact(60, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 50, server_wait 9, request_send 1");
    assert_adds_up(0);
}

/* 100 Continue comes before the request is sent: it is being sent still. */
static void
interim_response_while_sending(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(10, SERVER_READ, 5, 30, 0);
    PUT(12, SERVER_1XX, 5, 0, 100);
    PUT(20, REQUEST_SENT, 5, 50, 0);
    PUT(50, SERVER_READ, 5, 500, 0);
    PUT(60, SERVER_DONE, 5, 50, 0);
    end_xact(60, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 10, server_wait 30, request_send 20");
    assert_adds_up(0);
}

/* Only what the interim response was charged goes back, not the reply of an earlier try. */
static void
interim_response_of_a_second_try(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    server_exchange(0, 5, 50, 1); /* 3 of wait, 6 of reply */
    PUT(20, RETRY, 5, 0, 1);
    PUT(30, DISPATCH, 5, 51, 2);
    PUT(31, REQUEST_SENT, 5, 51, 0);
    PUT(40, SERVER_READ, 5, 30, 0);
    PUT(42, SERVER_1XX, 5, 0, 103);
    PUT(45, SERVER_DONE, 5, 51, 1);
    end_xact(50, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_wait 14, request_send 1, peer_select 10, failed_tries 10");
    assert_adds_up(0);
}

/* Nothing but an interim response ever came: there was no reply.  What took precedence keeps its time. */
static void
interim_response_and_no_other(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(1, REQUEST_SENT, 5, 50, 0);
    PUT(10, SERVER_READ, 5, 30, 0);
    swap_in_opens(12, 9, 5);
    PUT(15, SERVER_1XX, 5, 0, 103);
    PUT(17, SWAPIN_OPENED, 9, 0, 0);
    end_xact(60, 5, MISS_ABORTED, SQT_XACT_ABORTED);
    play();
    assert_string_equal(stages(0), "swap_in_open 5, server_wait 54, request_send 1");
    assert_adds_up(0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(interim_response),
        SCRIPT_TEST(interim_response_with_more),
        SCRIPT_TEST(interim_response_while_sending),
        SCRIPT_TEST(interim_response_of_a_second_try),
        SCRIPT_TEST(interim_response_and_no_other),
    };
    return cmocka_run_group_tests_name("model: interim responses", tests, NULL, NULL);
}
