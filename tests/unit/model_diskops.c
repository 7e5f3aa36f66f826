/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_diskops.c - disk operations: their stages, and what became of them.
 */
#include "model_script.h"

static struct sqt_diskop told[SCRIPT_ROWS];
static unsigned told_count;

static void
hear(void *context, const struct sqt_diskop *op)
{
    (void)context;
    told[told_count++] = *op;
}

/* Plays the records up to the end of the trace. */
static void
play_diskops(void)
{
    const struct sqt_consumer consumer = {.diskop = hear};
    told_count = 0;
    play_to(&consumer);
}

static void
begin(int64_t time, uint64_t serial, uint64_t sio, uint64_t asked, uint64_t depth, uint32_t op)
{
    PUT(time, DISKOP_BEGIN, serial, sio, 0);
    PART(PART_DISKOP, asked, depth, op);
}

static void
stages_are(const struct sqt_diskop *op, int64_t enqueued, int64_t dequeued, int64_t io, int64_t copy, int64_t complete,
           int64_t finished)
{
    const int64_t wanted[SQT_DISKOP_STAGES] = {enqueued, dequeued, io, copy, complete, finished};
    assert_memory_equal(op->stages, wanted, sizeof(wanted));
}

static void
the_way_of_an_operation(void **state)
{
    (void)state;
    begin(110, 7, 3, 100, 5, SQT_DISK_READ);
    PUT(200, DISKOP_END, 7, 170, 4096);
    PART(PART_DISKOP_IO, 130, 150, 4);
    play_diskops();
    assert_int_equal(told_count, 1);
    const struct sqt_diskop *const op = told;
    assert_int_equal(op->begin, 100);
    assert_int_equal(op->end, 200);
    stages_are(op, 10, 20, 20, 4, 16, 30);
    assert_int_equal(op->op, SQT_DISK_READ);
    assert_int_equal(op->sio, 3);
    assert_int_equal(op->depth, 5);
    assert_int_equal(op->size, 4096);
    assert_int_equal(op->queue, SQT_QUEUE_FIRST);
    assert_int_equal(op->outcome, SQT_OUTCOME_COMPLETE);
}

/* The records of a swap have told what is asked for, when, and when it was done. */
static void
what_the_swap_has_told(void **state)
{
    (void)state;
    PUT(90, SWAPIN_OPEN, 3, 0, 2);
    PART(PART_SWAP_FILE, 1, 1, 0);
    PUT(100, SWAPIN_READ, 3, 8192, 4096);
    PUT(110, DISKOP_QUEUED, 7, 3, 5);
    PUT(180, SWAPIN_READ_DONE, 3, 8192, 4096);
    PART(PART_DISKOP_IO, 130, 150, 4);
    PUT(185, SWAPIN_CLOSE, 3, 0, 0);
    PUT(190, SWAPIN_CLOSED, 3, 0, 0);
    PUT(200, DISKOP_END, 7, 170, 4096);
    PUT(210, DISKOP_QUEUED, 8, 3, 5); /* of which no record has told that service */
    PUT(220, DISKOP_END, 8, 215, 4096);
    play_diskops();
    assert_int_equal(told_count, 3); /* the close is the main thread's */
    assert_int_equal(told[2].stages[SQT_DISKOP_IO], SQT_MISSING);
    const struct sqt_diskop *const op = &told[1];
    stages_are(op, 10, 20, 20, 4, 16, 30);
    assert_int_equal(op->op, SQT_DISK_READ);
    assert_int_equal(op->sio, 3);
    assert_int_equal(op->dir, 2);
    assert_int_equal(op->depth, 5);
    assert_int_equal(op->size, 4096);
    assert_int_equal(op->outcome, SQT_OUTCOME_COMPLETE);
}

/* Before its question is queued, a queue takes an answer, and Squid goes on with another swap. */
static void
a_question_within_a_question(void **state)
{
    (void)state;
    PUT(90, SWAPIN_OPEN, 3, 0, 2);
    PART(PART_SWAP_FILE, 1, 1, 0);
    PUT(95, SWAPOUT_OPEN, 4, 0, 1);
    PART(PART_SWAP_FILE, 2, 2, 0);
    PUT(100, SWAPIN_READ, 3, 8192, 4096);
    PUT(110, SWAPOUT_WRITE, 4, 0, 4096);
    PUT(120, DISKOP_QUEUED, 7, 4, 5);
    PUT(130, DISKOP_QUEUED, 8, 3, 6);
    PUT(200, DISKOP_END, 8, 170, 4096);
    PART(PART_DISKOP_IO, 140, 150, 4);
    PUT(300, DISKOP_END, 7, 270, 4096);
    PART(PART_DISKOP_IO, 240, 250, 4);
    play_diskops();
    assert_int_equal(told_count, 2);
    stages_are(&told[0], 30, 10, 10, 4, 16, 30);
    assert_int_equal(told[0].op, SQT_DISK_READ);
    assert_int_equal(told[0].dir, 2);
    stages_are(&told[1], 10, 120, 10, 4, 16, 30);
    assert_int_equal(told[1].op, SQT_DISK_WRITE);
    assert_int_equal(told[1].dir, 1);
}

