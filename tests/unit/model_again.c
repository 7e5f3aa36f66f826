/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_again.c - table `findings`: work that is done more than once, though each time is quick.
 */
#include "model_tenths.h"

enum { PARENT = 1, ORIGIN_1, ORIGIN_2 };
enum { STORE_ID = 6 };

static void
end(uint64_t xact, uint32_t tag, uint32_t status, uint64_t object, uint32_t miss)
{
    PUT(now += MS, XACT_END, xact, tag, status);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, object, 7, miss << SQT_XACT_MISS_SHIFT);
}

static void
asks(uint64_t xact, uint32_t server, int64_t connect_ms, int64_t ms)
{
    if (connect_ms) {
        PUT(now, CONNECT_BEGIN, xact, 50, 1);
        PART(PART_SERVER, 0, 0, server);
        PUT(now += connect_ms * MS, CONNECT_END, xact, 50, SQT_CONNECT_OK);
    } else {
        PUT(now, CONNECT_REUSED, xact, 50, 1);
        PART(PART_SERVER, 0, 0, server);
    }
    PUT(now, DISPATCH, xact, 50, 1);
    PUT(now, REQUEST_SENT, xact, 50, 0);
    PUT(now += ms * MS, SERVER_READ, xact, 500, 0);
    PUT(now, SERVER_DONE, xact, 50, 0);
}

static void
hit(uint64_t object)
{
    end(begin(), MEM_HIT, 200, object, 0);
}

static void
miss_of(uint32_t server, uint64_t object, uint32_t why)
{
    const uint64_t xact = begin();
    asks(xact, server, 0, 30);
    end(xact, MISS, 200, object, why);
}

static void
miss(uint64_t object, uint32_t why)
{
    miss_of(ORIGIN_1, object, why);
}

static void
assert_cause(const char *cause, const char *culprit)
{
    find();
    assert_int_equal(found_count, 1);
    assert_string_equal(TEXT(0, cause), cause);
    assert_string_equal(TEXT(0, culprit), culprit);
}

static void
assert_not(const char *cause)
{
    find();
    for (unsigned i = 0; i < found_count; ++i)
        assert_string_not_equal(TEXT(i, cause), cause);
}

/* Two servers are asked about objects that did not change, or half of which did. */
static void
nothing_has_changed(void **state)
{
    (void)state;
    for (unsigned changed = 0; changed < 2; ++changed) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            asks(xact, i % 2 ? ORIGIN_1 : ORIGIN_2, 0, 50);
            end(xact, changed && i % 4 < 2 ? REFRESH_MODIFIED : REFRESH_UNMODIFIED, 200, 1, SQT_MISS_STALE);
        }
        if (changed) {
            assert_not("revalidations");
        } else {
            assert_cause("revalidations", "servers");
            assert_int_equal(NUMBER(0, waiting_s), 60 * 51 * MS);
            assert_non_null(strstr(TEXT(0, sentence), "51 ms for each of 60 requests, and 100 % came back unchanged."));
        }
    }
}

#define UNNAMED 999 /* no definition has it */

/* A far server's connections are never kept; they are kept for some requests; it is asked once in a while. */
static void
connections_are_not_kept(void **state)
{
    (void)state;
    for (unsigned kept = 0; kept < 3; ++kept) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            asks(xact, PARENT, kept == 1 && i % 10 == 0 ? 0 : 25, 26);
            end(xact, MISS, 200, 1, SQT_MISS_UNCACHEABLE);
            if (kept == 2)
                number += 100;
        }
        if (kept) {
            assert_not("new_connections");
        } else {
            assert_cause("new_connections", "parent");
            assert_int_equal(NUMBER(0, waiting_s), 59 * 25 * MS);
            assert_non_null(strstr(TEXT(0, sentence), "Connections to parent are never used twice:"));
        }
    }
}

/* The first try is on a kept connection, which one or two servers close. */
static void
all_servers_close(void **state)
{
    (void)state;
    for (unsigned servers = 1; servers <= 2; ++servers) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            const uint32_t server = i % servers ? ORIGIN_2 : ORIGIN_1;
            PUT(now, CONNECT_REUSED, xact, 50, 1);
            PART(PART_SERVER, 0, 0, server);
            PUT(now, DISPATCH, xact, 50, 1);
            PUT(now, REQUEST_SENT, xact, 50, 0);
            PUT(now += 50 * MS, SERVER_DONE, xact, 50, 1);
            PUT(now, RETRY, xact, 0, 1);
            asks(xact, server, 1, 1);
            end(xact, MISS, 200, 1, SQT_MISS_UNCACHEABLE);
        }
        find();
        assert_string_equal(TEXT(0, cause), servers == 2 ? "all_close" : "closed_connections");
        assert_string_equal(TEXT(0, culprit), servers == 2 ? "all servers" : "origin-1");
        assert_int_equal(found_count, 1);
    }
}

