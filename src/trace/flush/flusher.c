/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flusher.c - see flusher-internal.h.
 *
 * It sleeps until there is work: another quarter of the ring was written, the main thread computes or may be blocked
 * (watch-internal.h), or somebody rotates or ends the trace.  By the clock it wakes every 400 ms, for the heartbeat, the
 * clocks and samples.  It writes when there is enough for a good block, or when the oldest record has waited for two
 * seconds: readers take from the ring what is not written yet.
 *
 * For a flight recorder it writes nothing, and wakes for all but work.
 */
#include "flusher-internal.h"

#include "trace/ring/emit-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/calls/loop-internal.h"
#include "trace/file/apart-internal.h"
#include "room-internal.h"
#include "trace/segment/run-internal.h"

#define MS UINT64_C(1000000) /* ns */
#define LONGEST_WAIT_NS (2000 * MS)
#define CLOCK_LOOK_NS (400 * MS)  /* by the clock, with timers */
#define CLOCKS_AGAIN_NS (20 * MS) /* between comparisons of the clocks */
#define STEPS_LOOK_NS (25 * MS)   /* while the main thread has to take steps of the clock */
#define LONGEST_LOOK_NS (25 * MS) /* without timers */
#define SHORTEST_LOOK_NS (1 * MS)
#define STALLED_LOOK_NS (100 * MS)
#define LEFTOVERS_SOON_NS (100 * MS) /* a process that was killed just now still holds its locks for a moment */
#define LEFTOVERS_AGAIN_NS (10000 * MS)
#define FINISH_NS (500 * MS) /* at the end, for a disk that is full: well under what the owner waits */

static void
note_file(struct sqt_flusher *f, const char *name)
{
    pthread_mutex_lock(&f->mutex);
    snprintf(f->file, sizeof(f->file), "%s", name);
    pthread_mutex_unlock(&f->mutex);
}

/* Says once that writing stopped, and why. */
static void
stall_because(struct sqt_flusher *f, const char *what, const char *why)
{
    __atomic_fetch_add(&f->ring->flusher.errors, 1, __ATOMIC_RELAXED);
    if (f->stalled[0])
        return;
    pthread_mutex_lock(&f->mutex);
    snprintf(f->stalled, sizeof(f->stalled), "%s", why);
    memcpy(f->stalled_last, f->stalled, sizeof(f->stalled));
    ++f->stalls;
    pthread_mutex_unlock(&f->mutex);
    sqt_say(f->mailbox, 0, "WARNING: sqtrace: %s in %s: %s; the ring keeps what it can until there is room", what,
            f->leftovers.directory_path, why);
}

static void
stall(struct sqt_flusher *f, const char *what, int cause)
{
    stall_because(f, what, sqt_create_error(cause));
}

static void
resume(struct sqt_flusher *f)
{
    if (!f->stalled[0])
        return;
    struct sqt_totals totals;
    sqt_ring_totals(f->ring, &totals);
    pthread_mutex_lock(&f->mutex);
    f->stalled[0] = '\0';
    pthread_mutex_unlock(&f->mutex);
    sqt_say(f->mailbox, 1, "sqtrace: writing again; %" PRIu64 " records wait, %" PRIu64 " were lost since the start",
            totals.head - f->ring->flusher.tail, totals.lost);
}

/* Opens the next segment.  Returns 0 or -1. */
static long
open_segment(void *context)
{
    struct sqt_flusher *const f = context;
    char name[SQT_NAME_MAX];
    if (!f->ring->identity.run) /* the segments of earlier runs are all there by now */
        __atomic_store_n(&f->ring->identity.run, sqt_run_next(f->writer.directory, f->writer.owner, f->service, f->kid),
                         __ATOMIC_RELAXED);
    /* The number is in the ring before the file exists, so that whoever takes over knows the last one. */
    __atomic_store_n(&f->ring->flusher.sequence, f->next_sequence, __ATOMIC_RELEASE);
    sqt_segment_name(name, f->base, f->next_sequence);
    if (sqt_segment_open(&f->writer, f->ring, name, f->next_sequence,
                         __atomic_load_n(&f->ring->writer.text_used, __ATOMIC_ACQUIRE), f->now.compression) != 0) {
        const int cause = errno;
        if (cause == EEXIST)
            ++f->next_sequence; /* something else sits there, perhaps a link that leads elsewhere */
        stall(f, "cannot create a segment", cause);
        return -1;
    }
    ++f->next_sequence;
    f->opened_ns = sqt_monotonic_ns();
    sqt_room_used(f, f->writer.segment.size);
    note_file(f, name);
    return 0;
}

