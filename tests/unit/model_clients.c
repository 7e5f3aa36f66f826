/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_clients.c - client_connect_ns: from which moment on a request was coming in; read_wait_ns: how long its bytes
 * waited to be read.
 */
#include "model_script.h"

#define CONNECT(row) REQUEST(row, client_connect_ns)
#define READ_WAIT(row) REQUEST(row, read_wait_ns)

/* One parsed request and its transaction. */
static void
parsed(int64_t time, uint64_t conn, uint64_t header, uint32_t left, uint64_t xact)
{
    PUT(time, REQUEST_PARSED, conn, header, left);
    begin_xact(time, xact, conn);
}

static void
first_request_counts_from_accept(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(150, CLIENT_READ, 7, 200, 0);
    parsed(160, 7, 200, 0, 1);
    end_xact(170, 1, MEM_HIT, 0);
    play();
    assert_number(CONNECT(0), 60);
    assert_number(REQUEST(0, time_s), 160);
    assert_number(REQUEST(0, total_ns), 10);
}

static void
later_requests_count_from_their_first_byte(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(150, CLIENT_READ, 7, 200, 0);
    parsed(160, 7, 200, 0, 1);
    end_xact(170, 1, MEM_HIT, 0);
    PUT(500, CLIENT_READ, 7, 50, 0);
    PUT(600, CLIENT_READ, 7, 150, 50); /* the rest of the header */
    parsed(610, 7, 200, 0, 2);
    end_xact(620, 2, MEM_HIT, 0);
    play();
    assert_number(CONNECT(1), 110);
}

/* A pass of the event loop that reads what its poll reported. */
static void
pass_with_read(int64_t poll, int64_t read, uint64_t bytes, uint32_t before)
{
    PUT(poll, WAIT_END, 0, 1, 0);
    PUT(read, CLIENT_READ, 7, bytes, before);
}

static void
first_bytes_wait_since_the_poll(void **state)
{
    (void)state;
    PUT(90, WAIT_BEGIN, 0, 1000, 0);
    PUT(95, WAIT_END, 0, 1, 0);
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(110, WAIT_BEGIN, 0, 1000, 0);
    pass_with_read(120, 150, 200, 0);
    parsed(160, 7, 200, 0, 1);
    end_xact(170, 1, MEM_HIT, 0);
    PUT(180, WAIT_BEGIN, 0, 1000, 0);
    pass_with_read(400, 500, 50, 0);
    PUT(510, WAIT_BEGIN, 0, 1000, 0);
    pass_with_read(520, 523, 450, 50); /* the rest of that header, a second request, and the begin of a third */
    parsed(530, 7, 200, 300, 2);
    end_xact(540, 2, MEM_HIT, 0);
    parsed(550, 7, 200, 100, 3);
    end_xact(560, 3, MEM_HIT, 0);
    PUT(570, WAIT_BEGIN, 0, 1000, 0);
    pass_with_read(580, 581, 100, 100);
    parsed(590, 7, 200, 0, 4);
    end_xact(600, 4, MEM_HIT, 0);
    play();
    assert_number(READ_WAIT(0), 30);
    assert_number(READ_WAIT(1), 100);
    assert_number(READ_WAIT(2), 3);
    assert_number(READ_WAIT(3), 3);
}

/* Without group loop, and after a loss, nobody knows when the poll returned. */
static void
without_a_poll_no_wait_is_known(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(150, CLIENT_READ, 7, 200, 0);
    parsed(160, 7, 200, 0, 1);
    end_xact(170, 1, MEM_HIT, 0);
    PUT(180, WAIT_BEGIN, 0, 1000, 0);
    PUT(190, WAIT_END, 0, 1, 0);
    PUT(200, LOST, 195, 5, SQT_LOSS_RING_FULL);
    PUT(210, CLIENT_READ, 7, 200, 0);
    parsed(220, 7, 200, 0, 2);
    end_xact(230, 2, MEM_HIT, 0);
    play();
    assert_number(READ_WAIT(0), SQT_CELL_MISSING);
    assert_number(READ_WAIT(1), SQT_CELL_MISSING);
}

/* Three requests in one read, a fourth begins in it and ends in the next one. */
static void
pipelined_requests_count_from_the_previous_parse(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(150, CLIENT_READ, 7, 700, 0);
    parsed(160, 7, 200, 500, 1);
    end_xact(200, 1, MEM_HIT, 0);
    parsed(210, 7, 200, 300, 2);
    end_xact(220, 2, MEM_HIT, 0);
    parsed(230, 7, 200, 100, 3);
    end_xact(240, 3, MEM_HIT, 0);
    PUT(300, CLIENT_READ, 7, 300, 100);
    parsed(310, 7, 200, 200, 4); /* its first byte came at 150, before the third was parsed */
    end_xact(320, 4, MEM_HIT, 0);
    parsed(330, 7, 200, 0, 5);
    end_xact(340, 5, MEM_HIT, 0);
    play();
    assert_number(CONNECT(0), 60);
    assert_number(CONNECT(1), 50);
    assert_number(CONNECT(2), 20);
    assert_number(CONNECT(3), 80);
    assert_number(CONNECT(4), 20);
}

