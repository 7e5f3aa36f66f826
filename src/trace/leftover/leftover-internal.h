/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leftover-internal.h - rings whose process died.
 */
#ifndef SQT_LEFTOVER_INTERNAL_H
#define SQT_LEFTOVER_INTERNAL_H

#include <sys/types.h>

#include "trace/file/file-internal.h"
#include "trace/file/message-internal.h"
#include "trace/ring/ring-internal.h"

#define SQT_LEFT_MAX 2 /* traces that a process may have left behind */

/* Where leftovers are looked for, and whose they may be.  Only pointers and rings that belong to owner or root, that
 * nobody else can write, and whose ring is RINGDIR/sqtrace-ID.ring are believed; others are left alone. */
struct sqt_leftovers {
    int directory;
    const char *directory_path;
    const char *ringdir; /* path; rings in SQT_RINGDIR, the default, are taken as well */
    const char *service;
    const char *base;                      /* of this run, whose ring is no leftover; "": none */
    char left[SQT_LEFT_MAX][SQT_BASE_MAX]; /* runs that this process left behind: no leftovers either */
    uint32_t kid;
    uid_t owner;
    uint8_t boot_id[16];         /* of now */
    struct sqt_mailbox *mailbox; /* NULL: nothing is said */
    int said;                    /* what is left alone was told already */
    int keep_said;               /* and what cannot be deleted */
};

/* Turns every ring that a dead process of the service left into a segment, and removes what an earlier boot left.
 * What lives is left alone; its owner's write lock decides.  Returns how many should be tried again: those that could not be dealt with,
 * and those of this kid's predecessor, which a disk that hangs may keep alive. */
unsigned sqt_leftovers_take(struct sqt_leftovers *leftovers);

/* Whether the process that made a run of the service still traces into it.  base: of the run. */
int sqt_leftover_lives(const struct sqt_leftovers *leftovers, const char *base);

/* How much shared memory dead processes may hold until their rings are segments: a process dies faster than its
 * successor can adopt what it left. */
#define SQT_LEFTOVERS_MOST 3  /* rings of a service and kid */
#define SQT_LEFTOVERS_SHARE 2 /* all rings of a service: this part of the file system's size */

/* Returns 0 if another ring may be made for the kid, or -1 after filling in error.  Then a thread of its own adopts
 * what is left, so that a later start finds room. */
int sqt_leftovers_check(const struct sqt_leftovers *leftovers, uint32_t kid, struct sqt_error *error);

/* ---- leftover-find.c: one leftover, looked at before anything is done with it ---- */

struct sqt_leftover {
    int pointer_fd, claim_fd, ringdir, ring_fd; /* -1: not open */
    struct sqt_pointer pointer;
    char ring_name[SQT_RING_NAME_MAX]; /* within ringdir */
};

enum sqt_found {
    SQT_FOUND_RING,    /* pointer and ring are open */
    SQT_FOUND_STALE,   /* a pointer whose ring is gone, as it was of an earlier boot or was removed */
    SQT_FOUND_NOTHING, /* another process dealt with it just now */
    SQT_FOUND_REFUSED  /* not believed: error says why */
};

/* Opens the pointer file `name` of a run, and its ring.  Whatever comes of it, sqt_leftover_close() ends it. */
enum sqt_found sqt_leftover_find(const struct sqt_leftovers *leftovers, const char *name, const char *base,
                                 struct sqt_leftover *found, struct sqt_error *error);
void sqt_leftover_close(struct sqt_leftover *found);

/* Claims the pointer and its ring until sqt_leftover_close().  Returns 0, or -1 if the owner lives, or if another process
 * has claimed them.
 *   - A write lock on a byte of SQT_KEY_FILE, one for each ring, keeps out other claims.  Readers of a trace cannot open
 *     that file, so they cannot prevent it.
 *   - A read lock on the pointer (and on the ring, which the caller takes) fails while the owner has its write lock.
 *     Other readers' locks do not prevent it, and it keeps out older versions of libsqtrace, which claim by a write lock.
 * Where that byte cannot be locked, write locks on pointer and ring keep other claims out, and readers' locks prevent them.
 * Where there are no locks, nothing is kept out. */
int sqt_leftover_claim(const struct sqt_leftovers *leftovers, struct sqt_leftover *found);

/* Locks the claimed pointer or ring: for reading, or for writing if there is no claim on SQT_KEY_FILE. */
int sqt_leftover_lock(const struct sqt_leftover *found, int fd);

/* Calls visit for each pointer file of the service in the directory, except those of this process.  Returns 0, or
 * -1 if the directory cannot be listed now. */
typedef void sqt_leftover_visitor(void *context, const char *file, const struct sqt_name *name);
int sqt_leftovers_each(const struct sqt_leftovers *leftovers, sqt_leftover_visitor *visit, void *context);

/* Whether the owner of a ring may still be there, when its lock does not say so: by the heartbeat in its header. */
int sqt_leftover_beats(int ring_fd);

#endif
