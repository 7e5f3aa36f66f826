/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_keep.c - what keep= deletes, and what it leaves alone.
 */
#define _GNU_SOURCE /* unshare */
#include "trace_leftovers.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/flush/keep-internal.h"

static void
make_segment(const struct place *place, const char *name, size_t size)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
}

/* A segment of a run with that number. */
static void
make_numbered(const struct place *place, const char *name, uint32_t run, size_t size)
{
    char path[400];
    struct sqt_segment_header header = {.magic = SQT_SEGMENT_MAGIC, .identity.run = run};
    make_segment(place, name, size);
    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    const int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    close(fd);
}

static unsigned
keep_apply(const struct sqt_keep *keep)
{
    struct sqt_room room;
    return sqt_keep_apply(keep, &room);
}

static void
keep_deletes_the_oldest_of_its_own(void **state)
{
    struct place *const place = *state;
    static const char *const names[] = {
        "test.3.20250101T000000Z.ffffffff.000000.sqt", /* oldest run */
        "test.3.20250101T000000Z.ffffffff.000001.sqt",
        "test.3.20250202T000000Z.11111111.000009.sqt",  /* its process lives: not ours to judge */
        "test.3.20250303T000000Z.00000000.000002.sqt",  /* this run */
        "test.3.20250303T000000Z.00000000.000010.sqt",  /* being written */
        "test.4.20240101T000000Z.ffffffff.000000.sqt",  /* another kid */
        "other.3.20240101T000000Z.ffffffff.000000.sqt", /* another service */
        "test.3.20240101T000000Z.ffffffff.notes",       /* something else */
    };
    for (unsigned i = 0; i < 8; ++i)
        make_segment(place, names[i], 1000);
    const int pointer = place_pointer(place, "test.3.20250202T000000Z.11111111", "11111111000000000000000000000000");
    struct sqt_leftovers leftovers = place_leftovers(place, "test.3.20250303T000000Z.00000000");
    struct sqt_keep keep = {.leftovers = &leftovers, .kid = 3, .open = 10, .limits.keep = 3000};
    assert_int_equal(keep_apply(&keep), 0);
    keep.limits.keep = 2999;
    assert_int_equal(keep_apply(&keep), 1);
    assert_false(place_has(place, names[0]));
    assert_true(place_has(place, names[1]));
    keep.limits.keep = 1;
    assert_int_equal(keep_apply(&keep), 2);
    assert_false(place_has(place, names[1]));
    assert_false(place_has(place, names[3]));
    for (unsigned i = 2; i < 8; ++i)
        if (i != 3)
            assert_true(place_has(place, names[i]));
    keep.limits.keep = 0;
    assert_int_equal(keep_apply(&keep), 0);

    /* A pointer that nobody holds exempts its run no longer. */
    keep.limits.keep = 1;
    close(pointer);
    assert_int_equal(keep_apply(&keep), 1);
    assert_false(place_has(place, names[2]));
    assert_int_equal(place_said[0], 0);
    close(leftovers.directory);
}

/* A machine whose clock begins in 1970 at each boot: names say nothing, numbers do. */
static void
the_oldest_is_not_what_the_clock_says(void **state)
{
    struct place *const place = *state;
    static const struct {
        const char *name;
        uint32_t run;
    } oldest_first[] = {
        {"test.3.20110101T000000Z.99999999.000000.sqt", 0}, /* of a version that does not number */
        {"test.3.20250101T000000Z.ffffffff.000000.sqt", 1},
        {"test.3.20240101T000000Z.aaaaaaaa.000007.sqt", 2},
        {"test.3.20240101T000000Z.aaaaaaaa.000010.sqt", 2},
        {"test.3.19700101T000001Z.22222222.000000.sqt", 3},
        {"test.3.19700101T000005Z.11111111.000000.sqt", 10},
        {"test.3.19700101T000000Z.33333333.000000.sqt", 11}, /* this run */
    };
    const unsigned count = sizeof(oldest_first) / sizeof(oldest_first[0]);
    for (unsigned i = count; i-- > 0;)
        make_numbered(place, oldest_first[i].name, oldest_first[i].run, 1000);
    struct sqt_leftovers leftovers = place_leftovers(place, "test.3.19700101T000000Z.33333333");
    struct sqt_keep keep = {.leftovers = &leftovers, .kid = 3, .open = UINT64_MAX};
    for (unsigned i = 0; i < count; ++i) {
        keep.limits.keep = 1000 * (count - i) - 1;
        assert_int_equal(keep_apply(&keep), 1);
        for (unsigned k = 0; k < count; ++k)
            if (place_has(place, oldest_first[k].name) != (k > i))
                fail_msg("after %u deletions: %s", i + 1, oldest_first[k].name);
    }
    close(leftovers.directory);
}

