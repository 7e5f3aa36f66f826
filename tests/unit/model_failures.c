/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_failures.c - table `findings`: requests that got an error page, and what they failed at.
 */
#include "model_tenths.h"

#include <errno.h>

enum { OTHER, PARENT, ORIGIN_1, ORIGIN_2, ORIGIN_3, ORIGIN_4 };
enum { AUTH, GROUPS, NAME_SERVER };
enum { GET = 1, POST, PURGE, CONNECT };

/* Requests take a millisecond. */
static void
end(uint64_t xact, uint32_t status, uint32_t flags)
{
    PUT(now += MS, XACT_END, xact, MISS, status);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, flags);
}

static void
failed(uint64_t xact, uint32_t status)
{
    end(xact, status, SQT_XACT_ERROR_PAGE | SQT_XACT_ABORTED);
}

/* A kept connection is used, and the server answers. */
static void
answered(uint32_t server, uint32_t status)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    end(xact, status, 0);
}

static void
connects(uint64_t xact, uint32_t server, int64_t took, uint32_t outcome)
{
    PUT(now, CONNECT_BEGIN, xact, 51, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(now += took, CONNECT_END, xact, 51, outcome);
}

static void
not_connected(uint32_t server, int64_t took, uint32_t outcome)
{
    const uint64_t xact = begin();
    connects(xact, server, took, outcome);
    failed(xact, 503);
}

/* The same, with the system's error. */
static void
not_connected_for(uint32_t server, int64_t took, unsigned error)
{
    const uint64_t xact = begin();
    PUT(now, CONNECT_BEGIN, xact, 51, 1);
    PART(PART_SERVER, 4, 0, server);
    PUT(now += took, CONNECT_END, xact, 51, SQT_CONNECT_FAILED);
    PART(PART_CONNECT_ERROR, 0, 0, error);
    failed(xact, 503);
}

static void
refused_by_service(void)
{
    const uint64_t xact = begin();
    PUT(now, ADAPT_BEGIN, xact, 0, 0);
    PUT(now, ADAPT_SERVICE, xact, 0, 1);
    PUT(now, ADAPT_FAILED, xact, 0, SQT_WAIT_FAILED);
    PUT(now, ADAPT_END, xact, 0, 0);
    failed(xact, 500);
}

static void
not_looked_up(uint32_t outcome)
{
    const uint64_t xact = begin();
    PUT(now, DNS_BEGIN, xact, 1, 0);
    now += 5 * MS;
    PUT(now, QUERY_END, xact, (uint64_t)(now - 5 * MS), NAME_SERVER);
    PART(PART_QUERY, 0, 0, outcome);
    PUT(now, DNS_END, xact, 1, 1);
    failed(xact, 503);
}

static void
assert_cause(const char *cause, const char *culprit, uint64_t failures)
{
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), cause);
    assert_string_equal(TEXT(0, culprit), culprit);
    assert_string_equal(TEXT(0, harm), *culprit == '-' && !failures ? "waiting" : "failure");
    assert_int_equal(NUMBER(0, failures), failures);
}

static void
assert_healthy(void)
{
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), "healthy");
}

/* What they waited for is that failure: no rule says the same once more. */
static void
a_server_that_lets_wait_and_fails(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; ++i)
        if (i % 3)
            answered(PARENT, 200);
        else
            not_connected(ORIGIN_1, 90 * MS, SQT_CONNECT_TIMEOUT);
    find();
    assert_cause("failed_connect", "origin-1", 20);
    assert_int_equal(NUMBER(0, waiting_s), 20 * 91 * MS);
    assert_non_null(strstr(TEXT(0, sentence), "that is connect_timeout (of a cache_peer: its connect-timeout=, or "
                                              "peer_connect_timeout)."));
}

/* Those beyond a bound share a name, which is nobody's. */
static void
servers_without_a_name_of_their_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; ++i)
        if (i % 3)
            answered(PARENT, 200);
        else
            not_connected(OTHER, 90 * MS, SQT_CONNECT_TIMEOUT);
    find();
    assert_true(found_count > 0); /* and that requests connect for long, which no name explains */
    assert_string_equal(TEXT(0, cause), "failed_connect");
    assert_string_equal(TEXT(0, culprit), "-");
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, culprit), "other");
}

/* Between 10 s and 12 s of 40 s. */
static void
a_service_fails_for_two_seconds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 400; ++i)
        if (i >= 100 && i < 120)
            refused_by_service();
        else
            answered(ORIGIN_1, 200);
    find();
    assert_cause("failed_service", "scanner", 20);
    assert_string_equal(TEXT(0, pattern), "once");
    assert_in_range(NUMBER(0, time_s), 9500 * MS, 10100 * MS);
    assert_in_range(NUMBER(0, until_s), 12000 * MS, 12600 * MS);
    assert_non_null(strstr(TEXT(0, sentence), "because adaptation scanner failed or was suspended."));
}

/* Every ten seconds, for two. */
static void
it_fails_again_and_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 400; ++i)
        if (i % 100 < 20)
            refused_by_service();
        else
            answered(ORIGIN_1, 200);
    find();
    assert_cause("failed_service", "scanner", 80);
    assert_string_equal(TEXT(0, pattern), "recurring");
}

static void
one_server_is_gone(void **state)
{
    (void)state;
    for (unsigned timeout = 0; timeout < 2; ++timeout) {
        for (unsigned i = 0; i < 100; ++i)
            if (i % 5 == 0 && i >= 50)
                not_connected(ORIGIN_2, 2 * MS, timeout ? SQT_CONNECT_TIMEOUT : SQT_CONNECT_FAILED);
            else
                answered(ORIGIN_1, 200);
        find();
        assert_cause("failed_connect", "origin-2", 10);
        assert_string_equal(TEXT(0, pattern), "since");
        assert_non_null(strstr(TEXT(0, sentence), timeout ? "timed out" : "origin-2 failed."));
    }
}

/* The system says why: the sentence does, too. */
static void
connections_fail_for_a_reason(void **state)
{
    static const struct {
        unsigned error;
        const char *cause, *because, *advice;
    } reasons[] = {
        {ECONNREFUSED, "failed_connect", "because origin-2 refuses connections: nothing listens there.",
         "Start the program"},
        {EHOSTUNREACH, "failed_connect", "because there is no route to origin-2.", "ip route get"},
        {EADDRNOTAVAIL, "no_local_port", "because no local port is free for connections to origin-2.",
         "ip_local_port_range"},
        {EPERM, "failed_connect",
         "because this machine does not let Squid connect to origin-2 (permission is denied: EACCES or EPERM).",
         "firewall"},
        {ETIMEDOUT, "failed_connect", "because connections to origin-2 timed out", "connect_timeout"},
        {ENOBUFS, "failed_connect", "because connections to origin-2 failed at once", "connect_timeout"},
    };
    (void)state;
    for (unsigned k = 0; k < sizeof(reasons) / sizeof(*reasons); ++k) {
        for (unsigned i = 0; i < 100; ++i)
            if (i % 5 == 0)
                not_connected_for(ORIGIN_2, MS / 10, reasons[k].error);
            else
                answered(ORIGIN_1, 200);
        find();
        assert_cause(reasons[k].cause, "origin-2", 20);
        assert_non_null(strstr(TEXT(0, sentence), reasons[k].because));
        assert_non_null(strstr(TEXT(0, advice), reasons[k].advice));
    }
    for (unsigned i = 0; i < 100; ++i) /* a trace that says errors has none: they got no socket */
        if (i % 5 == 0) {
            const uint64_t xact = begin();
            PUT(now, CONNECT_BEGIN, xact, 51, 1);
            PART(PART_SERVER, 4, 0, ORIGIN_2);
            PUT(now += MS / 10, CONNECT_END, xact, 51, SQT_CONNECT_FAILED);
            failed(xact, 503);
        } else {
            answered(ORIGIN_1, 200);
        }
    find();
    assert_cause("failed_connect", "origin-2", 20);
    assert_non_null(strstr(TEXT(0, sentence), "because connections to origin-2 could not be begun: their local address "
                                              "(tcp_outgoing_address)"));
    for (unsigned i = 0; i < 100; ++i) /* half of them for this, half for that: no reason stands out */
        not_connected_for(ORIGIN_2, 2 * MS, i % 2 ? ECONNREFUSED : EHOSTUNREACH);
    find();
    assert_non_null(strstr(TEXT(0, sentence), "connections to origin-2 failed."));
}

