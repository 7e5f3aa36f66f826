/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_heartbeat.c - when the flusher's thread came late: what is told of it, and when nothing is.
 */
#include "trace_support.h"

#include <time.h>

#include "trace/clock/clock-internal.h"
#include "trace/ring/emit-internal.h"
#include "trace/clock/heartbeat-internal.h"

#define CAPACITY 256u
#define TEXT_SIZE 65536u
#define MS UINT64_C(1000000)

static struct sqt_ring_header *ring;
static struct sqt_heartbeat heartbeat;

/* The thread that runs the tests is the main thread and the flusher's. */
static int
setup(void **state)
{
    (void)state;
    ring = ring_in_memory(CAPACITY, TEXT_SIZE, SQT_CLOCK_MONOTONIC);
    sqt_groups = SQT_GROUP_LOOP;
    sqt_heartbeat_init(&heartbeat, SQT_CLOCK_MONOTONIC);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    sqt_groups = 0;
    ring_in_memory_end(ring);
    return 0;
}

static void
sleep_ms(long ms)
{
    const struct timespec pause = {0, ms * (long)MS};
    nanosleep(&pause, NULL);
}

static void
compute_ms(uint64_t ms)
{
    struct timespec used;
    uint64_t now, until = 0;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        now = (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
        until = until ? until : now + ms * MS;
    } while (now < until);
}

/* Tells what waits, and returns how many records that were. */
static uint64_t
tell(void)
{
    const uint64_t before = ring->writer.head;
    sqt_heartbeat_tell(&heartbeat);
    return ring->writer.head - before;
}

static const struct sqt_record *
newest(void)
{
    return &sqt_ring_records(ring)[(ring->writer.head - 1) & (CAPACITY - 1)];
}

/* The flusher wakes, late because it waited for a processor for that long.  set: by a timer of 20 ms that was set then. */
static void
beats(const struct sqt_beat *set, uint64_t queued_ms)
{
    sqt_heartbeat_wakes(&heartbeat, set, 20 * MS);
    sqt_heartbeat_beats(&heartbeat, 0, queued_ms * MS);
}

/* Whether it slept about as long, as the numbers of the tests want it: on a busy machine it may sleep longer. */
static int
slept_well(unsigned ms)
{
    const uint64_t from = sqt_monotonic_ns();
    sleep_ms(ms);
    return sqt_monotonic_ns() - from < (ms + 8) * MS;
}

/* The flusher rests for 30 ms, and 80 ms pass.  Returns when it was due. */
static uint64_t
rests_too_long(void)
{
    do {
        heartbeat.woke.ns = 0; /* no work goes before it */
        sqt_heartbeat_rests(&heartbeat, 30 * MS, 0, 0);
    } while (!slept_well(80));
    return heartbeat.due_ns;
}

/* The record before its part, if it has one. */
static const struct sqt_record *
newest_late(void)
{
    const struct sqt_record *const last = newest();
    return last->event == SQT_EV_PART_HEARTBEAT_DUE ? &sqt_ring_records(ring)[(ring->writer.head - 2) & (CAPACITY - 1)]
                                                    : last;
}

static void
a_beat_in_time_is_not_told(void **state)
{
    (void)state;
    const uint64_t before = sqt_monotonic_ns();
    const uint64_t until = sqt_heartbeat_rests(&heartbeat, 20000 * MS, 0, 0);
    assert_in_range(until, before + 20000 * MS, sqt_monotonic_ns() + 20000 * MS);
    sleep_ms(60);
    beats(NULL, 0); /* before its time */
    heartbeat.woke = (struct sqt_beat){sqt_monotonic_ns(), sqt_monotonic_ns()};
    sqt_heartbeat_rests(&heartbeat, 20 * MS, 0, 0);
    heartbeat.due_ns = sqt_monotonic_ns() - 5 * MS; /* a little late */
    beats(NULL, 0);
    assert_int_equal(tell(), 0);
}

static void
a_late_beat_is_told_once(void **state)
{
    (void)state;
    const uint64_t before = sqt_monotonic_ns();
    sqt_heartbeat_rests(&heartbeat, 5 * MS, 0, 0);
    const uint64_t rested = sqt_monotonic_ns();
    sleep_ms(40);
    const uint64_t woke = sqt_monotonic_ns();
    beats(NULL, 0);
    const uint64_t after = sqt_monotonic_ns();
    assert_int_equal(tell(), 2);
    assert_int_equal(newest_late()->event, SQT_EV_HEARTBEAT_LATE);
    assert_in_range(newest_late()->id, before, rested);
    assert_in_range(newest_late()->arg, woke, after);
    assert_in_range(newest_late()->aux, 0, 10000); /* it slept */
    assert_int_equal(newest()->event, SQT_EV_PART_HEARTBEAT_DUE);
    assert_in_range(newest()->id, before + 5 * MS, rested + 5 * MS);
    assert_int_equal(tell(), 0);
}

/* It waited for a processor when it was due, so nothing had stopped it before. */
static void
a_late_beat_without_a_processor_is_told_from_when_it_was_due(void **state)
{
    (void)state;
    const uint64_t due = rests_too_long();
    beats(NULL, 40);
    assert_int_equal(tell(), 1);
    assert_int_equal(newest()->event, SQT_EV_HEARTBEAT_LATE);
    assert_in_range(newest()->id, due - MS, due + MS);
    rests_too_long();
    beats(NULL, 10); /* that does not explain it */
    assert_int_equal(tell(), 2);
}

