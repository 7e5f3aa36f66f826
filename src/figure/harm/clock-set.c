/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock-set.c - the time of day of Squid's machine was set.  Squid's time-outs and the age of what it has go by that clock: what
 * waits ends at once when it is set forward, and what was fresh has expired.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"

/* A smaller step ends nothing, ns. */
#define STEP (UINT64_C(60) * 1000000000)
#define SECOND INT64_C(1000000000)
/* So many fail from BEFORE the step to AFTER it, ns. */
#define FAILED 3
#define BEFORE INT64_C(500000000)
#define AFTER INT64_C(2000000000)
/* So many are about objects that had expired, that part of all since then, in %, and so many times the share before. */
#define STALE 20
#define SHARE 20
#define TIMES 4
/* Requests that failed, and are remembered until a step is known. */
#define LAST 256

struct clock_set_counts {
    uint64_t requests, stale;
    double stale_ns;
};

struct clock_set {
    int64_t at, until; /* of the largest step; until 0: there is none */
    uint64_t size_ns;
    int back;
    unsigned steps;
    struct clock_set_counts all, before; /* before: the step */
    uint64_t failed;
    double failed_ns;
    struct {
        int64_t end, took;
    } last[LAST];
    uint64_t failures;
};

static void
clock_set_failed(struct clock_set *c, int64_t took)
{
    ++c->failed;
    c->failed_ns += (double)took;
}

static void
clock_set_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct clock_set *const c = state;
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    const int made = (xact->flags & SQT_XACT_ERROR_PAGE) || xact->reply_source == SQT_REPLY_MADE;
    const int stale = reason && strcmp(reason, "stale") == 0;
    ++c->all.requests;
    c->all.stale += (uint64_t)stale;
    c->all.stale_ns += stale ? (double)felt : 0;
    if (!(made && xact->status >= 500) && xact->outcome != SQT_OUTCOME_TIMEOUT)
        return;
    if (c->until && xact->end >= c->at - BEFORE && xact->end <= c->until + AFTER)
        clock_set_failed(c, felt);
    c->last[c->failures % LAST].end = xact->end;
    c->last[c->failures++ % LAST].took = felt;
}

static void
clock_set_step(void *state, const struct sqt_step_row *row)
{
    struct clock_set *const c = state;
    if ((row->kind != SQT_STEP_WALL_BACK && row->kind != SQT_STEP_WALL_FORWARD) || row->size_ns < STEP)
        return;
    ++c->steps;
    if (row->size_ns <= c->size_ns)
        return;
    c->at = row->from;
    c->until = row->until;
    c->size_ns = row->size_ns;
    c->back = row->kind == SQT_STEP_WALL_BACK;
    c->before = c->all;
    c->failed = 0;
    c->failed_ns = 0;
    for (uint64_t i = 0; i < LAST && i < c->failures; ++i)
        if (c->last[i].end >= c->at - BEFORE)
            clock_set_failed(c, c->last[i].took);
}

/* Requests about objects that had expired, of those since the step; 0: they are no more than before. */
static uint64_t
clock_set_stale(const struct clock_set *c)
{
    const double before = c->before.requests ? (double)c->before.stale / (double)c->before.requests : 0;
    const uint64_t requests = c->all.requests - c->before.requests, stale = c->all.stale - c->before.stale;
    return stale >= STALE && stale * 100 >= requests * SHARE && (double)stale >= TIMES * before * (double)requests
               ? stale
               : 0;
}

static void
clock_set_print(const struct clock_set *c, uint64_t stale, struct sqt_told *told)
{
    char size[SQT_HUMAN_ROOM];
    size_t used;
    sqt_told_print(told->sentence, "At %.1f s of the trace, the time of day of this machine was set %s by %s%s.",
                   (double)c->at / 1e9, c->back ? "back" : "forward",
                   sqt_human_time(size, (double)c->size_ns, " ", "us"),
                   c->steps > 1 ? ", and by less at other times" : "");
    used = strlen(told->sentence);
    if (c->failed >= FAILED)
        used += (size_t)snprintf(
            told->sentence + used, sizeof(told->sentence) - used,
            " %llu requests failed just then: what waits ends when its time-out is over by that clock.",
            (unsigned long long)c->failed);
    if (stale)
        snprintf(
            told->sentence + used, sizeof(told->sentence) - used,
            " Of the %llu requests since then, %llu ask servers about objects that had expired (stale), of the %llu "
            "before %llu did: by that clock, all is older.",
            (unsigned long long)(c->all.requests - c->before.requests), (unsigned long long)stale,
            (unsigned long long)c->before.requests, (unsigned long long)c->before.stale);
    sqt_told_print(
        told->advice,
        "Look for what sets the clock: chronyd or ntpd that steps, a virtual machine that goes on after a pause, or a "
        "person (journalctl). Is the new time right? If not, what servers send has expired when it comes, until the "
        "clock is right again: squid -k reconfigure does not help. Have the clock set before Squid starts, and only "
        "slewed afterwards (makestep of chrony).");
    sqt_told_print(told->command, "sqtrace-dump --table=clock_steps TRACE");
}

/* What failed just then is said here. */
static void
clock_set_drop(const struct clock_set *c, struct sqt_tolds *tolds)
{
    char culprit[SQT_TOLD_NAME];
    for (unsigned i = 0; i < tolds->count;) {
        const struct sqt_told *const told = tolds->told[i];
        if (strcmp(told->cause, "clock_set") == 0 || told->harm != SQT_HARM_FAILURE || !told->failures ||
            told->failures > c->failed || told->since < c->at - SECOND) {
            ++i;
            continue;
        }
        const unsigned count = tolds->count;
        snprintf(culprit, sizeof(culprit), "%s", told->culprit);
        sqt_tolds_drop(tolds, told->cause, culprit);
        i += tolds->count == count;
    }
}

static void
clock_set_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct clock_set *const c = state;
    const uint64_t stale = c->until ? clock_set_stale(c) : 0;
    const double stale_ns = stale ? c->all.stale_ns - c->before.stale_ns : 0;
    if (!c->until || (c->failed < FAILED && !stale))
        return;
    struct sqt_told *const told = sqt_tolds_add(tolds, "clock_set", SQT_HARM_FAILURE,
                                                c->failed * SQT_FAILURE_NS + sqt_told_ns(stale_ns + c->failed_ns));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "time of day");
    told->since = c->at;
    told->until = stale ? totals->end : c->until + AFTER;
    told->pattern = stale ? SQT_PATTERN_SINCE : SQT_PATTERN_ONCE;
    told->requests = c->failed + stale;
    told->failures = c->failed;
    told->waiting = sqt_told_ns(stale_ns + c->failed_ns);
    clock_set_print(c, stale, told);
    clock_set_drop(c, tolds);
    if (2 * stale > c->all.stale) { /* what those say began with the step */
        sqt_tolds_drop(tolds, "fetched_again", "servers");
        sqt_tolds_drop(tolds, "revalidations", "servers");
    }
}

const struct sqt_look sqt_look_clock_set = {
    .size = sizeof(struct clock_set), .request = clock_set_request, .step = clock_set_step, .tell = clock_set_tell};
