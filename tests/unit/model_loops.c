/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_loops.c - passes of the event loop, and what took longest in them.
 */
#include "model_script.h"

static char said[SCRIPT_ROWS][160];
static unsigned said_count;

static void
wait_begins(int64_t time, uint64_t from, uint64_t until)
{
    PUT(time, WAIT_BEGIN, 0, 1000, 0);
    if (until)
        PART(PART_ACTIVITY, from, until, 4);
}

static void
a_pass_is_a_wait_and_the_work_after_it(void **state)
{
    (void)state;
    PUT(50, WAIT_END, 0, 9, 0); /* the trace began in the middle of a wait */
    wait_begins(100, 60, 90);
    PUT(150, WAIT_END, 0, 3, 0);
    wait_begins(180, 155, 175);
    PUT(200, WAIT_END, 0, 1, 0);
    wait_begins(201, 0, 0);
    play();
    assert_int_equal(script.pass_count, 2);
    const struct sqt_loop_row *const p = script.passes;
    assert_int_equal(p[0].begin, 100);
    assert_int_equal(p[0].work, 150);
    assert_int_equal(p[0].end, 180);
    assert_int_equal(p[0].ready, 3);
    assert_int_equal(p[0].activity, 4);
    assert_int_equal(p[0].activity_ns, 20);
    assert_int_equal(p[0].disk_ns, 0);
    assert_int_equal(p[1].begin, 180);
    assert_int_equal(p[1].activity, UINT32_MAX);
}

static void
a_pass_that_lost_records_is_no_pass(void **state)
{
    (void)state;
    wait_begins(100, 0, 0);
    PUT(150, WAIT_END, 0, 3, 0);
    PUT(160, LOST, 155, 10, SQT_LOSS_RING_FULL);
    wait_begins(180, 0, 0);
    PUT(200, WAIT_END, 0, 1, 0);
    wait_begins(230, 0, 0);
    play();
    assert_int_equal(script.pass_count, 1);
    assert_int_equal(script.passes[0].begin, 180);
}

static void
a_pass_that_the_group_was_switched_off_in_is_no_pass(void **state)
{
    (void)state;
    wait_begins(100, 0, 0);
    PUT(110, RECONFIGURE, SQT_GROUP_LOOP, 0, 0);
    PUT(150, WAIT_END, 0, 3, 0);
    wait_begins(180, 0, 0);
    PUT(200, WAIT_END, 0, 1, 0);
    PUT(210, RECONFIGURE, SQT_GROUP_STORE, 0, 0);
    PUT(90210, RECONFIGURE, SQT_GROUP_LOOP, 0, 0);
    wait_begins(90230, 0, 0);
    PUT(90300, WAIT_END, 0, 1, 0);
    wait_begins(90310, 0, 0);
    play();
    assert_int_equal(script.pass_count, 2);
    assert_int_equal(script.passes[0].end, 180);
    assert_int_equal(script.passes[1].begin, 90230);
}

static void
a_disk_call_in_the_main_thread(void **state)
{
    (void)state;
    wait_begins(0, 0, 0);
    PUT(10, WAIT_END, 0, 1, 0);
    PUT(20, SWAPOUT_OPEN, 9, 5, 0);
    PART(PART_SWAP_FILE, 0xabc, 77, 0);
    PUT(30, SWAPOUT_OPENED, 9, 0, 0);
    PUT(40, SWAPOUT_WRITE, 9, 0, 4096);
    PUT(90, SWAPOUT_WRITTEN, 9, 0, 4096);
    PUT(91, SWAPOUT_CLOSE, 9, 0, 0);
    PUT(93, SWAPOUT_CLOSED, 9, 4096, 0);
    wait_begins(100, 35, 95);
    play();
    assert_int_equal(script.passes[0].disk_ns, 50);
    assert_int_equal(script.passes[0].disk_call, SQT_DISK_WRITE);
    assert_int_equal(script.passes[0].dir, 0);
}

static void
an_io_elsewhere_does_not_stop_the_loop(void **state)
{
    (void)state;
    wait_begins(0, 0, 0);
    PUT(10, WAIT_END, 0, 1, 0);
    swap_in_opens(20, 9, 5);
    PUT(30, SWAPIN_OPENED, 9, 0, 0);
    PUT(40, SWAPIN_READ, 9, 0, 4096);
    wait_begins(50, 0, 0);
    PUT(60, WAIT_END, 0, 1, 0);
    PUT(70, SWAPIN_READ_DONE, 9, 0, 4096);
    PART(PART_DISKOP_IO, 45, 65, 0);
    PUT(71, SWAPIN_READ, 9, 4096, 4096);
    wait_begins(80, 0, 0);
    PUT(90, WAIT_END, 0, 1, 0);
    PUT(95, SWAPIN_READ_DONE, 9, 4096, 4096); /* begun in the pass before: it did not stop that one */
    wait_begins(100, 0, 0);
    play();
    assert_int_equal(script.pass_count, 3);
    assert_int_equal(script.passes[0].disk_ns, 10); /* the open */
    assert_int_equal(script.passes[1].disk_ns, 0);
    assert_int_equal(script.passes[2].disk_ns, 0);
}

static int
hear(void *context, const union sqt_cell *row)
{
    (void)context;
    snprintf(said[said_count++], sizeof(said[0]), "%s", row[SQT_CELL(stalls, stall)].text);
    return 1;
}

static void
stalls_in_words(void **state)
{
    (void)state;
    const int64_t ms = 1000000, s = 1000 * ms;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = hear};
    struct sqt_loop_row pass = {.origin = script.origins,
                                .begin = 12 * s,
                                .work = 12 * s + 41 * ms,
                                .activity = 4,
                                .disk_call = SQT_DISK_WRITE};
    said_count = 0;
    sqt_family_stalls.start(&job);
    pass.end = pass.work + 220 * ms; /* one disk call nearly all the time */
    pass.activity_ns = 216 * ms;
    pass.disk_ns = 214 * ms;
    sqt_family_stalls.consumer.loop(&job, &pass);
    pass.disk_ns = 100 * ms; /* less than half of what the call took */
    pass.end += ms;
    sqt_family_stalls.consumer.loop(&job, &pass);
    pass.activity_ns = 100 * ms; /* and that less than half of the pass */
    pass.disk_ns = 0;
    pass.end += ms;
    sqt_family_stalls.consumer.loop(&job, &pass);
    for (unsigned i = 0; i < 40; ++i) {
        pass.end = pass.work + i;
        sqt_family_stalls.consumer.loop(&job, &pass);
    }
    sqt_family_stalls.finish(&job);
    assert_int_equal(said_count, 20);
    assert_string_equal(said[0], "12.041 s: 222 ms in many activities, of which 100 ms in a call");
    assert_string_equal(said[1], "12.041 s: 216 ms in a call");
    assert_string_equal(said[2], "12.041 s: 214 ms in write on cache_dir 0 (aufs)");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_pass_is_a_wait_and_the_work_after_it),
        SCRIPT_TEST(a_pass_that_lost_records_is_no_pass),
        SCRIPT_TEST(a_pass_that_the_group_was_switched_off_in_is_no_pass),
        SCRIPT_TEST(a_disk_call_in_the_main_thread),
        SCRIPT_TEST(an_io_elsewhere_does_not_stop_the_loop),
        SCRIPT_TEST(stalls_in_words),
    };
    return cmocka_run_group_tests_name("model_loops", tests, NULL, NULL);
}