/* Each 19th request is for a server that refuses one connection in three; or each 38th for one that refuses each second one. */
static void
a_server_takes_some_connections(void **state)
{
    (void)state;
    for (unsigned seldom = 0; seldom < 2; ++seldom) {
        const unsigned each = seldom ? 38 : 19;
        for (unsigned i = 0; i < (seldom ? 780 : 608); ++i)
            if (i % each == 0 && i / each % (seldom ? 2 : 3) == 0) {
                not_connected_for(ORIGIN_2, MS / 10, ECONNREFUSED);
            } else {
                const uint64_t xact = begin();
                if (i % each == 0)
                    connects(xact, ORIGIN_2, MS, SQT_CONNECT_OK);
                end(xact, 200, 0);
            }
        if (seldom) {
            assert_healthy();
            continue;
        }
        find();
        assert_cause("failed_connect", "origin-2", 11);
        assert_non_null(strstr(TEXT(0, sentence), "origin-2 refuses some connections, and takes others between them."));
        assert_non_null(strstr(TEXT(0, advice), "max-conn="));
    }
}

/* The same of all servers at once: the fault is here. */
static void
all_fail_for_a_reason(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3; ++k) {
        for (unsigned i = 0; i < 90; ++i)
            not_connected_for(ORIGIN_1 + i % 3, MS / 10, k == 0 ? EADDRNOTAVAIL : k == 1 ? ENETUNREACH : ECONNREFUSED);
        find();
        if (k < 2)
            assert_cause("no_local_port", k ? "routes" : "local ports", 90);
        else
            assert_cause("failed_connect", "servers", 90);
        assert_non_null(strstr(TEXT(0, sentence), k == 0   ? "no local port is free for connections to any server."
                                                  : k == 1 ? "there is no route to any server."
                                                           : "connections to 3 servers were refused (origin-"));
    }
}

/* A request of that method gets no connection to a server. */
static void
not_connected_with(uint32_t method, uint32_t server, unsigned error)
{
    const uint64_t xact = 100 + number++;
    now = (int64_t)number * 100 * MS;
    PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
    PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, method);
    PUT(now, CONNECT_BEGIN, xact, 51, 1);
    PART(PART_SERVER, 4, 0, server);
    PUT(now += 2 * MS, CONNECT_END, xact, 51, SQT_CONNECT_FAILED);
    PART(PART_CONNECT_ERROR, 0, 0, error);
    failed(xact, 503);
}

/* Each third request is a POST, which goes to a server, and the others go to a parent: to three servers in turn, then to one.
 * Or as many of both methods fail. */
static void
they_have_a_method_in_common(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 3; ++test) {
        for (unsigned i = 0; i < 120; ++i)
            if (i % 3 == 0) {
                not_connected_with(test == 2 && i % 2 ? GET : POST, test ? ORIGIN_1 : ORIGIN_1 + i / 3 % 3, ETIMEDOUT);
            } else {
                const uint64_t xact = begin();
                PUT(now, CONNECT_BEGIN, xact, 51, 2);
                PART(PART_SERVER, 0, 0, PARENT);
                PUT(now += MS, CONNECT_END, xact, 51, SQT_CONNECT_OK);
                end(xact, 200, 0);
            }
        find();
        assert_cause("failed_connect", test ? "origin-1" : "servers", 40);
        assert_int_equal(strstr(TEXT(0, sentence),
                                "All of them are POST, which 33 % of all requests are. They go direct, "
                                "and others through parent: nonhierarchical_direct") != NULL,
                         test < 2);
    }
    for (unsigned i = 0; i < 120; ++i) /* all but one of 40 */
        if (i % 3)
            answered(ORIGIN_1, 200);
        else
            not_connected_with(i == 3 ? GET : POST, ORIGIN_2, ETIMEDOUT);
    find();
    assert_cause("failed_connect", "origin-2", 40);
    assert_non_null(strstr(TEXT(0, sentence), " Nearly all of them are POST, which 32 % of all requests are."));
}

/* One of two workers gets no connection to any of three servers. */
static void
they_have_a_worker_in_common(void **state)
{
    (void)state;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    found_count = 0;
    consumer.context = &job;
    kept_begin();
    sqt_family_findings.start(&job);
    struct sqt_model *const model = sqt_model_new(&consumer);
    for (unsigned k = 0; k < 2; ++k) {
        script.origins[k].identity.kid = 1 + k;
        script.origins[k].identity.kid_kind = SQT_KID_WORKER;
        for (unsigned i = 0; i < 60; ++i)
            if (k)
                not_connected_with(GET, ORIGIN_1 + i % 3, EADDRNOTAVAIL);
            else
                answered(ORIGIN_1 + i % 3, 200);
        const struct sqt_run run = script_run(k);
        kept_play(k, script.records, script.count);
        sqt_model_run(model, &run);
        script.count = 0;
    }
    job.length = now;
    sqt_model_finish(model);
    sqt_model_free(model);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
    number = 0;
    assert_cause("no_local_port", "worker 2", 60);
    assert_non_null(strstr(TEXT(0, sentence), "All of them are in worker 2, which has 50 % of all requests."));
}

/* Squid tries dead parents again and again, and asks nobody meanwhile; the second one lives at last. */
static void
parents_are_dead(void **state)
{
    (void)state;
    for (unsigned lives = 0; lives < 2; ++lives) {
        for (unsigned i = 0; i < 100; ++i) {
            if (i % 20 == 0) {
                PUT((int64_t)(number + 1) * 100 * MS, PEER_PROBED, 0, 1, ECONNREFUSED);
                PUT((int64_t)(number + 1) * 100 * MS, PEER_PROBED, 0, 2, lives && i ? 0 : ECONNREFUSED);
            }
            failed(begin(), 503);
        }
        find();
        assert_cause("dead_peers", lives ? "moon" : "moon, mars", 100);
        assert_non_null(strstr(TEXT(0, sentence), lives ? "moon is dead" : "moon, mars are dead"));
        assert_non_null(strstr(TEXT(0, sentence), "(ECONNREFUSED)"));
    }
    for (unsigned i = 0; i < 2000; ++i) /* it was tried longer ago */
        if (i == 0)
            PUT(0, PEER_PROBED, 0, 1, ECONNREFUSED);
        else if (i >= 1950)
            failed(begin(), 503);
        else
            ++number;
    find();
    assert_cause("no_server", "-", 50);
}

/* From 2 s to 4 s, and from 8 s to the end. */
static void
a_service_is_suspended(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; ++i) {
        const int suspended = (i >= 20 && i < 40) || i >= 80;
        if (i == 20 || i == 80)
            PUT((int64_t)(number + 1) * 100 * MS, SERVICE_STATE, 0, 0, SQT_SERVICE_SUSPENDED);
        if (i == 40)
            PUT((int64_t)(number + 1) * 100 * MS, SERVICE_STATE, 0, 0, SQT_SERVICE_UP);
        if (suspended)
            refused_by_service();
        else
            answered(ORIGIN_1, 200);
    }
    find();
    assert_cause("failed_service", "scanner", 40);
    assert_non_null(strstr(TEXT(0, sentence), "Squid suspended it 2 times, for 3.9 s in all."));
}

/* All servers refuse at once; and two of them do, while another one takes connections. */
static void
no_port_is_free(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; ++i)
        if (i % 2 == 0)
            not_connected(ORIGIN_1 + i / 2 % 3, MS / 10, SQT_CONNECT_FAILED);
        else
            answered(PARENT, 200);
    find();
    assert_cause("no_local_port", "local ports", 50);
    for (unsigned i = 0; i < 100; ++i)
        if (i % 2 == 0) {
            not_connected(i % 4 ? ORIGIN_1 : ORIGIN_3, MS / 10, SQT_CONNECT_FAILED);
        } else {
            const uint64_t xact = begin();
            connects(xact, ORIGIN_2, MS / 10, SQT_CONNECT_OK);
            PUT(now, DISPATCH, xact, 51, 1);
            end(xact, 200, 0);
        }
    find();
    assert_int_equal(found_count, 2);
    for (unsigned i = 0; i < 2; ++i) {
        assert_string_equal(TEXT(i, cause), "failed_connect");
        assert_int_equal(NUMBER(i, failures), 25);
        assert_non_null(strstr(TEXT(i, sentence), "failed at once: it refuses them."));
    }
}

