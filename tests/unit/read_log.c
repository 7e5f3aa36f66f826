/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_log.c - logformats, dates and lines of access.log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/log/date.h"
#include "read/log/line.h"
#include "read/log/log.h"
#include "read/log/names.h"
#include "read/stream.h"

/* ---- formats ---- */

static struct sqt_log_format format;
static struct sqt_log_slice slices[SQT_LOG_FIELDS];
static struct sqt_logged logged;
static char error[512];

static void
use(const char *text)
{
    sqt_log_format_free(&format);
    const int result = sqt_log_format_parse(&format, "own", text, error, sizeof(error));
    if (result != 0)
        print_error("%s\n", error);
    assert_int_equal(result, 0);
}

static void
refuses(const char *text, const char *why)
{
    sqt_log_format_free(&format);
    assert_int_equal(sqt_log_format_parse(&format, "own", text, error, sizeof(error)), -1);
    assert_non_null(strstr(error, why));
}

static int
split(const char *line)
{
    return sqt_log_line_split(&format, line, strlen(line), slices) == 0 &&
           sqt_log_line_numbers(&format, slices, &logged) == 0;
}

static void
has(enum sqt_log_field field, const char *text)
{
    assert_int_equal(slices[field].length, strlen(text));
    assert_memory_equal(slices[field].at, text, strlen(text));
}

static void
formats_that_cannot_be(void **state)
{
    (void)state;
    refuses("", "no fields");
    refuses("just text", "no fields");
    refuses("%ts %", "expected a code");
    refuses("%ts %{x}", "expected a code");
    refuses("%ts%byte{0}", "%byte{1}");
    refuses("%ts%byte{256}", "%byte{1}");
    refuses("%ts %>a%ru", "where it ends");
    refuses("%ts %un%tr", "where it ends");
    char many[SQT_LOG_ITEMS * 4 + 16] = "";
    for (unsigned i = 0; i <= SQT_LOG_ITEMS; ++i)
        strcat(many, "%a ");
    refuses(many, "more fields");
}

static void
each_named_format_is_one(void **state)
{
    const char *name;
    (void)state;
    for (unsigned i = 0; (name = sqt_log_format_name(i)) != NULL; ++i)
        use(sqt_log_format_named(name));
    assert_null(sqt_log_format_named("none"));
}

static void
the_native_format(void **state)
{
    (void)state;
    use(sqt_log_format_named("squid"));
    assert_true(split("1795842075.806     14 10.0.0.7 TCP_MISS_ABORTED/200 6604 GET http://a.b:80/c?d=%zz me "
                      "FIRSTUP_PARENT/10.1.1.1 text/html; charset=utf-8"));
    has(SQT_LOG_CLIENT, "10.0.0.7");
    has(SQT_LOG_TAG, "TCP_MISS_ABORTED");
    has(SQT_LOG_METHOD, "GET");
    has(SQT_LOG_URL, "http://a.b:80/c?d=%zz");
    has(SQT_LOG_USER, "me");
    has(SQT_LOG_HIERARCHY, "FIRSTUP_PARENT");
    has(SQT_LOG_SERVER, "10.1.1.1");
    assert_int_equal(logged.at, INT64_C(1795842075806000000));
    assert_int_equal(logged.took, 14000000);
    assert_int_equal(logged.begin, INT64_C(1795842075792000000));
    assert_int_equal(logged.sent, 6604);
    assert_int_equal(logged.status, 200);
    assert_int_equal(logged.xid, SQT_LOG_UNKNOWN);
    assert_true(split("1795842075.806 123456 - TCP_DENIED/403 0 GET a:443 - HIER_NONE/- -"));
    has(SQT_LOG_CLIENT, "");
    has(SQT_LOG_SERVER, "");
    assert_int_equal(logged.took, INT64_C(123456000000));
}