/* A hit of each of 40 objects, and then a miss; in between clients remove most of them, or some. */
static void
clients_purge(void **state)
{
    (void)state;
    for (unsigned few = 0; few < 2; ++few) {
        for (unsigned i = 0; i < 40; ++i)
            hit(1 + i);
        for (unsigned i = 0; i < (few ? 10 : 30); ++i) {
            const uint64_t xact = 100 + number++;
            now = (int64_t)number * 100 * MS;
            PUT(now, XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
            PUT(now, XACT_NAMED, xact, SQT_UNNAMED | xact, 3);
            end(xact, NONE, 200, 0, 0);
        }
        for (unsigned i = 0; i < 40; ++i)
            miss(1 + i, SQT_MISS_ABSENT);
        assert_cause("lost_hits", few ? "cache" : "PURGE");
        assert_int_equal(strstr(TEXT(0, sentence), "Clients removed 30 objects meanwhile (PURGE).") != NULL, !few);
    }
}

/* Hits of 40 objects, which are misses after 10 s; and objects that expired. */
static void
hits_become_misses(void **state)
{
    (void)state;
    for (unsigned expired = 0; expired < 2; ++expired) {
        for (unsigned i = 0; i < 100; ++i)
            hit(1 + i % 40);
        for (unsigned i = 0; i < 40; ++i)
            miss(1 + i, expired ? SQT_MISS_STALE : SQT_MISS_ABSENT);
        for (unsigned i = 0; i < 200; ++i)
            hit(1 + i % 40);
        if (expired) {
            assert_not("lost_hits");
        } else {
            find();
            unsigned row = 0;
            while (row < found_count && strcmp(TEXT(row, cause), "lost_hits") != 0)
                ++row;
            assert_true(row < found_count);
            assert_int_equal(found_count, 1); /* cache_too_small would be the same misses */
            assert_int_equal(NUMBER(row, requests), 40);
            assert_string_equal(TEXT(row, pattern), "once");
            assert_in_range(NUMBER(row, time_s), 10000 * MS, 10250 * MS);
        }
    }
}

/* Each connection is asked once; or twice. */
static void
clients_are_asked_again(void **state)
{
    (void)state;
    for (unsigned times = 1; times <= 2; ++times) {
        now = 0;
        for (unsigned i = 0; i < 50; ++i) {
            PUT(now + MS, CONN_ACCEPT, 1000 + i, 9, 3128);
            for (unsigned k = 0; k < times; ++k)
                end(begin(), NONE, 407, 0, 0);
            hit(1);
            PUT(now, CONN_CLOSE, 1000 + i, 0, 0);
        }
        if (times == 1)
            assert_not("challenges");
        else
            assert_cause("challenges", "clients");
    }
}

/* Half of the misses of one server are made by squid.conf, and others are hits; then they are half as many. */
static void
squid_conf_forbids_hits(void **state)
{
    (void)state;
    static const struct {
        uint32_t why;
        const char *cause;
    } cases[] = {{SQT_MISS_CACHE_DENY, "cache_denied"}, {SQT_MISS_UNUSABLE, "hits_denied"}};
    for (unsigned c = 0; c < 2; ++c)
        for (unsigned few = 0; few < 2; ++few) {
            for (unsigned i = 0; i < 160; ++i)
                if (i % 4 == 0)
                    miss(c ? 77 : 5000 + i, few && i % 3 ? SQT_MISS_STALE : cases[c].why);
                else
                    hit(77);
            if (few) {
                assert_not(cases[c].cause);
                continue;
            }
            find();
            assert_string_equal(TEXT(0, cause), cases[c].cause);
            assert_string_equal(TEXT(0, culprit), "origin-1");
            assert_int_equal(NUMBER(0, requests), 40);
            assert_int_equal(NUMBER(0, waiting_s), 40 * 30 * MS);
            assert_non_null(strstr(TEXT(0, sentence), "40 requests to origin-1 are no hits"));
            assert_non_null(strstr(TEXT(0, sentence), " The server takes 30.0 ms for each"));
            assert_non_null(strstr(TEXT(0, sentence), "Of all other requests, 100 % are hits."));
            assert_int_equal(!!strstr(TEXT(0, advice), "negative_ttl"), c);
        }
}

/* The same of two servers: then none of them is named. */
static void
squid_conf_forbids_hits_of_several(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 160; ++i)
        if (i % 4 == 0)
            miss_of(i % 8 ? ORIGIN_1 : ORIGIN_2, 5000 + i, SQT_MISS_UNUSABLE);
        else
            hit(77);
    find();
    assert_string_equal(TEXT(0, cause), "hits_denied");
    assert_string_equal(TEXT(0, culprit), "send_hit or unusable entries");
    assert_non_null(strstr(TEXT(0, sentence), " Servers take 30.0 ms for each, again and again."));
}

