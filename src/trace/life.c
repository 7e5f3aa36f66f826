/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * life.c - tracing begins, changes and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls-direct.h"
#include "calls-internal.h"
#include "config-internal.h"
#include "define-internal.h"
#include "emit-internal.h"
#include "flusher-internal.h"
#include "hash-internal.h"
#include "identity-internal.h"
#include "loop-internal.h"
#include "sampler-internal.h"
#include "trust-internal.h"

#define LOSSES_AGAIN_NS UINT64_C(60000000000) /* between warnings about lost records */

enum state { STATE_OFF, STATE_TRACING };

/* One process, one trace: hooks and signal handlers have nothing to pass. */
static struct {
    enum state state;
    struct sqt_config config;
    struct sqt_ring ring;
    struct sqt_flusher flusher;
    struct sqt_mailbox mailbox;
    struct sqt_sampler sampler;
    sqt_log_function *log;
    int directory; /* descriptor */
    char path[256]; /* of the directory, resolved */
    char base[SQT_BASE_MAX];
    char service[32];
    uint32_t kid_kind;
    uint64_t lost_told, lost_told_ns;
} tracer;

/* Stored by signal handlers and forked children, so apart from the rest. */
static volatile pid_t switched_off; /* the process that called sqt_off() */
static volatile pid_t tracing_pid;  /* the process that the tracer belongs to */

static void
say(int level, const char *text)
{
    if (tracer.log)
        tracer.log(level, text);
}

/* Whether this process traces, and not its parent, and nothing switched it off. */
static int
is_tracing(void)
{
    return tracer.state == STATE_TRACING && tracing_pid == getpid() && switched_off != tracing_pid;
}

#pragma weak sqt_calls_go /* is there if the wrappers are */

/* Other threads look at the way of calls when they make one, and after it at the clock. */
static void
set_groups(uint32_t groups)
{
    if (!(sqt_groups & SQT_GROUP_LOOP))
        sqt_loop_restart();
    sqt_groups = groups;
    if (sqt_calls_go)
        sqt_calls_go((groups && sqt_calls_can_be_direct() ? SQT_CALLS_DIRECT : 0) |
                     (groups & SQT_GROUP_SYSCALL ? SQT_CALLS_TIMED : 0));
}

static void
set_clock(uint32_t clock)
{
    __atomic_store_n(&sqt_clock, clock, __ATOMIC_RELAXED);
}

void
sqt_off(void)
{
    set_groups(0);
    switched_off = getpid();
}

/* A forked child has no flusher, and must not hold the locks that prove that its parent lives: neither by a
 * descriptor nor by a mapping. */
static void
after_fork_in_child(void)
{
    if (tracer.state != STATE_TRACING)
        return;
    set_groups(0);
    set_clock(0);
    sqt_emitter_detach(&sqt_emitter);
    sqt_define_end();
    sqt_ring_release(&tracer.ring);
    tracer.state = STATE_OFF;
}

static void
watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

static int
open_directory(const char *path, struct sqt_error *error)
{
    char resolved[PATH_MAX];
    if (!realpath(path, resolved))
        return sqt_fail(error, "%s: %s", path, strerror(errno));
    struct sqt_error cause;
    tracer.directory = sqt_open_directory(resolved, geteuid(), 0, &cause);
    if (tracer.directory < 0)
        return sqt_fail(error, "%s: %.500s", path, cause.text);
    snprintf(tracer.path, sizeof(tracer.path), "%.255s", resolved);
    return 0;
}

static struct sqt_flusher_settings
settings_of(const struct sqt_config *config)
{
    const struct sqt_flusher_settings settings = {
        sqt_config_segment(config), config->keep, (enum sqt_compression)config->compression, (config->groups & SQT_GROUP_SAMPLE) != 0};
    return settings;
}

/* What to look for that earlier processes left. */
static struct sqt_leftovers
leftovers_of(const struct sqt_identity *who, uid_t owner)
{
    struct sqt_leftovers leftovers = {
        .directory = tracer.directory,
        .directory_path = tracer.path,
        .ringdir = sqt_config_ringdir(&tracer.config),
        .service = tracer.service,
        .base = tracer.base,
        .owner = owner,
        .mailbox = &tracer.mailbox,
    };
    memcpy(leftovers.boot_id, who->boot_id, sizeof(leftovers.boot_id));
    return leftovers;
}

static int
start_flusher(uid_t owner, struct sqt_error *error)
{
    struct sqt_flusher *const f = &tracer.flusher;
    const struct sqt_identity *const who = &tracer.ring.header->identity;
    memset(f, 0, sizeof(*f));
    f->ring = tracer.ring.header;
    f->service = tracer.service;
    f->kid = who->kid;
    f->base = tracer.base;
    f->mailbox = &tracer.mailbox;
    f->sampler = &tracer.sampler;
    f->settings = settings_of(&tracer.config);
    f->leftovers = leftovers_of(who, owner);
    if (sqt_flusher_start(f, tracer.directory, owner) != 0)
        return sqt_fail(error, "cannot start the flusher: %s", strerror(errno));
    return 0;
}

