/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_stages.c - what each kind of request's time is charged to.
 */
#include "model_script.h"

static void
memory_hit(void **state)
{
    (void)state;
    begin_xact(100, 5, 7);
    PUT(110, ACCESS_BEGIN, 5, 0, 0);
    PUT(130, ACCESS_END, 5, 0, 0);
    PUT(135, LOOKUP_BEGIN, 5, 0, 0);
    PUT(140, LOOKUP_END, 5, 0x1234, 1);
    PUT(141, MEM_HIT, 5, 1000, 0);
    PUT(145, REPLY_READY, 5, 0, SQT_REPLY_STORE);
    PUT(150, REPLY_WRITE, 5, 1300, 1);
    PUT(180, REPLY_WRITTEN, 5, 1300, 0);
    end_xact(200, 5, MEM_HIT, 0);
    play();
    assert_int_equal(script.requests.count, 1);
    assert_string_equal(stages(0), "proxy_reply 30, access 20, lookup 5, reply_wait 25");
    assert_number(REQUEST(0, unaccounted_ns), 20);
    assert_number(REQUEST(0, total_ns), 100);
    assert_number(REQUEST(0, first_byte_ns), 80);
    assert_number(REQUEST(0, time_s), 100);
    assert_number(REQUEST(0, xid), 5);
    assert_number(REQUEST(0, conn), 7);
    assert_number(REQUEST(0, status), 200);
    assert_number(REQUEST(0, size_bytes), 1000);
    assert_number(REQUEST(0, sent_bytes), 1300);
    assert_number(REQUEST(0, tries), 1);
    assert_number(REQUEST(0, object), 0xabc);
    assert_number(REQUEST(0, swap_ins), 0);
    assert_number(REQUEST(0, reused_conn), SQT_CELL_MISSING);
    assert_number(REQUEST(0, collapsed), 0);
    assert_string_equal(REQUEST(0, method).text, "GET");
    assert_string_equal(REQUEST(0, tag).text, "TCP_MEM_HIT");
    assert_string_equal(REQUEST(0, class).text, "mem_hit");
    assert_string_equal(REQUEST(0, outcome).text, "complete");
    assert_adds_up(0);
}

static void
read_block(int64_t asked, int64_t done, uint64_t sio, uint64_t offset)
{
    PUT(asked, SWAPIN_READ, sio, offset, 4096);
    PUT(done, SWAPIN_READ_DONE, sio, offset, 4096);
}

static void
open_swap(int64_t asked, int64_t done, uint64_t sio, uint64_t xact)
{
    swap_in_opens(asked, sio, xact);
    PUT(done, SWAPIN_OPENED, sio, 0, 0);
}

static void
disk_hit(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(10, LOOKUP_BEGIN, 5, 0, 0);
    PUT(20, LOOKUP_END, 5, 1, 1);
    open_swap(20, 50, 9, 5);
    read_block(50, 60, 9, 0);
    PUT(60, REPLY_READY, 5, 0, SQT_REPLY_STORE);
    PUT(65, REPLY_WRITE, 5, 4096, 1);
    read_block(70, 75, 9, 4096); /* behind the write: takes no time of its own */
    PUT(80, REPLY_WRITTEN, 5, 4096, 0);
    read_block(80, 94, 9, 8192);
    PUT(95, REPLY_WRITE, 5, 4096, 0);
    PUT(99, REPLY_WRITTEN, 5, 4096, 0);
    end_xact(100, 5, HIT, 0);
    play();
    assert_string_equal(stages(0), "proxy_reply 19, swap_in_open 30, swap_in_first 10, swap_in_rest 14, "
                                   "lookup 10, reply_wait 7");
    assert_number(REQUEST(0, unaccounted_ns), 10);
    assert_number(REQUEST(0, swap_ins), 1);
    assert_string_equal(REQUEST(0, class).text, "disk_hit");
    assert_adds_up(0);
}