/* A handshake that fails, with another one behind that is not the cause. */
static void
no_handshake(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; ++i) {
        const uint64_t xact = begin();
        connects(xact, ORIGIN_3, MS, SQT_CONNECT_OK);
        PUT(now, TLS_BEGIN, xact, 51, 0);
        PUT(now += MS, TLS_END, xact, 51, SQT_CONNECT_FAILED);
        failed(xact, 503);
    }
    find();
    assert_cause("failed_tls", "origin-3", 20);
    assert_string_equal(TEXT(0, pattern), "throughout");
}

/* Names that do not exist are no fault of the name server, unless they are many; those after a time-out are
 * remembered by Squid, and nobody is asked. */
static void
names_are_not_found(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 400; ++i)
        if (i % 40 == 0)
            not_looked_up(SQT_WAIT_ERR);
        else
            answered(ORIGIN_1, 200);
    assert_healthy();
    for (unsigned i = 0; i < 100; ++i)
        if (i >= 20 && i < 30)
            not_looked_up(SQT_WAIT_TIMEOUT);
        else if (i >= 30 && i < 40)
            failed(begin(), 503);
        else
            answered(ORIGIN_1, 200);
    find();
    assert_cause("failed_look_up", "name_server 192.0.2.53", 20);
}

/* Who is denied by a helper that is broken; who is denied by a helper that works. */
static void
a_helper_is_broken(void **state)
{
    (void)state;
    for (unsigned broken = 0; broken < 2; ++broken) {
        for (unsigned i = 0; i < 50; ++i) {
            const uint64_t xact = begin();
            PUT(now, HELPER_BEGIN, xact, 1000 + i, GROUPS);
            PUT(now, HELPER_END, xact, 1000 + i, broken ? SQT_WAIT_BROKEN : SQT_WAIT_ERR);
            PART(PART_HELPER, (uint64_t)now, 0, 0);
            end(xact, 403, SQT_XACT_ERROR_PAGE);
        }
        if (broken) {
            find();
            assert_cause("failed_helper", "external_acl groups", 50);
        } else {
            assert_healthy();
        }
    }
}

static void
a_server_answers_with_errors(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; ++i)
        answered(i % 4 ? ORIGIN_1 : ORIGIN_2, i % 4 ? 200 : 502);
    find();
    assert_cause("server_errors", "origin-2", 25);
    for (unsigned i = 0; i < 100; ++i) /* an answer that Squid could not use */
        if (i % 4)
            answered(ORIGIN_1, 200);
        else {
            const uint64_t xact = begin();
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, ORIGIN_4);
            failed(xact, 502);
        }
    find();
    assert_cause("failed_answer", "origin-4", 25);
}

static void
nobody_to_ask(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; ++i)
        if (i % 4)
            answered(ORIGIN_1, 200);
        else
            failed(begin(), 503);
    find();
    assert_cause("no_server", "-", 25);
}

/* A parent that was asked before, and nobody else may be. */
static void
a_parent_is_full(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; ++i)
        if (i < 4) {
            const uint64_t xact = begin();
            PUT(now, CONNECT_BEGIN, xact, 51, 2); /* a kind that is not direct */
            PART(PART_SERVER, 0, 0, PARENT);
            PUT(now += MS, CONNECT_END, xact, 51, SQT_CONNECT_OK);
            PUT(now, DISPATCH, xact, 51, 1);
            end(xact, 200, 0);
        } else {
            failed(begin(), 503);
        }
    find();
    assert_cause("no_server", "parent parent", 46);
    assert_non_null(
        strstr(TEXT(0, sentence), "Squid may ask parent parent only, who is dead, or has as many connections as"));
}

/* A server that ends each second body early; a client that leaves, which has not got all. */
static void
bodies_are_cut(void **state)
{
    (void)state;
    for (unsigned cut = 0; cut < 2; ++cut) {
        for (unsigned i = 0; i < 40; ++i) {
            const uint64_t xact = begin();
            PUT(now, FORWARD_BEGIN, xact, 0, 0);
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, i % 2 ? ORIGIN_1 : ORIGIN_2);
            PUT(now, DISPATCH, xact, 50, 1);
            PUT(now, REQUEST_SENT, xact, 50, 0);
            PUT(now += MS, SERVER_READ, xact, cut ? 1000 : 9000, 0);
            PUT(now, FORWARD_END, xact, 0, 0);
            end(xact, 200, i % 2 ? 0 : SQT_XACT_ABORTED);
        }
        if (cut) {
            find();
            assert_cause("cut_replies", "origin-2", 20);
        } else {
            assert_healthy();
        }
    }
}

static void
posts_on_kept_connections(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; ++i)
        if (i % 2) {
            answered(ORIGIN_1, 200);
        } else {
            const uint64_t xact = begin();
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, ORIGIN_4);
            PUT(now, DISPATCH, xact, 50, 1);
            failed(xact, 502);
        }
    find();
    assert_cause("failed_answer", "origin-4", 20);
    assert_non_null(strstr(TEXT(0, sentence), "origin-4 closed the kept connections on which they were sent"));
}

/* By an ACL; 0: it is not known. */
static void
denied_by(enum tag tag, uint32_t acl)
{
    const uint64_t xact = begin();
    if (acl)
        PUT(now, DENIED, xact, acl, tag == DENIED_REPLY);
    PUT(now += MS, XACT_END, xact, tag, 403);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, SQT_XACT_ERROR_PAGE);
}

static void
denied(enum tag tag)
{
    denied_by(tag, 0);
}

/* Each fifth request, always and since the 200th; and all. */
static void
denials_begin(void **state)
{
    (void)state;
    for (unsigned begin_at = 0; begin_at <= 200; begin_at += 200) {
        for (unsigned i = 0; i < 500; ++i) {
            if (i == 200)
                PUT(now, RECONFIGURE, 0, 0, 0);
            if (i % 5 == 0 && i >= begin_at)
                denied_by(DENIED, begin_at ? 7 : 0);
            else
                answered(ORIGIN_1, 200);
        }
        if (begin_at) {
            find();
            assert_cause("denied", "acl bad_sites, after squid -k reconfigure", 60);
            assert_string_equal(TEXT(0, pattern), "since");
            assert_non_null(strstr(TEXT(0, sentence), "Of the 200 before, none was."));
        } else {
            assert_healthy();
        }
    }
    for (unsigned i = 0; i < 40; ++i)
        denied(DENIED);
    find();
    assert_cause("denied", "http_access", 40);
}

/* What is always denied is meant, and said all the same; but not that servers are asked for replies that nobody gets. */
static void
denials_always(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 500; ++i)
        if (i % 5)
            answered(ORIGIN_1, 200);
        else
            denied(DENIED);
    assert_healthy();
    assert_non_null(strstr(TEXT(0, sentence),
                           " All the time, 100 of 500 were denied (403) by access rules: that is taken as meant. "
                           "If it is not: access.log has what they ask for (TCP_DENIED)"));
    for (unsigned i = 0; i < 500; ++i)
        if (i % 50)
            answered(ORIGIN_1, 200);
        else
            denied(DENIED);
    assert_healthy();
    assert_null(strstr(TEXT(0, sentence), "denied"));
    for (unsigned i = 0; i < 500; ++i)
        if (i % 5)
            answered(ORIGIN_1, 200);
        else
            denied(DENIED_REPLY);
    find();
    assert_cause("denied_replies", "http_reply_access or reply_body_max_size", 100);
    assert_null(strstr(TEXT(0, sentence), "meant"));
}

#define BAD_SITES 7
#define ALL 8
#define SSL_PORTS 9

