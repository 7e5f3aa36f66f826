/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whatif_caches.c - simulated caches and queues: against plain ones, sampled against exact, and at their bounds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figure/whatif/lanes.h"
#include "figure/whatif/replay.h"

#define SECOND INT64_C(1000000000)
#define MB (INT64_C(1) << 20)
#define NO_LIMIT INT64_MAX
#define FRAME INT64_C(4136) /* what a page of an object takes of local memory */

static uint64_t state_of_random;

static double
draw(void)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(state_of_random >> 11) / 9007199254740992.0;
}

/* An object of `count`, the first ones more often. */
static uint64_t
draw_object(unsigned count)
{
    return 1 + (uint64_t)(pow(draw(), 3) * count);
}

/* Sizes of objects are fixed, and vary. */
static int64_t
size_of(uint64_t object)
{
    return 500 + (int64_t)(sqt_cache_mix(object * 7) % 40000);
}

/* A load of requests that hits or misses as it pleases: what was so in the trace changes only times. */
static void
play(struct sqt_caches *caches, unsigned requests, unsigned objects, int64_t every, int64_t took, int64_t size)
{
    struct sqt_replay replay;
    sqt_replay_init(&replay);
    sqt_replay_caches(&replay, caches, SQT_REPLAY_MEMORY, 0);
    state_of_random = 1;
    for (unsigned i = 0; i < requests; ++i) {
        const uint64_t object = draw_object(objects);
        const int64_t begin = i * every, bytes = size ? size : size_of(object);
        sqt_replay_add(&replay, &(struct sqt_access){.begin = begin,
                                                     .data = begin + took / 2,
                                                     .end = begin + took,
                                                     .object = object,
                                                     .bytes = bytes,
                                                     .stored_bytes = bytes + 300,
                                                     .keeps = 1});
    }
    sqt_replay_drain(&replay);
    assert_int_equal(replay.event_count, 0);
    sqt_replay_free(&replay);
}

/* ---- local memory ---- */

/* Hits of an LRU of that many objects, found by looking at all of them. */
static unsigned
plain_lru(unsigned requests, unsigned objects, unsigned room)
{
    uint64_t *const stack = calloc(room + 1, sizeof(*stack));
    unsigned used = 0, hits = 0;
    state_of_random = 1;
    for (unsigned i = 0; i < requests; ++i) {
        const uint64_t object = draw_object(objects);
        unsigned place = 0;
        while (place < used && stack[place] != object)
            ++place;
        hits += place < used;
        if (place == used)
            used += used < room;
        place = place < used ? place : used - 1;
        memmove(stack + 1, stack, place * sizeof(*stack));
        stack[0] = object;
    }
    free(stack);
    return hits;
}

/* One page an object, and a second between requests: there is room for each new one, and Squid's cache is plain LRU. */
static void
slow_is_lru(void **state)
{
    (void)state;
    const struct sqt_cache_size sizes[] = {{100 * FRAME, NO_LIMIT}, {200 * FRAME, NO_LIMIT}, {400 * FRAME, NO_LIMIT}};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_local, sizes, 3, 0, 0);
    play(&caches, 20000, 2000, 2 * SECOND, SECOND / 10, 1000);
    for (unsigned i = 0; i < 3; ++i)
        assert_int_equal(caches.caches[i].hits, plain_lru(20000, 2000, 100u << i));
    assert_int_equal(caches.followed, 20000);
    sqt_caches_free(&caches);
}

/* With many requests a second the same cache replaces few objects, so it has fewer hits where the load changes. */
static void
fast_is_not_lru(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {200 * FRAME, NO_LIMIT};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_local, &size, 1, 0, 0);
    play(&caches, 20000, 2000, SECOND / 1000, SECOND / 10, 1000);
    assert_true(caches.caches[0].hits * 10 < plain_lru(20000, 2000, 200) * 9);
    assert_true(caches.caches[0].used <= 200);
    assert_int_equal(caches.caches[0].transit, 0);
    sqt_caches_free(&caches);
}

