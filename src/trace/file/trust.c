/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trust.c - see trust-internal.h.
 */
#include "trust-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
sqt_trusted(uid_t uid, uid_t owner)
{
    return uid == owner || uid == 0;
}

/* Looks at the descriptor and at whose file it is. */
static int
trust_owner(int fd, struct stat *st, uid_t owner, struct sqt_error *error)
{
    if (fstat(fd, st) != 0)
        return sqt_fail(error, "%s", strerror(errno));
    if (sqt_trusted(st->st_uid, owner))
        return 0;
    return sqt_fail(error, "it belongs to uid %u; expected is uid %u, Squid's user%s", (unsigned)st->st_uid,
                    (unsigned)owner, owner ? ", or root" : "");
}

int
sqt_trust_directory(int fd, uid_t owner, int sticky, struct sqt_error *error)
{
    struct stat st;
    if (trust_owner(fd, &st, owner, error) != 0)
        return -1;
    if (!(st.st_mode & S_IWOTH) || (sticky && st.st_mode & S_ISVTX))
        return 0;
    return sqt_fail(error, "everybody may write there (mode %04o); expected is a directory that others cannot write%s",
                    (unsigned)st.st_mode & 07777, sticky ? ", or one with the sticky bit" : " (chmod o-w)");
}

static int
trust_writers(int fd, struct stat *st, uid_t owner, mode_t forbidden, struct sqt_error *error)
{
    if (trust_owner(fd, st, owner, error) != 0)
        return -1;
    if (!S_ISREG(st->st_mode))
        return sqt_fail(error, "it is not a regular file");
    if (st->st_mode & forbidden)
        return sqt_fail(error, "its mode is %04o; expected is at most %04o", (unsigned)st->st_mode & 07777,
                        0666 & ~(unsigned)forbidden);
    return 0;
}

int
sqt_trust_content(int fd, uid_t owner, struct sqt_error *error)
{
    struct stat st;
    return trust_writers(fd, &st, owner, S_IWGRP | S_IWOTH, error);
}

int
sqt_trust_file(int fd, uid_t owner, mode_t forbidden, struct sqt_error *error)
{
    struct stat st;
    if (trust_writers(fd, &st, owner, forbidden, error) != 0)
        return -1;
    if (st.st_nlink > 1)
        return sqt_fail(error, "it has %lu names (hard links); expected is one", (unsigned long)st.st_nlink);
    return 0;
}

int
sqt_open_directory(const char *path, uid_t owner, int sticky, struct sqt_error *error)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sqt_fail(error, "%s", strerror(errno));
    if (sqt_trust_directory(fd, owner, sticky, error) == 0)
        return fd;
    close(fd);
    return -1;
}
