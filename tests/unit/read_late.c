/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_late.c - a stream that begins late: where it begins, that nothing is missing from there on, and what is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_last_minutes_are_read_and_all_of_them, late_begin, late_end),
        cmocka_unit_test_setup_teardown(no_more_bytes_are_read_than_asked_for, late_begin, late_end),
        cmocka_unit_test_setup_teardown(a_process_that_ended_before_is_left_out, late_begin, late_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