/* The ACL that denies is named; the one that all requests match says that no line allowed them. */
static void
denials_by_acl(void **state)
{
    (void)state;
    for (unsigned all = 0; all < 2; ++all) {
        for (unsigned i = 0; i < 200; ++i)
            if (i < 100)
                answered(ORIGIN_1, 200);
            else
                denied_by(DENIED, (i % 5 == 0) == all ? BAD_SITES : ALL);
        find();
        assert_cause("denied", all ? "http_access" : "acl bad_sites", 100);
        assert_non_null(
            strstr(TEXT(0, sentence),
                   all ? " Checked last in the 100 requests that were denied: acl all (80), acl bad_sites (20)."
                       : " Checked last in the 100 requests that were denied: acl bad_sites (80), acl all (20)."));
        assert_int_equal(!strstr(TEXT(0, advice), "no http_access line before deny all allowed them"), !all);
        assert_non_null(strstr(TEXT(0, command), all ? "denied_by == all" : "denied_by == bad_sites"));
    }
    for (unsigned i = 0; i < 200; ++i)
        if (i < 100)
            answered(ORIGIN_1, 200);
        else
            denied_by(DENIED_REPLY, BAD_SITES);
    find();
    assert_string_equal(TEXT(0, cause), "denied_replies");
    assert_non_null(
        strstr(TEXT(0, sentence), " Checked last in the 100 replies that were denied: acl bad_sites (100)."));
    for (unsigned acl = BAD_SITES; acl <= SSL_PORTS; ++acl) { /* always */
        for (unsigned i = 0; i < 500; ++i)
            if (i % 5)
                answered(ORIGIN_1, 200);
            else
                denied_by(DENIED, acl);
        if (acl < SSL_PORTS) {
            assert_healthy();
            assert_non_null(
                strstr(TEXT(0, sentence), acl == ALL ? " requests that were denied: acl all (100). If it is not meant: "
                                                     : " requests that were denied: acl bad_sites (100). If "));
        } else {
            find();
            assert_cause("denied", "acl SSL_ports", 100);
            assert_non_null(strstr(TEXT(0, sentence), "All the time, 100 of 500 requests (20 %) were denied (403), "
                                                      "because SSL_ports does not have their port."));
            assert_string_equal(TEXT(0, pattern), "throughout");
        }
    }
    for (unsigned i = 0; i < 500; ++i) /* few */
        if (i % 50)
            answered(ORIGIN_1, 200);
        else
            denied_by(DENIED, SSL_PORTS);
    assert_healthy();
}

/* 5 % of 404, four failures, and one of a hundred. */
static void
some_errors_are_healthy(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 400; ++i)
        answered(ORIGIN_1, i % 20 ? 200 : 404);
    assert_healthy();
    for (unsigned i = 0; i < 100; ++i)
        if (i < 4)
            failed(begin(), 503);
        else
            answered(ORIGIN_1, 200);
    assert_healthy();
    for (unsigned i = 0; i < 550; ++i)
        if (i % 100)
            answered(ORIGIN_1, 200);
        else
            not_connected(ORIGIN_2, 20 * MS, SQT_CONNECT_FAILED);
    assert_healthy();
}

/* A reply that ends before its end, so long after its last byte. */
static void
cut_reply(uint32_t server, uint64_t bytes, int64_t pause, uint32_t flags)
{
    const uint64_t xact = begin();
    PUT(now, FORWARD_BEGIN, xact, 0, 0);
    PUT(now, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += MS, SERVER_READ, xact, bytes, 0);
    PUT(now += pause, FORWARD_END, xact, 0, 0);
    PUT(now += MS, XACT_END, xact, MISS, 200);
    PART(PART_XACT_SIZES, 20000, bytes + 200, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, flags);
}

/* At one size, or at many: then nothing is said of a limit. */
static void
several_servers_cut_bodies(void **state)
{
    (void)state;
    for (unsigned many = 0; many < 2; ++many) {
        for (unsigned i = 0; i < 60; ++i)
            if (i % 2)
                answered(ORIGIN_4, 200);
            else
                cut_reply(ORIGIN_1 + i / 2 % 3, many ? 1000 * (i + 1) : 10000, 0, SQT_XACT_ABORTED);
        find();
        assert_cause("cut_replies", "servers", 30);
        assert_non_null(strstr(TEXT(0, sentence), "because 3 servers closed the connection before the end."));
        assert_non_null(
            strstr(TEXT(0, sentence), many ? "They are cut after" : "All of them are cut after about 9.96 KB"));
    }
}

/* Squid waits for the rest for two seconds. */
static void
bodies_pause(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; ++i)
        if (i % 3) {
            answered(ORIGIN_1, 200);
        } else {
            cut_reply(ORIGIN_2, 5000, 2000 * MS, SQT_XACT_TIMEDOUT);
            number += 20;
        }
    find();
    assert_string_equal(TEXT(0, cause), "timed_out");
    assert_string_equal(TEXT(0, culprit), "origin-2");
    assert_int_equal(NUMBER(0, failures), 20);
    assert_non_null(strstr(TEXT(0, sentence), "because origin-2 paused in the middle of it"));
    assert_non_null(strstr(TEXT(0, sentence), "Each wait ends after about 2.0 s: that is read_timeout."));
}

/* Squid waits in vain for the answer, once or twice: what two tries waited is no time-out. */
static void
no_answer_comes(void **state)
{
    (void)state;
    for (unsigned tries = 1; tries <= 2; ++tries) {
        for (unsigned i = 0; i < 60; ++i) {
            if (i % 3) {
                answered(ORIGIN_1, 200);
                continue;
            }
            const uint64_t xact = begin();
            PUT(now, CONNECT_REUSED, xact, 50, 0);
            PART(PART_SERVER, 0, 0, ORIGIN_2);
            PUT(now, DISPATCH, xact, 50, 1);
            PUT(now, REQUEST_SENT, xact, 50, 0);
            PUT(now += 2000 * MS * tries, XACT_END, xact, MISS, 504);
            PART(PART_XACT_SIZES, 0, 300, tries);
            PART(PART_XACT_FLAGS, 0xabc, 7, SQT_XACT_ERROR_PAGE);
            number += 60;
        }
        find();
        assert_string_equal(TEXT(0, cause), "failed_answer");
        assert_string_equal(TEXT(0, culprit), "origin-2");
        assert_int_equal(!strstr(TEXT(0, sentence), "Each wait ends after about 2.0 s: that is read_timeout."),
                         tries > 1);
        assert_int_equal(!strstr(TEXT(0, sentence), "Each wait ends"), tries > 1);
    }
}

/* A name that is looked up in vain; the next ones fail because of that, and ask nobody. */
static void
a_failure_is_kept(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; ++i)
        if (i == 20)
            not_looked_up(SQT_WAIT_ERR);
        else if (i > 20 && i < 50)
            failed(begin(), 503);
        else
            answered(ORIGIN_1, 200);
    find();
    assert_cause("failed_look_up", "name_server 192.0.2.53", 30);
    assert_non_null(strstr(TEXT(0, sentence), "29 of them asked nobody: Squid keeps such a failure for a while"));
}

/* Each answer of the name server is a part, and it is asked again at once, in vain. */
static void
answers_are_truncated(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; ++i) {
        const uint64_t xact = begin();
        PUT(now, DNS_BEGIN, xact, i, 0);
        now += MS;
        PUT(now, QUERY_END, xact, (uint64_t)(now - MS), NAME_SERVER);
        PART(PART_QUERY, 1, 0, SQT_WAIT_OK);
        now += 5000 * MS;
        PUT(now, QUERY_END, xact, (uint64_t)(now - 5000 * MS), NAME_SERVER);
        PART(PART_QUERY, 1, 0, SQT_WAIT_TIMEOUT);
        PUT(now, DNS_END, xact, i, 1);
        failed(xact, 503);
        number += 60;
    }
    find();
    assert_string_equal(TEXT(0, cause), "failed_look_up");
    assert_non_null(strstr(
        TEXT(0, sentence),
        "did not answer in time. Each wait ends after about 5.0 s: that is dns_timeout, or dns_retransmit_interval. "
        "40 of 40 queries to it got a truncated answer, so Squid asked again by TCP: "
        "40 of these got no answer."));
}

/* The first name server answers with an error after 300 ms, or with an address; the second one is asked only then, or as well. */
static void
another_name_server_answers(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < 2; ++fails) {
        for (unsigned i = 0; i < 40; ++i) {
            const uint64_t xact = begin();
            PUT(now, DNS_BEGIN, xact, i, 0);
            now += 300 * MS;
            PUT(now, QUERY_END, xact, (uint64_t)(now - 300 * MS), NAME_SERVER);
            PART(PART_QUERY, 1, 0, fails ? SQT_WAIT_ERR : SQT_WAIT_OK);
            now += MS;
            PUT(now, QUERY_END, xact, (uint64_t)(now - MS), NAME_SERVER + 1);
            PART(PART_QUERY, 1, 0, SQT_WAIT_OK);
            PUT(now, DNS_END, xact, i, 1);
            end(xact, 200, 0);
            number += 4;
        }
        find();
        assert_string_equal(TEXT(0, cause), "slow_name_server");
        assert_int_equal(
            !!strstr(TEXT(0, sentence),
                     " It answered 40 of 40 queries with an error (as SERVFAIL), after 300 ms in the mean, so that "
                     "Squid asked another name server."),
            fails);
    }
}

