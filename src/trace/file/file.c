/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * file.c - see file-internal.h.
 */
#define _GNU_SOURCE /* OFD locks */
#include "file-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error-internal.h"

/* Squid is root for microseconds at a time, and for some milliseconds while it is reconfigured. */
#define OWNER_TRIES 200 /* a millisecond apart */

/* The last file of this thread that got the wrong owner; empty: the last one was made or failed otherwise. */
static _Thread_local char misowned[256];

int
sqt_fail(struct sqt_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return -1;
}

int
sqt_create_owned(int directory, const char *name, int flags, mode_t mode, uid_t owner)
{
    const struct timespec pause = {0, 1000000};
    uid_t found = owner;
    misowned[0] = '\0';
    for (unsigned i = 0; i < OWNER_TRIES; ++i) {
        const int fd = openat(directory, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0)
            return -1;
        struct stat st;
        if (fstat(fd, &st) == 0) {
            if (st.st_uid == owner) {
                fchmod(fd, mode); /* a strict umask must not shut out the group */
                return fd;
            }
            found = st.st_uid;
        }
        unlinkat(directory, name, 0);
        close(fd);
        nanosleep(&pause, NULL);
    }
    snprintf(misowned, sizeof(misowned),
             "%.100s belongs to user %u when it is made, not to user %u as Squid's files should; "
             "does the file system map users?",
             name, (unsigned)found, (unsigned)owner);
    errno = EPERM;
    return -1;
}

const char *
sqt_create_error(int cause)
{
    return cause == EPERM && misowned[0] ? misowned : strerror(cause);
}

int
sqt_write_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size) {
        const ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) {
            errno = ENOSPC;
            return -1;
        }
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static int
file_lock(int fd, struct flock lock)
{
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    if (errno == EACCES)
        errno = EPERM; /* a profile's veto, not another owner */
    return -1;
}

int
sqt_lock(int fd)
{
    return file_lock(fd, (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET});
}

int
sqt_lock_shared(int fd)
{
    return file_lock(fd, (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET});
}

int
sqt_lock_byte(int fd, off_t at)
{
    return file_lock(fd, (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1});
}

int
sqt_is_locked(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET}; /* a reader's lock does not conflict with it */
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0)
        return -1;
    return lock.l_type != F_UNLCK;
}

int
sqt_same_file(int directory, const char *name, int fd)
{
    struct stat named, opened;
    return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

DIR *
sqt_open_list(int directory)
{
    /* A descriptor of its own, as the list takes it over and has a position. */
    const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const list = fd < 0 ? NULL : fdopendir(fd);
    if (!list && fd >= 0)
        close(fd);
    return list;
}
