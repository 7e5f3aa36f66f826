/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * live_findings.c - findings of a trace that goes on: of a window, from a copy of the process, and when they begin and end.
 */
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model_script.h"

#include "live/track.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
enum { PARENT = 1, ORIGIN_1 };

static struct sqt_live *live;
static uint64_t number;
static uint64_t *told_requests; /* in memory that a copy of the process shares */

static int64_t
alive(const struct sqt_origin *origin)
{
    (void)origin;
    return 0;
}

static void
count_request(void *context, const struct sqt_xact *xact)
{
    (void)context, (void)xact;
    ++*told_requests;
}

static int
live_begin(void **state)
{
    const struct sqt_consumer own = {.request = count_request};
    script_begin(state);
    sqt_model_free(script.model);
    told_requests = mmap(NULL, sizeof(*told_requests), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told_requests != MAP_FAILED);
    number = 0;
    live = sqt_live_new(&own, NULL);
    script.model = sqt_model_new(sqt_live_consumer(live));
    sqt_live_model(live, script.model);
    return 0;
}

static int
live_end(void **state)
{
    sqt_live_free(live);
    munmap(told_requests, sizeof(*told_requests));
    return script_end(state);
}

/* The records so far, as a run. */
static void
run(void)
{
    const struct sqt_run these = {.origin = &script.origins[0],
                                  .records = script.records,
                                  .count = script.count,
                                  .next = script.count,
                                  .line = {0, 0, 1.0}};
    sqt_live_run(live, &these);
    play();
}

static uint64_t
asked(int64_t at, uint32_t server)
{
    const uint64_t xact = ++number;
    begin_xact(at, xact, 7);
    PUT(at, CONNECT_REUSED, xact, 50, 1);
    PART(PART_SERVER, 0, 0, server);
    PUT(at, DISPATCH, xact, 50, 1);
    PUT(at, REQUEST_SENT, xact, 50, 0);
    return xact;
}

static void
answer(int64_t at, uint64_t xact)
{
    PUT(at, SERVER_READ, xact, 500, 0);
    PUT(at, SERVER_HEADER, xact, 200, 200);
    PUT(at, SERVER_DONE, xact, 50, 0);
    end_xact(at + MS, xact, MISS, 0);
}

/* Ten requests a second, or as many as come one after the other; each takes so long. */
static void
served(int64_t from, int64_t until, uint32_t server, int64_t wait)
{
    for (int64_t at = from; at<until; at += wait> 90 * MS ? wait + 10 * MS : 100 * MS) {
        answer(at + wait, asked(at, server));
        run();
    }
}

static const struct sqt_live_finding *
found_at(int64_t now, unsigned *count)
{
    const struct sqt_now then = {now, alive, NULL};
    assert_true(sqt_live_ask(live, &then, 0));
    assert_int_equal(sqt_live_take(live, 10000), 1);
    return sqt_live_found(live, count);
}

static void
what_is_over_leaves_the_window(void **state)
{
    (void)state;
    unsigned count;
    served(0, 10 * SECOND, PARENT, 400 * MS);
    served(10 * SECOND, 20 * SECOND, PARENT, MS);
    const struct sqt_live_finding *const found = found_at(20 * SECOND, &count);
    assert_int_equal(count, 1);
    assert_string_equal(SQT_LIVE_TEXT(found, cause), "only_server");
    assert_int_equal(SQT_LIVE_NUMBER(found, rank), 1);
    assert_int_equal(sqt_live_from(live), 0);
    served(20 * SECOND, 100 * SECOND, PARENT, MS);
    found_at(100 * SECOND, &count);
    assert_int_equal(count, 0);
    assert_in_range(sqt_live_from(live), 40 * SECOND, 70 * SECOND);
}

