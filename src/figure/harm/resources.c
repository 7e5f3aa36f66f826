/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * resources.c - memory that is in swap, and descriptors that are about to end.
 *
 * A page fault that reads from a disk may be of a program's file: it counts as swap if the machine brought back pages from
 * swap space in the same second.  Both are sampled once a second.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/table/samples.h"

#define SECOND 1e9
#define KIDS 256
/* Page faults, and pages brought back, in a second: fewer are no matter. */
#define FAULTS 50
#define PAGES 50
/* Between two samples, so many seconds at most count. */
#define GAP_MOST 60
/* So many such seconds are a finding. */
#define SECONDS 3
/* Descriptors that are open, of those that Squid may open, in %. */
#define DESCRIPTORS 90

enum { RESOURCES_ALL = 1, RESOURCES_HELD, RESOURCES_FAULTS }; /* series */

struct resources_counter {
    const struct sqt_origin *origin; /* only compared; NULL: not sampled yet */
    int64_t at;
    uint64_t value;
};

struct resources_kid {
    struct resources_counter faults;
    uint64_t open, limit, reserved; /* descriptors; open: the most */
    struct resources_counter pages; /* that the machine brought back, as this kid sampled them */
};

struct resources {
    struct sqt_when
        when; /* requests, and how long the event loop was held in them; seconds with faults, and how many */
    struct resources_kid kids[KIDS];
    uint64_t seconds, rss; /* seconds in which pages were brought back */
};

/* What it grew by since the last sample, for each second. */
static double
resources_rate(struct resources_counter *c, const struct sqt_sample_row *sample)
{
    const double seconds = (double)(sample->at - c->at) / SECOND;
    const int known = c->origin == sample->origin && sample->value >= c->value && seconds > 0;
    const double rate = known ? (double)(sample->value - c->value) / seconds : 0;
    *c = (struct resources_counter){sample->origin, sample->at, sample->value};
    return rate;
}

/* How many whole seconds are between that and a sample, at least one: a process that waits for its memory takes none. */
static unsigned
resources_seconds(int64_t from, const struct sqt_sample_row *sample)
{
    const double seconds = (double)(sample->at - from) / SECOND;
    return seconds < 2 ? 1 : seconds < GAP_MOST ? (unsigned)seconds : GAP_MOST;
}

static void
resources_faults(struct resources *r, struct resources_kid *kid, const struct sqt_sample_row *sample)
{
    const int64_t from = kid->faults.at;
    const double rate = resources_rate(&kid->faults, sample);
    if (rate < FAULTS)
        return;
    for (unsigned i = 0; i < resources_seconds(from, sample); ++i)
        sqt_when_add(&r->when, RESOURCES_FAULTS, from + i * (int64_t)SECOND, 0, (uint32_t)(rate < 1e6 ? rate : 1e6));
}

static void
resources_pages(struct resources *r, struct resources_kid *kid, const struct sqt_sample_row *sample)
{
    const int64_t from = kid->pages.at;
    if (resources_rate(&kid->pages, sample) >= PAGES)
        r->seconds += resources_seconds(from, sample);
}

static void
resources_sample(void *state, const struct sqt_sample_row *sample)
{
    struct resources *const r = state;
    struct resources_kid *const kid = &r->kids[sample->origin->identity.kid % KIDS];
    enum sqt_sample_value what;
    char source[SQT_SOURCE_NAME];
    sqt_sample_split(sample, source, &what);
    if (what == SQT_SAMPLE_PROCESS_major_faults)
        resources_faults(r, kid, sample);
    else if (what == SQT_SAMPLE_MACHINE_swapped_in_pages)
        resources_pages(r, kid, sample);
    else if (what == SQT_SAMPLE_PROCESS_rss_bytes)
        r->rss = sample->value;
    else if (what == SQT_SAMPLE_PROCESS_descriptors)
        kid->open = sample->value > kid->open ? sample->value : kid->open;
    else if (what == SQT_SAMPLE_SQUID_descriptors_limit)
        kid->limit = sample->value;
    else if (what == SQT_SAMPLE_SQUID_descriptors_reserved)
        kid->reserved = sample->value;
}

static void
resources_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct resources *const r = state;
    (void)fact;
    (void)felt;
    sqt_when_add(&r->when, RESOURCES_ALL, xact->begin, 0, 1);
    if (xact->held != SQT_MISSING && xact->held > 0)
        sqt_when_add(&r->when, RESOURCES_HELD, xact->begin, (uint64_t)xact->held, 1);
}

/* What the event loop was held for in requests that began in seconds with faults. */
static struct sqt_when_sum
resources_held(const struct resources *r)
{
    struct sqt_when_sum sum = {.count = 0};
    size_t count, faults_count, k = 0;
    const struct sqt_when_sum *const held = sqt_when_of(&r->when, RESOURCES_HELD, &count);
    const struct sqt_when_sum *const faults = sqt_when_of(&r->when, RESOURCES_FAULTS, &faults_count);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t second = (uint32_t)(SECOND / (double)r->when.width) + 1;
        while (k < faults_count && faults[k].window + second < held[i].window)
            ++k;
        if (k < faults_count && faults[k].window <= held[i].window) {
            sum.count += held[i].count;
            sum.ns += held[i].ns;
        }
    }
    return sum;
}

