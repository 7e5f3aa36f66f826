/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_hang.c - a disk that does not answer: the main thread never waits for it longer than a second, a trace that was
 * left behind shares nothing with the next, and no record is lost or doubled.
 *
 * This program's own write(), openat() and unlinkat() stand before the C library's: in the trace directory they hang
 * for as long as a test wants.
 */
#define _GNU_SOURCE
#include "trace_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/life/trace-internal.h"

enum { HANG_SEGMENT = 1, HANG_OPEN = 2, HANG_UNLINK = 4 };

/* Waits while that is so, up to 10 s.  POLL_WHILE calls sqt_poll() meanwhile, as Squid does. */
#define WAIT_WHILE(condition) \
    for (unsigned waited_ms = 0; waited_ms < 10000 && (condition); ++waited_ms) \
    usleep(1000)
#define POLL_WHILE(condition) \
    for (unsigned waited_ms = 0; waited_ms < 10000 && (condition); ++waited_ms, sqt_poll()) \
    usleep(1000)

static unsigned hanging;     /* which calls hang now; bits of the above */
static unsigned hung;        /* calls that hang now */
static int no_locks;         /* as where a profile forbids them */
static const char *disk;     /* what a path that hangs begins with */
static uint64_t patience_ns; /* that Squid has */

static int
is_on_disk(int fd, const char *suffix)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size < 0 ? 0 : size] = '\0';
    const size_t n = strlen(path), s = strlen(suffix);
    return disk && strncmp(path, disk, strlen(disk)) == 0 && n >= s && strcmp(path + n - s, suffix) == 0;
}

static void
hang_on_disk(unsigned what, int fd, const char *suffix)
{
    const int saved = errno;
    if ((__atomic_load_n(&hanging, __ATOMIC_ACQUIRE) & what) && is_on_disk(fd, suffix)) {
        __atomic_fetch_add(&hung, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&hanging, __ATOMIC_ACQUIRE) & what)
            usleep(1000);
        __atomic_fetch_sub(&hung, 1, __ATOMIC_ACQ_REL);
    }
    errno = saved;
}

ssize_t
write(int fd, const void *data, size_t size)
{
    hang_on_disk(HANG_SEGMENT, fd, ".sqt");
    return syscall(SYS_write, fd, data, size);
}

