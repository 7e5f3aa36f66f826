/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_resources.c - table `findings`: memory in swap, and descriptors that are about to end.
 */
#include "model_found.h"

#define SECOND (1000 * MS)

static void
sample(int64_t at, uint32_t what, uint64_t value)
{
    PUT(at, SAMPLE, value, (uint64_t)at, what);
}

/* Thirty seconds, with ten requests in each, of which each is held for 6 ms while there are page faults, and once
 * more later.  So many faults
 * and pages in each second from the tenth to the nineteenth. */
static void
plays(uint64_t faults, uint64_t pages, uint64_t open)
{
    uint64_t sum = 0, brought = 0;
    int64_t now = 0;
    sample(now, SQT_SAMPLE_SQUID_descriptors_limit, 1100);
    sample(now, SQT_SAMPLE_SQUID_descriptors_reserved, 100);
    for (unsigned s = 0; s < 30; ++s) {
        now = s * SECOND;
        sample(now, SQT_SAMPLE_PROCESS_major_faults, sum);
        sample(now, SQT_SAMPLE_PROCESS_rss_bytes, 40000000);
        sample(now, SQT_SAMPLE_PROCESS_descriptors, open);
        sample(now, SQT_SAMPLE_MACHINE_swapped_in_pages, brought);
        if (s) { /* an idle main thread */
            PUT(now, LOOP_SAMPLE, (uint64_t)(now - SECOND), (uint64_t)now, 0);
            PART(PART_LOOP_RAN, 0, 0, 1);
        }
        const int held = s >= 10 && s < 20;
        sum += held ? faults : 0;
        brought += held ? pages : 0;
        for (unsigned i = 0; i < 10; ++i, now += 100 * MS) {
            const uint64_t xact = 100 + number++;
            PUT(now, WAIT_BEGIN, 0, 1000, 0);
            PUT(now + MS, WAIT_END, 0, 1, 0);
            begin_xact(now + MS, xact, 7);
            end_xact(now + ((held && faults) || s == 25 ? 7 : 1) * MS, xact, MEM_HIT, 0);
            PUT(now + 8 * MS, WAIT_BEGIN, 0, 1000, 0);
        }
    }
    find();
}

static void
its_own_memory(void **state)
{
    (void)state;
    plays(400, 500, 10);
    assert_string_equal(TEXT(0, cause), "swapping");
    assert_int_equal(found_count, 1);
    assert_int_equal(NUMBER(0, waiting_s), 10 * 10 * 6 * MS);
    assert_string_equal(TEXT(0, culprit), "memory");
    assert_string_equal(TEXT(0, pattern), "once");
    assert_int_equal(NUMBER(0, time_s), 10 * SECOND);
    assert_in_range(NUMBER(0, until_s), 19 * SECOND, 21 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "400 page faults a second read from swap, and 40 MB are resident."));
}

/* Page faults of files; pages of other programs; few. */
static void
not_its_own(void **state)
{
    (void)state;
    static const uint64_t cases[][2] = {{400, 0}, {0, 500}, {40, 500}};
    for (unsigned c = 0; c < 3; ++c) {
        plays(cases[c][0], cases[c][1], 899);
        for (unsigned i = 0; i < found_count; ++i) {
            assert_string_not_equal(TEXT(i, cause), "swapping");
            assert_string_not_equal(TEXT(i, cause), "few_descriptors");
        }
    }
}

/* All threads stand still for 7 s, once or twice, and no sample is taken; so many page faults, and pages, came in each. */
static void
stands_still(unsigned times, uint64_t faults, uint64_t pages)
{
    int64_t now = 0;
    uint64_t first = 0, sum = 0, brought = 0;
    for (unsigned s = 0; s < 50; ++s) {
        const int still = s == 10 || (s == 30 && times == 2);
        now = s * SECOND;
        sum += s == 18 || (s == 38 && times == 2) ? faults : 0;
        brought += s == 18 || (s == 38 && times == 2) ? pages : 0;
        sample(now, SQT_SAMPLE_PROCESS_major_faults, sum);
        sample(now, SQT_SAMPLE_MACHINE_swapped_in_pages, brought);
        for (unsigned i = 0; i < 10; ++i, now += 80 * MS) {
            begin_xact(now, 100 + number, 7);
            end_xact(now + MS, 100 + number++, MEM_HIT, 0);
        }
        if (!still)
            continue;
        first = 100 + number;
        for (unsigned i = 0; i < 5; ++i)
            begin_xact(now, 100 + number++, 7);
        PUT(now, WAIT_BEGIN, 0, 10, 0);
        PUT(now += 7 * SECOND, WAIT_END, 0, 1, 0);
        PUT(now, HEARTBEAT_LATE, (uint64_t)(now - 6990 * MS), (uint64_t)now, 0);
        PUT(now += MS, WAIT_BEGIN, 0, 10, 0);
        for (unsigned i = 0; i < 5; ++i)
            end_xact(now, first + i, MEM_HIT, 0);
        PUT(now += MS, WAIT_END, 0, 1, 0);
        s += 7;
    }
    find();
}

/* The first finding of that cause; found_count: there is none. */
static unsigned
found_of(const char *cause)
{
    unsigned i = 0;
    while (i < found_count && strcmp(TEXT(i, cause), cause) != 0)
        ++i;
    return i;
}

static void
a_process_that_waits_for_its_memory_is_not_stopped(void **state)
{
    (void)state;
    for (unsigned times = 1; times <= 2; ++times) {
        stands_still(times, 8 * 300, 8 * 300);
        assert_int_equal(found_of("stopped"), found_count);
        const unsigned row = found_of("swapping");
        assert_int_not_equal(row, found_count);
        assert_int_equal(NUMBER(row, requests), 5 * times);
        assert_in_range(NUMBER(row, waiting_s), 5 * times * 6900 * MS, 5 * times * 7010 * MS);
        assert_non_null(strstr(TEXT(row, sentence), times == 1 ? " It stood still meanwhile: 5 requests waited 6990 ms"
                                                               : " It stood still meanwhile: 10 requests waited"));
    }
    /* Page faults after a stop, that bring back what went to swap space meanwhile. */
    stands_still(1, 8 * 100, 8 * 100);
    assert_int_not_equal(found_of("stopped"), found_count);
}

static void
few_descriptors(void **state)
{
    (void)state;
    plays(0, 0, 900);
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "few_descriptors");
    assert_string_equal(TEXT(0, harm), "resource");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(its_own_memory), SCRIPT_TEST(not_its_own),
                                       SCRIPT_TEST(a_process_that_waits_for_its_memory_is_not_stopped),
                                       SCRIPT_TEST(few_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