static void
close_segment(struct sqt_flusher *f)
{
    if (f->writer.segment.fd < 0)
        return;
    sqt_segment_end(&f->writer, f->ring, 0); /* without its last frame it is still whole */
    note_file(f, "");
    sqt_room_keep(f);
}

/* Whether another block may be written.  Where only segments that are being written are left, this one ends: then it may
 * be deleted, too. */
static int
has_room(struct sqt_flusher *f)
{
    if (!sqt_room_look(f) && f->writer.segment.fd >= 0 && f->writer.segment.blocks)
        close_segment(f);
    if (f->room.left)
        return 1;
    stall_because(f, "cannot write", sqt_room_why(f));
    return 0;
}

/* Whether the next block belongs into another file after a failure of this one. */
static int
file_is_bad(int cause)
{
    return cause != ENOSPC && cause != EDQUOT && cause != EINTR && cause != EAGAIN && cause != ENOMEM;
}

/* Writes the next block of the records before head.  Returns 0 or -1. */
static int
write_block(struct sqt_flusher *f, uint64_t head, const struct sqt_anchor *from, const struct sqt_anchor *to,
            unsigned flags)
{
    struct sqt_ring_header *const ring = f->ring;
    const uint64_t tail = ring->flusher.tail;
    if (!has_room(f))
        return -1;
    if (f->writer.segment.fd < 0 && sqt_apart_call(open_segment, f) != 0)
        return -1;
    const uint64_t before = f->writer.segment.size;
    const size_t count = sqt_block_count(ring, tail, head, f->writer.block_records);
    const uint64_t text_used = __atomic_load_n(&ring->writer.text_used, __ATOMIC_ACQUIRE);
    if (sqt_segment_text(&f->writer, ring, text_used) != 0 ||
        sqt_segment_block(&f->writer, ring, tail, count, from, to, flags, f->now.compression) != 0) {
        const int cause = errno;
        stall(f, "cannot write", cause);
        if (file_is_bad(cause)) {
            sqt_segment_close(&f->writer);
            note_file(f, "");
        }
        return -1;
    }
    const uint64_t waiting = __atomic_load_n(&ring->writer.head, __ATOMIC_RELAXED) - tail;
    if (waiting > ring->writer.high_water)
        __atomic_store_n(&ring->writer.high_water, waiting, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->flusher.tail, tail + count, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->flusher.bytes, ring->flusher.bytes + f->writer.segment.size - before, __ATOMIC_RELAXED);
    sqt_room_used(f, f->writer.segment.size - before);
    resume(f);
    if (sqt_room_is_full(f))
        close_segment(f);
    return 0;
}

/* For whoever reads the ring: word by word, since it may be reading. */
static void
note_anchor(struct sqt_anchor *last, const struct sqt_anchor *to)
{
    __atomic_store_n(&last->ticks, to->ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&last->monotonic_ns, to->monotonic_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&last->realtime_ns, to->realtime_ns, __ATOMIC_RELAXED);
}

/* ---- steps of clocks ---- */

/* Finds out which records before head may be from both sides of a step: those up to the CLOCK_STEP record that tells the
 * last one. */
static void
find_step_end(struct sqt_flusher *f, uint64_t head)
{
    const struct sqt_record *const records = sqt_ring_records(f->ring);
    uint64_t at = f->step_end > f->ring->flusher.tail ? f->step_end : f->ring->flusher.tail;
    if (!f->untold || f->recorder)
        return;
    for (; at < head; ++at) {
        const struct sqt_record *const r = &records[at & (f->ring->capacity - 1)];
        if (r->event == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(r->aux) && --f->untold == 0)
            break;
    }
    f->step_end = at;
}

/* A step that hides durations: those of the records before head, and of those that follow until it is told. */
static void
begin_step(struct sqt_flusher *f, uint64_t head)
{
    find_step_end(f, head);
    ++f->untold;
    f->step_end = head;
    f->stepped = sqt_clock_anchor(f->clocks.clock, f->clocks.offset);
    f->rate.last = f->stepped;
    f->rate.suspects = 0;
    note_anchor(&f->ring->flusher.last, &f->stepped);
}