/* Each request gets an ID of a Store-ID helper.  Hits are redirects, or one in three is; or the helper gives no ID; or each of
 * the IDs is asked for every four seconds, as where redirects lead to other IDs. */
static void
redirects_have_store_ids(void **state)
{
    (void)state;
    for (unsigned test = 0; test < 4; ++test) {
        for (unsigned i = 0; i < 120; ++i) {
            const uint64_t xact = begin();
            PUT(now, HELPER_BEGIN, xact, xact, STORE_ID);
            PUT(now += MS, HELPER_END, xact, xact, test == 2 ? SQT_WAIT_ERR : SQT_WAIT_OK);
            PART(PART_HELPER, (uint64_t)now - MS, 0, 0);
            end(xact, MEM_HIT, test == 1 && i % 3 ? 200 : 301, test == 3 ? 5000 + i % 40 : 5000 + i / 4, 0);
        }
        if (test) {
            assert_not("kept_redirects");
            continue;
        }
        find();
        assert_string_equal(TEXT(0, cause), "kept_redirects");
        assert_string_equal(TEXT(0, culprit), "store_id ids");
        assert_int_equal(NUMBER(0, failures), 120);
        assert_non_null(strstr(TEXT(0, sentence), "120 of 120 requests got a redirect (301) from the cache"));
        assert_non_null(strstr(TEXT(0, sentence), "75 % of them came within a second of another one with the same ID"));
    }
}

/* A Store-ID helper is asked for each request, and nothing is a hit; then one request in ten is. */
static void
store_ids_find_nothing(void **state)
{
    (void)state;
    for (unsigned hits = 0; hits < 2; ++hits) {
        for (unsigned i = 0; i < 120; ++i) {
            const uint64_t xact = begin();
            PUT(now, HELPER_BEGIN, xact, xact, STORE_ID);
            PUT(now += MS, HELPER_END, xact, xact, SQT_WAIT_OK);
            PART(PART_HELPER, (uint64_t)now - MS, 0, 0);
            if (hits && i % 10 == 0) {
                end(xact, MEM_HIT, 200, 5000, 0);
                continue;
            }
            asks(xact, i % 2 ? ORIGIN_1 : ORIGIN_2, 0, 80);
            end(xact, MISS, 200, 5000 + i, SQT_MISS_ABSENT);
        }
        if (hits) {
            assert_not("store_id_no_hits");
            continue;
        }
        assert_cause("store_id_no_hits", "store_id ids");
        assert_int_equal(NUMBER(0, requests), 120);
        assert_int_equal(NUMBER(0, waiting_s), 120 * 80 * MS);
        assert_non_null(strstr(TEXT(0, sentence), "was asked 120 times, and 0 of 120 requests found anything"));
    }
}

/* Three requests in four ask again for one of 40 objects that may not be stored; then one request in ten is a hit, and then
 * each object is asked for once. */
static void
nothing_may_be_stored(void **state)
{
    (void)state;
    for (unsigned as = 0; as < 3; ++as) {
        for (unsigned i = 0; i < 160; ++i)
            if (as == 1 && i % 10 == 0)
                hit(77);
            else
                miss_of(i % 2 ? ORIGIN_1 : ORIGIN_2, 5000 + (as == 2 ? i : i % 40), SQT_MISS_UNCACHEABLE);
        if (as) {
            assert_not("not_storable");
            continue;
        }
        find();
        assert_string_equal(TEXT(0, cause), "not_storable");
        assert_string_equal(TEXT(0, culprit), "servers");
        assert_int_equal(NUMBER(0, requests), 120);
        assert_int_equal(NUMBER(0, waiting_s), 120 * 30 * MS);
        assert_non_null(strstr(TEXT(0, sentence), "120 of 160 requests ask again"));
        assert_non_null(strstr(TEXT(0, sentence), "servers take 30.0 ms for each"));
    }
}

