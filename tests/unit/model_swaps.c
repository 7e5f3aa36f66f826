/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_swaps.c - swaps and their blocks: what their time goes to.
 */
#include "model_script.h"

static void
assert_swap_adds_up(unsigned row)
{
    const union sqt_cell parts[] = {SWAP(row, open_ns), SWAP(row, first_io_ns), SWAP(row, rest_io_ns),
                                    SWAP(row, idle_ns), SWAP(row, close_ns)};
    int64_t sum = 0;
    for (unsigned i = 0; i < 5; ++i)
        if (parts[i].number != SQT_CELL_MISSING)
            sum += parts[i].number;
    assert_int_equal(sum, SWAP(row, total_ns).number);
}

/* A block done elsewhere: with the moments at which its service began and ended. */
static void
done_elsewhere(int64_t time, uint64_t sio, uint64_t offset, uint64_t service_begin, uint64_t service_end)
{
    PUT(time, SWAPIN_READ_DONE, sio, offset, 4096);
    PART(PART_DISKOP_IO, service_begin, service_end, 0);
}

static void
a_swap_in_from_aufs(void **state)
{
    (void)state;
    swap_in_opens(100, 9, 5);
    PUT(105, SWAPIN_READ, 9, 0, 4096); /* queued behind the open */
    PUT(120, SWAPIN_OPENED, 9, 0, 0);
    PART(PART_DISKOP_IO, 110, 112, 0);
    done_elsewhere(150, 9, 0, 125, 135);
    PUT(160, SWAPIN_READ, 9, 4096, 4096);
    done_elsewhere(170, 9, 4096, 161, 169);
    PUT(175, SWAPIN_READ, 9, 8192, 4096);
    PUT(180, SWAPIN_READ_DONE, 9, 8192, 100);
    PUT(185, SWAPIN_CLOSE, 9, 0, 0);
    PUT(200, SWAPIN_CLOSED, 9, 0, 0);
    play();
    assert_int_equal(script.swaps.count, 1);
    assert_number(SWAP(0, time_s), 100);
    assert_number(SWAP(0, sio), 9);
    assert_number(SWAP(0, xid), 5);
    assert_number(SWAP(0, filen), 77);
    assert_number(SWAP(0, dir), 0);
    assert_string_equal(SWAP(0, direction).text, "in");
    assert_string_equal(SWAP(0, path).text, "/cache");
    assert_number(SWAP(0, ios), 3);
    assert_number(SWAP(0, size_bytes), 8292);
    assert_number(SWAP(0, open_ns), 20);
    assert_number(SWAP(0, first_io_ns), 30);
    assert_number(SWAP(0, first_delay_ns), 50);
    assert_number(SWAP(0, rest_io_ns), 15);
    assert_number(SWAP(0, idle_ns), 20);
    assert_number(SWAP(0, close_ns), 15);
    assert_number(SWAP(0, total_ns), 100);
    assert_number(SWAP(0, atomic), 0);
    assert_string_equal(SWAP(0, outcome).text, "complete");
    assert_swap_adds_up(0);

    assert_int_equal(script.ios.count, 3);
    assert_number(IO(0, time_s), 105);
    assert_number(IO(0, index), 0);
    assert_number(IO(0, queue_ns), 20);
    assert_number(IO(0, service_ns), 10);
    assert_number(IO(0, notice_ns), 15);
    assert_number(IO(0, total_ns), 45);
    assert_number(IO(0, size_bytes), 4096);
    assert_number(IO(1, index), 1);
    assert_number(IO(1, offset_bytes), 4096);
    assert_number(IO(1, notice_ns), 1);
    /* Done in the main thread: no stamps. */
    assert_number(IO(2, queue_ns), 0);
    assert_number(IO(2, service_ns), 5);
    assert_number(IO(2, notice_ns), 0);
    assert_number(IO(2, size_bytes), 100);
}