/* It closes what is open, and counts: none of that is done here. */
static void
the_copy_changes_nothing(void **state)
{
    (void)state;
    uint64_t open[5];
    unsigned count;
    served(0, 10 * SECOND, PARENT, MS);
    for (unsigned i = 0; i < 5; ++i)
        open[i] = asked(10 * SECOND, ORIGIN_1);
    run();
    for (unsigned again = 0; again < 3; ++again) {
        const struct sqt_live_finding *const found = found_at((12 + again) * SECOND, &count);
        assert_string_equal(SQT_LIVE_TEXT(found, cause), "hanging");
        assert_int_equal(SQT_LIVE_NUMBER(found, requests), 5);
        assert_int_equal(SQT_LIVE_NUMBER(found, until_s), (12 + again) * SECOND);
        assert_true(sqt_live_is_now(found->row));
        assert_int_equal(*told_requests, 100);
    }
    for (unsigned i = 0; i < 5; ++i)
        answer(20 * SECOND, open[i]);
    run();
    assert_int_equal(*told_requests, 105);
    served(21 * SECOND, 22 * SECOND, PARENT, MS);
    const struct sqt_live_finding *const found = found_at(22 * SECOND, &count);
    assert_true(!count || !sqt_live_is_now(found->row));
}

/* Whoever reads from the program sees its end when it closes, although a copy lives: the copy stops at the first origin that
 * it is told of, so that it lives long enough. */
static int64_t
silent_for_long(const struct sqt_origin *origin)
{
    (void)origin;
    pause();
    return 0;
}

static void
the_copy_keeps_no_sockets(void **state)
{
    (void)state;
    const struct sqt_now now = {12 * SECOND, silent_for_long, NULL};
    int ends[2];
    char byte;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    served(0, 10 * SECOND, PARENT, MS);
    asked(10 * SECOND, ORIGIN_1);
    run();
    assert_true(sqt_live_ask(live, &now, 0));
    close(ends[1]);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 5000), 1);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    assert_int_equal(sqt_live_take(live, 100), 0); /* it lives */
    close(ends[0]);
}

/* That the server ended its bodies before is known for longer than a window lasts. */
static void
a_hang_that_outlasts_windows(void **state)
{
    (void)state;
    unsigned count;
    served(0, 10 * SECOND, ORIGIN_1, MS);
    for (unsigned i = 0; i < 5; ++i) {
        const uint64_t xact = asked(10 * SECOND, ORIGIN_1);
        PUT(10 * SECOND, SERVER_READ, xact, 500, 0);
        PUT(10 * SECOND, SERVER_HEADER, xact, 200, 200);
    }
    run();
    served(11 * SECOND, 300 * SECOND, PARENT, MS);
    const struct sqt_live_finding *const found = found_at(300 * SECOND, &count);
    assert_true(count > 0);
    assert_string_equal(SQT_LIVE_TEXT(found, cause), "hanging");
    assert_string_equal(SQT_LIVE_TEXT(found, culprit), "origin-1");
    assert_int_equal(SQT_LIVE_NUMBER(found, time_s), 10 * SECOND);
    assert_true(sqt_live_from(live) >= 240 * SECOND);
}

static void
asked_too_early(void **state)
{
    (void)state;
    const struct sqt_now now = {SECOND, alive, NULL};
    unsigned count;
    assert_false(sqt_live_ask(live, &now, 0)); /* nothing was read */
    assert_int_equal(sqt_live_take(live, 0), -1);
    served(0, SECOND, PARENT, MS);
    assert_true(sqt_live_ask(live, &now, 0));
    assert_false(sqt_live_ask(live, &now, 0)); /* under way */
    assert_int_equal(sqt_live_take(live, 10000), 1);
    assert_false(sqt_live_ask(live, &now, 60 * SECOND));
    found_at(SECOND, &count);
    assert_int_equal(count, 0);
}

