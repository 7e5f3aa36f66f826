/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_limits.c - total=, reserve=, age= and every=: what is deleted, what may be written, and when a segment ends.
 */
#define _GNU_SOURCE /* unshare */
#include "trace_leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"
#include "trace/flush/keep-internal.h"

#define MB (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define NOBODY_OPEN UINT64_MAX

/* ---- files that only have a name, a size, a run and a time ---- */

struct planted {
    const char *name;
    uint32_t run;
    int64_t age_ns;
};

/* Plants files of 1,000 bytes and holds what is deleted, one after the other, against their order. */
static void
expect_order(struct place *place, const struct planted *oldest_first, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        place_segment(place, oldest_first[i].name, oldest_first[i].run, oldest_first[i].age_ns, 1000);
    struct sqt_leftovers leftovers = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    for (unsigned i = 0; i < count; ++i) {
        struct sqt_room room;
        const struct sqt_keep keep = {&leftovers, 1, NOBODY_OPEN, {0, 1000 * (count - i) - 1, SQT_NO_LIMIT, 0}};
        assert_int_equal(sqt_keep_apply(&keep, &room), 1);
        for (unsigned k = 0; k < count; ++k)
            if (place_has(place, oldest_first[k].name) != (k > i))
                fail_msg("after %u deletions: %s", i + 1, oldest_first[k].name);
    }
    close(leftovers.directory);
}

static void
total_takes_the_oldest_of_all_kids(void **state)
{
    static const struct planted oldest_first[] = {
        {"test.2.20250101T000000Z.aaaaaaaa.000000.sqt", 1, 9 * HOUR},
        {"test.1.20250101T000000Z.bbbbbbbb.000000.sqt", 1, 8 * HOUR},
        {"test.2.20250101T000000Z.aaaaaaaa.000001.sqt", 1, 7 * HOUR},
        {"test.7.20250101T000000Z.cccccccc.000000.sqt", 4, 6 * HOUR}, /* a kid that there is no more */
        {"test.1.20250101T000000Z.bbbbbbbb.000001.sqt", 1, 5 * HOUR},
        {"test.2.20250102T000000Z.dddddddd.000000.sqt", 2, 4 * HOUR},
    };
    expect_order(*state, oldest_first, 6);
}

/* In the second boot the clock said 1970: numbers decide within a kid. */
static void
a_clock_that_was_wrong_changes_no_order_of_a_kid(void **state)
{
    static const struct planted oldest_first[] = {
        {"test.1.20250101T000000Z.bbbbbbbb.000000.sqt", 1, 9 * HOUR},
        {"test.1.19700101T000000Z.aaaaaaaa.000000.sqt", 2, 400000 * HOUR},
        {"test.2.20250101T000000Z.dddddddd.000000.sqt", 1, 8 * HOUR},
        {"test.2.19700101T000000Z.cccccccc.000000.sqt", 2, 400000 * HOUR},
        {"test.1.20250102T000000Z.00000001.000000.sqt", 3, 2 * HOUR},
        {"test.2.20250102T000000Z.00000002.000000.sqt", 3, 1 * HOUR},
    };
    expect_order(*state, oldest_first, 6);
}

