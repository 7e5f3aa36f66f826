/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_standstill.c - table `findings`: restarts, reconfigurations, rotations, long passes, and processes that died.
 */
#include "model_found.h"

#define SECOND (1000 * MS)
enum { A_CALL = 4 };

static int64_t now;
static uint32_t acl; /* that is sampled in passes; 0: no samples; UINT32_MAX: samples without one */
static struct {
    unsigned event; /* 0: none */
    uint64_t id, arg;
    uint32_t aux;
} work; /* that passes tell at their end */
static struct {
    unsigned count;
    int64_t apart;
    uint32_t who;
} children; /* of a helper, that passes start */

/* So many requests, ten a second from `now` on; each takes a millisecond, as long as nothing holds it. */
static void
requests(unsigned count)
{
    for (unsigned i = 0; i < count; ++i, now += 100 * MS) {
        const uint64_t xact = 100 + number++;
        begin_xact(now, xact, 7);
        end_xact(now + MS, xact, MEM_HIT, 0);
    }
}

static void
starts(void)
{
    PUT(now, START, 0xff, 1, 0);
}

static void
listens(void)
{
    PUT(now, SAMPLE, 0, (uint64_t)now, SQT_SAMPLE_LISTENER_backlog | 1u << 8);
}

/* A pass of the event loop that takes that long; so many requests wait for its end, and its clients came at its begin. */
static void
holds(int64_t ns, uint32_t activity, unsigned event, unsigned waiting)
{
    const int64_t from = now;
    const uint64_t first = 100 + number;
    for (unsigned i = 0; i < waiting; ++i)
        begin_xact(from, 100 + number++, 7);
    PUT(from, WAIT_BEGIN, 0, 1000, 0);
    if (acl) {
        PUT(from, LOOP_SAMPLE, (uint64_t)(from - 10 * MS), (uint64_t)from, 0);
        PART(PART_LOOP_RAN, 0, 0, SQT_LOOP_IN_WAIT);
    }
    PUT(from, WAIT_END, 0, 1, 0);
    for (unsigned i = 0; i < children.count; ++i)
        PUT(from + 100 * MS + i * children.apart, CHILD_STARTED, 80 + i, i + 1, children.who);
    now += ns;
    if (acl) {
        PUT(now, LOOP_SAMPLE, (uint64_t)from, (uint64_t)(now - MS), activity);
        PART(PART_LOOP_RAN, (uint64_t)(ns - MS), 0, (uint32_t)(ns / 1000 - 1000) << SQT_LOOP_FLAG_BITS);
        if (acl != UINT32_MAX)
            PART(PART_LOOP_IN, acl, 0, UINT32_MAX);
    }
    if (work.event)
        put(now, work.event, work.id, work.arg, work.aux);
    work.event = 0;
    if (event)
        put(now, event, event == SQT_EV_RECONFIGURE ? 0xff : 0, 0, 0);
    PUT(now, WAIT_BEGIN, 0, 1000, 0);
    PART(PART_ACTIVITY, (uint64_t)from, (uint64_t)now, activity);
    PUT(now, WAIT_END, 0, 1, 0);
    for (unsigned i = 0; i < waiting; ++i)
        end_xact(now, first + i, MEM_HIT, 0);
    PUT(now += MS, WAIT_BEGIN, 0, 1000, 0);
}

static unsigned row;

/* What requests wait for in the meantime may be told by a rule, too. */
static void
assert_told(const char *cause, const char *culprit, const char *pattern)
{
    find();
    now = 0;
    for (row = 0; row < found_count && strcmp(TEXT(row, cause), cause) != 0;)
        ++row;
    assert_true(row < found_count);
    assert_string_equal(TEXT(row, culprit), culprit);
    assert_string_equal(TEXT(row, harm), "standstill");
    assert_string_equal(TEXT(row, pattern), pattern);
}

static void
assert_healthy(void)
{
    find();
    now = 0;
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
}

/* Ports are closed 10.5 s after the start, and STOP follows 12 s later. */
static void
restarts(int64_t lifetime, int64_t gap, int64_t silence, int64_t later)
{
    starts();
    requests(100);
    listens();
    if (silence)
        for (int64_t until = now + silence; now < until; now += SECOND)
            listens();
    now += lifetime;
    PUT(now, STOP, 0, 1, 0);
    now += gap;
    starts();
    now += later;
    requests(100);
}

