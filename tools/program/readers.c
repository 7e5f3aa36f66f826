/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * readers.c - see readers.h.
 */
#include "readers.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <stdint.h>
#include <sys/xattr.h>
#include <unistd.h>

#define READERS_ENTRIES 256

/* An ACL as the kernel has it; a file without one has no entries. */
struct readers_acl {
    struct posix_acl_xattr_header header;
    struct posix_acl_xattr_entry entries[READERS_ENTRIES];
};

/* Returns how many entries there are; 0: none; more than READERS_ENTRIES: they are not known. */
static size_t
readers_acl(int fd, struct readers_acl *acl)
{
    const ssize_t size = fgetxattr(fd, XATTR_NAME_POSIX_ACL_ACCESS, acl, sizeof(*acl));
    if (size < 0)
        return errno == ERANGE ? READERS_ENTRIES + 1 : 0;
    return size > (ssize_t)sizeof(acl->header) ? ((size_t)size - sizeof(acl->header)) / sizeof(*acl->entries) : 0;
}

int
program_look_readers(int fd, struct stat *st)
{
    struct readers_acl acl;
    if (fstat(fd, st) != 0)
        return -1;
    const size_t count = readers_acl(fd, &acl);
    for (size_t i = 0; i < count && count <= READERS_ENTRIES; ++i)
        if (le16toh(acl.entries[i].e_tag) == ACL_GROUP_OBJ)
            st->st_mode &= ~(mode_t)S_IRWXG | (mode_t)(le16toh(acl.entries[i].e_perm) & 7) << 3;
    return 0;
}

/* What an entry of the ACL becomes in a file that may be read only; its owner, group and others have it from the mode. */
static unsigned
readers_permissions(const struct posix_acl_xattr_entry *entry, mode_t mode)
{
    switch (le16toh(entry->e_tag)) {
    case ACL_USER_OBJ:
        return mode >> 6 & 7;
    case ACL_GROUP_OBJ:
        return mode >> 3 & 7;
    case ACL_OTHER:
        return mode & 7;
    case ACL_MASK:
        return ACL_READ;
    default:
        return le16toh(entry->e_perm) & ACL_READ;
    }
}

/* Sets the mode, and leaves to those whom the ACL names what they may read; not named: takes the ACL away. */
static int
readers_set(int fd, mode_t mode, int named)
{
    struct readers_acl acl;
    const size_t count = readers_acl(fd, &acl);
    if (count && (!named || count > READERS_ENTRIES) && fremovexattr(fd, XATTR_NAME_POSIX_ACL_ACCESS) != 0)
        return -1;
    if (!count || !named || count > READERS_ENTRIES)
        return fchmod(fd, mode);
    for (size_t i = 0; i < count; ++i)
        acl.entries[i].e_perm = htole16((uint16_t)readers_permissions(&acl.entries[i], mode));
    const size_t size = sizeof(acl.header) + count * sizeof(*acl.entries);
    return fsetxattr(fd, XATTR_NAME_POSIX_ACL_ACCESS, &acl, size, 0) == 0 ? 0 : fchmod(fd, mode);
}

/* The mode of a file that belongs to another group than the one that may read it. */
static mode_t
readers_without_group(mode_t mode)
{
    return mode & S_IROTH ? mode : mode & ~(mode_t)S_IRGRP;
}

int
program_give_readers(int fd, const struct stat *like, int named)
{
    struct stat st;
    mode_t mode = like->st_mode & (S_IRGRP | S_IROTH);
    if (fstat(fd, &st) != 0)
        return -1;
    const int grouped = st.st_gid == like->st_gid || fchown(fd, (uid_t)-1, like->st_gid) == 0;
    const int cause = errno;
    if (!grouped)
        mode = readers_without_group(mode);
    if (readers_set(fd, S_IRUSR | S_IWUSR | mode, named) != 0)
        return -1;
    errno = cause;
    return grouped ? 0 : -1;
}

void
program_share_readers(struct stat *all, const struct stat *one)
{
    if (all->st_gid != one->st_gid)
        all->st_mode = readers_without_group(all->st_mode) & readers_without_group(one->st_mode);
    else
        all->st_mode &= one->st_mode;
}
