/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_hanging.c - table `findings`: what hangs now comes first, with its number and the age of the oldest.
 */
#include "model_found.h"

#define SECOND (1000 * MS)
enum { OTHER, PARENT, ORIGIN_1, GROUPS = 1, NAME_SERVER, REWRITER = 5 };

static struct sqt_job job;
static int64_t silence; /* of the process's flusher, ns */

static int64_t
silent(const struct sqt_origin *origin)
{
    (void)origin;
    return silence;
}

static uint32_t checked; /* the ACL that the ring shows; 0: none */

static uint32_t
acl_now(const struct sqt_origin *origin)
{
    (void)origin;
    return checked;
}

static void
trace_begin(void)
{
    checked = 0;
    job = (struct sqt_job){.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    consumer.context = &job;
    silence = 0;
    found_count = 0;
    sqt_family_findings.start(&job);
    sqt_model_free(script.model);
    script.model = sqt_model_new(&consumer);
}

static void
tell_loop(void *context, const struct sqt_open_loop *loop)
{
    sqt_family_findings.open_loop(&job, loop, context);
}

static int
is_found(const char *cause)
{
    for (unsigned i = 0; i < found_count; ++i)
        if (strcmp(TEXT(i, cause), cause) == 0)
            return 1;
    return 0;
}

/* The trace is asked at that time, while its process lives. */
static void
ask(int64_t at)
{
    struct sqt_now now = {at, silent, acl_now};
    play();
    job.length = at;
    sqt_model_open_loops(script.model, tell_loop, &now);
    sqt_model_finish_now(script.model, &now);
    sqt_family_findings.finish(&job);
}

static uint64_t
begin(int64_t at)
{
    if (script.count > 4000)
        play();
    begin_xact(at, 100 + ++number, 7);
    return 100 + number;
}

static uint64_t
asked(int64_t at, uint32_t server)
{
    const uint64_t xact = begin(at);
    PUT(at, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(at, DISPATCH, xact, 50, 1);
    PUT(at, REQUEST_SENT, xact, 50, 0);
    return xact;
}

static void
answered(int64_t at, uint32_t server, int64_t wait)
{
    const uint64_t xact = asked(at, server);
    PUT(at += wait, SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_HEADER, xact, 200, 200);
    PUT(at, SERVER_DONE, xact, 50, 0);
    end_xact(at + MS, xact, MISS, 0);
}

static void
all_is_well(int64_t from, int64_t until, uint32_t server)
{
    for (int64_t at = from; at < until; at += 100 * MS)
        answered(at, server, 2 * MS);
}

static void
assert_hangs(const char *culprit, int64_t requests, int64_t since, int64_t now)
{
    assert_string_equal(TEXT(0, cause), "hanging");
    assert_string_equal(TEXT(0, culprit), culprit);
    assert_int_equal(NUMBER(0, lasts), 1);
    assert_int_equal(NUMBER(0, requests), requests);
    assert_int_equal(NUMBER(0, time_s), since);
    assert_int_equal(NUMBER(0, until_s), now);
}

/* ---- whom requests wait for ---- */

/* Of many servers the last share a name, which is nobody's. */
static void
requests_at_others(void **state)
{
    (void)state;
    for (unsigned named = 0; named < 2; ++named) {
        trace_begin();
        all_is_well(0, 30 * SECOND, PARENT);
        for (unsigned i = 0; i < 10; ++i)
            asked(30 * SECOND + i * MS, named ? ORIGIN_1 : OTHER);
        all_is_well(30 * SECOND, 34 * SECOND, PARENT);
        ask(35 * SECOND);
        assert_int_equal(is_found("hanging"), named);
    }
}

/* Their age is of now, and not of the last record.  A worse time that is over comes behind them. */
static void
requests_at_a_server(void **state)
{
    (void)state;
    trace_begin();
    for (int64_t at = 0; at < 30 * SECOND; at += 400 * MS)
        answered(at, PARENT, 300 * MS);
    for (unsigned i = 0; i < 4; ++i)
        asked(30 * SECOND + i * MS, ORIGIN_1);
    ask(33 * SECOND);
    assert_hangs("origin-1", 4, 30 * SECOND, 33 * SECOND);
    assert_int_equal(NUMBER(0, waiting_s), 4 * 3 * SECOND - 6 * MS);
    assert_non_null(strstr(TEXT(0, sentence), "4 requests have been waiting for origin-1, for up to 3.00 s."));
    assert_non_null(strstr(TEXT(0, sentence), "It has answered nothing since then."));
    assert_true(found_count > 1);
    assert_int_equal(NUMBER(1, lasts), 0);
    assert_true(NUMBER(1, waiting_s) > NUMBER(0, waiting_s));
}

/* Two are no hang, and neither are those that have waited for less than a second. */
static void
few_or_early(void **state)
{
    (void)state;
    for (unsigned few = 0; few < 2; ++few) {
        trace_begin();
        all_is_well(0, 10 * SECOND, PARENT);
        for (unsigned i = 0; i < (few ? 2 : 20); ++i)
            asked(10 * SECOND + i, PARENT);
        ask(few ? 15 * SECOND : 10 * SECOND + 900 * MS);
        assert_string_not_equal(TEXT(0, cause), "hanging");
        assert_int_equal(NUMBER(0, lasts), 0);
    }
}

/* A server whose answers take 3 s hangs when a wait has lasted for twice that. */
static void
answers_take_long(void **state)
{
    (void)state;
    for (unsigned longer = 0; longer < 2; ++longer) {
        trace_begin();
        for (int64_t at = 0; at < 60 * SECOND; at += 4 * SECOND)
            answered(at, PARENT, 3 * SECOND);
        for (unsigned i = 0; i < 5; ++i)
            asked(60 * SECOND, PARENT);
        ask(longer ? 66 * SECOND + MS : 65 * SECOND);
        assert_int_equal(strcmp(TEXT(0, cause), "hanging") == 0, longer);
    }
}

/* Where most others get their answers, some wait for long, as for messages that come. */
static void
others_are_answered(void **state)
{
    (void)state;
    for (unsigned more = 0; more < 2; ++more) {
        trace_begin();
        all_is_well(0, 10 * SECOND, PARENT);
        for (unsigned i = 0; i < (more ? 30 : 5); ++i)
            asked(10 * SECOND, PARENT);
        all_is_well(10 * SECOND, 15 * SECOND, PARENT);
        ask(15 * SECOND);
        assert_int_equal(strcmp(TEXT(0, cause), "hanging") == 0, more);
        if (more)
            assert_non_null(strstr(TEXT(0, sentence), "It answered 50 others meanwhile."));
    }
}

/* A body stops.  One of a server that never ended a body may be a stream of events. */
static void
bodies_stop(void **state)
{
    (void)state;
    for (unsigned ended = 0; ended < 2; ++ended) {
        trace_begin();
        all_is_well(0, 10 * SECOND, ended ? ORIGIN_1 : PARENT);
        for (unsigned i = 0; i < 5; ++i) {
            const uint64_t xact = asked(10 * SECOND, ORIGIN_1);
            PUT(10 * SECOND, SERVER_READ, xact, 500, 0);
            PUT(10 * SECOND, SERVER_HEADER, xact, 200, 200);
        }
        ask(13 * SECOND);
        assert_int_equal(strcmp(TEXT(0, cause), "hanging") == 0, ended);
    }
    assert_hangs("origin-1", 5, 10 * SECOND, 13 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "the rest of bodies from origin-1, which have stopped"));
}

/* Each piece that is sent on begins the wait anew. */
static void
bodies_come_slowly(void **state)
{
    (void)state;
    uint64_t xacts[5];
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    for (unsigned i = 0; i < 5; ++i)
        xacts[i] = asked(10 * SECOND, PARENT);
    for (int64_t at = 10 * SECOND; at <= 20 * SECOND; at += SECOND)
        for (unsigned i = 0; i < 5; ++i) {
            PUT(at + 2 * i * MS, SERVER_READ, xacts[i], 500, 0);
            PUT(at + 2 * i * MS, REPLY_WRITE, xacts[i], 500, 1);
            PUT(at + (2 * i + 1) * MS, REPLY_WRITTEN, xacts[i], 500, 0);
        }
    ask(21 * SECOND);
    assert_int_equal(NUMBER(0, lasts), 0);
}

static void
a_helper(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    for (unsigned i = 0; i < 6; ++i) {
        const uint64_t xact = begin(10 * SECOND);
        PUT(10 * SECOND, ACCESS_BEGIN, xact, 0, 0);
        PUT(10 * SECOND, HELPER_BEGIN, xact, xact, GROUPS);
    }
    ask(12 * SECOND);
    assert_hangs("external_acl groups", 6, 10 * SECOND, 12 * SECOND);
    assert_int_equal(found_count, 1); /* and nothing else is said of it */
}

/* A query that has not ended names no server: it is the one that was asked last. */
static void
a_name_server(void **state)
{
    (void)state;
    trace_begin();
    const uint64_t first = begin(0);
    PUT(0, DNS_BEGIN, first, 0, 0);
    PUT(5 * MS, QUERY_END, first, 0, NAME_SERVER);
    PART(PART_QUERY, 0, 0, SQT_WAIT_OK);
    PUT(5 * MS, DNS_END, first, 0, 0);
    end_xact(6 * MS, first, MISS, 0);
    all_is_well(SECOND, 10 * SECOND, PARENT);
    for (unsigned i = 0; i < 6; ++i)
        PUT(10 * SECOND, DNS_BEGIN, begin(10 * SECOND), 0, 0);
    ask(12 * SECOND);
    assert_hangs("name_server 192.0.2.53", 6, 10 * SECOND, 12 * SECOND);
}

/* What a process leaves open that was stopped in an orderly manner does not hang. */
static void
after_a_stop(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    for (unsigned i = 0; i < 20; ++i)
        asked(10 * SECOND, PARENT);
    PUT(20 * SECOND, STOP, 0, 0, 0);
    ask(21 * SECOND);
    assert_int_equal(NUMBER(0, lasts), 0);
}

/* sqtrace-attach ended before the process did. */
static void
after_a_stop_of_the_trace_alone(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    for (unsigned i = 0; i < 20; ++i)
        asked(10 * SECOND, ORIGIN_1);
    PUT(20 * SECOND, STOP, 0, 0, 1);
    ask(20 * SECOND);
    assert_hangs("origin-1", 20, 10 * SECOND, 20 * SECOND);
}

/* ---- main threads ---- */

static void
wait_and_work(int64_t at)
{
    PUT(at - MS, WAIT_BEGIN, 0, 0, 0);
    PUT(at, WAIT_END, 0, 1, 0);
}

/* Its last record announces a read: of all requests that it has accepted, none goes on. */
static void
a_disk_call(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    const uint64_t first = begin(10 * SECOND);
    asked(10 * SECOND, ORIGIN_1);
    wait_and_work(11 * SECOND);
    swap_in_opens(11 * SECOND, 5, first);
    PUT(11 * SECOND, SWAPIN_OPENED, 5, 0, 0);
    PUT(11 * SECOND, SWAPIN_READ, 5, 0, 4096);
    ask(14 * SECOND);
    assert_string_equal(TEXT(0, cause), "standstill");
    assert_string_equal(TEXT(0, harm), "standstill");
    assert_string_equal(TEXT(0, culprit), "read on cache_dir 0 (aufs)");
    assert_int_equal(NUMBER(0, lasts), 1);
    assert_int_equal(NUMBER(0, requests), 2);
    assert_int_equal(NUMBER(0, time_s), 10 * SECOND);
    assert_int_equal(NUMBER(0, until_s), 14 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "has served nobody for 3.00 s"));
    assert_non_null(strstr(TEXT(0, sentence), "2 requests that it had accepted wait, for up to 4.00 s."));
}