/* A read that fails once the reply has begun cuts it off; one before that leads to a server. */
static void
a_hit_that_is_cut_off(void **state)
{
    (void)state;
    static const uint32_t fates[] = {SQT_IO_FAILED | SQT_IO_TIMED_OUT, SQT_IO_FAILED, 4096};
    for (uint64_t i = 0; i < 6; ++i) {
        const int64_t t = 100 * (int64_t)i;
        const int fails_first = i >= 3;
        begin_xact(t, 5 + i, 7);
        swap_in_opens(t + 1, 20 + i, 5 + i);
        PUT(t + 2, SWAPIN_OPENED, 20 + i, 0, 0);
        PUT(t + 3, SWAPIN_READ, 20 + i, 0, 4096);
        PUT(t + 4, SWAPIN_READ_DONE, 20 + i, 0, fails_first ? fates[i % 3] : 4096);
        PUT(t + 5, REPLY_READY, 5 + i, 0, fails_first ? SQT_REPLY_SERVER : SQT_REPLY_STORE);
        if (!fails_first) {
            PUT(t + 6, SWAPIN_READ, 20 + i, 4096, 4096);
            PUT(t + 7, SWAPIN_READ_DONE, 20 + i, 4096, fates[i]);
        }
        PUT(t + 8, SWAPIN_CLOSED, 20 + i, 0, 0);
        end_xact(t + 9, 5 + i, HIT, 0);
    }
    play();
    static const char *const outcomes[] = {"timeout", "error", "complete", "complete", "complete", "complete"};
    for (unsigned i = 0; i < 6; ++i)
        assert_string_equal(REQUEST(i, outcome).text, outcomes[i]);
}

static void
one_block_is_atomic(void **state)
{
    (void)state;
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(2, SWAPIN_READ, 9, 0, 4096);
    PUT(3, SWAPIN_READ_DONE, 9, 0, 500);
    PUT(4, SWAPIN_CLOSED, 9, 0, 0);
    play();
    assert_number(SWAP(0, atomic), 1);
    assert_number(SWAP(0, rest_io_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, close_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, idle_ns), 2);
    assert_swap_adds_up(0);
}

static void
a_failed_open(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    swap_in_opens(0, 9, 5);
    PUT(10, SWAPIN_OPENED, 9, 0, 2);
    PUT(12, SWAPIN_CLOSED, 9, 0, 2);
    end_xact(20, 5, MISS, 0);
    play();
    assert_string_equal(SWAP(0, outcome).text, "error");
    assert_number(SWAP(0, open_ns), 10);
    assert_number(SWAP(0, first_io_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, first_delay_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, atomic), 0);
    assert_swap_adds_up(0);
    assert_string_equal(stages(0), "swap_in_open 10");
}

/* Closed while a read is outstanding: the reader stops waiting for it. */
static void
closed_before_the_block_came(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    swap_in_opens(0, 9, 5);
    PUT(10, SWAPIN_READ, 9, 0, 4096);
    PUT(12, SWAPIN_CLOSED, 9, 0, 5);
    PUT(15, SWAPIN_READ_DONE, 9, 0, 4096);
    end_xact(20, 5, MISS, 0);
    play();
    assert_int_equal(script.ios.count, 0);
    assert_string_equal(stages(0), "swap_in_open 12, swap_in_first 0");
    assert_number(SWAP(0, ios), 0);
    assert_adds_up(0);
}

static void
a_failed_read(void **state)
{
    (void)state;
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(2, SWAPIN_READ, 9, 0, 4096);
    PUT(3, SWAPIN_READ_DONE, 9, 0, SQT_IO_FAILED);
    PUT(4, SWAPIN_CLOSED, 9, 0, 0);
    play();
    assert_string_equal(IO(0, outcome).text, "error");
    assert_number(IO(0, size_bytes), 0);
    assert_string_equal(SWAP(0, outcome).text, "error");
}

/* A rock disker did not answer in time; where the block was then, nobody knows.  The answer makes no second row. */
static void
a_read_whose_time_is_up(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(2, SWAPIN_READ, 9, 0, 4096);
    PUT(10, SWAPIN_READ_DONE, 9, 0, 3u << 30);
    PUT(11, SWAPIN_CLOSED, 9, 0, 0);
    PUT(20, IO_LATE, 9, 0, 4096);
    PART(PART_DISKOP_IO, 12, 13, 0);
    end_xact(30, 5, MISS, 0);
    play();
    assert_int_equal(script.ios.count, 1);
    assert_string_equal(IO(0, outcome).text, "timeout");
    assert_number(IO(0, size_bytes), 0);
    assert_number(IO(0, total_ns), 8);
    assert_number(IO(0, queue_ns), SQT_CELL_MISSING);
    assert_number(IO(0, service_ns), SQT_CELL_MISSING);
    assert_number(IO(0, notice_ns), SQT_CELL_MISSING);
    assert_string_equal(SWAP(0, outcome).text, "timeout");
    assert_number(SWAP(0, ios), 1);
    assert_swap_adds_up(0);
    assert_string_equal(stages(0), "swap_in_open 1, swap_in_first 8");
    assert_string_equal(REQUEST(0, class).text, "miss");
}

