/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock-set.c - the time of day of Squid's machine was set forward.  Squid's time-outs and the age of what it has go by that
 * clock: what waits ends at once, and what was fresh has expired.  When it is set back, nothing ends and nothing expires.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"

/* A smaller step ends nothing, ns. */
#define STEP (UINT64_C(60) * 1000000000)
#define SECOND 1e9
/* Each process notes the same step: within that time, ns, and its size differs by so much at most, in %. */
#define ONE_STEP SECOND
#define ONE_SIZE 1
/* So many fail from BEFORE the step to AFTER it, ns, and so many times what fails in such a time before: in the mean, and in
 * the last RECENT ns.  Before it there is as long a time, with so many requests. */
#define FAILED 3
#define BEFORE 5e8
#define AFTER 2e9
#define RECENT 1e10
#define TIMES 4
#define REQUESTS 20
/* So many are about objects that had expired, that part of all since then, in %, and TIMES the share before: of so many requests
 * before, and as long a time since. */
#define STALE 20
#define SHARE 20
#define REQUESTS_STALE 100
/* Requests that failed, and are remembered until a step is known. */
#define LAST 256

struct clock_set_counts {
    uint64_t requests, stale;
    double stale_ns;
};

struct clock_set {
    int64_t begun;     /* the end of the first request */
    int64_t at, until; /* of the largest step; until 0: there is none */
    uint64_t size_ns;
    unsigned steps;
    struct sqt_step_row last_step;
    struct clock_set_counts all, before, since; /* before: the step; since: it, in as long a time as before it */
    uint64_t failed;
    double failed_ns;
    double usual; /* so many fail in such a time before */
    struct {
        int64_t end, took;
    } last[LAST];
    uint64_t failures;
};

/* How long a time before the step is known. */
static double
clock_set_known(const struct clock_set *c)
{
    return (double)c->at - (double)c->begun;
}

static double
clock_set_until(const struct clock_set *c)
{
    return (double)c->until + clock_set_known(c);
}

static void
clock_set_count(struct clock_set_counts *counts, int stale, int64_t felt)
{
    ++counts->requests;
    counts->stale += (uint64_t)stale;
    counts->stale_ns += stale ? (double)felt : 0;
}

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
    const double end = (double)xact->end;
    if (!c->all.requests)
        c->begun = xact->end;
    clock_set_count(&c->all, stale, felt);
    if (c->until && end <= clock_set_until(c))
        clock_set_count(&c->since, stale, felt);
    if (!(made && xact->status >= 500) && xact->outcome != SQT_OUTCOME_TIMEOUT)
        return;
    if (c->until && end >= (double)c->at - BEFORE && end <= (double)c->until + AFTER)
        clock_set_failed(c, felt);
    c->last[c->failures % LAST].end = xact->end;
    c->last[c->failures++ % LAST].took = felt;
}

/* Whether another process, or the same, has noted that step before. */
static int
clock_set_is_same(const struct sqt_step_row *a, const struct sqt_step_row *b)
{
    const double apart = (double)a->size_ns - (double)b->size_ns;
    return b->size_ns && (double)a->from <= (double)b->until + ONE_STEP &&
           (double)a->until >= (double)b->from - ONE_STEP &&
           (apart < 0 ? -apart : apart) * 100 <= (double)b->size_ns * ONE_SIZE;
}

/* What failed just before the step, and how many fail in as long a time before that. */
static void
clock_set_look_back(struct clock_set *c)
{
    const double begin = (double)c->at - BEFORE, window = (double)c->until + AFTER - begin;
    const double known = begin - (double)c->begun;
    double span = known < RECENT ? known : RECENT;
    uint64_t recent = 0, earlier = c->failures > LAST ? c->failures - LAST : 0;
    c->failed = 0;
    c->failed_ns = 0;
    for (uint64_t i = 0; i < LAST && i < c->failures; ++i) {
        const double end = (double)c->last[i].end;
        if (end >= begin)
            clock_set_failed(c, c->last[i].took);
        else
            ++earlier;
        recent += end < begin && end >= begin - RECENT;
        if (c->failures > LAST && i == c->failures % LAST && begin - end < span) /* those before it are forgotten */
            span = begin - end;
    }
    const double mean = known > 0 ? (double)earlier / known : 0, lately = span > 0 ? (double)recent / span : 0;
    c->usual = window * (mean > lately ? mean : lately);
}

static void
clock_set_step(void *state, const struct sqt_step_row *row)
{
    struct clock_set *const c = state;
    if (row->kind != SQT_STEP_WALL_FORWARD || row->size_ns < STEP || clock_set_is_same(row, &c->last_step))
        return;
    c->last_step = *row;
    ++c->steps;
    if (row->size_ns <= c->size_ns)
        return;
    c->at = row->from;
    c->until = row->until;
    c->size_ns = row->size_ns;
    c->before = c->all;
    c->since = (struct clock_set_counts){.requests = 0};
    clock_set_look_back(c);
}

