/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_ring.c - live and left-over rings: alone, with their segments, through pointer files, with bytes that lie.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/file/diagnose.h"
#include "read/file/ring.h"
#include "read_fixture.h"

#define CAPACITY 8192

static int
begin(void **state)
{
    (void)state;
    return read_begin(8, 20000, 1);
}

/* A ring with the last records, the first of which are in segments too; tail is a record number. */
static void
ring_of_the_end(const char *path, size_t first, size_t tail, const struct sqt_ring_writer *writer)
{
    make_ring_file(path, &who, CAPACITY, first, tail, made + first, made_count - first, "def\t2\t8\tTCP_MISS\n",
                   writer);
}

static void
a_ring_alone_is_read_from_its_tail(void **state)
{
    const size_t first = unit_at(made_count - 8000), tail = unit_at(made_count - 5000);
    (void)state;
    ring_of_the_end(read_path("r"), first, tail, NULL);
    read_all(&result, read_path("r"), NULL);
    read_expect_records(&result, made + tail, made_count - tail, tail);
    assert_string_equal(sqt_origin_text(result.origin, SQT_DEF_TAG, 8), "TCP_MISS");
    assert_int_equal(result.problems, 0);
}

static void
a_ring_from_its_first_record_says_nothing(void **state)
{
    (void)state;
    made_count = unit_at(8000);
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, NULL);
    read_all(&result, read_path("r"), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

static void
a_directory_joins_segments_and_ring(void **state)
{
    const size_t cut = unit_at(7000), end_of_segments = unit_at(made_count - 4000), first = unit_at(made_count - 8000);
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_segment_file(read_path("b.sqt"), &who, 1, cut, made + cut, end_of_segments - cut, NULL, MAKE_ZLIB);
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    /* The tail just where the segments end, and a flusher that wrote a block and died before it moved the tail. */
    for (unsigned i = 0; i < 2; ++i) {
        ring_of_the_end(read_path("r"), first, i ? unit_at(end_of_segments - 1500) : end_of_segments, NULL);
        read_all(&result, read_path(""), NULL);
        read_expect_records(&result, made, made_count, 0);
        read_expect_messages(&result, "");
    }
}

/* A segment that ends in the middle of its last block: the flusher died, or writes at this moment. */
static void
cut_segment(const char *path, size_t whole, size_t more)
{
    struct make_bytes bytes = {NULL, 0, 0};
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_blocks(&bytes, &who, 0, made, whole, 1000, 0);
    make_block(&bytes, &who, whole, made + whole, more, 0);
    bytes.size -= 200;
    make_file(path, &bytes);
    make_free(&bytes);
}

static void
the_ring_has_what_a_cut_segment_has_not(void **state)
{
    const size_t whole = unit_at(made_count - 6000), more = unit_at(whole + 500) - whole;
    (void)state;
    cut_segment(read_path("a.sqt"), whole, more);
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    ring_of_the_end(read_path("r"), unit_at(made_count - 8000), whole, NULL);
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

static void
a_left_over_segment_doubles_the_ring(void **state)
{
    const size_t cut = unit_at(made_count - 6000);
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_segment_file(read_path("b.sqt"), &who, 1, cut, made + cut, made_count - cut, NULL, 0);
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    ring_of_the_end(read_path("r"), cut, cut, NULL);
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

static void
a_gap_before_the_ring_is_a_loss(void **state)
{
    const size_t cut = unit_at(9000), tail = unit_at(made_count - 5000);
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    ring_of_the_end(read_path("r"), tail, tail, NULL);
    read_all(&result, read_path(""), NULL);
    assert_int_equal(result.count, made_count - (tail - cut) + 1);
    read_expect_lost(&result, cut, SQT_LOSS_MISSING, tail - cut);
    assert_false(result.went_back);
    assert_int_equal(result.problems, 1);
}

static void
open_losses_of_the_ring_become_a_record(void **state)
{
    struct sqt_ring_writer writer = {.lost = 500, .marks = 2, .lost_open = 33};
    (void)state;
    made_count = unit_at(6000);
    writer.lost_from = made[made_count - 1].time + 100;
    writer.lost_until = writer.lost_from + MAKE_TICKS_PER_SECOND / 2 + 2; /* half a second, and less than 1 us */
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, &writer);
    read_all(&result, read_path("r"), NULL);
    assert_int_equal(result.count, made_count + 1);
    read_expect_lost(&result, made_count, SQT_LOSS_RING_FULL, 33);
    assert_int_equal(result.records[made_count].id, writer.lost_from);
    assert_int_equal(result.records[made_count].time, writer.lost_from + MAKE_TICKS_PER_SECOND / 2);
    assert_int_equal(result.origin->lost, 500);
    assert_int_equal(result.origin->head, made_count);
}

static void
a_writer_that_died_within_a_record_left_none(void **state)
{
    (void)state;
    /* What lies at the head was begun and never published. */
    made_count = unit_at(6000);
    made[made_count].event = 0xffff;
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count + 1, NULL, NULL);
    const int fd = open(read_path("r"), O_RDWR);
    const uint64_t head = made_count;
    assert_int_equal(pwrite(fd, &head, sizeof(head), 1024), sizeof(head));
    close(fd);
    read_all(&result, read_path("r"), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

static void
a_ring_that_is_gone_is_no_error_if_its_segments_end(void **state)
{
    (void)state;
    make_pointer_file(read_path("a.ring"), &who, read_path("gone"));
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, made_count, NULL, 0);
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

static void
a_ring_that_is_gone_before_its_segments_end_is_said(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    (void)state;
    make_pointer_file(read_path("a.ring"), &who, read_path("gone"));
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_block(&bytes, &who, 0, made, unit_at(1000), 0);
    make_file(read_path("a.sqt"), &bytes);
    make_free(&bytes);
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, made, unit_at(1000), 0);
    char expected[128];
    snprintf(expected, sizeof(expected), "W a.ring: its ring is gone, and with it what came after record %zu\n",
             unit_at(1000));
    read_expect_messages(&result, expected);
}

static void
a_pointer_without_a_ring(void **state)
{
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 10}, {.tv_sec = time(NULL) - 10}};
    (void)state;
    make_pointer_file(read_path("a.ring"), &who, read_path("gone"));
    read_all(&result, read_path(""), NULL);
    assert_false(result.opened);
    read_expect_messages(&result, "N a.ring: its ring is not there yet, so there is nothing to read\n");
    assert_int_equal(utimensat(AT_FDCWD, read_path("a.ring"), old, 0), 0);
    read_all(&result, read_path(""), NULL);
    assert_false(result.opened);
    read_expect_messages(&result, "W a.ring: its ring is gone, and there is no segment of it\n");
}

