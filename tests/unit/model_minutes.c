/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_minutes.c - table `finding_minutes`: findings divided over minutes and processes.
 */
#include "model_script.h"

#include "figure/stat/ledger.h"
#include "figure/finding/minutes.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
enum { PARENT = 1, ORIGIN_1 };
#define ROWS 64

static struct sqt_job job;
static union sqt_cell cells[ROWS][SQT_CELLS(finding_minutes)];
static char causes[ROWS][64], culprits[ROWS][64];
static struct sqt_row_source sources[ROWS];
static unsigned row_count;
static uint64_t number, rejected;

static int
take_row(void *context, const union sqt_cell *row)
{
    (void)context;
    assert_true(row_count < ROWS);
    memcpy(cells[row_count], row, sizeof(cells[0]));
    snprintf(causes[row_count], sizeof(causes[0]), "%s", row[SQT_CELL(finding_minutes, cause)].text);
    const char *const culprit = row[SQT_CELL(finding_minutes, culprit)].text;
    snprintf(culprits[row_count], sizeof(culprits[0]), "%s", culprit ? culprit : "-");
    sources[row_count++] = job.source;
    return 1;
}

static void
note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

#define NUMBER(row, name) (cells[row][SQT_CELL(finding_minutes, name)].number)

static int
minutes_begin(void **state)
{
    script_begin(state);
    job = (struct sqt_job){.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_finding_minutes.consumer;
    consumer.context = &job;
    row_count = 0;
    number = rejected = 0;
    sqt_family_finding_minutes.start(&job);
    sqt_model_free(script.model);
    script.model = sqt_model_new(&consumer);
    return 0;
}

/* A request to the server that waits for so long, of that process. */
static void
asked(unsigned origin, int64_t at, uint32_t server, int64_t wait, uint32_t status)
{
    const uint64_t xact = ++number;
    begin_xact(at, xact, 7);
    PUT(at, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(at, DISPATCH, xact, 50, 1);
    PUT(at, REQUEST_SENT, xact, 50, 0);
    PUT(at + wait, SERVER_READ, xact, 500, 0);
    PUT(at + wait, SERVER_DONE, xact, 50, 0);
    PUT(at + wait, XACT_END, xact, MISS, status);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, xact, 7, status >= 500 ? SQT_XACT_ERROR_PAGE : 0);
    play_as(origin);
}

static int64_t
sum_of(const char *cause, unsigned cell)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < row_count; ++i)
        if (strcmp(causes[i], cause) == 0)
            sum += cells[i][cell].number;
    return sum;
}
#define SUM(cause, name) sum_of(cause, SQT_CELL(finding_minutes, name))

/* A slow server, in the first and third minute of one process and the first of another one. */
static void
by_minute_and_process(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; ++i) {
        asked(0, i * SECOND, ORIGIN_1, 900 * MS, 200);
        asked(1, i * SECOND + MS, PARENT, 2 * MS, 200);
    }
    for (unsigned i = 0; i < 5; ++i)
        asked(1, 11 * SECOND + i * SECOND, ORIGIN_1, 700 * MS, 200);
    for (unsigned i = 0; i < 20; ++i)
        asked(0, 2 * MINUTE + i * SECOND, i % 2 ? PARENT : ORIGIN_1, i % 2 ? 2 * MS : 800 * MS, 200);
    sqt_model_finish(script.model);
    sqt_family_finding_minutes.finish(&job);
    static const struct {
        int64_t minute;
        uint32_t kid;
        const char *cause;
        int64_t requests, ns;
    } wanted[] = {{0, 0, "all", 10, 9000 * MS}, {0, 0, "slow_server", 10, 9000 * MS},
                  {2, 0, "all", 20, 8020 * MS}, {2, 0, "slow_server", 10, 8000 * MS},
                  {0, 2, "all", 15, 3520 * MS}, {0, 2, "slow_server", 5, 3500 * MS}};
    assert_int_equal(row_count, sizeof(wanted) / sizeof(*wanted));
    for (unsigned i = 0; i < row_count; ++i) {
        assert_int_equal(NUMBER(i, time_s), wanted[i].minute * MINUTE);
        assert_int_equal(NUMBER(i, kid), wanted[i].kid);
        assert_string_equal(causes[i], wanted[i].cause);
        assert_string_equal(culprits[i], i % 2 ? "origin-1" : "-");
        assert_int_equal(NUMBER(i, requests), wanted[i].requests);
        assert_int_equal(NUMBER(i, waiting_ns), wanted[i].ns);
        assert_int_equal(NUMBER(i, minute_requests), wanted[i - i % 2].requests);
        assert_int_equal(NUMBER(i, minute_waiting_ns), wanted[i - i % 2].ns);
    }
}

