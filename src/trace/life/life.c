/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * life.c - tracing begins, changes and ends.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/calls/calls-direct.h"
#include "trace/calls/calls-internal.h"
#include "trace/config/config-internal.h"
#include "trace/ring/define-internal.h"
#include "trace/ring/emit-internal.h"
#include "trace/calls/loop-internal.h"
#include "trace-internal.h"

#define MS UINT64_C(1000000)         /* ns */
#define LOSSES_AGAIN_NS (60000 * MS) /* between warnings about lost records */

uint64_t sqt_patience_ns = 800 * MS;

enum state {
    STATE_OFF,
    STATE_STARTING, /* the trace's thread has not made everything yet */
    STATE_TRACING
};

/* One process, one trace: hooks and signal handlers have nothing to pass. */
static struct {
    enum state state;
    struct sqt_trace *trace; /* NULL: off */
    struct sqt_trace *left;  /* those that were left behind: their threads still hang, or write the rest */
    sqt_log_function *log;
    uint64_t lost_told, lost_told_ns;
    unsigned stalls_told;         /* of the flusher, up to the last line about losses */
    char reason[SQT_MESSAGE_MAX]; /* why it is off; empty: nobody asked for a trace */
} tracer;

int sqt_names;
int sqt_trace_context;

/* Stored by signal handlers and forked children, so apart from the rest. */
static volatile pid_t switched_off; /* the process that called sqt_off() */
static volatile pid_t tracing_pid;  /* the process that the tracer belongs to */

static void
life_say(int level, const char *text)
{
    if (tracer.log)
        tracer.log(level, text);
}