/* Looks at the clocks, and hands the main thread what it is to tell.  Returns whether a step hides durations. */
static int
watch_clocks(struct sqt_flusher *f, uint64_t head)
{
    struct sqt_step steps[SQT_STEPS_AT_ONCE];
    struct sqt_clock_watch watch = f->clocks;
    if (sqt_monotonic_ns() - watch.last.monotonic_ns < CLOCKS_AGAIN_NS)
        return 0;
    const struct sqt_moment now = sqt_clock_moment(watch.clock);
    const unsigned count = sqt_clock_watch_look(&watch, &now, f->rate.ns_per_tick, steps);
    if (!sqt_steps_room(&f->steps, count))
        return 0; /* the main thread stands still: seen again at the next look */
    f->clocks = watch;
    const int hides = count && sqt_step_hides_durations(steps[0].kind);
    if (hides)
        begin_step(f, head);
    for (unsigned i = 0; i < count; ++i)
        sqt_steps_add(&f->steps, &steps[i]);
    if (!__atomic_load_n(&f->ring->writer.closed, __ATOMIC_RELAXED)) /* later the emitter may be another trace's */
        sqt_steps_remind(&sqt_emitter, &f->steps);
    return hides;
}

/* Writes the records around a step, for which the anchors stand in reverse order.  Returns 0 or -1. */
static int
drain_step(struct sqt_flusher *f, uint64_t end, const struct sqt_anchor *to)
{
    while (f->ring->flusher.tail != end)
        if (write_block(f, end, to, &f->from, SQT_FRAME_SUSPECT) != 0)
            return -1;
    return 0;
}

/* ---- flushing ---- */

/* Writes everything that is in the ring now.  Returns 0 or -1. */
static int
flusher_drain(struct sqt_flusher *f, uint64_t head, const struct sqt_anchor *to)
{
    if (f->ring->flusher.tail == head)
        return 0;
    find_step_end(f, head);
    if (f->step_end > f->ring->flusher.tail) {
        if (drain_step(f, f->step_end, to) != 0)
            return -1;
        f->from = f->stepped;
    }
    const unsigned flags = sqt_clock_suspect(&f->rate, &f->from, to) ? SQT_FRAME_SUSPECT : 0;
    while (f->ring->flusher.tail != head)
        if (write_block(f, head, &f->from, to, flags) != 0)
            return -1;
    note_anchor(&f->ring->flusher.last, to);
    return 0;
}

/* Of a flight recorder, whose blocks are made at its end. */
static void
flusher_note_clocks(struct sqt_flusher *f, uint64_t now)
{
    if (now - f->flushed_ns < LONGEST_WAIT_NS)
        return;
    const struct sqt_anchor anchor = sqt_clock_anchor(f->clocks.clock, f->clocks.offset);
    sqt_clock_suspect(&f->rate, &f->from, &anchor);
    note_anchor(&f->ring->flusher.last, &anchor);
    f->from = anchor;
    f->flushed_ns = now;
}

/* Looks at the ring.  force: write whatever there is.  Returns whether the ring was emptied (up to the moment). */
static int
flusher_look(struct sqt_flusher *f, int force)
{
    /* The head first: everything before it is older than the anchor, and its definitions are in the text. */
    const uint64_t head = __atomic_load_n(&f->ring->writer.head, __ATOMIC_ACQUIRE);
    const int stepped = watch_clocks(f, head);
    const uint64_t now = sqt_monotonic_ns();
    int emptied = 0;
    if (f->recorder) {
        flusher_note_clocks(f, now);
        emptied = 1;
    } else if (stepped || force || head - f->ring->flusher.tail >= f->enough ||
               now - f->flushed_ns >= LONGEST_WAIT_NS) {
        const struct sqt_anchor anchor = sqt_clock_anchor(f->clocks.clock, f->clocks.offset);
        emptied = flusher_drain(f, head, &anchor) == 0;
        if (emptied) { /* also when there was nothing: an idle hour is not a good stretch to interpolate in */
            f->from = anchor;
            f->flushed_ns = now;
        }
    }
    __atomic_store_n(&f->ring->flusher.heartbeat_ns, now, __ATOMIC_RELEASE);
    return emptied;
}

static long
take_leftovers(void *context)
{
    struct sqt_flusher *const f = context;
    const unsigned again = sqt_leftovers_take(&f->leftovers);
    f->leftovers_due_ns = again ? sqt_monotonic_ns() + f->leftovers_wait_ns : UINT64_MAX;
    if (f->leftovers_wait_ns < LEFTOVERS_AGAIN_NS)
        f->leftovers_wait_ns *= 2;
    sqt_room_keep(f);
    return 0;
}

