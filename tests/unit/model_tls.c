/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_tls.c - handshakes with servers, in `tls_ns` of requests and connections, and of clients, in client_tls_ns.
 */
#include "model_script.h"

static void
handshake_with_a_server(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(10, CONNECT_BEGIN, 5, 50, 1);
    PUT(15, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(16, TLS_BEGIN, 5, 50, 0);
    PUT(36, TLS_END, 5, 50, SQT_CONNECT_OK);
    PUT(37, DISPATCH, 5, 50, 1);
    PUT(40, REQUEST_SENT, 5, 50, 0);
    PUT(50, SERVER_DONE, 5, 50, 0);
    end_xact(50, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_wait 10, request_send 3, tls 20, connect 5");
    assert_adds_up(0);
    assert_int_equal(script.connections.count, 1);
    assert_number(CONNECTION(0, connect_ns), 5);
    assert_number(CONNECTION(0, tls_ns), 20);
    assert_string_equal(CONNECTION(0, outcome).text, "complete");
    assert_number(REQUEST(0, client_tls_ns), SQT_CELL_MISSING);
}

/* Without a handshake an attempt ends with what the connection is used for. */
static void
no_handshake(void **state)
{
    (void)state;
    PUT(10, CONNECT_BEGIN, 5, 50, 1);
    PUT(15, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(18, TUNNEL_BEGIN, 5, 50, 0);
    PUT(20, CONNECT_BEGIN, 6, 51, 1);
    PUT(25, CONNECT_END, 6, 51, SQT_CONNECT_OK);
    PUT(26, DISPATCH, 6, 51, 1);
    PUT(30, CONNECT_BEGIN, 6, 52, 1);
    PUT(37, CONNECT_END, 6, 52, SQT_CONNECT_OK);
    PUT(39, SERVER_CLOSE, 52, 0, 0); /* nobody wanted it any more */
    play();
    assert_int_equal(script.connections.count, 3);
    for (unsigned i = 0; i < 3; ++i) {
        assert_number(CONNECTION(i, conn), 50 + i);
        assert_number(CONNECTION(i, connect_ns), i < 2 ? 5 : 7);
        assert_number(CONNECTION(i, tls_ns), SQT_CELL_MISSING);
        assert_string_equal(CONNECTION(i, outcome).text, "complete");
    }
}

/* TLS with the peer, a CONNECT inside it, and TLS with the origin inside that. */
static void
through_a_peer(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, CONNECT_BEGIN, 5, 50, 1);
    PUT(2, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(2, TLS_BEGIN, 5, 50, 0);
    PUT(6, TLS_END, 5, 50, SQT_CONNECT_OK);
    PUT(6, CONNECT_BEGIN, 5, 50, 2);
    PUT(14, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(14, TLS_BEGIN, 5, 50, 0);
    PUT(30, TLS_END, 5, 50, SQT_CONNECT_OK);
    end_xact(30, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "tls 20, connect 10");
    assert_int_equal(script.connections.count, 2);
    assert_number(CONNECTION(0, connect_ns), 2);
    assert_number(CONNECTION(0, tls_ns), 4);
    assert_number(CONNECTION(1, connect_ns), 8);
    assert_number(CONNECTION(1, tls_ns), 16);
}

static void
handshakes_that_come_to_nothing(void **state)
{
    static const char *const outcomes[] = {"error", "timeout", "aborted", "aborted", "unfinished"};
    (void)state;
    for (unsigned i = 0; i < 5; ++i)
        PUT(10, CONNECT_BEGIN, 5, 50 + i, 1);
    for (unsigned i = 0; i < 5; ++i)
        PUT(15, CONNECT_END, 5, 50 + i, SQT_CONNECT_OK);
    for (unsigned i = 0; i < 5; ++i)
        PUT(20, TLS_BEGIN, 5, 50 + i, 0);
    PUT(30, TLS_END, 5, 50, SQT_CONNECT_FAILED);
    PUT(30, TLS_END, 5, 51, SQT_CONNECT_TIMEOUT);
    PUT(30, TLS_END, 5, 52, SQT_CONNECT_CANCELLED);
    PUT(30, SERVER_CLOSE, 53, 0, 0);
    play();
    sqt_model_finish(script.model);
    assert_int_equal(script.connections.count, 5);
    for (unsigned i = 0; i < 5; ++i) {
        assert_number(CONNECTION(i, connect_ns), 5);
        assert_number(CONNECTION(i, tls_ns), 10);
        assert_string_equal(CONNECTION(i, outcome).text, outcomes[i]);
    }
}

/* A handshake of a connection that the trace knows nothing else of, for no transaction: a peer's standby pool. */
static void
handshake_of_nobody(void **state)
{
    (void)state;
    PUT(10, TLS_BEGIN, 0, 50, 0);
    PUT(20, TLS_END, 0, 50, SQT_CONNECT_OK);
    PUT(25, TLS_END, 0, 51, SQT_CONNECT_OK);
    play();
    sqt_model_finish(script.model);
    assert_int_equal(script.connections.count, 0);
    assert_int_equal(script.requests.count, 0);
}

static void
client_on_an_https_port(void **state)
{
    (void)state;
    PUT(100, CONN_ACCEPT, 7, 12, 3129);
    PUT(101, CLIENT_TLS_BEGIN, 7, 0, 0);
    PUT(131, CLIENT_TLS_END, 7, 0, SQT_CONNECT_OK);
    PUT(150, CLIENT_READ, 7, 200, 0);
    PUT(160, REQUEST_PARSED, 7, 200, 0);
    begin_xact(160, 1, 7);
    end_xact(170, 1, MEM_HIT, 0);
    PUT(180, CLIENT_READ, 7, 200, 0);
    PUT(180, REQUEST_PARSED, 7, 200, 0);
    begin_xact(180, 2, 7);
    end_xact(190, 2, MEM_HIT, 0);
    play();
    assert_number(REQUEST(0, client_tls_ns), 30);
    assert_number(REQUEST(0, client_connect_ns), 60);
    assert_string_equal(REQUEST(0, outcome).text, "complete");
    assert_number(REQUEST(1, client_tls_ns), SQT_CELL_MISSING);
}

/* The handshake belongs to the CONNECT, not to the request inside. */
static void
client_whose_connect_is_bumped(void **state)
{
    (void)state;
    begin_xact(0, 1, 7);
    PUT(5, REPLY_READY, 1, 0, SQT_REPLY_MADE);
    PUT(10, CLIENT_TLS_BEGIN, 7, 0, 0);
    PUT(50, CLIENT_TLS_END, 7, 0, SQT_CONNECT_OK);
    end_xact(50, 1, NONE, SQT_XACT_INTERNAL);
    begin_xact(60, 2, 7);
    end_xact(70, 2, MISS, 0);
    play();
    assert_number(REQUEST(0, client_tls_ns), 40);
    assert_string_equal(REQUEST(0, class).text, "internal");
    assert_string_equal(REQUEST(0, outcome).text, "complete");
    assert_number(REQUEST(1, client_tls_ns), SQT_CELL_MISSING);
    assert_adds_up(0);
}

/* A handshake that came to nothing says what becomes of the line that Squid logs for it. */
static void
clients_that_come_to_nothing(void **state)
{
    static const char *const outcomes[] = {"complete", "error", "timeout", "aborted"};
    (void)state;
    for (unsigned i = SQT_CONNECT_FAILED; i <= SQT_CONNECT_CANCELLED; ++i) {
        const int64_t t = 100 * i;
        PUT(t, CONN_ACCEPT, i, 12, 3129);
        PUT(t, CLIENT_TLS_BEGIN, i, 0, 0);
        PUT(t + 30, CLIENT_TLS_END, i, 0, i);
        PUT(t + 30, XACT_BEGIN, SQT_UNNAMED | i, i, 0);
        end_unparsed(t + 30, i, 0);
        PUT(t + 30, CONN_CLOSE, i, 0, 0);
        begin_xact(t + 40, i, 10 + i); /* within a bumped CONNECT */
        PUT(t + 50, CLIENT_TLS_BEGIN, 10 + i, 0, 0);
        PUT(t + 60, CLIENT_TLS_END, 10 + i, 0, i);
        end_xact(t + 60, i, NONE, SQT_XACT_INTERNAL);
    }
    play();
    assert_int_equal(script.requests.count, 6);
    for (unsigned i = 0; i < 6; ++i) {
        assert_number(REQUEST(i, client_tls_ns), i % 2 ? 10 : 30);
        assert_string_equal(REQUEST(i, outcome).text, outcomes[1 + i / 2]);
    }
}

static void
handshakes_across_a_loss(void **state)
{
    (void)state;
    PUT(0, CONN_ACCEPT, 7, 12, 3129);
    PUT(0, CLIENT_TLS_BEGIN, 7, 0, 0);
    PUT(5, CONNECT_BEGIN, 5, 50, 1);
    PUT(6, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(7, TLS_BEGIN, 5, 50, 0);
    PUT(20, LOST, 10, 3, SQT_LOSS_RING_FULL);
    PUT(30, CLIENT_TLS_END, 7, 0, SQT_CONNECT_OK);
    PUT(31, TLS_END, 5, 50, SQT_CONNECT_OK);
    begin_xact(40, 1, 7);
    end_xact(50, 1, MISS, 0);
    play();
    assert_number(REQUEST(0, client_tls_ns), SQT_CELL_MISSING);
    assert_number(CONNECTION(0, tls_ns), SQT_CELL_MISSING);
    assert_string_equal(CONNECTION(0, outcome).text, "lost");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(handshake_with_a_server),
        SCRIPT_TEST(no_handshake),
        SCRIPT_TEST(through_a_peer),
        SCRIPT_TEST(handshakes_that_come_to_nothing),
        SCRIPT_TEST(handshake_of_nobody),
        SCRIPT_TEST(client_on_an_https_port),
        SCRIPT_TEST(client_whose_connect_is_bumped),
        SCRIPT_TEST(clients_that_come_to_nothing),
        SCRIPT_TEST(handshakes_across_a_loss),
    };
    return cmocka_run_group_tests_name("model: tls", tests, NULL, NULL);
}