/* One client in four wants only what the cache has; or a server is looked for in vain. */
static void
only_if_cached(void **state)
{
    (void)state;
    for (unsigned asked = 0; asked < 2; ++asked) {
        for (unsigned i = 0; i < 100; ++i)
            if (i % 4) {
                answered(ORIGIN_1, 200);
            } else {
                const uint64_t xact = begin();
                if (asked) {
                    PUT(now, PEER_SELECT_BEGIN, xact, 0, 0);
                    PUT(now += MS, PEER_SELECT_END, xact, 0, 0);
                }
                failed(xact, 504);
            }
        find();
        assert_cause(asked ? "no_server" : "refused_requests", asked ? "-" : "only-if-cached", 25);
    }
}

/* Squid looks a cache_peer up for itself, in vain, or finds it; after that no request can be forwarded. */
static void
a_parent_without_address(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < 2; ++fails) {
        now = MS;
        PUT(now, QUERY_END, 0, (uint64_t)(now - MS / 2), NAME_SERVER);
        PART(PART_QUERY, 1, 0, fails ? SQT_WAIT_ERR : SQT_WAIT_OK);
        for (unsigned i = 0; i < 100; ++i)
            failed(begin(), 503);
        find();
        assert_cause("no_server", fails ? "name_server 192.0.2.53" : "-", 100);
        assert_int_equal(!!strstr(TEXT(0, sentence), "that cache_peer has no address"), fails);
    }
}

/* Requests wait for a helper in a queue of three, and those for which there is no room are denied; or they are denied without a
 * queue. */
static void
a_queue_is_full(void **state)
{
    (void)state;
    for (unsigned full = 0; full < 2; ++full) {
        for (unsigned i = 0; i < 100; ++i) {
            const uint64_t xact = begin();
            PUT(now, HELPER_BEGIN, xact, xact, GROUPS);
            denied(DENIED);
            PUT(now += 50 * MS, HELPER_END, xact, xact, SQT_WAIT_OK);
            PART(PART_HELPER, (uint64_t)now - 10 * MS, full ? 3 : 0, 0);
            end(xact, 200, 0);
        }
        find();
        unsigned row = 0;
        while (row < found_count && strcmp(TEXT(row, cause), "denied") != 0)
            ++row;
        assert_true(row < found_count);
        assert_int_equal(strcmp(TEXT(row, culprit), "external_acl groups") == 0, full);
        assert_int_equal(!!strstr(TEXT(row, sentence), "in a queue that never held more than 3 before them"), full);
    }
}

/* Bytes come that are no request, on a new connection, or on one that had one before.  Who leaves at once is a health
 * check, also if they come in two pieces.  They may come in pieces, up to the end, soon or after a second, or for a while. */
static void
no_request_comes(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 7; ++test) {
        const int kept = test == 1, checks = test == 2 || test == 6, pieces = test >= 3, late = test == 5;
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t conn = 1000 + i;
            now = (int64_t)(++number) * 1000 * MS;
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            if (kept || i % 3) {
                PUT(now, CLIENT_READ, conn, 70, 0);
                PUT(now, REQUEST_PARSED, conn, 70, 0);
                begin_xact(now, 100 + i, conn);
                end(100 + i, 200, 0);
            }
            if (i % 3 == 0) {
                PUT(now, CLIENT_READ, conn, 133, 0);
                if (pieces)
                    PUT(now + (checks ? 1 : late ? 700 : test == 3 ? 400 : 200) * MS, CLIENT_READ, conn, 20, 133);
                now += checks ? 3 * MS / 2 : late ? 1100 * MS : 600 * MS;
                PUT(now, XACT_BEGIN, SQT_UNNAMED | (5000 + i), conn, 0);
                PUT(now, XACT_END, SQT_UNNAMED | (5000 + i), NONE, 0);
                PART(PART_XACT_SIZES, 0, 0, 0);
                PART(PART_XACT_FLAGS, 0, conn, 0);
            }
            PUT(now, CONN_CLOSE, conn, 0, 0);
        }
        find();
        if (checks) {
            assert_string_equal(TEXT(0, cause), "healthy");
            continue;
        }
        assert_cause("no_request", "http_port 3128", 20);
        const int coming = test == 3 || late;
        assert_int_equal(
            !strstr(TEXT(0, sentence), late ? "was closed, 1.10 s after the first bytes in the mean. Squid closes"
                                            : "was closed, 600 ms after the first bytes in the mean, by the "
                                              "client or by Squid (request_timeout)."),
            !coming);
        assert_int_equal(!strstr(TEXT(0, sentence), "no whole request, as with TLS on a port for plain HTTP. The "
                                                    "connection was closed 600 ms after that"),
                         coming);
        assert_int_equal(!strstr(TEXT(0, advice), "request_timeout"), !coming);
    }
}

/* Each third connection begins with bytes that Squid does not take: it closes it at once.  Or the client does: then the loop turns
 * before the connection is closed. */
static void
first_bytes_are_not_taken(void **state)
{
    (void)state;
    for (unsigned left = 0; left < 2; ++left) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t conn = 1000 + i;
            now = (int64_t)(++number) * 1000 * MS;
            PUT(now, WAIT_BEGIN, 0, 0, 0);
            PUT(now, WAIT_END, 0, 1, 0);
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            PUT(now += MS, CLIENT_READ, conn, 70, 0);
            if (i % 3) {
                PUT(now, REQUEST_PARSED, conn, 70, 0);
                begin_xact(now, 100 + i, conn);
                end(100 + i, 200, 0);
            } else {
                if (left) {
                    PUT(now, WAIT_BEGIN, 0, 0, 0);
                    PUT(now += MS, WAIT_END, 0, 1, 0);
                }
                PUT(now += MS / 10, XACT_BEGIN, SQT_UNNAMED | (5000 + i), conn, 0);
                PUT(now, XACT_END, SQT_UNNAMED | (5000 + i), NONE, 0);
                PART(PART_XACT_SIZES, 0, 0, 0);
                PART(PART_XACT_FLAGS, 0, conn, 0);
            }
            PUT(now, CONN_CLOSE, conn, 0, 0);
        }
        find();
        if (left) {
            assert_string_equal(TEXT(0, cause), "healthy");
            continue;
        }
        assert_cause("no_request", "http_port 3128", 20);
        assert_non_null(strstr(TEXT(0, sentence),
                               "Squid closed connections to http_port 3128 as soon as it had read the "
                               "first bytes of the client, without an answer."));
        assert_non_null(strstr(TEXT(0, advice), "send-proxy"));
    }
}

/* A service fails for replies of 22 KB and more; or for each third one, of any size. */
static void
a_service_fails_for_large_replies(void **state)
{
    (void)state;
    for (unsigned any = 0; any < 2; ++any) {
        for (unsigned i = 0; i < 90; ++i) {
            const int fails = any ? i % 3 == 0 : i % 30 >= 20;
            const uint64_t xact = begin();
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, ORIGIN_1);
            PUT(now, SERVER_READ, xact, 1024 * (2 + i % 30), 0);
            PUT(now, ADAPT_BEGIN, xact, 0, 0);
            PUT(now, ADAPT_SERVICE, xact, 0, 1);
            if (fails)
                PUT(now, ADAPT_FAILED, xact, 0, SQT_WAIT_FAILED);
            PUT(now, ADAPT_END, xact, 0, 0);
            if (fails)
                failed(xact, 500);
            else
                end(xact, 200, 0);
        }
        find();
        assert_cause("failed_service", "scanner", 30);
        assert_int_equal(!strstr(TEXT(0, sentence), "They are large"), any);
        if (!any)
            assert_non_null(strstr(TEXT(0, sentence),
                                   "had replies of 21.7 KB or more, and 0 of the requests that did not fail "
                                   "had."));
    }
}