/* For three seconds nothing comes after the begin of an access check; the ring shows that ACL. */
static void
check_hangs(uint32_t acl)
{
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    const uint64_t first = begin(11 * SECOND);
    wait_and_work(11 * SECOND);
    PUT(11 * SECOND, ACCESS_BEGIN, first, 0, 0);
    checked = acl;
    ask(14 * SECOND);
}

static void
an_access_check(void **state)
{
    (void)state;
    check_hangs(0);
    assert_string_equal(TEXT(0, cause), "standstill");
    assert_string_equal(TEXT(0, culprit), "an access check");
    assert_int_equal(NUMBER(0, requests), 1);
}

/* The ring shows which ACL it is, though nothing was sampled yet. */
static void
an_acl_that_the_ring_shows(void **state)
{
    (void)state;
    check_hangs(7);
    assert_string_equal(TEXT(0, cause), "standstill");
    assert_string_equal(TEXT(0, culprit), "acl bad_sites");
    assert_non_null(strstr(TEXT(0, advice), "Shorten that ACL"));
}

/* Long passes one after the other are as good as one. */
static void
one_check_after_the_other(void **state)
{
    (void)state;
    for (unsigned longer = 0; longer < 2; ++longer) {
        trace_begin();
        all_is_well(0, 10 * SECOND, PARENT);
        for (unsigned i = 0; i < 3; ++i) {
            wait_and_work(10 * SECOND + i * (longer ? 2 * SECOND : 400 * MS));
            PUT(10 * SECOND + i * (longer ? 2 * SECOND : 400 * MS), ACCESS_BEGIN,
                begin(10 * SECOND + i * (longer ? 2 * SECOND : 400 * MS)), 0, 0);
        }
        ask(longer ? 14 * SECOND + 300 * MS : 11 * SECOND + 300 * MS);
        assert_int_equal(NUMBER(0, lasts), longer);
    }
    assert_string_equal(TEXT(0, cause), "standstill");
    assert_int_equal(NUMBER(0, requests), 3);
    assert_non_null(strstr(TEXT(0, sentence), "for 4.30 s"));
}

