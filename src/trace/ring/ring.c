/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring.c - see ring-internal.h.
 *
 * The pointer file comes first and goes last, so that a kill at any instant leaves no ring that nobody knows of.
 */
#define _GNU_SOURCE
#include "ring-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"
#include "trace/file/trust-internal.h"

#define TMPFS 0x01021994 /* statfs(2) */
#define FREE_TIMES 3     /* the ring's size that must be free */
#define LOCK_TRIES 100   /* to lock a new file before a reader does */
#define MOST_FILES 10000 /* to look at before a start: anybody may make files in /dev/shm */

/* Bytes that sparse files of owner in a directory may still take: Squid's own shared memory grows as it is used.  UINT64_MAX:
 * there are too many files to find out. */
static uint64_t
promised(int directory, uid_t owner)
{
    uint64_t bytes = 0;
    unsigned left = MOST_FILES;
    DIR *const dir = sqt_open_list(directory);
    if (!dir)
        return 0;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!left--) {
            bytes = UINT64_MAX;
            break;
        }
        if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
            st.st_uid != owner)
            continue;
        const uint64_t taken = (uint64_t)st.st_blocks * 512;
        if ((uint64_t)st.st_size > taken)
            bytes += (uint64_t)st.st_size - taken;
    }
    closedir(dir);
    return bytes;
}

static int
check_room(const struct sqt_place *place, int ringdir, uint64_t size, struct sqt_error *error)
{
    struct statfs fs;
    if (fstatfs(ringdir, &fs) != 0)
        return sqt_fail(error, "ringdir=%s: %s", place->ringdir, strerror(errno));
    if (fs.f_type != TMPFS)
        return sqt_fail(error, "ringdir=%s: not on a tmpfs file system", place->ringdir);
    const uint64_t available = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    const uint64_t others = promised(ringdir, place->owner);
    /* A tmpfs without a size limit says 0 blocks. */
    if (fs.f_blocks && others == UINT64_MAX)
        return sqt_fail(
            error,
            "ringdir=%s: it has more than %u files, too many to find out how much memory they may still take; "
            "remove what is not used, or name another folder",
            place->ringdir, MOST_FILES);
    if (fs.f_blocks && available < FREE_TIMES * size + others)
        return sqt_fail(error,
                        "ringdir=%s: %" PRIu64 " KB are free, and a ring of %" PRIu64 " KB wants %u times its "
                        "size%s",
                        place->ringdir, available >> 10, size >> 10, FREE_TIMES,
                        others ? " after what other shared memory may still take" : "");
    return 0;
}

/* Opens the directory of rings and looks whether it will do. */
static int
open_ringdir(struct sqt_ring *ring, const struct sqt_place *place, struct sqt_error *error)
{
    struct sqt_error cause;
    ring->ringdir = sqt_open_directory(place->ringdir, place->owner, 1, &cause);
    if (ring->ringdir < 0)
        return sqt_fail(error, "ringdir=%s: %.500s", place->ringdir, cause.text);
    return check_room(place, ring->ringdir, ring->size, error);
}

void
sqt_ring_name(char name[SQT_RING_NAME_MAX], const char *id)
{
    snprintf(name, SQT_RING_NAME_MAX, "sqtrace-%.32s" SQT_POINTER_SUFFIX, id);
}

/* Creates a file and locks it.  Whoever may read it may lock it first, in the moment between: then it is made again.
 * *locked: whether it is; without a lock, the heartbeat must do.  Returns the descriptor, or -1 with errno. */
static int
create_locked(int directory, const char *name, uid_t owner, int *locked)
{
    for (unsigned tries = 1;; ++tries) {
        const int fd = sqt_create_owned(directory, name, O_RDWR, 0640, owner);
        *locked = fd >= 0 && sqt_lock(fd) == 0;
        if (fd < 0 || *locked || errno != EAGAIN || tries == LOCK_TRIES)
            return fd;
        unlinkat(directory, name, 0);
        close(fd);
    }
}

static int
create_pointer(struct sqt_ring *ring, const struct sqt_place *place, const struct sqt_identity *identity,
               struct sqt_error *error)
{
    char draft[SQT_NAME_MAX + sizeof(SQT_DRAFT_SUFFIX)];
    char id[33], boot[33];
    sqt_pointer_name(ring->pointer, place->base);
    snprintf(draft, sizeof(draft), "%s" SQT_DRAFT_SUFFIX, ring->pointer);
    sqt_hex(id, identity->ring_id, sizeof(identity->ring_id));
    sqt_hex(boot, identity->boot_id, sizeof(identity->boot_id));
    int locked;
    const int fd = create_locked(place->directory, draft, place->owner, &locked);
    if (fd < 0)
        return sqt_fail(error, "%s: cannot create a file in it: %s", place->directory_path, sqt_create_error(errno));
    char text[SQT_RING_PATH_MAX + 128];
    const int n = snprintf(text, sizeof(text), "ring=%s\nid=%s\nboot=%s\n", ring->path, id, boot);
    if (sqt_write_all(fd, text, (size_t)n) != 0 ||
        renameat(place->directory, draft, place->directory, ring->pointer) != 0) {
        sqt_fail(error, "%s/%s: %s", place->directory_path, ring->pointer, strerror(errno));
        unlinkat(place->directory, draft, 0);
        close(fd);
        return -1;
    }
    ring->pointer_fd = fd;
    return 0;
}

