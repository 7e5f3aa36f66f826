/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * heartbeat.c - see heartbeat-internal.h.
 */
#include "heartbeat-internal.h"

#include <string.h>

#include "clock-internal.h"

void
sqt_heartbeat_init(struct sqt_heartbeat *h, uint32_t clock)
{
    memset(h, 0, sizeof(*h));
    h->clock = clock;
    h->main_thread_known = pthread_getcpuclockid(pthread_self(), &h->main_thread) == 0;
    pthread_mutex_init(&h->mutex, NULL);
}

/* ---- the flusher's thread ---- */

static struct sqt_beat
beat(const struct sqt_heartbeat *h)
{
    return (struct sqt_beat){sqt_monotonic_ns(), sqt_read_clock(h->clock)};
}

static uint64_t
processor_ns(clockid_t thread)
{
    struct timespec used;
    return clock_gettime(thread, &used) == 0 ? (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec : 0;
}

static uint64_t
main_thread_ns(const struct sqt_heartbeat *h)
{
    return h->main_thread_known ? processor_ns(h->main_thread) : 0;
}

/* While the loop stands still, nobody empties the list; the first that do not fit are of the same standstill. */
static void
post(struct sqt_heartbeat *h, const struct sqt_late *late)
{
    pthread_mutex_lock(&h->mutex);
    if (h->count < SQT_HEARTBEAT_WAITING)
        h->waiting[h->count++] = *late;
    pthread_mutex_unlock(&h->mutex);
}

/* Microseconds that the main thread ran since, as in the record. */
static uint32_t
main_thread_ran(const struct sqt_heartbeat *h, uint64_t since_ns)
{
    const uint64_t us = (main_thread_ns(h) - since_ns) / 1000;
    return us < SQT_HEARTBEAT_AT_WORK ? (uint32_t)us : SQT_HEARTBEAT_AT_WORK - 1;
}

/* The work of the flusher takes long because it computes, or because of what it was held by; or this process does not
 * run. */
static void
judge_work(struct sqt_heartbeat *h, uint64_t disk_ns, uint64_t queued_ns)
{
    const uint64_t took = h->rested.ns - h->woke.ns;
    if (!h->woke.ns || took < SQT_HEARTBEAT_LATE_NS)
        return;
    const uint64_t worked = disk_ns - h->disk_ns + queued_ns + processor_ns(CLOCK_THREAD_CPUTIME_ID) - h->own_ns;
    const int stopped = worked <= took / 8 && worked < SQT_HEARTBEAT_LATE_NS;
    const uint32_t ran = stopped ? main_thread_ran(h, h->main_thread_ns) : SQT_HEARTBEAT_AT_WORK;
    post(h, &(struct sqt_late){h->woke.ticks, h->woke.ticks, h->rested.ticks, ran});
}

uint64_t
sqt_heartbeat_rests(struct sqt_heartbeat *h, uint64_t ns, uint64_t disk_ns, uint64_t queued_ns)
{
    h->rested = beat(h);
    judge_work(h, disk_ns, queued_ns);
    h->main_thread_ns = main_thread_ns(h);
    h->due_ns = h->rested.ns + ns;
    return h->due_ns;
}

static int
heartbeat_is_late(const struct sqt_heartbeat *h)
{
    return h->woke.ns >= h->due_ns + SQT_HEARTBEAT_LATE_NS;
}

/* When it was due, by the trace's clock. */
static uint64_t
heartbeat_due_ticks(const struct sqt_heartbeat *h)
{
    const double slept = (double)(h->woke.ns - h->rested.ns), part = (double)(h->due_ns - h->rested.ns) / slept;
    return h->rested.ticks + (uint64_t)((double)(h->woke.ticks - h->rested.ticks) * part);
}

int
sqt_heartbeat_wakes(struct sqt_heartbeat *h, const struct sqt_beat *ran, uint64_t in_ns)
{
    h->woke = beat(h);
    if (ran && ran->ns > h->rested.ns && ran->ns + in_ns < h->due_ns) {
        h->rested = *ran;
        h->due_ns = ran->ns + in_ns;
    }
    return heartbeat_is_late(h);
}

void
sqt_heartbeat_beats(struct sqt_heartbeat *h, uint64_t disk_ns, uint64_t queued_ns)
{
    if (heartbeat_is_late(h)) {
        const uint64_t due = heartbeat_due_ticks(h);
        const int ran_until_due = queued_ns >= (h->woke.ns - h->due_ns) / 2;
        post(h, &(struct sqt_late){ran_until_due ? due : h->rested.ticks, due, h->woke.ticks,
                                   main_thread_ran(h, h->main_thread_ns)});
    }
    h->main_thread_ns = main_thread_ns(h);
    h->own_ns = processor_ns(CLOCK_THREAD_CPUTIME_ID);
    h->disk_ns = disk_ns;
}

/* ---- the main thread ---- */

static void
heartbeat_emit(const struct sqt_late *late)
{
    struct sqt_record unit[2] = {
        {.event = SQT_EV_HEARTBEAT_LATE, .id = late->last, .arg = late->again, .aux = late->main_thread},
        {.event = SQT_EV_PART_HEARTBEAT_DUE, .id = late->due}};
    sqt_emit_unit(unit, late->due == late->last ? 1 : 2);
}

void
sqt_heartbeat_tell(struct sqt_heartbeat *h)
{
    pthread_mutex_lock(&h->mutex);
    for (unsigned i = 0; sqt_on(SQT_GROUP_LOOP) && i < h->count; ++i)
        heartbeat_emit(&h->waiting[i]);
    h->count = 0;
    pthread_mutex_unlock(&h->mutex);
}