/* Where records were lost, a question or a service may be another one's. */
static void
what_was_told_before_a_loss(void **state)
{
    (void)state;
    PUT(100, SWAPIN_READ, 3, 8192, 4096);
    PUT(110, LOST, 105, 2, 1);
    PUT(120, DISKOP_QUEUED, 7, 3, 5);
    PUT(200, DISKOP_END, 7, 170, 4096);
    PUT(210, SWAPIN_READ, 3, 12288, 4096);
    PUT(220, DISKOP_QUEUED, 8, 3, 5);
    PUT(230, SWAPIN_READ_DONE, 4, 0, 4096); /* another swap's */
    PART(PART_DISKOP_IO, 222, 224, 4);
    PUT(240, DISKOP_END, 8, 235, 4096);
    play_diskops();
    assert_int_equal(told_count, 2);
    for (unsigned i = 0; i < 2; ++i) {
        assert_int_equal(told[i].op, SQT_DISK_OTHER);
        assert_int_equal(told[i].stages[SQT_DISKOP_IO], SQT_MISSING);
    }
}

static void
behind_a_busy_lock(void **state)
{
    (void)state;
    begin(100, 7, 3, 100, 5, SQT_DISK_OPEN);
    PUT(200, DISKOP_END, 7, 190, 12);
    PART(PART_DISKOP_IO, 150, 160, 0);
    PART(PART_STAMP, 0, 140, SQT_STAMP_SECOND_QUEUE);
    play_diskops();
    stages_are(told, 40, 10, 10, 0, 30, 10);
    assert_int_equal(told->queue, SQT_QUEUE_SECOND);
    assert_int_equal(told->size, SQT_MISSING);
}

static void
faster_than_its_own_record(void **state)
{
    (void)state;
    begin(110, 7, 3, 100, 5, SQT_DISK_WRITE);
    PUT(200, DISKOP_END, 7, 190, 1u << 31);
    PART(PART_DISKOP_IO, 105, 108, 0);
    play_diskops();
    stages_are(told, 5, 0, 3, 0, 82, 10);
    assert_int_equal(told->outcome, SQT_OUTCOME_ERROR);
    assert_int_equal(told->size, 0);
}

static void
its_time_was_up_and_its_answer_late(void **state)
{
    (void)state;
    begin(110, 7, 3, 100, 5, SQT_DISK_READ);
    PUT(200, DISKOP_END, 7, 190, 3u << 30);
    PUT(300, DISKOP_LATE, 7, 300, 4096);
    PART(PART_DISKOP_IO, 250, 260, 0);
    PUT(400, DISKOP_LATE, 7, 400, 4096);
    PART(PART_DISKOP_IO, 250, 260, 0);
    play_diskops();
    assert_int_equal(told_count, 2);
    stages_are(&told[0], 10, SQT_MISSING, SQT_MISSING, SQT_MISSING, 80, 10);
    assert_int_equal(told[0].outcome, SQT_OUTCOME_TIMEOUT);
    assert_int_equal(told[0].late, 0);
    stages_are(&told[1], 10, 140, 10, 0, 40, 0);
    assert_int_equal(told[1].late, 1);
    assert_int_equal(told[1].begin, 100);
}

static void
what_the_main_thread_does(void **state)
{
    (void)state;
    PUT(20, SWAPOUT_OPEN, 9, 5, 0);
    PART(PART_SWAP_FILE, 0xabc, 77, 0);
    PUT(21, DISKOP_QUEUED, 1, 9, 0); /* goes to a thread */
    PUT(28, SWAPOUT_OPENED, 9, 0, 0);
    PART(PART_DISKOP_IO, 22, 25, 0);
    PUT(29, DISKOP_END, 1, 27, 0);
    PUT(40, SWAPOUT_WRITE, 9, 0, 4096);
    PUT(90, SWAPOUT_WRITTEN, 9, 0, 4096);
    PUT(91, SWAPOUT_CLOSE, 9, 0, 0);
    PUT(93, SWAPOUT_CLOSED, 9, 4096, 0);
    PUT(95, UNLINK, 0, 77, 0);
    PUT(99, UNLINKED, 0, 77, 0);
    PUT(100, UNLINK, 0, 78, 0); /* this one goes to a thread */
    PUT(101, DISKOP_QUEUED, 2, 0, 0);
    play_diskops();
    assert_int_equal(told_count, 5);
    assert_int_equal(told[1].serial, 0);
    assert_int_equal(told[1].op, SQT_DISK_WRITE);
    stages_are(&told[1], SQT_MISSING, SQT_MISSING, 50, SQT_MISSING, SQT_MISSING, SQT_MISSING);
    assert_int_equal(told[1].size, 4096);
    assert_int_equal(told[2].op, SQT_DISK_CLOSE);
    assert_int_equal(told[2].stages[SQT_DISKOP_IO], 2);
    assert_int_equal(told[3].op, SQT_DISK_UNLINK);
    assert_int_equal(told[3].stages[SQT_DISKOP_IO], 4);
    assert_int_equal(told[4].outcome, SQT_OUTCOME_UNFINISHED);
}

