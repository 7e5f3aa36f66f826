/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace.c - see trace-internal.h.
 */
#define _GNU_SOURCE /* close_range */
#include "trace-internal.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/file/apart-internal.h"
#include "trace/calls/calls-internal.h"
#include "trace/flush/room-internal.h"
#include "trace/leftover/salvage-internal.h"
#include "trace/file/trust-internal.h"

/* ---- the thread ---- */

/* Leaves the process's table of descriptors.  While threads share a table, the kernel counts each use of a descriptor,
 * which makes each call of Squid's main thread slower.  And what is open here, Squid never has to close: close() of a
 * file on a disk that hangs may hang as well.  Before Linux 5.9 the table stays shared. */
static void
leave_descriptors(struct sqt_trace *t)
{
#if defined(CLOSE_RANGE_UNSHARE) && !defined(__SANITIZE_THREAD__) /* which knows of one table only */
    /* The first three stay: what somebody says on the standard error must not come into a segment. */
    if (close_range(3, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0)
        return;
    __atomic_store_n(&t->apart, 1, __ATOMIC_RELAXED);
    sqt_fd_apart();
#else
    (void)t;
#endif
}

static int
trace_open_directory(struct sqt_trace *t)
{
    char resolved[PATH_MAX];
    struct sqt_error cause;
    if (!realpath(t->config.directory, resolved))
        return sqt_fail(&t->error, "%s: %s", t->config.directory, strerror(errno));
    t->directory = sqt_open_directory(resolved, t->owner, 0, &cause);
    if (t->directory < 0)
        return sqt_fail(&t->error, "%s: %.500s", t->config.directory, cause.text);
    snprintf(t->path, sizeof(t->path), "%.255s", resolved);
    return 0;
}

static long
find_directory(void *context)
{
    struct sqt_trace *const t = context;
    if (trace_open_directory(t) != 0)
        return -1;
    if (sqt_hash_key_load(&t->key, t->directory, t->owner, &t->error) == 0)
        return 0;
    const struct sqt_error cause = t->error;
    return sqt_fail(&t->error, "%.255s: %.700s", t->path, cause.text);
}

static long
create_ring(void *context)
{
    struct sqt_trace *const t = context;
    const struct sqt_place place = {t->directory, t->path,           t->base, sqt_config_ringdir(&t->config),
                                    t->owner,     t->config.recorder};
    return sqt_ring_create(&t->ring, &place, &t->who, sqt_config_ring(&t->config, t->who.kid_kind), &t->error);
}

static long
trace_remove_ring(void *context)
{
    struct sqt_trace *const t = context;
    if (t->complete)
        sqt_ring_remove(&t->ring, t->directory);
    else
        sqt_ring_release(&t->ring);
    return 0;
}

static long
close_directory(void *context)
{
    struct sqt_trace *const t = context;
    return close(t->directory);
}

/* Makes all that is on a disk or in shared memory.  Returns 0, or -1 after filling in the trace's error. */
static int
prepare(struct sqt_trace *t)
{
    if (sqt_apart_call(find_directory, t) != 0)
        return -1;
    t->flusher.leftovers.directory = t->directory;
    if (sqt_leftovers_check(&t->flusher.leftovers, t->who.kid, &t->error) != 0 || sqt_apart_call(create_ring, t) != 0)
        return -1;
    t->flusher.ring = t->ring.header;
    if (sqt_flusher_open(&t->flusher, t->directory, t->owner) == 0)
        return 0;
    t->complete = 1; /* nothing is in it */
    sqt_apart_call(trace_remove_ring, t);
    return sqt_fail(&t->error, "cannot start the flusher: %s", strerror(ENOMEM));
}

static void
trace_enter(struct sqt_trace *t, enum sqt_phase phase)
{
    pthread_mutex_lock(&t->mutex);
    t->phase = phase;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
}

/* Returns whether to go on. */
static int
wait_to_go(struct sqt_trace *t)
{
    pthread_mutex_lock(&t->mutex);
    t->phase = SQT_PREPARED;
    pthread_cond_broadcast(&t->changed);
    while (!t->go && !t->end)
        pthread_cond_wait(&t->changed, &t->mutex);
    const int go = t->go;
    if (go)
        t->phase = SQT_RUNNING;
    pthread_mutex_unlock(&t->mutex);
    return go;
}

/* A flight recorder's ring becomes a segment, as if its process had died. */
static long
trace_save(void *context)
{
    struct sqt_trace *const t = context;
    const struct sqt_trace_place to = {t->directory, t->owner, t->base};
    struct sqt_dead_ring ring;
    struct sqt_error error;
    uint64_t records;
    if (sqt_dead_ring_read(&ring, t->ring.fd, &error) != 0)
        return 0;
    const int saved = sqt_salvage(&ring, &to, &records) == 0;
    sqt_dead_ring_free(&ring);
    return saved;
}

/* Whether what the ring has is in segments. */
static int
trace_is_saved(struct sqt_trace *t)
{
    if (!t->config.recorder)
        return 1;
    const int saved = (int)sqt_apart_call(trace_save, t) > 0;
    sqt_room_keep(&t->flusher);
    return saved;
}

static void *
run(void *context)
{
    struct sqt_trace *const t = context;
    __atomic_store_n(&t->tid, gettid(), __ATOMIC_RELAXED);
    sqt_calls_name_thread("flusher");
    leave_descriptors(t);
    sqt_apart_begin();
    __atomic_store_n(&t->disk_pid, sqt_apart_pid(), __ATOMIC_RELAXED);
    if (prepare(t) == 0) {
        /* With nothing in the ring, there is nothing to keep. */
        t->complete = !wait_to_go(t) || (sqt_flusher_run(&t->flusher) && trace_is_saved(t));
        sqt_flusher_close(&t->flusher);
        sqt_apart_call(trace_remove_ring, t);
    }
    if (t->directory >= 0)
        sqt_apart_call(close_directory, t);
    sqt_apart_end();
    sqt_fd_apart_end();
    trace_enter(t, SQT_ENDED);
    return NULL;
}

/* ---- the owner ---- */

/* All that needs neither thread nor disk. */
static int
fill_in(struct sqt_trace *t, const struct sqt_config *config, const struct sqt_process *process,
        const struct sqt_trace *others, struct sqt_error *error)
{
    t->config = *config;
    t->owner = geteuid();
    t->directory = -1;
    t->ring.fd = t->ring.pointer_fd = t->ring.ringdir = -1;
    if (sqt_identify(&t->who, process, error) != 0)
        return -1;
    sqt_service_name(t->service, process->service);
    sqt_base_name(t->base, t->service, t->who.kid, t->who.start.realtime_ns, t->who.ring_id);
    sqt_mailbox_init(&t->mailbox);
    sqt_sampler_init(&t->sampler, "", t->who.clock, t->who.kid <= 1, &t->mailbox);

    struct sqt_flusher *const f = &t->flusher;
    f->service = t->service;
    f->kid = t->who.kid;
    f->base = t->base;
    f->mailbox = &t->mailbox;
    f->sampler = &t->sampler;
    f->recorder = config->recorder;
    sqt_flusher_init(f, config);
    sqt_watch_init(&f->watch, "", t->who.clock);
    sqt_heartbeat_init(&f->heartbeat, t->who.clock);
    f->leftovers.directory_path = t->path;
    f->leftovers.ringdir = sqt_config_ringdir(&t->config);
    f->leftovers.service = t->service;
    f->leftovers.kid = t->who.kid;
    f->leftovers.owner = t->owner;
    f->leftovers.mailbox = &t->mailbox;
    memcpy(f->leftovers.boot_id, t->who.boot_id, sizeof(f->leftovers.boot_id));
    f->leftovers.base = t->base;
    for (unsigned i = 0; others && i < SQT_LEFT_MAX; others = others->next)
        strcpy(f->leftovers.left[i++], others->base);
    return 0;
}

/* Squid's signals are for its main thread.  Returns 0 or an error number. */
static int
trace_start_thread(struct sqt_trace *t)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failure)
        pthread_setname_np(t->thread, "sqtrace"); /* for top -H */
    return failure;
}

