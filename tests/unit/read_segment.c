/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_segment.c - segments joined by their sequence: order, doubles, gaps, totals, definitions, unknown events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/file/dictionary.h"
#include "read/join/index.h"
#include "read/join/origin.h"
#include "read_fixture.h"

static int
begin(void **state)
{
    (void)state;
    return read_begin(7, 20000, 3);
}

static void
a_segment_gives_back_its_records(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= MAKE_ZSTD; ++flags) {
        make_segment_file(read_path("a.sqt"), &who, 0, 0, made, made_count, "def\t2\t5\tTCP_HIT\n", flags);
        read_all(&result, read_path("a.sqt"), NULL);
        read_expect_records(&result, made, made_count, 0);
        read_expect_messages(&result, "");
        assert_string_equal(sqt_origin_text(result.origin, SQT_DEF_TAG, 5), "TCP_HIT");
        assert_null(sqt_origin_text(result.origin, SQT_DEF_TAG, 6));
        assert_int_equal(result.origin->identity.kid, 3);
        assert_int_equal(result.origin->head, made_count);
        assert_int_equal(result.ns[0], 0);
        assert_int_equal(result.start_ns, MAKE_REALTIME_NS + (made[0].time - MAKE_START) / 3);
        unlink(read_path("a.sqt"));
    }
}

