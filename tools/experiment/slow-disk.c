/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slow-disk.c - a disk with one arm: a FUSE file system that holds a file to put a loop device on.
 *
 *   slow-disk BYTES FOLDER MOUNTPOINT
 *
 * Serves until it is unmounted or gets SIGTERM.  MOUNTPOINT/disk is the disk, of BYTES bytes, which are kept in a file
 * without a name in FOLDER.  Its reads and writes are served one at a time, and each takes the time, in microseconds,
 * that was last written to MOUNTPOINT/service; 0 at the start, so that a file system is made on it at once.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char disk_path[] = "/disk", service_path[] = "/service";

static struct {
    int file;
    off_t size;
    int64_t service; /* ns */
} disk;

static int
is_disk(const char *path)
{
    return strcmp(path, disk_path) == 0;
}

static size_t
service_text(char *text, size_t size)
{
    return (size_t)snprintf(text, size, "%lld\n", (long long)(disk.service / 1000));
}

/* ---- names ---- */

static int
get_attributes(const char *path, struct stat *st, struct fuse_file_info *info)
{
    char text[32];
    (void)info;
    memset(st, 0, sizeof(*st));
    if (strcmp(path, "/") == 0) {
        st->st_mode = S_IFDIR | 0700;
        st->st_nlink = 2;
        return 0;
    }
    if (!is_disk(path) && strcmp(path, service_path) != 0)
        return -ENOENT;
    st->st_mode = S_IFREG | 0600;
    st->st_nlink = 1;
    st->st_size = is_disk(path) ? disk.size : (off_t)service_text(text, sizeof(text));
    return 0;
}

static int
list(const char *path, void *to, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
     enum fuse_readdir_flags flags)
{
    (void)path, (void)offset, (void)info, (void)flags;
    fill(to, disk_path + 1, NULL, 0, 0);
    fill(to, service_path + 1, NULL, 0, 0);
    return 0;
}

/* `echo 20000 >service` truncates first. */
static int
slow_disk_cut(const char *path, off_t size, struct fuse_file_info *info)
{
    (void)size, (void)info;
    return is_disk(path) ? -EPERM : 0;
}

/* One request of the loop device is one I/O of the arm, as large as FUSE can have it. */
static void *
slow_disk_begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)config;
    connection->max_write = 1 << 20;
    return NULL;
}

/* No page cache between the loop device and the arm: the one above the loop device is that of any disk. */
static int
open_file(const char *path, struct fuse_file_info *info)
{
    (void)path;
    info->direct_io = 1;
    return 0;
}

/* ---- bytes ---- */

/* Sleeps until the time is over that an I/O takes which began then. */
static void
finish_service(const struct timespec *begin)
{
    const int64_t end = begin->tv_nsec + disk.service;
    const struct timespec until = {begin->tv_sec + end / 1000000000, end % 1000000000};
    while (disk.service && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static int
read_bytes(const char *path, char *to, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    if (!is_disk(path)) {
        char text[32];
        const size_t length = service_text(text, sizeof(text));
        if (offset >= (off_t)length)
            return 0;
        const size_t part = length - (size_t)offset < size ? length - (size_t)offset : size;
        memcpy(to, text + offset, part);
        return (int)part;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const ssize_t got = pread(disk.file, to, size, offset);
    const int result = got < 0 ? -errno : (int)got;
    finish_service(&now);
    return result;
}

static int
disk_write_bytes(const char *path, const char *from, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    if (!is_disk(path)) {
        char text[32] = "", *end;
        memcpy(text, from, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
        const long long us = strtoll(text, &end, 10);
        if (end == text || us < 0)
            return -EINVAL;
        disk.service = us * 1000;
        return (int)size;
    }
    if (offset + (off_t)size > disk.size)
        return -ENOSPC;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const ssize_t put = pwrite(disk.file, from, size, offset);
    const int result = put < 0 ? -errno : (int)put;
    finish_service(&now);
    return result;
}

static const struct fuse_operations operations = {
    .init = slow_disk_begin,
    .getattr = get_attributes,
    .readdir = list,
    .truncate = slow_disk_cut,
    .open = open_file,
    .read = read_bytes,
    .write = disk_write_bytes,
};

int
main(int argc, char **argv)
{
    char *end = NULL;
    disk.size = argc == 4 ? (off_t)strtoll(argv[1], &end, 10) : 0;
    if (argc != 4 || *end || disk.size <= 0) {
        fprintf(stderr, "usage: slow-disk BYTES FOLDER MOUNTPOINT\n");
        return 2;
    }
    disk.file = open(argv[2], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (disk.file < 0 || ftruncate(disk.file, disk.size) != 0) {
        fprintf(stderr, "slow-disk: %s: cannot keep a disk here: %s\n", argv[2], strerror(errno));
        return 1;
    }
    prctl(PR_SET_TIMERSLACK, 1);
    /* One thread: one I/O at a time. */
    char *arguments[] = {argv[0], "-f", "-s", argv[3], NULL};
    return fuse_main(4, arguments, &operations, NULL);
}