static void
a_ring_that_is_being_made_is_no_error(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    char expected[256];
    static const uint8_t zeros[8192];
    (void)state;
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    make_segment_file(read_path("b.sqt"), &who, 0, 0, made, made_count, NULL, 0);
    for (unsigned i = 0; i < 2; ++i) {
        make_file(read_path("r"), &bytes);
        read_all(&result, read_path(""), NULL);
        read_expect_records(&result, made, made_count, 0);
        snprintf(expected, sizeof(expected),
                 "N a.ring: its ring r is being made, or its maker died; there is nothing in it\n");
        read_expect_messages(&result, expected);
        make_append(&bytes, zeros, sizeof(zeros));
    }
    make_free(&bytes);
}

static void
pointer_files_may_say_anything(void **state)
{
    static const char *const texts[] = {"ring=\nid=00\n", "ring=/dev/zero\nid=00112233445566778899aabbccddeeff\n",
                                        "ring=/\nid=00112233445566778899aabbccddeeff\n", "ring=/etc/passwd\nid=xyz\n",
                                        "ring=/etc/passwd\nid=00112233445566778899aabbccddeeff\n"};
    static const char *const expected[] = {"W a.ring: names no ring (it has no lines ring= and id=)\n",
                                           "W a.ring: its ring /dev/zero cannot be opened: Invalid argument\n",
                                           "W a.ring: its ring / cannot be opened: Invalid argument\n",
                                           "W a.ring: names no ring (it has no lines ring= and id=)\n",
                                           "W a.ring: /etc/passwd is not a ring\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        struct make_bytes bytes = {NULL, 0, 0};
        make_append(&bytes, texts[i], strlen(texts[i]));
        make_file(read_path("a.ring"), &bytes);
        make_free(&bytes);
        read_all(&result, read_path(""), NULL);
        assert_false(result.opened);
        read_expect_messages(&result, expected[i]);
    }
}

