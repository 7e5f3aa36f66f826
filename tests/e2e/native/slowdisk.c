/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slowdisk.c - puts a delay under a call for some files, for LD_PRELOAD.
 *
 *   SLOWDISK_PATH   calls for files whose path holds this text wait
 *   SLOWDISK_MS     so many milliseconds
 *   SLOWDISK_IF     if given, only while this file exists
 *   SLOWDISK_CALL   read (if not given), write, open, unlink, or fcntl, which aufs calls when it is told that a file is open
 *   SLOWDISK_ONCE   a file: while it exists only one call waits, and removes it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *
setting(const char *name)
{
    const char *const value = getenv(name);
    return value ? value : "";
}

static void
wait_if_slow(const char *call, const char *path)
{
    const char *const wanted = setting("SLOWDISK_PATH"), *const slow = setting("SLOWDISK_CALL");
    const long milliseconds = atol(setting("SLOWDISK_MS"));
    const int saved = errno; /* callers look at it even after a success */
    if (!*wanted || milliseconds <= 0 || strcmp(*slow ? slow : "read", call) != 0)
        return;
    if (!strstr(path, wanted) || strstr(path, "swap.state"))
        return;
    const struct timespec delay = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    if ((!*setting("SLOWDISK_IF") || access(setting("SLOWDISK_IF"), F_OK) == 0) &&
        (!*setting("SLOWDISK_ONCE") || unlink(setting("SLOWDISK_ONCE")) == 0))
        nanosleep(&delay, NULL);
    errno = saved;
}

static void
wait_if_descriptor_slow(const char *call, int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    wait_if_slow(call, path);
}

ssize_t
read(int fd, void *buffer, size_t size)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "read");
    wait_if_descriptor_slow("read", fd);
    return next(fd, buffer, size);
}

ssize_t
pread(int fd, void *buffer, size_t size, off_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pread");
    wait_if_descriptor_slow("read", fd);
    return next(fd, buffer, size, offset);
}

ssize_t
pread64(int fd, void *buffer, size_t size, off64_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pread64");
    wait_if_descriptor_slow("read", fd);
    return next(fd, buffer, size, offset);
}

ssize_t
write(int fd, const void *buffer, size_t size)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "write");
    wait_if_descriptor_slow("write", fd);
    return next(fd, buffer, size);
}

int
open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    wait_if_slow("open", path);
    return next(path, flags, mode);
}

int
unlink(const char *path)
{
    static int (*next)(const char *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "unlink");
    wait_if_slow("unlink", path);
    return next(path);
}

/* What unlinkd calls. */
int
remove(const char *path)
{
    static int (*next)(const char *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "remove");
    wait_if_slow("unlink", path);
    return next(path);
}

static int
slow_fcntl(const char *name, int fd, int command, long argument)
{
    int (*const next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    if (command == F_SETFD)
        wait_if_descriptor_slow("fcntl", fd);
    return next(fd, command, argument);
}

int
fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    const long argument = va_arg(more, long);
    va_end(more);
    return slow_fcntl("fcntl", fd, command, argument);
}

int
fcntl64(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    const long argument = va_arg(more, long);
    va_end(more);
    return slow_fcntl("fcntl64", fd, command, argument);
}