/* A hit is one from memory unless it read from the disk itself. */
static void
hit_without_a_read(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    end_xact(10, 5, HIT, 0);
    begin_xact(20, 6, 7);
    open_swap(21, 22, 9, 6);
    PUT(23, SWAPIN_READ, 9, 0, 4096);
    PUT(24, SWAPIN_READ_DONE, 9, 0, 1u << 31); /* failed */
    end_xact(30, 6, HIT, 0);
    play();
    assert_string_equal(REQUEST(0, class).text, "mem_hit");
    assert_string_equal(REQUEST(1, class).text, "mem_hit");
}

static void
miss_on_a_new_connection(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, FORWARD_BEGIN, 5, 0, 0);
    PUT(1, PEER_SELECT_BEGIN, 5, 0, 0);
    PUT(3, DNS_BEGIN, 5, 1, 0);
    PUT(8, DNS_END, 5, 1, 0);
    PUT(8, CONNECT_BEGIN, 5, 50, 1);
    PUT(9, PEER_SELECT_END, 5, 0, 1); /* destinations go on coming while the first is tried */
    PUT(13, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    server_exchange(20, 5, 50, 1);
    PUT(31, FORWARD_END, 5, 0, 1);
    end_xact(40, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 6, server_wait 3, request_send 1, connect 5, dns 5, peer_select 9");
    assert_number(REQUEST(0, unaccounted_ns), 11);
    assert_number(REQUEST(0, reused_conn), 0);
    assert_string_equal(REQUEST(0, class).text, "miss");
    assert_adds_up(0);
    assert_int_equal(script.connections.count, 1);
    assert_number(CONNECTION(0, conn), 50);
    assert_number(CONNECTION(0, xid), 5);
    assert_number(CONNECTION(0, connect_ns), 5);
    assert_number(CONNECTION(0, reused), 0);
    assert_string_equal(CONNECTION(0, peer_kind).text, "direct");
    assert_string_equal(CONNECTION(0, outcome).text, "complete");
}

static void
miss_on_a_kept_connection(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(2, CONNECT_REUSED, 5, 50, 1);
    server_exchange(3, 5, 50, 1);
    end_xact(20, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 6, server_wait 3, request_send 1");
    assert_number(REQUEST(0, reused_conn), 1);
    assert_adds_up(0);
    assert_number(CONNECTION(0, reused), 1);
    assert_number(CONNECTION(0, connect_ns), SQT_CELL_MISSING);
}

/* The old entry is swapped in, the server is asked, and the old entry goes out. */
static void
revalidation(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    open_swap(0, 5, 9, 5);
    read_block(5, 8, 9, 0);
    server_exchange(10, 5, 50, 1);
    PUT(22, REPLY_READY, 5, 0, SQT_REPLY_STORE);
    read_block(22, 25, 9, 4096);
    PUT(26, REPLY_WRITE, 5, 4096, 1);
    PUT(29, REPLY_WRITTEN, 5, 4096, 0);
    end_xact(30, 5, REFRESH_UNMODIFIED, 0);
    play();
    assert_string_equal(stages(0), "proxy_reply 3, swap_in_open 5, swap_in_first 3, swap_in_rest 3, "
                                   "server_reply 6, server_wait 3, request_send 1, reply_wait 2");
    assert_string_equal(REQUEST(0, class).text, "refresh_hit");
    assert_adds_up(0);
}

/* Two swap-ins at once (Vary): the stage is open until both are done. */
static void
two_swap_ins(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    open_swap(0, 5, 9, 5);
    PUT(5, SWAPIN_READ, 9, 0, 4096);
    open_swap(6, 7, 10, 5);
    PUT(7, SWAPIN_READ, 10, 0, 4096);
    PUT(10, SWAPIN_READ_DONE, 9, 0, 4096);
    PUT(15, SWAPIN_READ_DONE, 10, 0, 4096);
    end_xact(20, 5, HIT, 0);
    play();
    assert_string_equal(stages(0), "swap_in_open 6, swap_in_first 9");
    assert_number(REQUEST(0, unaccounted_ns), 5);
    assert_number(REQUEST(0, swap_ins), 2);
    assert_adds_up(0);
}

static void
tunnel(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, ACCESS_BEGIN, 5, 0, 0);
    PUT(5, ACCESS_END, 5, 0, 0);
    PUT(5, PEER_SELECT_BEGIN, 5, 0, 0);
    PUT(6, PEER_SELECT_END, 5, 0, 1);
    PUT(6, CONNECT_BEGIN, 5, 50, 1);
    PUT(10, CONNECT_END, 5, 50, SQT_CONNECT_OK);
    PUT(10, REPLY_WRITE, 5, 39, 1);
    PUT(12, REPLY_WRITTEN, 5, 39, 0);
    PUT(12, TUNNEL_BEGIN, 5, 50, 0);
    PUT(98, TUNNEL_END, 5, 0, 0);
    end_xact(100, 5, TUNNEL, SQT_XACT_TUNNEL);
    play();
    assert_string_equal(stages(0), "proxy_reply 2, tunnel 86, connect 4, peer_select 1, access 5");
    assert_number(REQUEST(0, unaccounted_ns), 2);
    assert_string_equal(REQUEST(0, class).text, "tunnel");
    assert_adds_up(0);
}

/* What is open when the transaction ends is cut there, and what comes later belongs to nobody. */
static void
aborted(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    open_swap(1, 2, 9, 5);
    PUT(2, SWAPIN_READ, 9, 0, 4096);
    PUT(6, DISPATCH, 5, 50, 1);
    end_xact(10, 5, MISS_ABORTED, SQT_XACT_ABORTED);
    PUT(15, REQUEST_SENT, 5, 50, 0);
    PUT(20, SWAPIN_READ_DONE, 9, 0, 4096);
    begin_xact(30, 6, 7);
    end_xact(40, 6, MISS_TIMEDOUT, SQT_XACT_TIMEDOUT);
    play();
    assert_int_equal(script.requests.count, 2);
    assert_string_equal(stages(0), "swap_in_open 1, swap_in_first 8, request_send 0");
    assert_string_equal(REQUEST(0, outcome).text, "aborted");
    assert_string_equal(REQUEST(0, class).text, "miss");
    assert_adds_up(0);
    assert_string_equal(stages(1), "");
    assert_string_equal(REQUEST(1, outcome).text, "timeout");
}

static void
not_parsed(void **state)
{
    (void)state;
    PUT(0, XACT_BEGIN, SQT_UNNAMED | 3, 7, 0);
    end_unparsed(5, 3, 400);
    play();
    assert_number(REQUEST(0, xid), SQT_CELL_MISSING);
    assert_number(REQUEST(0, object), SQT_CELL_MISSING);
    assert_number(REQUEST(0, size_bytes), SQT_CELL_MISSING);
    assert_ptr_equal(REQUEST(0, method).text, NULL);
    assert_number(REQUEST(0, status), 400);
    assert_string_equal(REQUEST(0, class).text, "error");
    assert_string_equal(REQUEST(0, outcome).text, "error");
}

static void
slow_client_body(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, DISPATCH, 5, 50, 1);
    PUT(2, BODY_WAIT_BEGIN, 5, 0, 0);
    PUT(30, BODY_WAIT_END, 5, 100, 0);
    PUT(33, BODY_WAIT_BEGIN, 5, 0, 0);
    PUT(40, BODY_WAIT_END, 5, 100, 0);
    PUT(44, REQUEST_SENT, 5, 50, 0);
    PUT(50, SERVER_READ, 5, 500, 0);
    PUT(60, SERVER_DONE, 5, 50, 0);
    end_xact(60, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "server_reply 10, server_wait 6, client_body 35, request_send 9");
    assert_adds_up(0);
}

