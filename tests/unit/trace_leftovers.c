/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_leftovers.c - see trace_leftovers.h.
 */
#include "trace_leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/file/file-internal.h"

struct sqt_mailbox place_mailbox;

struct sqt_leftovers
place_leftovers(const struct place *place, const char *base)
{
    sqt_mailbox_init(&place_mailbox);
    place_said[0] = '\0';
    return (struct sqt_leftovers){
        .directory = open(place->directory, O_RDONLY | O_DIRECTORY),
        .directory_path = place->directory,
        .ringdir = place->ringdir,
        .service = "test",
        .base = base,
        .owner = geteuid(),
        .mailbox = &place_mailbox,
    };
}

int
place_pointer(const struct place *place, const char *base, const char *id)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s.ring", place->directory, base);
    const int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0640);
    dprintf(fd, "ring=%s/sqtrace-%s.ring\nid=%s\nboot=%032d\n", place->ringdir, id, id, 0);
    assert_int_equal(sqt_lock(fd), 0);
    return fd;
}

void
place_segment(const struct place *place, const char *name, uint32_t run, int64_t age_ns, off_t size)
{
    char path[400];
    struct timespec times[2];
    const struct sqt_segment_header header = {.magic = SQT_SEGMENT_MAGIC, .identity.run = run};
    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(ftruncate(fd, size), 0);
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age_ns / 1000000000;
    times[1] = times[0];
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

unsigned
place_locked(const char *directory)
{
    unsigned count = 0;
    DIR *const dir = opendir(directory);
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        const int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NONBLOCK);
        count += sqt_is_locked(fd) == 1;
        close(fd);
    }
    closedir(dir);
    return count;
}
