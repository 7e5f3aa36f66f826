/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whatif_samples.c - caches of which a sample of the objects is followed have the hits of those of which all are.
 *
 * Sizes of objects are lognormal.  Of three loads, the first has fixed popularities, in the second a crawler asks for half
 * of the objects during a third of the time, and in the third objects become popular and are forgotten.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figure/whatif/replay.h"

#define SECOND INT64_C(1000000000)
#define MB (INT64_C(1) << 20)
#define OBJECTS 250000u
#define REQUESTS 800000u
#define RATE 300.0 /* requests a second */
#define OBJECT_MOST (512 * 1024)
/* Nodes: of all objects; of the sample. */
#define NODES_OF_ALL 400000
#define NODES 16000

enum load { FIXED, SCAN, SHIFT };

static uint64_t state_of_random;

static double
samples_uniform(uint64_t number)
{
    return ((double)(number >> 11) + 0.5) / 9007199254740992.0;
}

static double
samples_draw(void)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return samples_uniform(state_of_random);
}

/* Lognormal: the median is 6 KB, the mean is twice that.  It is the same whenever the object is asked for. */
static int64_t
samples_size(uint64_t object)
{
    const double u = samples_uniform(sqt_cache_mix(object * 7 + 1)), v = samples_uniform(sqt_cache_mix(object * 7 + 2));
    const double size = 6000 * exp(1.2 * sqrt(-2 * log(u)) * cos(2 * M_PI * v));
    return size < 4e6 ? 100 + (int64_t)size : 4000000;
}

static uint64_t
samples_object(enum load load, unsigned i)
{
    const uint64_t object = 1 + (uint64_t)(pow(samples_draw(), 1.5) * OBJECTS);
    if (load == SCAN && i > REQUESTS / 3 && i < REQUESTS / 3 * 2 && samples_draw() < 0.5)
        return 10 * OBJECTS + i;
    if (load == SHIFT)
        return object + (uint64_t)i * 20 / REQUESTS * (OBJECTS / 40);
    return object;
}

/* A request that was a hit in the trace is short.  Hits are those whose object was asked for not long ago. */
static struct sqt_access
samples_access(uint64_t object, int64_t begin, int hit)
{
    const int64_t bytes = samples_size(object);
    const int64_t took = hit ? SECOND / 500 + bytes * 20 : (int64_t)((0.5 + samples_draw()) * 5e7) + bytes * 200;
    return (struct sqt_access){.begin = begin,
                               .data = begin + took / 2,
                               .end = begin + took,
                               .object = object,
                               .bytes = bytes,
                               .stored_bytes = bytes + 300,
                               .hit = hit ? 1u << SQT_REPLAY_MEMORY : 0,
                               .keeps = 1};
}

static void
samples_play(struct sqt_caches *caches, enum load load)
{
    unsigned *const last =
        calloc(12 * OBJECTS, sizeof(*last)); /* requests for each object: the number of the last one */
    double begin = 1000e9;
    struct sqt_replay replay;
    sqt_replay_init(&replay);
    sqt_replay_caches(&replay, caches, SQT_REPLAY_MEMORY, 0);
    state_of_random = 1;
    for (unsigned i = 1; i <= REQUESTS; ++i) {
        const uint64_t object = samples_object(load, i), place = object % (12 * (uint64_t)OBJECTS);
        begin -= log(samples_draw()) / RATE * 1e9;
        const struct sqt_access access =
            samples_access(object, (int64_t)begin, last[place] && i - last[place] < OBJECTS / 8);
        last[place] = i;
        sqt_replay_add(&replay, &access);
    }
    sqt_replay_drain(&replay);
    sqt_replay_free(&replay);
    free(last);
}

static int
samples_are_near(const char *what, const struct sqt_caches *exact, const struct sqt_caches *sampled, double most)
{
    double worst = 0;
    for (unsigned i = 0; i < exact->count; ++i) {
        const double a = 100 * sqt_cache_hit_share(exact, &exact->caches[i]);
        const double b = 100 * sqt_cache_hit_share(sampled, &sampled->caches[i]);
        const double bytes_a = 100 * sqt_cache_byte_share(exact, &exact->caches[i]);
        const double bytes_b = 100 * sqt_cache_byte_share(sampled, &sampled->caches[i]);
        worst = fmax(worst, fmax(fabs(a - b), fabs(bytes_a - bytes_b) / 2));
        print_message("# %s, %d MB: %.2f %% hits exact, %.2f %% of one object in %d; bytes %.2f and %.2f %%\n", what,
                      (int)(exact->caches[i].bytes / MB), a, b, 1 << sampled->halvings, bytes_a, bytes_b);
    }
    return worst < most;
}