static void
what_is_being_written_is_left_alone(void **state)
{
    struct place *const place = *state;
    static const char *const closed = "test.2.20250101T000000Z.aaaaaaaa.000003.sqt",
                             *const open_by_another = "test.2.20250101T000000Z.aaaaaaaa.000004.sqt",
                             *const own = "test.1.20250101T000000Z.bbbbbbbb.000010.sqt",
                             *const other_service = "else.1.20250101T000000Z.bbbbbbbb.000000.sqt";
    const char *const all[] = {closed, open_by_another, own, other_service};
    for (unsigned i = 0; i < 4; ++i)
        place_segment(place, all[i], 1, HOUR, 1000);
    const int pointer = place_pointer(place, "test.2.20250101T000000Z.aaaaaaaa", "aaaaaaaa000000000000000000000000");
    struct sqt_leftovers leftovers = place_leftovers(place, "test.1.20250101T000000Z.bbbbbbbb");
    struct sqt_room room;
    struct sqt_keep keep = {&leftovers, 1, 10, {0, 4000, SQT_NO_LIMIT, 0}};
    assert_int_equal(sqt_keep_apply(&keep, &room), 0);
    assert_int_equal(room.left, (4000 - 3000) / 2 / 4); /* two write, and each a quarter of its share */
    keep.limits.total = 1;
    assert_int_equal(sqt_keep_apply(&keep, &room), 1);
    assert_false(place_has(place, closed));
    for (unsigned i = 1; i < 4; ++i)
        assert_true(place_has(place, all[i]));
    assert_int_equal(room.left, 0);
    assert_int_equal(room.shortage, SQT_SHORT_OF_TOTAL);
    keep.limits.total = SQT_NO_LIMIT;
    assert_int_equal(sqt_keep_apply(&keep, &room), 0);
    assert_true(room.left == UINT64_MAX);
    close(pointer);
    close(leftovers.directory);
}

static void
what_is_too_old_goes(void **state)
{
    struct place *const place = *state;
    static const struct planted planted[] = {
        {"test.1.20250101T000000Z.bbbbbbbb.000000.sqt", 1, 30 * HOUR},
        {"test.2.20250101T000000Z.aaaaaaaa.000000.sqt", 1, 25 * HOUR},
        {"test.1.20250101T000000Z.bbbbbbbb.000001.sqt", 1, 23 * HOUR},
        {"test.1.20250102T000000Z.cccccccc.000000.sqt", 2, 99 * HOUR}, /* its clock was wrong */
    };
    for (unsigned i = 0; i < 4; ++i)
        place_segment(place, planted[i].name, planted[i].run, planted[i].age_ns, 1000);
    struct sqt_leftovers leftovers = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    struct sqt_room room;
    const struct sqt_keep keep = {&leftovers, 1, NOBODY_OPEN, {0, SQT_NO_LIMIT, SQT_NO_LIMIT, 24 * HOUR}};
    assert_int_equal(sqt_keep_apply(&keep, &room), 2);
    assert_true(place_has(place, planted[2].name) && place_has(place, planted[3].name));
    close(leftovers.directory);
}

/* What was too old does not count for keep= any more, and nothing else goes. */
static void
age_and_keep_go_together(void **state)
{
    struct place *const place = *state;
    place_segment(place, "test.1.20250101T000000Z.bbbbbbbb.000000.sqt", 1, 30 * HOUR, 3000);
    place_segment(place, "test.1.20250101T000000Z.bbbbbbbb.000001.sqt", 1, 29 * HOUR, 3000);
    place_segment(place, "test.1.20250101T000000Z.bbbbbbbb.000002.sqt", 1, HOUR, 1000);
    place_segment(place, "test.2.20250101T000000Z.aaaaaaaa.000000.sqt", 1, HOUR, 1000);
    struct sqt_leftovers leftovers = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    struct sqt_room room;
    const struct sqt_keep keep = {&leftovers, 1, NOBODY_OPEN, {3000, MB, SQT_NO_LIMIT, 24 * HOUR}};
    assert_int_equal(sqt_keep_apply(&keep, &room), 2);
    assert_int_equal(place_count(place->directory, ".sqt"), 2);
    assert_int_equal(room.left, (MB - 2000) / 4);
    close(leftovers.directory);
}

