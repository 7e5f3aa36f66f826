/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_digests.c - what cache digests are busy with: work of the main thread, and what waits for a peer.
 */
#include "model_script.h"

static struct sqt_digest told[SCRIPT_ROWS];
static unsigned told_count;

static void
keep(void *context, const struct sqt_digest *digest)
{
    (void)context;
    told[told_count++] = *digest;
}

static void
play_digests(void)
{
    static const struct sqt_consumer consumer = {.digest = keep};
    told_count = 0;
    play_to(&consumer);
}

static void
is(unsigned i, enum sqt_digest_activity activity, enum sqt_digest_result result, int64_t begin, int64_t busy)
{
    assert_true(i < told_count);
    assert_string_equal(sqt_digest_activities[told[i].activity].name, sqt_digest_activities[activity].name);
    assert_int_equal(told[i].result, result);
    assert_int_equal(told[i].begin, begin);
    assert_int_equal(told[i].busy, busy);
}

static void
look_ups(void **state)
{
    (void)state;
    PUT(100, DIGEST_KEY, 5, 7, 0);
    PUT(110, DIGEST_LOOKUP, 5, 4, 3);
    PUT(120, DIGEST_LOOKUP, 5, 5, 4 | SQT_DIGEST_SAYS_HIT);
    PUT(130, DIGEST_NONE, 5, 1, 8);
    play_digests();
    assert_int_equal(told_count, 4);
    is(0, SQT_DIGEST_KEY, SQT_DIGEST_RESULTS, 93, 7);
    assert_int_equal(told[0].peer, UINT32_MAX);
    is(1, SQT_DIGEST_LOOKUP, SQT_DIGEST_RESULT_MISS, 106, 4);
    is(2, SQT_DIGEST_LOOKUP, SQT_DIGEST_RESULT_HIT, 115, 5);
    assert_int_equal(told[2].peer, 4);
    is(3, SQT_DIGEST_LOOKUP, SQT_DIGEST_RESULT_NONE, 129, 1);
    assert_int_equal(told[3].xact, 5);
    assert_int_equal(told[3].bytes, SQT_MISSING);
}

static void
updates_are_not_in_the_rebuild(void **state)
{
    (void)state;
    PUT(50, DIGEST_REBUILD, 0, 10, SQT_DIGEST_BEGUN);
    PUT(100, DIGEST_REBUILD, 0, 40, SQT_DIGEST_DONE);
    PART(PART_DIGEST_UPDATES, 3, 9, 0);
    PART(PART_DIGEST_UPDATES, 20, 25, 1);
    PUT(200, DIGEST_REWRITE, 128, 6, SQT_DIGEST_BEGUN);
    PUT(210, DIGEST_REWRITE, 4096, 7, SQT_DIGEST_MORE);
    play_digests();
    assert_int_equal(told_count, 6);
    is(0, SQT_DIGEST_REBUILD, SQT_DIGEST_RESULT_BEGUN, 40, 10);
    is(1, SQT_DIGEST_UPDATE, SQT_DIGEST_RESULT_REFUSED, 60, 9);
    assert_int_equal(told[1].count, 3);
    is(2, SQT_DIGEST_UPDATE, SQT_DIGEST_RESULT_ADDED, 60, 25);
    assert_int_equal(told[2].count, 20);
    is(3, SQT_DIGEST_REBUILD, SQT_DIGEST_RESULT_DONE, 60, 6);
    is(4, SQT_DIGEST_REWRITE, SQT_DIGEST_RESULT_BEGUN, 194, 6);
    is(5, SQT_DIGEST_REWRITE, SQT_DIGEST_RESULT_MORE, 203, 7);
    assert_int_equal(told[5].bytes, 4096);
}

