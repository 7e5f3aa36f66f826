/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_waits.c - waits for helpers, adaptation services and name servers: their rows, and the table of services.
 */
#include "model_script.h"

enum { BASIC, GROUPS, FIRST_SERVER, SECOND_SERVER, OF_TOMORROW, REWRITER };
enum { SCANNER, CLEANER };
#define AGAIN (UINT32_C(1) << 31)

static struct rows waits;

static int
waits_row(void *context, const union sqt_cell *row)
{
    (void)context;
    memcpy(waits.cells[waits.count++], row, SQT_CELLS(waits) * sizeof(*row));
    return 1;
}

/* Makes rows of what is in the script, up to the end of the trace. */
static void
tell(void)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = waits_row};
    struct sqt_consumer consumer = sqt_family_waits.consumer;
    consumer.context = &job;
    waits.count = 0;
    play_to(&consumer);
    script.count = 0;
}

#define WAIT(row, name) (waits.cells[row][SQT_CELL(waits, name)])

static void
expect_wait(unsigned row, uint64_t xact, const char *kind, const char *name, const char *outcome)
{
    assert_true(row < waits.count);
    assert_number(WAIT(row, xid), xact ? (int64_t)xact : SQT_CELL_MISSING);
    assert_string_equal(WAIT(row, kind).text, kind);
    assert_string_equal(WAIT(row, name).text, name);
    assert_string_equal(WAIT(row, outcome).text, outcome);
}

static void
expect_parts(unsigned row, int64_t begin, int64_t queue, int64_t service, int64_t total, int64_t depth)
{
    assert_number(WAIT(row, time_s), begin);
    assert_number(WAIT(row, queue_ns), queue);
    assert_number(WAIT(row, service_ns), service);
    assert_number(WAIT(row, total_ns), total);
    assert_number(WAIT(row, depth), depth);
}
#define NONE_KNOWN SQT_CELL_MISSING

static void
helper_end(int64_t time, uint64_t xact, uint64_t use, enum sqt_wait_outcome outcome, int64_t given, uint64_t depth)
{
    PUT(time, HELPER_END, xact, use, outcome);
    PART(PART_HELPER, (uint64_t)given, depth, 0);
}

static void
query_end(int64_t time, uint64_t xact, int64_t sent, uint32_t who, enum sqt_wait_outcome outcome)
{
    PUT(time, QUERY_END, xact, (uint64_t)sent, who);
    PART(PART_QUERY, 0, 0, outcome);
}

/* ---- helpers ---- */

static void
a_use_of_a_helper_is_divided_where_a_child_got_it(void **state)
{
    (void)state;
    PUT(100, HELPER_BEGIN, 5, 1, BASIC);
    PUT(110, HELPER_BEGIN, 6, 2, BASIC);
    helper_end(150, 5, 1, SQT_WAIT_OK, 100, 0);
    helper_end(190, 6, 2, SQT_WAIT_ERR, 151, 7);
    tell();
    assert_int_equal(waits.count, 2);
    expect_wait(0, 5, "auth", "basic", "ok");
    expect_parts(0, 100, 0, 50, 50, 0);
    expect_wait(1, 6, "auth", "basic", "err");
    expect_parts(1, 110, 41, 39, 80, 7);
}

static void
each_question_has_one_row_however_it_ends(void **state)
{
    static const enum sqt_wait_outcome outcomes[] = {SQT_WAIT_BROKEN, SQT_WAIT_TIMEOUT, SQT_WAIT_DIED,
                                                     SQT_WAIT_ABANDONED};
    static const char *const names[] = {"broken", "timeout", "died", "abandoned"};
    (void)state;
    for (unsigned i = 0; i < 4; ++i) {
        PUT(100 + 1000 * i, HELPER_BEGIN, 5, 1 + i, GROUPS | (i ? AGAIN : 0));
        helper_end(200 + 1000 * i, 5, 1 + i, outcomes[i], i ? 150 + 1000 * i : 0, i);
        helper_end(201 + 1000 * i, 5, 1 + i, SQT_WAIT_OK, 150, i); /* an answer too many */
    }
    tell();
    assert_int_equal(waits.count, 4);
    for (unsigned i = 0; i < 4; ++i)
        expect_wait(i, 5, "external_acl", "groups", names[i]);
    expect_parts(0, 100, 100, NONE_KNOWN, 100, 0); /* no child ever got it */
    expect_parts(1, 1100, 50, 50, 100, 1);
}