/* Failures are where requests failed; parts add up to the whole. */
static void
failures_where_they_were(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 30; ++i)
        asked(0, i * SECOND, ORIGIN_1, 2 * MS, 200);
    for (unsigned i = 0; i < 7; ++i)
        asked(0, MINUTE + i * SECOND, ORIGIN_1, 3 * MS, 503);
    for (unsigned i = 0; i < 6; ++i)
        asked(1, MINUTE + 10 * SECOND + i * SECOND, ORIGIN_1, 5 * MS, 503);
    sqt_model_finish(script.model);
    sqt_family_finding_minutes.finish(&job);
    assert_int_equal(SUM("all", requests), 43);
    assert_int_equal(SUM("all", failures), 13);
    assert_int_equal(SUM("failed_answer", failures), 13);
    assert_int_equal(SUM("failed_answer", requests), 13);
    assert_int_equal(SUM("failed_answer", waiting_ns), 51 * MS);
    for (unsigned i = 0; i < row_count; ++i)
        if (strcmp(causes[i], "failed_answer") == 0) {
            assert_int_equal(NUMBER(i, time_s), MINUTE);
            assert_int_equal(NUMBER(i, failures), NUMBER(i, kid) == 2 ? 6 : 7);
        }
}

static int
wants_later(void *context, const struct sqt_row_source *source)
{
    (void)context, (void)source;
    ++rejected;
    return number > 20;
}

/* What was handed out before does not count. */
static void
what_is_new(void **state)
{
    (void)state;
    job.wants = wants_later;
    for (unsigned i = 0; i < 20; ++i)
        asked(0, i * SECOND, ORIGIN_1, 900 * MS, 200);
    for (unsigned i = 0; i < 15; ++i)
        asked(0, 30 * SECOND + i * SECOND, PARENT, 2 * MS, 200);
    sqt_minutes_emit(&job);
    assert_true(rejected > 0);
    assert_int_equal(row_count, 1);
    assert_int_equal(SUM("all", requests), 15);
    sqt_minutes_emit(&job); /* nothing is left */
    assert_int_equal(row_count, 1);
    sqt_minutes_free(&job);
}

/* ---- the ledger ---- */

static void
a_ledger_of_many(void **state)
{
    (void)state;
    struct sqt_ledger_bound bound = {.places = 1000, .sums = 2000};
    struct sqt_ledger *const l = sqt_ledger_new(&bound);
    uint32_t accounts[3] = {0, 0, 0};
    size_t count;
    for (unsigned i = 0; i < 30000; ++i) {
        sqt_ledger_request(l, &script.origins[i % 2], i, (int64_t)(i / 3) * SECOND, 5, i % 10 == 0);
        sqt_ledger_add(l, &accounts[i % 3], i);
    }
    assert_int_equal(l->place_count, 2 * 167); /* 10,000 s */
    assert_int_equal(bound.places, 1000 - l->place_count);
    assert_int_equal(bound.sums, 2000 - l->used);
    sqt_ledger_sort(l);
    uint64_t requests = 0, failures = 0, ns = 0;
    for (unsigned a = 0; a < 3; ++a) {
        const struct sqt_ledger_sum *const sums = sqt_ledger_of(l, accounts[a], &count);
        for (size_t i = 0; i < count; ++i) {
            requests += sums[i].requests;
            failures += sums[i].failures;
            ns += sums[i].ns;
        }
    }
    assert_int_equal(requests, 30000);
    assert_int_equal(failures, 3000);
    assert_int_equal(ns, UINT64_C(29999) * 30000 / 2);
    assert_int_equal(l->places[0].first, 0);
    assert_null(sqt_ledger_of(l, 0, &count));
    assert_null(sqt_ledger_of(l, 4, &count));
    sqt_ledger_free(l);
}

/* Two ledgers share a bound: what finds no room is left out, and counted. */
static void
a_bound_of_ledgers(void **state)
{
    (void)state;
    struct sqt_ledger_bound bound = {.places = 10, .sums = 6};
    struct sqt_ledger *const ledgers[2] = {sqt_ledger_new(&bound), sqt_ledger_new(&bound)};
    uint32_t accounts[2] = {0, 0};
    for (unsigned i = 0; i < 40; ++i) {
        struct sqt_ledger *const l = ledgers[i % 2];
        assert_int_equal(sqt_ledger_request(l, &script.origins[0], i, i % 20 * MINUTE, 5, 0), i % 20 < 10);
        sqt_ledger_add(l, &accounts[i % 2], 3);
    }
    assert_int_equal(ledgers[0]->place_count + ledgers[1]->place_count, 10);
    assert_int_equal(ledgers[0]->used + ledgers[1]->used, 6);
    assert_int_equal(bound.places + bound.sums, 0);
    assert_int_equal(bound.requests, 20);
    assert_int_equal(bound.parts, 8); /* of the minutes that have a place, in both rounds */
    sqt_ledger_free(ledgers[0]);
    sqt_ledger_free(ledgers[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_minute_and_process, minutes_begin, script_end),
        cmocka_unit_test_setup_teardown(failures_where_they_were, minutes_begin, script_end),
        cmocka_unit_test_setup_teardown(what_is_new, minutes_begin, script_end),
        cmocka_unit_test_setup_teardown(a_ledger_of_many, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_bound_of_ledgers, script_begin, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
