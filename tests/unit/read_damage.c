/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_damage.c - segments that are cut off, flipped, or put together wrongly: one line each, and the rest is read.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "read_common.h"

#define RECORDS 600
#define PER_BLOCK 100

static struct sqt_record made[RECORDS];
static size_t made_count;
static struct sqt_identity who;
static struct make_bytes segment;
static size_t block_offset[16], block_first[16], blocks;
static struct read_result result;

static int
begin(void **state)
{
    struct make_traffic traffic;
    const struct sqt_totals totals = {.clean = 1};
    (void)state;
    make_traffic_init(&traffic, 9);
    made_count = make_traffic_records(&traffic, made, RECORDS);
    /* Anchors some milliseconds apart, so that the rate shows in them. */
    for (size_t i = 0; i < made_count; ++i)
        made[i].time = MAKE_START + (made[i].time - MAKE_START) * 100;
    make_identity(&who, 1, 1);
    make_header_for(&segment, &who, 0, MAKE_ZSTD);
    make_text(&segment, "def\t2\t1\tTCP_HIT\n");
    for (size_t first = 0, n; first < made_count; first += n) {
        for (n = first + PER_BLOCK < made_count ? PER_BLOCK : made_count - first;
             first + n < made_count && (made[first + n].flags & SQT_FLAG_PART); --n)
            ;
        block_first[blocks] = first;
        block_offset[blocks++] = segment.size;
        make_block(&segment, &who, first, made + first, n, blocks % 3);
    }
    block_first[blocks] = made_count;
    block_offset[blocks] = segment.size;
    struct sqt_totals end = totals;
    end.head = made_count;
    make_end(&segment, &who, &end);
    read_directory();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    read_free(&result);
    make_free(&segment);
    blocks = 0;
    read_directory_remove();
    return 0;
}

static void
read_bytes(const struct make_bytes *bytes)
{
    make_file(read_path("a.sqt"), bytes);
    read_all(&result, read_path("a.sqt"), NULL);
}

/* Each record that has a number is the one that was written under it.  Returns how many are there or known to be
 * lost. */
static uint64_t
expect_true_records(void)
{
    uint64_t total = 0;
    assert_false(result.went_back);
    assert_false(result.split);
    for (size_t i = 0; i < result.count; ++i)
        if (result.number[i] == UINT64_MAX)
            total += result.records[i].arg;
        else {
            assert_true(result.number[i] < made_count);
            assert_memory_equal(&result.records[i], &made[result.number[i]], sizeof(*made));
            ++total;
        }
    return total;
}

static void
a_cut_off_segment_gives_what_is_whole(void **state)
{
    (void)state;
    for (size_t size = segment.size - 1; size > 0; size -= size > 300 ? 17 : 1) {
        const struct make_bytes cut = {segment.data, size, 0};
        size_t whole = 0, at = 0;
        char expected[256];
        read_bytes(&cut);
        while (whole < blocks && block_offset[whole + 1] <= size)
            ++whole;
        expect_true_records();
        if (size < sizeof(struct sqt_segment_header)) {
            assert_false(result.opened);
            if (size > 3) {
                read_expect_messages(&result, "E a.sqt: offset 0: ends in the middle of the header\n");
            } else
                assert_non_null(strstr(result.messages, "not a trace"));
            continue;
        }
        assert_int_equal(result.count, whole ? block_first[whole] : 0);
        at = size >= block_offset[0] ? block_offset[whole] : sizeof(struct sqt_segment_header);
        expected[0] = '\0';
        if (size > at)
            snprintf(expected, sizeof(expected),
                     "W a.sqt: ends in the middle of a block at offset %zu (still being written, or cut off)\n", at);
        read_expect_messages(&result, expected);
    }
}

