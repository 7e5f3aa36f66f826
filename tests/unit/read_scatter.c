/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_scatter.c - ids in a row, and at equal steps, stand apart in a table, whatever the process's random number is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/idmap.h"
#include "base/scatter.h"

#define IDS 32768
#define BITS 16 /* a table of twice as many slots */

/* A generator that has nothing to do with the hash: xorshift64*. */
static uint64_t
draw(void)
{
    static uint64_t state = 88172645463325252;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717;
}

/* How many slots are looked at in vain for each of the ids, which are put where they belong or behind that. */
static double
steps_of(uint64_t scatter, uint64_t apart, uint8_t *taken)
{
    uint64_t steps = 0;
    memset(taken, 0, (size_t)1 << BITS);
    for (uint64_t k = 1; k <= IDS; ++k) {
        size_t i = (size_t)(sqt_scattered(k * apart, scatter) >> (64 - BITS));
        for (; taken[i] && steps < (uint64_t)IDS * 1000; i = (i + 1) & ((1 << BITS) - 1))
            ++steps;
        taken[i] = 1;
    }
    return (double)steps / IDS;
}

/* A random hash takes half a step (Knuth, vol. 3, 6.4, theorem K: (Q_0(M, N-1) - 1) / 2 at half a table). */
static void
no_random_number_makes_ids_crowd(void **state)
{
    uint8_t *const taken = malloc((size_t)1 << BITS);
    (void)state;
    assert_non_null(taken);
    for (uint64_t apart = 1; apart <= 4096; apart *= 8)
        for (unsigned turn = 0; turn < 200; ++turn) {
            const uint64_t scatter = draw() | 1;
            const double steps = steps_of(scatter, apart, taken);
            if (steps > 1)
                fail_msg("ids %u apart, random number %016llx: %.2f steps", (unsigned)apart,
                         (unsigned long long)scatter, steps);
        }
    free(taken);
}

/* Maps find what was put into them, and nothing else. */
static void
a_map_keeps_what_is_put_into_it(void **state)
{
    static uint8_t values[IDS];
    struct sqt_idmap map = {0};
    (void)state;
    for (uint64_t k = 0; k < IDS; ++k)
        sqt_idmap_put(&map, k * 3, &values[k]);
    for (uint64_t k = 0; k < IDS; k += 2)
        assert_ptr_equal(sqt_idmap_take(&map, k * 3), &values[k]);
    for (uint64_t k = 0; k < IDS; ++k) {
        assert_ptr_equal(sqt_idmap_get(&map, k * 3), k % 2 ? &values[k] : NULL);
        assert_null(sqt_idmap_get(&map, k * 3 + 1));
    }
    sqt_idmap_free(&map);
}

#define CHAINS 1024
#define TEXTS 4096

static unsigned
fnv(const char *text)
{
    uint32_t hash = UINT32_C(2166136261);
    for (; *text; ++text)
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    return hash % CHAINS;
}

/* Texts that meet under a hash without a random number do not meet here. */
static void
texts_cannot_be_chosen_to_meet(void **state)
{
    unsigned lengths[CHAINS] = {0}, longest = 0;
    char text[32];
    (void)state;
    for (unsigned number = 0, found = 0; found < TEXTS; ++number) {
        snprintf(text, sizeof(text), "name-%u", number);
        if (fnv(text) != 0)
            continue;
        ++found;
        unsigned *const length = &lengths[sqt_scattered_text(text, strlen(text)) % CHAINS];
        longest = ++*length > longest ? *length : longest;
    }
    assert_true(longest < 40); /* 4 on average */
}

/* Two words differ in their top bits: where products lose their upper halves, that meets for every random number. */
static void
texts_of_two_words_differ(void **state)
{
    uint64_t words[2] = {1, 2};
    (void)state;
    const uint64_t one = sqt_scattered_text((const char *)words, sizeof(words));
    words[0] ^= UINT64_C(1) << 63;
    words[1] ^= UINT64_C(1) << 63 | UINT64_C(1) << 31;
    assert_true(one != sqt_scattered_text((const char *)words, sizeof(words)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_random_number_makes_ids_crowd),
        cmocka_unit_test(a_map_keeps_what_is_put_into_it),
        cmocka_unit_test(texts_cannot_be_chosen_to_meet),
        cmocka_unit_test(texts_of_two_words_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
