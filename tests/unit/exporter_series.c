/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exporter_series.c - label sets of sqtrace-exporter: bounds, others, who takes whose place, sampled counters, escaping.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/exporter/known.h"
#include "../../tools/exporter/series.h"
#include "../../tools/top/top.h"

static struct export_series *
fresh(unsigned top, unsigned series)
{
    const struct export_rules rules = {.bounds = {1000000, 1000000000}, .bound_count = 2, .top = top, .series = series};
    return export_series_new(&rules);
}

static struct export_child *
server(struct export_series *s, const char *name)
{
    struct export_child *const child = export_series_get(s, EXPORT_FAMILY_server, &name);
    export_series_add(child, EXPORT_server_requests, 1);
    return child;
}

/* What a scrape says, to be freed. */
static char *
printed(const struct export_series *s, int open)
{
    char *text;
    size_t size;
    FILE *const to = open_memstream(&text, &size);
    export_print(s, open, to);
    fclose(to);
    return text;
}

static void
says(const struct export_series *s, int open, const char *line)
{
    char *const text = printed(s, open), whole[512];
    snprintf(whole, sizeof(whole), "\n%s\n", line);
    if (!strstr(text, whole))
        fail_msg("'%s' is not in\n%s", line, text);
    free(text);
}

static void
test_same(void **state)
{
    (void)state;
    struct export_series *const s = fresh(3, 2000);
    struct export_child *const a = server(s, "a");
    assert_ptr_equal(server(s, "a"), a);
    assert_ptr_not_equal(server(s, "b"), a);
    /* The same labels in another family are another label set. */
    const char *const kid = "1";
    assert_ptr_not_equal(export_series_get(s, EXPORT_FAMILY_loop, &kid),
                         export_series_get(s, EXPORT_FAMILY_tracer, &kid));
    assert_int_equal(export_series_others(s), 0);
    says(s, 0, "sqtrace_server_requests_total{server=\"a\"} 2");
    export_series_free(s);
}

static void
test_other(void **state)
{
    (void)state;
    struct export_series *const s = fresh(2, 2000);
    server(s, "a");
    server(s, "b");
    struct export_child *const other = server(s, "c");
    assert_true(export_series_is_other(s, other));
    assert_ptr_equal(server(s, "d"), other);
    assert_ptr_equal(server(s, EXPORT_OTHER), other); /* a trace says so, too */
    assert_int_equal(export_series_others(s), 3);
    says(s, 0, "sqtrace_server_requests_total{server=\"other\"} 3");
    says(s, 1, "# TYPE sqtrace_server_requests counter");
    export_series_free(s);
}

/* One that comes late, and often, takes the place of the rarest; its past stays with "other". */
static void
test_replaced(void **state)
{
    (void)state;
    struct export_series *const s = fresh(2, 2000);
    for (unsigned i = 0; i < 100; ++i)
        server(s, "often");
    server(s, "rare");
    unsigned as_other = 0;
    for (unsigned i = 0; i < 50; ++i)
        as_other += export_series_is_other(s, server(s, "late"));
    assert_in_range(as_other, 10, 30);
    assert_false(export_series_is_other(s, server(s, "often")));
    assert_true(export_series_is_other(s, server(s, "rare")));
    char *const text = printed(s, 0);
    assert_null(strstr(text, "\"rare\""));
    free(text);
    says(s, 0, "sqtrace_server_requests_total{server=\"often\"} 101");
    /* After long, the old counts weigh less. */
    for (unsigned i = 0; i < 10; ++i)
        export_series_age(s);
    for (unsigned i = 0; i < 60; ++i)
        server(s, "new");
    assert_false(export_series_is_other(s, server(s, "new")));
    export_series_free(s);
}

/* What is in flight is added up for each scrape: where there is no room, the sum stays right. */
static void
test_flights(void **state)
{
    static const char *const stages[] = {"dns", "connect", "server_wait", "helper"};
    static const char *const first[] = {"1", "dns"};
    (void)state;
    struct export_series *const s = fresh(2, 300);
    export_series_get(s, EXPORT_FAMILY_flight, first);
    for (unsigned i = 0; i < 400; ++i) { /* takes all room */
        char kid[16];
        snprintf(kid, sizeof(kid), "%u", i);
        const char *const labels[] = {kid, "complete"};
        export_series_get(s, EXPORT_FAMILY_outcome, labels);
    }
    for (unsigned i = 0; i < 400; ++i) {
        const char *const labels[] = {"1", stages[i < 20 ? 0 : 1 + i % 3]};
        struct export_child *const child = export_series_get(s, EXPORT_FAMILY_flight, labels);
        export_series_raise(child, EXPORT_flight_requests, 1);
        export_series_most(child, EXPORT_flight_oldest, 1000000000 * (int64_t)(i + 1));
    }
    says(s, 0, "sqtrace_requests_in_flight{kid=\"1\",stage=\"dns\"} 20");
    says(s, 0, "sqtrace_requests_in_flight{kid=\"other\",stage=\"other\"} 380");
    says(s, 0, "sqtrace_oldest_request_seconds{kid=\"other\",stage=\"other\"} 400.000000000");
    export_series_free(s);
}