static void
lines_that_are_not_of_it(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "x",
        "1795842075.806     14 10.0.0.7 TCP_MISS/200 6604 GET http://a/",
        "1795842075.806     14 10.0.0.7 TCP_MISS 200 6604 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "1795842075,806     14 10.0.0.7 TCP_MISS/200 6604 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "1795842075.806     1x 10.0.0.7 TCP_MISS/200 6604 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "1795842075.806     14 10.0.0.7 TCP_MISS/200 99999999999999999999 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "1795842075.806     999999999999999999 10.0.0.7 TCP_MISS/200 1 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "99999999999.806    14 10.0.0.7 TCP_MISS/200 1 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "1795842075.80600   14 10.0.0.7 TCP_MISS/200 1 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "1795842075.806     14 10.0.0.7 TCP_MISS/200 1 GET http://a/ with spaces - - HIER_DIRECT/10.1.1.1 -",
        "-1.806     14 10.0.0.7 TCP_MISS/200 1 GET http://a/ - HIER_DIRECT/10.1.1.1 -",
        "10.0.0.7 - - [28/Nov/2026:05:01:15 +0100] \"GET http://a/ HTTP/1.1\" 200 5 \"-\" \"x\" TCP_MISS:HIER_NONE",
    };
    (void)state;
    use(sqt_log_format_named("squid"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); ++i)
        if (split(wrong[i])) {
            print_error("taken: %s\n", wrong[i]);
            fail();
        }
}

static void
quotes_and_what_stands_between(void **state)
{
    (void)state;
    use(sqt_log_format_named("combined"));
    assert_true(
        split("10.0.0.7 - me [28/Nov/2026:05:01:15 +0100] \"GET http://a/ HTTP/1.1\" 200 5 \"http://r/ \\\" \\\\\" "
              "\"Moz [x] \\\"y\\\" z\" TCP_MISS:HIER_DIRECT"));
    has(SQT_LOG_URL, "http://a/");
    has(SQT_LOG_TAG, "TCP_MISS");
    assert_int_equal(logged.at, INT64_C(1795838475000000000));
    assert_int_equal(logged.took, SQT_LOG_UNKNOWN);
    assert_int_equal(logged.begin, logged.at);
    use("{\"t\":%ts.%tu,\"d\":\"%tr000000\",\"u\":\"%ru\"}");
    assert_true(split("{\"t\":1795842075.006,\"d\":\"12000000\",\"u\":\"http://a/\\\"},\"}"));
    has(SQT_LOG_URL, "http://a/\\\"},");
    assert_int_equal(logged.took, 12000000);
    assert_int_equal(logged.at, INT64_C(1795842075006000000));
    use("%ts%%%03tu %-10>a|%5tr|%http::>ru%byte{9}%<st");
    assert_true(split("1795842075%250 10.0.0.7  |    3|http://a/\t77"));
    has(SQT_LOG_CLIENT, "10.0.0.7");
    assert_int_equal(logged.took, 3000000);
    assert_int_equal(logged.sent, 77);
    use("%ts %transport::>connection_id %trms %un"); /* a code that is passed over, and begins as another one */
    assert_true(split("1795842075 master53 40ms me"));
    assert_int_equal(logged.took, 40000000);
    has(SQT_LOG_USER, "me");
}

static void
times_of_all_kinds(void **state)
{
    (void)state;
    use("%tS %tr %dt %<pt %<tt %adapt::sum_trs %.3tr");
    assert_true(split("1795842075.250 30 1 2 3 10,0,-,7 30.125"));
    assert_int_equal(logged.begin, INT64_C(1795842075250000000));
    assert_int_equal(logged.at, INT64_C(1795842075280000000));
    assert_int_equal(logged.dns, 1000000);
    assert_int_equal(logged.peer, 2000000);
    assert_int_equal(logged.server_side, 3000000);
    assert_int_equal(logged.adapting, 17000000);
    assert_true(split("1795842075.250 30 - - - - -"));
    assert_int_equal(logged.adapting, SQT_LOG_UNKNOWN);
    use("%ts.%03tu %.3tr");
    assert_true(split("1795842075.250 0.125"));
    assert_int_equal(logged.took, 125000);
    assert_true(split("1795842075.250 -3")); /* a clock stepped back */
    assert_int_equal(logged.took, SQT_LOG_UNKNOWN);
    use("%ts %tr");
    assert_false(split("1795842075 99999999999999999"));
}

