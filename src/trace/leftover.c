/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leftover.c - see leftover-internal.h.
 *
 * Whoever holds the locks of a pointer file and of its ring may judge them.  A ring becomes a segment by write,
 * rename, unlink, with the same id and record numbers, so that a kill in between leaves something to begin again with,
 * and nothing twice.
 */
#include "leftover-internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock-internal.h"
#include "ring-internal.h"
#include "salvage-internal.h"

enum verdict {
    VERDICT_DONE,  /* dealt with, or not ours */
    VERDICT_ALIVE,
    VERDICT_AGAIN  /* could not be dealt with now */
};

/* Whether the ring's owner may still be there, given what came of locking the ring. */
static int
may_live(const struct sqt_ring_header *ring, int locked)
{
    if (locked && (ring->compatible & SQT_RING_LOCKED))
        return 0;
    const uint64_t beat = __atomic_load_n(&ring->flusher.heartbeat_ns, __ATOMIC_ACQUIRE);
    const uint64_t now = sqt_monotonic_ns();
    return now - beat < SQT_RING_STALE_NS || beat > now;
}

static int
ids_agree(const struct sqt_pointer *pointer, const struct sqt_ring_header *ring)
{
    char id[33];
    sqt_hex(id, ring->identity.ring_id, sizeof(ring->identity.ring_id));
    return strcmp(id, pointer->id) == 0;
}

/* Whether a path is one that sqt_ring_create made for that id. */
static int
named_for(const char *path, const char *id)
{
    char name[64];
    const char *const slash = strrchr(path, '/');
    snprintf(name, sizeof(name), "sqtrace-%s" SQT_POINTER_SUFFIX, id);
    return slash && strcmp(slash + 1, name) == 0;
}

/* A ring whose file is open and whose pointer is ours to judge. */
static enum verdict
judge_ring(const struct sqt_leftovers *l, const struct sqt_pointer *pointer, const char *base, int fd)
{
    struct sqt_ring ring = {.fd = -1, .pointer_fd = -1};
    const int lock = sqt_lock(fd);
    if (lock != 0 && errno == EAGAIN)
        return VERDICT_ALIVE;
    if (sqt_ring_map(&ring, fd) != 0) { /* its process died while it made it, or it is something else */
        if (named_for(pointer->ring, pointer->id))
            unlink(pointer->ring);
        return VERDICT_DONE;
    }
    ring.fd = -1; /* the caller's to close */
    enum verdict verdict = VERDICT_DONE;
    if (!ids_agree(pointer, ring.header)) {
        /* the pointer is wrong; the ring has its own */
    } else if (may_live(ring.header, lock == 0)) {
        verdict = VERDICT_ALIVE;
    } else {
        uint64_t records = 0;
        if (sqt_salvage(ring.header, l->directory, l->owner, base, &records) == 0) {
            sqt_say(l->mailbox, 1, "sqtrace: %" PRIu64 " records that an earlier process left in %s are in a segment now",
                    records, pointer->ring);
            unlink(pointer->ring);
        } else {
            sqt_say(l->mailbox, 1, "sqtrace: the records that an earlier process left in %s wait: %s", pointer->ring,
                    strerror(errno));
            verdict = VERDICT_AGAIN;
        }
    }
    sqt_ring_release(&ring);
    return verdict;
}

/* A pointer file that is open. */
static enum verdict
judge_pointer(const struct sqt_leftovers *l, const char *name, const char *base, int fd)
{
    struct sqt_pointer pointer;
    struct stat st;
    char boot[33];
    if (sqt_lock(fd) != 0 && errno == EAGAIN)
        return VERDICT_ALIVE;
    if (fstat(fd, &st) != 0 || st.st_nlink == 0) /* another process dealt with it just now */
        return VERDICT_DONE;
    if (sqt_pointer_read(&pointer, fd) != 0) {
        sqt_say(l->mailbox, 1, "sqtrace: %s/%s does not name a ring; it is left alone", l->directory_path, name);
        return VERDICT_DONE;
    }
    enum verdict verdict = VERDICT_DONE;
    sqt_hex(boot, l->boot_id, sizeof(l->boot_id));
    if (strcmp(boot, pointer.boot) == 0) {
        const int ring = open(pointer.ring, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (ring >= 0) {
            verdict = judge_ring(l, &pointer, base, ring);
            close(ring);
        } else if (errno != ENOENT && errno != ENOTDIR) {
            sqt_say(l->mailbox, 1, "sqtrace: %s, which an earlier process left: %s", pointer.ring, strerror(errno));
            return VERDICT_DONE;
        }
    }
    if (verdict == VERDICT_DONE)
        unlinkat(l->directory, name, 0);
    return verdict;
}

unsigned
sqt_leftovers_take(const struct sqt_leftovers *l)
{
    unsigned again = 0;
    const int fd = openat(l->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct sqt_name name;
        sqt_name_parse(&name, entry->d_name);
        if (name.kind != SQT_NAME_POINTER || strcmp(name.service, l->service) != 0 || strcmp(name.base, l->base) == 0)
            continue;
        const int pointer = openat(l->directory, entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (pointer < 0)
            continue;
        again += judge_pointer(l, entry->d_name, name.base, pointer) == VERDICT_AGAIN;
        close(pointer);
    }
    closedir(dir);
    return again;
}
