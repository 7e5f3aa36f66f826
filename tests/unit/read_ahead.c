/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_ahead.c - what a crew reads ahead is what is read without one, whatever is wrong with the files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crew.h"
#include "read/follow.h"
#include "read/join/origin.h"
#include "read_common.h"

#define RECORDS 30000
#define PER_BLOCK 2500 /* long enough for the crew */
#define KIDS 2

static struct make_bytes segments[KIDS];
static size_t counts[KIDS];
static struct sqt_crew *crew;

/* Blocks deflated and not, long and short, and texts between some. */
static size_t
make_segment(struct make_bytes *bytes, unsigned kid)
{
    static struct sqt_record made[RECORDS];
    struct make_traffic traffic;
    struct sqt_identity who;
    struct sqt_totals totals = {.clean = 1};
    size_t n;
    make_traffic_init(&traffic, kid);
    const size_t count = make_traffic_records(&traffic, made, RECORDS);
    make_identity(&who, kid, kid);
    make_header_for(bytes, &who, 0, MAKE_ZSTD);
    make_text(bytes, "def\t2\t1\tTCP_HIT\n");
    for (size_t first = 0, block = 0; first < count; first += n, ++block) {
        n = block % 4 == 3 ? 100 : PER_BLOCK + block;
        if (n > count - first)
            n = count - first;
        while (first + n < count && (made[first + n].flags & SQT_FLAG_PART))
            --n;
        make_block(bytes, &who, first, made + first, n, block % 3);
        if (block % 5 == 1)
            make_text(bytes, "def\t1\t0\tufs /a\n");
    }
    totals.head = count;
    make_end(bytes, &who, &totals);
    return count;
}

static int
begin(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KIDS; ++i)
        counts[i] = make_segment(&segments[i], i + 1);
    read_directory();
    crew = sqt_crew_new(1);
    return crew ? 0 : -1;
}

static int
end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KIDS; ++i)
        make_free(&segments[i]);
    sqt_crew_free(crew);
    read_directory_remove();
    return 0;
}

/* Reads the file, or the whole directory if the name is empty, without a crew and with one. */
static void
expect_the_same(const char *name)
{
    static struct read_result alone, helped;
    read_crew = NULL;
    read_all(&alone, read_path(name), NULL);
    read_crew = crew;
    read_all(&helped, read_path(name), NULL);
    assert_int_equal(helped.opened, alone.opened);
    assert_int_equal(helped.count, alone.count);
    assert_int_equal(helped.runs, alone.runs);
    assert_int_equal(helped.start_ns, alone.start_ns);
    assert_int_equal(helped.problems, alone.problems);
    if (alone.count) {
        assert_memory_equal(helped.records, alone.records, alone.count * sizeof(*alone.records));
        assert_memory_equal(helped.ns, alone.ns, alone.count * sizeof(*alone.ns));
        assert_memory_equal(helped.number, alone.number, alone.count * sizeof(*alone.number));
        assert_memory_equal(helped.kid, alone.kid, alone.count * sizeof(*alone.kid));
    }
    read_expect_messages(&helped, alone.messages ? alone.messages : "");
    read_free(&alone);
    read_free(&helped);
}

static void
whole_segments(void **state)
{
    (void)state;
    make_file(read_path("1.sqt"), &segments[0]);
    expect_the_same("1.sqt");
}

static void
merged_segments(void **state)
{
    (void)state;
    make_file(read_path("1.sqt"), &segments[0]);
    make_file(read_path("2.sqt"), &segments[1]);
    expect_the_same("");
}

static void
cut_segments(void **state)
{
    (void)state;
    const size_t step = segments[0].size / 41;
    for (size_t size = segments[0].size - 1; size > step; size -= step) {
        make_file(read_path("1.sqt"), &(struct make_bytes){segments[0].data, size, 0});
        expect_the_same("1.sqt");
    }
}

static void
damaged_segments(void **state)
{
    (void)state;
    const size_t step = segments[0].size / 61;
    make_file(read_path("2.sqt"), &segments[1]);
    for (size_t at = step / 2; at < segments[0].size; at += step) {
        segments[0].data[at] ^= 4;
        make_file(read_path("1.sqt"), &segments[0]);
        segments[0].data[at] ^= 4;
        expect_the_same("");
    }
}

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    (void)context;
    (void)severity;
    fail_msg("%s", text);
}