/* Sets 8 bytes of the ring's file. */
static void
poke(const char *path, size_t offset, uint64_t value)
{
    const int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, &value, sizeof(value), (off_t)offset), sizeof(value));
    close(fd);
}

static void
headers_that_lie_are_refused(void **state)
{
#define AT(field) offsetof(struct sqt_ring_header, field)
    static const struct {
        size_t offset;
        uint64_t value;
        const char *message;
    } lies[] = {
        {AT(version), UINT64_C(4096) << 32 | 2, "E r: written by a newer sqtrace (format 2, this reads 1)\n"},
        {AT(version), UINT64_C(64) << 32 | 1, "E r: damaged ring: the header's size is impossible\n"},
        {AT(compatible), UINT64_C(4) << 32,
         "E r: written by a newer sqtrace (it needs features 0x4 that this does not know)\n"},
        {AT(capacity), 0, "E r: damaged ring: the capacity is impossible\n"},
        {AT(capacity), 12, "E r: damaged ring: the capacity is impossible\n"},
        {AT(capacity), CAPACITY * 2, "E r: damaged ring: the capacity is impossible\n"},
        {AT(capacity), UINT64_C(1) << 63, "E r: damaged ring: the capacity is impossible\n"},
        {AT(text_offset), 8, "E r: damaged ring: an area lies outside of the file\n"},
        {AT(text_offset), UINT64_MAX - 7, "E r: damaged ring: an area lies outside of the file\n"},
        {AT(text_size), UINT64_MAX, "E r: damaged ring: an area lies outside of the file\n"},
        {AT(records_offset), 4097, "E r: damaged ring: an area lies outside of the file\n"},
        {AT(records_offset), UINT64_MAX - 7, "E r: damaged ring: an area lies outside of the file\n"},
        {AT(identity.ticks_per_second), 0, "E r: damaged ring: the clock is impossible\n"},
        {AT(identity.start.realtime_ns), UINT64_MAX, "E r: damaged ring: the clock is impossible\n"},
        {AT(writer.head), UINT64_MAX, "E r: damaged ring: its head and tail are impossible\n"},
        {AT(writer.head), CAPACITY + 1, "E r: damaged ring: its head and tail are impossible\n"},
        {AT(flusher.tail), 6001, "E r: damaged ring: its head and tail are impossible\n"},
    };
    (void)state;
    made_count = unit_at(6000);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); ++i) {
        make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, NULL);
        poke(read_path("r"), lies[i].offset, lies[i].value);
        read_all(&result, read_path("r"), NULL);
        assert_false(result.opened);
        read_expect_messages(&result, lies[i].message);
    }
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, NULL);
    assert_int_equal(truncate(read_path("r"), 4000), 0);
    read_all(&result, read_path("r"), NULL);
    read_expect_messages(&result, "E r: a ring that is cut off within its header\n");
}

static void
records_that_make_no_sense_end_the_ring(void **state)
{
    const size_t bad = unit_at(3000);
    (void)state;
    made_count = unit_at(6000);
    made[bad].time = 5;
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, NULL);
    read_all(&result, read_path("r"), NULL);
    assert_int_equal(result.count, bad + 1);
    read_expect_lost(&result, bad, SQT_LOSS_DAMAGED, made_count - bad);
    char expected[128];
    snprintf(expected, sizeof(expected),
             "W r: damaged ring: record %zu makes no sense; it and the %zu after it are "
             "left out\n",
             bad, made_count - bad - 1);
    read_expect_messages(&result, expected);
}

