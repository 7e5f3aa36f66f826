/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_bounds.c - what the trace-event JSON holds back is bounded, and what comes out at a bound is sound and counted.  So are
 * the windows that findings count by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figure/finding/when.h"
#include "sink/chrome/counters.h"
#include "sink/chrome/links.h"
#include "sink/chrome/tracks.h"

/* Writes events into a file. */
struct fixture {
    FILE *file;
    struct sqt_out out;
    struct sqt_events events;
    struct sqt_tracks tracks;
    struct sqt_origin origin;
};

static int
bounds_start(void **state)
{
    struct fixture *const f = *state = test_calloc(1, sizeof(*f));
    f->file = tmpfile();
    sqt_out_init(&f->out, fileno(f->file));
    f->events.out = &f->out;
    f->tracks.events = &f->events;
    f->tracks.left = (size_t)1 << 20;
    return 0;
}

static int
bounds_end(void **state)
{
    struct fixture *const f = *state;
    sqt_tracks_free(&f->tracks);
    sqt_out_free(&f->out);
    fclose(f->file);
    test_free(f);
    return 0;
}

/* ---- threads of tracks ---- */

static unsigned
thread_at(struct fixture *f, unsigned track, int64_t from, int64_t until)
{
    return sqt_track_place(&f->tracks, &f->origin, track, from, until).thread;
}

static void
a_thread_is_used_again(void **state)
{
    struct fixture *const f = *state;
    const unsigned first = thread_at(f, SQT_TRACK_REQUESTS, 0, 10), second = thread_at(f, SQT_TRACK_REQUESTS, 5, 12);
    assert_int_equal(second, first + 1);
    assert_int_equal(thread_at(f, SQT_TRACK_REQUESTS, 12, 15), second); /* it ended last */
    assert_int_equal(thread_at(f, SQT_TRACK_REQUESTS, 10, 20), first);
    assert_int_equal(thread_at(f, SQT_TRACK_REQUESTS, 14, 21), first + 2);
    assert_int_equal(thread_at(f, SQT_TRACK_REQUESTS, 22, 23), first + 2);
    assert_int_not_equal(thread_at(f, SQT_TRACK_LOSSES, 0, 10), first);
}

/* In any order: slices of a thread never overlap. */
static void
slices_of_a_thread_never_overlap(void **state)
{
    static struct {
        unsigned thread;
        int64_t from, until;
    } all[2000];
    struct fixture *const f = *state;
    uint32_t random = 1;
    for (unsigned i = 0; i < 2000; ++i) {
        random = random * 1103515245 + 12345;
        all[i].from = random >> 8 & 0x3ff;
        all[i].until = all[i].from + (random >> 20 & 0x1f);
        all[i].thread = thread_at(f, SQT_TRACK_REQUESTS, all[i].from, all[i].until);
        for (unsigned k = 0; all[i].thread && k < i; ++k)
            if (all[k].thread == all[i].thread)
                assert_true(all[k].until <= all[i].from || all[i].until <= all[k].from);
    }
    assert_int_equal(f->tracks.beyond, 0);
}

static void
threads_of_a_track_are_bounded(void **state)
{
    struct fixture *const f = *state;
    f->tracks.left = (size_t)16 << 20;
    for (unsigned i = 0; i < SQT_LANES; ++i)
        assert_int_not_equal(thread_at(f, SQT_TRACK_REQUESTS, 0, 10 + i), 0);
    assert_int_equal(thread_at(f, SQT_TRACK_REQUESTS, 5, 20), 0);
    assert_int_equal(f->tracks.beyond, 1);
    assert_int_not_equal(thread_at(f, SQT_TRACK_REQUESTS, 10, 20), 0);
    f->tracks.left = 0; /* and so are those of all */
    assert_int_equal(thread_at(f, SQT_TRACK_LOSSES, 0, 10), 0);
    assert_int_equal(sqt_track_first(&f->tracks, &f->origin, SQT_TRACK_LOSSES).thread, 0);
}

/* ---- counters ---- */

