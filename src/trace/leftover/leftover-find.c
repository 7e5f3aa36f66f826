/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leftover-find.c - which pointer files and rings are believed, see leftover-internal.h.
 *
 * The pointer is data that somebody else may have written.  It says nothing but which of two directories the ring is
 * in; the ring's name follows from its id.
 */
#include "leftover-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"
#include "trace/config/config-internal.h"
#include "trace/file/trust-internal.h"

#define NOT_WRITABLE (S_IWGRP | S_IWOTH)

/* Which directory of rings a pointer means; NULL: none that may be. */
static const char *
ringdir_of(const struct sqt_leftovers *l, const struct sqt_pointer *pointer, const char *name)
{
    const char *const may[] = {l->ringdir, SQT_RINGDIR};
    for (unsigned i = 0; i < 2; ++i) {
        char path[SQT_RING_PATH_MAX];
        const int n = snprintf(path, sizeof(path), "%s/%s", may[i], name);
        if (n > 0 && (size_t)n < sizeof(path) && strcmp(path, pointer->ring) == 0)
            return may[i];
    }
    return NULL;
}

/* Whether an id is 32 hexadecimal digits that begin with the last 8 characters of the run's base. */
static int
id_fits(const char *id, const char *base)
{
    const size_t size = strlen(base);
    return strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32 && size > 8 && strncmp(id, base + size - 8, 8) == 0;
}

static enum sqt_found
open_ring(const struct sqt_leftovers *l, struct sqt_leftover *found, struct sqt_error *error)
{
    struct sqt_error cause;
    const char *const path = found->pointer.ring;
    sqt_ring_name(found->ring_name, found->pointer.id);
    const char *const ringdir = ringdir_of(l, &found->pointer, found->ring_name);
    if (!ringdir) {
        sqt_fail(error, "it names %.255s; expected is %.255s/%s", path, l->ringdir, found->ring_name);
        return SQT_FOUND_REFUSED;
    }
    found->ringdir = sqt_open_directory(ringdir, l->owner, 1, &cause);
    if (found->ringdir < 0) {
        if (access(ringdir, F_OK) != 0)
            return SQT_FOUND_STALE;
        sqt_fail(error, "%.255s: %.500s", ringdir, cause.text);
        return SQT_FOUND_REFUSED;
    }
    found->ring_fd = openat(found->ringdir, found->ring_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (found->ring_fd < 0 && errno == ENOENT)
        return SQT_FOUND_STALE;
    if (found->ring_fd < 0)
        sqt_fail(&cause, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    else if (sqt_trust_file(found->ring_fd, l->owner, NOT_WRITABLE, &cause) == 0)
        return SQT_FOUND_RING;
    sqt_fail(error, "%.255s: %.500s", path, cause.text);
    return SQT_FOUND_REFUSED;
}

enum sqt_found
sqt_leftover_find(const struct sqt_leftovers *l, const char *name, const char *base, struct sqt_leftover *found,
                  struct sqt_error *error)
{
    char boot[33];
    *found = (struct sqt_leftover){.pointer_fd = -1, .claim_fd = -1, .ringdir = -1, .ring_fd = -1};
    found->pointer_fd = openat(l->directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (found->pointer_fd < 0) {
        if (errno == ENOENT)
            return SQT_FOUND_NOTHING;
        sqt_fail(error, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
        return SQT_FOUND_REFUSED;
    }
    if (sqt_trust_file(found->pointer_fd, l->owner, NOT_WRITABLE, error) != 0)
        return SQT_FOUND_REFUSED;
    if (sqt_pointer_read(&found->pointer, found->pointer_fd) != 0 || !id_fits(found->pointer.id, base)) {
        sqt_fail(error, "it does not name a ring");
        return SQT_FOUND_REFUSED;
    }
    sqt_hex(boot, l->boot_id, sizeof(l->boot_id));
    return strcmp(boot, found->pointer.boot) == 0 ? open_ring(l, found, error) : SQT_FOUND_STALE;
}

/* Opens the file whose bytes stand for rings, unless others may have locked it. */
static int
open_claims(const struct sqt_leftovers *l)
{
    struct sqt_error ignored;
    const int fd = openat(l->directory, SQT_KEY_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || sqt_trust_file(fd, l->owner, S_IRWXG | S_IRWXO, &ignored) == 0)
        return fd;
    close(fd);
    return -1;
}

int
sqt_leftover_lock(const struct sqt_leftover *found, int fd)
{
    return found->claim_fd >= 0 ? sqt_lock_shared(fd) : sqt_lock(fd);
}

int
sqt_leftover_claim(const struct sqt_leftovers *l, struct sqt_leftover *found)
{
    char digits[16];
    snprintf(digits, sizeof(digits), "%.15s", found->pointer.id);
    found->claim_fd = open_claims(l);
    if (found->claim_fd >= 0 && sqt_lock_byte(found->claim_fd, (off_t)strtoull(digits, NULL, 16)) != 0) {
        if (errno == EAGAIN)
            return -1;
        close(found->claim_fd);
        found->claim_fd = -1;
    }
    return sqt_leftover_lock(found, found->pointer_fd) != 0 && errno == EAGAIN ? -1 : 0;
}

void
sqt_leftover_close(struct sqt_leftover *found)
{
    if (found->pointer_fd >= 0)
        close(found->pointer_fd);
    if (found->claim_fd >= 0)
        close(found->claim_fd);
    if (found->ringdir >= 0)
        close(found->ringdir);
    if (found->ring_fd >= 0)
        close(found->ring_fd);
}

static int
lives_here(const struct sqt_leftovers *l, const char *base)
{
    for (unsigned i = 0; i < SQT_LEFT_MAX; ++i)
        if (strcmp(base, l->left[i]) == 0)
            return 1;
    return strcmp(base, l->base) == 0;
}

int
sqt_leftovers_each(const struct sqt_leftovers *l, sqt_leftover_visitor *visit, void *context)
{
    DIR *const dir = sqt_open_list(l->directory);
    if (!dir)
        return -1;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct sqt_name name;
        sqt_name_parse(&name, entry->d_name);
        if (name.kind == SQT_NAME_POINTER && strcmp(name.service, l->service) == 0 && !lives_here(l, name.base))
            visit(context, entry->d_name, &name);
    }
    closedir(dir);
    return 0;
}

int
sqt_leftover_beats(int ring_fd)
{
    uint64_t beat;
    if (pread(ring_fd, &beat, sizeof(beat), offsetof(struct sqt_ring_header, flusher.heartbeat_ns)) != sizeof(beat))
        return 0;
    const uint64_t now = sqt_monotonic_ns();
    return now - beat < SQT_RING_STALE_NS || beat > now;
}
