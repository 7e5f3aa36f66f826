/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slowdisk.c - puts a delay under the reads of some files, for LD_PRELOAD.
 *
 *   SLOWDISK_PATH   reads of files whose path holds this text wait
 *   SLOWDISK_MS     so many milliseconds
 *   SLOWDISK_IF     if given, only while this file exists
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
wait_if_slow(int fd)
{
    static const char *wanted;
    static long milliseconds;
    if (!wanted) {
        const char *ms = getenv("SLOWDISK_MS");
        milliseconds = ms ? atol(ms) : 0;
        wanted = getenv("SLOWDISK_PATH") ? getenv("SLOWDISK_PATH") : "";
    }
    const char *const condition = getenv("SLOWDISK_IF");
    if (!*wanted || milliseconds <= 0 || (condition && access(condition, F_OK) != 0))
        return;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    if (!strstr(path, wanted) || strstr(path, "swap.state"))
        return;
    const struct timespec delay = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&delay, NULL);
}

ssize_t
read(int fd, void *buffer, size_t size)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "read");
    wait_if_slow(fd);
    return next(fd, buffer, size);
}

ssize_t
pread(int fd, void *buffer, size_t size, off_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pread");
    wait_if_slow(fd);
    return next(fd, buffer, size, offset);
}

ssize_t
pread64(int fd, void *buffer, size_t size, off64_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pread64");
    wait_if_slow(fd);
    return next(fd, buffer, size, offset);
}
