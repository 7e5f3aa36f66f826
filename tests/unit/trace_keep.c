/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_keep.c - what keep= deletes, and what it leaves alone.
 */
#include "trace_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/keep-internal.h"

static void
make_segment(const struct place *place, const char *name, size_t size)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
}

static int
is_there(const struct place *place, const char *name)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    return access(path, F_OK) == 0;
}

static void
keep_deletes_the_oldest_of_its_own(void **state)
{
    struct place *const place = *state;
    static const char *const names[] = {
        "test.3.20250101T000000Z.ffffffff.000000.sqt", /* oldest run */
        "test.3.20250101T000000Z.ffffffff.000001.sqt",
        "test.3.20250202T000000Z.11111111.000009.sqt", /* has a ring: not ours to judge */
        "test.3.20250303T000000Z.00000000.000002.sqt", /* this run */
        "test.3.20250303T000000Z.00000000.000010.sqt", /* being written */
        "test.4.20240101T000000Z.ffffffff.000000.sqt", /* another kid */
        "other.3.20240101T000000Z.ffffffff.000000.sqt", /* another service */
        "test.3.20240101T000000Z.ffffffff.notes", /* something else */
    };
    for (unsigned i = 0; i < 8; ++i)
        make_segment(place, names[i], 1000);
    make_segment(place, "test.3.20250202T000000Z.11111111.ring", 1);
    make_segment(place, "test.3.20250303T000000Z.00000000.ring", 1);
    struct sqt_keep keep = {
        .directory = open(place->directory, O_RDONLY | O_DIRECTORY),
        .service = "test",
        .kid = 3,
        .base = "test.3.20250303T000000Z.00000000",
        .open = 10,
        .bytes = 3000,
    };
    assert_int_equal(sqt_keep_apply(&keep), 0);
    keep.bytes = 2999;
    assert_int_equal(sqt_keep_apply(&keep), 1);
    assert_false(is_there(place, names[0]));
    assert_true(is_there(place, names[1]));
    keep.bytes = 1;
    assert_int_equal(sqt_keep_apply(&keep), 2);
    assert_false(is_there(place, names[1]));
    assert_false(is_there(place, names[3]));
    for (unsigned i = 2; i < 8; ++i)
        if (i != 3)
            assert_true(is_there(place, names[i]));
    keep.bytes = 0;
    assert_int_equal(sqt_keep_apply(&keep), 0);
    close(keep.directory);
}

static void
keep_bounds_a_running_trace(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"segment=64KB", "keep=200KB", "compress=off", "ring=1MB", NULL};
    make_segment(place, "test.3.20250101T000000Z.ffffffff.000000.sqt", 60000);
    assert_int_equal(place_start(place, words), 0);
    for (unsigned i = 0; i < 40; ++i) {
        emit_mixed(15000 * i, 15000);
        wait_flushed();
    }
    sqt_stop();
    assert_false(is_there(place, "test.3.20250101T000000Z.ffffffff.000000.sqt"));
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_true(d.segments >= 1 && d.segments <= 4);
    assert_int_equal(d.records[d.count - 1].event, SQT_EV_STOP);
    decode_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(keep_deletes_the_oldest_of_its_own),
        PLACE_TEST(keep_bounds_a_running_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
