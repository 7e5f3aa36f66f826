/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * out.c - the folder of snapshots; see snapshot.h.
 *
 * A snapshot is made in a folder that begins with a dot, and gets its name when it is whole.  The folder OUT is locked
 * meanwhile, so what stands there under that name at the start is of a run that was killed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "../program/readers.h"
#include "snapshot.h"

#define OUT_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static int
out_fail(struct snapshot_out *out, const char *what)
{
    return program_fail(&out->voice, "%s: %s: %s", out->name, what, strerror(errno));
}

/* Removes the folder that a snapshot is made in, if it is there. */
static int
out_clear(struct snapshot_out *out)
{
    const int fd = openat(out->folder, SNAPSHOT_MAKING, OUT_FLAGS | O_NOFOLLOW);
    DIR *const list = fd >= 0 ? sqt_fdopendir(fd) : NULL;
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (!list) {
        close(fd);
        return -1;
    }
    for (const struct dirent *one; (one = readdir(list)) != NULL;)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            unlinkat(fd, one->d_name, 0);
    closedir(list);
    return unlinkat(out->folder, SNAPSHOT_MAKING, AT_REMOVEDIR);
}

int
snapshot_out_open(struct snapshot_out *out)
{
    if (mkdir(out->name, 0750) != 0 && errno != EEXIST)
        return out_fail(out, "cannot be made");
    struct stat st;
    out->folder = open(out->name, OUT_FLAGS | O_NOFOLLOW);
    if (out->folder < 0 || fstat(out->folder, &st) != 0)
        return out_fail(out, "cannot be opened");
    if ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & (S_IWGRP | S_IWOTH))
        return program_fail(&out->voice, "%s: others may write to it; name a folder that only you can write to",
                            out->name);
    if (flock(out->folder, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? program_fail(&out->voice, "%s: another sqtrace-snapshot is at work in it", out->name)
                   : out_fail(out, "cannot be locked");
    return out_clear(out) == 0 ? 0 : out_fail(out, "cannot remove " SNAPSHOT_MAKING ", which a killed run left");
}

/* Adds what the files in an open folder take.  Closes it.  Returns 0, or -1 with errno. */
static int
out_measure(int fd, int64_t *files, int64_t *bytes)
{
    DIR *const list = fd >= 0 ? sqt_fdopendir(fd) : NULL;
    struct stat st;
    if (!list) {
        const int cause = errno;
        if (fd >= 0)
            close(fd);
        errno = cause;
        return -1;
    }
    for (const struct dirent *one; (one = readdir(list)) != NULL;)
        if (fstatat(fd, one->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
            ++*files;
            *bytes += (int64_t)st.st_blocks * 512;
        }
    closedir(list);
    return 0;
}

int
snapshot_out_count(struct snapshot_out *out, int64_t *count, int64_t *bytes)
{
    const int fd = openat(out->folder, ".", OUT_FLAGS);
    DIR *const list = fd >= 0 ? sqt_fdopendir(fd) : NULL;
    int64_t files = 0;
    *count = *bytes = 0;
    if (!list) {
        out_fail(out, "cannot be read");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (const struct dirent *one; (one = readdir(list)) != NULL;)
        if (strncmp(one->d_name, "snapshot-", 9) == 0) {
            ++*count;
            out_measure(openat(fd, one->d_name, OUT_FLAGS | O_NOFOLLOW), &files, bytes);
        }
    closedir(list);
    return 0;
}

int
snapshot_out_begin(struct snapshot_out *out)
{
    if (mkdirat(out->folder, SNAPSHOT_MAKING, 0750) == 0)
        out->made = openat(out->folder, SNAPSHOT_MAKING, OUT_FLAGS | O_NOFOLLOW);
    return out->made >= 0 ? 0 : out_fail(out, "no snapshot can be made in it");
}

int
snapshot_out_publish(struct snapshot_out *out, int64_t at, char name[64])
{
    const time_t second = (time_t)(at / 1000000000);
    struct tm tm;
    char day[32];
    gmtime_r(&second, &tm);
    strftime(day, sizeof(day), "%Y%m%dT%H%M%SZ", &tm);
    snprintf(name, 64, "snapshot-%s", day);
    out->files = out->bytes = 0;
    if (out_measure(openat(out->made, ".", OUT_FLAGS), &out->files, &out->bytes) != 0 || fsync(out->made) != 0)
        return out_fail(out, "the snapshot cannot be written");
    if (!out->files)
        return program_fail(&out->voice, "the trace has no file with records of that time");
    for (unsigned i = 2; renameat2(out->folder, SNAPSHOT_MAKING, out->folder, name, RENAME_NOREPLACE) != 0; ++i) {
        if (errno != EEXIST)
            return out_fail(out, "the snapshot cannot be given its name");
        snprintf(name, 64, "snapshot-%s-%u", day, i);
    }
    close(out->made);
    out->made = -1;
    fsync(out->folder);
    return 0;
}

void
snapshot_out_close(struct snapshot_out *out)
{
    if (out->made >= 0) {
        close(out->made);
        out_clear(out);
    }
    if (out->folder >= 0)
        close(out->folder);
}

int
snapshot_out_create(struct snapshot_out *out, const char *name, int like)
{
    struct stat st;
    const int fd = openat(out->made, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (program_look_readers(like, &st) == 0)
        program_give_readers(fd, &st, 1); /* else only its owner may read it */
    return fd;
}

int
snapshot_out_finish(int fd)
{
    const int failed = fsync(fd) != 0, cause = errno;
    if (close(fd) != 0)
        return -1;
    errno = cause;
    return failed ? -1 : 0;
}

int
snapshot_out_fail(struct snapshot_out *out, const char *name, int error)
{
    if (error == EDQUOT && out->full)
        return program_fail(&out->voice, "%s: its snapshots would take more than --total allows; none was made",
                            out->name);
    return program_fail(&out->voice, "%s/%s: cannot be written: %s", out->name, name, strerror(error));
}

int
snapshot_out_write(struct snapshot_out *out, int fd, const void *bytes, size_t size, uint64_t at)
{
    const char *from = bytes;
    if ((int64_t)size > out->room) {
        out->full = 1;
        errno = EDQUOT;
        return -1;
    }
    out->room -= (int64_t)size;
    while (size) {
        const ssize_t written = pwrite(fd, from, size, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        from += written;
        at += (uint64_t)written;
        size -= (size_t)written;
    }
    return 0;
}