static void
segments_are_joined_by_sequence_not_by_name(void **state)
{
    const size_t cut = unit_at(made_count / 3);
    (void)state;
    make_segment_file(read_path("b.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_segment_file(read_path("a.sqt"), &who, 1, cut, made + cut, made_count - cut, NULL, MAKE_ZLIB);
    read_all(&result, read_path("a.sqt"), read_path("b.sqt"), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
    /* The directory, a file of it again, and a link to another. */
    assert_int_equal(link(read_path("a.sqt"), read_path("c.sqt")), 0);
    read_all(&result, read_path(""), read_path("a.sqt"), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

static void
doubled_records_come_once(void **state)
{
    const size_t cut = unit_at(made_count / 2), back = unit_at(cut - 700);
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_segment_file(read_path("b.sqt"), &who, 1, back, made + back, made_count - back, NULL, 0);
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");
}

/* The next text, found by looking at all of them. */
static uint64_t
plain_next_text(const struct sqt_index *index, size_t part, uint64_t at, uint64_t until)
{
    for (size_t i = 0; i < index->text_count; ++i)
        if (index->texts[i].part == part && index->texts[i].at >= at)
            return index->texts[i].at < until ? index->texts[i].at : until;
    return until;
}

static void
texts_are_found_by_their_places(void **state)
{
    struct sqt_index index = {0};
    (void)state;
    for (size_t part = 1; part < 6; part += 2)
        for (uint64_t at = 100; at < 2000; at += part * 7)
            sqt_index_take_text(&index, part, &(struct sqt_part_frame){.at = at + sizeof(struct sqt_frame)});
    for (size_t part = 0; part < 7; ++part)
        for (uint64_t at = 0; at < 2100; at += 3)
            for (uint64_t until = at; until < 2200; until += 97)
                assert_int_equal(sqt_index_next_text(&index, part, at, until),
                                 plain_next_text(&index, part, at, until));
    sqt_index_free(&index);
}

static void
a_unit_is_never_taken_without_its_head(void **state)
{
    struct sqt_record simple[1000];
    size_t inside = 100;
    (void)state;
    /* Two segments that claim the same numbers for other records: the second's first new one is a part. */
    while (!(made[inside].flags & SQT_FLAG_PART))
        ++inside;
    read_simple(simple, inside);
    make_segment_file(read_path("a.sqt"), &who, 0, 0, simple, inside, NULL, 0);
    for (size_t i = 0; i < made_count; ++i)
        made[i].time += MAKE_TICKS_PER_SECOND;
    make_segment_file(read_path("b.sqt"), &who, 1, 0, made, made_count, NULL, 0);
    read_all(&result, read_path(""), NULL);
    assert_false(result.split);
    assert_false(result.records[inside].flags & SQT_FLAG_PART);
    assert_true(result.count > made_count - SQT_UNIT_MAX && result.count < made_count);
}

static void
a_missing_segment_is_a_loss(void **state)
{
    const size_t cut = unit_at(5000), again = unit_at(9000);
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, cut, NULL, 0);
    make_segment_file(read_path("c.sqt"), &who, 2, again, made + again, made_count - again, NULL, 0);
    read_all(&result, read_path(""), NULL);
    assert_int_equal(result.count, made_count - (again - cut) + 1);
    read_expect_lost(&result, cut, SQT_LOSS_MISSING, again - cut);
    assert_int_equal(result.records[cut].id, made[cut - 1].time);
    assert_int_equal(result.records[cut].time, made[again].time);
    assert_int_equal(result.number[cut + 1], again);
    assert_false(result.went_back);
    assert_int_equal(result.problems, 1);
    char expected[256];
    snprintf(expected, sizeof(expected),
             "W c.sqt: %zu records before record %zu are missing (a segment is not there)\n", again - cut, again);
    read_expect_messages(&result, expected);
}

static void
a_trace_may_begin_in_the_middle(void **state)
{
    const size_t cut = unit_at(5000);
    (void)state;
    make_segment_file(read_path("b.sqt"), &who, 4, cut, made + cut, made_count - cut, NULL, 0);
    read_all(&result, read_path("b.sqt"), NULL);
    read_expect_records(&result, made + cut, made_count - cut, cut);
    char expected[256];
    snprintf(expected, sizeof(expected), "N b.sqt: begins at record %zu; those before it were not given\n", cut);
    read_expect_messages(&result, expected);
    assert_int_equal(result.problems, 0);
}

/* A segment of simple records with the totals that the test wants. */
static void
simple_with_totals(const char *path, size_t n, const struct sqt_totals *totals)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_record records[100];
    read_simple(records, n);
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_blocks(&bytes, &who, 0, records, n, 40, 0);
    make_end(&bytes, &who, totals);
    make_file(path, &bytes);
    make_free(&bytes);
}

static void
losses_at_the_end_become_a_record(void **state)
{
    struct sqt_totals totals = {.head = 100, .lost = 12, .marks = 1, .lost_open = 7, .clean = 1};
    (void)state;
    totals.lost_from = MAKE_START + 101 * 3000;
    simple_with_totals(read_path("a.sqt"), 100, &totals);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 101);
    read_expect_lost(&result, 100, SQT_LOSS_RING_FULL, 7);
    assert_int_equal(result.records[100].id, totals.lost_from);
    assert_false(result.went_back);
    assert_int_equal(result.origin->lost, 12);
    read_expect_messages(&result, "");
}

/* Of a process that was killed: the stretch lasted at least until the last of these records was lost. */
static void
losses_at_the_end_last_until_the_last_of_them(void **state)
{
    struct sqt_totals totals = {.head = 100, .lost = 12, .marks = 1, .lost_open = 7, .lost_us = 740000};
    (void)state;
    totals.lost_from = MAKE_START + 101 * 3000;
    simple_with_totals(read_path("a.sqt"), 100, &totals);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 101);
    assert_int_equal(result.records[100].id, totals.lost_from);
    assert_int_equal(result.records[100].time, totals.lost_from + UINT64_C(740000) * (MAKE_TICKS_PER_SECOND / 1000000));
}

/* Of a damaged trace: nothing overflows. */
static void
losses_at_the_end_of_all_time(void **state)
{
    struct sqt_totals totals = {.head = 100, .lost = 12, .marks = 1, .lost_open = 7, .lost_us = UINT32_MAX};
    (void)state;
    totals.lost_from = (UINT64_C(1) << 63) - 1;
    simple_with_totals(read_path("a.sqt"), 100, &totals);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 101);
    assert_int_equal(result.records[100].time, result.records[99].time);
}

static void
losses_that_a_later_record_speaks_of_come_once(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_record records[100];
    const struct sqt_totals totals = {.head = 50, .lost = 7, .lost_open = 7, .lost_from = MAKE_START + 151000};
    (void)state;
    read_simple(records, 100);
    records[60].event = SQT_EV_LOST;
    records[60].arg = 9;
    for (unsigned i = 0; i < 2; ++i) {
        make_header(&bytes, &who, i);
        make_text(&bytes, NULL);
        make_block(&bytes, &who, i * 50, records + i * 50, 50, 0);
        if (i == 0)
            make_end(&bytes, &who, &totals);
        make_file(read_path(i ? "b.sqt" : "a.sqt"), &bytes);
        make_free(&bytes);
    }
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, records, 100, 0);
}

