/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_crew.c - tasks of a lane come one after the other and in order, whoever does them, and none is left out.
 */
/* pthread_setattr_default_np */
#define _GNU_SOURCE

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crew.h"

#define TASKS 20000

struct lane {
    unsigned done, wrong;
    int busy;
};

struct numbered {
    struct sqt_task task;
    struct lane *lane;
    unsigned number;
    pthread_t by;
};

static struct numbered tasks[SQT_LANES][TASKS];
static struct lane lanes[SQT_LANES];

/* What a lane's tasks write needs no lock: ThreadSanitizer would see it. */
static void
take_number(void *context)
{
    struct numbered *const n = context;
    n->lane->wrong += n->lane->busy++ || n->lane->done != n->number;
    ++n->lane->done;
    n->by = pthread_self();
    --n->lane->busy;
}

static struct sqt_task *
make(unsigned lane, unsigned number)
{
    struct numbered *const n = &tasks[lane][number];
    *n = (struct numbered){.task = {.function = take_number, .context = n}, .lane = &lanes[lane], .number = number};
    return &n->task;
}

static int
begin(void **state)
{
    (void)state;
    memset(lanes, 0, sizeof(lanes));
    return 0;
}

static void
a_lane_keeps_its_order(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 4; ++threads) {
        struct sqt_crew *const crew = sqt_crew_new(threads);
        assert_non_null(crew);
        memset(lanes, 0, sizeof(lanes));
        for (unsigned i = 0; i < TASKS; ++i)
            for (unsigned lane = 0; lane < SQT_LANES; ++lane) {
                sqt_crew_give(crew, lane, make(lane, i));
                if (i % 64 == 63) /* as it is used: a few are under way */
                    sqt_crew_wait(crew, &tasks[lane][i - 60].task);
            }
        for (unsigned lane = 0; lane < SQT_LANES; ++lane) {
            sqt_crew_wait(crew, &tasks[lane][TASKS - 1].task);
            assert_int_equal(lanes[lane].done, TASKS);
            assert_int_equal(lanes[lane].wrong, 0);
        }
        sqt_crew_free(crew);
    }
}

static int begun[2], released[2];

static void
tell(const int *pipe)
{
    if (write(pipe[1], "", 1) != 1)
        abort();
}

static void
await(const int *pipe)
{
    char byte;
    if (read(pipe[0], &byte, 1) != 1)
        abort();
}

static void
stand_still(void *context)
{
    (void)context;
    tell(begun);
    await(released);
}

static void
release(void *context)
{
    (void)context;
    tell(released);
}

/* The only thread stands still in one lane until the last task of the other: nobody but the owner can get there. */
static void
the_owner_helps_while_it_waits(void **state)
{
    struct sqt_crew *const crew = sqt_crew_new(1);
    struct sqt_task still = {.function = stand_still}, last = {.function = release};
    (void)state;
    assert_non_null(crew);
    assert_int_equal(pipe(begun) | pipe(released), 0);
    sqt_crew_give(crew, SQT_LANE_FIGURES, &still);
    await(begun);
    for (unsigned i = 0; i < 10; ++i)
        sqt_crew_give(crew, SQT_LANE_READING, make(SQT_LANE_READING, i));
    sqt_crew_give(crew, SQT_LANE_READING, &last);
    alarm(60);
    sqt_crew_wait(crew, &still);
    sqt_crew_wait(crew, &last);
    alarm(0);
    assert_int_equal(lanes[SQT_LANE_READING].done, 10);
    assert_int_equal(lanes[SQT_LANE_READING].wrong, 0);
    for (unsigned i = 0; i < 10; ++i)
        assert_true(pthread_equal(tasks[SQT_LANE_READING][i].by, pthread_self()));
    sqt_crew_free(crew);
    for (unsigned i = 0; i < 2; ++i) {
        close(begun[i]);
        close(released[i]);
    }
}

static void
what_was_not_given_need_not_be_waited_for(void **state)
{
    struct sqt_crew *const crew = sqt_crew_new(1);
    (void)state;
    alarm(60);
    sqt_crew_wait(crew, make(SQT_LANE_READING, 0));
    alarm(0);
    assert_int_equal(lanes[SQT_LANE_READING].done, 0);
    sqt_crew_free(crew);
}

static void
without_threads_there_is_no_crew(void **state)
{
    pthread_attr_t usual, huge;
    (void)state;
    assert_null(sqt_crew_new(0));
    assert_int_equal(pthread_getattr_default_np(&usual) | pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 60), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    assert_null(sqt_crew_new(1));
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    sqt_crew_free(NULL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(a_lane_keeps_its_order),
        TEST(the_owner_helps_while_it_waits),
        TEST(what_was_not_given_need_not_be_waited_for),
        TEST(without_threads_there_is_no_crew),
    };
    return cmocka_run_group_tests_name("read_crew", tests, NULL, NULL);
}
