/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * left-at-once.c - clients that end their side of the connection as soon as they have sent their request, and wait for the
 * answer.  Squid takes that for a client that left, unless half_closed_clients is on.
 *
 * Who gives up because it takes too long leaves later.
 */
#include <stdio.h>

#include "figure/finding/look.h"
#include "row/facts.h"

#define LEAST 20
#define LEAST_SHARE 5
/* ns from the request to its end. */
#define AT_ONCE INT64_C(20000000)

struct left {
    uint64_t requests, count, felt;
    int64_t since, until;
};

static void
left_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct left *const l = state;
    ++l->requests;
    if (xact->outcome != SQT_OUTCOME_ABORTED || felt >= AT_ONCE || xact->status || xact->sent > 0 ||
        !(1u << fact->class & (SQT_HITS | SQT_MISSES)))
        return;
    l->since = l->count ? l->since : xact->begin;
    l->until = xact->end;
    l->felt += (uint64_t)felt;
    ++l->count;
}

static void
left_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct left *const l = state;
    (void)totals;
    if (l->count < LEAST || l->count * 100 < l->requests * LEAST_SHARE)
        return;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "left_at_once", SQT_HARM_FAILURE, l->felt + l->count * SQT_FAILURE_NS);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "clients");
    told->since = l->since;
    told->until = l->until;
    told->requests = told->failures = l->count;
    told->waiting = l->felt;
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests (%.0f %%) got nothing: their clients closed their side of the connection %.1f ms "
        "after the request, in the mean, and Squid takes that for a client that left.",
        (unsigned long long)l->count, (unsigned long long)l->requests, 100 * (double)l->count / (double)l->requests,
        (double)l->felt / (double)l->count / 1e6);
    sqt_told_print(told->advice,
                   "half_closed_clients on: Squid answers clients that end their side after the request, and "
                   "wait. If these clients do not wait: they are probes, or programs that crash.");
    sqt_told_print(told->command, "sqtrace-dump --where='outcome == aborted and sent_bytes == 0' TRACE");
}

const struct sqt_look sqt_look_left_at_once = {.size = sizeof(struct left), .request = left_request, .tell = left_tell};
