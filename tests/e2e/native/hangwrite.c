/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hangwrite.c - preloaded: write() to a segment of a trace hangs while the file that SQT_HANG names is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
is_segment(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof(path) - 1);
    return length > 4 && memcmp(path + length - 4, ".sqt", 4) == 0;
}

ssize_t
write(int fd, const void *data, size_t size)
{
    static ssize_t (*next)(int, const void *, size_t);
    const char *const flag = getenv("SQT_HANG");
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "write");
    if (flag && is_segment(fd))
        while (access(flag, F_OK) == 0)
            usleep(1000);
    return next(fd, data, size);
}