static void
kid_and_transaction(void **state)
{
    (void)state;
    use("${process_number} %master_xaction %ts.%03tu %tr");
    assert_true(split("12 340 1795842075.250 1"));
    assert_int_equal(logged.kid, 12);
    assert_int_equal(logged.xid, 340);
    assert_false(split("x 340 1795842075.250 1"));
}

/* ---- dates ---- */

static void
dates(void **state)
{
    int64_t seconds = 0;
    (void)state;
    const char *const usual = "29/Feb/2024:23:59:59 -0130]";
    assert_int_equal(sqt_log_date(usual, strlen(usual), SQT_LOG_DATE_USUAL, 0, &seconds), strlen(usual) - 1);
    assert_int_equal(seconds, 1709256599);
    assert_int_equal(sqt_log_date("2026-11-28T05:01:15", 19, "%Y-%m-%dT%H:%M:%S", 1, &seconds), 19);
    assert_int_equal(seconds, 1795842075);
    assert_int_equal(sqt_log_date("1795842075", 10, "%s", 0, &seconds), 10);
    assert_int_equal(seconds, 1795842075);
    assert_int_equal(sqt_log_date("1970-01-01 00:00:00Z", 20, "%F %T%z", 0, &seconds), 20);
    assert_int_equal(seconds, 0);
    assert_int_equal(sqt_log_date(usual, 10, SQT_LOG_DATE_USUAL, 0, &seconds), 0);
    assert_int_equal(sqt_log_date("31/Foo/2024:23:59:59 +0000", 26, SQT_LOG_DATE_USUAL, 0, &seconds), 0);
    assert_int_equal(sqt_log_date("00/Jan/2024:23:59:59 +0000", 26, SQT_LOG_DATE_USUAL, 0, &seconds), 0);
    assert_int_equal(sqt_log_date("Sat", 3, "%a", 0, &seconds), 0);
    assert_int_equal(sqt_log_date("5%", 2, "%", 0, &seconds), 0);
}

/* ---- hosts ---- */

static void
host_of(const char *url, const char *host)
{
    const struct sqt_log_slice s = sqt_log_host((struct sqt_log_slice){url, strlen(url)});
    assert_int_equal(s.length, strlen(host));
    assert_memory_equal(s.at, host, s.length);
}

static void
hosts(void **state)
{
    (void)state;
    host_of("http://a.b/c", "a.b");
    host_of("https://a.b:8443?x", "a.b");
    host_of("a.b:443", "a.b");
    host_of("http://me:pw@a.b:1/", "a.b");
    host_of("http://[::1]:80/", "[::1]");
    host_of("ftp://a", "a");
    host_of("/local/path", "");
    host_of("http://", "");
    host_of("", "");
    host_of(":", "");
    host_of("a.b", "");
    host_of("error:transaction-end-before-headers", "");
}

/* ---- names ---- */

static void
names_are_bounded(void **state)
{
    static struct sqt_log_names names;
    char name[32];
    (void)state;
    assert_int_equal(sqt_log_name(&names, SQT_DEF_METHOD, "GET", 3), 0);
    assert_int_equal(sqt_log_name(&names, SQT_DEF_METHOD, "PUT", 3), 1);
    assert_int_equal(sqt_log_name(&names, SQT_DEF_METHOD, "GET", 3), 0);
    assert_int_equal(sqt_log_name(&names, SQT_DEF_METHOD, "", 0), UINT32_MAX);
    for (unsigned i = 0; i < 200; ++i) {
        snprintf(name, sizeof(name), "M%u", i);
        sqt_log_name(&names, SQT_DEF_METHOD, name, strlen(name));
    }
    const uint32_t other = sqt_log_name(&names, SQT_DEF_METHOD, "M199", 4);
    assert_string_equal(sqt_dictionary_text(&names.dictionary, SQT_DEF_METHOD, other), "OTHER");
    assert_string_equal(sqt_dictionary_text(&names.dictionary, SQT_DEF_METHOD, 1), "PUT");
    sqt_log_names_free(&names);
}