/* Hits are within that many points, and bytes within twice as many. */
static void
samples_compare(const char *what, const struct sqt_cache_kind *kind, enum load load, double most)
{
    const struct sqt_cache_size sizes[] = {{160 * MB, OBJECT_MOST}, {640 * MB, OBJECT_MOST}, {2048 * MB, OBJECT_MOST}};
    struct sqt_caches *const exact = calloc(1, sizeof(*exact)), *const sampled = calloc(1, sizeof(*sampled));
    sqt_caches_init(exact, kind, sizes, 3, 0, NODES_OF_ALL);
    sqt_caches_init(sampled, kind, sizes, 3, 0, NODES);
    exact->low = sampled->low = 90;
    exact->high = sampled->high = 95;
    samples_play(exact, load);
    samples_play(sampled, load);
    assert_int_equal(exact->halvings, 0);
    assert_true(sampled->halvings >= 2);
    assert_true(sampled->node_count <= NODES);
    assert_true(samples_are_near(what, exact, sampled, most));
    for (unsigned i = 0; i < 3; ++i)
        assert_int_equal(sampled->caches[i].transit, 0);
    sqt_caches_free(exact);
    sqt_caches_free(sampled);
    free(exact);
    free(sampled);
}

static void
local_fixed(void **state)
{
    (void)state;
    samples_compare("local memory", &sqt_cache_local, FIXED, 1);
}

static void
local_scan(void **state)
{
    (void)state;
    samples_compare("local memory, a scan", &sqt_cache_local, SCAN, 1);
}

static void
local_shift(void **state)
{
    (void)state;
    samples_compare("local memory, popularity shifts", &sqt_cache_local, SHIFT, 1);
}

static void
ufs(void **state)
{
    (void)state;
    samples_compare("ufs", &sqt_cache_ufs, FIXED, 1);
    samples_compare("ufs, a scan", &sqt_cache_ufs, SCAN, 1);
    samples_compare("ufs, popularity shifts", &sqt_cache_ufs, SHIFT, 1);
}

static void
shared(void **state)
{
    (void)state;
    samples_compare("shared memory", &sqt_cache_shared, FIXED, 1);
    samples_compare("shared memory, a scan", &sqt_cache_shared, SCAN, 1);
    samples_compare("shared memory, popularity shifts", &sqt_cache_shared, SHIFT, 1);
}

/* An object is fetched twice at a time, as by clients that reload it.  Meanwhile so many others come that it is not followed any
 * more: then it is in the cache as a number of pages. */
static void
fetched_twice(void **state)
{
    (void)state;
    const struct sqt_cache_size size = {64 * MB, OBJECT_MOST};
    struct sqt_caches *const c = calloc(1, sizeof(*c));
    uint64_t object = 1;
    while (sqt_cache_mix(object) >> 62 != 1)
        ++object;
    sqt_caches_init(c, &sqt_cache_local, &size, 1, 0, 100);
    uint32_t nodes[2];
    for (unsigned i = 0; i < 2; ++i)
        nodes[i] = sqt_caches_data(c, 0, object, 4000, 1, 1);
    assert_int_equal(nodes[0], nodes[1]);
    for (uint64_t other = 1000; c->halvings < 2; ++other)
        sqt_caches_end(c, sqt_caches_data(c, 0, other, 4000, 1, 1), other, 4000, 1, 1);
    assert_false(sqt_caches_follow(c, object));
    const int64_t used = c->caches[0].used, rest = c->caches[0].rest;
    for (unsigned i = 0; i < 2; ++i)
        sqt_caches_end(c, nodes[i], object, 4000, 1, 1);
    assert_int_equal(c->caches[0].used, used);
    assert_int_equal(c->caches[0].rest, rest + 2);
    assert_int_equal(c->held, 0);
    unsigned count = 0;
    for (uint32_t node = c->caches[0].oldest; node != SQT_NO_NODE; node = sqt_cache_link_of(c, node, 0)->newer)
        assert_true(++count <= 100);
    assert_int_equal(count, used);
    sqt_caches_free(c);
    free(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_fixed), cmocka_unit_test(local_scan), cmocka_unit_test(local_shift),
        cmocka_unit_test(ufs),         cmocka_unit_test(shared),     cmocka_unit_test(fetched_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