static void
of_a_shared_answer_only_the_whole_is_known(void **state)
{
    (void)state;
    PUT(100, HELPER_BEGIN, 5, 1, GROUPS);
    PUT(120, HELPER_BEGIN, 6, 2, GROUPS);
    helper_end(150, 5, 1, SQT_WAIT_OK, 100, 0);
    helper_end(150, 6, 2, SQT_WAIT_SHARED, 0, 0);
    PUT(160, HELPER_BEGIN, 0, 3, GROUPS); /* refreshed while nobody waits */
    helper_end(170, 0, 3, SQT_WAIT_OK, 160, 0);
    tell();
    expect_wait(1, 6, "external_acl", "groups", "shared");
    expect_parts(1, 120, NONE_KNOWN, NONE_KNOWN, 30, NONE_KNOWN);
    expect_wait(2, 0, "external_acl", "groups", "ok");
}

static void
a_use_without_an_end_is_unfinished_and_one_across_a_loss_is_lost(void **state)
{
    (void)state;
    PUT(100, HELPER_BEGIN, 5, 1, BASIC);
    PUT(110, LOST, 105, 3, SQT_LOSS_RING_FULL);
    PUT(111, HELPER_BEGIN, 6, 2, BASIC);
    helper_end(150, 5, 1, SQT_WAIT_OK, 100, 0);
    PUT(160, WAIT_END, 0, 0, 0);
    tell();
    assert_int_equal(waits.count, 2);
    expect_wait(0, 5, "auth", "basic", "lost");
    expect_parts(0, 100, NONE_KNOWN, NONE_KNOWN, NONE_KNOWN, 0);
    expect_wait(1, 6, "auth", "basic", "unfinished");
    assert_number(WAIT(1, total_ns), 49);
}

static void
stamps_that_cannot_be_are_kept_in_order(void **state)
{
    (void)state;
    script.foreign = 1;
    PUT(100, HELPER_BEGIN, 5, 1, OF_TOMORROW);
    helper_end(150, 5, 1, 77, 900, UINT64_MAX);
    PUT(200, HELPER_END, 5, 9, 0);
    tell();
    assert_int_equal(waits.count, 1);
    assert_null(WAIT(0, kind).text);
    assert_string_equal(WAIT(0, name).text, "of_tomorrow x");
    assert_string_equal(WAIT(0, outcome).text, "failed");
    expect_parts(0, 100, 50, 0, 50, INT32_MAX);
}

/* ---- the stage ---- */

static struct rows stage_requests;

static void
stage_request(void *context, const struct sqt_xact *xact)
{
    (void)context;
    sqt_request_cells(stage_requests.cells[stage_requests.count++], xact);
}

#define OF_REQUEST(row, name) (stage_requests.cells[row][SQT_CELL(requests, name)])

