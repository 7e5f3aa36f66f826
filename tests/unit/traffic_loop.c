/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_loop.c - what the event loop of make_traffic does between requests: its passes, samples, system calls, digests.
 */
#include "traffic-internal.h"

#include "format/events.h"

#define CALLS_STRETCH 300 /* passes of the event loop for which system calls are told, or are not */

static const double loop_longest[] = {
#define TRAFFIC_ACTIVITY(text, passes, samples) passes,
#include "traffic.def"
};

#define LOOP_ACTIVITIES ((unsigned)(sizeof(loop_longest) / sizeof(*loop_longest)))

static const double loop_sampled[] = {
#define TRAFFIC_ACTIVITY(text, passes, samples) samples,
#include "traffic.def"
};

/* System calls are told for some hundred passes, then not for as many, as if squid -k reconfigure had changed it. */
static void
calls(struct make_traffic *t)
{
    const double owed = t->owed[SQT_EV_CALLS_TOLD][TRAFFIC_ALL];
    if (owed > CALLS_STRETCH && !t->calls_told) {
        traffic_add(&t->loop, SQT_EV_RECONFIGURE, SQT_GROUP_DEFAULT | SQT_GROUP_SYSCALL, 0, 0);
        traffic_add(&t->loop, SQT_EV_CALLS_TOLD, 0, 0, 1);
        t->calls_told = 1;
    } else if (owed < 0 && t->calls_told) {
        traffic_add(&t->loop, SQT_EV_RECONFIGURE, SQT_GROUP_DEFAULT, 0, 0);
        t->calls_told = 0;
    } else if (t->calls_told) {
        double *const some = &t->owed[SQT_EV_CALLS][TRAFFIC_ALL];
        *some += traffic_per_thousand(SQT_EV_CALLS) / traffic_per_thousand(SQT_EV_CALLS_TOLD);
        for (uint32_t call = 1; *some >= 1; ++call, *some -= 1) {
            const uint64_t longest = 900 + traffic_random(t, 20000);
            traffic_add(&t->loop, SQT_EV_CALLS, call, longest + (call - 1) * longest / 2, call);
            traffic_part(&t->loop, SQT_EV_PART_CALLS, 0, longest, 1);
        }
        traffic_add(&t->loop, SQT_EV_CALLS_TOLD, 0, 0, 0);
        t->owed[SQT_EV_CALLS_TOLD][TRAFFIC_ALL] -= 1;
    }
}

/* A sample of the main thread: mostly in a wait, else in an activity, in which something may be under way. */
static void
main_thread(struct make_traffic *t)
{
    if (!traffic_take(t, TRAFFIC_ALL, SQT_EV_LOOP_SAMPLE, 1))
        return;
    const unsigned activity = traffic_pick(t, loop_sampled, LOOP_ACTIVITIES);
    const int works = activity < LOOP_ACTIVITIES;
    traffic_add(&t->loop, SQT_EV_LOOP_SAMPLE, 0, 0, works ? 1 + activity : 0);
    traffic_part(&t->loop, SQT_EV_PART_LOOP_RAN, 0, 0, works ? SQT_LOOP_RUNNABLE : SQT_LOOP_IN_WAIT);
    if (works && traffic_take(t, TRAFFIC_ALL, SQT_EV_PART_LOOP_HELD, 1))
        traffic_part(&t->loop, SQT_EV_PART_LOOP_HELD, 0, 0,
                     SQT_LOOP_CALLS + (uint32_t)traffic_random(t, TRAFFIC_CALLS_SEEN));
    if (!works || !traffic_take(t, TRAFFIC_ALL, SQT_EV_PART_LOOP_IN, 1))
        return;
    const uint64_t disk_call = traffic_random(t, 5); /* 0: none, but an ACL is checked */
    if (disk_call)
        traffic_part(&t->loop, SQT_EV_PART_LOOP_IN, 0, disk_call, (uint32_t)traffic_random(t, 2));
    else
        traffic_part(&t->loop, SQT_EV_PART_LOOP_IN, TRAFFIC_ACL, 0, UINT32_MAX);
}

static void
passes(struct make_traffic *t)
{
    for (unsigned i = 0; i < 16 && traffic_take(t, TRAFFIC_ALL, SQT_EV_WAIT_BEGIN, i ? 32 : 1); ++i) {
        calls(t);
        traffic_add(&t->loop, SQT_EV_WAIT_BEGIN, 0, 10 + traffic_random(t, 990), 0);
        traffic_part(&t->loop, SQT_EV_PART_ACTIVITY, 0, 0, 1 + traffic_pick(t, loop_longest, LOOP_ACTIVITIES - 1));
        traffic_add(&t->loop, SQT_EV_WAIT_END, 0, 1 + traffic_random(t, 5), 0);
        main_thread(t);
    }
}

static void
samples(struct make_traffic *t)
{
    double *const owed = &t->owed[SQT_EV_SAMPLE][TRAFFIC_ALL];
    if (*owed < SQT_SAMPLES)
        return;
    *owed -= SQT_SAMPLES;
    for (uint32_t i = 0; i < SQT_SAMPLES; ++i) {
        const uint64_t more = i % 5 ? traffic_random(t, 900) : 0; /* a fifth of all values is 0 */
        t->samples[i] = sqt_samples[i].counter ? t->samples[i] + more : 100 * more;
        traffic_add(&t->loop, SQT_EV_SAMPLE, t->samples[i], 0, i + 1);
    }
}

/* The own digest is made anew, or written. */
static void
own_digest(struct make_traffic *t, unsigned event)
{
    double *const owed = &t->owed[event][TRAFFIC_ALL];
    const int rebuilt = event == SQT_EV_DIGEST_REBUILD;
    if (*owed < 2)
        return;
    *owed -= 2;
    traffic_add(&t->loop, event, rebuilt ? 0 : 128, 20000 + traffic_random(t, 90000), SQT_DIGEST_BEGUN);
    traffic_add(&t->loop, event, rebuilt ? 0 : 4096, 90000 + traffic_random(t, 90000), SQT_DIGEST_DONE);
    for (uint32_t added = 0; rebuilt && added < 2; ++added)
        traffic_part(&t->loop, SQT_EV_PART_DIGEST_UPDATES, 1 + traffic_random(t, 300), traffic_random(t, 40000), added);
}

static void
housekeeping(struct make_traffic *t)
{
    if (traffic_take(t, TRAFFIC_ALL, SQT_EV_QUERY_END, 1))
        traffic_query(&t->loop, 0);
    if (traffic_take(t, TRAFFIC_ALL, SQT_EV_RELEASE, 1))
        traffic_add(&t->loop, SQT_EV_RELEASE, t->random, UINT64_MAX, UINT32_MAX);
    if (traffic_take(t, TRAFFIC_ALL, SQT_EV_UNLINK, 1))
        traffic_unlink(t, &t->loop);
    own_digest(t, SQT_EV_DIGEST_REBUILD);
    own_digest(t, SQT_EV_DIGEST_REWRITE);
    samples(t);
}

void
traffic_loop(struct make_traffic *t)
{
    housekeeping(t);
    passes(t);
}