/* Reads the values of the counter that were printed; *last is the last one. */
static unsigned
values_printed(struct fixture *f, long *last)
{
    char line[1000];
    unsigned count = 0;
    double before = -1;
    sqt_out_flush(&f->out);
    rewind(f->file);
    while (fgets(line, sizeof(line), f->file)) {
        const char *const value = strstr(line, "{\"requests\":"), *const ts = strstr(line, "\"ts\":");
        if (!strstr(line, "\"ph\":\"C\"") || !value || !ts)
            continue;
        *last = strtol(value + 12, NULL, 10);
        assert_true(*last >= 0);
        assert_true(strtod(ts + 5, NULL) > before); /* in order, and once for a time */
        before = strtod(ts + 5, NULL);
        ++count;
    }
    return count;
}

static void
counters_are_bounded_and_never_below_zero(void **state)
{
    struct fixture *const f = *state;
    struct sqt_counters counters = {.tracks = &f->tracks, .most = 64, .settled = INT64_MIN};
    long last = -1;
    for (int64_t i = 0; i < 1000; ++i) {
        sqt_counters_add(&counters, &f->origin, SQT_TRACK_REQUESTS, 0, 10 * i, 10 * i + 7);
        assert_true(counters.count <= 64 && counters.room <= 256);
    }
    assert_int_equal(counters.late, 0);
    sqt_counters_add(&counters, &f->origin, SQT_TRACK_REQUESTS, 0, 1, 9999); /* a long one */
    sqt_counters_add(&counters, &f->origin, SQT_TRACK_REQUESTS, 0, 1, 2);    /* all of it is out already */
    assert_int_equal(counters.late, 2);
    sqt_counters_finish(&counters);
    assert_in_range(values_printed(f, &last), 2000, 2002);
    assert_int_equal(last, 0);
    sqt_counters_free(&counters);
}

/* ---- arrows ---- */

static void
link_block(struct sqt_links *links, uint64_t xid, int64_t at)
{
    const struct sqt_linked_block block = {.place = {1, 20000}, .asked = at, .from = at, .until = at + 1};
    sqt_links_block(links, xid, &block);
}

static void
link_request(struct sqt_links *links, uint64_t xid, int64_t from, int64_t until)
{
    const struct sqt_linked_slice request = {.place = {1, 10000}, .from = from, .until = until};
    sqt_links_request(links, xid, &request);
}

static void
blocks_and_requests_wait_for_each_other(void **state)
{
    struct fixture *const f = *state;
    struct sqt_links links = {.events = &f->events};
    link_block(&links, 1, 15);
    assert_int_equal(f->events.flows, 0);
    link_request(&links, 1, 10, 20);
    assert_int_equal(f->events.flows, 1);
    link_block(&links, 1, 25); /* a write goes on behind the end of its request */
    assert_int_equal(f->events.flows, 2);
    link_block(&links, 1, 5); /* before it: of another request with the same number */
    link_block(&links, 2, 15);
    assert_int_equal(f->events.flows, 2);
    link_request(&links, 1, 0, 30);
    assert_int_equal(f->events.flows, 3);
    sqt_links_finish(&links);
    assert_int_equal(links.forgotten, 0); /* no bound was met */
    sqt_links_free(&links);
}

static void
what_waits_for_arrows_is_bounded(void **state)
{
    struct fixture *const f = *state;
    struct sqt_links links = {.events = &f->events};
    for (uint64_t i = 0; i <= SQT_LINK_BLOCKS; ++i)
        link_block(&links, 1 + i / 2, 15);
    assert_int_equal(links.forgotten, 2);
    link_request(&links, 1, 10, 20); /* whose blocks are forgotten */
    assert_int_equal(f->events.flows, 0);
    link_request(&links, 2, 10, 20);
    assert_int_equal(f->events.flows, 2);
    for (uint64_t i = 0; i < 3 * SQT_LINKED; ++i)
        link_request(&links, 1000000 + i, 10, 20);
    assert_int_equal(links.forgotten, SQT_LINK_BLOCKS + 1 - 2);
    assert_true(links.map.used <= SQT_LINKED);
    for (uint64_t i = 0; i <= SQT_LINK_BLOCKS; ++i) /* all of one request, which has to go, too */
        link_block(&links, 5, 15);
    sqt_links_finish(&links);
    assert_int_equal(links.forgotten, 2 * SQT_LINK_BLOCKS);
    sqt_links_free(&links);
}