static void
a_text_area_that_lies_is_bounded(void **state)
{
    (void)state;
    made_count = unit_at(6000);
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, NULL);
    for (unsigned bits = 16; bits <= 64; bits += 24) {
        poke(read_path("r"), AT(writer.text_used), bits < 64 ? UINT64_C(1) << bits : UINT64_MAX);
        read_all(&result, read_path("r"), NULL);
        read_expect_records(&result, made, made_count, 0);
    }
}

static uint64_t
records_offset(const char *path)
{
    uint64_t offset;
    const int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, &offset, sizeof(offset), AT(records_offset)), sizeof(offset));
    close(fd);
    return offset;
}

/* The flusher moves on between the reader's calls: what fell behind the tail is read from the segment, which grew. */
static void
the_tail_may_move_while_the_ring_is_read(void **state)
{
    const size_t flushed = unit_at(made_count - 7000), now = unit_at(made_count - 2000);
    struct make_bytes bytes = {NULL, 0, 0};
    const char *paths[2] = {read_path("a.sqt"), read_path("r")};
    struct sqt_run run;
    size_t count = 0;
    (void)state;

    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_blocks(&bytes, &who, 0, made, flushed, 4096, 0);
    make_file(paths[0], &bytes);
    ring_of_the_end(paths[1], flushed, flushed, NULL);
    struct sqt_stream *const stream = sqt_stream_open(paths, 2, NULL, NULL);
    assert_non_null(stream);
    while (sqt_stream_next(stream, &run)) {
        assert_int_equal(run.first, count);
        assert_memory_equal(run.records, made + count, run.count * sizeof(*made));
        count += run.count;
        if (count >= flushed / 2 && bytes.data) {
            /* The segment grows, the tail moves, and the writer uses the slots again. */
            make_blocks(&bytes, &who, flushed, made + flushed, now - flushed, 1000, 0);
            make_file(paths[0], &bytes);
            make_free(&bytes);
            poke(paths[1], AT(flusher.tail), now);
            poke(paths[1], records_offset(paths[1]) + (flushed & (CAPACITY - 1)) * sizeof(*made), 0);
        }
    }
    assert_int_equal(count, made_count);
    assert_int_equal(sqt_stream_problems(stream), 0);
    sqt_stream_close(stream);
}

/* Somebody else may write to a ring while it is read. Its head is far, so that no reader would come to it. */
static void
the_tail_never_goes_back(void **state)
{
    const uint64_t far = UINT64_C(1) << 60;
    struct sqt_record records[64];
    struct sqt_diagnostics nobody = {.muted = 1};
    struct sqt_ring ring;
    uint64_t tail;
    (void)state;
    made_count = unit_at(6000);
    make_ring_file(read_path("r"), &who, CAPACITY, 0, 0, made, made_count, NULL, NULL);
    poke(read_path("r"), AT(flusher.tail), far);
    poke(read_path("r"), AT(writer.head), far + 8);
    const int fd = open(read_path("r"), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(sqt_ring_open(&ring, fd, "r", &nobody), 0);
    assert_int_equal(sqt_ring_copy(&ring, far, 64, records, &tail), 8);
    poke(read_path("r"), AT(flusher.tail), 0);
    assert_int_equal(sqt_ring_copy(&ring, 0, 64, records, &tail), 0);
    assert_string_equal(ring.wrong, "its tail went back");
    sqt_ring_close(&ring);
}

/* The directory was listed while the flusher went from one segment to the next, and the listing missed one. */
static void
a_segment_that_was_missed_is_looked_for(void **state)
{
    const size_t cut = unit_at(6000), again = unit_at(9000);
    const char *const path = read_path("");
    struct sqt_run run;
    size_t count = 0;
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_segment_file(read_path("c.sqt"), &who, 2, again, made + again, made_count - again, NULL, 0);
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    ring_of_the_end(read_path("r"), unit_at(made_count - 3000), unit_at(made_count - 100), NULL);
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, NULL, NULL);
    assert_non_null(stream);
    make_segment_file(read_path("b.sqt"), &who, 1, cut, made + cut, again - cut, NULL, 0);
    while (sqt_stream_next(stream, &run)) {
        assert_int_equal(run.first, count);
        assert_memory_equal(run.records, made + count, run.count * sizeof(*made));
        count += run.count;
    }
    assert_int_equal(count, made_count);
    assert_int_equal(sqt_stream_problems(stream), 0);
    sqt_stream_close(stream);
}