/* A file from a clock that was ahead makes no older or later file of its kid young. */
static void
a_time_that_is_yet_to_come_says_nothing(void **state)
{
    struct place *const place = *state;
    place_segment(place, "test.1.20990101T000000Z.bbbbbbbb.000000.sqt", 1, -9000 * HOUR, 1000);
    place_segment(place, "test.1.20250101T000000Z.cccccccc.000000.sqt", 2, 99 * HOUR, 1000);
    place_segment(place, "test.1.20250101T000000Z.cccccccc.000001.sqt", 2, HOUR, 1000);
    place_segment(place, "test.2.20990101T000000Z.aaaaaaaa.000000.sqt", 1, -9000 * HOUR, 1000);
    struct sqt_leftovers leftovers = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    struct sqt_room room;
    const struct sqt_keep keep = {&leftovers, 1, NOBODY_OPEN, {0, SQT_NO_LIMIT, SQT_NO_LIMIT, 24 * HOUR}};
    assert_int_equal(sqt_keep_apply(&keep, &room), 2);
    assert_true(place_has(place, "test.1.20250101T000000Z.cccccccc.000001.sqt"));
    assert_true(place_has(place, "test.2.20990101T000000Z.aaaaaaaa.000000.sqt"));
    close(leftovers.directory);
}

/* Without total= and reserve= the size of the file system says what a trace may take. */
static void
defaults_follow_the_file_system(void **state)
{
    struct place *const place = *state;
    struct statvfs fs;
    struct sqt_leftovers leftovers = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    struct sqt_room room;
    struct sqt_keep keep = {&leftovers, 1, NOBODY_OPEN, {0, 0, SQT_NO_LIMIT, 0}};
    assert_int_equal(fstatvfs(leftovers.directory, &fs), 0);
    const uint64_t size = (uint64_t)fs.f_blocks * fs.f_frsize, tenth = size / 10, gb = 1024 * MB;
    sqt_keep_apply(&keep, &room);
    assert_int_equal(room.total, tenth < 10 * gb ? tenth : 10 * gb);
    keep.limits = (struct sqt_limits){0, SQT_NO_LIMIT, 0, 0};
    sqt_keep_apply(&keep, &room);
    assert_int_equal(fstatvfs(leftovers.directory, &fs), 0);
    const uint64_t reserve = size / 20 < gb ? size / 20 : gb, unused = (uint64_t)fs.f_bavail * fs.f_frsize;
    const uint64_t left = unused > reserve ? (unused - reserve) / 4 : 0;
    assert_true(room.left <= left + size / 1000 && room.left + size / 1000 >= left); /* others use the disk, too */
    keep.limits = (struct sqt_limits){0, SQT_NO_LIMIT, (uint64_t)fs.f_bavail * fs.f_frsize * 2, 0};
    sqt_keep_apply(&keep, &room);
    assert_true(room.left == 0 && room.shortage == SQT_SHORT_OF_RESERVE);
    assert_int_equal(sqt_keep_spare(&keep), 0);
    keep.limits.reserve = MB;
    assert_true(sqt_keep_spare(&keep));
    close(leftovers.directory);
}

/* ---- processes that write ---- */

static uint64_t
bytes_in(const char *directory)
{
    uint64_t sum = 0;
    DIR *const dir = opendir(directory);
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct stat st;
        if (strstr(entry->d_name, ".sqt") && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            sum += (uint64_t)st.st_size;
    }
    closedir(dir);
    return sum;
}

/* Waits until the ring has room for twice 5,000 events: what is below a quarter of it waits for two seconds. */
static void
wait_for_room(void)
{
    struct sqt_status status;
    for (sqt_get_status(&status); status.waiting > 10000; sqt_get_status(&status))
        usleep(1000);
}

