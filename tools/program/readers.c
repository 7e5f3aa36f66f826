/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * readers.c - see readers.h.
 */
#include "readers.h"

#include <errno.h>
#include <unistd.h>

/* The mode of a file that belongs to another group than the one that may read it. */
static mode_t
readers_without_group(mode_t mode)
{
    return mode & S_IROTH ? mode : mode & ~(mode_t)S_IRGRP;
}

int
program_give_readers(int fd, const struct stat *like)
{
    struct stat st;
    mode_t mode = like->st_mode & (S_IRGRP | S_IROTH);
    if (fstat(fd, &st) != 0)
        return -1;
    const int grouped = st.st_gid == like->st_gid || fchown(fd, (uid_t)-1, like->st_gid) == 0;
    const int cause = errno;
    if (!grouped)
        mode = readers_without_group(mode);
    if (fchmod(fd, S_IRUSR | S_IWUSR | mode) != 0)
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