static void
nobody_could_connect(void **state)
{
    (void)state;
    restarts(12 * SECOND, 100 * MS, 0, 0);
    assert_told("restart", "shutdown", "once");
    assert_int_equal(NUMBER(row, time_s), 10 * SECOND);
    assert_int_equal(NUMBER(row, until_s), 22100 * MS);
    assert_non_null(strstr(TEXT(row, sentence), "nobody could connect for 12.1 s"));
    assert_non_null(strstr(TEXT(row, sentence), "at the rate before, 121 requests would have come."));
    /* A quick restart; and two in the night, when nobody comes before, or after. */
    restarts(0, 100 * MS, 0, 0);
    assert_healthy();
    restarts(12 * SECOND, 100 * MS, 60 * SECOND, 0);
    assert_healthy();
    restarts(12 * SECOND, 100 * MS, 0, 30 * SECOND);
    assert_healthy();
}

/* The end of a trace is no harm. */
/* Reading may begin after the start of the process that ends, as in a window of a trace. */
static void
a_start_that_was_not_read(void **state)
{
    (void)state;
    requests(100);
    listens();
    PUT(now += 12 * SECOND, STOP, 0, 1, 0);
    now += 100 * MS;
    starts();
    requests(100);
    assert_told("restart", "shutdown", "once");
    assert_int_equal(NUMBER(row, time_s), 10 * SECOND);
    assert_int_equal(NUMBER(row, until_s), 22100 * MS);
}

static void
a_stop_at_the_end(void **state)
{
    (void)state;
    starts();
    requests(100);
    listens();
    PUT(now += 12 * SECOND, STOP, 0, 1, 0);
    assert_healthy();
}

/* Only its trace ends: who starts next is the same process, traced again. */
static void
a_trace_ends(void **state)
{
    (void)state;
    starts();
    requests(100);
    listens();
    PUT(now += 12 * SECOND, STOP, 0, 1, 1);
    now += 100 * MS;
    starts();
    requests(100);
    assert_healthy();
}

static void
reconfigurations(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; ++k) {
        starts();
        for (unsigned i = 0; i <= k; ++i) {
            requests(100);
            if (i < k)
                holds(k == 1 ? 50 * MS : SECOND, A_CALL, SQT_EV_RECONFIGURE, k == 1 ? 3 : 0);
        }
        /* None; one of 50 ms; two of a second, without a request that waits, but nobody could connect; three. */
        if (k < 2)
            assert_healthy();
        else
            assert_told("reconfiguration", "squid -k reconfigure", k == 2 ? "once" : "recurring");
    }
    assert_non_null(strstr(TEXT(row, sentence), "stopped Squid 3 times, for up to 1.0 s"));
    assert_int_equal(NUMBER(row, failures), 0); /* nobody knows */
}

/* A list that takes most of the second; and one of another time. */
static void
a_list_is_read(void **state)
{
    (void)state;
    for (unsigned other = 0; other < 2; ++other) {
        starts();
        requests(100);
        if (other)
            PUT(now, LIST_READ, 5000, 900000, 7);
        now += 200 * MS;
        if (!other) {
            work.event = SQT_EV_LIST_READ;
            work.id = 5000;
            work.arg = 900000;
            work.aux = 7;
        }
        holds(SECOND, A_CALL, SQT_EV_RECONFIGURE, 3);
        requests(100);
        assert_told("reconfiguration", "squid -k reconfigure", "once");
        assert_int_equal(!!strstr(TEXT(row, sentence), "5000 values of acl bad_sites in 900 ms"), !other);
        assert_int_equal(!!strstr(TEXT(row, advice), "The longest list is that of acl bad_sites."), !other);
    }
}

/* Ten children take most of the second; or they start at once, and something else takes it. */
static void
children_are_started(void **state)
{
    (void)state;
    for (unsigned quick = 0; quick < 2; ++quick) {
        starts();
        requests(100);
        children.count = 10;
        children.who = 1;
        children.apart = quick ? MS : 80 * MS;
        holds(SECOND, A_CALL, SQT_EV_RECONFIGURE, 3);
        children.count = 0;
        requests(100);
        assert_told("reconfiguration", "squid -k reconfigure", "once");
        assert_int_equal(!!strstr(TEXT(row, sentence), "it started 10 children of external_acl groups again"), !quick);
        assert_int_equal(!!strstr(TEXT(row, sentence), "What that helper had answered is forgotten"), !quick);
        assert_int_equal(!!strstr(TEXT(row, advice), "children-startup="), !quick);
    }
}

