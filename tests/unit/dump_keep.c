/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_keep.c - what is kept of requests for the trace-event JSON stays within its budget, and goes on from there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "row/kept.h"

#define BUDGET ((size_t)1 << 20)

/* Charges 1 ns tiles that take turns between two stages, up to that time. */
static void
charge_until(struct sqt_keep *keep, struct sqt_xact *xact, int64_t until)
{
    for (int64_t at = xact->stages.last; at < until; ++at)
        sqt_keep_charge(keep,
                        &(struct sqt_charge){.xact = xact, .stage = (unsigned)(at % 2), .from = at, .until = at + 1});
    xact->stages.last = until;
}

static void
a_long_request_leaves_room_for_others(void **state)
{
    struct sqt_keep keep = {.left = BUDGET};
    struct sqt_xact longest = {.begin = 0}, another = {.begin = 0};
    (void)state;
    charge_until(&keep, &longest, 1000000);
    assert_true(keep.left > BUDGET / 2);
    charge_until(&keep, &another, 1000000);
    assert_true(keep.left > BUDGET / 2);
    assert_true(((struct sqt_kept *)another.user)->tile_count >= 1000);
    sqt_keep_drop(&keep, longest.user);
    sqt_keep_drop(&keep, another.user);
    assert_int_equal(keep.left, BUDGET); /* all is given back */
    assert_null(keep.all);
}

static void
many_long_requests_stay_within_the_budget(void **state)
{
    static struct sqt_xact xacts[3000];
    struct sqt_keep keep = {.left = BUDGET};
    (void)state;
    memset(xacts, 0, sizeof(xacts));
    for (unsigned i = 0; i < 3000; ++i)
        charge_until(&keep, &xacts[i], 2000);
    assert_true(keep.left <= BUDGET); /* it never went below 0 */
    sqt_keep_free(&keep);
    assert_int_equal(keep.left, BUDGET);
}

static void
what_is_kept_ends_where_the_rest_begins(void **state)
{
    struct sqt_keep keep = {.left = BUDGET};
    struct sqt_xact xact = {.begin = 0, .end = 1000000};
    struct sqt_tile tile;
    int64_t at = 0;
    (void)state;
    charge_until(&keep, &xact, 1000000);
    for (size_t i = 0; sqt_keep_tile(&xact, &i, &tile); at = tile.until) {
        assert_int_equal(tile.from, at);
        assert_int_equal(tile.stage, at % 2);
    }
    assert_int_equal(at, ((struct sqt_kept *)xact.user)->until);
    assert_true(at > 0 && at < 1000000);
    sqt_keep_free(&keep);
}

static void
blocks_count_too(void **state)
{
    struct sqt_keep keep = {.left = BUDGET};
    struct sqt_xact xact = {.begin = 0, .end = 1000000};
    const union sqt_cell row[SQT_CELLS(ios)] = {{0}};
    (void)state;
    for (int i = 0; i < 100000; ++i) {
        charge_until(&keep, &xact, i + 1);
        sqt_keep_block(&keep, &xact, row);
    }
    const struct sqt_kept *const kept = xact.user;
    assert_true(kept->block_count < 10000 && kept->tile_count < 10000);
    assert_true(kept->until <= (int64_t)kept->tile_count); /* no block without its tile, no tile beyond the end */
    assert_true(keep.left > BUDGET / 2);
    sqt_keep_free(&keep);
}

static void
tiles_of_one_stage_that_touch_are_one(void **state)
{
    struct sqt_keep keep = {.left = BUDGET};
    struct sqt_xact xact = {.begin = 100, .end = 130};
    struct sqt_tile tile;
    size_t i = 0;
    (void)state;
    for (int64_t at = 100; at < 130; at += 10)
        sqt_keep_charge(&keep, &(struct sqt_charge){.xact = &xact, .stage = at == 120, .from = at, .until = at + 10});
    sqt_keep_recharge(&(struct sqt_charge){.xact = &xact, .stage = 2, .was = 0, .from = 110, .until = 130});
    assert_true(sqt_keep_tile(&xact, &i, &tile) && tile.stage == 0 && tile.from == 100 && tile.until == 110);
    assert_true(sqt_keep_tile(&xact, &i, &tile) && tile.stage == 2 && tile.from == 110 && tile.until == 120);
    sqt_keep_recharge(&(struct sqt_charge){.xact = &xact, .stage = 0, .was = 2, .from = 110, .until = 130});
    i = 0;
    assert_true(sqt_keep_tile(&xact, &i, &tile) && tile.stage == 0 && tile.from == 100 && tile.until == 120);
    assert_true(sqt_keep_tile(&xact, &i, &tile) && tile.stage == 1 && tile.from == 120 && tile.until == 130);
    assert_false(sqt_keep_tile(&xact, &i, &tile));
    sqt_keep_free(&keep);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_request_leaves_room_for_others),
        cmocka_unit_test(many_long_requests_stay_within_the_budget),
        cmocka_unit_test(what_is_kept_ends_where_the_rest_begins),
        cmocka_unit_test(blocks_count_too),
        cmocka_unit_test(tiles_of_one_stage_that_touch_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
