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
    DIR *const list = fd >= 0 ? fdopendir(fd) : NULL;
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
    out->folder = open(out->name, OUT_FLAGS);
    if (out->folder < 0)
        return out_fail(out, "cannot be opened");
    if (flock(out->folder, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? program_fail(&out->voice, "%s: another sqtrace-snapshot is at work in it", out->name)
                   : out_fail(out, "cannot be locked");
    return out_clear(out) == 0 ? 0 : out_fail(out, "cannot remove " SNAPSHOT_MAKING ", which a killed run left");
}

int64_t
snapshot_out_count(const struct snapshot_out *out)
{
    const int fd = openat(out->folder, ".", OUT_FLAGS);
    DIR *const list = fd >= 0 ? fdopendir(fd) : NULL;
    int64_t count = 0;
    if (!list) {
        if (fd >= 0)
            close(fd);
        return INT64_MAX;
    }
    for (const struct dirent *one; (one = readdir(list)) != NULL;)
        count += strncmp(one->d_name, "snapshot-", 9) == 0;
    closedir(list);
    return count;
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
    struct stat st;
    char day[32];
    gmtime_r(&second, &tm);
    strftime(day, sizeof(day), "%Y%m%dT%H%M%SZ", &tm);
    snprintf(name, 64, "snapshot-%s", day);
    for (unsigned i = 2; fstatat(out->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0; ++i)
        snprintf(name, 64, "snapshot-%s-%u", day, i);
    if (syncfs(out->made) != 0 || renameat(out->folder, SNAPSHOT_MAKING, out->folder, name) != 0 ||
        fsync(out->folder) != 0)
        return out_fail(out, "the snapshot cannot be written");
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
snapshot_out_create(struct snapshot_out *out, const char *name)
{
    return openat(out->made, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
}

int
snapshot_out_write(int fd, const void *bytes, size_t size, uint64_t at)
{
    const char *from = bytes;
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
