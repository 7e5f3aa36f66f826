/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leftover-room.c - how much dead processes may hold, see leftover-internal.h.
 *
 * The flusher adopts leftovers, and that takes a fraction of a second for a full ring.  A process that dies sooner adds
 * its own ring to them.  So a process that finds too many makes none: it adopts only.
 */
#include "leftover-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "trace/file/apart-internal.h"
#include "trace/file/trust-internal.h"

/* Whether the process of an open pointer, and ring, is there.  Takes no lock: whoever adopts must not take us for it. */
static int
is_held(const struct sqt_leftover *found)
{
    uint32_t compatible = 0;
    if (sqt_is_locked(found->pointer_fd) == 1)
        return 1;
    if (found->ring_fd < 0)
        return 0;
    const int locked = sqt_is_locked(found->ring_fd);
    if (locked == 1)
        return 1;
    const off_t at = offsetof(struct sqt_ring_header, compatible);
    if (pread(found->ring_fd, &compatible, sizeof(compatible), at) != sizeof(compatible))
        return 0;
    return !(locked == 0 && (compatible & SQT_RING_LOCKED)) && sqt_leftover_beats(found->ring_fd);
}

int
sqt_leftover_lives(const struct sqt_leftovers *l, const char *base)
{
    struct sqt_leftover found;
    struct sqt_error ignored;
    char name[SQT_NAME_MAX];
    sqt_pointer_name(name, base);
    const enum sqt_found what = sqt_leftover_find(l, name, base, &found, &ignored);
    const int lives = (what == SQT_FOUND_RING || what == SQT_FOUND_STALE) && is_held(&found);
    sqt_leftover_close(&found);
    return lives;
}

/* ---- the bound ---- */

struct census {
    const struct sqt_leftovers *leftovers;
    uint32_t kid;
    unsigned rings; /* of the kid */
    uint64_t bytes; /* of all kids */
    uint64_t most;  /* bytes that there may be */
};

static void
leftover_room_count(void *context, const char *file, const struct sqt_name *name)
{
    struct census *const c = context;
    struct sqt_leftover found;
    struct sqt_error ignored;
    struct stat st;
    if (sqt_leftover_find(c->leftovers, file, name->base, &found, &ignored) == SQT_FOUND_RING && !is_held(&found) &&
        fstat(found.ring_fd, &st) == 0) {
        c->rings += name->kid == c->kid;
        c->bytes += (uint64_t)st.st_blocks * 512;
    }
    sqt_leftover_close(&found);
}

/* Bytes that rings of dead processes may take; UINT64_MAX where shared memory has no size. */
static uint64_t
most_bytes(const char *ringdir)
{
    struct statfs fs;
    if (statfs(ringdir, &fs) != 0 || !fs.f_blocks)
        return UINT64_MAX;
    return (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / SQT_LEFTOVERS_SHARE;
}

static long
leftover_take_census(void *context)
{
    struct census *const c = context;
    c->most = most_bytes(c->leftovers->ringdir);
    sqt_leftovers_each(c->leftovers, leftover_room_count, c);
    return 0;
}

/* ---- a thread that adopts and does nothing else ---- */

/* What the thread needs when the caller's is gone. */
struct adopter {
    struct sqt_leftovers leftovers;
    char ringdir[SQT_RING_PATH_MAX], directory_path[SQT_RING_PATH_MAX], service[32];
};

static long
leftover_take_all(void *context)
{
    struct adopter *const a = context;
    sqt_leftovers_take(&a->leftovers);
    return close(a->leftovers.directory);
}

static void *
adopt_all(void *context)
{
    sqt_apart_begin();
    sqt_apart_call(leftover_take_all, context);
    sqt_apart_end();
    free(context);
    return NULL;
}

static int
leftover_room_start_thread(struct adopter *a)
{
    pthread_attr_t apart;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&apart);
    pthread_attr_setdetachstate(&apart, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(&thread, &apart, adopt_all, a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&apart);
    return failure ? -1 : 0;
}

static void
adopt_apart(const struct sqt_leftovers *l)
{
    struct adopter *const a = calloc(1, sizeof(*a));
    if (!a)
        return;
    snprintf(a->ringdir, sizeof(a->ringdir), "%s", l->ringdir);
    snprintf(a->directory_path, sizeof(a->directory_path), "%s", l->directory_path);
    snprintf(a->service, sizeof(a->service), "%s", l->service);
    a->leftovers = *l;
    a->leftovers.ringdir = a->ringdir;
    a->leftovers.directory_path = a->directory_path;
    a->leftovers.service = a->service;
    a->leftovers.base = "";
    a->leftovers.mailbox = NULL; /* nobody empties it while nothing is traced */
    a->leftovers.directory = fcntl(l->directory, F_DUPFD_CLOEXEC, 3);
    if (a->leftovers.directory >= 0 && leftover_room_start_thread(a) == 0)
        return;
    if (a->leftovers.directory >= 0)
        close(a->leftovers.directory);
    free(a);
}

int
sqt_leftovers_check(const struct sqt_leftovers *l, uint32_t kid, struct sqt_error *error)
{
    struct census c = {.leftovers = l, .kid = kid};
    if (sqt_apart_call(leftover_take_census, &c) != 0)
        return sqt_fail(error, "%.255s: cannot look for rings that earlier processes left: %s", l->directory_path,
                        strerror(errno));
    if (c.rings < SQT_LEFTOVERS_MOST && c.bytes < c.most)
        return 0;
    adopt_apart(l);
    if (c.rings >= SQT_LEFTOVERS_MOST)
        return sqt_fail(error,
                        "%.255s: %u rings that earlier processes of kid %u left wait in %.255s, and at most %u may; "
                        "they are written to segments now, after which 'squid -k reconfigure' starts tracing",
                        l->directory_path, c.rings, (unsigned)kid, l->ringdir, SQT_LEFTOVERS_MOST);
    return sqt_fail(error,
                    "%.255s: rings that earlier processes left hold %" PRIu64 " KB in %.255s, and at most %" PRIu64
                    " KB may; they are written to segments now, after which 'squid -k reconfigure' starts tracing",
                    l->directory_path, c.bytes >> 10, l->ringdir, c.most >> 10);
}
