/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_failures.c - table `findings`: requests that got an error page, and what they failed at.
 */
#include "model_found.h"

#include <errno.h>

enum { OTHER, PARENT, ORIGIN_1, ORIGIN_2, ORIGIN_3, ORIGIN_4 };
enum { AUTH, GROUPS, NAME_SERVER };

/* Requests begin ten times a second, and take a millisecond. */
static int64_t now;

static uint64_t
begin(void)
{
    const uint64_t xact = 100 + number++;
    now = (int64_t)number * 100 * MS;
    begin_xact(now, xact, 7);
    return xact;
}

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
        {EPERM, "failed_connect", "because this machine does not let Squid connect to origin-2.", "firewall"},
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
    for (unsigned i = 0; i < 100; ++i) /* half of them for this, half for that: no reason stands out */
        not_connected_for(ORIGIN_2, 2 * MS, i % 2 ? ECONNREFUSED : EHOSTUNREACH);
    find();
    assert_non_null(strstr(TEXT(0, sentence), "connections to origin-2 failed."));
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
            assert_int_equal(found_count, 3);
        assert_non_null(strstr(TEXT(0, sentence), k == 0   ? "no local port is free for connections to any server."
                                                  : k == 1 ? "there is no route to any server."
                                                           : "refuses connections"));
    }
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

static void
denied(void)
{
    const uint64_t xact = begin();
    PUT(now += MS, XACT_END, xact, DENIED, 403);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, SQT_XACT_ERROR_PAGE);
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
                denied();
            else
                answered(ORIGIN_1, 200);
        }
        if (begin_at) {
            find();
            assert_cause("denied", "http_access, after squid -k reconfigure", 60);
            assert_string_equal(TEXT(0, pattern), "since");
            assert_non_null(strstr(TEXT(0, sentence), "Of the 200 before, none was."));
        } else {
            assert_healthy();
        }
    }
    for (unsigned i = 0; i < 40; ++i)
        denied();
    find();
    assert_cause("denied", "http_access", 40);
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

/* Bytes come that are no request, on a new connection, or on one that had one before.  Who leaves at once is a health
 * check. */
static void
no_request_comes(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 3; ++test) {
        const int kept = test == 1, checks = test == 2;
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
                now += checks ? MS : 600 * MS;
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
        assert_non_null(strstr(TEXT(0, sentence), "sent bytes, but no whole request"));
        assert_non_null(strstr(TEXT(0, sentence), "left after 600"));
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
                                       SCRIPT_TEST(all_fail_for_a_reason),
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
                                       SCRIPT_TEST(some_errors_are_healthy),
                                       SCRIPT_TEST(several_servers_cut_bodies),
                                       SCRIPT_TEST(bodies_pause),
                                       SCRIPT_TEST(a_failure_is_kept),
                                       SCRIPT_TEST(answers_are_truncated),
                                       SCRIPT_TEST(no_answer_comes),
                                       SCRIPT_TEST(no_request_comes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