static void say_about(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void
say_about(int level, const char *format, ...)
{
    char text[SQT_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    life_say(level, text);
}

/* Whether this process, and not its parent, has a trace, and nothing switched it off. */
static int
has_trace(void)
{
    return tracer.state != STATE_OFF && tracing_pid == getpid() && switched_off != tracing_pid;
}

static int
is_tracing(void)
{
    return tracer.state == STATE_TRACING && has_trace();
}

#pragma weak sqt_calls_go /* is there if the wrappers are */

/* Other threads look at the way of calls when they make one, and after it at the clock. */
static void
set_groups(uint32_t groups)
{
    if (!(sqt_groups & SQT_GROUP_LOOP))
        sqt_loop_restart();
    sqt_groups = groups;
    sqt_acl_now = groups & SQT_GROUP_LOOP && sqt_emitter.ring ? &sqt_emitter.ring->writer.acl : NULL;
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
    if (tracer.state == STATE_TRACING) {
        set_groups(0);
        set_clock(0);
        sqt_emitter_detach(&sqt_emitter);
        sqt_define_end();
    }
    if (tracer.trace)
        sqt_trace_forget(tracer.trace);
    for (struct sqt_trace *t = tracer.left; t; t = t->next)
        sqt_trace_forget(t);
    tracer.state = STATE_OFF;
    tracer.trace = tracer.left = NULL;
}

static void
watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* ---- traces that were left behind ---- */

static unsigned
count_left(void)
{
    unsigned count = 0;
    for (const struct sqt_trace *t = tracer.left; t; t = t->next)
        ++count;
    return count;
}

/* At SQT_ENDED: says what came of it. */
static void
end_trace(struct sqt_trace *t)
{
    sqt_mailbox_empty(&t->mailbox, tracer.log);
    if (!t->complete && !t->error.text[0])
        say_about(0,
                  "WARNING: sqtrace: could not write everything to %.255s; the rest stays in %.500s for the next start",
                  t->path, t->ring.path);
    sqt_trace_free(t);
}

/* Releases those whose thread has ended meanwhile. */
static void
reap(void)
{
    for (struct sqt_trace **link = &tracer.left; *link;) {
        struct sqt_trace *const t = *link;
        sqt_mailbox_empty(&t->mailbox, tracer.log);
        if (sqt_trace_wait(t, SQT_ENDED, 0) != SQT_ENDED) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        if (t->complete)
            say_about(1, "sqtrace: the flusher that was left behind has written the rest to %.255s", t->path);
        end_trace(t);
    }
}

/* Ends a trace, or leaves it behind if its thread has not ended by then. */
static void
finish_or_leave(struct sqt_trace *t, enum state state, uint64_t until_ns)
{
    sqt_trace_ask_to_end(t);
    if (sqt_trace_wait(t, SQT_ENDED, until_ns) == SQT_ENDED) {
        end_trace(t);
        return;
    }
    sqt_mailbox_empty(&t->mailbox, tracer.log);
    if (state == STATE_TRACING)
        say_about(
            0,
            "WARNING: sqtrace: left the flusher behind, which hangs or is still writing to %.255s; until it is done "
            "the rest stays in %.400s, and if Squid ends first, the next start takes it from there",
            t->path, t->ring.path);
    else
        say_about(0, "WARNING: sqtrace: left a trace behind that never began, because %.255s does not answer",
                  t->config.directory);
    t->next = tracer.left;
    tracer.left = t;
}

/* ---- the life of a trace ---- */

/* Notes why it is off, for mgr:sqtrace. */
static void
life_note_reason(const char *why)
{
    snprintf(tracer.reason, sizeof(tracer.reason), "%s", why);
}

static int
refuse(const char *why)
{
    life_note_reason(why);
    say_about(0, "WARNING: sqtrace: %.900s; tracing is off", why);
    return -1;
}

/* The configuration with the host's name that squid.conf gives elsewhere, if it has none and names may be told. */
static struct sqt_config
life_with_host(const struct sqt_config *config, const struct sqt_process *process)
{
    char error[200];
    struct sqt_config with = *config;
    if (!config->host[0] && config->names != SQT_NAMES_OFF && process->host &&
        sqt_config_host(&with, "the host's name ", process->host, error, sizeof(error)) != 0)
        say_about(0, "WARNING: sqtrace: %s; it is a number in traces, unless host= of sqtrace_log names it", error);
    return with;
}

/* Without a name, all traces of a directory have the same number, which tells nothing of the machine. */
static void
life_name_host(const struct sqt_config *config)
{
    static const char what[] = "sqtrace: host";
    char number[32];
    snprintf(number, sizeof(number), "%016" PRIx64, sqt_hash(what, sizeof(what)));
    sqt_define(SQT_DEF_HOST, 0, config->host[0] ? config->host : number);
}

/* What the clocks say, as a record: a flight recorder has no blocks with anchors. */
static void
life_anchor(const struct sqt_trace *t)
{
    if (!t->config.recorder)
        return;
    const struct sqt_anchor now = sqt_clock_anchor(sqt_clock, 0); /* the emitter adds the offset */
    struct sqt_record unit[2] = {{.event = SQT_EV_ANCHOR, .id = now.ticks, .arg = now.monotonic_ns},
                                 {.event = SQT_EV_PART_ANCHOR, .id = now.realtime_ns}};
    sqt_emit_unit(unit, 2);
}

/* From SQT_PREPARED on: what the main thread writes to a new ring. */
static int
life_begin(struct sqt_trace *t, struct sqt_error *error)
{
    struct sqt_ring_header *const ring = t->ring.header;
    if (sqt_define_begin(ring) != 0)
        return sqt_fail(error, "the table of events does not fit the ring");
    sqt_ring_finish(ring);
    sqt_hash_use(&t->key);
    life_name_host(&t->config);
    sqt_trace_go(t);
    set_clock(t->who.clock);
    sqt_emitter_attach(&sqt_emitter, ring);
    sqt_emitter.steps = &t->flusher.steps;
    sqt_emitter.nap = &t->flusher.nap;
    sqt_emitter.recorder = t->config.recorder;
    sqt_watch_use(&t->flusher.watch);
    tracer.lost_told = tracer.lost_told_ns = 0;
    tracer.stalls_told = 0;
    tracer.state = STATE_TRACING;
    sqt_calls_name_thread("main");
    sqt_calls_restart();
    sqt_names = t->config.names;
    sqt_trace_context = t->config.trace_context;
    sqt_notes_use(&t->config, 1);
    memcpy(sqt_span_ring, t->who.ring_id, sizeof(sqt_span_ring));
    set_groups(t->config.groups | SQT_GROUP_TRACE);
    const uint64_t kilobytes = ring->capacity * sizeof(struct sqt_record) / 1024;
    sqt_emit(SQT_EV_START, sqt_groups, (uint64_t)tracing_pid, (uint32_t)kilobytes);
    life_anchor(t);
    if (t->config.recorder)
        say_about(1,
                  "sqtrace: recording into a ring of %" PRIu64
                  " KB at %.500s, which the end saves in %.255s; until then "
                  "nothing is written, and the oldest records are overwritten",
                  kilobytes, t->ring.path, t->path);
    else
        say_about(1, "sqtrace: tracing into %.255s with a ring of %" PRIu64 " KB at %.500s", t->path, kilobytes,
                  t->ring.path);
    return 0;
}

/* Goes on with a trace that is being made, if its thread is done by then.  Returns 0, also if it is not, or -1 after one
 * line if it failed. */
static int
life_go_on(uint64_t until_ns)
{
    struct sqt_trace *const t = tracer.trace;
    struct sqt_error error;
    const enum sqt_phase phase = sqt_trace_wait(t, SQT_PREPARED, until_ns);
    if (phase == SQT_PREPARING || (phase == SQT_PREPARED && life_begin(t, &error) == 0))
        return 0;
    tracer.state = STATE_OFF;
    tracer.trace = NULL;
    if (phase == SQT_ENDED)
        error = t->error;
    finish_or_leave(t, STATE_STARTING, until_ns);
    return refuse(error.text);
}

int
sqt_start(const struct sqt_config *config, const struct sqt_process *process, sqt_log_function *log)
{
    struct sqt_error error;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (has_trace())
        return 0;
    tracer.log = log;
    reap();
    tracer.reason[0] = '\0';
    if (!config->directory[0])
        return 0;
    if (switched_off == getpid())
        return refuse("it was switched off for good");
    if (sqt_config_check(config, error.text, sizeof(error.text)) != 0)
        return refuse(error.text);
    const uint16_t one = 1;
    if (*(const uint8_t *)&one != 1)
        return refuse("this machine is big-endian");
    if (count_left() == SQT_LEFT_MAX)
        return refuse("two traces that were left behind still wait for their disks");

    const uint64_t until_ns = sqt_monotonic_ns() + sqt_patience_ns;
    pthread_once(&once, watch_forks);
    const struct sqt_config with = life_with_host(config, process);
    tracer.trace = sqt_trace_new(&with, process, tracer.left, &error);
    if (!tracer.trace)
        return refuse(error.text);
    tracing_pid = getpid();
    tracer.state = STATE_STARTING;
    if (life_go_on(until_ns) != 0)
        return -1;
    if (tracer.state == STATE_STARTING)
        say_about(0, "WARNING: sqtrace: %.255s does not answer; tracing begins when it does", config->directory);
    return 0;
}

void
sqt_stop(void)
{
    if (!has_trace())
        return;
    struct sqt_trace *const t = tracer.trace;
    const enum state state = tracer.state;
    const uint64_t until_ns = sqt_monotonic_ns() + sqt_patience_ns;
    if (state == STATE_TRACING) {
        if (sqt_on(SQT_GROUP_SYSCALL))
            sqt_calls_tell_rest();
        sqt_sampler_tell(&t->sampler);
        sqt_heartbeat_tell(&t->flusher.heartbeat);
        life_anchor(t);
        sqt_emit(SQT_EV_STOP, 0, (uint64_t)tracing_pid, 0);
        set_groups(0);
        set_clock(0);
        sqt_watch_use(NULL);
        sqt_emitter_detach(&sqt_emitter);
        sqt_define_end();
        __atomic_store_n(&t->ring.header->writer.closed, 1, __ATOMIC_RELEASE);
    }
    tracer.state = STATE_OFF;
    tracer.trace = NULL;
    finish_or_leave(t, state, until_ns);
}

/* Whether all that a running trace cannot change is as it was. */
static int
is_same_place(const struct sqt_config *a, const struct sqt_config *b, uint32_t kid_kind)
{
    return strcmp(a->directory, b->directory) == 0 && strcmp(sqt_config_ringdir(a), sqt_config_ringdir(b)) == 0 &&
           sqt_config_ring(a, kid_kind) == sqt_config_ring(b, kid_kind) && a->recorder == b->recorder;
}

void
sqt_reconfigure(const struct sqt_config *config, const struct sqt_process *process, sqt_log_function *log)
{
    tracer.log = log;
    sqt_define_forget_acls();
    reap();
    if (!has_trace()) {
        sqt_start(config, process, log);
        return;
    }
    if (!config->directory[0]) {
        sqt_stop();
        life_note_reason("there is no sqtrace_log any more"); /* the caller has said so, or why */
        return;
    }
    char text[SQT_MESSAGE_MAX] = "WARNING: sqtrace: ";
    const size_t prefix = strlen(text);
    if (sqt_config_check(config, text + prefix, sizeof(text) - prefix) != 0) {
        life_say(0, text);
        return;
    }
    struct sqt_trace *const t = tracer.trace;
    if (!is_same_place(config, &t->config, t->who.kid_kind))
        life_say(0, "WARNING: sqtrace: a changed DIRECTORY, ring, ringdir or mode of sqtrace_log needs a restart");

    const struct sqt_config with = life_with_host(config, process);
    if (strcmp(with.host, t->config.host) != 0)
        life_say(0, "WARNING: sqtrace: a changed name of the host needs a restart");

    sqt_flusher_configure(&t->flusher, config);
    t->config.groups = config->groups;
    t->config.compression = config->compression;
    t->config.segment = config->segment;
    t->config.keep = config->keep;
    t->config.total = config->total;
    t->config.reserve = config->reserve;
    t->config.age_ns = config->age_ns;
    t->config.every_ns = config->every_ns;
    t->config.names = config->names;
    t->config.trace_context = config->trace_context;
    memcpy(t->config.notes, config->notes, sizeof(config->notes));
    if (tracer.state != STATE_TRACING)
        return;
    if (!sqt_on(SQT_GROUP_SYSCALL))
        sqt_calls_restart();
    sqt_names = config->names;
    sqt_trace_context = config->trace_context;
    sqt_notes_use(config, 0);
    set_groups(config->groups | SQT_GROUP_TRACE);
    sqt_emit(SQT_EV_RECONFIGURE, sqt_groups, 0, 0);
}

void
sqt_rotate(void)
{
    if (!is_tracing())
        return;
    sqt_emit(SQT_EV_ROTATE, 0, 0, 0);
    sqt_flusher_rotate(&tracer.trace->flusher);
}

/* What to say of why records were lost: no size of a ring bridges a disk that takes nothing. */
static void
life_why_lost(char *why, size_t size)
{
    struct sqt_flusher *const f = &tracer.trace->flusher;
    pthread_mutex_lock(&f->mutex);
    if (f->stalled[0] || f->stalls != tracer.stalls_told)
        snprintf(why, size, "nothing could be written to %.255s meanwhile: %s", tracer.trace->path, f->stalled_last);
    else
        snprintf(why, size, "ring= of sqtrace_log can make it larger");
    /* One that goes on is the cause of what is lost until the next line, too. */
    tracer.stalls_told = f->stalls - (f->stalled[0] != '\0');
    pthread_mutex_unlock(&f->mutex);
}

/* Nothing is lost that was not told: what stalled until now has cost nothing more. */
static void
life_forget_stalls(void)
{
    struct sqt_flusher *const f = &tracer.trace->flusher;
    pthread_mutex_lock(&f->mutex);
    if (!f->stalled[0])
        tracer.stalls_told = f->stalls;
    pthread_mutex_unlock(&f->mutex);
}

/* One line for losses, and at most one a minute. */
static void
tell_losses(void)
{
    char why[600];
    const uint64_t lost = tracer.trace->ring.header->writer.lost;
    if (lost == tracer.lost_told) {
        life_forget_stalls();
        return;
    }
    const uint64_t now = sqt_monotonic_ns();
    if (tracer.lost_told_ns && now - tracer.lost_told_ns < LOSSES_AGAIN_NS)
        return;
    life_why_lost(why, sizeof(why));
    say_about(0, "WARNING: sqtrace: %" PRIu64 " records lost because the ring was full; %s", lost - tracer.lost_told,
              why);
    tracer.lost_told = lost;
    tracer.lost_told_ns = now;
}

void
sqt_poll(void)
{
    reap();
    if (!has_trace())
        return;
    if (tracer.state == STATE_STARTING)
        life_go_on(0);
    if (tracer.state != STATE_TRACING)
        return;
    sqt_mailbox_empty(&tracer.trace->mailbox, tracer.log);
    tell_losses();
    sqt_sampler_tell(&tracer.trace->sampler);
    sqt_heartbeat_tell(&tracer.trace->flusher.heartbeat);
    life_anchor(tracer.trace);
}

void
sqt_sample_dir(unsigned number, const char *path)
{
    if (is_tracing())
        sqt_sampler_dir(&tracer.trace->sampler, number, path);
}

int
sqt_has_trace(void)
{
    return has_trace() || tracer.left;
}

/* Why nothing is traced. */
static const char *
life_reason(void)
{
    if (switched_off == getpid())
        return "it was switched off for good, because Squid ends";
    return tracer.reason[0] ? tracer.reason : "there is no sqtrace_log";
}

/* How long ago the oldest record of a flight recorder was made.  Only the main thread, which asks, overwrites any. */
static uint64_t
life_reaches_ns(const struct sqt_trace *t, uint64_t tail)
{
    const struct sqt_ring_header *const ring = t->ring.header;
    const uint64_t then = sqt_ring_records(ring)[tail & (ring->capacity - 1)].time,
                   now = sqt_read_clock(sqt_clock) + sqt_emitter.offset;
    return now > then ? (uint64_t)((double)(now - then) * 1e9 / (double)ring->identity.ticks_per_second) : 0;
}

void
sqt_get_status(struct sqt_status *status)
{
    static char state[300];
    memset(status, 0, sizeof(*status));
    status->state = "off";
    status->reason = life_reason();
    status->left_behind = count_left();
    if (!has_trace())
        return;
    status->reason = "";
    struct sqt_trace *const t = tracer.trace;
    struct sqt_flusher *const f = &t->flusher;
    status->flusher = (uint32_t)__atomic_load_n(&t->tid, __ATOMIC_RELAXED);
    status->flusher_disk = (uint32_t)__atomic_load_n(&t->disk_pid, __ATOMIC_RELAXED);
    if (tracer.state == STATE_STARTING) {
        snprintf(status->directory, sizeof(status->directory), "%s", t->config.directory);
        status->state = "starting: the directory does not answer";
        return;
    }
    const struct sqt_ring_header *const ring = t->ring.header;
    struct sqt_totals totals;
    sqt_ring_totals(ring, &totals);
    status->state = t->config.recorder ? "recording" : "tracing";
    snprintf(status->directory, sizeof(status->directory), "%s", t->path);
    pthread_mutex_lock(&f->mutex);
    if (f->file[0])
        snprintf(status->file, sizeof(status->file), "%s/%s", t->path, f->file);
    if (f->stalled[0]) {
        snprintf(state, sizeof(state), "not writing: %s", f->stalled);
        status->state = state;
    }
    pthread_mutex_unlock(&f->mutex);
    snprintf(status->ring, sizeof(status->ring), "%s", t->ring.path);
    const uint64_t tail = __atomic_load_n(&ring->flusher.tail, __ATOMIC_ACQUIRE);
    status->written = totals.head - totals.marks;
    status->lost = totals.lost;
    status->emitted = status->written + status->lost;
    status->flushed = t->config.recorder ? 0 : tail;
    status->recorder = t->config.recorder;
    status->overwritten = t->config.recorder ? tail : 0;
    status->reaches_ns = t->config.recorder ? life_reaches_ns(t, tail) : 0;
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
    sqt_config_groups(sqt_groups, status->group_names, sizeof(status->group_names));
}