static void
a_flipped_bit_costs_one_block(void **state)
{
    uint64_t random = 88172645463325252u;
    (void)state;
    for (size_t at = 0; at < segment.size; at += at < 512 ? 1 : 5) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint8_t bit = (uint8_t)(1u << (random >> 61));
        segment.data[at] ^= bit;
        read_bytes(&segment);
        segment.data[at] ^= bit;
        assert_true(result.opened);
        assert_true(result.problems > 0 && result.problems <= 2);
        const uint64_t total = expect_true_records();
        assert_int_equal(total, made_count);
        const size_t real = at < block_offset[0] || at >= block_offset[blocks] ? made_count : made_count - PER_BLOCK;
        assert_true(result.count >= real);
        /* Times come out right, also when the header's clock is what was damaged. */
        if (result.number[0] == 0 && result.number[result.count - 1] == made_count - 1) {
            const int64_t want = (int64_t)(made[made_count - 1].time - made[0].time) / 3;
            assert_true(llabs(result.ns[result.count - 1] - want) <= 1000);
        }
    }
}

static void
a_damaged_block_is_named_and_its_records_are_lost(void **state)
{
    char expected[256];
    (void)state;
    segment.data[block_offset[2] + 200] ^= 0x10;
    read_bytes(&segment);
    const size_t lost = block_first[3] - block_first[2];
    assert_int_equal(result.count, made_count - lost + 1);
    read_expect_lost(&result, block_first[2], SQT_LOSS_DAMAGED, lost);
    snprintf(expected, sizeof(expected), "W a.sqt: offset %zu: damaged block (wrong checksum), %zu bytes skipped\n",
             block_offset[2], block_offset[3] - block_offset[2]);
    read_expect_messages(&result, expected);
}

static void
a_hole_in_the_file_is_one_line(void **state)
{
    char expected[256];
    (void)state;
    memset(segment.data + block_offset[1] + 100, 0, block_offset[4] - block_offset[1] - 100);
    read_bytes(&segment);
    read_expect_lost(&result, block_first[1], SQT_LOSS_DAMAGED, block_first[4] - block_first[1]);
    assert_int_equal(expect_true_records(), made_count);
    snprintf(expected, sizeof(expected), "W a.sqt: offset %zu: damaged block (wrong checksum), %zu bytes skipped\n",
             block_offset[1], block_offset[4] - block_offset[1]);
    read_expect_messages(&result, expected);
}

/* The next frame may begin anywhere, also where one reading of the file ends and the next begins. */
static void
a_frame_is_found_wherever_it_begins(void **state)
{
    static const size_t readings[] = {128u << 10, 256u << 10, 384u << 10};
    uint8_t *const noise = malloc(400u << 10);
    (void)state;
    assert_non_null(noise);
    memset(noise, 0x53, 400u << 10); /* the first byte of a frame's magic */
    for (size_t i = 0; i < 3; ++i)
        for (int by = -24; by <= 24; ++by) {
            struct make_bytes bytes = {NULL, 0, 0};
            make_append(&bytes, segment.data, block_offset[1]);
            make_append(&bytes, noise, readings[i] + (size_t)by);
            make_append(&bytes, segment.data + block_offset[1], segment.size - block_offset[1]);
            read_bytes(&bytes);
            make_free(&bytes);
            read_expect_records(&result, made, made_count, 0);
            assert_int_equal(result.problems, 1);
        }
    free(noise);
}

static void
zeros_at_the_end_are_one_line(void **state)
{
    char expected[256];
    static const uint8_t zeros[5000];
    (void)state;
    segment.size = block_offset[3];
    make_append(&segment, zeros, sizeof(zeros));
    read_bytes(&segment);
    read_expect_records(&result, made, block_first[3], 0);
    snprintf(expected, sizeof(expected),
             "W a.sqt: offset %zu: not a block, 5000 bytes skipped up to the end of the file\n", block_offset[3]);
    read_expect_messages(&result, expected);
}

/* A block by which the header would be mended may lie, too: its anchors make a rate of 0. */
static void
a_header_is_not_mended_to_an_impossible_clock(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_frame frame;
    struct sqt_block block;
    uint8_t *const first = segment.data + block_offset[0];
    (void)state;
    memcpy(&frame, first, sizeof(frame));
    memcpy(&block, first + sizeof(frame), sizeof(block));
    block.to.ticks = block.from.ticks;
    memcpy(first + sizeof(frame), &block, sizeof(block));
    make_append(&bytes, segment.data, block_offset[0]);
    bytes.data[offsetof(struct sqt_segment_header, identity.kid)] ^= 1;
    make_frame(&bytes, SQT_FRAME_BLOCK, frame.flags, first + sizeof(frame), frame.size);
    make_append(&bytes, segment.data + block_offset[1], segment.size - block_offset[1]);
    read_bytes(&bytes);
    assert_int_equal(result.origin->identity.ticks_per_second, MAKE_TICKS_PER_SECOND);
    make_free(&bytes);
}