/* The client does not wait while the header of a stored entry is read to be rewritten. */
static void
a_header_update(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    PUT(1, SWAPIN_OPEN, 9, 5, 0);
    PART(PART_SWAP_FILE, 0xabc, 77, 1);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(2, SWAPIN_READ, 9, 0, 4096);
    PUT(10, SWAPIN_READ_DONE, 9, 0, 4096);
    PUT(11, SWAPIN_CLOSED, 9, 0, 0);
    end_xact(30, 5, HIT, 0);
    play();
    assert_number(SWAP(0, update), 1);
    assert_number(SWAP(0, xid), 5);
    assert_number(SWAP(0, ios), 1);
    assert_string_equal(stages(0), "");
    assert_number(REQUEST(0, swap_ins), 0);
    assert_string_equal(REQUEST(0, class).text, "mem_hit");
}

static void
a_failed_close(void **state)
{
    (void)state;
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(4, SWAPIN_CLOSED, 9, 0, 5);
    play();
    assert_string_equal(SWAP(0, outcome).text, "error");
}

static void
open_out(int64_t time, uint64_t sio, uint64_t xact)
{
    PUT(time, SWAPOUT_OPEN, sio, xact, 0);
    PART(PART_SWAP_FILE, 0xabc, 78, 0);
    PUT(time + 2, SWAPOUT_OPENED, sio, 0, 0);
}

/* Goes on after its transaction, with several writes outstanding, and is charged to nobody. */
static void
a_swap_out(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    open_out(10, 9, 5);
    PUT(20, SWAPOUT_WRITE, 9, 0, 100);
    PUT(22, SWAPOUT_WRITE, 9, 100, 4096);
    PUT(24, SWAPOUT_WRITE, 9, 4196, 50);
    end_xact(25, 5, MISS, 0);
    PUT(30, SWAPOUT_WRITTEN, 9, 100, 4096); /* not in order */
    PUT(32, SWAPOUT_WRITTEN, 9, 0, 100);
    PUT(33, SWAPOUT_CLOSE, 9, 0, 0);
    PUT(40, SWAPOUT_WRITTEN, 9, 4196, 50);
    PUT(50, SWAPOUT_CLOSED, 9, 4246, 0);
    play();
    assert_string_equal(stages(0), "");
    assert_number(REQUEST(0, swap_ins), 0);
    assert_string_equal(SWAP(0, direction).text, "out");
    assert_number(SWAP(0, size_bytes), 4246);
    assert_number(SWAP(0, image_bytes), 4246);
    assert_number(SWAP(0, ios), 3);
    assert_number(SWAP(0, open_ns), 2);
    assert_number(SWAP(0, first_io_ns), 12);
    assert_number(SWAP(0, rest_io_ns), 8);
    assert_number(SWAP(0, close_ns), 10);
    assert_number(SWAP(0, idle_ns), 8);
    assert_swap_adds_up(0);
    assert_number(IO(0, index), 1);
    assert_number(IO(1, index), 0);
    assert_number(IO(2, index), 2);
    assert_number(IO(2, total_ns), 16);
    assert_string_equal(IO(0, direction).text, "out");
}

/* The store writes three blocks at once and says so once. */
static void
combined_writes(void **state)
{
    (void)state;
    open_out(10, 9, 5);
    PUT(20, SWAPOUT_WRITE, 9, 0, 100);
    PUT(21, SWAPOUT_WRITE, 9, 100, 100);
    PUT(22, SWAPOUT_WRITE, 9, 200, 100);
    PUT(23, SWAPOUT_WRITE, 9, 300, 100);
    PUT(30, SWAPOUT_WRITTEN, 9, 0, 300);
    PUT(31, SWAPOUT_WRITTEN, 9, 300, 100);
    PUT(32, SWAPOUT_CLOSED, 9, 400, 0);
    play();
    assert_int_equal(script.ios.count, 2);
    assert_number(IO(0, size_bytes), 300);
    assert_number(IO(1, size_bytes), 100);
    assert_number(IO(1, index), 3);
    assert_number(SWAP(0, size_bytes), 400);
    assert_number(SWAP(0, ios), 2);
    assert_number(SWAP(0, rest_io_ns), 1); /* from 30 to 31 */
    assert_swap_adds_up(0);
}