static void
fetches(void **state)
{
    (void)state;
    static const enum sqt_digest_result results[] = {SQT_DIGEST_RESULT_NEW, SQT_DIGEST_RESULT_SAME,
                                                     SQT_DIGEST_RESULT_ERROR};
    for (uint32_t how = 0; how < 3; ++how) {
        PUT(100 * how, DIGEST_FETCH_BEGIN, 9 + how, 0, 3);
        PUT(100 * how + 30, DIGEST_FETCH_END, 9 + how, 700, how);
        PUT(100 * how + 31, SERVER_DONE, 9 + how, 1, 0);
    }
    PUT(400, DIGEST_FETCH_END, 77, 700, 0); /* begun before the trace */
    PUT(500, DIGEST_FETCH_BEGIN, 20, 0, 3);
    PUT(600, DIGEST_FETCH_BEGIN, 21, 0, 3);
    PUT(620, LOST, 610, 10, SQT_LOSS_RING_FULL);
    PUT(650, DIGEST_FETCH_END, 20, 700, 0);
    PUT(660, DIGEST_FETCH_BEGIN, 22, 0, 3);
    play_digests();
    assert_int_equal(told_count, 6);
    for (unsigned how = 0; how < 3; ++how) {
        is(how, SQT_DIGEST_FETCH, results[how], 100 * (int64_t)how, 30);
        assert_int_equal(told[how].bytes, 700);
        assert_int_equal(told[how].peer, 3);
    }
    is(3, SQT_DIGEST_FETCH, SQT_DIGEST_RESULT_LOST, 500, 150);
    is(4, SQT_DIGEST_FETCH, SQT_DIGEST_RESULT_LOST, 600, 60);
    is(5, SQT_DIGEST_FETCH, SQT_DIGEST_RESULT_UNFINISHED, 660, 0);
}

/* A peer is asked at t because its digest says hit. */
static void
asked(int64_t t, uint64_t xact, int parent, uint32_t status)
{
    PUT(t, DISPATCH, xact, 3, 1);
    PUT(t, DIGEST_HIT, xact, (uint64_t)parent, 6);
    if (status) {
        PUT(t + 10, SERVER_READ, xact, 500, 0);
        PUT(t + 10, SERVER_HEADER, xact, 300, status);
        PUT(t + 20, SERVER_READ, xact, 200, 0);
    }
}

static void
hits_true_and_false(void **state)
{
    (void)state;
    asked(100, 1, 0, 200);
    PUT(130, SERVER_DONE, 1, 3, 0);
    asked(200, 2, 0, 504);
    PUT(230, SERVER_DONE, 2, 3, 0);
    PUT(240, RETRY, 2, 0, 1);
    server_exchange(250, 2, 4, 2); /* what the origin sends is not the peer's */
    asked(300, 3, 1, 504);         /* a parent does not say so because it has nothing */
    PUT(330, SERVER_DONE, 3, 3, 0);
    asked(400, 4, 0, 200);
    PUT(430, SERVER_DONE, 4, 3, 1);
    asked(500, 5, 0, 0);
    PUT(530, RETRY, 5, 0, 1);
    asked(600, 6, 0, 0);
    PUT(630, FORWARD_END, 6, 0, 1);
    asked(700, 7, 0, 200);
    play_digests();
    static const enum sqt_digest_result results[] = {
        SQT_DIGEST_RESULT_HIT,   SQT_DIGEST_RESULT_FALSE, SQT_DIGEST_RESULT_HIT,       SQT_DIGEST_RESULT_ERROR,
        SQT_DIGEST_RESULT_ERROR, SQT_DIGEST_RESULT_ERROR, SQT_DIGEST_RESULT_UNFINISHED};
    assert_int_equal(told_count, 7);
    for (unsigned i = 0; i < 7; ++i) {
        is(i, SQT_DIGEST_HIT, results[i], 100 * (int64_t)(i + 1), i < 6 ? 30 : 20);
        assert_int_equal(told[i].xact, i + 1);
        assert_int_equal(told[i].peer, 6);
        assert_int_equal(told[i].bytes, i == 4 || i == 5 ? 0 : 700);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(look_ups),
        SCRIPT_TEST(updates_are_not_in_the_rebuild),
        SCRIPT_TEST(fetches),
        SCRIPT_TEST(hits_true_and_false),
    };
    return cmocka_run_group_tests_name("model_digests", tests, NULL, NULL);
}
