/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * drop-pages.c - takes the page cache away from the files below some folders, until it gets SIGTERM.
 *
 *   drop-pages MILLISECONDS FOLDER...
 *
 * Again and again, after so many milliseconds: what was written begins to go to the disk, and what is on the disk leaves
 * memory.  So a read is a read of the disk, as on a machine whose memory is much smaller than its cache.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int
drop(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)place;
    if (type == FTW_F && S_ISREG(st->st_mode)) {
        const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME);
        if (file >= 0) {
            posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
            close(file);
        }
    }
    return 0; /* a file may be gone by now */
}

int
main(int argc, char **argv)
{
    const long pause = argc > 2 ? atol(argv[1]) : 0;
    if (pause <= 0) {
        fprintf(stderr, "usage: drop-pages MILLISECONDS FOLDER...\n");
        return 2;
    }
    const struct timespec rest = {pause / 1000, pause % 1000 * 1000000};
    for (;;) {
        for (int i = 2; i < argc; ++i)
            nftw(argv[i], drop, 16, FTW_PHYS);
        nanosleep(&rest, NULL);
    }
}