/* The class of a reply that Squid made: without a server it is internal, unless its tag says that it is an error. */
static void
replies_made(void **state)
{
    static const struct {
        uint32_t tag, flags;
        const char *class;
    } cases[] = {{MISS, SQT_XACT_INTERNAL, "internal"},
                 {MISS, SQT_XACT_INTERNAL | SQT_XACT_ERROR_PAGE, "internal"},
                 {MISS, SQT_XACT_ERROR_PAGE, "miss"},
                 {NONE, SQT_XACT_INTERNAL, "internal"},
                 {NONE, SQT_XACT_INTERNAL | SQT_XACT_ERROR_PAGE, "error"},
                 {NONE, SQT_XACT_ERROR_PAGE, "error"},
                 {MEM_HIT, SQT_XACT_INTERNAL, "mem_hit"}};
    (void)state;
    for (unsigned i = 0; i < 7; ++i) {
        begin_xact(i, 5, 7);
        end_xact(i, 5, cases[i].tag, cases[i].flags);
    }
    play();
    for (unsigned i = 0; i < 7; ++i)
        assert_string_equal(REQUEST(i, class).text, cases[i].class);
}

/* A page of Squid's own about an error of the way to the server ends a request in error; a refusal does not. */
static void
error_pages(void **state)
{
    static const struct {
        uint32_t status, flags, source;
        const char *outcome;
    } cases[] = {{503, SQT_XACT_ERROR_PAGE, SQT_REPLY_SERVER, "error"},
                 {503, 0, SQT_REPLY_MADE, "error"},
                 {403, SQT_XACT_ERROR_PAGE, SQT_REPLY_MADE, "complete"},
                 {503, 0, SQT_REPLY_SERVER, "complete"},
                 {503, SQT_XACT_ERROR_PAGE | SQT_XACT_ABORTED, SQT_REPLY_MADE, "error"},
                 {200, SQT_XACT_ABORTED, SQT_REPLY_SERVER, "aborted"},
                 {504, SQT_XACT_ERROR_PAGE | SQT_XACT_TIMEDOUT, SQT_REPLY_MADE, "timeout"}};
    (void)state;
    for (unsigned i = 0; i < 7; ++i) {
        begin_xact(i, 5, 7);
        PUT(i, REPLY_READY, 5, 0, cases[i].source);
        PUT(i, XACT_END, 5, MISS, cases[i].status);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, 0xabc, 7, cases[i].flags);
    }
    play();
    for (unsigned i = 0; i < 7; ++i)
        assert_string_equal(REQUEST(i, outcome).text, cases[i].outcome);
}

