/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * file-pages.c - what of the files below some folders is in the page cache, until it gets SIGTERM.
 *
 *   file-pages drop FOLDER...
 *   file-pages keep FOLDER...
 *
 * drop: ten times a second, what was written begins to go to the disk, and what is on the disk leaves memory.  So a
 * read is a read of the disk, as on a machine whose memory is much smaller than its cache.
 * keep: the files that are there now are read and locked in memory, whoever else reclaims it.  Then a line says so:
 * "kept all", or "kept some" after what stood in the way.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct timespec pause_between_drops = {0, 100000000};

/* A file may be gone by now. */
static int
open_regular(const char *path, const struct stat *st, int type)
{
    return type == FTW_F && S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NOATIME) : -1;
}

static int
file_pages_drop(const char *path, const struct stat *st, int type, struct FTW *place)
{
    const int file = open_regular(path, st, type);
    (void)place;
    if (file >= 0) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }
    return 0;
}

static int
keep(const char *path, const struct stat *st, int type, struct FTW *place)
{
    const int file = open_regular(path, st, type);
    (void)place;
    if (file < 0)
        return 0;
    const size_t size = (size_t)st->st_size;
    void *const map = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0) : NULL;
    const int failed = size && (map == MAP_FAILED || mlock(map, size) != 0);
    if (failed)
        perror(path);
    close(file);
    return failed; /* it would be the same with the next */
}

int
main(int argc, char **argv)
{
    const int keeps = argc > 2 && strcmp(argv[1], "keep") == 0;
    if (!keeps && (argc <= 2 || strcmp(argv[1], "drop") != 0)) {
        fprintf(stderr, "usage: file-pages drop|keep FOLDER...\n");
        return 2;
    }
    int failed;
    do {
        failed = 0;
        for (int i = 2; i < argc && !failed; ++i)
            failed = nftw(argv[i], keeps ? keep : file_pages_drop, 16, FTW_PHYS);
        if (!keeps)
            nanosleep(&pause_between_drops, NULL);
    } while (!keeps);
    puts(failed ? "kept some" : "kept all");
    fflush(stdout);
    for (;;)
        pause();
}
