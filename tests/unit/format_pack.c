/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * format_pack.c - records packed and unpacked again, and bytes that nobody packed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/pack.h"

#define ROUNDS 300
#define MOST 3000

struct fixture {
    struct sqt_pack_table table;
    struct sqt_record records[MOST], back[MOST];
    uint8_t *packed;
    uint64_t seed;
};

static int
setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof(*f));
    sqt_pack_table_init(&f->table);
    f->packed = malloc(sqt_pack_bound(MOST));
    f->seed = UINT64_C(88172645463325252);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *const f = *state;
    free(f->packed);
    free(f);
    return 0;
}

static uint64_t
random_next(struct fixture *f)
{
    f->seed ^= f->seed << 13;
    f->seed ^= f->seed >> 7;
    f->seed ^= f->seed << 17;
    return f->seed;
}

/* A number of any size: as many small as large ones. */
static uint64_t
any(struct fixture *f)
{
    return random_next(f) >> (random_next(f) % 64);
}

static void
fill(struct fixture *f, size_t count)
{
    uint64_t time = any(f) / 2;
    for (size_t i = 0; i < count; ++i) {
        time += any(f) / MOST / 2;
        f->records[i].time = time;
        f->records[i].id = any(f);
        f->records[i].arg = any(f);
        f->records[i].aux = (uint32_t)any(f);
        f->records[i].event = (uint16_t)(1 + random_next(f) % (SQT_EVENTS - 1));
        f->records[i].flags = (uint16_t)(random_next(f) % 16);
    }
}

static size_t
pack(struct fixture *f, size_t count)
{
    const size_t size = sqt_pack(&f->table, f->records, count, f->packed);
    assert_true(size <= sqt_pack_bound(count));
    return size;
}

static int
unpack(struct fixture *f, const uint8_t *bytes, size_t size, size_t count)
{
    return sqt_unpack(&f->table, bytes, size, f->records[0].time, f->back, count);
}

static void
random_records_come_back(void **state)
{
    struct fixture *const f = *state;
    for (unsigned round = 0; round < ROUNDS; ++round) {
        const size_t count = 1 + random_next(f) % MOST;
        fill(f, count);
        const size_t size = pack(f, count);
        assert_int_equal(unpack(f, f->packed, size, count), 0);
        assert_memory_equal(f->records, f->back, count * sizeof(f->records[0]));
    }
}

static void
extremes_come_back(void **state)
{
    struct fixture *const f = *state;
    static const uint64_t extremes[] = {
        0, 1, 0x7f, 0x80, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1};
    size_t count = 0;
    for (unsigned e = 1; e < SQT_EVENTS; ++e)
        for (unsigned i = 0; i < 8; ++i) {
            f->records[count].time = i < 7 ? 0 : UINT64_MAX;
            f->records[count].id = extremes[i];
            f->records[count].arg = extremes[7 - i];
            f->records[count].aux = (uint32_t)extremes[(i + 3) % 8];
            f->records[count].event = (uint16_t)e;
            f->records[count].flags = (uint16_t)i;
            ++count;
        }
    for (size_t i = 0; i < count; ++i) /* time cannot go back */
        f->records[i].time = i < count / 2 ? 0 : UINT64_MAX;
    const size_t size = pack(f, count);
    assert_int_equal(unpack(f, f->packed, size, count), 0);
    assert_memory_equal(f->records, f->back, count * sizeof(f->records[0]));
}

static void
a_block_of_the_largest_size_fits_a_frame(void **state)
{
    (void)state;
    assert_true(sqt_pack_bound(SQT_BLOCK_RECORDS) + sizeof(struct sqt_block) <= SQT_FRAME_MAX);
}

/* A steady load takes little: the predictions work. */
static void
records_that_resemble_each_other_are_small(void **state)
{
    struct fixture *const f = *state;
    for (unsigned i = 0; i < MOST; ++i) {
        f->records[i].time = 1000000 + 100 * i;
        f->records[i].id = 5 + i / 100;
        f->records[i].arg = 4096 * (i / 2);
        f->records[i].aux = 4096;
        f->records[i].event = i % 2 ? SQT_EV_SWAPIN_READ_DONE : SQT_EV_SWAPIN_READ;
        f->records[i].flags = 0;
    }
    assert_true(pack(f, MOST) < 8 * MOST);
}

static void
cut_bytes_are_refused(void **state)
{
    struct fixture *const f = *state;
    fill(f, 50);
    const size_t size = pack(f, 50);
    for (size_t cut = 0; cut < size; ++cut) {
        uint8_t *const exact = malloc(cut ? cut : 1); /* so that a tool sees a read behind the end */
        memcpy(exact, f->packed, cut);
        assert_int_equal(unpack(f, exact, cut, 50), -1);
        free(exact);
    }
    assert_int_equal(unpack(f, f->packed, size, 49), -1);
    assert_int_equal(unpack(f, f->packed, size, 51), -1);
}

static void
damaged_bytes_do_no_harm(void **state)
{
    struct fixture *const f = *state;
    unsigned refused = 0;
    for (unsigned round = 0; round < 4000; ++round) {
        const size_t count = 1 + random_next(f) % 60;
        fill(f, count);
        const size_t size = pack(f, count);
        uint8_t *const bytes = malloc(size);
        memcpy(bytes, f->packed, size);
        for (uint64_t flips = 1 + random_next(f) % 4; flips; --flips)
            bytes[random_next(f) % size] ^= (uint8_t)(1u << (random_next(f) % 8));
        memset(f->back, 0xa5, sizeof(f->back));
        refused += unpack(f, bytes, size, count) != 0;
        const uint8_t *const behind = (const uint8_t *)&f->back[count];
        for (size_t i = 0; i < sizeof(f->back[0]) && count < MOST; ++i)
            assert_int_equal(behind[i], 0xa5);
        free(bytes);
    }
    assert_true(refused > 0);
}

static void
noise_does_no_harm(void **state)
{
    struct fixture *const f = *state;
    for (unsigned round = 0; round < 4000; ++round) {
        const size_t size = random_next(f) % 300;
        uint8_t *const bytes = malloc(size ? size : 1);
        for (size_t i = 0; i < size; ++i)
            bytes[i] = (uint8_t)(random_next(f) % 3 ? random_next(f) % 8 : random_next(f));
        (void)unpack(f, bytes, size, random_next(f) % 20);
        free(bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_records_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(extremes_come_back, setup, teardown),
        cmocka_unit_test(a_block_of_the_largest_size_fits_a_frame),
        cmocka_unit_test_setup_teardown(records_that_resemble_each_other_are_small, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_bytes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_bytes_do_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(noise_does_no_harm, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