static void
the_writer_left(void **state)
{
    (void)state;
    open_out(10, 9, 5);
    PUT(20, SWAPOUT_CLOSE, 9, 0, 1);
    PUT(21, SWAPOUT_CLOSED, 9, 0, 0);
    play();
    assert_string_equal(SWAP(0, outcome).text, "aborted");
}

/* The swap-in outlives its reader, whose place in memory another transaction has taken. */
static void
a_reader_that_is_gone(void **state)
{
    (void)state;
    begin_xact(0, 5, 7);
    swap_in_opens(1, 9, 5);
    PUT(2, SWAPIN_OPENED, 9, 0, 0);
    end_xact(3, 5, MISS_ABORTED, SQT_XACT_ABORTED);
    begin_xact(4, 6, 7);
    PUT(5, SWAPIN_READ, 9, 0, 4096);
    PUT(9, SWAPIN_READ_DONE, 9, 0, 4096);
    PUT(10, SWAPIN_CLOSED, 9, 0, 0);
    end_xact(20, 6, HIT, 0);
    play();
    assert_string_equal(stages(1), "");
    assert_string_equal(REQUEST(1, class).text, "mem_hit");
    assert_number(SWAP(0, xid), 5);
}

static void
without_a_transaction(void **state)
{
    (void)state;
    swap_in_opens(1, 9, 0);
    PUT(2, SWAPIN_CLOSED, 9, 0, 0);
    play();
    assert_number(SWAP(0, xid), SQT_CELL_MISSING);
}

/* Stamps of another processor's clock may lie outside of what the main thread saw: the parts still add up. */
static void
stamps_are_kept_in_order(void **state)
{
    (void)state;
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(100, SWAPIN_READ, 9, 0, 4096);
    done_elsewhere(110, 9, 0, 95, 120);
    PUT(200, SWAPIN_READ, 9, 4096, 4096);
    done_elsewhere(210, 9, 4096, 208, 203);
    play();
    assert_number(IO(0, queue_ns), 0);
    assert_number(IO(0, service_ns), 10);
    assert_number(IO(0, notice_ns), 0);
    assert_number(IO(1, queue_ns), 8);
    assert_number(IO(1, service_ns), 0);
    assert_number(IO(1, notice_ns), 2);
}

static void
unfinished_swap(void **state)
{
    (void)state;
    swap_in_opens(0, 9, 5);
    PUT(1, SWAPIN_OPENED, 9, 0, 0);
    PUT(2, SWAPIN_READ, 9, 0, 4096);
    PUT(10, WAIT_BEGIN, 0, 0, 0);
    play();
    sqt_model_finish(script.model);
    assert_string_equal(SWAP(0, outcome).text, "unfinished");
    assert_number(SWAP(0, first_io_ns), 8);
    assert_swap_adds_up(0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_swap_in_from_aufs),
        SCRIPT_TEST(a_hit_that_is_cut_off),
        SCRIPT_TEST(one_block_is_atomic),
        SCRIPT_TEST(a_failed_open),
        SCRIPT_TEST(closed_before_the_block_came),
        SCRIPT_TEST(a_failed_read),
        SCRIPT_TEST(a_read_whose_time_is_up),
        SCRIPT_TEST(a_header_update),
        SCRIPT_TEST(a_failed_close),
        SCRIPT_TEST(a_swap_out),
        SCRIPT_TEST(combined_writes),
        SCRIPT_TEST(the_writer_left),
        SCRIPT_TEST(a_reader_that_is_gone),
        SCRIPT_TEST(without_a_transaction),
        SCRIPT_TEST(stamps_are_kept_in_order),
        SCRIPT_TEST(unfinished_swap),
    };
    return cmocka_run_group_tests_name("model: swaps", tests, NULL, NULL);
}