/* Of two reconfigurations, the one with more children is told; and a few seconds of children are nothing in years. */
static void
children_of_two(void **state)
{
    (void)state;
    starts();
    for (unsigned i = 0; i < 2; ++i) {
        requests(100);
        children.count = i ? 6 : 10;
        children.apart = i ? 140 * MS : 80 * MS;
        children.who = !i;
        holds(SECOND, A_CALL, SQT_EV_RECONFIGURE, 3);
        children.count = 0;
    }
    requests(100);
    assert_told("reconfiguration", "squid -k reconfigure", "once");
    assert_non_null(strstr(TEXT(row, sentence), "it started 10 children of external_acl groups again"));
    starts();
    requests(100);
    children.count = 10;
    children.apart = 80 * MS;
    holds(INT64_C(200000000) * SECOND, A_CALL, SQT_EV_RECONFIGURE, 3);
    children.count = 0;
    requests(100);
    assert_told("reconfiguration", "squid -k reconfigure", "once");
    assert_null(strstr(TEXT(row, sentence), "children"));
}

/* Squid ends itself, and is started again, or not. */
static void
squid_ends_itself(void **state)
{
    (void)state;
    starts();
    requests(100);
    PUT(now, FATAL, 0, 0, 1);
    PUT(now, SWAP_LOGS_WRITTEN, 10, 100, 0);
    PUT(now + MS, STOP, 0, 1, 0);
    assert_told("died", "log /var/log/access.log", "since");
    assert_non_null(strstr(TEXT(row, sentence),
                           "nobody is served: Squid ended itself, because it could not write to its log "
                           "/var/log/access.log: (28) No space left on device. It was not started again. 10 requests a "
                           "second had come until then."));
    assert_non_null(strstr(TEXT(row, advice), "on-error=drop"));
    starts();
    requests(100);
    PUT(now, FATAL, 0, 0, 3);
    PUT(now + MS, STOP, 0, 1, 0);
    now += 5 * SECOND;
    starts();
    requests(100);
    assert_told("restart", "/etc/squid.conf line 7", "once");
    assert_non_null(strstr(TEXT(row, sentence), "it could not read its configuration: /etc/squid.conf line 7, and was "
                                                "there again"));
    starts();
    requests(100);
    PUT(now, FATAL, 0, 0, 4);
    PUT(now + MS, STOP, 0, 1, 0);
    assert_told("died", "Squid", "since");
    assert_non_null(strstr(TEXT(row, sentence), "it could not read its configuration. "));
    assert_non_null(strstr(TEXT(row, advice), "squid -k parse"));
    starts(); /* a trace without an end, as after a crash */
    requests(100);
    PUT(now, CHILD_DIED, 77, 1, 5);
    PUT(now, CHILD_DIED, 78, 1, 5 | SQT_CHILD_SILENT);
    PUT(now, FATAL, 0, 0, 2);
    assert_told("died", "url_rewrite rewriter", "since");
    assert_non_null(strstr(TEXT(row, sentence),
                           "because children of its helper url_rewrite rewriter died one after the "
                           "other (2 had died)"));
    starts(); /* a hostile trace, in which it lives on */
    requests(100);
    PUT(now, FATAL, 0, 0, 0);
    requests(100);
    PUT(now, WAIT_BEGIN, 0, 10, 0);
    assert_healthy();
}

/* Of a rotation, what was written is told. */
static void
rotations(void **state)
{
    (void)state;
    for (unsigned is_long = 0; is_long < 2; ++is_long) {
        starts();
        requests(100);
        if (is_long) {
            work.event = SQT_EV_SWAP_LOGS_WRITTEN;
            work.id = 4321;
            work.arg = 280000;
            work.aux = 0;
        }
        holds(is_long ? 300 * MS : 50 * MS, A_CALL, SQT_EV_ROTATE, 5);
        requests(300); /* so that no rule finds a share of all time */
        if (is_long) {
            assert_told("rotation", "squid -k rotate", "once");
            assert_non_null(strstr(TEXT(row, sentence), "for 4321 objects"));
        } else
            assert_healthy();
    }
}