/* Whether somebody wants something of the thread that it can do now. */
static int
has_order(struct sqt_flusher *f)
{
    pthread_mutex_lock(&f->mutex);
    const int order = f->stop || (f->rotate && !f->stalled[0]);
    pthread_mutex_unlock(&f->mutex);
    return order;
}

/* Whether the emitter may have looked whether the thread sleeps when it did not yet. */
static int
has_work(const struct sqt_flusher *f)
{
    return !f->stalled[0] && !f->recorder &&
           __atomic_load_n(&f->ring->writer.head, __ATOMIC_ACQUIRE) - f->ring->flusher.tail >= f->ring->capacity / 4;
}

/* So long that the thread is awake at due_ns, and until then no more often than it takes. */
static uint64_t
share_of_sleep(uint64_t ns, uint64_t now, uint64_t due_ns)
{
    const uint64_t left = due_ns > now ? due_ns - now : 0;
    return left ? left / ((left + ns - 1) / ns) : ns;
}

/* How long the thread may sleep.  After sqt_watch_ask(). */
static uint64_t
longest_sleep(struct sqt_flusher *f)
{
    struct sqt_watch_pass pass;
    uint64_t ns = f->stalled[0] ? STALLED_LOOK_NS : f->nap.has_timers ? CLOCK_LOOK_NS : f->period_ns;
    if (ns > STEPS_LOOK_NS && f->steps.added != __atomic_load_n(&f->steps.taken, __ATOMIC_ACQUIRE))
        ns = STEPS_LOOK_NS;
    const uint64_t now = sqt_monotonic_ns();
    if (f->now.sample)
        ns = share_of_sleep(ns, now, f->sampler->due_ns);
    if (f->leftovers_due_ns < now + ns)
        ns = f->leftovers_due_ns > now ? f->leftovers_due_ns - now : 0;
    if (!f->now.loop)
        return ns;
    pass.works = sqt_loop_is_working(&pass.began);
    f->watch.ns_per_tick = f->rate.ns_per_tick;
    return sqt_watch_pace(&f->watch, &pass, ns);
}

static void
flusher_sleep(struct sqt_flusher *f)
{
    struct sqt_beat armed;
    sqt_watch_ask(&f->watch, f->now.loop);
    const uint64_t queued_ns = sqt_watch_queued_ns(&f->watch);
    const uint64_t until = sqt_heartbeat_rests(&f->heartbeat, longest_sleep(f), sqt_apart_worked_ns(), queued_ns);
    sqt_nap_lie_down(&f->nap, f->stalled[0] ? SQT_NAP_FOR_ORDERS : SQT_NAP_FOR_WORK);
    if (has_order(f) || has_work(f))
        sqt_nap_get_up(&f->nap);
    else
        sqt_nap_sleep(&f->nap, until);
    const int set = f->now.loop && sqt_watch_armed(&f->watch, &armed);
    const int late = sqt_heartbeat_wakes(&f->heartbeat, set ? &armed : NULL, SQT_WATCH_PASS_NS);
    sqt_heartbeat_beats(&f->heartbeat, sqt_apart_worked_ns(), late ? sqt_watch_queued_ns(&f->watch) : 0);
}

/* Waits for the next look.  Returns whether to stop. */
static int
wait_for_work(struct sqt_flusher *f, int *rotate)
{
    struct sqt_watch_pass pass;
    flusher_sleep(f);
    pthread_mutex_lock(&f->mutex);
    const int stop = f->stop;
    *rotate = f->rotate;
    if (memcmp(&f->now.limits, &f->settings.limits, sizeof(f->now.limits)) != 0)
        f->room.left = 0; /* looked for anew */
    f->now = f->settings;
    pthread_mutex_unlock(&f->mutex);
    pass.works = sqt_loop_is_working(&pass.began);
    sqt_watch_look(&f->watch, f->now.loop, &pass, &f->heartbeat);
    return stop;
}

static void
flusher_rotate(struct sqt_flusher *f)
{
    if (!flusher_look(f, 1))
        return; /* asked for again in the next round */
    pthread_mutex_lock(&f->mutex);
    f->rotate = 0;
    pthread_mutex_unlock(&f->mutex);
    if (f->writer.segment.blocks)
        close_segment(f);
}