/* Kids keep pace, or the newest file of one is older than all files of another. */
static pthread_barrier_t *
pace_of(unsigned kids)
{
    pthread_barrier_t *const pace =
        mmap(NULL, sizeof(*pace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t shared;
    assert_true(pace != MAP_FAILED);
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    assert_int_equal(pthread_barrier_init(pace, &shared, kids), 0);
    return pace;
}

/* A kid that emits some 10 MB. */
static pid_t
begin_kid(const struct place *place, uint32_t kid, const char *const *words, pthread_barrier_t *pace)
{
    const pid_t child = fork();
    if (child)
        return child;
    struct sqt_config config;
    const struct sqt_process process = {kid, SQT_KID_WORKER, "test", "7.7", NULL};
    alarm(100);
    place_config(place, words, &config);
    if (sqt_start(&config, &process, place_log) != 0)
        _exit(9);
    for (unsigned i = 0; i < 100; ++i) {
        emit_mixed(5000 * i, 5000);
        wait_for_room();
        if (i % 10 == 9)
            pthread_barrier_wait(pace);
    }
    sqt_stop();
    _exit(0);
}

static int
is_trace_of(const char *name, unsigned kid)
{
    char prefix[16];
    snprintf(prefix, sizeof(prefix), "test.%u.", kid);
    return strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, ".sqt");
}

/* Each kid's newest records are there, to the last. */
static void
each_has_its_end(const struct place *place, unsigned kids)
{
    for (unsigned kid = 1; kid <= kids; ++kid) {
        char base[300] = "";
        struct decoded d;
        DIR *const dir = opendir(place->directory);
        const struct dirent *entry;
        while ((entry = readdir(dir)))
            if (is_trace_of(entry->d_name, kid))
                snprintf(base, sizeof(base), "%.*s", (int)(strlen(entry->d_name) - strlen(".000000.sqt")),
                         entry->d_name);
        closedir(dir);
        decode(&d, place->directory, base);
        assert_int_equal(d.records[d.count - 1].event, SQT_EV_STOP);
        assert_int_equal(d.totals.lost, 0);
        decode_free(&d);
    }
}

/* Kids write together, and the directory is looked at all the time: most is how much it may have. */
static void
kids_stay_below(const struct place *place, unsigned kids, const char *const *words, uint64_t most)
{
    pthread_barrier_t *const pace = pace_of(kids);
    pid_t children[8];
    uint64_t largest = 0;
    unsigned ended = 0;
    for (unsigned kid = 0; kid < kids; ++kid)
        children[kid] = begin_kid(place, kid + 1, words, pace);
    while (ended < kids) {
        int status;
        const uint64_t bytes = bytes_in(place->directory);
        largest = bytes > largest ? bytes : largest;
        usleep(500);
        for (unsigned kid = 0; kid < kids; ++kid)
            if (children[kid] && waitpid(children[kid], &status, WNOHANG) == children[kid]) {
                assert_int_equal(status, 0);
                children[kid] = 0;
                ++ended;
            }
    }
    munmap(pace, sizeof(*pace));
    print_message("# at most %llu bytes\n", (unsigned long long)largest);
    assert_true(largest <= most);
    assert_true(largest > most / 4); /* they wrote more than it may have */
}

#define BLOCK (160 * 1024) /* 5,000 events are less, not compressed */

static void
kids_share_a_total(void **state)
{
    const char *const words[] = {"total=4MB", "compress=off", "ring=1MB", NULL};
    kids_stay_below(*state, 3, words, 4 * MB + 3 * BLOCK);
    each_has_its_end(*state, 3);
}

/* All that is there is being written: a kid ends its own segment, and deletes it. */
static void
open_segments_alone_stay_below_a_total(void **state)
{
    const char *const words[] = {"total=2MB", "segment=2MB", "compress=off", "ring=1MB", NULL};
    kids_stay_below(*state, 4, words, 2 * MB + 4 * BLOCK);
}

static void
a_segment_ends_by_time(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"every=1s", NULL};
    assert_int_equal(place_start(place, words), 0);
    const uint64_t begin = sqt_monotonic_ns();
    for (unsigned i = 0; i < 24 || (i < 200 && place_count(place->directory, ".sqt") < 2); ++i) {
        emit_mixed(10 * i, 10);
        usleep(100000);
    }
    sqt_stop();
    assert_in_range(place_count(place->directory, ".sqt"), 2, (sqt_monotonic_ns() - begin) / 1000000000 + 1);
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.first, 0);
    decode_free(&d);
}

