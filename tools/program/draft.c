/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * draft.c - see draft.h.
 */
#define _GNU_SOURCE /* renameat2, statx */
#include "draft.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* One a process: the end for want of memory has nothing to pass. */
static struct {
    char name[PATH_MAX], part[PATH_MAX]; /* part: empty without a draft */
    int folder;
} draft;

static int
draft_names(const char *name)
{
    size_t size = strlen(name);
    while (size > 1 && name[size - 1] == '/')
        --size;
    if (snprintf(draft.name, sizeof(draft.name), "%.*s", (int)size, name) < (int)sizeof(draft.name) &&
        snprintf(draft.part, sizeof(draft.part), "%.*s.part-XXXXXX", (int)size, name) < (int)sizeof(draft.part))
        return 0;
    draft.part[0] = '\0';
    errno = ENAMETOOLONG;
    return -1;
}

static mode_t
draft_mask(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

static int
draft_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

void
draft_drop(void)
{
    if (!draft.part[0])
        return;
    sqt_before_no_memory(NULL);
    if (!draft.folder)
        unlink(draft.part);
    else
        nftw(draft.part, draft_remove, 16, FTW_DEPTH | FTW_PHYS); /* it may stay where there is no memory at all */
    draft.part[0] = '\0';
}

/* Whoever interrupts the program wants no draft of a file.  A folder stays: removing it is not for a handler. */
static void
draft_interrupted(int number)
{
    if (draft.part[0] && !draft.folder)
        unlink(draft.part);
    signal(number, SIG_DFL);
    raise(number);
}

/* Unless the signal is handled, or ignored, already. */
static void
draft_watch(int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        signal(number, draft_interrupted);
}

static int
draft_begun(int fd, int folder)
{
    const int cause = errno;
    draft.folder = folder;
    if (fd >= 0) {
        sqt_before_no_memory(draft_drop);
        draft_watch(SIGHUP);
        draft_watch(SIGINT);
        draft_watch(SIGTERM);
    } else {
        draft.part[0] = '\0';
    }
    errno = cause;
    return fd;
}

/* Gives a draft the group and the mode of the file that it replaces, *old; NULL: it replaces none.  Returns 0 or -1. */
static int
draft_like(int fd, const struct stat *old)
{
    struct stat made;
    if (old && (fstat(fd, &made) != 0 || (made.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0)))
        return -1;
    return fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~draft_mask());
}

/* Whether a file is mounted at that name, as containers mount single files: no other one can get the name. */
static int
draft_is_mounted(const char *name)
{
    struct statx st;
    return statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

int
draft_file(const char *name, int in_place)
{
    struct stat st;
    const int there = lstat(name, &st) == 0;
    const int own = there && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid() &&
                    access(name, W_OK) == 0 && !draft_is_mounted(name);
    if (!in_place && (there ? own : errno == ENOENT) && draft_names(name) == 0) {
        const int fd = draft_begun(mkostemp(draft.part, O_CLOEXEC), 0);
        if (fd >= 0 ? draft_like(fd, there ? &st : NULL) == 0 : !there && errno != ENAMETOOLONG)
            return fd;
        if (fd >= 0) {
            close(fd);
            draft_drop();
        }
    }
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

int
draft_folder(const char *name)
{
    struct stat st;
    if (draft_names(name) != 0)
        return -1;
    if (lstat(draft.name, &st) == 0) {
        errno = EEXIST;
        return draft_begun(-1, 1);
    }
    if (!mkdtemp(draft.part))
        return draft_begun(-1, 1);
    const int fd = draft_begun(open(draft.part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 1);
    if (fd >= 0 && fstat(fd, &st) == 0) /* which may have the folder's group and its bit */
        fchmod(fd, (st.st_mode & S_ISGID) | (0777 & ~draft_mask()));
    return fd;
}

static int
draft_rename(void)
{
    if (!draft.folder)
        return rename(draft.part, draft.name);
    if (renameat2(AT_FDCWD, draft.part, AT_FDCWD, draft.name, RENAME_NOREPLACE) == 0)
        return 0;
    /* NFS and others know no flags.  Without them, nothing but an empty folder is replaced. */
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? rename(draft.part, draft.name) : -1;
}

int
draft_keep(void)
{
    if (!draft.part[0])
        return 0;
    if (draft_rename() != 0) {
        const int cause = errno;
        draft_drop();
        errno = cause;
        return -1;
    }
    sqt_before_no_memory(NULL);
    draft.part[0] = '\0';
    return 0;
}