/* Two helpers at once, one after the other, a rewriter, and one that somebody else waits for. */
static void
what_access_checks_wait_for_helpers_is_theirs(void **state)
{
    const struct sqt_consumer consumer = {.request = stage_request};
    (void)state;
    stage_requests.count = 0;
    begin_xact(0, 5, 7);
    PUT(0, ACCESS_BEGIN, 5, 0, 0);
    PUT(10, HELPER_BEGIN, 5, 1, BASIC);
    PUT(20, HELPER_BEGIN, 5, 2, GROUPS);
    helper_end(40, 5, 1, SQT_WAIT_OK, 10, 0);
    helper_end(50, 5, 2, SQT_WAIT_OK, 20, 0);
    PUT(60, HELPER_BEGIN, 5, 3, BASIC);
    helper_end(65, 5, 3, SQT_WAIT_OK, 60, 0);
    PUT(66, HELPER_BEGIN, 0, 4, GROUPS);
    PUT(70, ACCESS_END, 5, 0, 0);
    end_xact(100, 5, MEM_HIT, 0);
    helper_end(110, 0, 4, SQT_WAIT_OK, 66, 0);
    begin_xact(200, 6, 7);
    PUT(200, REDIRECT_BEGIN, 6, 0, 0);
    PUT(200, HELPER_BEGIN, 6, 5, REWRITER);
    helper_end(230, 6, 5, SQT_WAIT_OK, 200, 0);
    PUT(230, REDIRECT_END, 6, 0, 0);
    end_xact(300, 6, MEM_HIT, 0);
    play_to(&consumer);
    assert_number(OF_REQUEST(0, helper_ns), 45);
    assert_number(OF_REQUEST(0, access_ns), 25);
    assert_number(OF_REQUEST(0, unaccounted_ns), 30);
    assert_number(OF_REQUEST(1, redirect_ns), 30);
    assert_number(OF_REQUEST(1, helper_ns), SQT_CELL_MISSING);
}

/* ---- adaptation services ---- */

static void
a_service_is_waited_for_until_the_next_one_or_the_end(void **state)
{
    (void)state;
    PUT(100, ADAPT_BEGIN, 5, 0, 1);
    PUT(100, ADAPT_SERVICE, 5, SCANNER, 1);
    PUT(150, ADAPT_SERVICE, 5, CLEANER, 2);
    PUT(170, ADAPT_ADMITTED, 5, 0, 0);
    PUT(200, ADAPT_END, 5, 0, 1);
    PUT(201, ADAPT_END, 5, 0, 1);
    tell();
    assert_int_equal(waits.count, 2);
    expect_wait(0, 5, "adaptation", "scanner", "ok");
    expect_parts(0, 100, 0, 50, 50, NONE_KNOWN);
    expect_wait(1, 5, "adaptation", "cleaner", "ok");
    expect_parts(1, 150, 20, 30, 50, NONE_KNOWN);
}

static void
a_service_that_fails_has_its_outcome_and_its_replacement_a_row(void **state)
{
    (void)state;
    PUT(100, ADAPT_BEGIN, 5, 0, 0);
    PUT(100, ADAPT_SERVICE, 5, SCANNER, 1);
    PUT(140, ADAPT_FAILED, 5, 0, SQT_WAIT_FAILED);
    PUT(140, ADAPT_SERVICE, 5, CLEANER, 2);
    PUT(180, ADAPT_FAILED, 5, 0, SQT_WAIT_TIMEOUT);
    PUT(190, ADAPT_FAILED, 5, 0, SQT_WAIT_FAILED);
    PUT(190, ADAPT_END, 5, 0, 0);
    PUT(200, ADAPT_SERVICE, 6, SCANNER, 1);
    PUT(210, ADAPT_FAILED, 6, 0, SQT_WAIT_TIMEOUT); /* and it is asked again */
    PUT(230, ADAPT_END, 6, 0, 0);
    tell();
    assert_int_equal(waits.count, 3);
    expect_wait(0, 5, "adaptation", "scanner", "failed");
    expect_wait(1, 5, "adaptation", "cleaner", "timeout");
    assert_number(WAIT(1, total_ns), 50);
    expect_wait(2, 6, "adaptation", "scanner", "ok");
    assert_number(WAIT(2, total_ns), 30);
}

/* ---- name servers ---- */

static void
each_query_is_a_row(void **state)
{
    (void)state;
    query_end(600, 5, 100, FIRST_SERVER, SQT_WAIT_TIMEOUT);
    query_end(700, 5, 600, SECOND_SERVER | AGAIN, SQT_WAIT_OK);
    query_end(800, 0, 750, FIRST_SERVER, SQT_WAIT_ERR);
    tell();
    assert_int_equal(waits.count, 3);
    expect_wait(0, 5, "name_server", "192.0.2.53", "timeout");
    expect_parts(0, 100, 0, 500, 500, NONE_KNOWN);
    expect_wait(1, 5, "name_server", "192.0.2.54", "ok");
    expect_wait(2, 0, "name_server", "192.0.2.53", "err");
}