struct sqt_trace *
sqt_trace_new(const struct sqt_config *config, const struct sqt_process *process, const struct sqt_trace *others,
              struct sqt_error *error)
{
    struct sqt_trace *const t = calloc(1, sizeof(*t));
    if (!t) {
        sqt_fail(error, "cannot start the flusher: %s", strerror(ENOMEM));
        return NULL;
    }
    if (fill_in(t, config, process, others, error) == 0) {
        const int failure = trace_start_thread(t);
        if (!failure)
            return t;
        sqt_fail(error, "cannot start the flusher: %s", strerror(failure));
    }
    sqt_sampler_end(&t->sampler);
    free(t);
    return NULL;
}

enum sqt_phase
sqt_trace_wait(struct sqt_trace *t, enum sqt_phase phase, uint64_t until_ns)
{
    const struct timespec until = sqt_timespec(until_ns);
    pthread_mutex_lock(&t->mutex);
    while (t->phase < phase && pthread_cond_timedwait(&t->changed, &t->mutex, &until) == 0)
        ;
    const enum sqt_phase reached = t->phase;
    pthread_mutex_unlock(&t->mutex);
    return reached;
}

void
sqt_trace_go(struct sqt_trace *t)
{
    pthread_mutex_lock(&t->mutex);
    t->go = 1;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
}

void
sqt_trace_ask_to_end(struct sqt_trace *t)
{
    pthread_mutex_lock(&t->mutex);
    t->end = 1;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
    sqt_flusher_ask_to_end(&t->flusher);
}

void
sqt_trace_free(struct sqt_trace *t)
{
    pthread_join(t->thread, NULL); /* has nothing left to do */
    sqt_flusher_destroy(&t->flusher);
    sqt_sampler_end(&t->sampler);
    pthread_mutex_destroy(&t->mailbox.mutex);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->mutex);
    free(t);
}

void
sqt_trace_forget(struct sqt_trace *t)
{
    if (__atomic_load_n(&t->apart, __ATOMIC_RELAXED))
        t->ring.fd = t->ring.pointer_fd = t->ring.ringdir = -1; /* of another table */
    sqt_ring_release(&t->ring);
}