/* ---- a disk that somebody else fills ---- */

static int64_t
free_on(const char *directory)
{
    struct statvfs fs;
    return statvfs(directory, &fs) == 0 ? (int64_t)(fs.f_bavail * fs.f_frsize) : -1;
}

/* Somebody's file grows until next to nothing is free, also of what the traces gave back. */
static void
fill(const char *path, const char *directory)
{
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || posix_fallocate(fd, 0, st.st_size + free_on(directory) - 65536) != 0)
        _exit(20);
    close(fd);
}

/* Emits until that is said. */
static int
was_said(const char *text)
{
    for (unsigned i = 0; i < 500 && !strstr(place_said, text); ++i) {
        emit_mixed(0, 10);
        usleep(10000);
        sqt_poll();
    }
    return strstr(place_said, text) != NULL;
}

/* In a process and a mount namespace of its own.  Returns what was wrong. */
static int
on_a_small_disk(struct place *place)
{
    const char *const words[] = {"total=off", "reserve=2MB", "compress=off", "ring=1MB", NULL};
    char other[400];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", place->directory, "tmpfs", 0, "size=8m,mode=0700") != 0)
        return 77;
    snprintf(other, sizeof(other), "%s/other", place->directory);
    if (place_start(place, words) != 0)
        return 1;
    for (unsigned i = 0; i < 100; ++i) {
        emit_mixed(5000 * i, 5000);
        wait_for_room();
        if (free_on(place->directory) < 2 * (int64_t)MB - BLOCK)
            return 2;
    }
    sqt_poll();
    if (place_count(place->directory, ".sqt") < 2 || strstr(place_said, "WARNING")) /* fills its own part: no news */
        return 3;
    for (unsigned i = 0; i < 50 && !strstr(place_said, "cannot write in"); ++i) {
        fill(other, place->directory);
        emit_mixed(0, 10);
        usleep(100000);
        sqt_poll();
    }
    if (!was_said("cannot write in") || !was_said("no more is free on the disk than reserve= says"))
        return 4;
    const char *const shrunk = strstr(place_said, "is filled by other files: so that reserve= stays free, old traces");
    if (!shrunk || !strstr(shrunk, " KB are left, back to ") || strstr(shrunk + 1, "is filled by other files"))
        return 6;
    emit_mixed(0, 50000); /* more than the ring takes */
    if (!was_said("records lost because the ring was full; nothing could be written to ") ||
        strstr(place_said, "ring= of sqtrace_log"))
        return 7;
    unlink(other);
    if (!was_said("writing again"))
        return 5;
    wait_flushed();
    sqt_stop();
    return 0;
}

#define PIECE (100 * 1024)

/* Segments of another kid, whose own bounds delete most of them.  Then another file grows until reserve= must delete a single
 * one, which is no news. */