/* Makes the ring and all that stands around it. */
static int
make_trace(const struct sqt_process *process, struct sqt_error *error)
{
    const uid_t owner = geteuid();
    struct sqt_hash_key key;
    struct sqt_identity who;
    if (sqt_hash_key_load(&key, tracer.directory, owner, error) != 0) {
        struct sqt_error cause = *error;
        return sqt_fail(error, "%.255s: %.700s", tracer.path, cause.text);
    }
    sqt_hash_use(&key);
    if (sqt_identify(&who, process, error) != 0)
        return -1;
    sqt_base_name(tracer.base, tracer.service, who.kid, who.start.realtime_ns, who.ring_id);

    const struct sqt_leftovers leftovers = leftovers_of(&who, owner);
    if (sqt_leftovers_check(&leftovers, who.kid, error) != 0)
        return -1;
    const struct sqt_place place = {tracer.directory, tracer.path, tracer.base, sqt_config_ringdir(&tracer.config), owner};
    if (sqt_ring_create(&tracer.ring, &place, &who, sqt_config_ring(&tracer.config, process->kid_kind), error) != 0)
        return -1;
    struct sqt_ring_header *const ring = tracer.ring.header;
    if (sqt_define_begin(ring) != 0) {
        sqt_ring_remove(&tracer.ring, tracer.directory);
        return sqt_fail(error, "the table of events does not fit the ring");
    }
    sqt_ring_finish(ring);
    sqt_mailbox_init(&tracer.mailbox);
    sqt_sampler_init(&tracer.sampler, "", who.clock, who.kid <= 1, &tracer.mailbox);
    if (start_flusher(owner, error) != 0) {
        sqt_define_end();
        sqt_ring_remove(&tracer.ring, tracer.directory);
        return -1;
    }
    set_clock(who.clock);
    sqt_emitter_attach(&sqt_emitter, ring);
    sqt_emitter.steps = &tracer.flusher.steps;
    return 0;
}

static int
refuse(const char *why)
{
    char text[SQT_MESSAGE_MAX];
    snprintf(text, sizeof(text), "WARNING: sqtrace: %.900s; tracing is off", why);
    say(0, text);
    return -1;
}

int
sqt_start(const struct sqt_config *config, const struct sqt_process *process, sqt_log_function *log)
{
    struct sqt_error error;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (is_tracing())
        return 0;
    tracer.log = log;
    if (!config->directory[0])
        return 0;
    if (switched_off == getpid())
        return refuse("it was switched off for good");
    if (sqt_config_check(config, error.text, sizeof(error.text)) != 0)
        return refuse(error.text);
    const uint16_t one = 1;
    if (*(const uint8_t *)&one != 1)
        return refuse("this machine is big-endian");

    tracer.config = *config;
    tracer.kid_kind = process->kid_kind;
    tracer.lost_told = tracer.lost_told_ns = 0;
    sqt_service_name(tracer.service, process->service);
    if (open_directory(config->directory, &error) != 0)
        return refuse(error.text);
    if (make_trace(process, &error) != 0) {
        close(tracer.directory);
        return refuse(error.text);
    }
    pthread_once(&once, watch_forks);
    tracing_pid = getpid();
    tracer.state = STATE_TRACING;
    sqt_calls_name_thread("main");
    sqt_calls_restart();
    set_groups(config->groups | SQT_GROUP_TRACE);
    sqt_emit(SQT_EV_START, sqt_groups, (uint64_t)tracing_pid,
             (uint32_t)(tracer.ring.header->capacity * sizeof(struct sqt_record) / 1024));

    char text[SQT_MESSAGE_MAX];
    snprintf(text, sizeof(text), "sqtrace: tracing into %.255s with a ring of %" PRIu64 " KB at %.500s", tracer.path,
             tracer.ring.header->capacity * sizeof(struct sqt_record) / 1024, tracer.ring.path);
    say(1, text);
    return 0;
}

void
sqt_stop(void)
{
    if (!is_tracing())
        return;
    if (sqt_on(SQT_GROUP_SYSCALL))
        sqt_calls_tell_rest();
    sqt_sampler_tell(&tracer.sampler);
    sqt_heartbeat_tell(&tracer.flusher.heartbeat);
    sqt_emit(SQT_EV_STOP, 0, (uint64_t)tracing_pid, 0);
    set_groups(0);
    set_clock(0);
    sqt_emitter_detach(&sqt_emitter);
    sqt_define_end();
    __atomic_store_n(&tracer.ring.header->writer.closed, 1, __ATOMIC_RELEASE);

    const int left = sqt_flusher_stop(&tracer.flusher);
    sqt_mailbox_empty(&tracer.mailbox, tracer.log);
    tracer.state = STATE_OFF;
    if (left == 0) {
        sqt_ring_remove(&tracer.ring, tracer.directory);
    } else {
        char text[SQT_MESSAGE_MAX];
        snprintf(text, sizeof(text), "WARNING: sqtrace: could not write everything to %.255s; the rest stays in %.500s "
                 "for the next start", tracer.path, tracer.ring.path);
        say(0, text);
        if (left < 0)
            return; /* the thread uses it all; exit will end it */
        sqt_ring_release(&tracer.ring);
    }
    close(tracer.directory);
}

