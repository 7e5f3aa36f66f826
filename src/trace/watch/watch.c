/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * watch.c - see watch-internal.h.
 */
#define _GNU_SOURCE
#include "watch-internal.h"

#include <string.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"

#define MS UINT64_C(1000000) /* ns */

int sqt_sample_waits;

/* That of the present trace. */
static struct sqt_watch *watched;

void
sqt_watch_init(struct sqt_watch *w, const char *root, uint32_t clock)
{
    memset(w, 0, sizeof(*w));
    w->root = root;
    w->clock = clock;
    w->main_thread = gettid();
    w->main_clock_known = pthread_getcpuclockid(pthread_self(), &w->main_clock) == 0;
    w->queue_fd = w->self_fd = w->call_fd = w->state_fd = -1;
    pthread_mutex_init(&w->mutex, NULL);
}

/* ---- the flusher's thread ---- */

uint64_t
sqt_watch_pace(const struct sqt_watch *w, uint64_t ns)
{
    return w->busy && ns > SQT_WATCH_BUSY_NS ? SQT_WATCH_BUSY_NS : ns;
}

static uint64_t
grew(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* How long the flusher's thread was late without having waited for a processor: it was stopped. */
static uint64_t
stopped_for(const struct sqt_heartbeat *heart, uint64_t waited_ns)
{
    const uint64_t late = grew(heart->woke.ns, heart->due_ns);
    return late >= SQT_HEARTBEAT_LATE_NS && waited_ns < late / 2 ? late - waited_ns : 0;
}

/* The control groups are read about once a second, and where something did not run: not at every look of a busy core,
 * because that takes ten times as long as all the rest. */
static void
look_at_throttling(struct sqt_watch *w, struct sqt_accounts *now, uint64_t now_ns, uint64_t missing_ns)
{
    now->throttled = w->before.throttled;
    const uint64_t again = missing_ns >= 20 * MS ? 0 : missing_ns >= 5 * MS ? 40 * MS : SQT_WATCH_IDLE_NS;
    if (w->began && now_ns - w->throttled_ns < again)
        return;
    w->throttled_known = sqt_watch_throttled(w, &now->throttled);
    w->throttled_ns = now_ns;
}

static void
set_state(enum sqt_sample_state state)
{
    __atomic_store_n(&sqt_sample_waits, state, __ATOMIC_RELAXED);
}

/* While the loop stands still for longer than the list, the last sample grows. */
static void
watch_post(struct sqt_watch *w, const struct sqt_look *look)
{
    pthread_mutex_lock(&w->mutex);
    if (w->count < SQT_WATCH_WAITING) {
        w->waiting[w->count++] = *look;
    } else {
        struct sqt_look *const last = &w->waiting[SQT_WATCH_WAITING - 1];
        last->at = look->at;
        last->amount.ran += look->amount.ran;
        last->amount.queued += look->amount.queued;
        last->amount.self += look->amount.self;
        last->amount.throttled += look->amount.throttled;
        last->since_ns += look->since_ns;
    }
    set_state(SQT_NEW_SAMPLE);
    pthread_mutex_unlock(&w->mutex);
}

/* Whether there is nothing to tell: it waited for descriptors all the time, but for very little. */
static int
is_idle(const struct sqt_watch *w, const struct sqt_look *look, uint64_t ns)
{
    return !w->worked && look->flags & SQT_LOOP_IN_WAIT && !look->amount.self && ns < SQT_WATCH_IDLE_NS &&
           look->amount.ran < ns / 256 && look->amount.queued < ns / 256;
}

/* Begins anew. */
static void
watch_begin(struct sqt_watch *w, const struct sqt_accounts *now, uint64_t ticks, uint64_t now_ns)
{
    w->before = *now;
    w->before_ticks = ticks;
    w->before_ns = w->looked_ns = now_ns;
    w->began = 1;
}

void
sqt_watch_look(struct sqt_watch *w, int on, int waits, const struct sqt_heartbeat *heart)
{
    struct sqt_accounts now;
    if (!on) {
        w->began = w->busy = 0;
        return;
    }
    if (w->queue_fd < 0)
        sqt_watch_open(w);
    const int known = sqt_watch_accounts(w, &now);
    const uint64_t ticks = sqt_read_clock(w->clock), now_ns = sqt_monotonic_ns();
    const uint64_t queued = grew(now.queued, w->before.queued),
                   stopped = stopped_for(heart, grew(now.self, w->before.self));
    look_at_throttling(w, &now, now_ns, queued + stopped);
    if (!w->began) {
        watch_begin(w, &now, ticks, now_ns);
        return;
    }
    struct sqt_look look = {
        .from = w->before_ticks,
        .at = ticks,
        .amount = {grew(now.ran, w->before.ran), queued, stopped, grew(now.throttled, w->before.throttled)},
        .since_ns = now_ns - w->looked_ns,
        .flags = (waits ? SQT_LOOP_IN_WAIT : 0) | (known ? 0 : SQT_LOOP_QUEUE_UNKNOWN) |
                 (w->throttled_known ? 0 : SQT_LOOP_THROTTLING_UNKNOWN),
        .op = UINT32_MAX,
        .dir = UINT32_MAX,
    };
    const uint64_t ns = now_ns - w->before_ns;
    w->looked_ns = now_ns;
    w->busy = !waits || look.amount.ran + look.amount.queued > ns / 16;
    if (is_idle(w, &look, ns))
        return;
    int runs = 0;
    if (!waits && look.amount.ran < ns / 8 * 7)
        look.call = sqt_watch_call(w, &runs);
    look.flags |= runs ? SQT_LOOP_RUNNABLE : 0;
    w->worked = !waits || look.amount.ran >= ns / 256;
    w->before = now;
    w->before_ticks = ticks;
    w->before_ns = now_ns;
    watch_post(w, &look);
}

void
sqt_watch_close(struct sqt_watch *w)
{
    const int fds[] = {w->queue_fd, w->self_fd, w->call_fd, w->state_fd};
    for (unsigned i = 0; i < sizeof(fds) / sizeof(*fds); ++i)
        if (fds[i] >= 0)
            close(fds[i]);
    w->queue_fd = w->self_fd = w->call_fd = w->state_fd = -1;
    w->began = 0;
}

/* ---- the main thread ---- */

void
sqt_watch_use(struct sqt_watch *w)
{
    watched = w;
    set_state(SQT_NO_SAMPLE);
}

/* Whether the main thread has the samples now.  A forked child has none, and the flusher is not waited for. */
static int
watch_take(void)
{
    return sqt_on(SQT_GROUP_LOOP) && watched && pthread_mutex_trylock(&watched->mutex) == 0;
}

/* What was sampled since the last such call, and in no wait, was a part of an activity. */
static void
watch_tag(uint32_t activity, uint32_t acl, uint32_t op, uint32_t dir)
{
    if (!watch_take())
        return;
    for (unsigned i = watched->count; i && !watched->waiting[i - 1].tagged; --i) {
        struct sqt_look *const look = &watched->waiting[i - 1];
        look->tagged = 1;
        look->activity = activity;
        look->acl = acl;
        look->op = op;
        look->dir = dir;
    }
    if (watched->count)
        set_state(SQT_PLACED_SAMPLE);
    pthread_mutex_unlock(&watched->mutex);
}

void
sqt_part_begins(void)
{
    watch_tag(UINT32_MAX, 0, UINT32_MAX, UINT32_MAX);
}

void
sqt_part_was_acl(const char *name, size_t length)
{
    watch_tag(UINT32_MAX, sqt_names == SQT_NAMES_OFF ? 0 : sqt_define_acl(name, length), UINT32_MAX, UINT32_MAX);
}

void
sqt_part_was_disk_call(uint32_t op, uint32_t dir)
{
    watch_tag(UINT32_MAX, 0, op, dir);
}

void
sqt_part_was(const char *name)
{
    watch_tag(sqt_name(SQT_DEF_ACTIVITY, name), 0, UINT32_MAX, UINT32_MAX);
}

static uint32_t
define_call(uint32_t call)
{
    char text[32];
    const uint32_t number = SQT_LOOP_CALLS + call;
    return call ? sqt_define(SQT_DEF_CALL, number, sqt_watch_call_name(call, text)) : 0;
}

/* Emits one sample: the parts that say nothing are left out. */
static void
watch_emit(const struct sqt_look *k, uint32_t activity)
{
    struct sqt_record unit[4];
    unsigned n = 2;
    const uint64_t us = k->since_ns / 1000, most = UINT32_MAX >> SQT_LOOP_FLAG_BITS;
    memset(unit, 0, sizeof(unit));
    unit[0] = (struct sqt_record){.event = SQT_EV_LOOP_SAMPLE, .id = k->from, .arg = k->at};
    unit[0].aux = k->flags & SQT_LOOP_IN_WAIT ? 0 : k->tagged && k->activity != UINT32_MAX ? k->activity : activity;
    unit[1] = (struct sqt_record){.event = SQT_EV_PART_LOOP_RAN, .id = k->amount.ran, .arg = k->amount.queued};
    unit[1].aux = k->flags | (uint32_t)(us < most ? us : most) << SQT_LOOP_FLAG_BITS;
    if (k->amount.self || k->amount.throttled || k->call) {
        unit[n] = (struct sqt_record){.event = SQT_EV_PART_LOOP_HELD, .id = k->amount.self, .arg = k->amount.throttled};
        unit[n++].aux = define_call(k->call);
    }
    if (!(k->flags & SQT_LOOP_IN_WAIT) && (k->acl || k->op != UINT32_MAX)) {
        unit[n] = (struct sqt_record){.event = SQT_EV_PART_LOOP_IN, .id = k->acl};
        unit[n].arg = k->op == UINT32_MAX ? 0 : k->op;
        unit[n++].aux = k->dir;
    }
    sqt_emit_unit(unit, n);
}

void
sqt_watch_tell(const char *activity)
{
    if (!watch_take())
        return;
    const uint32_t number = sqt_name(SQT_DEF_ACTIVITY, activity);
    for (unsigned i = 0; i < watched->count; ++i)
        watch_emit(&watched->waiting[i], number);
    watched->count = 0;
    set_state(SQT_NO_SAMPLE);
    pthread_mutex_unlock(&watched->mutex);
}