static void
the_first_block_may_be_what_is_damaged(void **state)
{
    (void)state;
    segment.data[block_offset[0] + 60] ^= 1;
    read_bytes(&segment);
    read_expect_lost(&result, 0, SQT_LOSS_DAMAGED, block_first[1]);
    assert_int_equal(expect_true_records(), made_count);
}

static void
the_last_block_may_be_what_is_damaged(void **state)
{
    (void)state;
    segment.data[block_offset[blocks - 1] + 60] ^= 1;
    read_bytes(&segment);
    read_expect_lost(&result, result.count - 1, SQT_LOSS_DAMAGED, made_count - block_first[blocks - 1]);
    assert_int_equal(expect_true_records(), made_count);
}

static void
without_its_table_of_events_this_programs_is_used(void **state)
{
    char expected[256];
    const size_t at = sizeof(struct sqt_segment_header);
    (void)state;
    segment.data[at + 100] ^= 1;
    read_bytes(&segment);
    read_expect_records(&result, made, made_count, 0);
    snprintf(expected, sizeof(expected),
             "W a.sqt: offset %zu: damaged block (wrong checksum), %zu bytes skipped\n"
             "W a.sqt: its table of events is lost; this program's own is used\n",
             at, block_offset[0] - at);
    read_expect_messages(&result, expected);
}

/* A block whose checksum is right and whose content is not: a writer's bug, or malice. */
static void
bad_block(const char *expected, void (*spoil)(struct sqt_block *, struct sqt_record *, uint8_t *, size_t *))
{
    struct make_bytes bytes = {NULL, 0, 0}, payload = {NULL, 0, 0};
    struct sqt_pack_table table;
    struct sqt_record records[50];
    struct sqt_block block;
    char line[256];
    sqt_pack_table_init(&table);
    read_simple(records, 50);
    memset(&block, 0, sizeof(block));
    memcpy(block.ring_id, who.ring_id, sizeof(block.ring_id));
    block.count = 50;
    block.from = make_anchor(&who, records[0].time);
    block.to = make_anchor(&who, records[49].time);
    block.time_first = records[0].time;
    block.time_last = records[49].time;
    uint8_t packed[4096];
    spoil(NULL, records, NULL, NULL);
    size_t size = sqt_pack(&table, records, 50, packed);
    block.packed_size = (uint32_t)size;
    spoil(&block, NULL, packed, &size);
    make_append(&payload, &block, sizeof(block));
    make_append(&payload, packed, size);
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    const size_t at = bytes.size;
    make_frame(&bytes, SQT_FRAME_BLOCK, 0, payload.data, payload.size);
    snprintf(line, sizeof(line), "W a.sqt: offset %zu: %s, %zu bytes skipped\n", at, expected, bytes.size - at);
    read_bytes(&bytes);
    assert_int_equal(result.count, 0);
    read_expect_messages(&result, line);
    make_free(&bytes);
    make_free(&payload);
}

#define SPOIL(name, what) \
    static void name(struct sqt_block *b, struct sqt_record *r, uint8_t *p, size_t *size) \
    { \
        (void)b, (void)r, (void)p, (void)size; \
        what; \
    }