/* One pass of a second; many of them are the event loop's own fault, and rules say so. */
static void
long_passes(void **state)
{
    (void)state;
    starts();
    requests(300);
    holds(SECOND, A_CALL, 0, 5);
    requests(100);
    assert_told("standstill", "a call", "once");
    assert_non_null(
        strstr(TEXT(row, sentence), "because of a call. 5 requests waited for that, about 1.0 s in the mean."));
    assert_int_equal(NUMBER(row, waiting_s), 5 * SECOND);
    starts();
    requests(100);
    for (unsigned i = 0; i < 20; ++i)
        holds(600 * MS, A_CALL, 0, 5);
    find();
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, cause), "standstill");
    now = 0;
}

/* Samples know which ACL computes in the pass. */
static void
an_acl_computes(void **state)
{
    (void)state;
    starts();
    requests(300);
    acl = 7;
    holds(SECOND, A_CALL, 0, 5);
    acl = 0;
    requests(100);
    assert_told("standstill", "acl bad_sites", "once");
}

/* Samples of one pass are about that pass: another one computes the same, and no ACL. */
static void
an_acl_computes_elsewhere(void **state)
{
    (void)state;
    starts();
    requests(300);
    acl = 7;
    for (unsigned i = 0; i < 4; ++i)
        holds(400 * MS, A_CALL, 0, 0);
    acl = UINT32_MAX;
    holds(SECOND, A_CALL, 0, 5);
    acl = 0;
    requests(100);
    assert_told("standstill", "a call", "once");
}

/* A wait that outlasts its time-out by 7 s, and a heartbeat that is late by 6 s of them: one stop. */
static void
the_process_is_stopped(void **state)
{
    (void)state;
    starts();
    requests(100);
    const uint64_t first = 100 + number;
    for (unsigned i = 0; i < 5; ++i)
        begin_xact(now, 100 + number++, 7);
    PUT(now, WAIT_BEGIN, 0, 10, 0);
    PUT(now += 7 * SECOND, WAIT_END, 0, 1, 0);
    PUT(now, HEARTBEAT_LATE, (uint64_t)(now - 6 * SECOND), (uint64_t)now, 0);
    PUT(now += MS, WAIT_BEGIN, 0, 10, 0);
    for (unsigned i = 0; i < 5; ++i)
        end_xact(now, first + i, MEM_HIT, 0);
    PUT(now += MS, WAIT_END, 0, 1, 0);
    requests(300);
    PUT(now, WAIT_BEGIN, 0, 10, 0);
    assert_told("stopped", "not running", "once");
    assert_non_null(
        strstr(TEXT(row, sentence), "Squid did not run for 7.0 s. 5 requests waited for that, about 7.0 s in "));
    assert_in_range(NUMBER(row, time_s), 10 * SECOND, 10100 * MS);
    assert_int_equal(NUMBER(row, until_s), 17 * SECOND);
    assert_int_equal(NUMBER(row, requests), 5);
}

/* Two origins, of kids 0 and `kid`: the second begins 2 s after the end of the first. */
static void
two_run(uint32_t kid, enum sqt_kid_kind kind, void (*runs)(unsigned k, uint32_t arg), uint32_t arg)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    found_count = 0;
    consumer.context = &job;
    kept_begin();
    sqt_family_findings.start(&job);
    struct sqt_model *const model = sqt_model_new(&consumer);
    script.origins[0].identity.kid_kind = script.origins[1].identity.kid_kind = kind;
    script.origins[1].identity.kid = kid;
    for (unsigned k = 0; k < 2; ++k, now += 2 * SECOND) {
        runs(k, arg);
        const struct sqt_run run = script_run(k);
        kept_play(k, script.records, script.count);
        sqt_model_run(model, &run);
        if (!k)
            sqt_model_end(model, &script.origins[0]);
        script.count = 0;
    }
    job.length = now;
    sqt_model_finish(model);
    sqt_model_free(model);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
    number = 0;
    now = 0;
    row = 0;
}

/* An origin ends without a STOP, and another one starts.  fatal: Squid's own words; 0: none. */
static void
first_dies(unsigned k, uint32_t fatal)
{
    starts();
    requests(100);
    for (unsigned i = 0; !k && i < 7; ++i)
        begin_xact(now, 100 + number++, 7);
    if (!k && fatal)
        PUT(now, FATAL, 0, 0, fatal);
}

