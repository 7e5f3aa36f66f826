/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_disk.c - each call on the trace's disk is made by the disk process: a thread of Squid that made one could sleep
 * uninterruptibly, and would hold setresuid() and the end of Squid.
 *
 * This program's own open(), openat(), fstat() and so on stand before the C library's.  They note the first call on the
 * trace directory that comes from the flusher's thread, or from the main thread within a function of libsqtrace.
 */
#define _GNU_SOURCE
#include "trace_leftovers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/file/file-internal.h"

/* Where there can be no disk process, threads of Squid do its work. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define APART 1
#else
#define APART 0
#endif

static char disk[PATH_MAX]; /* what a path on the disk begins with */
static int watching;        /* calls are noted; a thread that was left behind may look at it at any time */
static pid_t squid;         /* this process */
static __thread int inside; /* a function of libsqtrace */
static const char *wrong;   /* the first call that was made by a thread of this process */
static unsigned right;      /* calls on the disk by another process */

static int
is_path_on_disk(const char *path)
{
    return __atomic_load_n(&watching, __ATOMIC_ACQUIRE) && strncmp(path, disk, strlen(disk)) == 0;
}

static int
is_on_disk(int fd)
{
    char link[64], path[PATH_MAX];
    if (!__atomic_load_n(&watching, __ATOMIC_ACQUIRE))
        return 0;
    snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size < 0 ? 0 : size] = '\0';
    return is_path_on_disk(path);
}

/* A call on the disk. */
static void
note(const char *call, int on_disk)
{
    if (!on_disk)
        return;
    if (syscall(SYS_getpid) != squid)
        __atomic_fetch_add(&right, 1, __ATOMIC_RELAXED);
    else if ((inside || syscall(SYS_gettid) != squid) && !__atomic_load_n(&wrong, __ATOMIC_RELAXED))
        __atomic_store_n(&wrong, call, __ATOMIC_RELEASE);
}

static void
note_fd(const char *call, int fd)
{
    const int saved = errno;
    note(call, is_on_disk(fd));
    errno = saved;
}

/* ---- instead of the C library's ---- */

int
open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    note("open", is_path_on_disk(path));
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
openat(int directory, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    note_fd("openat", directory);
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int
unlinkat(int directory, const char *path, int flags)
{
    note_fd("unlinkat", directory);
    return (int)syscall(SYS_unlinkat, directory, path, flags);
}

int
renameat(int from, const char *path, int to, const char *name)
{
    note_fd("renameat", to);
    return (int)syscall(SYS_renameat2, from, path, to, name, 0);
}

ssize_t
write(int fd, const void *data, size_t size)
{
    note_fd("write", fd);
    return syscall(SYS_write, fd, data, size);
}

ssize_t
pread(int fd, void *data, size_t size, off_t offset)
{
    note_fd("pread", fd);
    return syscall(SYS_pread64, fd, data, size, offset);
}

int
close(int fd)
{
    note_fd("close", fd);
    return (int)syscall(SYS_close, fd);
}

int
ftruncate(int fd, off_t size)
{
    note_fd("ftruncate", fd);
    return (int)syscall(SYS_ftruncate, fd, size);
}

int
fstat(int fd, struct stat *st)
{
    note_fd("fstat", fd);
    return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

struct dirent *
readdir(DIR *dir)
{
    static struct dirent *(*real)(DIR *);
    if (!real)
        real = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
    note_fd("readdir", dirfd(dir));
    return real(dir);
}

/* ---- the tests ---- */

/* What libsqtrace does in the main thread. */
#define SQUID(what) \
    do { \
        inside = 1; \
        what; \
        inside = 0; \
    } while (0)

static void
until_it_traces(void)
{
    for (unsigned i = 0; i < 10000 && !sqt_groups; ++i)
        usleep(1000);
    assert_int_not_equal(sqt_groups, 0);
}

/* Processes that are killed while they trace, all at once, so that none adopts another's ring. */
static void
leave_rings(const struct place *place, unsigned count)
{
    pid_t children[8];
    for (unsigned i = 0; i < count; ++i) {
        children[i] = fork();
        if (children[i] == 0) {
            if (place_start(place, NULL) == 0)
                emit_mixed(0, 1000);
            for (;;)
                pause();
        }
    }
    for (unsigned i = 0; i < 10000 && place_count(place->directory, ".ring") < count; ++i)
        usleep(1000);
    for (unsigned i = 0; i < count; ++i)
        kill(children[i], SIGSTOP);
    for (unsigned i = 0; i < count; ++i)
        kill(children[i], SIGKILL);
    for (unsigned i = 0; i < count; ++i)
        waitpid(children[i], NULL, 0);
    for (unsigned i = 0; i < 10000 && place_locked(place->directory) + place_locked(place->ringdir); ++i)
        usleep(1000);
    assert_int_equal(place_count(place->directory, ".ring"), count);
}

static void
until_no_pointers(const struct place *place, unsigned most)
{
    for (unsigned i = 0; i < 10000 && place_count(place->directory, ".ring") > most; ++i)
        usleep(1000);
    assert_true(place_count(place->directory, ".ring") <= most);
}

static void
watch(const struct place *place)
{
    squid = getpid();
    wrong = NULL;
    right = 0;
    snprintf(disk, sizeof(disk), "%s", place->directory);
    __atomic_store_n(&watching, 1, __ATOMIC_RELEASE);
}

static void
check(void)
{
    __atomic_store_n(&watching, 0, __ATOMIC_RELEASE);
    const char *const first = __atomic_load_n(&wrong, __ATOMIC_ACQUIRE);
    if (!APART) {
        assert_non_null(first);
        assert_int_equal(right, 0);
        return;
    }
    if (first)
        fail_msg("%s() on the trace's disk in a thread of Squid", first);
    assert_true(right > 20);
}

/* A start beside a ring that was left over, segments, a rotation, keep=, a step aside and a stop. */
static void
a_life(void **state)
{
    static const char *const words[] = {"segment=1MB", "keep=2MB", NULL};
    struct place *const place = *state;
    struct sqt_config config;
    leave_rings(place, 1);
    watch(place);
    SQUID(assert_int_equal(place_start(place, words), 0));
    until_it_traces();
    for (unsigned i = 0; i < 4; ++i) {
        SQUID(emit_mixed(100000 * i, 100000));
        SQUID(sqt_rotate());
        wait_flushed();
    }
    until_no_pointers(place, 1);
    place_config(place, NULL, &config);
    SQUID(sqt_reconfigure(&config, &place_process, place_log));
    SQUID(sqt_poll());
    SQUID(sqt_stop());
    check();
}

/* A start that finds too many rings makes none, and has them adopted. */
static void
a_start_that_only_adopts(void **state)
{
    struct place *const place = *state;
    leave_rings(place, 3);
    watch(place);
    SQUID(assert_int_not_equal(place_start(place, NULL), 0));
    until_no_pointers(place, 0);
    check();
}

static int
teardown(void **state)
{
    __atomic_store_n(&watching, 0, __ATOMIC_RELEASE);
    sqt_stop();
    return place_teardown(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_life, place_setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_that_only_adopts, place_setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