/* The first segments were made after the directory was listed. */
static void
first_segments_that_were_missed_are_looked_for(void **state)
{
    const size_t cut = unit_at(6000), tail = unit_at(made_count - 3000);
    const char *const path = read_path("");
    struct sqt_run run;
    (void)state;
    for (unsigned with_a_later_one = 0; with_a_later_one <= 1; ++with_a_later_one) {
        size_t count = 0;
        unlink(read_path("a.sqt"));
        make_pointer_file(read_path("a.ring"), &who, read_path("r"));
        ring_of_the_end(read_path("r"), unit_at(made_count - 5000), tail, NULL);
        if (with_a_later_one)
            make_segment_file(read_path("b.sqt"), &who, 1, cut, made + cut, tail - cut, NULL, 0);
        struct sqt_stream *const stream = sqt_stream_open(&path, 1, NULL, NULL);
        assert_non_null(stream);
        make_segment_file(read_path("a.sqt"), &who, 0, 0, made, with_a_later_one ? cut : tail, NULL, 0);
        while (sqt_stream_next(stream, &run)) {
            assert_int_equal(run.first, count);
            count += run.count;
        }
        assert_int_equal(count, made_count);
        sqt_stream_close(stream);
    }
}

/* What is written after the reader began is left to the next reader. */
static void
a_live_trace_is_read_up_to_the_head_it_had(void **state)
{
    const size_t head = unit_at(9000), flushed = unit_at(5000);
    const char *const path = read_path("");
    struct sqt_run run;
    size_t count = 0;
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, flushed, NULL, 0);
    make_pointer_file(read_path("a.ring"), &who, read_path("r"));
    make_ring_file(read_path("r"), &who, CAPACITY, flushed, flushed, made + flushed, head - flushed, NULL, NULL);
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, NULL, NULL);
    assert_non_null(stream);
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, made_count, NULL, 0);
    poke(read_path("r"), AT(writer.head), made_count);
    poke(read_path("r"), AT(flusher.tail), made_count);
    while (sqt_stream_next(stream, &run))
        count += run.count;
    assert_int_equal(count, head);
    assert_int_equal(sqt_stream_problems(stream), 0);
    sqt_stream_close(stream);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, read_end)
    const struct CMUnitTest tests[] = {
        TEST(a_ring_alone_is_read_from_its_tail),
        TEST(a_ring_from_its_first_record_says_nothing),
        TEST(a_directory_joins_segments_and_ring),
        TEST(the_ring_has_what_a_cut_segment_has_not),
        TEST(a_left_over_segment_doubles_the_ring),
        TEST(a_gap_before_the_ring_is_a_loss),
        TEST(open_losses_of_the_ring_become_a_record),
        TEST(a_writer_that_died_within_a_record_left_none),
        TEST(a_ring_that_is_gone_is_no_error_if_its_segments_end),
        TEST(a_ring_that_is_gone_before_its_segments_end_is_said),
        TEST(a_pointer_without_a_ring),
        TEST(a_ring_that_is_being_made_is_no_error),
        TEST(pointer_files_may_say_anything),
        TEST(headers_that_lie_are_refused),
        TEST(records_that_make_no_sense_end_the_ring),
        TEST(a_text_area_that_lies_is_bounded),
        TEST(the_tail_may_move_while_the_ring_is_read),
        TEST(the_tail_never_goes_back),
        TEST(a_segment_that_was_missed_is_looked_for),
        TEST(first_segments_that_were_missed_are_looked_for),
        TEST(a_live_trace_is_read_up_to_the_head_it_had),
    };
    return cmocka_run_group_tests_name("read_ring", tests, NULL, NULL);
}