/* The stage lasts while any attempt does; the loser is cancelled. */
static void
parallel_attempts(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, CONNECT_BEGIN, 5, 50, 1);
    PUT(10, CONNECT_BEGIN, 5, 51, 1 | 1u << 31);
    PUT(20, CONNECT_END, 5, 51, SQT_CONNECT_OK);
    PUT(25, CONNECT_END, 5, 50, SQT_CONNECT_CANCELLED);
    PUT(30, CONNECT_BEGIN, 5, 52, 1);
    PUT(31, CONNECT_END, 5, 52, SQT_CONNECT_TIMEOUT);
    PUT(31, CONNECT_BEGIN, 5, 53, 1);
    PUT(32, CONNECT_END, 5, 53, SQT_CONNECT_FAILED);
    PUT(33, SERVER_CLOSE, 51, 0, 0);
    end_xact(40, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "connect 27");
    assert_adds_up(0);
    assert_int_equal(script.connections.count, 4);
    assert_number(CONNECTION(0, spare), 0);
    assert_string_equal(CONNECTION(0, outcome).text, "aborted");
    assert_string_equal(CONNECTION(1, outcome).text, "timeout");
    assert_string_equal(CONNECTION(2, outcome).text, "error");
    assert_number(CONNECTION(3, spare), 1);
    assert_number(CONNECTION(3, connect_ns), 10);
    assert_string_equal(CONNECTION(3, outcome).text, "complete");
}

static void
unfinished(void **state)
{
    (void)state;
    begin_xact(10, 5, 7);
    PUT(12, ACCESS_BEGIN, 5, 0, 0);
    PUT(20, WAIT_BEGIN, 0, 0, 0);
    PUT(20, CONNECT_BEGIN, 5, 50, 1);
    PUT(30, WAIT_END, 0, 0, 0);
    PUT(30, SERVER_CLOSE, 99, 0, 0);
    play();
    assert_int_equal(script.requests.count, 0);
    sqt_model_finish(script.model);
    assert_int_equal(script.requests.count, 1);
    assert_string_equal(REQUEST(0, outcome).text, "unfinished");
    assert_number(REQUEST(0, time_s), 10);
    assert_number(REQUEST(0, status), SQT_CELL_MISSING);
    assert_ptr_equal(REQUEST(0, tag).text, NULL);
    assert_adds_up(0);
    assert_string_equal(CONNECTION(0, outcome).text, "unfinished");
}

