/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_long.c - what table `findings` says of requests that take long where nothing is a finding.
 */
#include "model_tenths.h"

enum { ORIGIN_1 = 2, ORIGIN_2, REQUESTS = 200 };

/* A body that comes within that time. */
static void
fetch(uint32_t server, int64_t ns)
{
    const uint64_t xact = begin(), bytes = (uint64_t)ns / 100; /* 10 MB/s */
    PUT(now, CONNECT_REUSED, xact, server, 1);
    PART(PART_SERVER, 4, 0, server);
    PUT(now, DISPATCH, xact, server, 1);
    PUT(now, REQUEST_SENT, xact, server, 0);
    PUT(now += 5 * MS, SERVER_READ, xact, 1000, 0);
    PUT(now, SERVER_HEADER, xact, 300, 200);
    for (unsigned i = 0; i < 4; ++i)
        PUT(now += ns / 4, SERVER_READ, xact, bytes / 4, 0);
    PUT(now, SERVER_DONE, xact, server, 0);
    PUT(now, XACT_END, xact, MISS, 200);
    PART(PART_XACT_SIZES, bytes, bytes + 300, 1);
    PART(PART_XACT_FLAGS, 0, 7, 0);
}

/* What is said after so many long requests among 200. */
static const char *
said_of_long(unsigned count, uint32_t server)
{
    const unsigned every = REQUESTS / (count + 1);
    for (unsigned i = 0; i < REQUESTS; ++i) {
        const int is_long = i % every == 1 && i / every < count;
        fetch(is_long ? server : ORIGIN_1, is_long ? 1200 * MS : 10 * MS);
    }
    find();
    now = 0;
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
    return TEXT(0, sentence);
}

static void
long_requests_are_said(void **state)
{
    (void)state;
    const char *const said = said_of_long(8, ORIGIN_2);
    assert_non_null(strstr(said,
                           " But 8 of 200 requests, 4.0 %, take 1 s or longer (total_ns >= 1s and class != tunnel), "
                           "1.21 s in the mean: 100 % of that is bodies that come from servers, at 9.54 MB/s. "
                           "8 of them have server origin-2, as 8 of all requests have."));
}

static void
a_name_that_all_have_is_not_said(void **state)
{
    (void)state;
    const char *const said = said_of_long(8, ORIGIN_1);
    assert_non_null(strstr(said, " But 8 of 200 requests, 4.0 %, take 1 s or longer"));
    assert_null(strstr(said, "of them have"));
}

static void
few_are_not_said(void **state)
{
    (void)state;
    assert_null(strstr(said_of_long(4, ORIGIN_2), "take 1 s or longer"));
    assert_non_null(strstr(said_of_long(5, ORIGIN_2), "take 1 s or longer"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(long_requests_are_said),
                                       SCRIPT_TEST(a_name_that_all_have_is_not_said), SCRIPT_TEST(few_are_not_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