/* Nothing stays that is larger than the limit. */
static void
limits(void **state)
{
    (void)state;
    const struct sqt_cache_size sizes[] = {{64 * MB, 10000}, {64 * MB, NO_LIMIT}};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_local, sizes, 2, 0, 0);
    play(&caches, 5000, 100, SECOND / 10, SECOND / 100, 0);
    assert_int_equal(caches.caches[1].hits, 5000 - 100);
    assert_true(caches.caches[0].hits < 2500);
    sqt_caches_free(&caches);
}

/* Whoever asks while the object is being fetched is a hit as soon as the first data came, and not before. */
static void
joins(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {64 * MB, NO_LIMIT};
    const int64_t begins[] = {0, 40, 60, 110}; /* of four requests; data come after 50, all after 100 */
    struct sqt_caches caches;
    struct sqt_replay replay;
    sqt_caches_init(&caches, &sqt_cache_local, &size, 1, 0, 0);
    sqt_replay_init(&replay);
    sqt_replay_caches(&replay, &caches, SQT_REPLAY_MEMORY, 0);
    for (unsigned i = 0; i < 4; ++i)
        sqt_replay_add(&replay, &(struct sqt_access){.begin = begins[i],
                                                     .data = begins[i] + 50,
                                                     .end = begins[i] + 100,
                                                     .object = 7,
                                                     .bytes = 1000,
                                                     .stored_bytes = 1300,
                                                     .keeps = 1});
    sqt_replay_drain(&replay);
    assert_int_equal(caches.caches[0].hits, 2);
    assert_int_equal(caches.caches[0].used, 1);
    assert_int_equal(caches.held, 0);
    sqt_replay_free(&replay);
    sqt_caches_free(&caches);
}

/* An object that is too large to stay passes through, and leaves the others where they are. */
static void
passes_through(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {100 * FRAME, 16 * 4096};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_local, &size, 1, 0, 0);
    for (uint64_t object = 1; object <= 90; ++object) {
        const uint32_t node = sqt_caches_data(&caches, 0, object, 4000, 1, 1);
        sqt_caches_end(&caches, node, object, 4000, 1, 1);
    }
    const uint32_t node = sqt_caches_data(&caches, SECOND, 1000, 500 * MB, 1, 1);
    assert_int_equal(caches.caches[0].used, 90);
    assert_true(caches.caches[0].transit <= 8);
    sqt_caches_end(&caches, node, 1000, 500 * MB, 1, 1);
    assert_int_equal(caches.caches[0].used, 90);
    assert_int_equal(caches.caches[0].transit, 0);
    sqt_caches_free(&caches);
}

/* Clients that wait for answers come faster where there are more hits, and those that do not wait keep their pace. */
static void
pace(void **state)
{
    (void)state;
    const struct sqt_cache_size sizes[] = {{10 * FRAME, NO_LIMIT}, {64 * MB, NO_LIMIT}};
    for (unsigned waits = 0; waits < 2; ++waits) {
        struct sqt_caches caches;
        struct sqt_replay replay;
        int64_t begin = 0;
        sqt_caches_init(&caches, &sqt_cache_local, sizes, 2, 0, 0);
        sqt_replay_init(&replay);
        sqt_replay_caches(&replay, &caches, SQT_REPLAY_MEMORY, 0);
        state_of_random = 1;
        for (unsigned i = 0; i < 20000; ++i) {
            const int hit = i % 10 == 0;
            const int64_t took = hit ? SECOND / 1000 : SECOND / 100;
            sqt_replay_add(&replay, &(struct sqt_access){.begin = begin,
                                                         .data = begin + took / 2,
                                                         .end = begin + took,
                                                         .object = draw_object(1000),
                                                         .conn = 1,
                                                         .bytes = 1000,
                                                         .stored_bytes = 1300,
                                                         .hit = hit,
                                                         .keeps = 1});
            begin += waits ? took : took + SECOND / 10;
        }
        sqt_replay_drain(&replay);
        /* A cycle of 0.1 * 1 + 0.9 * 10 ms becomes one of 1 ms, and more than 8 times as fast is not believed. */
        assert_true(waits ? caches.caches[1].pace > 5 && caches.caches[1].pace <= 8 : caches.caches[1].pace == 1);
        assert_true(waits ? caches.caches[0].pace < 2 : caches.caches[0].pace == 1);
        sqt_replay_free(&replay);
        sqt_caches_free(&caches);
    }
}

