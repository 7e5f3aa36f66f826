/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leftover.c - see leftover-internal.h.
 *
 * Whoever has claimed a pointer file and its ring may judge them.  A ring becomes a segment by write,
 * rename, unlink, with the same id and record numbers, so that a kill in between leaves something to begin again with,
 * and nothing twice.
 */
#include "leftover-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "salvage-internal.h"

enum verdict {
    VERDICT_DONE,  /* dealt with, or not ours */
    VERDICT_ALIVE, /* or another process deals with it */
    VERDICT_ALONE, /* not believed, and left as it is */
    VERDICT_AGAIN  /* could not be dealt with now */
};

static enum verdict
leave_alone(const struct sqt_leftovers *l, const char *file, const struct sqt_error *why)
{
    if (!l->said)
        sqt_say(l->mailbox, 1, "sqtrace: %.255s/%s is left alone: %.600s", l->directory_path, file, why->text);
    return VERDICT_ALONE;
}

static void
leftover_remove_ring(const struct sqt_leftover *found)
{
    if (sqt_same_file(found->ringdir, found->ring_name, found->ring_fd))
        unlinkat(found->ringdir, found->ring_name, 0);
}

/* Whether the ring's owner may still be there, given whether the ring could be locked. */
static int
may_live(const struct sqt_leftover *found, const struct sqt_ring_header *ring, int locked)
{
    return !(locked && (ring->compatible & SQT_RING_LOCKED)) && sqt_leftover_beats(found->ring_fd);
}

static int
ids_agree(const struct sqt_pointer *pointer, const struct sqt_ring_header *ring)
{
    char id[33];
    sqt_hex(id, ring->identity.ring_id, sizeof(ring->identity.ring_id));
    return strcmp(id, pointer->id) == 0;
}

/* Makes a segment of a ring whose owner is dead. */
static enum verdict
adopt(const struct sqt_leftovers *l, const struct sqt_leftover *found, const struct sqt_dead_ring *ring,
      const char *base)
{
    const struct sqt_trace_place to = {l->directory, l->owner, base};
    uint64_t records = 0;
    if (sqt_salvage(ring, &to, &records) != 0) {
        sqt_say(l->mailbox, 1, "sqtrace: records that an earlier process left in %s cannot be read yet: %s",
                found->pointer.ring, errno == ENODATA ? "the file got shorter while it was read" : strerror(errno));
        return VERDICT_AGAIN;
    }
    sqt_say(l->mailbox, 1, "sqtrace: %" PRIu64 " records that an earlier process left in %s are in a segment now",
            records, found->pointer.ring);
    return VERDICT_DONE;
}

/* A ring whose file is open and whose pointer is ours to judge. */
static enum verdict
judge_ring(const struct sqt_leftovers *l, const struct sqt_leftover *found, const char *file, const char *base)
{
    struct sqt_dead_ring ring;
    struct sqt_error error;
    enum verdict verdict = VERDICT_DONE;
    const int lock = sqt_leftover_lock(found, found->ring_fd);
    if (lock != 0 && errno == EAGAIN)
        return VERDICT_ALIVE;
    errno = 0;
    const int read = sqt_dead_ring_read(&ring, found->ring_fd, &error);
    if (read < 0 && errno == ENOMEM) {
        sqt_say(l->mailbox, 1, "sqtrace: records that an earlier process left in %s cannot be read yet: %s",
                found->pointer.ring, error.text);
        return VERDICT_AGAIN;
    }
    if (read < 0)
        return leave_alone(l, file, &error);
    if (read == 0 && !ids_agree(&found->pointer, ring.header)) {
        sqt_fail(&error, "the ring at %.255s has another id", found->pointer.ring);
        verdict = leave_alone(l, file, &error);
    } else if (read == 0) {
        verdict = may_live(found, ring.header, lock == 0) ? VERDICT_ALIVE : adopt(l, found, &ring, base);
    }
    sqt_dead_ring_free(&ring);
    if (verdict == VERDICT_DONE)
        leftover_remove_ring(found);
    return verdict;
}

/* A pointer file. */
static enum verdict
judge_pointer(const struct sqt_leftovers *l, const char *file, const char *base)
{
    struct sqt_leftover found;
    struct sqt_error error;
    struct stat st;
    enum verdict verdict = VERDICT_DONE;
    const enum sqt_found what = sqt_leftover_find(l, file, base, &found, &error);
    if (what == SQT_FOUND_REFUSED)
        verdict = leave_alone(l, file, &error);
    else if (what != SQT_FOUND_NOTHING && sqt_leftover_claim(l, &found) != 0)
        verdict = VERDICT_ALIVE;
    else if (what == SQT_FOUND_NOTHING || fstat(found.pointer_fd, &st) != 0 || st.st_nlink == 0)
        verdict = VERDICT_ALIVE; /* another process dealt with it just now */
    else if (what == SQT_FOUND_RING)
        verdict = judge_ring(l, &found, file, base);
    if (verdict == VERDICT_DONE)
        unlinkat(l->directory, file, 0);
    sqt_leftover_close(&found);
    return verdict;
}

struct taking {
    const struct sqt_leftovers *leftovers;
    unsigned again;
};

static void
leftover_take(void *context, const char *file, const struct sqt_name *name)
{
    struct taking *const t = context;
    const enum verdict verdict = judge_pointer(t->leftovers, file, name->base);
    t->again += verdict == VERDICT_AGAIN || (verdict == VERDICT_ALIVE && name->kid == t->leftovers->kid);
}

unsigned
sqt_leftovers_take(struct sqt_leftovers *l)
{
    struct taking t = {l, 0};
    if (sqt_leftovers_each(l, leftover_take, &t) != 0)
        return 1; /* without memory, or descriptors, now */
    l->said = 1;
    return t.again;
}
