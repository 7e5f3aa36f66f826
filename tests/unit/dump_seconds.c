/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_seconds.c - samples of a main thread that last across the end of a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "figure/loop/seconds.h"

#define MS INT64_C(1000000)

static struct sqt_loop_second told[8]; /* by the second */

static void
print(struct sqt_job *job, struct sqt_loop_second *second)
{
    (void)job;
    told[second->begin / SQT_SECOND] = *second;
}

static void
add(struct sqt_seconds *seconds, const struct sqt_origin *origin, int64_t from, int64_t until, int waits,
    int64_t blocked)
{
    struct sqt_loop_sample_row k = {
        .origin = origin, .from = from, .until = until, .waits = waits, .throttled = SQT_MISSING};
    k.parts[SQT_LOOP_BLOCKED] = blocked;
    k.parts[SQT_LOOP_IDLE] = until - from - blocked;
    if (!waits)
        k.since = blocked;
    sqt_seconds_add(NULL, seconds, &k);
}

/* A pass is blocked from 850 ms on.  The last look at it is at 900 ms; it is over at 960 ms, and the loop waits until the
 * next look, at 1,360 ms.  All of the call was in the first second. */
static void
rest_of_a_pass(void **state)
{
    (void)state;
    const struct sqt_origin origin = {0};
    struct sqt_seconds seconds = {.print = print};
    memset(told, 0, sizeof(told));
    add(&seconds, &origin, 0, 900 * MS, 0, 50 * MS);
    add(&seconds, &origin, 900 * MS, 1360 * MS, 1, 60 * MS);
    sqt_seconds_end(NULL, &seconds);
    assert_int_equal(told[0].parts[SQT_LOOP_BLOCKED], 110 * MS);
    assert_int_equal(told[0].parts[SQT_LOOP_IDLE], 890 * MS);
    assert_int_equal(told[1].parts[SQT_LOOP_BLOCKED], 0);
    assert_int_equal(told[1].parts[SQT_LOOP_IDLE], 360 * MS);
}

/* The same, but the second ends within the rest of the pass. */
static void
rest_across_the_end(void **state)
{
    (void)state;
    const struct sqt_origin origin = {0};
    struct sqt_seconds seconds = {.print = print};
    memset(told, 0, sizeof(told));
    add(&seconds, &origin, 0, 980 * MS, 0, 80 * MS);
    add(&seconds, &origin, 980 * MS, 1400 * MS, 1, 100 * MS);
    sqt_seconds_end(NULL, &seconds);
    assert_int_equal(told[0].parts[SQT_LOOP_BLOCKED], 100 * MS);
    assert_int_equal(told[1].parts[SQT_LOOP_BLOCKED], 80 * MS);
}

/* Two looks in waits: what was done between them was done in many short passes, somewhere between. */
static void
short_passes(void **state)
{
    (void)state;
    const struct sqt_origin origin = {0};
    struct sqt_seconds seconds = {.print = print};
    memset(told, 0, sizeof(told));
    add(&seconds, &origin, 0, 800 * MS, 1, 0);
    add(&seconds, &origin, 800 * MS, 1200 * MS, 1, 40 * MS);
    sqt_seconds_end(NULL, &seconds);
    assert_int_equal(told[0].parts[SQT_LOOP_BLOCKED], 20 * MS);
    assert_int_equal(told[1].parts[SQT_LOOP_BLOCKED], 20 * MS);
}

/* Each process has a pass of its own. */
static void
two_processes(void **state)
{
    (void)state;
    const struct sqt_origin one = {.index = 0}, two = {.index = 1};
    struct sqt_seconds seconds = {.print = print};
    memset(told, 0, sizeof(told));
    add(&seconds, &one, 0, 900 * MS, 0, 50 * MS);
    add(&seconds, &two, 0, 900 * MS, 1, 0);
    add(&seconds, &two, 900 * MS, 1100 * MS, 1, 40 * MS);
    memset(told, 0, sizeof(told));
    add(&seconds, &two, 2000 * MS, 2100 * MS, 1, 0);
    assert_int_equal(told[1].parts[SQT_LOOP_BLOCKED], 20 * MS);
    sqt_seconds_end(NULL, &seconds);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_of_a_pass),
        cmocka_unit_test(rest_across_the_end),
        cmocka_unit_test(short_passes),
        cmocka_unit_test(two_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
