/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hangfs.c - a file system in user space that does not answer while a file is there.
 *
 *   hangfs MOUNTPOINT FOLDER FLAG
 *
 * It shows FOLDER.  While FLAG exists it takes each request and answers none, so that who asks sleeps uninterruptibly.
 * If FLAG holds a word, only requests of that name (getattr, readdir, create and so on) get no answer.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder, *flag;

/* Whether FLAG is there, and means requests of that name. */
static int
hangs(const char *request)
{
    char word[32] = "";
    const int fd = open(flag, O_RDONLY);
    if (fd < 0)
        return 0;
    const ssize_t size = read(fd, word, sizeof(word) - 1);
    close(fd);
    return size <= 0 || strcmp(word, request) == 0;
}

/* A function do_REQUEST waits until there is an answer. */
static void
hang(const char *function)
{
    while (hangs(function + strlen("do_")))
        usleep(1000);
}

/* The path in FOLDER, once there is an answer. */
static void
find(char real[4096], const char *path, const char *function)
{
    snprintf(real, 4096, "%s%s", folder, path);
    hang(function);
}

static int
answer(long result)
{
    return result < 0 ? -errno : (int)result;
}

static int
do_getattr(const char *path, struct stat *st, struct fuse_file_info *file)
{
    char real[4096];
    (void)file;
    find(real, path, __func__);
    return answer(lstat(real, st));
}

static int
do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
           enum fuse_readdir_flags flags)
{
    char real[4096];
    (void)offset, (void)file, (void)flags;
    find(real, path, __func__);
    DIR *const dir = opendir(real);
    if (!dir)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(dir));)
        fill(buffer, entry->d_name, NULL, 0, 0);
    closedir(dir);
    return 0;
}

static int
do_create(const char *path, mode_t mode, struct fuse_file_info *file)
{
    char real[4096];
    find(real, path, __func__);
    const int fd = open(real, file->flags | O_CREAT, mode);
    if (fd < 0 || fchown(fd, fuse_get_context()->uid, fuse_get_context()->gid) != 0)
        return -errno;
    file->fh = (uint64_t)fd;
    return 0;
}

static int
do_open(const char *path, struct fuse_file_info *file)
{
    char real[4096];
    find(real, path, __func__);
    const int fd = open(real, file->flags);
    file->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int
do_read(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)path;
    hang(__func__);
    return answer(pread((int)file->fh, data, size, offset));
}

static int
do_write(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)path;
    hang(__func__);
    return answer(file->flags & O_APPEND ? write((int)file->fh, data, size)
                                         : pwrite((int)file->fh, data, size, offset));
}

static int
do_truncate(const char *path, off_t size, struct fuse_file_info *file)
{
    char real[4096];
    (void)file;
    find(real, path, __func__);
    return answer(truncate(real, size));
}

static int
do_unlink(const char *path)
{
    char real[4096];
    find(real, path, __func__);
    return answer(unlink(real));
}

static int
do_rename(const char *path, const char *to, unsigned flags)
{
    char real[4096], real_to[4096];
    find(real, path, __func__);
    find(real_to, to, __func__);
    return answer(renameat2(AT_FDCWD, real, AT_FDCWD, real_to, flags));
}

static int
do_chmod(const char *path, mode_t mode, struct fuse_file_info *file)
{
    char real[4096];
    (void)file;
    find(real, path, __func__);
    return answer(chmod(real, mode));
}

static int
do_flush(const char *path, struct fuse_file_info *file)
{
    (void)path, (void)file;
    hang(__func__);
    return 0;
}

static int
do_release(const char *path, struct fuse_file_info *file)
{
    (void)path;
    hang(__func__);
    return answer(close((int)file->fh));
}

int
main(int argc, char **argv)
{
    static const struct fuse_operations operations = {
        .getattr = do_getattr,
        .readdir = do_readdir,
        .create = do_create,
        .open = do_open,
        .read = do_read,
        .write = do_write,
        .truncate = do_truncate,
        .unlink = do_unlink,
        .rename = do_rename,
        .chmod = do_chmod,
        .flush = do_flush,
        .release = do_release,
    };
    if (argc != 4)
        return 2;
    folder = argv[2];
    flag = argv[3];
    char *words[] = {argv[0], "-f", "-o", "allow_other,default_permissions", argv[1], NULL};
    return fuse_main(5, words, &operations, NULL);
}