int
openat(int directory, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (directory != AT_FDCWD)
        hang_on_disk(HANG_OPEN, directory, "");
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int
unlinkat(int directory, const char *path, int flags)
{
    hang_on_disk(HANG_UNLINK, directory, "");
    return (int)syscall(SYS_unlinkat, directory, path, flags);
}

int
fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *const argument = va_arg(args, void *);
    va_end(args);
    if (__atomic_load_n(&no_locks, __ATOMIC_ACQUIRE) && (command == F_OFD_SETLK || command == F_OFD_GETLK)) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

/* ---- the tests ---- */

static void
hang(const struct place *place, unsigned what)
{
    disk = place->directory;
    sqt_patience_ns = patience_ns;
    __atomic_store_n(&hanging, what, __ATOMIC_RELEASE);
}

static void
answer(void)
{
    sqt_patience_ns = UINT64_C(30000000000); /* the machine may be busy */
    __atomic_store_n(&hanging, 0, __ATOMIC_RELEASE);
}

static void
until_hung(unsigned count)
{
    WAIT_WHILE(__atomic_load_n(&hung, __ATOMIC_ACQUIRE) < count);
    assert_int_equal(__atomic_load_n(&hung, __ATOMIC_ACQUIRE), count);
}

/* The disk answers, and what was left behind is done. */
static void
until_released(void)
{
    answer();
    POLL_WHILE(sqt_has_trace());
    assert_false(sqt_has_trace());
}

static unsigned
left_behind(void)
{
    struct sqt_status status;
    sqt_get_status(&status);
    return status.left_behind;
}

/* What the main thread does takes less than a second. */
#define QUICKLY(what) \
    do { \
        const double begin_s = now_s(); \
        what; \
        const double took_s = now_s() - begin_s; \
        if (took_s > 1) \
            fail_msg("%s:%d: %s took %.3f s", __FILE__, __LINE__, #what, took_s); \
    } while (0)

static double
now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
until_tracing(void)
{
    POLL_WHILE(!sqt_groups);
    assert_true(sqt_groups != 0);
}

/* As Squid does it when the directive is there, or is not. */
static void
reconfigure(const struct place *place, int with)
{
    struct sqt_config config;
    if (with)
        place_config(place, NULL, &config);
    else
        sqt_config_init(&config);
    sqt_reconfigure(&config, &place_process, place_log);
}

/* The base of the ring in the directory that is not `known`, or of the only one. */
static void
base_of_ring(const struct place *place, const char *known, char base[200])
{
    base[0] = '\0';
    DIR *const dir = opendir(place->directory);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const char *const suffix = strstr(entry->d_name, ".ring");
        if (!suffix || (known && strncmp(entry->d_name, known, strlen(known)) == 0))
            continue;
        assert_string_equal(base, "");
        snprintf(base, 200, "%.*s", (int)(suffix - entry->d_name), entry->d_name);
    }
    closedir(dir);
    assert_string_not_equal(base, "");
}

/* The trace of that base has these, and START and STOP, once each. */
static void
check_account(const struct place *place, const char *base, uint64_t emitted)
{
    struct decoded d;
    decode(&d, place->directory, base);
    assert_int_equal(d.first, 0);
    assert_int_equal(d.count - d.marks + d.totals.lost, emitted);
    assert_int_equal(d.ends, d.segments);
    decode_free(&d);
}

static void
a_stop_leaves_a_hanging_flusher_behind(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    uint64_t emitted = emit_mixed(0, 1000);
    wait_flushed();
    hang(place, HANG_SEGMENT);
    emitted += emit_mixed(1000, 1000);
    until_hung(1);
    QUICKLY(sqt_rotate());
    QUICKLY(sqt_poll());
    place_said[0] = '\0';
    QUICKLY(sqt_stop());
    assert_non_null(strstr(place_said, "WARNING: sqtrace: left the flusher behind"));
    assert_string_equal(strchr(place_said, '\n'), "\n"); /* one line */
    assert_int_equal(left_behind(), 1);
    assert_int_equal(sqt_groups, 0);
    QUICKLY(sqt_stop());
    QUICKLY(sqt_poll());
    until_released();
    assert_non_null(strstr(place_said, "has written the rest"));
    assert_int_equal(left_behind(), 0);
    assert_int_equal(place_count(place->ringdir, ""), 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
    check_account(place, NULL, emitted + 3); /* ROTATE */
}

/* Begins a trace, lets its flusher hang with `more` records in the ring, and leaves it behind.  Returns the records. */
static uint64_t
leave_one_behind(const struct place *place, unsigned more)
{
    const unsigned before = __atomic_load_n(&hung, __ATOMIC_ACQUIRE);
    reconfigure(place, 1);
    until_tracing();
    hang(place, HANG_SEGMENT);
    const uint64_t emitted = emit_mixed(0, more);
    until_hung(before + 1);
    QUICKLY(reconfigure(place, 0));
    return emitted;
}

static void
the_next_trace_shares_nothing_with_it(void **state)
{
    struct place *const place = *state;
    char first[200], second[200];
    place_said[0] = '\0';
    const uint64_t emitted = leave_one_behind(place, 40000);
    base_of_ring(place, NULL, first);
    QUICKLY(reconfigure(place, 1));
    until_tracing();
    base_of_ring(place, first, second);
    const uint64_t others = emit_mixed(0, 30000);
    until_hung(2);
    QUICKLY(sqt_rotate());
    QUICKLY(reconfigure(place, 1));
    QUICKLY(sqt_poll());
    QUICKLY(reconfigure(place, 0));
    assert_int_equal(left_behind(), 2);
    until_released();
    assert_int_equal(place_count(place->ringdir, ""), 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
    check_account(place, first, emitted + 2);
    check_account(place, second, others + 4); /* ROTATE and RECONFIGURE */
}

/* The next trace goes on while the one before it still hangs, and nothing of either is lost. */
static void
the_one_left_behind_ends_beside_the_next(void **state)
{
    struct place *const place = *state;
    char first[200], second[200];
    place_said[0] = '\0';
    const uint64_t emitted = leave_one_behind(place, 2000);
    base_of_ring(place, NULL, first);
    reconfigure(place, 1);
    until_tracing();
    base_of_ring(place, first, second);
    uint64_t others = emit_mixed(0, 30000);
    answer();
    POLL_WHILE(left_behind());
    assert_int_equal(left_behind(), 0);
    others += emit_mixed(30000, 1000);
    reconfigure(place, 0);
    check_account(place, first, emitted + 2);
    check_account(place, second, others + 2);
}

static void
no_more_than_two_are_left_behind(void **state)
{
    struct place *const place = *state;
    place_said[0] = '\0';
    leave_one_behind(place, 100);
    leave_one_behind(place, 100);
    place_said[0] = '\0';
    QUICKLY(reconfigure(place, 1));
    assert_string_equal(place_said, "WARNING: sqtrace: two traces that were left behind still wait for their disks; "
                                    "tracing is off\n");
    assert_int_equal(sqt_groups, 0);
    assert_int_equal(place_count(place->ringdir, ".ring"), 2);
    until_released();
    reconfigure(place, 1);
    assert_true(sqt_groups != 0);
}

/* Where there are no locks, a heartbeat proves life, and a flusher that hangs has none. */
static void
the_next_trace_does_not_take_its_ring(void **state)
{
    struct place *const place = *state;
    char ring[300], first[200];
    place_said[0] = '\0';
    __atomic_store_n(&no_locks, 1, __ATOMIC_RELEASE);
    const uint64_t emitted = leave_one_behind(place, 2000);
    base_of_ring(place, NULL, first);
    place_only(ring, sizeof(ring), place->ringdir, ".ring");
    const uint64_t stale = 1;
    const int fd = open(ring, O_WRONLY);
    assert_int_equal(pwrite(fd, &stale, sizeof(stale), offsetof(struct sqt_ring_header, flusher.heartbeat_ns)),
                     sizeof(stale));
    close(fd);
    reconfigure(place, 1);
    until_tracing();
    emit_mixed(0, 10);
    until_hung(2); /* it has looked for leftovers before */
    assert_int_equal(access(ring, F_OK), 0);
    reconfigure(place, 0);
    until_released();
    __atomic_store_n(&no_locks, 0, __ATOMIC_RELEASE);
    check_account(place, first, emitted + 2);
    assert_null(strstr(place_said, "an earlier process left"));
}

static void
tracing_begins_when_the_directory_answers(void **state)
{
    struct place *const place = *state;
    struct sqt_status status;
    place_said[0] = '\0';
    hang(place, HANG_OPEN);
    QUICKLY(reconfigure(place, 1));
    assert_non_null(strstr(place_said, " does not answer; tracing begins when it does\n"));
    assert_int_equal(sqt_groups, 0);
    assert_true(sqt_has_trace());
    sqt_get_status(&status);
    assert_string_equal(status.state, "starting: the directory does not answer");
    QUICKLY(sqt_poll());
    QUICKLY(sqt_rotate());
    QUICKLY(reconfigure(place, 1));
    answer();
    until_tracing();
    assert_non_null(strstr(place_said, "sqtrace: tracing into "));
    const uint64_t emitted = emit_mixed(0, 1000);
    reconfigure(place, 0);
    check_account(place, NULL, emitted + 2);
}

static void
a_trace_that_never_began_leaves_nothing(void **state)
{
    struct place *const place = *state;
    place_said[0] = '\0';
    hang(place, HANG_OPEN);
    QUICKLY(reconfigure(place, 1));
    QUICKLY(reconfigure(place, 0));
    assert_non_null(strstr(place_said, "left a trace behind that never began"));
    assert_int_equal(left_behind(), 1);
    until_released();
    assert_int_equal(place_count(place->ringdir, ""), 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
    assert_int_equal(place_count(place->directory, ".sqt"), 0);
}

static void
a_removal_that_hangs_holds_nobody(void **state)
{
    struct place *const place = *state;
    reconfigure(place, 1);
    const uint64_t emitted = emit_mixed(0, 1000);
    hang(place, HANG_UNLINK);
    QUICKLY(reconfigure(place, 0));
    assert_int_equal(left_behind(), 1);
    until_released();
    assert_int_equal(place_count(place->directory, ".ring"), 0);
    check_account(place, NULL, emitted + 2);
}

/* As with SIGKILL. */
static void
the_next_start_adopts_what_was_left_behind(void **state)
{
    struct place *const place = *state;
    char first[200];
    int result;
    const pid_t child = fork();
    if (child == 0) {
        place_said[0] = '\0';
        _exit(leave_one_behind(place, 30000) == 42000 ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    base_of_ring(place, NULL, first);
    assert_int_equal(place_start(place, NULL), 0);
    WAIT_WHILE(place_count(place->ringdir, ".ring") > 1);
    sqt_stop();
    check_account(place, first, 42000 + 2);
    assert_int_equal(place_count(place->ringdir, ""), 0);
}

/* A child that lives on must not prove that its parent's traces do. */
static void
a_forked_child_holds_no_trace(void **state)
{
    struct place *const place = *state;
    char ring[300];
    place_said[0] = '\0';
    leave_one_behind(place, 100);
    place_only(ring, sizeof(ring), place->ringdir, ".ring");
    const pid_t child = fork();
    if (child == 0) {
        char line[600], link[600];
        int held = sqt_has_trace();
        FILE *const maps = fopen("/proc/self/maps", "re");
        while (maps && fgets(line, sizeof(line), maps))
            held += strstr(line, ring) != NULL;
        for (int fd = 3; fd < 100; ++fd) {
            snprintf(line, sizeof(line), "/proc/self/fd/%d", fd);
            const ssize_t size = readlink(line, link, sizeof(link) - 1);
            link[size < 0 ? 0 : size] = '\0';
            held += strstr(link, ring) != NULL;
        }
        _exit(held);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static int
teardown(void **state)
{
    answer();
    __atomic_store_n(&no_locks, 0, __ATOMIC_RELEASE);
    sqt_stop();
    POLL_WHILE(sqt_has_trace());
    return place_teardown(state);
}

static int
setup(void **state)
{
    if (!patience_ns)
        patience_ns = sqt_patience_ns;
    assert_true(patience_ns < UINT64_C(1000000000));
    return place_setup(state);
}

#define HANG_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        HANG_TEST(a_stop_leaves_a_hanging_flusher_behind),     HANG_TEST(the_next_trace_shares_nothing_with_it),
        HANG_TEST(the_one_left_behind_ends_beside_the_next),   HANG_TEST(no_more_than_two_are_left_behind),
        HANG_TEST(the_next_trace_does_not_take_its_ring),      HANG_TEST(tracing_begins_when_the_directory_answers),
        HANG_TEST(a_trace_that_never_began_leaves_nothing),    HANG_TEST(a_removal_that_hangs_holds_nobody),
        HANG_TEST(the_next_start_adopts_what_was_left_behind), HANG_TEST(a_forked_child_holds_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
