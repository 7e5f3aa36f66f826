/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_steps.c - steps of clocks: which rows have no durations, and which have.
 */
#include "model_script.h"

static void
expect_request(unsigned row, const char *outcome, int64_t total)
{
    assert_string_equal(REQUEST(row, outcome).text, outcome);
    assert_number(REQUEST(row, total_ns), total);
    if (total != SQT_CELL_MISSING)
        return;
    assert_string_equal(stages(row), "");
    assert_number(REQUEST(row, unaccounted_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(row, first_byte_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(row, server_from_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(row, server_until_ns), SQT_CELL_MISSING);
    assert_number(REQUEST(row, size_bytes), 1000); /* what is no duration is there */
}

static void
a_request_across_a_step(void **state)
{
    (void)state;
    begin_xact(10, 1, 7);
    server_exchange(12, 1, 70, 1);
    PUT(30, REPLY_WRITTEN, 1, 100, 0);
    begin_xact(31, 2, 8);
    end_xact(35, 2, MISS, 0);
    PUT(40, CLOCK_STEP, 38, 1000000000, SQT_STEP_BACK);
    begin_xact(40, 3, 9);
    end_xact(60, 1, MISS, 0);
    end_xact(61, 3, MISS, 0);
    play();
    expect_request(0, "complete", 4);
    expect_request(1, "clock", SQT_CELL_MISSING);
    assert_string_equal(REQUEST(1, tag).text, "TCP_MISS");
    expect_request(2, "complete", 21);
}

static void
a_time_of_day_hides_nothing(void **state)
{
    (void)state;
    begin_xact(10, 1, 7);
    PUT(40, CLOCK_STEP, 38, 3600000000000, SQT_STEP_WALL_FORWARD);
    PUT(41, CLOCK_STEP, 38, 3600000000000, SQT_STEP_WALL_BACK);
    end_xact(60, 1, MISS, 0);
    play();
    expect_request(0, "complete", 50);
}

/* Records from around a step: whatever touches them. */
static void
whatever_touches_the_stretch(void **state)
{
    (void)state;
    begin_xact(10, 1, 7);
    begin_xact(11, 2, 8);
    begin_xact(12, 5, 9);
    end_xact(13, 5, MISS, 0);
    play();
    script.unsure = 1;
    end_xact(20, 1, MISS, 0);
    begin_xact(21, 3, 9);
    end_xact(22, 3, MISS, 0);
    begin_xact(23, 4, 10);
    play();
    script.unsure = 0;
    PUT(30, CLOCK_STEP, 14, 5, SQT_STEP_SUSPEND);
    end_xact(31, 2, MISS, 0);
    end_xact(32, 4, MISS, 0);
    begin_xact(33, 6, 11);
    end_xact(35, 6, MISS, 0);
    play();
    expect_request(0, "complete", 1);
    for (unsigned i = 1; i < 5; ++i)
        expect_request(i, "clock", SQT_CELL_MISSING);
    expect_request(5, "complete", 2);
}

static void
a_loss_says_more(void **state)
{
    (void)state;
    begin_xact(10, 1, 7);
    PUT(20, LOST, 19, 3, SQT_LOSS_RING_FULL);
    PUT(30, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    end_xact(31, 1, MISS, 0);
    play();
    assert_string_equal(REQUEST(0, outcome).text, "lost");
}

static void
still_open_at_the_end(void **state)
{
    (void)state;
    begin_xact(10, 1, 7);
    PUT(30, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    begin_xact(31, 2, 8);
    play();
    sqt_model_finish(script.model);
    assert_string_equal(REQUEST(0, outcome).text, "clock");
    assert_number(REQUEST(0, total_ns), SQT_CELL_MISSING);
    assert_string_equal(REQUEST(1, outcome).text, "unfinished");
}

/* The wait before a request belongs to its connection. */
static void
a_connection_across_a_step(void **state)
{
    (void)state;
    PUT(10, CONN_ACCEPT, 7, 0, 3128);
    PUT(20, CLIENT_READ, 7, 50, 0);
    PUT(30, CLOCK_STEP, 14, 5, SQT_STEP_FORWARD);
    PUT(35, CLIENT_READ, 7, 50, 50);
    PUT(40, REQUEST_PARSED, 7, 100, 0);
    begin_xact(40, 1, 7);
    end_xact(50, 1, MISS, 0);
    PUT(60, CLIENT_READ, 7, 100, 0);
    PUT(70, REQUEST_PARSED, 7, 100, 0);
    begin_xact(70, 2, 7);
    end_xact(80, 2, MISS, 0);
    play();
    assert_number(REQUEST(0, client_connect_ns), SQT_CELL_MISSING);
    expect_request(0, "complete", 10);
    assert_number(REQUEST(1, client_connect_ns), 10);
}

/* A swap-in of two blocks: the step is in the midst of the first. */
static void
a_swap_across_a_step(void **state)
{
    (void)state;
    swap_in_opens(10, 5, 1);
    PUT(12, SWAPIN_OPENED, 5, 0, 0);
    PUT(13, SWAPIN_READ, 5, 0, 4096);
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_SUSPEND);
    PUT(22, SWAPIN_READ_DONE, 5, 0, 4096);
    PUT(23, SWAPIN_READ, 5, 4096, 4096);
    PUT(26, SWAPIN_READ_DONE, 5, 4096, 4096);
    PUT(27, SWAPIN_CLOSE, 5, 0, 0);
    PUT(28, SWAPIN_CLOSED, 5, 0, 0);
    play();
    assert_string_equal(IO(0, outcome).text, "clock");
    assert_number(IO(0, total_ns), SQT_CELL_MISSING);
    assert_number(IO(0, queue_ns), SQT_CELL_MISSING);
    assert_number(IO(0, service_ns), SQT_CELL_MISSING);
    assert_number(IO(0, notice_ns), SQT_CELL_MISSING);
    assert_number(IO(0, size_bytes), 4096);
    assert_string_equal(IO(1, outcome).text, "complete");
    assert_number(IO(1, total_ns), 3);
    assert_string_equal(SWAP(0, outcome).text, "clock");
    assert_number(SWAP(0, total_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, open_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, first_io_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, first_delay_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, idle_ns), SQT_CELL_MISSING);
    assert_number(SWAP(0, size_bytes), 8192);
    assert_number(SWAP(0, ios), 2);
}

static void
an_attempt_across_a_step(void **state)
{
    (void)state;
    begin_xact(1, 1, 7);
    PUT(10, CONNECT_BEGIN, 1, 70, 1);
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    PUT(30, CONNECT_END, 1, 70, SQT_CONNECT_FAILED);
    PUT(31, CONNECT_BEGIN, 1, 71, 1);
    PUT(36, CONNECT_END, 1, 71, SQT_CONNECT_FAILED);
    play();
    assert_string_equal(CONNECTION(0, outcome).text, "clock");
    assert_number(CONNECTION(0, connect_ns), SQT_CELL_MISSING);
    assert_string_equal(CONNECTION(1, outcome).text, "error");
    assert_number(CONNECTION(1, connect_ns), 5);
}

static void
a_pass_of_the_loop_across_a_step(void **state)
{
    (void)state;
    PUT(10, WAIT_BEGIN, 0, 0, 0);
    PUT(11, WAIT_END, 0, 1, 0);
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    PUT(21, WAIT_BEGIN, 0, 0, 0);
    PUT(22, WAIT_END, 0, 1, 0);
    PUT(23, WAIT_BEGIN, 0, 0, 0);
    play();
    assert_int_equal(script.pass_count, 2);
    assert_true(script.passes[0].unknown);
    assert_false(script.passes[1].unknown);
}

/* ---- disk operations, digests, system calls: each has a consumer of its own here ---- */

static struct {
    struct sqt_diskop ops[4];
    struct sqt_digest digests[4];
    struct sqt_calls_row calls[4];
    struct sqt_step_row steps[4];
    unsigned op_count, digest_count, call_count, step_count;
} told;

static void
take_op(void *context, const struct sqt_diskop *op)
{
    (void)context;
    told.ops[told.op_count++] = *op;
}

static void
take_digest(void *context, const struct sqt_digest *digest)
{
    (void)context;
    told.digests[told.digest_count++] = *digest;
}

static void
take_calls(void *context, const struct sqt_calls_row *calls)
{
    (void)context;
    if (calls->call != UINT32_MAX)
        told.calls[told.call_count++] = *calls;
}

static void
take_step(void *context, const struct sqt_step_row *step)
{
    (void)context;
    told.steps[told.step_count++] = *step;
}

static int
told_begin(void **state)
{
    script_begin(state);
    sqt_model_free(script.model);
    memset(&told, 0, sizeof(told));
    script.model = sqt_model_new(
        &(struct sqt_consumer){.diskop = take_op, .digest = take_digest, .calls = take_calls, .step = take_step});
    return 0;
}

static void
a_disk_operation_across_a_step(void **state)
{
    union sqt_cell row[SQT_CELLS(diskops)];
    struct sqt_row_text text;
    (void)state;
    swap_in_opens(10, 5, 1);
    PUT(11, DISKOP_QUEUED, 3, 5, 0);
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    PUT(30, DISKOP_END, 3, 29, 0);
    PART(PART_DISKOP_IO, 12, 28, 1);
    play();
    assert_int_equal(told.op_count, 1);
    sqt_diskop_cells(row, &told.ops[0], &text);
    assert_string_equal(row[SQT_CELL(diskops, result)].text, "clock");
    for (unsigned i = 0; i < SQT_DISKOP_STAGES; ++i)
        assert_number(row[SQT_CELL(diskops, enqueued_ns) + i], SQT_CELL_MISSING);
    assert_number(row[SQT_CELL(diskops, total_ns)], SQT_CELL_MISSING);
}

static void
digests_across_a_step(void **state)
{
    (void)state;
    PUT(10, DIGEST_FETCH_BEGIN, 1, 0, 2);
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    PUT(25, DIGEST_LOOKUP, 3, 8, 2);
    PUT(26, DIGEST_LOOKUP, 3, 2, 2);
    PUT(30, DIGEST_FETCH_END, 1, 100, SQT_DIGEST_NEW);
    play();
    assert_int_equal(told.digest_count, 3);
    assert_number((union sqt_cell){.number = told.digests[0].busy}, SQT_MISSING);
    assert_number((union sqt_cell){.number = told.digests[1].busy}, 2);
    assert_int_equal(told.digests[2].result, SQT_DIGEST_RESULT_CLOCK);
}

static void
system_calls_across_a_step(void **state)
{
    (void)state;
    PUT(10, CALLS_TOLD, 0, 10, 0);
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    PUT(30, CALLS, 4, 500, 1);
    PART(PART_CALLS, 0, 400, 0);
    PUT(31, CALLS_TOLD, 0, 30, 0);
    PUT(40, CALLS, 4, 5, 1);
    PART(PART_CALLS, 0, 4, 0);
    play();
    assert_int_equal(told.call_count, 2);
    assert_int_equal(told.calls[0].count, 4);
    assert_int_equal(told.calls[0].ns, 0);
    assert_int_equal(told.calls[0].longest_ns, 0);
    assert_int_equal(told.calls[1].ns, 5);
}

static void
steps_are_told(void **state)
{
    (void)state;
    PUT(20, CLOCK_STEP, 14, 5, SQT_STEP_BACK);
    PUT(30, CLOCK_STEP, 99, UINT64_MAX, SQT_STEP_WALL_FORWARD);
    PUT(40, CLOCK_STEP, 39, 1, 77); /* of a later writer */
    script.foreign = 1;
    play();
    assert_int_equal(told.step_count, 3);
    assert_int_equal(told.steps[0].from, 14);
    assert_int_equal(told.steps[0].until, 20);
    assert_int_equal(sqt_step_ns(&told.steps[0]), -5);
    assert_int_equal(told.steps[1].from, 30); /* no later than it was told */
    assert_true(sqt_step_ns(&told.steps[1]) == INT64_MAX);
    assert_string_equal(sqt_step_kind_name(told.steps[1].kind), "wall_forward");
    assert_string_equal(sqt_step_kind_name(told.steps[2].kind), "unknown");
}

/* One look of the flusher found both: ticks before the jump are placed too early by it, also for the time of day. */
static void
a_jump_and_a_time_of_day(void **state)
{
    (void)state;
    PUT(50, CLOCK_STEP, 20, 15, SQT_STEP_FORWARD);
    PUT(50, CLOCK_STEP, 20, 7, SQT_STEP_WALL_BACK);
    PUT(60, CLOCK_STEP, 52, 7, SQT_STEP_WALL_FORWARD);
    play();
    assert_int_equal(told.step_count, 3);
    assert_int_equal(told.steps[0].from, 35);
    assert_int_equal(told.steps[1].from, 35);
    assert_int_equal(told.steps[1].until, 50);
    assert_int_equal(told.steps[2].from, 52);
}

int
main(void)
{
#define TOLD_TEST(name) cmocka_unit_test_setup_teardown(name, told_begin, script_end)
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_request_across_a_step),
        SCRIPT_TEST(a_time_of_day_hides_nothing),
        SCRIPT_TEST(whatever_touches_the_stretch),
        SCRIPT_TEST(a_loss_says_more),
        SCRIPT_TEST(still_open_at_the_end),
        SCRIPT_TEST(a_connection_across_a_step),
        SCRIPT_TEST(a_swap_across_a_step),
        SCRIPT_TEST(an_attempt_across_a_step),
        SCRIPT_TEST(a_pass_of_the_loop_across_a_step),
        TOLD_TEST(a_jump_and_a_time_of_day),
        TOLD_TEST(a_disk_operation_across_a_step),
        TOLD_TEST(digests_across_a_step),
        TOLD_TEST(system_calls_across_a_step),
        TOLD_TEST(steps_are_told),
    };
    return cmocka_run_group_tests_name("model: steps of clocks", tests, NULL, NULL);
}