static void
fill_header(struct sqt_ring_header *h, const struct sqt_place *place, const struct sqt_identity *identity,
            uint64_t bytes, int locked)
{
    h->version = SQT_VERSION;
    h->header_size = SQT_RING_HEADER;
    h->compatible = (locked ? SQT_RING_LOCKED : 0) | (place->recorder ? SQT_RECORDER : 0);
    h->capacity = bytes / sizeof(struct sqt_record);
    h->text_offset = SQT_RING_HEADER;
    h->text_size = SQT_RING_TEXT_MAX;
    h->records_offset = SQT_RING_HEADER + SQT_RING_TEXT_MAX;
    h->identity = *identity;
    snprintf(h->directory, sizeof(h->directory), "%s", place->directory_path);
    h->flusher.heartbeat_ns = sqt_monotonic_ns();
    h->flusher.last = identity->start;
}

static int
create_file(struct sqt_ring *ring, const struct sqt_place *place, const struct sqt_identity *identity, uint64_t bytes,
            struct sqt_error *error)
{
    int locked;
    ring->fd = create_locked(ring->ringdir, strrchr(ring->path, '/') + 1, place->owner, &locked);
    if (ring->fd < 0)
        return sqt_fail(error, "cannot create the ring %s: %s", ring->path, sqt_create_error(errno));
    const int failure = posix_fallocate(ring->fd, 0, (off_t)ring->size);
    if (failure)
        return sqt_fail(error, "cannot allocate the ring %s: %s", ring->path, strerror(failure));
    void *const map = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (map == MAP_FAILED)
        return sqt_fail(error, "cannot map the ring %s: %s", ring->path, strerror(errno));
    (void)madvise(map, ring->size, MADV_HUGEPAGE); /* where the system offers it */
    (void)madvise(map, ring->size, MADV_DONTDUMP); /* the file outlives a crash anyway */
    memset(map, 0, ring->size);                    /* an event never meets a page fault */
    ring->header = map;
    fill_header(ring->header, place, identity, bytes, locked);
    return 0;
}

int
sqt_ring_create(struct sqt_ring *ring, const struct sqt_place *place, const struct sqt_identity *identity,
                uint64_t bytes, struct sqt_error *error)
{
    char id[33], name[SQT_RING_NAME_MAX];
    memset(ring, 0, sizeof(*ring));
    ring->fd = ring->pointer_fd = ring->ringdir = -1;
    ring->size = SQT_RING_HEADER + SQT_RING_TEXT_MAX + bytes;
    sqt_hex(id, identity->ring_id, sizeof(identity->ring_id));
    sqt_ring_name(name, id);
    const int n = snprintf(ring->path, sizeof(ring->path), "%s/%s", place->ringdir, name);
    if (n < 0 || (size_t)n >= sizeof(ring->path))
        return sqt_fail(error, "ringdir=%s: too long", place->ringdir);

    if (open_ringdir(ring, place, error) != 0 || create_pointer(ring, place, identity, error) != 0) {
        sqt_ring_release(ring);
        return -1;
    }
    if (create_file(ring, place, identity, bytes, error) != 0) {
        sqt_ring_remove(ring, place->directory);
        return -1;
    }
    return 0;
}

void
sqt_ring_finish(struct sqt_ring_header *header)
{
    typedef uint64_t __attribute__((may_alias)) word;
    word magic;
    memcpy(&magic, SQT_RING_MAGIC, sizeof(magic));
    __atomic_store_n((word *)header->magic, magic, __ATOMIC_RELEASE);
}

void
sqt_ring_release(struct sqt_ring *ring)
{
    struct sqt_ring_header *const header = ring->header;
    __atomic_store_n(&ring->header, NULL,
                     __ATOMIC_SEQ_CST); /* first: a child that is forked now must not unmap what may be
                                                               * another's by then */
    if (header)
        munmap(header, ring->size);
    if (ring->fd >= 0)
        close(ring->fd);
    if (ring->pointer_fd >= 0)
        close(ring->pointer_fd);
    if (ring->ringdir >= 0)
        close(ring->ringdir);
    ring->fd = ring->pointer_fd = ring->ringdir = -1;
}

void
sqt_ring_remove(struct sqt_ring *ring, int directory)
{
    const char *const name = strrchr(ring->path, '/') + 1;
    if (ring->fd >= 0 && sqt_same_file(ring->ringdir, name, ring->fd))
        unlinkat(ring->ringdir, name, 0);
    unlinkat(directory, ring->pointer, 0);
    sqt_ring_release(ring);
}