/* One request in 10, or in 40, is not valid; or one in 40 since the second half, or in 30 a little earlier, as may be chance. */
static void
requests_are_not_valid(void **state)
{
    static const unsigned every[] = {10, 40, 40, 30}, since[] = {0, 0, 200, 120};
    (void)state;
    for (unsigned test = 0; test < 4; ++test) {
        for (unsigned i = 0; i < 400; ++i)
            if (i >= since[test] && i % every[test] == 0)
                end(begin(), 400, SQT_XACT_ERROR_PAGE);
            else
                answered(ORIGIN_1, 200);
        if (test % 2) {
            assert_healthy();
            assert_non_null(
                strstr(TEXT(0, sentence), "Squid refused 10 of the requests (2.5 %) because they are not valid"));
            continue;
        }
        find();
        assert_cause("refused_requests", "requests or URLs that are not valid", test ? 5 : 40);
    }
}

/* Squid looks into tunnels.  The client of each third says nothing, leaves in the handshake, or fails in it; leaves soon after
 * its hello, or without one; or at once, as a health check does. */
static void
no_handshake_of_clients(void **state)
{
    (void)state;
    static const char *const words[] = {
        "waited for a TLS hello. The clients sent not one byte, for 8.00 s in the mean",
        "their TLS handshake with http_port 3128 failed: their clients closed the connection "
        "in it, after 8.00 s in the mean.",
        "because their TLS handshake with http_port 3128 failed.",
        "in it, after 8.00 s in the mean.",
        "in it, after 21.0 ms in the mean, as those do that do not trust a certificate.",
        "in it, after 20.0 ms in the mean. Health checks that only connect look the same."};
    for (unsigned test = 0; test < 7; ++test) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t conn = 1000 + i;
            const int bad = i % 3 == 0, early = test == 3; /* its hello came with the CONNECT, or is said later */
            now = (int64_t)(++number) * 1000 * MS;
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            PUT(now, CLIENT_READ, conn, early ? 80 : 70, 0);
            PUT(now, REQUEST_PARSED, conn, 70, early ? 10 : 0);
            PUT(now, XACT_BEGIN, SQT_UNNAMED | (100 + i), conn, 0);
            PUT(now, XACT_NAMED, 100 + i, SQT_UNNAMED | (100 + i), CONNECT);
            PUT(now, CLIENT_TLS_BEGIN, conn, 0, 0);
            if ((!bad || (test && test < 5)) && !early)
                PUT(now += MS, CLIENT_READ, conn, 300, 0);
            now += !bad ? MS : test == 6 ? MS / 10 : test >= 4 ? 20 * MS : 8000 * MS;
            PUT(now, CLIENT_TLS_END, conn, 0,
                !bad        ? SQT_CONNECT_OK
                : test == 2 ? SQT_CONNECT_FAILED
                            : SQT_CONNECT_CANCELLED);
            if (!bad) {
                PUT(now, DNS_BEGIN, 100 + i, 1, 0);
                PUT(now += 11 * MS / 5, DNS_END, 100 + i, 1, 1);
                connects(100 + i, ORIGIN_1, MS, SQT_CONNECT_OK);
            }
            end_xact(now, 100 + i, bad ? NONE : TUNNEL, bad ? SQT_XACT_ABORTED | SQT_XACT_INTERNAL : SQT_XACT_TUNNEL);
            PUT(now, CONN_CLOSE, conn, 0, 0);
            number += 8;
        }
        if (test == 6) {
            assert_healthy();
            continue;
        }
        find();
        assert_string_equal(TEXT(0, cause), "failed_client_tls");
        assert_string_equal(TEXT(0, culprit), "http_port 3128");
        assert_int_equal(NUMBER(0, failures), 20);
        assert_non_null(strstr(TEXT(0, sentence), words[test]));
        assert_int_equal(!strstr(TEXT(0, advice), "on_unsupported_protocol"), test != 0);
    }
}

/* Each third connection to an https_port is closed in its handshake: at once, as a health check does, or after 5 ms. */
static void
checks_of_https_port(void **state)
{
    (void)state;
    for (unsigned later = 0; later < 2; ++later) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t conn = 1000 + i;
            const int bad = i % 3 == 0;
            now = (int64_t)(++number) * 1000 * MS;
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            PUT(now, CLIENT_TLS_BEGIN, conn, 0, 0);
            now += bad && !later ? MS / 10 : 5 * MS;
            PUT(now, CLIENT_TLS_END, conn, 0, bad ? SQT_CONNECT_CANCELLED : SQT_CONNECT_OK);
            if (bad) {
                PUT(now, XACT_BEGIN, SQT_UNNAMED | (5000 + i), conn, 0);
                end_unparsed(now, 5000 + i, 0);
            } else {
                PUT(now, CLIENT_READ, conn, 70, 0);
                PUT(now, REQUEST_PARSED, conn, 70, 0);
                begin_xact(now, 100 + i, conn);
                end(100 + i, 200, 0);
            }
            PUT(now, CONN_CLOSE, conn, 0, 0);
        }
        if (!later) {
            assert_healthy();
            continue;
        }
        find();
        assert_string_equal(TEXT(0, cause), "failed_client_tls");
        assert_non_null(
            strstr(TEXT(0, sentence), "after 5.00 ms in the mean. Health checks that only connect look the same."));
    }
}

static void
asks(uint64_t xact, uint32_t helper, uint32_t answer)
{
    PUT(now, HELPER_BEGIN, xact, xact, helper);
    PUT(now += MS, HELPER_END, xact, xact, answer);
    PART(PART_HELPER, (uint64_t)now, 0, 0);
}

/* A helper answers, and http_access decides. */
static void
asks_groups(uint32_t answer, int is_denied)
{
    const uint64_t xact = begin();
    asks(xact, GROUPS, answer);
    PUT(now += MS, XACT_END, xact, is_denied ? DENIED : HIT, is_denied ? 403 : 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, is_denied ? SQT_XACT_ERROR_PAGE : 0);
}

/* It is asked again in the background. */
static void
groups_answer(uint32_t answer)
{
    const uint64_t serial = 900000 + (uint64_t)now;
    PUT(now += MS, HELPER_BEGIN, 0, serial, GROUPS);
    PUT(now += MS, HELPER_END, 0, serial, answer);
    PART(PART_HELPER, (uint64_t)now, 0, 0);
}

/* A helper says no, or yes, to ten of whom it said the other thing before, and Squid keeps that; or it does so in the
 * background.  Or both answers are denied, some were denied before without a question, or it said no long before. */
static void
a_helper_denies(void **state)
{
    (void)state;
    enum { NO, YES, BACKGROUND, BOTH, OTHERS, LONG_BEFORE, TESTS };
    for (unsigned test = NO; test < TESTS; ++test) {
        const uint32_t denies = test == YES ? SQT_WAIT_OK : SQT_WAIT_ERR,
                       passes = test == YES ? SQT_WAIT_ERR : SQT_WAIT_OK;
        for (unsigned i = 0; i < 400; ++i)
            if (i < 200) {
                asks_groups(test == BOTH && i % 2 ? denies : passes, 0);
            } else if (i < 240 && test == OTHERS) {
                denied(DENIED);
            } else if (i < 210 && test == LONG_BEFORE) {
                groups_answer(denies);
            } else if (i >= 300 && i < 310 && test == BACKGROUND) {
                groups_answer(denies);
                answered(ORIGIN_1, 200);
            } else if (i >= 300 && i < 310 && test != LONG_BEFORE) {
                asks_groups(denies, 1);
            } else if (i >= 300) {
                denied(DENIED);
            } else {
                answered(ORIGIN_1, 200);
            }
        find();
        const int named = test <= BACKGROUND;
        const char *const says = test == YES ? "groups had begun to say yes (OK): 10 times up to "
                                             : "groups had begun to say no (ERR): 10 times up to ";
        assert_string_equal(TEXT(0, cause), "denied");
        assert_string_equal(TEXT(0, culprit), named ? "external_acl groups" : "http_access");
        assert_int_equal(!strstr(TEXT(0, sentence), says), !named);
        assert_int_equal(!strstr(TEXT(0, sentence), test == BACKGROUND
                                                        ? " 100 % of the denied requests asked nobody: they may"
                                                        : " 90 % of the denied requests asked nobody: they may"),
                         !named);
        assert_int_equal(!strstr(TEXT(0, command), "kind == external_acl and name == \"groups\""), !named);
    }
}

/* Denied requests that no helper explains.  Most of those to whom it says no ask another one, and pass; a list denies the
 * rest.  It denies a few all the time, and a list denies many.  Or it has said no for longer than the trace shows, in which others come
 * first. */