/* Rows come in the order of the ends, and two open transactions of one id each get their row. */
static void
order_and_same_id(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    begin_xact(10, 6, 8);
    PUT(20, XACT_BEGIN, SQT_UNNAMED | 9, 7, 0);
    PUT(20, XACT_NAMED, 5, SQT_UNNAMED | 9, 1);
    end_xact(30, 6, MISS, 0);
    end_xact(40, 5, MISS, 0);
    end_xact(50, 5, MISS, 0);
    play();
    assert_int_equal(script.requests.count, 3);
    assert_number(REQUEST(0, xid), 6);
    assert_number(REQUEST(1, time_s), 20);
    assert_number(REQUEST(2, time_s), 0);
}

/* A REQMOD chain within the call-outs, a RESPMOD chain that goes on when the server is done. */
static void
adapted(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(0, ACCESS_BEGIN, 5, 0, 0);
    PUT(10, ADAPT_BEGIN, 5, 0, 0);
    PUT(11, ADAPT_SERVICE, 5, 1, 1);
    PUT(40, ADAPT_END, 5, 0, 0);
    PUT(45, ACCESS_END, 5, 0, 0);
    PUT(45, DISPATCH, 5, 50, 1);
    PUT(50, REQUEST_SENT, 5, 50, 0);
    PUT(60, SERVER_READ, 5, 100, 0);
    PUT(60, SERVER_HEADER, 5, 90, 200);
    PUT(60, REPLY_READY, 5, 0, SQT_REPLY_SERVER);
    PUT(60, ADAPT_BEGIN, 5, 0, 1);
    PUT(75, SERVER_DONE, 5, 50, 0);
    PUT(95, ADAPT_END, 5, 0, 1);
    PUT(96, REPLY_WRITE, 5, 200, 1);
    PUT(99, REPLY_WRITTEN, 5, 200, 0);
    end_xact(100, 5, MISS, 0);
    play();
    assert_string_equal(stages(0), "proxy_reply 3, server_reply 15, server_wait 10, request_send 5, adapt 50, "
                                   "access 15, reply_wait 2");
    assert_adds_up(0);
}

/* Queries of neighbours: one with a line in access.log, one without. */
static void
queries(void **state)
{
    (void)state;
    PUT(0, XACT_BEGIN, SQT_UNNAMED | 1, 0, 0);
    PUT(10, XACT_BEGIN, SQT_UNNAMED | 2, 0, 0);
    PUT(20, XACT_UNLOGGED, SQT_UNNAMED | 2, 0, 0);
    end_xact(30, SQT_UNNAMED | 1, UDP_HIT, 0);
    PUT(40, XACT_UNLOGGED, SQT_UNNAMED | 3, 0, 0); /* its begin was lost */
    play();
    sqt_model_finish(script.model);
    assert_int_equal(script.requests.count, 1);
    assert_number(REQUEST(0, xid), SQT_CELL_MISSING);
    assert_number(REQUEST(0, total_ns), 30);
    assert_string_equal(REQUEST(0, class).text, "query");
    assert_string_equal(REQUEST(0, outcome).text, "complete");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(memory_hit),
        SCRIPT_TEST(disk_hit),
        SCRIPT_TEST(hit_without_a_read),
        SCRIPT_TEST(miss_on_a_new_connection),
        SCRIPT_TEST(miss_on_a_kept_connection),
        SCRIPT_TEST(revalidation),
        SCRIPT_TEST(two_swap_ins),
        SCRIPT_TEST(tunnel),
        SCRIPT_TEST(aborted),
        SCRIPT_TEST(not_parsed),
        SCRIPT_TEST(slow_client_body),
        SCRIPT_TEST(error_pages),
        SCRIPT_TEST(replies_made),
        SCRIPT_TEST(parallel_attempts),
        SCRIPT_TEST(unfinished),
        SCRIPT_TEST(order_and_same_id),
        SCRIPT_TEST(adapted),
        SCRIPT_TEST(queries),
    };
    return cmocka_run_group_tests_name("model: stages", tests, NULL, NULL);
}
