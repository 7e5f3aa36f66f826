/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * open.c - see open.h.
 */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* errno of a refusal.  open() returns none of them for a file that may be opened. */
enum {
    NOT_REGULAR = EINVAL,
    OTHER_OWNER = EOWNERDEAD,
    OTHER_NAMES = EMLINK,
    OTHERS_WRITE = ENOTRECOVERABLE,
};

/* What linux/magic.h does not name. */
#define OPEN_CONFIGFS 0x62656570
#define OPEN_FUSECTL 0x65735543
#define OPEN_NFSD 0x6e667364

static int
open_refuse(int fd, int error)
{
    close(fd);
    errno = error;
    return -1;
}

/* Files of /proc, /sys and the like call themselves regular.  Some wait, and some give what they have to one reader only, as
 * the kernel's messages and events. */
static int
open_is_of_kernel(int fd)
{
    static const uint32_t kinds[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,        TRACEFS_MAGIC,       DEBUGFS_MAGIC,
                                     SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
                                     PSTOREFS_MAGIC,   EFIVARFS_MAGIC,     SELINUX_MAGIC,       BINFMTFS_MAGIC,
                                     OPEN_CONFIGFS,    OPEN_FUSECTL,       OPEN_NFSD,           RDTGROUP_SUPER_MAGIC};
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return 0;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i)
        if ((uint32_t)fs.f_type == kinds[i]) /* which is signed on some machines */
            return 1;
    return 0;
}

int
sqt_open_is_regular(int fd, const struct stat *st)
{
    return S_ISREG(st->st_mode) && !open_is_of_kernel(fd);
}

int
sqt_open_regular(int at, const char *name, int flags, struct stat *st)
{
    struct stat own;
    if (!st)
        st = &own;
    const int fd = openat(at, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) != 0)
        return open_refuse(fd, errno);
    return sqt_open_is_regular(fd, st) ? fd : open_refuse(fd, NOT_REGULAR);
}

int
sqt_open_owned(int at, const char *name, int flags, uid_t owner, struct stat *st)
{
    struct stat own;
    if (!st)
        st = &own;
    const int fd = sqt_open_regular(at, name, flags | O_NOFOLLOW, st);
    if (fd < 0)
        return -1;
    if (st->st_uid != owner)
        return open_refuse(fd, OTHER_OWNER);
    if (st->st_nlink != 1)
        return open_refuse(fd, OTHER_NAMES);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return open_refuse(fd, OTHERS_WRITE);
    return fd;
}

int
sqt_open_others_write(int error)
{
    return error == OTHERS_WRITE;
}

const char *
sqt_open_refusal(int error)
{
    switch (error) {
    case NOT_REGULAR:
    case ENXIO: /* a pipe without a reader, a socket */
        return "it is not a regular file";
    case ELOOP:
        return "it is a symbolic link";
    case OTHER_OWNER:
        return "it belongs to another user";
    case OTHER_NAMES:
        return "it has other names (hard links)";
    case OTHERS_WRITE:
        return "others may write to it";
    default:
        return strerror(error);
    }
}