static void
a_process_that_is_stopped(void **state)
{
    (void)state;
    trace_begin();
    all_is_well(0, 10 * SECOND, PARENT);
    wait_and_work(10 * SECOND);
    PUT(10 * SECOND + MS, WAIT_BEGIN, 0, 1000, 0);
    silence = 3 * SECOND;
    ask(14 * SECOND);
    assert_string_equal(TEXT(0, cause), "stopped");
    assert_string_equal(TEXT(0, culprit), "not running");
    assert_int_equal(NUMBER(0, requests), 0);
    assert_int_equal(NUMBER(0, time_s), 11 * SECOND);
    assert_non_null(strstr(TEXT(0, sentence), "No request that it had accepted was open."));
}

/* Just before it stopped, so many page faults came, and so many pages from swap, in a second. */
static void
a_process_that_is_stopped_by_its_memory(void **state)
{
    (void)state;
    static const uint64_t cases[][2] = {{400, 500}, {400, 0}, {200, 500}};
    for (unsigned c = 0; c < 3; ++c) {
        trace_begin();
        all_is_well(0, 10 * SECOND, PARENT);
        for (unsigned s = 8; s <= 10; ++s) {
            PUT(s * SECOND, SAMPLE, s * cases[c][0], s * (uint64_t)SECOND, SQT_SAMPLE_PROCESS_major_faults);
            PUT(s * SECOND, SAMPLE, s * cases[c][1], s * (uint64_t)SECOND, SQT_SAMPLE_MACHINE_swapped_in_pages);
        }
        wait_and_work(10 * SECOND);
        PUT(10 * SECOND + MS, WAIT_BEGIN, 0, 1000, 0);
        silence = 3 * SECOND;
        ask(14 * SECOND);
        assert_string_equal(TEXT(0, cause), c ? "stopped" : "swapping");
        assert_string_equal(TEXT(0, culprit), c ? "not running" : "memory");
        assert_int_equal(NUMBER(0, time_s), 11 * SECOND);
        assert_int_equal(!c, strstr(TEXT(0, sentence), "400 page faults a second read from swap") != NULL);
    }
}

