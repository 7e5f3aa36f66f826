/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_late.c - a stream that begins late: where it begins, that nothing is missing from there on, and what is left out;
 * and last segments that come late, of processes that are about to be forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/follow.h"
#include "read_common.h"

#define SECOND INT64_C(1000000000)
#define SEGMENTS 8
#define PER_SEGMENT 200
#define PER_BLOCK 20 /* a record a second */
#define RECORDS (SEGMENTS * PER_SEGMENT)

/* What a stream handed out. */
static struct taken {
    uint64_t first, next; /* numbers of records of kid 1 */
    int64_t first_ns, last_ns;
    unsigned kid_2, messages;
} taken;

static void
late_hear(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity;
    fprintf(stderr, "# %s\n", text);
    ++taken.messages;
}

/* Segments of a process that begins `delay` seconds after the first one, with a definition that only their first frames
 * have. */
static void
late_write(uint32_t kid, unsigned segments, unsigned delay)
{
    struct sqt_record records[PER_SEGMENT];
    struct sqt_identity who;
    char name[32];
    make_identity(&who, kid, kid);
    for (unsigned s = 0; s < segments; ++s) {
        struct make_bytes bytes = {NULL, 0, 0};
        const struct sqt_totals totals = {.head = (s + 1) * PER_SEGMENT, .clean = s + 1 == segments};
        memset(records, 0, sizeof(records));
        for (unsigned i = 0; i < PER_SEGMENT; ++i) {
            records[i].time = MAKE_START + (delay + s * PER_SEGMENT + i) * MAKE_TICKS_PER_SECOND;
            records[i].event = SQT_EV_ROTATE;
        }
        make_header(&bytes, &who, s);
        make_text(&bytes, "def\t2\t7\tTCP_HIT\n");
        make_blocks(&bytes, &who, s * PER_SEGMENT, records, PER_SEGMENT, PER_BLOCK, MAKE_ZLIB);
        make_end(&bytes, &who, &totals);
        snprintf(name, sizeof(name), "kid-%u-%u.sqt", kid, s);
        make_file(read_path(name), &bytes);
        make_free(&bytes);
    }
}

static void
late_take(const struct sqt_run *run)
{
    if (run->origin->identity.kid == 2) {
        ++taken.kid_2;
        return;
    }
    if (taken.next == 0) {
        taken.first = taken.next = run->first;
        taken.first_ns = sqt_line_ns(&run->line, run->records[0].time);
        assert_string_equal(sqt_origin_text(run->origin, SQT_DEF_TAG, 7), "TCP_HIT");
    }
    assert_int_equal(run->first, taken.next);
    taken.next += run->count;
    taken.last_ns = sqt_line_ns(&run->line, run->records[run->count - 1].time);
}

static void
late_read(int64_t last_ns, uint64_t bytes)
{
    const char *const path = read_path("");
    struct sqt_following following = {.context = NULL};
    struct sqt_run run;
    memset(&taken, 0, sizeof(taken));
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, late_hear, NULL);
    assert_non_null(stream);
    assert_int_equal(sqt_stream_follow(stream, &following), 0);
    assert_int_equal(sqt_stream_now(stream), INT64_MIN);
    sqt_stream_begin_late(stream, last_ns, bytes);
    while (sqt_stream_next(stream, &run))
        late_take(&run);
    sqt_stream_close(stream);
    assert_int_equal(taken.messages, 0);
}

static int
late_begin(void **state)
{
    (void)state;
    return read_directory() ? 0 : -1;
}

static int
late_end(void **state)
{
    (void)state;
    read_directory_remove();
    return 0;
}

static void
only_the_last_minutes_are_read_and_all_of_them(void **state)
{
    (void)state;
    late_write(1, SEGMENTS, 0);
    for (int64_t seconds = 1; seconds < RECORDS; seconds += 37) {
        late_read(seconds * SECOND, UINT64_MAX);
        assert_int_equal(taken.next, RECORDS);
        assert_int_equal(taken.last_ns, (RECORDS - 1) * SECOND);
        assert_true(taken.last_ns - taken.first_ns >= seconds * SECOND);
        assert_true(taken.last_ns - taken.first_ns < (seconds + PER_BLOCK + 1) * SECOND);
        assert_int_equal(taken.first % PER_BLOCK, 0);
    }
    late_read(2 * RECORDS * SECOND, UINT64_MAX);
    assert_int_equal(taken.first, 0);
    assert_int_equal(taken.next, RECORDS);
}

static void
no_more_bytes_are_read_than_asked_for(void **state)
{
    (void)state;
    late_write(1, SEGMENTS, 0);
    late_read(INT64_MAX / 4, 2000);
    assert_int_equal(taken.next, RECORDS);
    assert_true(taken.first > 0);
    const uint64_t first = taken.first;
    late_read(INT64_MAX / 4, 4000);
    assert_true(taken.first < first);
    assert_int_equal(taken.next, RECORDS);
}

