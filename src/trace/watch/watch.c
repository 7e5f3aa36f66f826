/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * watch.c - see watch-internal.h.
 */
#define _GNU_SOURCE
#include "watch-internal.h"

#include <string.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"

#define MS UINT64_C(1000000)           /* ns */
#define THROTTLING_IDLE_NS (5000 * MS) /* between looks at the control groups while all is idle */

int sqt_sample_waits;

struct sqt_watch *sqt_watched;

void
sqt_watch_init(struct sqt_watch *w, const char *root, uint32_t clock)
{
    memset(w, 0, sizeof(*w));
    w->root = root;
    w->clock = clock;
    w->main_thread = gettid();
    w->main_clock_known = pthread_getcpuclockid(pthread_self(), &w->main_clock) == 0;
    w->ns_per_tick = 1;
    w->queue_fd = w->self_fd = w->call_fd = w->state_fd = -1;
    pthread_mutex_init(&w->mutex, NULL);
}

/* ---- the flusher's thread ---- */

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

/* The control groups are read about once a second while the main thread works, more often where something did not run, and
 * more rarely while all is idle: that takes ten times as long as all the rest. */
static void
look_at_throttling(struct sqt_watch *w, struct sqt_accounts *now, uint64_t now_ns, uint64_t missing_ns)
{
    now->throttled = w->before.throttled;
    const uint64_t rarely = w->busy ? SQT_WATCH_IDLE_NS : THROTTLING_IDLE_NS;
    const uint64_t again = missing_ns >= 20 * MS ? 0 : missing_ns >= 5 * MS ? 40 * MS : rarely;
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

/* ---- when to look, and what is seen ---- */

static int
watch_has_timers(const struct sqt_watch *w)
{
    return w->nap && w->nap->has_timers;
}

void
sqt_watch_ask(struct sqt_watch *w, int on)
{
    __atomic_store_n(&w->asked, on && watch_has_timers(w), __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Nanoseconds from then to now.  The clock of another core may be a little behind. */
static uint64_t
watch_age(const struct sqt_watch *w, uint64_t then, uint64_t now)
{
    return now > then ? (uint64_t)((double)(now - then) * w->ns_per_tick) : 0;
}

uint64_t
sqt_watch_pace(const struct sqt_watch *w, const struct sqt_watch_pass *pass, uint64_t ns)
{
    uint64_t pace = ns;
    if (pass->works) {
        const uint64_t age = watch_age(w, pass->began, sqt_read_clock(w->clock));
        pace = age < SQT_WATCH_PASS_NS ? SQT_WATCH_PASS_NS - age : SQT_WATCH_BUSY_NS;
    }
    if (w->busy && !watch_has_timers(w))
        pace = SQT_WATCH_BUSY_NS;
    return pace < ns ? pace : ns;
}

int
sqt_watch_armed(const struct sqt_watch *w, struct sqt_beat *beat)
{
    beat->ticks = __atomic_load_n(&w->armed, __ATOMIC_RELAXED);
    const uint64_t now = sqt_read_clock(w->clock);
    beat->ns = sqt_monotonic_ns() - watch_age(w, beat->ticks, now);
    return beat->ticks != 0;
}

/* The main thread as the flusher sees it now. */
struct watch_glance {
    uint64_t ns, ticks, ran;
    int works;
    uint64_t age_ns; /* of the pass */
};

/* Begins anew. */
static void
watch_begin(struct sqt_watch *w, const struct sqt_accounts *now, const struct watch_glance *g)
{
    w->before = *now;
    w->before_ticks = g->ticks;
    w->before_ns = w->looked_ns = g->ns;
    w->looked_ran = w->sampled_ran = g->ran;
    w->began = 1;
}

/* Since when the main thread may have been as it is now: since the flusher looked before, or since it began to work. */
static uint64_t
watch_stretch_ns(const struct sqt_watch *w, const struct watch_glance *g)
{
    struct sqt_beat armed;
    uint64_t ns = grew(g->ns, w->looked_ns), works_ns = g->age_ns;
    if (sqt_watch_armed(w, &armed) && grew(g->ns, armed.ns) > works_ns)
        works_ns = grew(g->ns, armed.ns);
    return watch_has_timers(w) && works_ns < ns ? works_ns : ns;
}

/* Whether the main thread waits for a processor now: then the kernel tells how long when it runs again, and else has told.
 * *call: as sqt_watch_call(). */
static int
watch_is_queued(struct sqt_watch *w, const struct watch_glance *g, uint32_t *call)
{
    int runs = 0;
    *call = sqt_watch_call(w, &runs);
    return runs && sqt_watch_ran(w) == g->ran;
}

/* Whether the main thread works, but does not run.  Then look->call is the call that it is blocked in, if it is in one. */
static int
watch_is_held(struct sqt_watch *w, const struct watch_glance *g, struct sqt_look *look)
{
    const uint64_t ns = watch_stretch_ns(w, g), ran = grew(g->ran, w->looked_ran);
    if (!g->works || ns < SQT_WATCH_BUSY_NS / 2 || ran >= ns / 8 * 7)
        return 0;
    look->flags |= watch_is_queued(w, g, &look->call) ? SQT_LOOP_RUNNABLE : 0;
    look->since_ns = ns - ran;
    /* in a short pass, a thread that is runnable mostly runs */
    return look->call || g->age_ns >= ns;
}

/* Whether one that has computed waits for a processor now, and did not run for a while. */
static int
watch_waits(struct sqt_watch *w, const struct watch_glance *g)
{
    uint32_t call;
    return watch_stretch_ns(w, g) >= grew(g->ran, w->looked_ran) + MS && watch_is_queued(w, g, &call);
}

/* Whether there is something to sample, and of what kind the sample is.  A call in which it is blocked comes before what it
 * computed: that is told by the next sample, and the call may be over by then. */
static int
watch_judge(struct sqt_watch *w, const struct watch_glance *g, struct sqt_look *look)
{
    const uint64_t ran = grew(g->ran, w->sampled_ran);
    const int held = watch_is_held(w, g, look);
    if (held && look->call)
        return 1;
    if (g->works && ran >= SQT_WATCH_BUSY_NS / 10 * 9) {
        w->sampled_ran = g->ran;
        look->flags |= SQT_LOOP_BY_PROCESSOR | (!held && watch_waits(w, g) ? SQT_LOOP_RUNNABLE : 0);
        look->since_ns = ran;
        return 1;
    }
    if (held)
        return 1;
    look->flags &= ~(uint32_t)SQT_LOOP_RUNNABLE;
    look->since_ns = look->call = 0;
    return grew(g->ns, w->before_ns) >= SQT_WATCH_IDLE_NS;
}

static struct watch_glance
watch_glance(const struct sqt_watch *w, const struct sqt_watch_pass *pass)
{
    struct watch_glance g = {.ns = sqt_monotonic_ns(), .ticks = sqt_read_clock(w->clock), .ran = sqt_watch_ran(w)};
    g.works = pass->works;
    g.age_ns = pass->works ? watch_age(w, pass->began, g.ticks) : 0;
    return g;
}

/* Adds what grew since the sample before, and hands the sample to the main thread. */
static void
watch_sample(struct sqt_watch *w, const struct watch_glance *g, const struct sqt_accounts *now, int known,
             uint64_t stopped, struct sqt_look *look)
{
    look->from = w->before_ticks;
    look->at = g->ticks;
    look->amount = (struct sqt_accounts){grew(now->ran, w->before.ran), grew(now->queued, w->before.queued), stopped,
                                         grew(now->throttled, w->before.throttled)};
    look->flags |= (g->works ? 0 : SQT_LOOP_IN_WAIT) | (known ? 0 : SQT_LOOP_QUEUE_UNKNOWN) |
                   (w->throttled_known ? 0 : SQT_LOOP_THROTTLING_UNKNOWN);
    w->before = *now;
    w->before_ticks = g->ticks;
    w->before_ns = g->ns;
    watch_post(w, look);
}

void
sqt_watch_look(struct sqt_watch *w, int on, const struct sqt_watch_pass *pass, const struct sqt_heartbeat *heart)
{
    if (!on) {
        w->began = w->busy = 0;
        return;
    }
    if (!w->began)
        sqt_watch_open(w);
    const struct watch_glance g = watch_glance(w, pass);
    struct sqt_look look = {.op = UINT32_MAX, .dir = UINT32_MAX};
    struct sqt_accounts now = {.ran = g.ran};
    w->busy = g.works || grew(g.ran, w->looked_ran) > grew(g.ns, w->looked_ns) / 16;
    const int late = heart->woke.ns >= heart->due_ns + SQT_HEARTBEAT_LATE_NS;
    if (w->began && !watch_judge(w, &g, &look) && !late) {
        w->looked_ns = g.ns;
        w->looked_ran = g.ran;
        return;
    }
    const int known = sqt_watch_accounts(w, &now);
    const uint64_t stopped = stopped_for(heart, grew(now.self, w->before.self));
    look_at_throttling(w, &now, g.ns, grew(now.queued, w->before.queued) + stopped);
    if (!w->began)
        watch_begin(w, &now, &g);
    else
        watch_sample(w, &g, &now, known, stopped, &look);
    w->looked_ns = g.ns;
    w->looked_ran = g.ran;
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
sqt_watch_pass_begins(uint64_t ticks)
{
    __atomic_store_n(&sqt_watched->asked, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&sqt_watched->armed, ticks, __ATOMIC_RELAXED);
    sqt_nap_end_in(sqt_watched->nap, SQT_WATCH_PASS_NS);
}

void
sqt_watch_use(struct sqt_watch *w)
{
    sqt_watched = w;
    set_state(SQT_NO_SAMPLE);
}

/* Whether the main thread has the samples now.  A forked child has none, and the flusher is not waited for. */
static int
watch_take(void)
{
    return sqt_on(SQT_GROUP_LOOP) && sqt_watched && pthread_mutex_trylock(&sqt_watched->mutex) == 0;
}

/* What was sampled since the last such call, and in no wait, was a part of an activity. */
static void
watch_tag(uint32_t activity, uint32_t acl, uint32_t op, uint32_t dir)
{
    if (!watch_take())
        return;
    for (unsigned i = sqt_watched->count; i && !sqt_watched->waiting[i - 1].tagged; --i) {
        struct sqt_look *const look = &sqt_watched->waiting[i - 1];
        look->tagged = 1;
        look->activity = activity;
        look->acl = acl;
        look->op = op;
        look->dir = dir;
    }
    if (sqt_watched->count)
        set_state(SQT_PLACED_SAMPLE);
    pthread_mutex_unlock(&sqt_watched->mutex);
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
    for (unsigned i = 0; i < sqt_watched->count; ++i)
        watch_emit(&sqt_watched->waiting[i], number);
    sqt_watched->count = 0;
    set_state(SQT_NO_SAMPLE);
    pthread_mutex_unlock(&sqt_watched->mutex);
}
