/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failaccept.c - preloaded: accept() fails with ENFILE while the file exists that FAILACCEPT names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int
accept(int fd, struct sockaddr *restrict address, socklen_t *restrict size)
{
    static int (*next)(int, struct sockaddr *, socklen_t *);
    const char *const path = getenv("FAILACCEPT");
    if (path && access(path, F_OK) == 0) {
        errno = ENFILE;
        return -1;
    }
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "accept");
    return next(fd, address, size);
}