/* Its texts are freed: what may point to them begins anew. */
static void
an_origin_is_forgotten(void **state)
{
    (void)state;
    unsigned count;
    served(0, 10 * SECOND, PARENT, 400 * MS);
    sqt_live_end(live, &script.origins[0]);
    served(10 * SECOND, 35 * SECOND, PARENT, MS);
    sqt_live_forget(live, &script.origins[0]);
    served(35 * SECOND, 36 * SECOND, PARENT, MS);
    found_at(36 * SECOND, &count);
    assert_int_equal(count, 0);
    assert_in_range(sqt_live_from(live), 30 * SECOND, 31 * SECOND); /* the window that began after its end */
    sqt_live_forget(live, &script.origins[1]);
    served(37 * SECOND, 38 * SECOND, PARENT, MS);
    found_at(38 * SECOND, &count);
    assert_int_equal(sqt_live_from(live), 37 * SECOND); /* when that one ended is not known */
}

/* ---- since when, and until when ---- */

static char story[256];

static void
take_state(void *context, const struct sqt_live_finding *finding, enum sqt_track_state state)
{
    const size_t used = strlen(story);
    (void)context;
    snprintf(story + used, sizeof(story) - used, "%s %s since %lld; ", SQT_LIVE_TEXT(finding, culprit),
             sqt_track_state_names[state], (long long)(SQT_LIVE_NUMBER(finding, time_s) / SECOND));
}

static void
make_finding(struct sqt_live_finding *f, const char *culprit, int64_t since, int64_t waiting)
{
    memset(f, 0, sizeof(*f));
    f->row[SQT_CELL(findings, cause)].text = "hanging";
    f->row[SQT_CELL(findings, culprit)].text = strcpy(f->texts[SQT_CELL(findings, culprit)], culprit);
    strcpy(f->texts[SQT_CELL(findings, cause)], "hanging");
    SQT_LIVE_NUMBER(f, time_s) = since * SECOND;
    SQT_LIVE_NUMBER(f, waiting_s) = waiting * SECOND;
}

static const char *
taken(struct sqt_track *track, const struct sqt_live_finding *found, unsigned count, int64_t now)
{
    *story = '\0';
    sqt_track_take(track, found, count, now * SECOND, take_state, NULL);
    return story;
}

static void
a_finding_begins_changes_and_ends(void **state)
{
    (void)state;
    static struct sqt_live_finding found[2];
    struct sqt_track track = {.count = 0};
    make_finding(&found[0], "a", 3, 10);
    assert_string_equal(taken(&track, found, 1, 5), "a begins since 3; ");
    make_finding(&found[0], "a", 4, 15); /* its since stays, and it has not doubled */
    make_finding(&found[1], "b", 6, 1);
    assert_string_equal(taken(&track, found, 2, 7), "b begins since 6; ");
    make_finding(&found[0], "a", 4, 21);
    assert_string_equal(taken(&track, found, 2, 8), "a changes since 3; ");
    assert_string_equal(taken(&track, found, 1, 12), ""); /* b may come back */
    assert_string_equal(taken(&track, found, 1, 13), "b ends since 6; ");
    sqt_track_hold(&track, "died", 20 * SECOND);
    sqt_track_hold(&track, "hanging", 20 * SECOND); /* that of an earlier time is not held */
    found[0].row[SQT_CELL(findings, pattern)].text = strcpy(found[0].texts[SQT_CELL(findings, pattern)], "since");
    assert_string_equal(taken(&track, found, 1, 14), "a changes since 3; ");
    sqt_track_hold(&track, "hanging", 17 * SECOND);
    assert_string_equal(taken(&track, NULL, 0, 20), "");
    assert_string_equal(taken(&track, found, 0, 22), "a ends since 3; ");
    assert_int_equal(track.count, 0);
    sqt_track_free(&track);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_over_leaves_the_window, live_begin, live_end),
        cmocka_unit_test_setup_teardown(the_copy_changes_nothing, live_begin, live_end),
        cmocka_unit_test_setup_teardown(the_copy_keeps_no_sockets, live_begin, live_end),
        cmocka_unit_test_setup_teardown(a_hang_that_outlasts_windows, live_begin, live_end),
        cmocka_unit_test_setup_teardown(asked_too_early, live_begin, live_end),
        cmocka_unit_test_setup_teardown(an_origin_is_forgotten, live_begin, live_end),
        cmocka_unit_test(a_finding_begins_changes_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
