/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_loop.c - the passes of the event loop: what is told of each, and when nothing is.
 */
#include "trace_support.h"

#include <time.h>
#include <unistd.h>

#include "trace/calls/calls-internal.h"
#include "trace/ring/define-internal.h"
#include "trace/ring/emit-internal.h"

#define CAPACITY 64u
#define TEXT_SIZE 65536u

static struct sqt_ring_header *ring;

static int
setup(uint32_t clock)
{
    ring = ring_in_memory(CAPACITY, TEXT_SIZE, clock);
    sqt_groups = SQT_GROUP_LOOP;
    return sqt_define_begin(ring);
}

/* The TSC has a path of its own. */
static int
setup_tsc(void **state)
{
    (void)state;
#if SQT_HAVE_CYCLES
    return setup(SQT_CLOCK_TSC);
#else
    return setup(SQT_CLOCK_MONOTONIC);
#endif
}

static int
setup_monotonic(void **state)
{
    (void)state;
    return setup(SQT_CLOCK_MONOTONIC);
}

static int
teardown(void **state)
{
    (void)state;
    sqt_groups = 0;
    sqt_define_end();
    ring_in_memory_end(ring);
    return 0;
}

/* The records so far have been taken, as a flusher does that. */
static void
take(void)
{
    __atomic_store_n(&ring->flusher.tail, ring->writer.head, __ATOMIC_RELEASE);
}

/* The newest record but that many. */
static const struct sqt_record *
newest(unsigned but)
{
    return &sqt_ring_records(ring)[(ring->writer.head - 1 - but) & (CAPACITY - 1)];
}

/* Does an activity of 2 ms at least. */
static void
work(const char *name)
{
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    sqt_activity_ends(name);
}

static uint64_t
now(void)
{
    return sqt_read_clock(sqt_clock);
}

/* The two newest records tell of a wait that has begun, and that the longest activity before it was this one. */
static void
check_longest(const char *name, uint64_t most)
{
    const struct sqt_record *const wait = newest(1), *const part = newest(0);
    assert_int_equal(wait->event, SQT_EV_WAIT_BEGIN);
    assert_int_equal(wait->flags & ~SQT_FLAG_PART, 1);
    assert_int_equal(wait->arg, most);
    assert_int_equal(part->event, SQT_EV_PART_ACTIVITY);
    assert_true(part->flags & SQT_FLAG_PART);
    assert_int_equal(part->time, wait->time);
    assert_true(part->id < part->arg);
    assert_true(part->arg <= wait->time);
    assert_string_equal(definition(sqt_ring_text_area(ring), SQT_DEF_ACTIVITY, part->aux), name);
}

static void
the_longest_activity_of_a_pass_is_told(void **state)
{
    (void)state;
    const uint64_t first = now();
    sqt_loop_works(3);
    assert_int_equal(newest(0)->event, SQT_EV_WAIT_END);
    assert_int_equal(newest(0)->arg, 3);
    assert_int_equal(newest(0)->aux, 0);
    sqt_activity_ends("short");
    const uint64_t before = now();
    work("one");
    work("two");
    work("two");
    usleep(150000); /* longer than the others, even where one of them is held up */
    work("long");
    const uint64_t after = now();
    sqt_activity_ends("short");
    sqt_loop_waits(700);
    check_longest("long", 700);
    const struct sqt_record *const part = newest(0);
    assert_true(part->id >= before && part->arg <= after);
    assert_true(part->arg - part->id >= (after - before) / 2); /* 152 ms of 158 */
    take();
    sqt_loop_works(1); /* another pass has another longest one */
    assert_true(newest(0)->time >= after && first <= before);
    work("another");
    sqt_loop_waits(1);
    check_longest("another", 1);
}

static void
what_comes_last_is_the_loop_itself(void **state)
{
    (void)state;
    sqt_loop_works(0);
    sqt_activity_ends("short");
    const uint64_t before = now();
    usleep(3000);
    const uint64_t after = now();
    sqt_loop_waits(-1);
    check_longest("event loop", UINT64_MAX);
    assert_true(newest(0)->id <= before);
    assert_true(newest(0)->arg >= after);
    sqt_loop_works(-1);
    assert_int_equal(newest(0)->arg, 0); /* an error is nothing that is ready */
    assert_int_equal(newest(0)->aux, 1);
    sqt_loop_waits(0);
    check_longest("event loop", 0); /* there was nothing else */
}

