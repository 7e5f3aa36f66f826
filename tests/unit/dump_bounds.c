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

static void
windows_become_wider(void **state)
{
    struct sqt_when when = {.most = 0}, large = {.most = 4 * SQT_WHEN_MOST};
    size_t windows;
    (void)state;
    for (int64_t i = 0; i < (int64_t)(16 * SQT_WHEN_MOST); ++i) {
        sqt_when_add(&when, 1, i * SQT_WHEN_WIDTH, 1, 1);
        sqt_when_add(&large, 1, i * SQT_WHEN_WIDTH, 1, 1);
    }
    assert_true(when.used <= SQT_WHEN_MOST && large.used > SQT_WHEN_MOST && large.used <= 4 * SQT_WHEN_MOST);
    assert_true(when.size * sizeof(*when.sums) <= (size_t)4 << 20);
    assert_true(when.width > large.width);
    sqt_when_sort(&when);
    const struct sqt_when_sum *const sums = sqt_when_of(&when, 1, &windows);
    uint64_t count = 0;
    for (size_t i = 0; i < windows; ++i)
        count += sums[i].count;
    assert_int_equal(count, 16 * SQT_WHEN_MOST); /* none is lost */
    sqt_when_free(&when);
    sqt_when_free(&large);
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
        CASE(windows_become_wider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