/* ---- sampled against exact ---- */

/* Of that many objects in the sample.  In this load the most popular object has 3 % of all requests, so a smaller sample says
 * little about a small cache; whatif_samples.c has loads that are like those of proxies. */
#define SAMPLED 5000

static void
compare(const struct sqt_cache_kind *kind, int64_t every, uint32_t nodes, double most)
{
    const struct sqt_cache_size sizes[] = {{8 * MB, NO_LIMIT}, {32 * MB, NO_LIMIT}, {128 * MB, NO_LIMIT}};
    struct sqt_caches exact, sampled;
    sqt_caches_init(&exact, kind, sizes, 3, 0, 0);
    sqt_caches_init(&sampled, kind, sizes, 3, 0, nodes);
    exact.low = sampled.low = 90;
    exact.high = sampled.high = 95;
    play(&exact, 400000, 40000, every, SECOND / 20, 0);
    play(&sampled, 400000, 40000, every, SECOND / 20, 0);
    assert_int_equal(exact.halvings, 0);
    assert_true(sampled.halvings >= 1);
    assert_true(sampled.node_count <= nodes);
    for (unsigned i = 0; i < 3; ++i) {
        const double a = 100 * sqt_cache_hit_share(&exact, &exact.caches[i]);
        const double b = 100 * sqt_cache_hit_share(&sampled, &sampled.caches[i]);
        print_message("# %s, %d MB: %.2f exact, %.2f of one object in %d\n", kind->method, (int)(sizes[i].bytes / MB),
                      a, b, 1 << sampled.halvings);
        assert_true(fabs(a - b) < most);
    }
    sqt_caches_free(&exact);
    sqt_caches_free(&sampled);
}

static void
sampled_ufs(void **state)
{
    (void)state;
    compare(&sqt_cache_ufs, SECOND / 100, SAMPLED, 1);
}

static void
sampled_shared(void **state)
{
    (void)state;
    compare(&sqt_cache_shared, SECOND / 100, SAMPLED / 2, 1);
}

static void
sampled_local(void **state)
{
    (void)state;
    compare(&sqt_cache_local, 2 * SECOND, SAMPLED, 1);
}

/* ---- shared memory and disks ---- */

/* An object has one place, and pages are never more than there are. */
static void
places(void **state)
{
    (void)state;
    const struct sqt_cache_size sizes[] = {{1 * MB, NO_LIMIT}, {1024 * MB, NO_LIMIT}};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_shared, sizes, 2, 0, 0);
    play(&caches, 20000, 1000, SECOND / 100, SECOND / 100, 0);
    assert_true(caches.caches[0].used <= 32);
    /* The second has room for all, but for the few that share a place. */
    assert_true(caches.caches[1].hits > 20000 - 1000 - 600 && caches.caches[1].hits <= 20000 - 500);
    assert_true(caches.caches[0].hits < caches.caches[1].hits / 2);
    sqt_caches_free(&caches);
}

/* Trimmed to the low mark, and not further. */
static void
low_mark(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {1000 * 4096, NO_LIMIT};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_ufs, &size, 1, 0, 0);
    caches.low = 90;
    caches.high = 95;
    play(&caches, 20000, 3000, SECOND / 20, SECOND / 100, 1000);
    assert_true(caches.caches[0].used >= 880 && caches.caches[0].used < 950);
    sqt_caches_free(&caches);
}

