/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_form.c - a real trace and the made traffic hold only what hooks emit, and an old trace holds more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/read/stream.h"
#include "hook_form.h"
#include "make_trace.h"

static unsigned wrong_units, units;
static char first_wrong[160];

static void
look_at(const struct sqt_record *records, size_t count)
{
    for (size_t i = 0; i < count; i += 1 + (records[i].flags & SQT_FLAG_MORE)) {
        const char *const wrong = hook_form_error(&records[i], count - i);
        ++units;
        if (wrong && !wrong_units++)
            snprintf(first_wrong, sizeof(first_wrong), "%s", wrong);
    }
}

static void
ignore(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity, (void)text;
}

static void
look_at_trace(const char *name)
{
    char path[1024];
    struct sqt_run run;
    const char *const source = getenv("SQT_SOURCE"), *const paths[] = {path};
    snprintf(path, sizeof(path), "%s/%s", source ? source : ".", name);
    struct sqt_stream *const stream = sqt_stream_open(paths, 1, ignore, NULL);
    assert_non_null(stream);
    while (sqt_stream_next(stream, &run))
        look_at(run.records, run.count);
    sqt_stream_close(stream);
}

static int
begin(void **state)
{
    (void)state;
    wrong_units = units = 0;
    first_wrong[0] = '\0';
    return 0;
}

static void
a_real_trace(void **state)
{
    (void)state;
    look_at_trace("doc/sample");
    assert_string_equal(first_wrong, "");
    assert_true(units > 100000);
}

static void
made_traffic(void **state)
{
    (void)state;
    static struct make_traffic traffic;
    static struct sqt_record records[300000];
    make_traffic_init(&traffic, 1);
    look_at(records, make_traffic_records(&traffic, records, 300000));
    assert_string_equal(first_wrong, "");
    assert_true(units > 100000);
}

static void
an_old_trace(void **state)
{
    (void)state;
    look_at_trace("tests/golden/old-stamps.sqt");
    assert_string_equal(first_wrong, "SWAPIN_READ_DONE has a part of another event");
    assert_true(wrong_units < units / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_real_trace, begin),
        cmocka_unit_test_setup(made_traffic, begin),
        cmocka_unit_test_setup(an_old_trace, begin),
    };
    return cmocka_run_group_tests_name("read: forms of hooks", tests, NULL, NULL);
}
