/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_servers.c - which server a connection and a request belong to, and the table of servers.
 */
#include "model_script.h"

enum { PARENT = 1, ORIGIN_1, ORIGIN_2 };
#define SPARE (UINT32_C(1) << 31)

static void
connect_begin(int64_t time, uint64_t xact, uint64_t conn, uint32_t server, uint32_t flags)
{
    PUT(time, CONNECT_BEGIN, xact, conn, 1 | flags);
    PART(PART_SERVER, 0, 0, server);
}

static void
connect_reused(int64_t time, uint64_t xact, uint64_t conn, uint32_t server)
{
    PUT(time, CONNECT_REUSED, xact, conn, 1);
    PART(PART_SERVER, 0, 0, server);
}

static void
a_request_belongs_to_the_server_that_it_was_connected_to_last(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    connect_begin(10, 5, 50, ORIGIN_1, 0);
    PUT(15, CONNECT_END, 5, 50, SQT_CONNECT_FAILED);
    connect_begin(16, 5, 51, ORIGIN_2, 0);
    PUT(20, CONNECT_END, 5, 51, SQT_CONNECT_OK);
    server_exchange(21, 5, 51, 1);
    end_xact(40, 5, MISS, 0);
    begin_xact(50, 6, 7);
    connect_reused(51, 6, 51, ORIGIN_2);
    PUT(52, RETRY, 6, 0, 1);
    connect_reused(53, 6, 60, PARENT);
    end_xact(60, 6, MISS, 0);
    play();
    assert_string_equal(REQUEST(0, server).text, "origin-2");
    assert_string_equal(REQUEST(1, server).text, "parent");
    assert_string_equal(CONNECTION(0, server).text, "origin-1");
    assert_string_equal(CONNECTION(1, server).text, "origin-2");
}

/* A spare attempt does not count until it wins. */
static void
the_winner_of_two_attempts_counts(void **state)
{
    (void)state;
    for (unsigned spare_wins = 0; spare_wins < 2; ++spare_wins) {
        begin_xact(0, 5 + spare_wins, 7);
        connect_begin(10, 5 + spare_wins, 50, ORIGIN_1, 0);
        connect_begin(12, 5 + spare_wins, 51, ORIGIN_2, SPARE);
        PUT(20, CONNECT_END, 5 + spare_wins, 50 + spare_wins, SQT_CONNECT_OK);
        PUT(20, CONNECT_END, 5 + spare_wins, 51 - spare_wins, SQT_CONNECT_CANCELLED);
        end_xact(30, 5 + spare_wins, MISS, 0);
        play();
    }
    assert_string_equal(REQUEST(0, server).text, "origin-1");
    assert_string_equal(REQUEST(1, server).text, "origin-2");
}

