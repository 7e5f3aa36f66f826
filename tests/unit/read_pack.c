/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_pack.c - records packed and unpacked again; bytes that nobody packed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_trace.h"

static struct sqt_pack_table table;
static uint64_t random_state = 12345;

static uint64_t
next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state >> 1 ^ random_state << 40;
}

/* Packs, unpacks and compares; the bytes have nothing before or after them that may be read or written. */
static size_t
round_trip(const struct sqt_record *records, size_t count)
{
    uint8_t *const out = malloc(sqt_pack_bound(count));
    const size_t size = sqt_pack(&table, records, count, out);
    assert_true(size <= sqt_pack_bound(count));
    uint8_t *const in = malloc(size);
    struct sqt_record *const back = malloc(count * sizeof(*back));
    memcpy(in, out, size);
    assert_int_equal(sqt_unpack(&table, in, size, records[0].time, back, count), 0);
    assert_memory_equal(back, records, count * sizeof(*back));
    assert_int_equal(sqt_unpack(&table, in, size - 1, records[0].time, back, count), -1);
    if (count > 1)
        assert_int_equal(sqt_unpack(&table, in, size, records[0].time, back, count - 1), -1);
    free(out);
    free(in);
    free(back);
    return size;
}

static void
traffic_comes_back(void **state)
{
    static struct sqt_record records[SQT_BLOCK_RECORDS];
    struct make_traffic traffic;
    (void)state;
    make_traffic_init(&traffic, 3);
    const size_t n = make_traffic_records(&traffic, records, SQT_BLOCK_RECORDS);
    const size_t size = round_trip(records, n);
    assert_true(size < n * 10);
    for (size_t i = 1; i < 400; ++i)
        round_trip(records, i);
}

static void
any_values_come_back(void **state)
{
    static const uint64_t edges[] = {
        0, 1, 127, 128, 0x7fffffff, 0x80000000, UINT32_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    struct sqt_record records[500];
    (void)state;
    for (unsigned round = 0; round < 200; ++round) {
        uint64_t time = next_random() >> 8;
        for (size_t i = 0; i < 500; ++i) {
            struct sqt_record *const r = &records[i];
            memset(r, 0, sizeof(*r));
            time += next_random() >> (20 + next_random() % 44);
            r->time = time;
            r->event = (uint16_t)(round % 2 ? next_random() % 256 : 1 + next_random() % (SQT_EVENTS - 1));
            r->flags = (uint16_t)(next_random() % 16);
            r->id = next_random() % 3 ? edges[next_random() % 10] : next_random();
            r->arg = next_random() % 3 ? edges[next_random() % 10] : next_random();
            r->aux = (uint32_t)(next_random() % 3 ? edges[next_random() % 10] : next_random());
        }
        round_trip(records, 500);
    }
}

static void
spoiled_bytes_are_refused_or_harmless(void **state)
{
    struct sqt_record records[64], back[64];
    struct make_traffic traffic;
    uint8_t packed[8192];
    unsigned refused = 0;
    (void)state;
    make_traffic_init(&traffic, 5);
    const size_t n = make_traffic_records(&traffic, records, 64);
    const size_t size = sqt_pack(&table, records, n, packed);
    for (unsigned i = 0; i < 20000; ++i) {
        uint8_t *const spoiled = malloc(size);
        memcpy(spoiled, packed, size);
        for (unsigned k = 0; k <= i % 3; ++k)
            spoiled[next_random() % size] = (uint8_t)next_random();
        refused += sqt_unpack(&table, spoiled, size, records[0].time, back, n) != 0;
        free(spoiled);
    }
    assert_true(refused > 100);
    /* No varint of more than 64 bits. */
    static const uint8_t long_time[] = {1, 0,    0,    0,    1,    2,    0,    0,    0,    0,    0, 10, 0, 0,
                                        0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1,  0, 0,
                                        0, 0,    1,    0,    0,    0,    0,    1,    0,    0,    0, 0};
    assert_int_equal(sqt_unpack(&table, long_time, sizeof(long_time), 0, back, 1), -1);
    uint8_t good[sizeof(long_time)];
    memcpy(good, long_time, sizeof(good));
    good[24] = 1;
    assert_int_equal(sqt_unpack(&table, good, sizeof(good), 0, back, 1), 0);
    assert_int_equal(back[0].time, UINT64_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_comes_back),
        cmocka_unit_test(any_values_come_back),
        cmocka_unit_test(spoiled_bytes_are_refused_or_harmless),
    };
    sqt_pack_table_init(&table);
    return cmocka_run_group_tests_name("read_pack", tests, NULL, NULL);
}