static void
one_dies(uint32_t kid, enum sqt_kid_kind kind, uint32_t fatal)
{
    two_run(kid, kind, first_dies, fatal);
    while (row < found_count && strcmp(TEXT(row, cause), "died") != 0)
        ++row;
    assert_true(row < found_count);
    assert_int_equal(NUMBER(row, failures), 7);
}

/* Its trace has no end yet, so it may be started again. */
static void
squid_has_just_ended_itself(void **state)
{
    (void)state;
    for (unsigned later = 0; later < 2; ++later) {
        starts();
        requests(100);
        PUT(now, FATAL, 0, 0, 1);
        PUT(now += later ? 3 * SECOND : SECOND, SWAP_LOGS_WRITTEN, 10, 100, 0);
        assert_told("died", "log /var/log/access.log", "since");
        assert_non_null(
            strstr(TEXT(row, sentence), later ? " It was not started again." : " It has not been started again yet."));
        number = 0;
    }
}

/* And is started again. */
static void
a_process_dies(void **state)
{
    (void)state;
    one_dies(0, SQT_KID_SINGLE, 0);
    assert_string_equal(TEXT(row, culprit), "Squid");
    assert_non_null(strstr(TEXT(row, sentence), "Squid died 1 time and was started again, up to "));
    assert_in_range(NUMBER(row, time_s), 9900 * MS, 10 * SECOND);
    assert_int_equal(NUMBER(row, until_s), 12 * SECOND);
}

/* Another worker lives on. */
static void
a_worker_dies(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; ++again) {
        one_dies(again ? 0 : 2, SQT_KID_WORKER, 1);
        assert_string_equal(TEXT(row, culprit), "log /var/log/access.log");
        assert_non_null(strstr(TEXT(row, sentence), again
                                                        ? "and was started again 2.0 s later. 7 requests were open."
                                                        : "and worker 0 was not started again. 7 requests were open."));
        assert_string_equal(TEXT(row, pattern), again ? "once" : "since");
    }
}

/* The trace of the first ends, and the other one starts again. */
static void
first_goes_on(unsigned k, uint32_t goes_on)
{
    starts();
    requests(100);
    listens();
    now += 12 * SECOND;
    PUT(now, STOP, 0, 1, k ? 0 : goes_on);
    if (!k)
        return;
    now += 100 * MS;
    starts();
    requests(100);
}

static void
a_worker_goes_on_untraced(void **state)
{
    (void)state;
    two_run(2, SQT_KID_WORKER, first_goes_on, 0);
    assert_string_equal(TEXT(0, cause), "restart");
    two_run(2, SQT_KID_WORKER, first_goes_on, 1);
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
}

/* It ends at its first request: that goes before the number of requests. */
static void
squid_ends_at_once(void **state)
{
    (void)state;
    starts();
    requests(1);
    PUT(now, FATAL, 0, 0, 0);
    PUT(now + MS, STOP, 0, 1, 0);
    assert_told("died", "Squid", "since");
    assert_non_null(strstr(TEXT(row, sentence), "nobody is served: Squid ended itself"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(nobody_could_connect),
                                       SCRIPT_TEST(a_start_that_was_not_read),
                                       SCRIPT_TEST(a_stop_at_the_end),
                                       SCRIPT_TEST(a_trace_ends),
                                       SCRIPT_TEST(reconfigurations),
                                       SCRIPT_TEST(a_list_is_read),
                                       SCRIPT_TEST(children_are_started),
                                       SCRIPT_TEST(children_of_two),
                                       SCRIPT_TEST(squid_ends_at_once),
                                       SCRIPT_TEST(squid_has_just_ended_itself),
                                       SCRIPT_TEST(squid_ends_itself),
                                       SCRIPT_TEST(rotations),
                                       SCRIPT_TEST(long_passes),
                                       SCRIPT_TEST(an_acl_computes),
                                       SCRIPT_TEST(an_acl_computes_elsewhere),
                                       SCRIPT_TEST(the_process_is_stopped),
                                       SCRIPT_TEST(a_process_dies),
                                       SCRIPT_TEST(a_worker_dies),
                                       SCRIPT_TEST(a_worker_goes_on_untraced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