SPOIL(other_ring, if (b) b->ring_id[3] ^= 1)
SPOIL(no_records, if (b) b->count = 0)
SPOIL(too_many, if (b) b->count = SQT_BLOCK_RECORDS + 1)
SPOIL(too_large, if (b) b->packed_size = UINT32_MAX)
SPOIL(wrong_size, if (b) b->packed_size -= 1)
SPOIL(far_number, if (b) b->first = UINT64_MAX - 3)
SPOIL(times_back, if (b) b->time_last = b->time_first - 1)
SPOIL(wrong_last, if (b) b->time_last += 1)
SPOIL(more_count, if (b) b->count += 1)
SPOIL(long_column, if (p) p[0] = 0xff)
SPOIL(lone_part, if (r) r[10].flags = SQT_FLAG_PART)
SPOIL(short_unit, if (r) r[10].flags = 2)
SPOIL(unit_over_end, if (r) r[49].flags = 1)
SPOIL(time_back, if (r) r[20].time = 5)
SPOIL(anchors, if (b) b->from.monotonic_ns = UINT64_MAX)
SPOIL(far_anchor, if (b) b->from.ticks += UINT64_C(1) << 62)
SPOIL(short_block, if (b) *size = 0; if (b) b->packed_size = 0)

static void
blocks_that_lie_are_left_out(void **state)
{
    (void)state;
    bad_block("the block belongs to another ring", other_ring);
    bad_block("the block's count of records is impossible", no_records);
    bad_block("the block's count of records is impossible", too_many);
    bad_block("the block's size is impossible", too_large);
    bad_block("the block's size is wrong", wrong_size);
    bad_block("the block's record number is impossible", far_number);
    bad_block("the block's times go back", times_back);
    bad_block("the block's records do not fit its times", wrong_last);
    bad_block("the block cannot be unpacked", more_count);
    bad_block("the block cannot be unpacked", long_column);
    bad_block("the block cannot be unpacked", short_block);
    bad_block("the block's records do not fit together", lone_part);
    bad_block("the block's records do not fit together", short_unit);
    bad_block("the block's records do not fit together", unit_over_end);
    bad_block("the block's records do not fit together", time_back);
    bad_block("the block's times are impossible", anchors);
    bad_block("the block's times are impossible", far_anchor);
}

static void
frames_of_a_later_version_are_left_out_silently(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    (void)state;
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_frame(&bytes, 9, 0, "something new", 13);
    make_block(&bytes, &who, 0, made, block_first[1], 0);
    make_frame(&bytes, 9, 77, "", 0);
    read_bytes(&bytes);
    read_expect_records(&result, made, block_first[1], 0);
    read_expect_messages(&result, "");
    make_free(&bytes);
}

static void
a_block_with_unknown_flags_is_left_out(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_pack_table table;
    const struct sqt_anchor anchor = make_anchor(&who, made[0].time);
    (void)state;
    sqt_pack_table_init(&table);
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_block_with(&bytes, &who, 0, made, block_first[1], 0, 64, &anchor, &anchor, &table);
    read_bytes(&bytes);
    assert_int_equal(result.count, 0);
    assert_non_null(strstr(result.messages, "the block needs features that this does not know"));
    make_free(&bytes);
}

static void
joined_segments_in_a_file_are_said(void **state)
{
    char expected[256];
    const size_t size = segment.size;
    (void)state;
    struct make_bytes twice = {NULL, 0, 0};
    make_append(&twice, segment.data, size);
    make_append(&twice, segment.data, size);
    read_bytes(&twice);
    make_free(&twice);
    read_expect_records(&result, made, made_count, 0);
    snprintf(expected, sizeof(expected),
             "W a.sqt: offset %zu: another segment begins here and is left out; joined "
             "segments are read from the standard input\n",
             size);
    read_expect_messages(&result, expected);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_cut_off_segment_gives_what_is_whole),
        TEST(a_flipped_bit_costs_one_block),
        TEST(a_damaged_block_is_named_and_its_records_are_lost),
        TEST(a_hole_in_the_file_is_one_line),
        TEST(a_frame_is_found_wherever_it_begins),
        TEST(zeros_at_the_end_are_one_line),
        TEST(a_header_is_not_mended_to_an_impossible_clock),
        TEST(the_first_block_may_be_what_is_damaged),
        TEST(the_last_block_may_be_what_is_damaged),
        TEST(without_its_table_of_events_this_programs_is_used),
        TEST(blocks_that_lie_are_left_out),
        TEST(frames_of_a_later_version_are_left_out_silently),
        TEST(a_block_with_unknown_flags_is_left_out),
        TEST(joined_segments_in_a_file_are_said),
    };
    return cmocka_run_group_tests_name("read_damage", tests, NULL, NULL);
}