/* ---- windows ---- */

/* So many series of so many windows, of which a half has something. */
#define SERIES 5u
#define WINDOWS 24000u

static struct sqt_when_sum expected[SERIES][WINDOWS];

/* Adds at random, out of order, as requests that end do; and to `expected`. */
static void
windows_add(struct sqt_when *when, unsigned count)
{
    memset(expected, 0, sizeof(expected));
    for (unsigned i = 0; i < count; ++i) {
        const unsigned series = (unsigned)rand() % SERIES, late = (unsigned)rand() % 1000;
        const uint64_t at = (uint64_t)WINDOWS * i / count, window = (at > late ? at - late : 0) & ~UINT64_C(1);
        const uint64_t ns = (uint64_t)rand() << (rand() % 32);
        sqt_when_add(when, series + 1, (int64_t)window * SQT_WHEN_WIDTH + rand() % 1000, ns, series);
        expected[series][window].ns += ns;
        expected[series][window].count += series;
        expected[series][window].series = series + 1;
    }
}

/* Compares each series with `expected`, in windows of that width.  Returns how many sums there are. */
static size_t
windows_compare(struct sqt_when *when)
{
    const unsigned wider = (unsigned)(when->width / SQT_WHEN_WIDTH);
    size_t all = 0;
    sqt_when_sort(when);
    for (unsigned series = 0; series < SERIES; ++series) {
        size_t windows, at = 0;
        const struct sqt_when_sum *const sums = sqt_when_of(when, series + 1, &windows);
        for (unsigned first = 0; first < WINDOWS; first += wider) {
            struct sqt_when_sum sum = {0, 0, 0, 0};
            for (unsigned i = first; i < first + wider && i < WINDOWS; ++i) {
                sum.series |= expected[series][i].series;
                sum.ns += expected[series][i].ns;
                sum.count += expected[series][i].count;
            }
            if (!sum.series)
                continue;
            assert_true(at < windows && sums[at].series == series + 1 && sums[at].window == first / wider);
            assert_true(sums[at].ns == sum.ns && sums[at].count == sum.count);
            ++at;
        }
        assert_int_equal(at, windows);
        all += windows;
    }
    return all;
}

static void
windows_are_exact(void **state)
{
    struct sqt_when when = {.most = 0};
    (void)state;
    windows_add(&when, 200000);
    assert_true(windows_compare(&when) > SERIES * WINDOWS / 2 - 5000);
    assert_int_equal(when.width, SQT_WHEN_WIDTH); /* there was room */
    windows_compare(&when);                       /* in order already */
    sqt_when_free(&when);
}

static void
windows_become_wider(void **state)
{
    struct sqt_when when = {.most = 4096};
    (void)state;
    windows_add(&when, 200000);
    const size_t all = windows_compare(&when);
    assert_true(all <= 4096 && all > 2048); /* no wider than they must be, and nothing is lost */
    sqt_when_free(&when);
}

/* Months: memory stays what when.h says. */
static void
windows_have_a_bound(void **state)
{
    struct sqt_when when = {.most = 0};
    size_t most = 0;
    (void)state;
    for (int64_t i = 0; i < (int64_t)(16 * SQT_WHEN_MOST); ++i) {
        sqt_when_add(&when, 1 + i % 2, i * SQT_WHEN_WIDTH, 1000000000, 100);
        most = when.packed_bytes > most ? when.packed_bytes : most;
    }
    assert_true(most > SQT_WHEN_MOST && most <= 9 * (SQT_WHEN_MOST + 2048));
    assert_true(when.packed_count <= SQT_WHEN_MOST && when.packed_count > SQT_WHEN_MOST / 3);
    sqt_when_free(&when);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, bounds_start, bounds_end)
    const struct CMUnitTest tests[] = {
        CASE(a_thread_is_used_again),
        CASE(slices_of_a_thread_never_overlap),
        CASE(threads_of_a_track_are_bounded),
        CASE(counters_are_bounded_and_never_below_zero),
        CASE(blocks_and_requests_wait_for_each_other),
        CASE(what_waits_for_arrows_is_bounded),
        CASE(windows_are_exact),
        CASE(windows_become_wider),
        CASE(windows_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