/* Body bytes are no part of the next request, in a read of their own or not. */
static void
bodies_do_not_count(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(110, CLIENT_READ, 7, 250, 0);
    parsed(120, 7, 200, 50, 1);
    for (unsigned i = 0; i < 20; ++i)
        PUT(121 + i / 2, CLIENT_READ, 7, 1000, 0);
    PUT(140, CLIENT_READ, 7, 1100, 0); /* 1000 of body, and half a header */
    end_xact(150, 1, MISS, 0);
    PUT(200, CLIENT_READ, 7, 100, 100);
    parsed(210, 7, 200, 0, 2);
    end_xact(220, 2, MISS, 0);
    play();
    assert_number(CONNECT(1), 70);
}

/* The buffer is never empty (5 bytes of body wait in it), and there are more reads than are kept apart. */
static void
a_buffer_that_is_never_empty(void **state)
{
    (void)state;
    PUT(0, CONN_ACCEPT, 7, 12, 3128);
    PUT(1, CLIENT_READ, 7, 15, 0);
    for (unsigned i = 1; i <= 30; ++i) {
        parsed(i * 100, 7, 10, 5, i);
        end_xact(i * 100 + 1, i, MISS, 0);
        PUT(i * 100 + 50, CLIENT_READ, 7, 15, 5);
    }
    play();
    assert_number(CONNECT(0), 100);
    for (unsigned i = 1; i < 30; ++i)
        assert_number(CONNECT(i), 50);
}

/* More small reads than are kept apart still count from the first. */
static void
many_small_reads(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(100, CLIENT_READ, 7, 10, 0);
    parsed(101, 7, 10, 0, 1);
    end_xact(102, 1, MISS, 0);
    for (unsigned i = 0; i < 40; ++i)
        PUT(200 + i, CLIENT_READ, 7, 1, i);
    parsed(250, 7, 40, 0, 2);
    end_xact(260, 2, MISS, 0);
    play();
    assert_number(CONNECT(1), 50);
}

static void
connection_from_before_the_trace(void **state)
{
    (void)state;
    parsed(100, 7, 200, 0, 1); /* its read was not seen */
    end_xact(110, 1, MISS, 0);
    PUT(150, CLIENT_READ, 7, 200, 0);
    parsed(160, 7, 200, 0, 2);
    end_xact(170, 2, MISS, 0);
    play();
    assert_number(CONNECT(0), SQT_CELL_MISSING);
    assert_number(CONNECT(1), 10);
}

/* A transaction that nothing was parsed for has no client_connect, nor does it take that of another. */
static void
transactions_without_a_parse(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(105, XACT_BEGIN, SQT_UNNAMED | 1, 7, 0);
    end_unparsed(106, 1, 0);
    PUT(107, XACT_BEGIN, SQT_UNNAMED | 2, 0, 0); /* no connection at all */
    end_unparsed(108, 2, 0);
    PUT(110, CLIENT_READ, 7, 200, 0);
    PUT(120, REQUEST_PARSED, 7, 200, 0);
    PUT(120, XACT_BEGIN, SQT_UNNAMED | 3, 8, 0); /* another connection's */
    begin_xact(121, 4, 7);
    end_xact(130, 4, MISS, 0);
    end_unparsed(131, 3, 0);
    play();
    assert_int_equal(script.requests.count, 4);
    assert_number(CONNECT(0), SQT_CELL_MISSING);
    assert_number(CONNECT(1), SQT_CELL_MISSING);
    assert_number(CONNECT(2), 20);
    assert_number(CONNECT(3), SQT_CELL_MISSING);
}

/* The log line may come after the connection is closed; its id may be used anew. */
static void
closed_connections_are_forgotten(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3128);
    PUT(110, CLIENT_READ, 7, 200, 0);
    parsed(120, 7, 200, 0, 1);
    PUT(130, CONN_CLOSE, 7, 0, 0);
    PUT(140, CONN_ACCEPT, 7, 12, 3128);
    end_xact(150, 1, MISS_ABORTED, SQT_XACT_ABORTED);
    PUT(160, CLIENT_READ, 7, 200, 0);
    parsed(170, 7, 200, 0, 2);
    end_xact(180, 2, MISS, 0);
    play();
    assert_string_equal(REQUEST(0, outcome).text, "aborted");
    assert_number(CONNECT(0), 20);
    assert_number(CONNECT(1), 30);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(first_request_counts_from_accept),
        SCRIPT_TEST(first_bytes_wait_since_the_poll),
        SCRIPT_TEST(without_a_poll_no_wait_is_known),
        SCRIPT_TEST(later_requests_count_from_their_first_byte),
        SCRIPT_TEST(pipelined_requests_count_from_the_previous_parse),
        SCRIPT_TEST(bodies_do_not_count),
        SCRIPT_TEST(a_buffer_that_is_never_empty),
        SCRIPT_TEST(many_small_reads),
        SCRIPT_TEST(connection_from_before_the_trace),
        SCRIPT_TEST(transactions_without_a_parse),
        SCRIPT_TEST(closed_connections_are_forgotten),
    };
    return cmocka_run_group_tests_name("model: clients", tests, NULL, NULL);
}
