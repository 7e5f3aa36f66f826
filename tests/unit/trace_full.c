/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_full.c - a disk that is full, or takes no more of a file: the ring bridges it, and what it cannot hold is
 * counted.
 */
#define _GNU_SOURCE /* unshare */
#include "trace_support.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CANNOT 77 /* exit status of a child that may not mount */

static const char *const to_the_last_byte[] = {"total=off", "reserve=off", NULL};

static unsigned
lines_with(const char *text)
{
    unsigned count = 0;
    for (const char *p = place_said; (p = strstr(p, text)); ++p)
        ++count;
    return count;
}

/* Runs a test body in a child where the trace directory is a file system of its own, of `size`. */
static void
on_small_disk(struct place *place, const char *size, void (*body)(struct place *))
{
    int result;
    const pid_t child = fork();
    if (child == 0) {
        char options[64];
        snprintf(options, sizeof(options), "mode=0755,size=%s", size);
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", place->directory, "tmpfs", 0, options) != 0)
            _exit(CANNOT);
        body(place);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == CANNOT)
        SKIP_BECAUSE("needs the right to mount a tmpfs");
    if (result != 0)
        fail_msg("the child failed: %#x", (unsigned)result);
}

/* In a child: says more than cmocka's assertions, whose output there comes in the middle of the parent's. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s; said: %s\n", __FILE__, __LINE__, #condition, place_said); \
            _exit(1); \
        } \
    } while (0)

static uint64_t
emit(uint64_t id, unsigned n)
{
    uint64_t seed = id * 2 + 1;
    for (unsigned i = 0; i < n; ++i) { /* noise, so that it takes its place on disk */
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        sqt_emit(SQT_EV_CLIENT_READ, id + i, seed, (uint32_t)(seed >> 32));
    }
    return n;
}

static double
now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
fill_disk(const struct place *place)
{
    char path[300], page[4096];
    memset(page, 1, sizeof(page));
    snprintf(path, sizeof(path), "%s/filler", place->directory);
    const int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
    while (write(fd, page, sizeof(page)) > 0)
        ;
    close(fd);
}

static void
free_disk(const struct place *place)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/filler", place->directory);
    unlink(path);
}

static void
until_stalled(void)
{
    struct sqt_status status;
    for (unsigned i = 0; i < 10000; ++i) {
        sqt_get_status(&status);
        if (strncmp(status.state, "not writing: ", 13) == 0)
            return;
        usleep(1000);
    }
    CHECK(!"writing stopped");
}

static void
until_written(void)
{
    struct sqt_status status;
    for (unsigned i = 0; i < 10000; ++i) {
        sqt_get_status(&status);
        if (strcmp(status.state, "tracing") == 0 && !status.waiting)
            return;
        usleep(1000);
    }
    CHECK(!"writing went on");
}

static void
check_trace(const struct place *place, uint64_t emitted, uint64_t lost)
{
    struct decoded d;
    decode(&d, place->directory, NULL);
    CHECK(d.first == 0);
    CHECK(d.lost == lost);
    CHECK(d.totals.lost == lost && d.totals.lost_open == 0);
    CHECK(d.count - d.marks + d.lost == emitted + 2); /* START and STOP */
    CHECK(d.segments == 1 && d.ends == 1);            /* the same file goes on when there is room */
    decode_free(&d);
}

static void
full_and_free_again(struct place *place)
{
    uint64_t emitted = 0;
    CHECK(place_start(place, to_the_last_byte) == 0);
    emitted += emit(emitted, 10000);
    until_written();
    for (unsigned round = 0; round < 3; ++round) {
        fill_disk(place);
        emitted += emit(emitted, 20000);
        until_stalled();
        for (unsigned i = 0; i < 5; ++i) {
            emitted += emit(emitted, 10000);
            usleep(50000);
            sqt_poll();
        }
        free_disk(place);
        until_written();
        sqt_poll();
        CHECK(lines_with("WARNING: sqtrace: cannot write in ") == round + 1);
        CHECK(lines_with("No space left on device") == round + 1);
        CHECK(lines_with("sqtrace: writing again; ") == round + 1);
    }
    struct sqt_status status;
    sqt_get_status(&status);
    CHECK(status.lost == 0);
    CHECK(status.errors >= 3);
    sqt_stop();
    check_trace(place, emitted, 0);
}