/* Writes the rest.  Returns whether it is all in closed segments. */
static int
flusher_finish(struct sqt_flusher *f)
{
    const struct timespec pause = {0, (long)(20 * MS)};
    const uint64_t by = sqt_monotonic_ns() + FINISH_NS;
    for (;;) {
        if (f->recorder)
            return 1; /* what its ring has is saved when it is whole */
        if (flusher_look(f, 1) && (f->writer.segment.fd >= 0 || sqt_apart_call(open_segment, f) == 0)) {
            if (sqt_segment_end(&f->writer, f->ring, 1) == 0)
                break;
            stall(f, "cannot write", errno);
        }
        if (sqt_monotonic_ns() > by)
            return 0;
        nanosleep(&pause, NULL);
    }
    note_file(f, "");
    sqt_room_keep(f);
    return 1;
}

int
sqt_flusher_run(struct sqt_flusher *f)
{
    f->leftovers_due_ns = sqt_monotonic_ns() + LONGEST_LOOK_NS;
    f->leftovers_wait_ns = LEFTOVERS_SOON_NS;
    int turn = 0;
    sqt_nap_open(&f->nap, f->watch.main_clock, f->watch.main_clock_known, SQT_WATCH_BUSY_NS);
    f->watch.nap = &f->nap;
    while (!wait_for_work(f, &turn)) {
        if (sqt_monotonic_ns() >= f->leftovers_due_ns)
            sqt_apart_call(take_leftovers, f);
        sqt_room_ages(f);
        if (turn || sqt_room_is_old(f))
            flusher_rotate(f);
        else
            flusher_look(f, 0);
        sqt_sampler_look(f->sampler, f->now.sample);
    }
    sqt_nap_close(&f->nap);
    return flusher_finish(f);
}

static void
set_pace(struct sqt_flusher *f)
{
    const uint64_t capacity = f->ring->capacity;
    f->enough = capacity / 4 < SQT_BLOCK_RECORDS ? capacity / 4 : SQT_BLOCK_RECORDS;
    f->period_ns = capacity / 4 * 1000; /* at a million events a second */
    if (f->period_ns > LONGEST_LOOK_NS)
        f->period_ns = LONGEST_LOOK_NS;
    if (f->period_ns < SHORTEST_LOOK_NS)
        f->period_ns = SHORTEST_LOOK_NS;
}

void
sqt_flusher_init(struct sqt_flusher *f, const struct sqt_config *config)
{
    pthread_mutex_init(&f->mutex, NULL);
    sqt_flusher_configure(f, config);
}

void
sqt_flusher_destroy(struct sqt_flusher *f)
{
    pthread_mutex_destroy(&f->mutex);
}

int
sqt_flusher_open(struct sqt_flusher *f, int directory, uid_t owner)
{
    const uint64_t capacity = f->ring->capacity;
    const struct sqt_moment now = sqt_clock_moment(f->ring->identity.clock);
    sqt_clock_watch_init(&f->clocks, f->ring->identity.clock, &now);
    f->from = f->ring->identity.start;
    f->flushed_ns = f->from.monotonic_ns;
    sqt_clock_rate_init(&f->rate, &f->from, f->ring->identity.ticks_per_second);
    set_pace(f);
    return sqt_segment_writer_init(&f->writer, directory, owner,
                                   capacity < SQT_BLOCK_RECORDS ? capacity : SQT_BLOCK_RECORDS);
}

void
sqt_flusher_close(struct sqt_flusher *f)
{
    sqt_segment_writer_free(&f->writer);
    sqt_watch_close(&f->watch);
}

void
sqt_flusher_configure(struct sqt_flusher *f, const struct sqt_config *config)
{
    const struct sqt_flusher_settings settings = {
        .segment = config->segment,
        .default_segment = sqt_config_segment(config),
        .every_ns = config->every_ns,
        .limits = {config->keep, config->total, config->reserve, config->age_ns},
        .compression = (enum sqt_compression)config->compression,
        .sample = (config->groups & SQT_GROUP_SAMPLE) != 0,
        .loop = (config->groups & SQT_GROUP_LOOP) != 0,
    };
    pthread_mutex_lock(&f->mutex);
    f->settings = settings;
    pthread_mutex_unlock(&f->mutex);
}

void
sqt_flusher_rotate(struct sqt_flusher *f)
{
    pthread_mutex_lock(&f->mutex);
    f->rotate = 1;
    pthread_mutex_unlock(&f->mutex);
    sqt_nap_order(&f->nap);
}

void
sqt_flusher_ask_to_end(struct sqt_flusher *f)
{
    pthread_mutex_lock(&f->mutex);
    f->stop = 1;
    pthread_mutex_unlock(&f->mutex);
    sqt_nap_order(&f->nap);
}