void
sqt_reconfigure(const struct sqt_config *config, const struct sqt_process *process, sqt_log_function *log)
{
    if (!is_tracing()) {
        sqt_start(config, process, log);
        return;
    }
    tracer.log = log;
    if (!config->directory[0]) {
        sqt_stop();
        return;
    }
    char text[SQT_MESSAGE_MAX] = "WARNING: sqtrace: ";
    const size_t prefix = strlen(text);
    if (sqt_config_check(config, text + prefix, sizeof(text) - prefix) != 0) {
        say(0, text);
        return;
    }
    if (strcmp(config->directory, tracer.config.directory) != 0 ||
        strcmp(sqt_config_ringdir(config), sqt_config_ringdir(&tracer.config)) != 0 ||
        sqt_config_ring(config, tracer.kid_kind) != sqt_config_ring(&tracer.config, tracer.kid_kind))
        say(0, "WARNING: sqtrace: a changed DIRECTORY, ring or ringdir of sqtrace_log needs a restart");

    const struct sqt_flusher_settings settings = settings_of(config);
    sqt_flusher_configure(&tracer.flusher, &settings);
    tracer.config.groups = config->groups;
    tracer.config.compression = config->compression;
    tracer.config.segment = config->segment;
    tracer.config.keep = config->keep;
    if (!sqt_on(SQT_GROUP_SYSCALL))
        sqt_calls_restart();
    set_groups(config->groups | SQT_GROUP_TRACE);
    sqt_emit(SQT_EV_RECONFIGURE, sqt_groups, 0, 0);
}

void
sqt_rotate(void)
{
    if (!is_tracing())
        return;
    sqt_emit(SQT_EV_ROTATE, 0, 0, 0);
    sqt_flusher_rotate(&tracer.flusher);
}

/* One line for losses, and at most one a minute. */
static void
tell_losses(void)
{
    const uint64_t lost = tracer.ring.header->writer.lost;
    if (lost == tracer.lost_told)
        return;
    const uint64_t now = sqt_monotonic_ns();
    if (tracer.lost_told_ns && now - tracer.lost_told_ns < LOSSES_AGAIN_NS)
        return;
    char text[SQT_MESSAGE_MAX];
    snprintf(text, sizeof(text), "WARNING: sqtrace: %" PRIu64 " records lost because the ring was full; ring= of "
             "sqtrace_log can make it larger", lost - tracer.lost_told);
    say(0, text);
    tracer.lost_told = lost;
    tracer.lost_told_ns = now;
}

void
sqt_poll(void)
{
    if (!is_tracing())
        return;
    sqt_mailbox_empty(&tracer.mailbox, tracer.log);
    tell_losses();
    sqt_sampler_tell(&tracer.sampler);
    sqt_heartbeat_tell(&tracer.flusher.heartbeat);
}

void
sqt_sample_dir(unsigned number, const char *path)
{
    if (is_tracing())
        sqt_sampler_dir(&tracer.sampler, number, path);
}

int
sqt_has_trace(void)
{
    return is_tracing();
}

void
sqt_get_status(struct sqt_status *status)
{
    static char state[160];
    memset(status, 0, sizeof(*status));
    status->state = "off";
    if (!is_tracing())
        return;
    struct sqt_flusher *const f = &tracer.flusher;
    const struct sqt_ring_header *const ring = tracer.ring.header;
    struct sqt_totals totals;
    sqt_ring_totals(ring, &totals);
    status->state = "tracing";
    snprintf(status->directory, sizeof(status->directory), "%s", tracer.path);
    pthread_mutex_lock(&f->mutex);
    if (f->file[0])
        snprintf(status->file, sizeof(status->file), "%s/%s", tracer.path, f->file);
    if (f->stalled[0]) {
        snprintf(state, sizeof(state), "not writing: %s", f->stalled);
        status->state = state;
    }
    pthread_mutex_unlock(&f->mutex);
    snprintf(status->ring, sizeof(status->ring), "%s", tracer.ring.path);
    const uint64_t tail = __atomic_load_n(&ring->flusher.tail, __ATOMIC_ACQUIRE);
    status->written = totals.head - totals.marks;
    status->lost = totals.lost;
    status->emitted = status->written + status->lost;
    status->flushed = tail;
    status->bytes = __atomic_load_n(&ring->flusher.bytes, __ATOMIC_RELAXED);
    status->capacity = ring->capacity;
    status->waiting = totals.head - tail;
    status->high_water = __atomic_load_n(&ring->writer.high_water, __ATOMIC_RELAXED);
    if (status->waiting > status->high_water)
        status->high_water = status->waiting;
    const uint64_t beat = __atomic_load_n(&ring->flusher.heartbeat_ns, __ATOMIC_ACQUIRE);
    const uint64_t now = sqt_monotonic_ns();
    status->flusher_lag_ns = now > beat ? now - beat : 0;
    status->errors = __atomic_load_n(&ring->flusher.errors, __ATOMIC_RELAXED);
    status->groups = sqt_groups;
}