static void
records_missing_before_a_clean_end_are_a_loss(void **state)
{
    const struct sqt_totals totals = {.head = 130, .clean = 1};
    (void)state;
    simple_with_totals(read_path("a.sqt"), 100, &totals);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 101);
    read_expect_lost(&result, 100, SQT_LOSS_MISSING, 30);
    read_expect_messages(&result, "W a.sqt: the last 30 records are missing\n");
}

static void
a_ring_that_went_on_elsewhere_is_no_loss(void **state)
{
    const struct sqt_totals totals = {.head = 130, .clean = 0};
    (void)state;
    simple_with_totals(read_path("a.sqt"), 100, &totals);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 100);
    read_expect_messages(&result, "");
}

static void
unknown_events_keep_their_names(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_record records[100], other[100];
    struct sqt_pack_table table;
    char text[4096];
    (void)state;
    /* A program with another numbering: ACCESS_BEGIN is 9, and 7, 8 and 30 are events of a later version, one with
     * a kind of value that this program does not know. */
    snprintf(text, sizeof(text),
             "event\t9\tACCESS_BEGIN\tclient\txact\tnone\tnone\n"
             "event\t7\tTELEPORT\tclient\txact\tcount\tcolour\textra\n"
             "event\t8\tLANDING\tclient\txact\tnone\tnone\nsomething\telse\n"
             "event\t10\tACCESS_END\tclient\txact\tnone\tnone\n");
    memset(&table, 0, sizeof(table));
    for (unsigned i = 7; i <= 10; ++i)
        table.id[i] = sqt_pack_slot(SQT_PREDICT_KIND, SQT_KIND_XACT, i);
    table.arg[7] = table.aux[7] = sqt_pack_slot(SQT_PREDICT_EVENT, 0, 7);
    read_simple(records, 100);
    for (size_t i = 0; i < 100; ++i) {
        records[i].event = (uint16_t)(7 + i % 4);
        if (records[i].event == 7) {
            records[i].arg = i * 1000;
            records[i].aux = (uint32_t)(70000 - i);
        }
    }
    memcpy(other, records, sizeof(other));
    make_header(&bytes, &who, 0);
    make_frame(&bytes, SQT_FRAME_TEXT, 0, text, strlen(text));
    const struct sqt_anchor from = make_anchor(&who, records[0].time), to = make_anchor(&who, records[99].time);
    make_block_with(&bytes, &who, 0, records, 100, 0, 0, &from, &to, &table);
    make_file(read_path("a.sqt"), &bytes);
    make_free(&bytes);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 100);
    read_expect_messages(&result, "");
    for (size_t i = 0; i < 100; ++i) {
        const unsigned event = result.records[i].event;
        const char *const names[] = {"TELEPORT", "LANDING", "ACCESS_BEGIN", "ACCESS_END"};
        assert_string_equal(sqt_origin_event_name(result.origin, event), names[i % 4]);
        assert_int_equal(i % 4 < 2, event >= SQT_EVENTS);
        assert_int_equal(result.records[i].id, other[i].id);
        assert_int_equal(result.records[i].arg, other[i].arg);
        assert_int_equal(result.records[i].aux, other[i].aux);
    }
}

static void
an_event_that_is_not_declared_gets_a_name(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_record records[10];
    (void)state;
    read_simple(records, 10);
    records[4].event = 250;
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_block(&bytes, &who, 0, records, 10, 0);
    make_file(read_path("a.sqt"), &bytes);
    make_free(&bytes);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 10);
    assert_string_equal(sqt_origin_event_name(result.origin, result.records[4].event), "EVENT_250");
    assert_true(result.records[4].event >= SQT_EVENTS);
    assert_int_equal(result.records[5].event, SQT_EV_ACCESS_BEGIN);
}

static void
definitions_are_unescaped_and_future_ones_kept(void **state)
{
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, unit_at(100),
                      "def\t1\t0\tufs /a\\tb\\nc\\\\d\n"
                      "def\t77\t4000000000\tof a later version\nfuture\tline\twith\tfields\ndef\t2\t9\t\n",
                      0);
    read_all(&result, read_path("a.sqt"), NULL);
    read_expect_messages(&result, "");
    assert_string_equal(sqt_origin_text(result.origin, SQT_DEF_DIR, 0), "ufs /a\tb\nc\\d");
    assert_string_equal(sqt_origin_text(result.origin, 77, 4000000000u), "of a later version");
    assert_string_equal(sqt_origin_text(result.origin, SQT_DEF_TAG, 9), "");
}