/* ---- the table of services ---- */

static struct rows services;

static int
services_row(void *context, const union sqt_cell *row)
{
    static const char *const order[] = {"scanner", "basic", "192.0.2.54", "192.0.2.53"};
    (void)context;
    assert_string_equal(row[SQT_CELL(services, name)].text, order[services.count]);
    memcpy(services.cells[services.count++], row, SQT_CELLS(services) * sizeof(*row));
    return 1;
}

static void
no_note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

#define OF_SERVICE(row, name) (services.cells[row][SQT_CELL(services, name)])

/* Ten requests of 100 ms, each with 20 ms of authentication, half of them in the queue, and 40 ms of a service. */
static void
the_table_of_services_adds_up(void **state)
{
    const int64_t ms = 1000000;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = services_row, .note = no_note};
    (void)state;
    sqt_family_services.start(&job);
    struct sqt_consumer consumer = sqt_family_services.consumer;
    consumer.context = &job;
    for (unsigned i = 0; i < 10; ++i) {
        const int64_t t = i * 1000 * ms;
        begin_xact(t, 100 + i, 7);
        PUT(t, HELPER_BEGIN, 100 + i, 1 + i, BASIC | (i == 9 ? AGAIN : 0));
        helper_end(t + 20 * ms, 100 + i, 1 + i, i == 8 ? SQT_WAIT_BROKEN : SQT_WAIT_OK, t + 10 * ms, i);
        PUT(t + 20 * ms, ADAPT_BEGIN, 100 + i, 0, 0);
        PUT(t + 20 * ms, ADAPT_SERVICE, 100 + i, SCANNER, 1);
        PUT(t + 60 * ms, ADAPT_END, 100 + i, 0, 0);
        end_xact(t + 100 * ms, 100 + i, MISS, 0);
    }
    query_end(20000 * ms, 0, 10000 * ms, FIRST_SERVER, SQT_WAIT_TIMEOUT); /* nobody waits for it */
    query_end(20001 * ms, 109, 20000 * ms, SECOND_SERVER | AGAIN, SQT_WAIT_OK);
    play_to(&consumer);
    sqt_family_services.finish(&job);
    assert_int_equal(services.count, 4);
    assert_string_equal(OF_SERVICE(0, kind).text, "adaptation");
    assert_number(OF_SERVICE(0, share_pct), 40000);
    assert_string_equal(OF_SERVICE(1, kind).text, "auth");
    assert_number(OF_SERVICE(1, count), 10);
    assert_number(OF_SERVICE(1, share_pct), 20000);
    assert_number(OF_SERVICE(1, p50_ms), 20 * ms);
    assert_number(OF_SERVICE(1, p99_ms), 20 * ms);
    assert_number(OF_SERVICE(1, queue_p50_ms), 10 * ms);
    assert_number(OF_SERVICE(1, service_p90_ms), 10 * ms);
    assert_number(OF_SERVICE(1, depth_max), 9);
    assert_number(OF_SERVICE(1, failures), 1);
    assert_number(OF_SERVICE(1, retries), 1);
    assert_number(OF_SERVICE(2, retries), 1);
    assert_number(OF_SERVICE(3, timeouts), 1);
    assert_number(OF_SERVICE(3, share_pct), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_use_of_a_helper_is_divided_where_a_child_got_it),
        SCRIPT_TEST(each_question_has_one_row_however_it_ends),
        SCRIPT_TEST(of_a_shared_answer_only_the_whole_is_known),
        SCRIPT_TEST(a_use_without_an_end_is_unfinished_and_one_across_a_loss_is_lost),
        SCRIPT_TEST(stamps_that_cannot_be_are_kept_in_order),
        SCRIPT_TEST(what_access_checks_wait_for_helpers_is_theirs),
        SCRIPT_TEST(a_service_is_waited_for_until_the_next_one_or_the_end),
        SCRIPT_TEST(a_service_that_fails_has_its_outcome_and_its_replacement_a_row),
        SCRIPT_TEST(each_query_is_a_row),
        SCRIPT_TEST(the_table_of_services_adds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