static struct sqt_stream *
open_with(sqt_diagnosis_function *report)
{
    const char *const paths[] = {read_path("1.sqt")};
    struct sqt_stream *const stream = sqt_stream_open(paths, 1, report, NULL);
    assert_non_null(stream);
    sqt_stream_share(stream, crew);
    return stream;
}

static struct sqt_stream *
open_one(void)
{
    return open_with(hear);
}

/* The stream is closed while the crew may be at work for it. */
static void
a_stream_that_ends_early(void **state)
{
    struct sqt_run run;
    (void)state;
    make_file(read_path("1.sqt"), &segments[0]);
    for (unsigned runs = 1; runs < 8; ++runs) {
        struct sqt_stream *const stream = open_one();
        for (unsigned i = 0; i < runs; ++i)
            assert_int_equal(sqt_stream_next(stream, &run), 1);
        sqt_stream_close(stream);
    }
}

static void
append(size_t from, size_t size)
{
    FILE *const f = fopen(read_path("1.sqt"), "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(segments[0].data + from, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* What is cut off when the crew looks is there when the owner does. */
static void
a_segment_that_grows(void **state)
{
    const struct sqt_following nobody = {.context = NULL};
    (void)state;
    const size_t all = segments[0].size, most = all / 8;
    for (size_t first = all - 1; first > all / 4; first -= all / 23) {
        struct sqt_run run;
        uint64_t next = 0;
        size_t size = first;
        make_file(read_path("1.sqt"), &(struct make_bytes){segments[0].data, size, 0});
        struct sqt_stream *const stream = open_one();
        assert_int_equal(sqt_stream_follow(stream, &nobody), 0);
        while (sqt_stream_next(stream, &run)) {
            assert_int_equal(run.first, next);
            next += run.count;
            const size_t piece = all - size < most ? all - size : most;
            append(size, piece);
            size += piece;
        }
        assert_int_equal(size, all);
        assert_int_equal(next, counts[0]);
        sqt_stream_close(stream);
    }
}

/* A reading that does not follow ends at the size that the file had, also if more is added than is read. */
static void
a_segment_that_never_ends(void **state)
{
    (void)state;
    const size_t all = segments[0].size, first = all / 3;
    struct sqt_run run;
    uint64_t next = 0;
    size_t size = first;
    make_file(read_path("1.sqt"), &(struct make_bytes){segments[0].data, first, 0});
    struct sqt_stream *const stream = open_with(NULL);
    for (unsigned runs = 0; sqt_stream_next(stream, &run); ++runs) {
        assert_true(runs < 1000);
        assert_int_equal(run.first, next);
        next += run.count;
        append(size, all - size);
        append(0, all);
        size = all;
    }
    assert_in_range(next, 1, counts[0] / 2);
    sqt_stream_close(stream);
}

/* Otherwise the tests above say nothing. */
static void
it_is_read_ahead(void **state)
{
    struct sqt_run run;
    unsigned begun = 0, unpacked = 0;
    (void)state;
    make_file(read_path("1.sqt"), &segments[0]);
    struct sqt_stream *const stream = open_one();
    while (sqt_stream_next(stream, &run)) {
        struct sqt_origin_reader *const reader = (struct sqt_origin_reader *)run.origin;
        begun += reader->ahead.begun;
        sqt_ahead_settle(reader);
        unpacked += reader->ahead.unpacked;
    }
    sqt_stream_close(stream);
    assert_true(begun >= 8);
    assert_true(unpacked >= 6);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(whole_segments),
        TEST(merged_segments),
        TEST(cut_segments),
        TEST(damaged_segments),
        TEST(a_stream_that_ends_early),
        TEST(a_segment_that_grows),
        TEST(a_segment_that_never_ends),
        TEST(a_segment_that_never_ends),
        TEST(it_is_read_ahead),
    };
    return cmocka_run_group_tests_name("read_ahead", tests, NULL, NULL);
}