/* A sample's cache goes on making room when the sample becomes smaller, also where times are those of a log. */
static void
low_mark_of_samples(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {8192 * 4096, NO_LIMIT};
    const int64_t from = INT64_C(1700000000) * SECOND;
    struct sqt_caches caches;
    uint32_t joined;
    sqt_caches_init(&caches, &sqt_cache_ufs, &size, 1, 0, 500);
    caches.low = 90;
    caches.high = 95;
    for (int64_t object = 1; object <= 20000; ++object) {
        const uint32_t node = sqt_caches_data(&caches, from + object * SECOND, (uint64_t)object, 4000, 1, 1);
        sqt_caches_end(&caches, node, (uint64_t)object, 4000, 1, 1);
    }
    assert_true(caches.halvings >= 4);
    assert_true(caches.caches[0].used << caches.halvings < caches.caches[0].pages * 95 / 100);
    for (uint64_t object = 1; object <= 20000; ++object)
        if (sqt_caches_follow(&caches, object) && (object < 5000 || object > 15000))
            assert_int_equal(sqt_caches_look_up(&caches, object, 4000, &joined), object > 15000);
    sqt_caches_free(&caches);
}

/* Squid takes marks of more than 100 %. */
static void
mark_that_is_never_reached(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {INT64_C(2147483647) << 20, NO_LIMIT};
    struct sqt_caches caches;
    sqt_caches_init(&caches, &sqt_cache_ufs, &size, 1, 0, 0);
    caches.low = caches.high = INT32_MAX;
    for (uint64_t object = 1; object <= 10; ++object) {
        const uint32_t node = sqt_caches_data(&caches, 0, object, 4000, 1, 1);
        sqt_caches_end(&caches, node, object, 4000, 1, 1);
    }
    for (int64_t second = 1; second <= 10; ++second)
        sqt_caches_data(&caches, second * SECOND, 1000, 4000, 1, 0);
    assert_int_equal(caches.caches[0].used, 10);
    sqt_caches_free(&caches);
}

/* Passes of 70 years, of which none can make room, are over at once: with a low mark of 0, and while a hit is being sent. */
static void
long_times(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {10 * 4096, NO_LIMIT};
    for (unsigned locked = 0; locked < 2; ++locked) {
        struct sqt_caches caches;
        uint32_t joined;
        sqt_caches_init(&caches, &sqt_cache_ufs, &size, 1, 0, 0);
        caches.low = locked ? 10 : 0;
        caches.high = 95;
        for (uint64_t object = 1; object <= 10; ++object) {
            const uint32_t node = sqt_caches_data(&caches, 0, object, 4000, 1, 1);
            sqt_caches_end(&caches, node, object, 4000, 1, 1);
            if (locked)
                assert_int_equal(sqt_caches_look_up(&caches, object, 4000, &joined), 1);
        }
        for (int64_t year = 1; year <= 70; ++year)
            sqt_caches_data(&caches, year * 365 * 86400 * SECOND, 1000, 4000, 1, 0);
        assert_int_equal(caches.caches[0].used, locked ? 10 : 0);
        for (uint64_t object = 1; locked && object <= 10; ++object)
            sqt_caches_sent(&caches, object, 4000, 1);
        sqt_caches_data(&caches, 70 * INT64_C(365) * 86400 * SECOND + SECOND, 1000, 4000, 1, 0);
        assert_int_equal(caches.caches[0].used, 0);
        sqt_caches_free(&caches);
    }
}

/* After a restart all is a miss again. */
static void
restart(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {64 * MB, NO_LIMIT};
    for (unsigned kind = 0; kind < 2; ++kind) {
        struct sqt_caches caches;
        sqt_caches_init(&caches, kind ? &sqt_cache_shared : &sqt_cache_local, &size, 1, 0, 0);
        play(&caches, 1000, 100, SECOND, SECOND / 100, 1000);
        const uint64_t first = caches.caches[0].hits;
        sqt_caches_empty(&caches);
        assert_int_equal(caches.caches[0].used, 0);
        play(&caches, 1000, 100, SECOND, SECOND / 100, 1000);
        assert_int_equal(caches.caches[0].hits, 2 * first);
        sqt_caches_free(&caches);
    }
}