static void
a_wait_that_ends_no_known_pass_is_told_alone(void **state)
{
    (void)state;
    sqt_loop_waits(5);
    assert_int_equal(ring->writer.head, 1);
    assert_int_equal(newest(0)->event, SQT_EV_WAIT_BEGIN);
    assert_int_equal(newest(0)->flags, 0);
    sqt_loop_waits(5); /* nor does one without an end */
    assert_int_equal(ring->writer.head, 2);
    sqt_loop_works(1);
    sqt_loop_waits(5);
    check_longest("event loop", 5);
    assert_int_equal(ring->writer.head, 5);
}

/* The quick way ends where the ring does, and the careful one takes over. */
static void
passes_wrap_around(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10 * CAPACITY; ++i) {
        sqt_loop_works((int)i);
        assert_int_equal(newest(0)->arg, i);
        if (i % 3)
            sqt_activity_ends("short");
        if (i % 7 == 0)
            sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3);
        sqt_loop_waits((int)i);
        const struct sqt_record *const part = newest(0);
        assert_int_equal(newest(1)->event, SQT_EV_WAIT_BEGIN);
        assert_int_equal(newest(1)->arg, i);
        assert_int_equal(part->event, SQT_EV_PART_ACTIVITY);
        assert_true(part->id <= part->arg && part->arg <= part->time);
        take();
    }
}

static void
nothing_is_told_where_the_ring_is_full(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CAPACITY; ++i) {
        sqt_loop_works(1);
        sqt_loop_waits(1);
    }
    struct sqt_totals totals;
    sqt_ring_totals(ring, &totals);
    assert_true(totals.lost > 0);
    assert_int_equal(totals.head - totals.marks + totals.lost, 3 * CAPACITY);
}

static uint64_t
waits_with_a_part(const struct decoded *d, uint64_t *waits)
{
    uint64_t parts = 0;
    *waits = 0;
    for (uint64_t i = 0; i < d->count; ++i) {
        *waits += d->records[i].event == SQT_EV_WAIT_BEGIN;
        parts += d->records[i].event == SQT_EV_PART_ACTIVITY;
    }
    return parts;
}

/* Where the group was off for some time, what Squid did then is no activity. */
static void
a_pass_in_which_the_group_was_off_is_not_told(void **state)
{
    struct place *const place = *state;
    static const char *const on[] = {"events=loop", NULL}, *const off[] = {"events=client", NULL};
    struct sqt_config config;
    assert_int_equal(place_start(place, on), 0);
    sqt_loop_waits(1);
    sqt_loop_works(1);
    place_config(place, off, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    assert_false(sqt_on(SQT_GROUP_LOOP));
    sqt_loop_waits(1); /* is asked for with either group, and tells what is on */
    place_config(place, on, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    sqt_activity_ends("short"); /* the rest of a pass whose begin is unknown */
    sqt_loop_waits(1);
    sqt_loop_works(1);
    sqt_loop_waits(1);
    sqt_stop();
    struct decoded d;
    uint64_t waits;
    decode(&d, place->directory, NULL);
    assert_int_equal(waits_with_a_part(&d, &waits), 1);
    assert_int_equal(waits, 3);
    decode_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_EACH_CLOCK(the_longest_activity_of_a_pass_is_told),
        WITH_EACH_CLOCK(what_comes_last_is_the_loop_itself),
        WITH_EACH_CLOCK(a_wait_that_ends_no_known_pass_is_told_alone),
        WITH_EACH_CLOCK(passes_wrap_around),
        WITH_EACH_CLOCK(nothing_is_told_where_the_ring_is_full),
        PLACE_TEST(a_pass_in_which_the_group_was_off_is_not_told),
    };
    return cmocka_run_group_tests_name("trace_loop", tests, NULL, NULL);
}
