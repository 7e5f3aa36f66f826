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
main_thread_ns(const struct sqt_heartbeat *h)
{
    struct timespec used;
    if (!h->main_thread_known || clock_gettime(h->main_thread, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* While the loop stands still, nobody empties the list; the first that do not fit are of the same standstill. */
static void
post(struct sqt_heartbeat *h, const struct sqt_beat *last, const struct sqt_beat *again, uint32_t main_thread)
{
    pthread_mutex_lock(&h->mutex);
    if (h->count < SQT_HEARTBEAT_WAITING)
        h->waiting[h->count++] = (struct sqt_late){last->ticks, again->ticks, main_thread};
    pthread_mutex_unlock(&h->mutex);
}

uint64_t
sqt_heartbeat_rests(struct sqt_heartbeat *h, uint64_t ns)
{
    h->rested = beat(h);
    if (h->woke.ns && h->rested.ns - h->woke.ns >= SQT_HEARTBEAT_LATE_NS)
        post(h, &h->woke, &h->rested, SQT_HEARTBEAT_AT_WORK);
    h->main_thread_ns = main_thread_ns(h);
    h->due_ns = h->rested.ns + ns;
    return h->due_ns;
}

void
sqt_heartbeat_beats(struct sqt_heartbeat *h)
{
    h->woke = beat(h);
    if (h->woke.ns < h->due_ns + SQT_HEARTBEAT_LATE_NS)
        return;
    const uint64_t us = (main_thread_ns(h) - h->main_thread_ns) / 1000;
    post(h, &h->rested, &h->woke, us < SQT_HEARTBEAT_AT_WORK ? (uint32_t)us : SQT_HEARTBEAT_AT_WORK - 1);
}

/* ---- the main thread ---- */

void
sqt_heartbeat_tell(struct sqt_heartbeat *h)
{
    pthread_mutex_lock(&h->mutex);
    for (unsigned i = 0; sqt_on(SQT_GROUP_LOOP) && i < h->count; ++i)
        sqt_emit(SQT_EV_HEARTBEAT_LATE, h->waiting[i].last, h->waiting[i].again, h->waiting[i].main_thread);
    h->count = 0;
    pthread_mutex_unlock(&h->mutex);
}