/* A CONNECT through a peer and an FTP data connection do not say; nor does a trace without names. */
static void
what_does_not_say_changes_nothing(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    connect_begin(10, 5, 50, PARENT, 0);
    PUT(15, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(16, CONNECT_BEGIN, 5, 50, 2);
    PUT(20, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    end_xact(30, 5, MISS, 0);
    begin_xact(40, 6, 7);
    PUT(41, CONNECT_BEGIN, 6, 52, 1);
    PUT(42, CONNECT_END, 6, 52, SQT_CONNECT_OK);
    end_xact(45, 6, MISS, 0);
    play();
    assert_string_equal(REQUEST(0, server).text, "parent");
    assert_null(CONNECTION(1, server).text);
    assert_null(REQUEST(1, server).text);
}

/* A damaged trace has a connection in use that is still being made.  The end of it is known all the same. */
static void
a_connection_in_use_takes_no_id_of_another(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    connect_begin(10, 5, 50, ORIGIN_1, 0);
    connect_reused(12, 5, 50, ORIGIN_2);
    PUT(20, CONNECT_END, 5, 50, SQT_CONNECT_FAILED);
    end_xact(30, 5, MISS, 0);
    play();
    assert_string_equal(CONNECTION(0, server).text, "origin-2");
    assert_string_equal(CONNECTION(1, server).text, "origin-1");
    assert_string_equal(CONNECTION(1, outcome).text, "error");
}

/* ---- the table ---- */

static struct rows servers;

/* The rows have no more life than the job, so texts are compared while it runs. */
static int
servers_row(void *context, const union sqt_cell *row)
{
    static const char *const order[] = {"origin-2", "parent", "origin-1"};
    (void)context;
    assert_string_equal(row[SQT_CELL(servers, server)].text, order[servers.count]);
    memcpy(servers.cells[servers.count++], row, SQT_CELLS(servers) * sizeof(*row));
    return 1;
}

static void
note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

#define SERVER(row, name) (servers.cells[row][SQT_CELL(servers, name)])

/* Requests of 10 ms at the parent and of 100 ms at origin-2; attempts at origin-1 that come to nothing. */
static void
the_table_adds_up(void **state)
{
    const int64_t ms = 1000000;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = servers_row, .note = note};
    (void)state;
    sqt_family_servers.start(&job);
    struct sqt_consumer consumer = sqt_family_servers.consumer;
    consumer.context = &job;
    sqt_model_free(script.model);
    script.model = sqt_model_new(&consumer);
    for (unsigned i = 0; i < 20; ++i) {
        const int64_t t = i * 1000 * ms;
        const int at_parent = i % 2;
        begin_xact(t, 100 + i, 7);
        connect_begin(t, 100 + i, 500 + i, at_parent ? PARENT : ORIGIN_2, 0);
        PUT(t + 2 * ms, CONNECT_END, 100 + i, 500 + i, SQT_CONNECT_OK);
        PUT(t + 2 * ms, DISPATCH, 100 + i, 500 + i, 1);
        PUT(t + 2 * ms, REQUEST_SENT, 100 + i, 500 + i, 0);
        PUT(t + (at_parent ? 10 : 100) * ms, SERVER_DONE, 100 + i, 500 + i, 0);
        end_xact(t + 110 * ms, 100 + i, MISS, 0);
    }
    for (unsigned i = 0; i < 3; ++i) {
        connect_begin(30000 * ms + i, 200, 900 + i, ORIGIN_1, 0);
        PUT(30001 * ms + i, CONNECT_END, 200, 900 + i, i ? SQT_CONNECT_TIMEOUT : SQT_CONNECT_FAILED);
    }
    play();
    sqt_model_finish(script.model);
    sqt_family_servers.finish(&job);
    assert_int_equal(servers.count, 3);
    assert_number(SERVER(0, count), 10);
    assert_number(SERVER(0, p50_ms), 100 * ms);
    assert_number(SERVER(0, max_ms), 100 * ms);
    assert_number(SERVER(0, wait_p50_ms), 98 * ms);
    assert_number(SERVER(0, connect_p50_ms), 2 * ms);
    assert_number(SERVER(0, connects), 10);
    assert_number(SERVER(0, share_pct), 45455); /* 1,000 of 2,200 ms */
    assert_number(SERVER(1, p99_ms), 10 * ms);
    assert_number(SERVER(1, share_pct), 4545);
    assert_number(SERVER(2, count), 0);
    assert_number(SERVER(2, p50_ms), SQT_CELL_MISSING);
    assert_number(SERVER(2, connects), 3);
    assert_number(SERVER(2, failures), 1);
    assert_number(SERVER(2, timeouts), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_request_belongs_to_the_server_that_it_was_connected_to_last),
        SCRIPT_TEST(the_winner_of_two_attempts_counts),
        SCRIPT_TEST(what_does_not_say_changes_nothing),
        SCRIPT_TEST(a_connection_in_use_takes_no_id_of_another),
        SCRIPT_TEST(the_table_adds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