static void
many_definitions_are_found(void **state)
{
    struct make_bytes text = {NULL, 0, 0};
    struct sqt_dictionary dictionary;
    char line[64];
    (void)state;
    for (unsigned i = 0; i < 5000; ++i) {
        const int size = snprintf(line, sizeof(line), "def\t%u\t%u\tnumber %u\n", 1 + i % 4, i * 7, i);
        make_append(&text, line, (size_t)size);
    }
    sqt_dictionary_init(&dictionary);
    assert_int_equal(sqt_dictionary_take(&dictionary, (const char *)text.data, text.size), 0);
    for (unsigned i = 0; i < 5000; ++i) {
        snprintf(line, sizeof(line), "number %u", i);
        assert_string_equal(sqt_dictionary_text(&dictionary, 1 + i % 4, i * 7), line);
    }
    assert_int_equal(dictionary.used, 5000);
    /* Said again, as every segment does. */
    assert_int_equal(sqt_dictionary_take(&dictionary, (const char *)text.data, text.size), 0);
    assert_int_equal(dictionary.used, 5000);
    sqt_dictionary_free(&dictionary);
    make_free(&text);
}

static void
lines_that_are_none_are_counted(void **state)
{
    static const char *const wrong[] = {"event\t1\tX\tclient\txact\tnone\n",
                                        "event\t256\tX\tg\ta\tb\tc\n",
                                        "event\t0\tX\tg\ta\tb\tc\n",
                                        "event\tten\tX\tg\ta\tb\tc\n",
                                        "event\t1\t\tg\ta\tb\tc\n",
                                        "def\t1\n",
                                        "def\t1\t2\n",
                                        "def\t-1\t2\tx\n",
                                        "def\t1\t4294967296\tx\n",
                                        "def\t\t2\tx\n",
                                        "def\t11111111111111111111\t2\tx\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        struct sqt_dictionary dictionary;
        sqt_dictionary_init(&dictionary);
        assert_int_equal(sqt_dictionary_take(&dictionary, wrong[i], strlen(wrong[i])), 1);
        assert_int_equal(sqt_dictionary_take(&dictionary, "def\t1\t2\tx", 9), 0);
        assert_string_equal(sqt_dictionary_text(&dictionary, 1, 2), "x");
        sqt_dictionary_free(&dictionary);
    }
}

static void
suspect_anchors_are_said_once(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_record records[100];
    struct sqt_pack_table table;
    (void)state;
    sqt_pack_table_init(&table);
    read_simple(records, 100);
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    const struct sqt_anchor from = make_anchor(&who, records[0].time), to = make_anchor(&who, records[99].time);
    const size_t offset = bytes.size;
    make_block_with(&bytes, &who, 0, records, 50, 0, SQT_FRAME_SUSPECT, &from, &to, &table);
    make_block_with(&bytes, &who, 50, records + 50, 50, 0, SQT_FRAME_SUSPECT, &from, &to, &table);
    make_file(read_path("a.sqt"), &bytes);
    make_free(&bytes);
    read_all(&result, read_path("a.sqt"), NULL);
    assert_int_equal(result.count, 100);
    char expected[256];
    snprintf(expected, sizeof(expected),
             "N a.sqt: offset %zu: the clock did not keep its rate here; times may be off by more than 50 us\n",
             offset);
    read_expect_messages(&result, expected);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, read_end)
    const struct CMUnitTest tests[] = {
        TEST(a_segment_gives_back_its_records),
        TEST(segments_are_joined_by_sequence_not_by_name),
        TEST(doubled_records_come_once),
        TEST(texts_are_found_by_their_places),
        TEST(a_unit_is_never_taken_without_its_head),
        TEST(a_missing_segment_is_a_loss),
        TEST(a_trace_may_begin_in_the_middle),
        TEST(losses_at_the_end_become_a_record),
        TEST(losses_at_the_end_last_until_the_last_of_them),
        TEST(losses_at_the_end_of_all_time),
        TEST(losses_that_a_later_record_speaks_of_come_once),
        TEST(records_missing_before_a_clean_end_are_a_loss),
        TEST(a_ring_that_went_on_elsewhere_is_no_loss),
        TEST(unknown_events_keep_their_names),
        TEST(an_event_that_is_not_declared_gets_a_name),
        TEST(definitions_are_unescaped_and_future_ones_kept),
        TEST(many_definitions_are_found),
        TEST(lines_that_are_none_are_counted),
        TEST(suspect_anchors_are_said_once),
    };
    return cmocka_run_group_tests_name("read_segment", tests, NULL, NULL);
}