/* Requests about objects that had expired, of those since the step; 0: they are no more than before. */
static uint64_t
clock_set_stale(const struct clock_set *c)
{
    const double before = c->before.requests ? (double)c->before.stale / (double)c->before.requests : 0;
    const uint64_t requests = c->since.requests, stale = c->since.stale;
    return c->before.requests >= REQUESTS_STALE && stale >= STALE && stale * 100 >= requests * SHARE &&
                   (double)stale >= TIMES * before * (double)requests
               ? stale
               : 0;
}

/* Requests that failed because of the step; 0: they are hardly more than before.  Those of another finding that began before it
 * are not its own. */
static uint64_t
clock_set_failures(const struct clock_set *c, const struct sqt_tolds *tolds)
{
    const double window = (double)c->until + AFTER - ((double)c->at - BEFORE);
    uint64_t failed = c->failed;
    for (unsigned i = 0; i < tolds->count; ++i) {
        const struct sqt_told *const told = tolds->told[i];
        if (told->harm == SQT_HARM_FAILURE && (double)told->since < (double)c->at - SECOND &&
            (double)told->until >= (double)c->at - BEFORE)
            failed -= told->failures < failed ? told->failures : failed;
    }
    return clock_set_known(c) >= window && c->before.requests >= REQUESTS && failed >= FAILED &&
                   (double)failed >= TIMES * c->usual
               ? failed
               : 0;
}

static void
clock_set_print(const struct clock_set *c, uint64_t failed, uint64_t stale, struct sqt_told *told)
{
    char size[SQT_HUMAN_ROOM], since[SQT_HUMAN_ROOM];
    size_t used;
    sqt_told_print(told->sentence, "At %.1f s of the trace, the time of day of this machine was set forward by %s%s.",
                   (double)c->at / 1e9, sqt_human_time(size, (double)c->size_ns, " ", "us"),
                   c->steps > 1 ? ", and by less at other times" : "");
    used = strlen(told->sentence);
    if (failed)
        used += (size_t)snprintf(
            told->sentence + used, sizeof(told->sentence) - used,
            " %llu requests failed just then: what waits ends when its time-out is over by that clock.",
            (unsigned long long)failed);
    if (stale)
        snprintf(
            told->sentence + used, sizeof(told->sentence) - used,
            " Of the %llu requests in the %s after it, %llu ask servers about objects that had expired (stale). Of the "
            "%llu before it, %llu did: by that clock, all objects are older.",
            (unsigned long long)c->since.requests,
            sqt_human_time(since, (double)told->until - (double)c->until, " ", "us"), (unsigned long long)stale,
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
clock_set_drop(const struct clock_set *c, uint64_t failed, struct sqt_tolds *tolds)
{
    char culprit[SQT_TOLD_NAME];
    for (unsigned i = 0; i < tolds->count;) {
        const struct sqt_told *const told = tolds->told[i];
        if (strcmp(told->cause, "clock_set") == 0 || told->harm != SQT_HARM_FAILURE || !told->failures ||
            told->failures > failed || (double)told->since < (double)c->at - SECOND) {
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
    const uint64_t stale = c->until ? clock_set_stale(c) : 0, failed = c->until ? clock_set_failures(c, tolds) : 0;
    if (!failed && !stale)
        return;
    const double failed_ns = failed ? c->failed_ns * (double)failed / (double)c->failed : 0;
    const double waiting = failed_ns + (stale ? c->since.stale_ns : 0);
    const double until = stale ? clock_set_until(c) : (double)c->until + AFTER;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "clock_set", SQT_HARM_FAILURE, failed * SQT_FAILURE_NS + sqt_told_ns(waiting));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "time of day");
    told->since = c->at;
    told->until = until >= (double)totals->end ? totals->end : until > (double)c->at ? (int64_t)until : c->at;
    told->pattern = stale && told->until == totals->end ? SQT_PATTERN_SINCE : SQT_PATTERN_ONCE;
    told->requests = failed + stale;
    told->failures = failed;
    told->waiting = sqt_told_ns(waiting);
    clock_set_print(c, failed, stale, told);
    clock_set_drop(c, failed, tolds);
    if (2 * stale > c->all.stale) { /* what those say began with the step */
        sqt_tolds_drop(tolds, "fetched_again", "servers");
        sqt_tolds_drop(tolds, "revalidations", "servers");
    }
}

const struct sqt_look sqt_look_clock_set = {
    .size = sizeof(struct clock_set), .request = clock_set_request, .step = clock_set_step, .tell = clock_set_tell};