/* All servers take 150 ms; most requests are for objects that expired, and come again as they were: that goes before. */
static void
what_expired_comes_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 160; ++i) {
        const uint64_t xact = begin();
        asks(xact, PARENT + i % 3, 0, 150);
        number += 2;
        end(xact, i < 60 ? MISS : REFRESH_MODIFIED, 200, 5000 + i % 60, i < 60 ? SQT_MISS_ABSENT : SQT_MISS_STALE);
    }
    find();
    assert_string_equal(TEXT(0, cause), "fetched_again");
    assert_int_equal(NUMBER(0, requests), 100);
}

/* One request in ten is ended by its client a millisecond after it came, and has no answer; then after 30 ms. */
static void
clients_leave_at_once(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 2; ++late) {
        for (unsigned i = 0; i < 300; ++i) {
            if (i % 10) {
                hit(77);
                continue;
            }
            const uint64_t xact = begin();
            now += late ? 30 * MS : 0;
            PUT(now += MS, XACT_END, xact, MISS_ABORTED, 0);
            PART(PART_XACT_SIZES, 0, 0, 1);
            PART(PART_XACT_FLAGS, 5000 + i, 7, SQT_XACT_ABORTED | SQT_MISS_ABSENT << SQT_XACT_MISS_SHIFT);
        }
        if (late) {
            assert_not("left_at_once");
            continue;
        }
        assert_cause("left_at_once", "clients");
        assert_int_equal(NUMBER(0, failures), 30);
        assert_non_null(strstr(TEXT(0, sentence), "30 of 300 requests (10 %) got nothing"));
    }
}

/* Where the trace does not name servers, as one from outside, each may be asked once: it is said of the way to them. */
static void
connections_of_unnamed_servers_are_not_kept(void **state)
{
    (void)state;
    for (unsigned kept = 0; kept < 2; ++kept) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            asks(xact, UNNAMED, kept && i % 10 == 0 ? 0 : 25, 26);
            end(xact, MISS, 200, 1000 + i, SQT_MISS_ABSENT);
        }
        find();
        unsigned row = 0;
        while (row < found_count && strcmp(TEXT(row, cause), "far_servers") != 0)
            assert_string_not_equal(TEXT(row++, cause), "new_connections");
        assert_int_not_equal(row, found_count);
        assert_int_equal(!strstr(TEXT(row, sentence), " Connections are never used twice, of 60; "), kept);
        assert_int_equal(!strstr(TEXT(row, advice), " If the same servers are asked again: "), kept);
    }
}

/* Handshakes are slow, and connections are not kept: it is the handshakes.  With a quick one it is the connections. */
static void
handshakes_are_slow(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; ++slow) {
        for (unsigned i = 0; i < 60; ++i) {
            const uint64_t xact = begin();
            PUT(now, CONNECT_BEGIN, xact, 50, 1);
            PART(PART_SERVER, 0, 0, PARENT);
            PUT(now += (slow ? 1 : 20) * MS, CONNECT_END, xact, 50, SQT_CONNECT_OK);
            PUT(now, TLS_BEGIN, xact, 50, 0);
            PUT(now += (slow ? 80 : 20) * MS, TLS_END, xact, 50, SQT_CONNECT_OK);
            PUT(now, DISPATCH, xact, 50, 1);
            PUT(now, REQUEST_SENT, xact, 50, 0);
            PUT(now += 5 * MS, SERVER_READ, xact, 500, 0);
            PUT(now, SERVER_DONE, xact, 50, 0);
            end(xact, MISS, 200, 1, SQT_MISS_UNCACHEABLE);
        }
        if (slow) {
            assert_cause("tls_server", "parent");
            assert_non_null(strstr(TEXT(0, sentence), "Connections are never used twice: "));
        } else {
            assert_cause("new_connections", "parent");
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {SCRIPT_TEST(nothing_has_changed),
                                       SCRIPT_TEST(connections_are_not_kept),
                                       SCRIPT_TEST(connections_of_unnamed_servers_are_not_kept),
                                       SCRIPT_TEST(handshakes_are_slow),
                                       SCRIPT_TEST(all_servers_close),
                                       SCRIPT_TEST(hits_become_misses),
                                       SCRIPT_TEST(clients_purge),
                                       SCRIPT_TEST(clients_are_asked_again),
                                       SCRIPT_TEST(squid_conf_forbids_hits),
                                       SCRIPT_TEST(squid_conf_forbids_hits_of_several),
                                       SCRIPT_TEST(store_ids_find_nothing),
                                       SCRIPT_TEST(redirects_have_store_ids),
                                       SCRIPT_TEST(nothing_may_be_stored),
                                       SCRIPT_TEST(clients_leave_at_once),
                                       SCRIPT_TEST(what_expired_comes_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