static int
forget(void **state)
{
    (void)state;
    sqt_log_format_free(&format);
    return 0;
}

/* ---- a log that Squid still writes ---- */

static char followed[] = "/tmp/sqt-read-log-XXXXXX";

static void
append(const char *text)
{
    FILE *const to = fopen(followed, "a");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

static void
says_nothing(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity;
    print_error("%s\n", text);
}

/* The users of the lines that are there now, one after the other. */
static const char *
come(struct sqt_log *log)
{
    static char users[256];
    struct sqt_logged *requests;
    size_t count;
    *users = '\0';
    while ((count = sqt_log_next(log, &requests)) != 0)
        for (size_t i = 0; i < count; ++i)
            strcat(users, requests[i].user);
    return users;
}

static void
wait_until_it_looks_again(void)
{
    usleep(600000);
}

static void
a_log_that_grows(void **state)
{
    const char *const names[] = {followed};
    const struct sqt_log_request request = {.files = names, .count = 1, .format = "%ts %tr %un", .follow = 1};
    struct sqt_diagnostics diagnostics = {.function = says_nothing};
    char other[sizeof(followed) + 2];
    (void)state;
    close(mkstemp(followed));
    append("1795842075 1 a\n1795842076 1 b\n");
    struct sqt_log *const log = sqt_log_open(&request, &diagnostics);
    assert_non_null(log);
    assert_string_equal(come(log), "ab");
    assert_string_equal(come(log), "");
    append("1795842077 1 c\n1795842078 1 d"); /* the last line is not whole yet */
    assert_string_equal(come(log), "c");
    append("e\n");
    assert_string_equal(come(log), "de");
    /* It is rotated: what comes to the old file still counts until the new one is seen. */
    snprintf(other, sizeof(other), "%s.0", followed);
    assert_int_equal(rename(followed, other), 0);
    assert_string_equal(come(log), "");
    append("1795842079 1 f\n");
    wait_until_it_looks_again();
    assert_string_equal(come(log), "f");
    /* It is cut off where it stands. */
    append("1795842080 1 g\n1795842080 1 h\n");
    assert_string_equal(come(log), "gh");
    assert_int_equal(truncate(followed, 0), 0);
    append("1795842081 1 i\n");
    wait_until_it_looks_again();
    assert_string_equal(come(log), "i");
    sqt_log_close(log);
    unlink(followed);
    unlink(other);
}

/* Of a long log only the end is read, from the begin of a line. */
static void
the_end_of_a_long_log(void **state)
{
    const char *const names[] = {followed};
    const struct sqt_log_request request = {.files = names, .count = 1, .format = "%ts %tr %un", .follow = 1};
    struct sqt_diagnostics diagnostics = {.function = says_nothing};
    struct sqt_logged *requests;
    size_t count, lines = 0;
    (void)state;
    strcpy(followed + strlen(followed) - 6, "XXXXXX");
    close(mkstemp(followed));
    FILE *const to = fopen(followed, "w");
    for (unsigned i = 0; i < 1000000; ++i) /* 20 MB */
        fputs("1795842075 10 abcde\n", to);
    fclose(to);
    struct sqt_log *const log = sqt_log_open(&request, &diagnostics);
    assert_non_null(log);
    for (; (count = sqt_log_next(log, &requests)) != 0; lines += count)
        for (size_t i = 0; i < count; ++i)
            assert_string_equal(requests[i].user, "abcde");
    assert_int_equal(lines, (16 << 20) / 20);
    assert_int_equal(sqt_log_account(log)->not_understood, 0);
    sqt_log_close(log);
    unlink(followed);
}

static void
counts_skipped(void *context, enum sqt_severity severity, const char *text)
{
    assert_int_equal(severity, SQT_WARNING);
    *(unsigned *)context += strstr(text, " bytes were skipped: no line was found before them") != NULL;
}

/* A hole in a log that is followed, or lines that are none, do not stop whoever shows it. */
static void
a_hole_in_a_log_that_grows(void **state)
{
    const char *const names[] = {followed};
    const struct sqt_log_request request = {.files = names, .count = 1, .format = "%ts %tr %un", .follow = 1};
    unsigned skipped = 0;
    struct sqt_diagnostics diagnostics = {.function = counts_skipped, .context = &skipped};
    char found[16] = "";
    (void)state;
    strcpy(followed + strlen(followed) - 6, "XXXXXX");
    close(mkstemp(followed));
    append("1795842075 1 a\n");
    struct sqt_log *const log = sqt_log_open(&request, &diagnostics);
    assert_non_null(log);
    assert_string_equal(come(log), "a");
    assert_int_equal(truncate(followed, (off_t)1 << 42), 0);
    append("\n1795842076 1 b\n");
    for (unsigned i = 0; i < 4; ++i)
        strcat(found, come(log));
    assert_string_equal(found, "b");
    assert_int_equal(skipped, 1);
    FILE *const to = fopen(followed, "a");
    for (unsigned i = 0; i < 9000000; ++i)
        fputs("x\n", to);
    fclose(to);
    append("1795842077 1 c\n");
    assert_string_equal(come(log), ""); /* not before the next time: 16 MiB of them were read */
    assert_string_equal(come(log), "c");
    sqt_log_close(log);
    unlink(followed);
}

/* A log may name any number of kids, as where its last field is taken for one. */
static void
kids_are_bounded(void **state)
{
    const char *const names[] = {followed};
    const struct sqt_log_request request = {.files = names, .count = 1, .format = "%ts %tr %un ${process_number}"};
    struct sqt_run run;
    size_t lines = 0, unknown = 0;
    (void)state;
    strcpy(followed + strlen(followed) - 6, "XXXXXX");
    close(mkstemp(followed));
    FILE *const to = fopen(followed, "w");
    for (unsigned i = 0; i < 3000; ++i)
        fprintf(to, "%u 10 abcde %u\n", 1795842075 + i, i % 1000);
    fclose(to);
    struct sqt_stream *const stream = sqt_stream_open_log(&request, says_nothing, NULL);
    assert_non_null(stream);
    for (; sqt_stream_next(stream, &run) == 1; lines += run.logged_count)
        for (size_t i = 0; i < run.logged_count; ++i)
            unknown += run.logged[i].origin->identity.kid == UINT32_MAX;
    assert_int_equal(lines, 3000);
    assert_int_equal(unknown, 3 * (1000 - 256));
    assert_int_equal(sqt_stream_origins(stream), 257);
    sqt_stream_close(stream);
    unlink(followed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_that_cannot_be),
        cmocka_unit_test(each_named_format_is_one),
        cmocka_unit_test(the_native_format),
        cmocka_unit_test(lines_that_are_not_of_it),
        cmocka_unit_test(kid_and_transaction),
        cmocka_unit_test(quotes_and_what_stands_between),
        cmocka_unit_test(times_of_all_kinds),
        cmocka_unit_test(dates),
        cmocka_unit_test(hosts),
        cmocka_unit_test(names_are_bounded),
        cmocka_unit_test(a_log_that_grows),
        cmocka_unit_test(the_end_of_a_long_log),
        cmocka_unit_test(a_hole_in_a_log_that_grows),
        cmocka_unit_test(kids_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