/* Of two limits the stricter one counts. */
static void
the_time_and_the_bytes_together(void **state)
{
    (void)state;
    late_write(1, SEGMENTS, 0);
    for (int64_t seconds = 50; seconds < RECORDS; seconds *= 3) {
        late_read(seconds * SECOND, UINT64_MAX);
        const uint64_t by_time = taken.first;
        for (uint64_t bytes = 150; bytes < 20000; bytes = bytes * 5 / 3) {
            late_read(2 * RECORDS * SECOND, bytes);
            const uint64_t by_bytes = taken.next ? taken.first : RECORDS;
            late_read(seconds * SECOND, bytes);
            assert_int_equal(taken.next ? taken.first : RECORDS, by_time > by_bytes ? by_time : by_bytes);
        }
    }
}

static void
a_process_that_ended_before_is_left_out(void **state)
{
    (void)state;
    late_write(1, SEGMENTS, 0);
    late_write(2, 1, 0);
    late_read(100 * SECOND, UINT64_MAX);
    assert_int_equal(taken.kid_2, 0);
    assert_int_equal(taken.next, RECORDS);
    late_read(2 * RECORDS * SECOND, UINT64_MAX);
    assert_true(taken.kid_2 > 0);
}

/* ---- processes that end at a time ---- */

#define AT_A_TIME (2 * SQT_FOLLOW_ENDED)
#define EACH 100
static struct together {
    struct sqt_record records[EACH];
    struct sqt_identity who[AT_A_TIME];
    unsigned got[AT_A_TIME], ended;
} together;

static void
count_together(void *context, const struct sqt_origin *origin)
{
    (void)context, (void)origin;
    ++together.ended;
}

static const char *
name_of(unsigned i, const char *what)
{
    char name[32];
    snprintf(name, sizeof(name), "%u%s", i, what);
    return read_path(name);
}

static void
together_begin(void)
{
    memset(&together, 0, sizeof(together));
    read_simple(together.records, EACH);
    for (unsigned i = 0; i < AT_A_TIME; ++i) {
        make_identity(&together.who[i], i + 1, i + 1);
        together.who[i].start.monotonic_ns = SECOND; /* long ago, by the clock of this machine */
        make_ring_file(name_of(i, ".inring"), &together.who[i], 1024, 0, 0, together.records, EACH, NULL, NULL);
        make_pointer_file(name_of(i, ".ring"), &together.who[i], name_of(i, ".inring"));
    }
}

/* As libsqtrace does at a stop: the segment first. */
static void
together_end(void)
{
    for (unsigned i = 0; i < AT_A_TIME; ++i) {
        make_segment_file(name_of(i, ".sqt"), &together.who[i], 0, 0, together.records, EACH, NULL, 0);
        assert_int_equal(unlink(name_of(i, ".inring")), 0);
        assert_int_equal(unlink(name_of(i, ".ring")), 0);
    }
}

static void
together_read(struct sqt_stream *stream)
{
    struct sqt_run run;
    while (sqt_stream_next(stream, &run))
        together.got[run.origin->identity.kid - 1] += (unsigned)run.count;
}

/* All end between two looks at their directory, more of them than are kept. */
static void
a_segment_of_a_process_that_is_forgotten_is_not_a_new_process(void **state)
{
    const struct sqt_following following = {NULL, count_together, NULL};
    (void)state;
    together_begin();
    memset(&taken, 0, sizeof(taken));
    const char *const path = read_path("");
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, late_hear, NULL);
    assert_non_null(stream);
    assert_int_equal(sqt_stream_follow(stream, &following), 0);
    sqt_stream_wait(stream, 300); /* longer than between two looks */
    together_read(stream);
    together_end();
    for (unsigned i = 0; i < 10; ++i) {
        sqt_stream_wait(stream, 0);
        together_read(stream);
    }
    assert_int_equal(together.ended, AT_A_TIME);
    sqt_stream_wait(stream, 300);
    together_read(stream);
    sqt_stream_close(stream);
    for (unsigned i = 0; i < AT_A_TIME; ++i)
        assert_int_equal(together.got[i], EACH);
    assert_int_equal(together.ended, AT_A_TIME);
    assert_int_equal(taken.messages, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_last_minutes_are_read_and_all_of_them, late_begin, late_end),
        cmocka_unit_test_setup_teardown(no_more_bytes_are_read_than_asked_for, late_begin, late_end),
        cmocka_unit_test_setup_teardown(the_time_and_the_bytes_together, late_begin, late_end),
        cmocka_unit_test_setup_teardown(a_process_that_ended_before_is_left_out, late_begin, late_end),
        cmocka_unit_test_setup_teardown(a_segment_of_a_process_that_is_forgotten_is_not_a_new_process, late_begin,
                                        late_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