/* A thread closes the file of aufs, and Squid goes on at once: that the record has no stamps makes it no other close. */
static void
a_close_that_nobody_waits_for(void **state)
{
    (void)state;
    swap_in_opens(20, 9, 5);
    PUT(21, SWAPIN_OPENED, 9, 0, 0);
    PUT(30, SWAPIN_CLOSE, 9, 0, 0);
    PUT(31, DISKOP_QUEUED, 1, 9, 0);
    PUT(32, SWAPIN_CLOSED, 9, 0, 0);
    PUT(50, DISKOP_END, 1, 48, 0);
    PART(PART_DISKOP_IO, 40, 45, 1);
    play_diskops();
    assert_int_equal(told_count, 2); /* the open is the main thread's */
    assert_int_equal(told[1].op, SQT_DISK_CLOSE);
    stages_are(&told[1], 1, 9, 5, 1, 2, 2);
}

/* What the kernel saw is more than what the stored image grew by. */
static void
slots_have_headers(void **state)
{
    (void)state;
    PUT(20, SWAPOUT_OPEN, 9, 5, 0);
    PART(PART_SWAP_FILE, 0xabc, 77, 0);
    PUT(21, SWAPOUT_OPENED, 9, 0, 0);
    PUT(30, SWAPOUT_WRITE, 9, 0, 16344);
    PART(PART_SLOT, 0, 40, 0);
    PUT(40, SWAPOUT_WRITTEN, 9, 0, 16344);
    PUT(50, SWAPOUT_WRITE, 9, 16344, 100);
    PUT(60, SWAPOUT_WRITTEN, 9, 16344, 100);
    PUT(70, SWAPOUT_WRITE, 9, 16444, 100);
    PUT(80, SWAPOUT_WRITTEN, 9, 16444, SQT_IO_FAILED);
    play_diskops();
    play();
    assert_int_equal(told_count, 4); /* the create, too */
    assert_int_equal(told[1].size, 16384);
    assert_int_equal(told[2].size, 140);
    assert_int_equal(told[3].size, 0);
    assert_int_equal(script.ios.count, 3);
    assert_number(IO(0, size_bytes), 16344);
    assert_number(IO(1, size_bytes), 100);
}

static void
ends_that_are_not_there(void **state)
{
    (void)state;
    begin(110, 7, 3, 100, 5, SQT_DISK_READ); /* lost */
    PUT(120, LOST, 115, 10, SQT_LOSS_RING_FULL);
    begin(130, 8, 3, 130, 5, SQT_DISK_READ);
    PUT(140, DISKOP_END, 6, 140, 0); /* begun before the trace */
    PUT(150, RECONFIGURE, 0, 0, 0);  /* the group is off */
    begin(160, 9, 3, 160, 5, SQT_DISK_READ);
    play_diskops();
    assert_int_equal(told_count, 3);
    assert_int_equal(told[0].outcome, SQT_OUTCOME_LOST);
    assert_int_equal(told[1].outcome, SQT_OUTCOME_LOST);
    assert_int_equal(told[2].outcome, SQT_OUTCOME_UNFINISHED);
    for (unsigned i = 0; i < 3; ++i) {
        union sqt_cell row[SQT_CELLS(diskops)];
        struct sqt_row_text text;
        sqt_diskop_cells(row, &told[i], &text);
        const int known = i == 2;
        assert_int_equal(row[SQT_CELL(diskops, total_ns)].number != SQT_CELL_MISSING, known);
        assert_int_equal(row[SQT_CELL(diskops, enqueued_ns)].number != SQT_CELL_MISSING, known);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(the_way_of_an_operation),
        SCRIPT_TEST(what_the_swap_has_told),
        SCRIPT_TEST(a_question_within_a_question),
        SCRIPT_TEST(what_was_told_before_a_loss),
        SCRIPT_TEST(behind_a_busy_lock),
        SCRIPT_TEST(faster_than_its_own_record),
        SCRIPT_TEST(its_time_was_up_and_its_answer_late),
        SCRIPT_TEST(what_the_main_thread_does),
        SCRIPT_TEST(a_close_that_nobody_waits_for),
        SCRIPT_TEST(slots_have_headers),
        SCRIPT_TEST(ends_that_are_not_there),
    };
    return cmocka_run_group_tests_name("model_diskops", tests, NULL, NULL);
}