/* Whether at least half of that time is in seconds with faults. */
static int
resources_was_then(const struct resources *r, int64_t since, int64_t until)
{
    size_t count;
    int64_t ns = 0;
    const struct sqt_when_sum *const faults = sqt_when_of(&r->when, RESOURCES_FAULTS, &count);
    for (size_t i = 0; i < count; ++i) {
        const int64_t begin = faults[i].window * r->when.width, end = begin + (int64_t)SECOND;
        const int64_t from = begin > since ? begin : since, to = end < until ? end : until;
        ns += to > from ? to - from : 0;
    }
    return ns >= (until - since) / 2;
}

/* All threads may wait for their memory, and then it looks as if the process were stopped: what those who waited for that
 * waited is the memory's, if it is more. */
static void
resources_take_stops(const struct resources *r, const struct sqt_tolds *tolds, struct sqt_when_sum *held)
{
    struct sqt_when_sum stopped = {.count = 0};
    for (unsigned i = 0; i < tolds->count; ++i) {
        const struct sqt_told *const told = tolds->told[i];
        const int stop = strcmp(told->cause, "stopped") == 0 || strcmp(told->cause, "standstill") == 0;
        if (stop && resources_was_then(r, told->since, told->until)) {
            stopped.ns += told->waiting;
            stopped.count += (uint32_t)told->requests;
        }
    }
    if (stopped.ns > held->ns)
        *held = stopped;
}

static void
resources_tell_memory(struct resources *r, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"loop_blocked", "loop_computing", "not_running", "stopped", "standstill", NULL};
    struct sqt_when_sum held = resources_held(r);
    size_t seconds;
    const struct sqt_when_sum *const faults = sqt_when_of(&r->when, RESOURCES_FAULTS, &seconds);
    uint64_t rate = 0;
    char when[128];
    if (seconds < SECONDS || r->seconds < SECONDS)
        return;
    for (size_t i = 0; i < seconds; ++i)
        rate += faults[i].count;
    resources_take_stops(r, tolds, &held);
    sqt_instead(tolds, rules, held.ns, SQT_INSTEAD);
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "swapping", held.ns ? SQT_HARM_WAITING : SQT_HARM_RESOURCE, held.ns);
    if (!told)
        return;
    told->since = faults[0].window * r->when.width;
    told->until = faults[seconds - 1].window * r->when.width + (int64_t)SECOND;
    told->pattern = (told->until - told->since) / 9 >= (totals->end - totals->begin) / 10 ? SQT_PATTERN_THROUGHOUT
                    : told->until + 2 * (int64_t)SECOND >= totals->end                    ? SQT_PATTERN_SINCE
                                                                                          : SQT_PATTERN_ONCE;
    told->requests = held.count;
    told->waiting = held.ns;
    told->share = sqt_percent((double)held.ns, (double)totals->total_ns);
    snprintf(told->culprit, sizeof(told->culprit), "memory");
    sqt_told_print(
        told->sentence,
        "%s, Squid waits for its own memory: %.0f page faults a second are read from swap, and %.0f MB are resident. "
        "The event loop was held for %.1f ms in each of %u requests.",
        sqt_told_when(when, sizeof(when), told), (double)rate / (double)seconds, (double)r->rss / 1e6,
        held.count ? (double)held.ns / held.count / 1e6 : 0.0, held.count);
    sqt_told_print(told->advice,
                   "cache_mem: less, and smaller cache_dirs, whose index is in memory. Or more memory for Squid: "
                   "MemoryMax= and MemorySwapMax= of systemd, or fewer programs beside it.");
    sqt_told_print(told->command, "sqtrace-dump --table=samples --where='name == \"major_faults\"' TRACE");
}

static void
resources_tell_descriptors(const struct resources_kid *kid, unsigned number, const struct sqt_look_totals *totals,
                           struct sqt_tolds *tolds)
{
    const uint64_t most = kid->limit > kid->reserved ? kid->limit - kid->reserved : kid->limit;
    if (!most || (double)kid->open * 100 < (double)most * DESCRIPTORS)
        return;
    struct sqt_told *const told = sqt_tolds_add(tolds, "few_descriptors", SQT_HARM_RESOURCE, 0);
    if (!told)
        return;
    told->since = totals->begin;
    told->until = totals->end;
    told->pattern = SQT_PATTERN_THROUGHOUT;
    snprintf(told->culprit, sizeof(told->culprit), "descriptors of kid %u", number);
    sqt_told_print(
        told->sentence,
        "%llu descriptors were open in kid %u, of %llu: when fewer than %llu are free, Squid accepts no connection.",
        (unsigned long long)kid->open, number, (unsigned long long)kid->limit, (unsigned long long)kid->reserved);
    sqt_told_print(told->advice, "max_filedescriptors: more, if ulimit -n allows it. client_idle_pconn_timeout, "
                                 "server_idle_pconn_timeout: close idle connections earlier.");
    sqt_told_print(told->command, "sqtrace-dump --table=samples --where='name == \"descriptors\"' TRACE");
}

static void
resources_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct resources *const r = state;
    sqt_when_sort(&r->when);
    resources_tell_memory(r, totals, tolds);
    for (unsigned i = 0; i < KIDS; ++i)
        resources_tell_descriptors(&r->kids[i], i, totals, tolds);
}

static void
resources_end(void *state)
{
    sqt_when_free(&((struct resources *)state)->when);
}

const struct sqt_look sqt_look_resources = {.size = sizeof(struct resources),
                                            .request = resources_request,
                                            .sample = resources_sample,
                                            .tell = resources_tell,
                                            .end = resources_end};