static int
beside_a_kid_that_deletes(struct place *place)
{
    const char *const words[] = {"total=off", "reserve=2MB", "compress=off", "ring=1MB", NULL};
    char path[400];
    int fd;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", place->directory, "tmpfs", 0, "size=32m,mode=0700") != 0)
        return 77;
    for (unsigned i = 0; i < 80; ++i) {
        snprintf(path, sizeof(path), "%s/test.9.20250101T000000Z.aaaaaaaa.%06u.sqt", place->directory, i);
        place_segment(place, strrchr(path, '/') + 1, 1, HOUR, PIECE);
        fd = open(path, O_WRONLY);
        if (fd < 0 || posix_fallocate(fd, 0, PIECE) != 0 || close(fd) != 0)
            return 1;
    }
    if (place_start(place, words) != 0)
        return 2;
    wait_flushed();
    for (unsigned i = 0; i < 60; ++i) {
        snprintf(path, sizeof(path), "%s/test.9.20250101T000000Z.aaaaaaaa.%06u.sqt", place->directory, i);
        unlink(path);
    }
    for (unsigned i = 0; i < 25; ++i) { /* until it has looked at the disk */
        emit_mixed(10 * i, 10);
        usleep(100000);
    }
    snprintf(path, sizeof(path), "%s/other", place->directory);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, free_on(place->directory) - 2 * (off_t)MB + PIECE / 2) != 0)
        return 3;
    close(fd);
    for (unsigned i = 0; i < 50 && place_has(place, "test.9.20250101T000000Z.aaaaaaaa.000060.sqt"); ++i) {
        emit_mixed(10 * i, 10);
        usleep(100000);
    }
    sqt_poll();
    const int deleted = !place_has(place, "test.9.20250101T000000Z.aaaaaaaa.000060.sqt"),
              news = strstr(place_said, "is filled by other files") != NULL;
    sqt_stop();
    return !deleted ? 4 : news ? 5 : 0;
}

/* A disk that took nothing for a while, and was quick enough, is not the cause of what is lost later. */
static int
on_a_disk_that_was_full(struct place *place)
{
    const char *const words[] = {"total=off", "reserve=2MB", "compress=off", "ring=1MB", NULL};
    char other[400];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", place->directory, "tmpfs", 0, "size=32m,mode=0700") != 0)
        return 77;
    snprintf(other, sizeof(other), "%s/other", place->directory);
    if (place_start(place, words) != 0)
        return 1;
    fill(other, place->directory);
    if (!was_said("cannot write in"))
        return 2;
    unlink(other);
    if (!was_said("writing again"))
        return 3;
    wait_flushed();
    sqt_poll();
    if (strstr(place_said, "records lost"))
        return 4;
    for (unsigned i = 0; i < 20 && !strstr(place_said, "records lost"); ++i) {
        emit_mixed(0, 100000); /* faster than the flusher takes them */
        sqt_poll();
    }
    if (!was_said("records lost because the ring was full; ring= of sqtrace_log") ||
        strstr(place_said, "nothing could be written to"))
        return 5;
    sqt_stop();
    return 0;
}

/* In a child.  Skips the test where nothing can be mounted. */
static void
with_a_disk(struct place *place, int (*test)(struct place *))
{
    int result;
    if (geteuid() != 0)
        SKIP_BECAUSE("needs root, to mount a small disk");
    const pid_t child = fork();
    if (child == 0)
        _exit(test(place));
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
        SKIP_BECAUSE("needs the right to mount");
    assert_int_equal(result, 0);
}

static void
reserve_leaves_room_for_others(void **state)
{
    with_a_disk(*state, on_a_small_disk);
}

static void
what_other_bounds_delete_is_not_blamed_on_other_files(void **state)
{
    with_a_disk(*state, beside_a_kid_that_deletes);
}

static void
a_disk_that_was_full_is_not_blamed_later(void **state)
{
    with_a_disk(*state, on_a_disk_that_was_full);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(total_takes_the_oldest_of_all_kids),
        PLACE_TEST(a_clock_that_was_wrong_changes_no_order_of_a_kid),
        PLACE_TEST(what_is_being_written_is_left_alone),
        PLACE_TEST(what_is_too_old_goes),
        PLACE_TEST(age_and_keep_go_together),
        PLACE_TEST(a_time_that_is_yet_to_come_says_nothing),
        PLACE_TEST(defaults_follow_the_file_system),
        PLACE_TEST(kids_share_a_total),
        PLACE_TEST(open_segments_alone_stay_below_a_total),
        PLACE_TEST(a_segment_ends_by_time),
        PLACE_TEST(reserve_leaves_room_for_others),
        PLACE_TEST(what_other_bounds_delete_is_not_blamed_on_other_files),
        PLACE_TEST(a_disk_that_was_full_is_not_blamed_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