/* Requests that come long after they began, out of order, and more than are kept. */
static void
disorder(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {64 * MB, NO_LIMIT};
    struct sqt_caches caches;
    struct sqt_replay replay;
    sqt_caches_init(&caches, &sqt_cache_local, &size, 1, 0, 1000);
    sqt_replay_init(&replay);
    sqt_replay_caches(&replay, &caches, SQT_REPLAY_MEMORY, 0);
    for (unsigned i = 0; i < 100000; ++i) {
        const int64_t end = (int64_t)i * 1000, begin = i % 7 ? end - 10000 : end - 1000 * SECOND;
        sqt_replay_add(&replay, &(struct sqt_access){.begin = begin,
                                                     .data = end,
                                                     .end = end,
                                                     .object = 1 + i % 5000,
                                                     .conn = 1 + i % 3,
                                                     .bytes = 100,
                                                     .stored_bytes = i % 11 ? 400 : 0,
                                                     .hit = i % 2 == 0,
                                                     .never = i % 13 == 0,
                                                     .keeps = 1});
    }
    sqt_replay_drain(&replay);
    assert_true(replay.late > 1000);
    assert_true(replay.flight_count <= SQT_REPLAY_FLIGHTS);
    assert_int_equal(caches.caches[0].transit, 0);
    sqt_replay_free(&replay);
    sqt_caches_free(&caches);
}

/* ---- queues ---- */

/* When a question is taken up, found by looking at all servers. */
static int64_t
plain_take(int64_t *free_at, unsigned count, int64_t now, int64_t service)
{
    unsigned first = 0;
    for (unsigned i = 1; i < count; ++i)
        if (free_at[i] < free_at[first])
            first = i;
    const int64_t starts = free_at[first] > now ? free_at[first] : now;
    free_at[first] = starts + service;
    return starts;
}

static void
lanes(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 9; ++count) {
        int64_t free_at[9] = {0}, now = 1;
        struct sqt_lanes l;
        sqt_lanes_init(&l, count);
        state_of_random = count;
        for (unsigned i = 0; i < 5000; ++i) {
            const int64_t service = 1 + (int64_t)(draw() * 1000 * count);
            now += (int64_t)(draw() * 1100);
            assert_int_equal(sqt_lanes_take(&l, now, service), plain_take(free_at, count, now, service));
        }
        sqt_lanes_free(&l);
    }
}

/* Forged ones: their sum is more than a number can be. */
static void
lanes_of_long_services(void **state)
{
    (void)state;
    struct sqt_lanes l;
    int64_t before = 0;
    sqt_lanes_init(&l, 1);
    for (int64_t now = 0; now < 20; ++now) {
        const int64_t starts = sqt_lanes_take(&l, now, INT64_C(1) << 60);
        assert_true(starts >= before);
        before = starts;
    }
    sqt_lanes_free(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_is_lru),
        cmocka_unit_test(fast_is_not_lru),
        cmocka_unit_test(limits),
        cmocka_unit_test(joins),
        cmocka_unit_test(passes_through),
        cmocka_unit_test(pace),
        cmocka_unit_test(sampled_ufs),
        cmocka_unit_test(sampled_shared),
        cmocka_unit_test(sampled_local),
        cmocka_unit_test(places),
        cmocka_unit_test(low_mark),
        cmocka_unit_test(low_mark_of_samples),
        cmocka_unit_test(restart),
        cmocka_unit_test(disorder),
        cmocka_unit_test(lanes),
        cmocka_unit_test(long_times),
        cmocka_unit_test(lanes_of_long_services),
        cmocka_unit_test(mark_that_is_never_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