/* The page: a new name takes the place of one that was not used for 10 s, whose uses count as those of others. */
static void
test_names(void **state)
{
    static struct top top;
    const int64_t second = 1000000000;
    char name[32];
    (void)state;
    top.waited.size = sizeof(struct top_waited);
    top.waited.most = TOP_WAITED_MOST;
    for (unsigned i = 0; i < 1000; ++i) {
        snprintf(name, sizeof(name), "s%u", i);
        top_waited_use(&top, "server", name, 100 * second + i * second / 10, 1000, 0);
    }
    assert_true(sqt_names_has(&top.waited, "server s999"));
    assert_true(sqt_names_has(&top.waited, "server s900")); /* used of late */
    assert_false(sqt_names_has(&top.waited, "server s0"));
    assert_int_equal(top.waited.count, TOP_WAITED_MOST);
    uint64_t uses = 0;
    for (const struct sqt_name_entry *e = top.waited.first; e; e = e->next)
        for (unsigned i = 0; i < WINDOW_SECONDS; ++i)
            uses += ((const struct top_waited *)e)->seconds[i].count;
    assert_int_equal(uses, 1000);
    for (unsigned i = 0; i < 1000; ++i) { /* all at once: no place becomes free */
        snprintf(name, sizeof(name), "t%u", i);
        top_waited_use(&top, "server", name, 300 * second, 1000, 0);
    }
    assert_true(sqt_names_has(&top.waited, "server t0"));
    assert_false(sqt_names_has(&top.waited, "server t999"));
    sqt_names_free(&top.waited);
}

/* Label sets that come once each: Prometheus would keep them all. */
static void
test_known(void **state)
{
    (void)state;
    const int64_t hour = INT64_C(3600) * 1000000000;
    static struct export_known known;
    unsigned count = 0;
    for (unsigned i = 0; i < 5000; ++i) {
        char name[16];
        const char *const labels[] = {"slow_server", name, "wait"};
        snprintf(name, sizeof(name), "s%u", i);
        count += (unsigned)export_is_known(&known, labels, 3, 1 + i * (hour / 5000));
    }
    assert_int_equal(count, EXPORT_KNOWN);
    const char *const first[] = {"slow_server", "s0", "wait"}, *const other[] = {"hanging", "s0", "wait"};
    assert_true(export_is_known(&known, first, 3, 20 * hour));
    assert_false(export_is_known(&known, other, 3, 20 * hour));
    assert_true(export_is_known(&known, other, 3, 26 * hour)); /* in the place of one of a day before */
    assert_true(export_is_known(&known, first, 3, 26 * hour));
}

/* Whatever comes, no more series than asked for are told. */
static void
test_bound(void **state)
{
    (void)state;
    struct export_series *const s = fresh(1000, 300);
    for (unsigned i = 0; i < 5000; ++i) {
        char name[16], kid[16];
        snprintf(name, sizeof(name), "s%u", i);
        snprintf(kid, sizeof(kid), "%u", i);
        server(s, name);
        const char *const labels[] = {kid, "miss"};
        struct export_child *const child = export_series_get(s, EXPORT_FAMILY_request, labels);
        export_series_observe(s, child, i, NULL);
    }
    assert_in_range(export_series_count(s), 100, 300);
    unsigned lines = 0;
    char *const text = printed(s, 0);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        lines += *line != '#';
    free(text);
    assert_int_equal(lines, export_series_count(s));
    export_series_free(s);
}

static void
test_grow(void **state)
{
    (void)state;
    struct export_series *const s = fresh(2, 2000);
    const struct sqt_origin *const one = (const void *)"1", *const two = (const void *)"2";
    const char *const kid = "1";
    struct export_child *const child = export_series_get(s, EXPORT_FAMILY_process, &kid);
    const enum export_metric metric = EXPORT_process_cpu_user;
    export_series_grow(child, metric, one, 5000000);
    export_series_grow(child, metric, one, 5250000);
    export_series_grow(child, metric, two, 100); /* Squid restarted */
    export_series_grow(child, metric, two, 500100);
    export_series_set(child, EXPORT_process_descriptors, 7);
    says(s, 0, "sqtrace_squid_cpu_user_seconds_total{kid=\"1\"} 0.750000000");
    says(s, 0, "sqtrace_squid_open_fds{kid=\"1\"} 7");
    export_series_end(s, two);
    char *const text = printed(s, 0);
    assert_null(strstr(text, "sqtrace_squid_open_fds"));
    free(text);
    says(s, 0, "sqtrace_squid_cpu_user_seconds_total{kid=\"1\"} 0.750000000");
    export_series_free(s);
}

static void
test_printed(void **state)
{
    (void)state;
    struct export_series *const s = fresh(2, 2000);
    const char *const labels[] = {"1", "a\"b\\c\nd"};
    struct export_child *const child = export_series_get(s, EXPORT_FAMILY_request, labels);
    const struct export_exemplar exemplar = {
        .ring = {0x0a}, .kid = 1, .xid = 7, .value = 1000001, .wall_ns = INT64_C(1795334198000000001)};
    export_series_observe(s, child, 1000000, NULL);
    export_series_observe(s, child, 1000001, &exemplar);
    export_series_observe(s, child, INT64_MAX, NULL);
    export_series_observe(s, child, 1, NULL); /* the sum is at its end */
#define WHO "sqtrace_request_duration_seconds_"
#define LABELS "kid=\"1\",class=\"a\\\"b\\\\c\\nd\""
    says(s, 0, WHO "bucket{" LABELS ",le=\"0.001\"} 2");
    says(s, 0, WHO "bucket{" LABELS ",le=\"1.0\"} 3");
    says(s, 0, WHO "bucket{" LABELS ",le=\"+Inf\"} 4");
    says(s, 0, WHO "sum{" LABELS "} 9223372036.854775807");
    says(s, 1,
         WHO "bucket{" LABELS ",le=\"1.0\"} 3 # {ring=\"0a000000000000000000000000000000\",kid=\"1\","
             "transaction=\"7\"} 0.001000001 1795334198.000000001");
    export_series_free(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),    cmocka_unit_test(test_other), cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_flights), cmocka_unit_test(test_names), cmocka_unit_test(test_known),
        cmocka_unit_test(test_bound),   cmocka_unit_test(test_grow),  cmocka_unit_test(test_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