/* A long wait for descriptors, and a pass that goes on, are none. */
static void
a_process_that_waits(void **state)
{
    (void)state;
    for (unsigned works = 0; works < 2; ++works) {
        trace_begin();
        all_is_well(0, 10 * SECOND, PARENT);
        wait_and_work(10 * SECOND);
        if (!works)
            PUT(10 * SECOND + MS, WAIT_BEGIN, 0, 1000, 0);
        ask(works ? 10 * SECOND + 900 * MS : 60 * SECOND);
        assert_string_equal(TEXT(0, cause), "healthy");
    }
}

/* What ended itself is not stopped. */
static void
a_process_that_ended_itself(void **state)
{
    (void)state;
    for (unsigned fatal = 0; fatal < 2; ++fatal) {
        trace_begin();
        all_is_well(0, 10 * SECOND, PARENT);
        wait_and_work(10 * SECOND);
        if (fatal)
            PUT(10 * SECOND + MS, FATAL, 0, 0, 0);
        silence = 3 * SECOND;
        ask(14 * SECOND);
        assert_int_equal(is_found("stopped"), !fatal);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_at_others, script_begin, script_end),
        cmocka_unit_test_setup_teardown(requests_at_a_server, script_begin, script_end),
        cmocka_unit_test_setup_teardown(few_or_early, script_begin, script_end),
        cmocka_unit_test_setup_teardown(answers_take_long, script_begin, script_end),
        cmocka_unit_test_setup_teardown(others_are_answered, script_begin, script_end),
        cmocka_unit_test_setup_teardown(bodies_stop, script_begin, script_end),
        cmocka_unit_test_setup_teardown(bodies_come_slowly, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_helper, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_name_server, script_begin, script_end),
        cmocka_unit_test_setup_teardown(after_a_stop, script_begin, script_end),
        cmocka_unit_test_setup_teardown(after_a_stop_of_the_trace_alone, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_disk_call, script_begin, script_end),
        cmocka_unit_test_setup_teardown(an_access_check, script_begin, script_end),
        cmocka_unit_test_setup_teardown(an_acl_that_the_ring_shows, script_begin, script_end),
        cmocka_unit_test_setup_teardown(one_check_after_the_other, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_process_that_is_stopped, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_process_that_is_stopped_by_its_memory, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_process_that_waits, script_begin, script_end),
        cmocka_unit_test_setup_teardown(a_process_that_ended_itself, script_begin, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