static void
no_helper_denies(void **state)
{
    (void)state;
    enum { SECOND_HELPER, FEW, OLD, TESTS };
    for (unsigned test = SECOND_HELPER; test < TESTS; ++test) {
        for (unsigned i = 0; i < 400; ++i)
            if (test == SECOND_HELPER && i >= 120 && i % 10) {
                const int passes = i % 10 < 8;
                const uint64_t xact = begin();
                asks(xact, GROUPS, SQT_WAIT_ERR);
                if (passes)
                    asks(xact, AUTH, SQT_WAIT_OK);
                PUT(now += MS, XACT_END, xact, passes ? HIT : DENIED, passes ? 200 : 403);
                PART(PART_XACT_SIZES, 1000, 1300, 1);
                PART(PART_XACT_FLAGS, 0xabc, 7, passes ? 0 : SQT_XACT_ERROR_PAGE);
            } else if (test == FEW && i % 60 == 30) {
                asks_groups(SQT_WAIT_ERR, 1);
            } else if (test == FEW && i >= 200 && i % 2) {
                denied(DENIED);
            } else if (test == OLD && i >= 20) {
                if (i % 20 == 0)
                    groups_answer(SQT_WAIT_ERR);
                if (i % 2)
                    denied(DENIED);
                else
                    answered(ORIGIN_1, 200);
            } else {
                asks_groups(SQT_WAIT_OK, 0);
            }
        find();
        assert_string_equal(TEXT(0, cause), "denied");
        assert_string_equal(TEXT(0, culprit), "http_access");
        assert_null(strstr(TEXT(0, sentence), "external_acl groups"));
    }
}

/* A service ends in the middle of its answer; one that fails before its answer, and is bypassed, harms nobody. */
static void
a_service_cuts_answers(void **state)
{
    (void)state;
    for (unsigned bypassed = 0; bypassed < 2; ++bypassed) {
        for (unsigned i = 0; i < 60; ++i) {
            if (i % 3) {
                answered(ORIGIN_1, 200);
                continue;
            }
            const uint64_t xact = begin();
            PUT(now, ADAPT_BEGIN, xact, 0, 1);
            PUT(now, ADAPT_SERVICE, xact, 0, 1);
            PUT(now += MS, ADAPT_FAILED, xact, 0, bypassed ? SQT_WAIT_FAILED : SQT_WAIT_CUT);
            PUT(now, ADAPT_END, xact, 0, 1);
            end(xact, 200, 0);
        }
        find();
        if (bypassed) {
            assert_int_equal(found_count, 1);
            assert_string_equal(TEXT(0, cause), "healthy");
        } else {
            assert_cause("half_answers", "scanner", 20);
            assert_non_null(
                strstr(TEXT(0, sentence),
                       "got only a part of their body, because adaptation scanner ended in the middle of its answer."));
        }
    }
}

/* Tunnels that Squid closes after three seconds, after two minutes, and that their ends close. */
static void
tunnels_time_out(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 3; ++test) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            PUT(now, TUNNEL_BEGIN, xact, 50, 0);
            now += (test == 1 ? 120000 : 3000) * MS;
            PUT(now, TUNNEL_END, xact, 0, test < 2);
            PUT(now, XACT_END, xact, TUNNEL, 200);
            PART(PART_XACT_SIZES, 5000, 5000, 1);
            PART(PART_XACT_FLAGS, 0, 7, SQT_XACT_TUNNEL);
            number += 1000;
        }
        find();
        assert_int_equal(found_count, 1);
        if (test) {
            assert_string_equal(TEXT(0, cause), "healthy");
            continue;
        }
        assert_cause("tunnel_timeouts", "read_timeout", 60);
        assert_non_null(
            strstr(TEXT(0, sentence), "were tunnels (CONNECT) that Squid closed, 3.00 s after they were opened"));
    }
}

/* Squid 5, and 6 before 6.7, log 500 for a tunnel that its server closes; a neighbour that opens no tunnel answers with it. */
static void
tunnels_end_with_500(void **state)
{
    (void)state;
    for (unsigned refused = 0; refused < 2; ++refused) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            connects(xact, ORIGIN_1, MS, SQT_CONNECT_OK);
            if (refused) {
                PUT(now, DISPATCH, xact, 51, 1);
            } else {
                PUT(now, TUNNEL_BEGIN, xact, 51, 0);
                PUT(now += 100 * MS, TUNNEL_END, xact, 0, 0);
            }
            PUT(now += MS, XACT_END, xact, TUNNEL, 500);
            PART(PART_XACT_SIZES, 5000, 5000, 1);
            PART(PART_XACT_FLAGS, 0, 7, refused ? 0 : SQT_XACT_TUNNEL);
        }
        if (!refused) {
            assert_healthy();
            continue;
        }
        find();
        assert_cause("server_errors", "origin-1", 60);
    }
}

/* Hits of a cache_dir whose file ends before the object does; of which a client took no more; and whole ones. */
static void
files_are_cut(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 3; ++test) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            PUT(now, SWAPIN_OPEN, xact, xact, 0);
            PART(PART_SWAP_FILE, 0xabc, 77, 0);
            PUT(now, SWAPIN_OPENED, xact, 0, 0);
            PUT(now, SWAPIN_READ, xact, 0, 4096);
            PUT(now += MS, SWAPIN_READ_DONE, xact, 0, 4096);
            PART(PART_DISKOP_IO, (uint64_t)now - 1000, (uint64_t)now, 0);
            PUT(now, SWAPIN_CLOSED, xact, 0, 0);
            PUT(now += MS, XACT_END, xact, HIT, 200);
            PART(PART_XACT_SIZES, 20000, test < 2 && i % 3 == 0 ? 4000 : 20300, 1);
            PART(PART_XACT_FLAGS, 0xabc, 7, test == 1 ? SQT_XACT_ABORTED : 0);
        }
        if (test) {
            assert_healthy();
            continue;
        }
        find();
        assert_cause("cut_hits", "aufs:0 /cache", 20);
        assert_non_null(strstr(TEXT(0, sentence),
                               "got only a part of their body, because the file of their object in "
                               "aufs:0 /cache ends too soon. All of them are cut after about 3.91 KB."));
    }
}

/* A parent refuses tunnels, and answers all else. */
static void
a_parent_refuses_tunnels(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; ++i) {
        const uint64_t xact = 100 + number++;
        const int tunnel = i % 4 == 0;
        now = (int64_t)number * 100 * MS;
        PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
        PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, tunnel ? CONNECT : GET);
        PUT(now, CONNECT_BEGIN, xact, 51, 2);
        PART(PART_SERVER, 4, 0, PARENT);
        PUT(now += MS, CONNECT_END, xact, 51, SQT_CONNECT_OK);
        PUT(now += MS, XACT_END, xact, tunnel ? TUNNEL : MISS, tunnel ? 403 : 200);
        PART(PART_XACT_SIZES, 1000, 1300, 1);
        PART(PART_XACT_FLAGS, 0, 7, tunnel ? SQT_XACT_TUNNEL : 0);
    }
    find();
    assert_cause("server_refuses", "parent", 25);
    assert_non_null(strstr(TEXT(0, sentence), "parent answered 25 requests of method CONNECT in a row with an error"));
}

/* Ten requests a second begin at once and take half a second, and two more are denied: meanwhile, or when they are over. */
static void
a_limit_denies(void **state)
{
    (void)state;
    for (unsigned later = 0; later < 2; ++later) {
        for (unsigned i = 0; i < 20; ++i) {
            const uint64_t first = 100 + 12 * i;
            const int64_t at = (int64_t)(i + 1) * 1000 * MS;
            for (unsigned k = 0; k < 10; ++k)
                begin_xact(at + k, first + k, 7);
            now = at + 100 * MS;
            for (unsigned k = 10; k < 12; ++k) {
                if (k == 10 && later)
                    for (unsigned n = 0; n < 10; ++n, now += 50 * MS)
                        end(first + n, 200, 0);
                begin_xact(now, first + k, 7);
                PUT(now += MS, XACT_END, first + k, DENIED, 403);
                PART(PART_XACT_SIZES, 1000, 1300, 1);
                PART(PART_XACT_FLAGS, 0, 7, SQT_XACT_ERROR_PAGE);
            }
            for (unsigned n = 0; n < 10 && !later; ++n, now += 50 * MS)
                end(first + n, 200, 0);
        }
        find();
        unsigned row = 0;
        while (row < found_count && strcmp(TEXT(row, cause), "denied") != 0)
            ++row;
        assert_int_equal(row < found_count, !later);
        if (later)
            continue;
        assert_int_equal(row, 0);
        assert_string_equal(TEXT(0, culprit), "acl maxconn");
        assert_non_null(strstr(TEXT(0, sentence), "while 10 other requests or more were under way"));
    }
}

