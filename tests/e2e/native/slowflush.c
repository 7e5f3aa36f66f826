/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slowflush.c - widens the moments in which a kill would hurt: after each write to a segment it sleeps 3 ms, and every
 * third write of more than 4 KB is cut in two with a sleep between.  For LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int
is_segment(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return strstr(path, ".sqt") != NULL;
}

ssize_t
write(int fd, const void *buffer, size_t size)
{
    static ssize_t (*next)(int, const void *, size_t);
    static unsigned count;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "write");
    if (!is_segment(fd))
        return next(fd, buffer, size);
    const int cut = size > 4096 && ++count % 3 == 0;
    const ssize_t written = next(fd, buffer, cut ? size / 2 : size);
    const struct timespec delay = {0, 3000000};
    nanosleep(&delay, NULL);
    return written;
}