/* The main thread set a timer that ends the rest: from then on it is known not to have run. */
static void
a_late_timer_is_told_from_when_it_was_set(void **state)
{
    (void)state;
    struct sqt_beat set;
    do {
        heartbeat.woke.ns = 0;
        sqt_heartbeat_rests(&heartbeat, 400 * MS, 0, 0);
        sleep_ms(20);
        set = (struct sqt_beat){sqt_monotonic_ns(), sqt_monotonic_ns()};
    } while (!slept_well(50));
    beats(&set, 0);
    assert_int_equal(tell(), 2);
    assert_int_equal(newest_late()->id, set.ticks);
    assert_in_range(newest()->id, set.ticks + 19 * MS, set.ticks + 21 * MS);
    assert_in_range(newest_late()->arg, set.ticks + 50 * MS, sqt_monotonic_ns());
}

/* It was set before this rest, and ended another one. */
static void
a_timer_of_an_earlier_rest_does_not_count(void **state)
{
    (void)state;
    const struct sqt_beat set = {sqt_monotonic_ns(), sqt_monotonic_ns()};
    sqt_heartbeat_rests(&heartbeat, 400 * MS, 0, 0);
    sleep_ms(60);
    beats(&set, 0);
    assert_int_equal(tell(), 0);
}

static void
what_the_main_thread_computed_meanwhile(void **state)
{
    (void)state;
    sqt_heartbeat_rests(&heartbeat, 5 * MS, 0, 0);
    compute_ms(40);
    beats(NULL, 0);
    assert_int_equal(tell(), 2);
    assert_in_range(newest_late()->aux, 40000, 60000);
}

static pthread_barrier_t both;

static void *
beat_late(void *context)
{
    (void)context;
    sqt_heartbeat_rests(&heartbeat, 5 * MS, 0, 0);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both); /* the main thread computes meanwhile */
    beats(NULL, 0);
    return NULL;
}

/* The flusher has a thread of its own, and what that computes is not meant. */
static void
what_the_main_thread_computed_is_its_own(void **state)
{
    (void)state;
    pthread_t flusher;
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&flusher, NULL, beat_late, NULL), 0);
    pthread_barrier_wait(&both);
    compute_ms(60);
    pthread_barrier_wait(&both);
    pthread_join(flusher, NULL);
    pthread_barrier_destroy(&both);
    assert_int_equal(tell(), 2);
    assert_in_range(newest_late()->aux, 60000, 80000);
}

/* The flusher works for so long: for parts of it, it computes, its disk keeps it waiting, and it waits for a processor.
 * The main thread computes for 5 ms. */
static uint32_t
told_of_work(uint64_t ms, uint64_t computes_ms, uint64_t disk_ms, uint64_t queued_ms)
{
    sqt_heartbeat_wakes(&heartbeat, NULL, 0);
    sqt_heartbeat_beats(&heartbeat, 7 * MS, 0); /* before its time */
    heartbeat.woke.ns -= ms * MS;
    heartbeat.woke.ticks -= ms * MS;
    heartbeat.own_ns -= computes_ms * MS;
    heartbeat.main_thread_ns -= 5 * MS;
    sqt_heartbeat_rests(&heartbeat, 500 * MS, (7 + disk_ms) * MS, queued_ms * MS);
    assert_int_equal(tell(), 1);
    assert_true(newest()->arg - newest()->id >= ms * MS);
    return newest()->aux;
}

static void
long_work_of_the_flusher_is_marked(void **state)
{
    (void)state;
    sqt_heartbeat_rests(&heartbeat, 500 * MS, 0, 0);
    assert_int_equal(told_of_work(80, 0, 80, 0), SQT_HEARTBEAT_AT_WORK);
    assert_int_equal(told_of_work(80, 80, 0, 0), SQT_HEARTBEAT_AT_WORK);
    assert_int_equal(told_of_work(80, 0, 0, 80), SQT_HEARTBEAT_AT_WORK);
    assert_int_equal(told_of_work(80, 10, 10, 10), SQT_HEARTBEAT_AT_WORK);
    assert_int_equal(told_of_work(8000, 10, 10, 10), SQT_HEARTBEAT_AT_WORK); /* less than an eighth, but 30 ms */
    assert_in_range(told_of_work(800, 5, 5, 5), 5000, 10000);                /* it did not run */
}

static void
with_the_group_off_nothing_is_told(void **state)
{
    (void)state;
    sqt_heartbeat_rests(&heartbeat, 0, 0, 0);
    sleep_ms(40);
    beats(NULL, 0);
    sqt_groups = SQT_GROUP_CLIENT;
    assert_int_equal(tell(), 0);
    sqt_groups = SQT_GROUP_LOOP;
    assert_int_equal(tell(), 0); /* nor later */
}

static void
more_than_fit(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SQT_HEARTBEAT_WAITING + 10; ++i) {
        sqt_heartbeat_rests(&heartbeat, 0, 0, 0);
        heartbeat.rested.ns -= 30 * MS;
        heartbeat.rested.ticks -= 30 * MS;
        heartbeat.due_ns -= 28 * MS;
        beats(NULL, 0);
    }
    assert_int_equal(tell(), 2 * SQT_HEARTBEAT_WAITING);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_beat_in_time_is_not_told),
        TEST(a_late_beat_is_told_once),
        TEST(a_late_beat_without_a_processor_is_told_from_when_it_was_due),
        TEST(a_late_timer_is_told_from_when_it_was_set),
        TEST(a_timer_of_an_earlier_rest_does_not_count),
        TEST(what_the_main_thread_computed_meanwhile),
        TEST(what_the_main_thread_computed_is_its_own),
        TEST(long_work_of_the_flusher_is_marked),
        TEST(with_the_group_off_nothing_is_told),
        TEST(more_than_fit),
    };
    return cmocka_run_group_tests_name("trace_heartbeat", tests, NULL, NULL);
}
