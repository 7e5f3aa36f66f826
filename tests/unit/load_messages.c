/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * load_messages.c - heads of messages, and bodies that follow from URLs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/load/object/head.h"
#include "../../tools/load/object/object.h"

/* ---- heads ---- */

static enum sqt_cache_status
cache_of(const char *headers)
{
    char text[512];
    struct sqt_head head;
    const int size = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n", headers);
    assert_int_equal(sqt_head_response(&head, text, (size_t)size), 0);
    return head.cache;
}

static void
cache_status(void **state)
{
    (void)state;
    assert_int_equal(cache_of("Age: 3\r\n"), SQT_CACHE_UNTOLD);
    assert_int_equal(cache_of("Cache-Status: proxy.test;hit;detail=match\r\n"), SQT_CACHE_HIT);
    assert_int_equal(cache_of("cache-status:proxy.test ; hit\r\n"), SQT_CACHE_HIT);
    assert_int_equal(cache_of("Cache-Status: proxy.test;fwd=miss;detail=mismatch\r\n"), SQT_CACHE_MISS);
    assert_int_equal(cache_of("Cache-Status: proxy.test;fwd=stale;detail=hit\r\n"), SQT_CACHE_MISS);
    assert_int_equal(cache_of("Cache-Status: proxy.test;detail=\"a;hit;b\"\r\n"), SQT_CACHE_MISS);
    assert_int_equal(cache_of("Cache-Status: \"a,b;hit\";fwd=miss\r\n"), SQT_CACHE_MISS);
    /* The last is the nearest. */
    assert_int_equal(cache_of("Cache-Status: far;hit, near;fwd=miss\r\n"), SQT_CACHE_MISS);
    assert_int_equal(cache_of("Cache-Status: far;fwd=miss, near;hit\r\n"), SQT_CACHE_HIT);
    assert_int_equal(cache_of("Cache-Status: far;hit\r\nCache-Status: near;fwd=miss\r\n"), SQT_CACHE_MISS);
    assert_int_equal(cache_of("X-Cache: HIT from proxy.test\r\n"), SQT_CACHE_HIT);
    assert_int_equal(cache_of("X-Cache: HIT from far\r\nX-Cache: MISS from near\r\n"), SQT_CACHE_MISS);
    assert_int_equal(cache_of("Cache-Status: near;fwd=miss\r\nX-Cache: HIT from far\r\n"), SQT_CACHE_MISS);
}

static void
responses(void **state)
{
    static const char *const bad[] = {"",
                                      "HTTP/1.1\r\n\r\n",
                                      "HTTP/2 200 OK\r\n\r\n",
                                      "HTTP/1.1 2x0 OK\r\n\r\n",
                                      "HTTP/1.1 099 OK\r\n\r\n",
                                      "ICY 200 OK\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"};
    struct sqt_head h;
    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); ++i)
        assert_int_equal(sqt_head_response(&h, bad[i], strlen(bad[i])), -1);
    static const char good[] = "HTTP/1.0 304 \r\nContent-Length: 12\r\nConnection: Keep-Alive, x\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    assert_int_equal(sqt_head_response(&h, good, sizeof(good) - 1), 0);
    assert_int_equal(h.status, 304);
    assert_int_equal(h.length, 12);
    assert_int_equal(h.chunked, 1);
    assert_int_equal(sqt_head_lasts(&h), 1);
    static const char closing[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    assert_int_equal(sqt_head_response(&h, closing, sizeof(closing) - 1), 0);
    assert_int_equal(sqt_head_lasts(&h), 0);
    assert_int_equal(h.length, -1);
}

static void
requests(void **state)
{
    struct sqt_head h;
    (void)state;
    static const char text[] = "GET http://a.test:80/size=3/x HTTP/1.1\r\nIf-Modified-Since: then\r\n\r\n";
    assert_int_equal(sqt_head_request(&h, text, sizeof(text) - 1), 0);
    assert_int_equal(h.path_length, strlen("/size=3/x"));
    assert_memory_equal(h.path, "/size=3/x", h.path_length);
    assert_memory_equal(h.since, "then", h.since_length);
    assert_int_equal(sqt_head_request(&h, "GET /\r\n\r\n", 9), -1);
    assert_int_equal(sqt_head_request(&h, "GET a.test:80 HTTP/1.1\r\n\r\n", 26), -1);
}

/* ---- objects ---- */

static struct sqt_object
object_of(const char *path)
{
    struct sqt_object object;
    assert_int_equal(sqt_object_parse(&object, path, strlen(path)), 0);
    return object;
}

static char *
body_of(const struct sqt_object *object)
{
    const size_t size = (size_t)object->words[SQT_OBJECT_size];
    char *const body = malloc(size + 1);
    for (size_t at = 0; at < size;) {
        const char *bytes;
        const size_t piece = sqt_object_body(object, at, size - at, &bytes);
        assert_true(piece > 0);
        memcpy(body + at, bytes, piece);
        at += piece;
    }
    return body;
}

static void
paths(void **state)
{
    static const char *const bad[] = {"/",
                                      "/size=",
                                      "/size=3",
                                      "/size=x/a",
                                      "/size=3;weight=2/a",
                                      "/wait=3/a",
                                      "/size=-3/a",
                                      "/size=99999999999999999999/a"};
    struct sqt_object o;
    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); ++i)
        assert_int_equal(sqt_object_parse(&o, bad[i], strlen(bad[i])), -1);
    o = object_of("/size=123;wait=45;store=0/any/name");
    assert_int_equal(o.words[SQT_OBJECT_size], 123);
    assert_int_equal(o.words[SQT_OBJECT_wait], 45);
    assert_int_equal(o.words[SQT_OBJECT_body], -1);
    assert_int_equal(o.words[SQT_OBJECT_store], 0);
}

static void
bodies(void **state)
{
    (void)state;
    const struct sqt_object o = object_of("/size=200000/a"), other = object_of("/size=200000/b");
    char *const body = body_of(&o), *const body2 = body_of(&other);
    assert_true(sqt_object_matches(&o, 0, body, 200000));
    assert_true(sqt_object_matches(&o, 65535, body + 65535, 2)); /* in any pieces */
    assert_true(sqt_object_matches(&o, 7, body + 7, 150000));
    assert_false(sqt_object_matches(&o, 0, body2, 200000)); /* another's */
    assert_false(sqt_object_matches(&o, 100, body2 + 100, 64));
    assert_false(sqt_object_matches(&o, 100, body + 101, 64)); /* shifted */
    assert_false(sqt_object_matches(&o, 199999, body, 2));     /* behind its end */
    for (size_t at = 0; at < 200000; at += 997) {              /* a bit */
        body[at] ^= 4;
        assert_false(sqt_object_matches(&o, 0, body, 200000));
        body[at] ^= 4;
    }
    const struct sqt_object small = object_of("/size=5/a");
    char *const five = body_of(&small);
    assert_true(sqt_object_matches(&small, 0, five, 5));
    free(body);
    free(body2);
    free(five);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_status), cmocka_unit_test(responses), cmocka_unit_test(requests),
        cmocka_unit_test(paths),        cmocka_unit_test(bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