/* Connections that are closed at once, because their client has too many; and one or two of them. */
static void
clients_have_too_many(void **state)
{
    (void)state;
    for (unsigned few = 0; few < 2; ++few) {
        for (unsigned i = 0; i < 60; ++i) {
            answered(ORIGIN_1, 200);
            PUT(now, CONN_ACCEPT, 1000 + i, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            if (few ? i % 30 == 0 : i % 3 == 0)
                PUT(now, CONN_OVER_LIMIT, 1, 0, 0);
        }
        find();
        if (few) {
            assert_string_equal(TEXT(0, cause), "healthy");
            continue;
        }
        assert_cause("over_limit", "client_ip_max_connections", 0);
        assert_non_null(strstr(TEXT(0, sentence), "20 of 80 connections of clients were closed at once"));
        assert_non_null(strstr(TEXT(0, sentence), "Most of them came to http_port 3128."));
    }
}

/* Connections of clients close on which segments were sent again: so many, for so many microseconds. */
static void
resent(unsigned one_in, uint64_t busy_us, uint64_t unacked)
{
    for (unsigned i = 0; i < 60; ++i) {
        answered(ORIGIN_1, 200);
        PUT(now, CONN_ACCEPT, 1000 + i, 14, 3128);
        PART(PART_LISTENER, 0, UINT64_MAX, 1);
        if (i % one_in == 0) {
            PUT(now, CLIENT_RESENT, 1000 + i, busy_us, 5);
            PART(PART_CLIENT_RESENT, 6, unacked, 900);
        }
        PUT(now, CONN_CLOSE, 1000 + i, 0, 0);
    }
    find();
}

/* What clients never acknowledged, what came to them late, and what is too little of either: the last bytes of clients that
 * leave, few connections, little time. */
static void
packets_to_clients_are_lost(void **state)
{
    (void)state;
    resent(5, 6000000, 1400);
    assert_cause("undelivered", "clients", 12);
    assert_int_equal(NUMBER(0, waiting_s), 72 * 1000 * MS);
    assert_non_null(
        strstr(TEXT(0, sentence), "12 of 59 connections of clients ended with bytes that were lost on the way"));
    assert_non_null(strstr(TEXT(0, sentence), "1400 in the mean: Squid had answered, and TCP tried for 6.0 s"));
    resent(5, 900000, 0);
    assert_string_equal(TEXT(0, cause), "lost_to_clients");
    assert_string_equal(TEXT(0, culprit), "clients");
    assert_int_equal(NUMBER(0, waiting_s), 12 * 900 * MS);
    assert_non_null(strstr(TEXT(0, sentence), "TCP sent 60 of 72 segments again"));
    resent(5, 6000000, 0); /* five times 200.9 ms */
    assert_int_equal(NUMBER(0, waiting_s), 12 * 5 * 200900 * (MS / 1000));
    resent(15, 6000000, 0); /* four connections, 20 segments */
    assert_string_equal(TEXT(0, cause), "lost_to_clients");
    resent(20, 6000000, 0);
    assert_string_equal(TEXT(0, cause), "healthy");
    resent(5, 1000, 1400);
    assert_string_equal(TEXT(0, cause), "healthy");
    resent(20, 6000000, 1400);
    assert_string_equal(TEXT(0, cause), "healthy");
    resent(5, UINT64_MAX, 1400);
    assert_string_equal(TEXT(0, cause), "undelivered");
    assert_int_equal(NUMBER(0, time_s), 0);
}

/* A client sends three requests at once, the first of which takes half a second: the others wait behind it, before their
 * begin.  With 5 ms nobody does. */
static void
requests_come_behind_another(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 3; ++test) {
        const int quick = test == 1, nameless = test == 2;
        for (unsigned i = 0; i < 40; ++i) {
            const uint64_t conn = 3000 + i;
            now = (int64_t)(++number) * 1000 * MS;
            PUT(now, CONN_ACCEPT, conn, 14, 3128);
            PART(PART_LISTENER, 0, UINT64_MAX, 1);
            for (unsigned k = 0; k < 3; ++k) {
                const uint64_t xact = 9000 + 3 * i + k;
                if (k == 0)
                    PUT(now, CLIENT_READ, conn, 300, 0);
                PUT(now, REQUEST_PARSED, conn, 100, 0);
                begin_xact(now, xact, conn);
                if (k == 0 && !nameless)
                    connects(xact, ORIGIN_2, MS, SQT_CONNECT_OK);
                now += (k ? 0 : quick ? 5 : 500) * MS;
                end(xact, 200, 0);
            }
            PUT(now, CONN_CLOSE, conn, 0, 0);
        }
        find();
        unsigned own = 0;
        while (own < found_count && strcmp(TEXT(own, cause), "pipelined") != 0)
            ++own;
        assert_int_equal(own < found_count, nameless);
        if (nameless) {
            assert_string_equal(TEXT(own, culprit), "clients");
            assert_int_equal(NUMBER(own, requests), 80);
        } else {
            assert_int_equal(strstr(TEXT(0, sentence), "80 requests came behind another one") != NULL, !quick);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(a_server_that_lets_wait_and_fails),
                                       SCRIPT_TEST(servers_without_a_name_of_their_own),
                                       SCRIPT_TEST(a_service_fails_for_two_seconds),
                                       SCRIPT_TEST(it_fails_again_and_again),
                                       SCRIPT_TEST(one_server_is_gone),
                                       SCRIPT_TEST(connections_fail_for_a_reason),
                                       SCRIPT_TEST(a_server_takes_some_connections),
                                       SCRIPT_TEST(all_fail_for_a_reason),
                                       SCRIPT_TEST(they_have_a_method_in_common),
                                       SCRIPT_TEST(they_have_a_worker_in_common),
                                       SCRIPT_TEST(parents_are_dead),
                                       SCRIPT_TEST(a_service_is_suspended),
                                       SCRIPT_TEST(no_port_is_free),
                                       SCRIPT_TEST(no_handshake),
                                       SCRIPT_TEST(names_are_not_found),
                                       SCRIPT_TEST(a_helper_is_broken),
                                       SCRIPT_TEST(a_server_answers_with_errors),
                                       SCRIPT_TEST(nobody_to_ask),
                                       SCRIPT_TEST(a_parent_is_full),
                                       SCRIPT_TEST(bodies_are_cut),
                                       SCRIPT_TEST(posts_on_kept_connections),
                                       SCRIPT_TEST(denials_begin),
                                       SCRIPT_TEST(denials_always),
                                       SCRIPT_TEST(denials_by_acl),
                                       SCRIPT_TEST(some_errors_are_healthy),
                                       SCRIPT_TEST(several_servers_cut_bodies),
                                       SCRIPT_TEST(bodies_pause),
                                       SCRIPT_TEST(a_failure_is_kept),
                                       SCRIPT_TEST(answers_are_truncated),
                                       SCRIPT_TEST(another_name_server_answers),
                                       SCRIPT_TEST(only_if_cached),
                                       SCRIPT_TEST(a_parent_without_address),
                                       SCRIPT_TEST(a_queue_is_full),
                                       SCRIPT_TEST(no_answer_comes),
                                       SCRIPT_TEST(no_request_comes),
                                       SCRIPT_TEST(first_bytes_are_not_taken),
                                       SCRIPT_TEST(a_service_fails_for_large_replies),
                                       SCRIPT_TEST(requests_are_not_valid),
                                       SCRIPT_TEST(no_handshake_of_clients),
                                       SCRIPT_TEST(checks_of_https_port),
                                       SCRIPT_TEST(a_helper_denies),
                                       SCRIPT_TEST(no_helper_denies),
                                       SCRIPT_TEST(a_service_cuts_answers),
                                       SCRIPT_TEST(tunnels_time_out),
                                       SCRIPT_TEST(tunnels_end_with_500),
                                       SCRIPT_TEST(files_are_cut),
                                       SCRIPT_TEST(a_limit_denies),
                                       SCRIPT_TEST(a_parent_refuses_tunnels),
                                       SCRIPT_TEST(clients_have_too_many),
                                       SCRIPT_TEST(packets_to_clients_are_lost),
                                       SCRIPT_TEST(requests_come_behind_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