/* Each run counts on from what it finds, whatever the times in the names, and where a segment has a second name. */
static void
runs_are_numbered(void **state)
{
    struct place *const place = *state;
    for (uint32_t run = 1; run <= 3; ++run) {
        char from[300], to[300];
        struct sqt_segment_header header;
        assert_int_equal(place_start(place, NULL), 0);
        sqt_stop();
        place_only(from, sizeof(from), place->directory, ".000000.sqt");
        const int fd = open(from, O_RDONLY);
        assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
        close(fd);
        assert_int_equal(header.identity.run, run);
        snprintf(to, sizeof(to), "%s/test.3.%uT000000Z.%08x.%06u.sqt", place->directory, 20400101 - run, run, run);
        assert_int_equal(rename(from, to), 0);
        snprintf(from, sizeof(from), "%s/kept-elsewhere.%u", place->directory, run);
        assert_int_equal(link(to, from), 0);
    }
}

/* What cannot be deleted still takes room, and is told once. */
static void
what_cannot_be_deleted_is_told(void **state)
{
    struct place *const place = *state;
    if (geteuid() != 0)
        SKIP_BECAUSE("needs root, to mount a file that cannot be deleted");
    int result;
    const pid_t child = fork();
    if (child == 0) {
        char path[400];
        make_segment(place, "test.3.20250101T000000Z.ffffffff.000000.sqt", 1000);
        make_segment(place, "test.3.20250101T000000Z.ffffffff.000001.sqt", 1000);
        make_segment(place, "test.3.20250101T000000Z.ffffffff.000002.sqt", 1000);
        snprintf(path, sizeof(path), "%s/test.3.20250101T000000Z.ffffffff.000000.sqt", place->directory);
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount(path, path, NULL, MS_BIND, NULL) != 0) /* EBUSY */
            _exit(77);
        struct sqt_leftovers leftovers = place_leftovers(place, "test.3.20250303T000000Z.00000000");
        struct sqt_keep keep = {.leftovers = &leftovers, .kid = 3, .open = UINT64_MAX, .limits.keep = 2000};
        const int first = keep_apply(&keep) == 1 && !place_has(place, "test.3.20250101T000000Z.ffffffff.000001.sqt") &&
                          place_has(place, "test.3.20250101T000000Z.ffffffff.000002.sqt");
        const int then = keep_apply(&keep) == 0;
        keep.limits.keep = 1999;
        const int last = keep_apply(&keep) == 1;
        sqt_mailbox_empty(&place_mailbox, place_log);
        const char *const said = strstr(place_said, "cannot delete ");
        const int once = said && strstr(said, "ffffffff.000000.sqt: Device or resource busy\n") &&
                         !strstr(said + 1, "cannot delete ");
        _exit(first && then && last && once ? 0 : 1 + !first + 2 * !then + 4 * !last + 8 * !once);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
        SKIP_BECAUSE("needs the right to mount");
    assert_int_equal(result, 0);
}

static void
a_segment_of_another_owner_is_left_alone(void **state)
{
    struct place *const place = *state;
    char path[400];
    if (geteuid() != 0)
        SKIP_BECAUSE("needs root, to make files of another user");
    make_segment(place, "test.3.20250101T000000Z.ffffffff.000000.sqt", 1000);
    snprintf(path, sizeof(path), "%s/test.3.20250101T000000Z.ffffffff.000000.sqt", place->directory);
    assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
    struct sqt_leftovers leftovers = place_leftovers(place, "test.3.20250303T000000Z.00000000");
    struct sqt_keep keep = {.leftovers = &leftovers, .kid = 3, .open = UINT64_MAX, .limits.keep = 1};
    assert_int_equal(keep_apply(&keep), 0);
    assert_true(place_has(place, "test.3.20250101T000000Z.ffffffff.000000.sqt"));
    close(leftovers.directory);
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
    assert_false(place_has(place, "test.3.20250101T000000Z.ffffffff.000000.sqt"));
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
        PLACE_TEST(the_oldest_is_not_what_the_clock_says),
        PLACE_TEST(runs_are_numbered),
        PLACE_TEST(what_cannot_be_deleted_is_told),
        PLACE_TEST(a_segment_of_another_owner_is_left_alone),
        PLACE_TEST(keep_bounds_a_running_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