static void
full_for_longer_than_the_ring_lasts(struct place *place)
{
    const char *const words[] = {"ring=1MB", "total=off", "reserve=off", NULL};
    uint64_t emitted = 0;
    CHECK(place_start(place, words) == 0);
    emitted += emit(emitted, 10000);
    until_written();
    fill_disk(place);
    for (unsigned i = 0; i < 10; ++i) {
        emitted += emit(emitted, 10000);
        usleep(10000);
    }
    until_stalled();
    emitted += emit(emitted, 10000);
    free_disk(place);
    until_written();
    emitted += emit(emitted, 1);
    struct sqt_status status;
    sqt_get_status(&status);
    CHECK(status.lost > 0 && status.emitted == emitted + 1);
    sqt_stop();
    check_trace(place, emitted, status.lost);
}

static void
full_when_it_stops(struct place *place)
{
    const char *const words[] = {"ring=1MB", "total=off", "reserve=off", NULL};
    CHECK(place_start(place, words) == 0);
    uint64_t emitted = emit(0, 1000);
    until_written();
    fill_disk(place);
    emitted += emit(1000, 20000);
    const double begin = now_s();
    sqt_stop(); /* the flusher itself gives up */
    CHECK(now_s() - begin < 1);
    CHECK(lines_with("could not write everything to") == 1);
    CHECK(place_count(place->ringdir, ".ring") == 1);
    struct decoded d;
    decode(&d, place->directory, NULL); /* the ring still has the rest */
    CHECK(d.count == emitted + 2);
    decode_free(&d);

    free_disk(place);
    CHECK(place_start(place, words) == 0); /* takes it over */
    for (unsigned i = 0; i < 10000 && place_count(place->ringdir, ".ring") > 1; ++i)
        usleep(1000);
    sqt_stop();
    CHECK(place_count(place->ringdir, "") == 0);
    CHECK(place_count(place->directory, ".ring") == 0);
    CHECK(place_count(place->directory, ".sqt") == 3);
}

static void
full_from_the_start(struct place *place)
{
    fill_disk(place);
    CHECK(place_start(place, to_the_last_byte) == -1);
    CHECK(lines_with("No space left on device; tracing is off") == 1);
    CHECK(place_count(place->ringdir, "") == 0);
    CHECK(place_count(place->directory, "") == 1);
}

static void
a_full_disk_is_bridged(void **state)
{
    on_small_disk(*state, "4m", full_and_free_again);
}

static void
what_the_ring_cannot_bridge_is_counted(void **state)
{
    on_small_disk(*state, "4m", full_for_longer_than_the_ring_lasts);
}

static void
a_stop_on_a_full_disk_leaves_the_rest_in_the_ring(void **state)
{
    on_small_disk(*state, "2m", full_when_it_stops);
}

static void
a_disk_that_is_full_already_is_refused(void **state)
{
    on_small_disk(*state, "1m", full_from_the_start);
}

/* The limit of a file's size is not that of the disk: the next file takes the block. */
static void
a_file_that_takes_no_more_is_left_for_the_next(void **state)
{
    struct place *const place = *state;
    int result;
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {200000, 200000};
        const char *const words[] = {"ring=64KB", "total=off", "reserve=off", NULL};
        uint64_t emitted = 0;
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* raises SIGXFSZ, which the flusher must have blocked */
        CHECK(place_start(place, words) == 0);
        for (unsigned i = 0; i < 40; ++i) {
            emitted += emit(emitted, 1000);
            until_written();
        }
        sqt_stop();
        _exit(place_count(place->directory, ".sqt") > 2 ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.count, 40000 + 2);
    decode_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_full_disk_is_bridged),
        PLACE_TEST(what_the_ring_cannot_bridge_is_counted),
        PLACE_TEST(a_stop_on_a_full_disk_leaves_the_rest_in_the_ring),
        PLACE_TEST(a_disk_that_is_full_already_is_refused),
        PLACE_TEST(a_file_that_takes_no_more_is_left_for_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
