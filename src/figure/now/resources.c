/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * resources.c - memory that is in swap, and descriptors that are about to run out.
 *
 * Page faults and pages are sampled once a second.  Where all threads wait for their memory, no sample is taken and the
 * process looks stopped: it was its memory if faults fill half of that time (page-faults.h).  Of a stop that goes on only the
 * second before it is known: hanging.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "page-faults.h"

#define SECOND 1e9
#define KIDS 256
/* Between two samples, so many seconds are counted at most. */
#define GAP_MOST 60
/* A stop from that length on, ns, is looked at. */
#define STOP INT64_C(500000000)
/* So many gaps of samples, and stops, are kept. */
#define KEPT 64
/* So many such seconds are a finding. */
#define SECONDS 3
/* Descriptors that are open, of those that Squid may open, in %. */
#define DESCRIPTORS 90

enum { RESOURCES_ALL = 1, RESOURCES_HELD, RESOURCES_FAULTS }; /* series */

struct resources_kid {
    struct sqt_sampled_counter faults,
        pages;                      /* page faults that read from a disk; pages that the machine brought back */
    uint64_t open, limit, reserved; /* descriptors; open: the most */
};

/* A time of a process: a stop, or a gap of samples that page faults fill. */
struct resources_span {
    const struct sqt_origin *origin; /* only compared */
    uint32_t kid;
    int64_t from, until;
};

struct resources_spans {
    struct resources_span of[KEPT];
    unsigned count;
};

struct resources {
    struct sqt_when
        when; /* requests, and how long the event loop was held in them; seconds with faults, and how many */
    struct resources_kid kids[KIDS];
    uint64_t seconds, rss; /* seconds in which pages were brought back */
    struct resources_spans stops, gaps;
};

/* How many whole seconds are between that and a sample, at least one. */
static unsigned
resources_seconds(int64_t from, const struct sqt_sample_row *sample)
{
    const double seconds = (double)(sample->at - from) / SECOND;
    return seconds < 2 ? 1 : seconds < GAP_MOST ? (unsigned)seconds : GAP_MOST;
}

static void
resources_keep(struct resources_spans *spans, const struct sqt_origin *origin, int64_t from, int64_t until)
{
    if (spans->count < KEPT)
        spans->of[spans->count++] = (struct resources_span){origin, origin->identity.kid, from, until};
}

static void
resources_faults(struct resources *r, struct resources_kid *kid, const struct sqt_sample_row *sample)
{
    const int64_t from = kid->faults.at;
    const double rate = sqt_sampled_count(&kid->faults, sample);
    if (rate < SQT_FAULTS)
        return;
    const unsigned seconds = rate < SQT_FAULTS_STOP ? 1 : resources_seconds(from, sample);
    for (unsigned i = 0; i < seconds; ++i)
        sqt_when_add(&r->when, RESOURCES_FAULTS, from + i * (int64_t)SECOND, 0, (uint32_t)(rate < 1e6 ? rate : 1e6));
    if (seconds > 1)
        resources_keep(&r->gaps, sample->origin, from, sample->at);
}

static void
resources_pages(struct resources *r, struct resources_kid *kid, const struct sqt_sample_row *sample)
{
    const int64_t from = kid->pages.at;
    const double rate = sqt_sampled_count(&kid->pages, sample);
    if (rate >= SQT_PAGES_BACK)
        r->seconds += rate < SQT_FAULTS_STOP ? 1 : resources_seconds(from, sample);
}

/* A stop may be told several times, in part. */
static void
resources_stop(void *state, const struct sqt_stop_row *stop)
{
    struct resources *const r = state;
    struct resources_span *const last = r->stops.count ? &r->stops.of[r->stops.count - 1] : NULL;
    if (last && last->origin == stop->pass->origin && stop->begin <= last->until && stop->end >= last->from) {
        last->from = stop->begin < last->from ? stop->begin : last->from;
        last->until = stop->end > last->until ? stop->end : last->until;
    } else if (stop->end - stop->begin >= STOP)
        resources_keep(&r->stops, stop->pass->origin, stop->begin, stop->end);
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

/* For how long a process that stood still waited for its memory. */
static int64_t
resources_memory(const struct resources *r, const struct resources_span *stop)
{
    int64_t ns = 0;
    for (unsigned i = 0; i < r->gaps.count; ++i) {
        const struct resources_span *const gap = &r->gaps.of[i];
        const int64_t from = gap->from > stop->from ? gap->from : stop->from;
        const int64_t until = gap->until < stop->until ? gap->until : stop->until;
        if (gap->origin == stop->origin && until > from)
            ns += until - from;
    }
    return ns;
}

/* Whether most of the time in which that kid, or if there is no number any kid, stood still was its memory's. */
static int
resources_were_memory(const struct resources *r, const char *worker)
{
    int64_t all = 0, memory = 0;
    const uint32_t kid = worker ? (uint32_t)strtoul(worker + strlen("worker "), NULL, 10) : 0;
    for (unsigned i = 0; i < r->stops.count; ++i)
        if (!worker || r->stops.of[i].kid == kid) {
            all += r->stops.of[i].until - r->stops.of[i].from;
            memory += resources_memory(r, &r->stops.of[i]);
        }
    return memory > all / 2;
}

/* Stops that were waits for memory go, and those who waited for them waited for that.  Returns these, count 0: there is none. */
static struct sqt_when_sum
resources_take_stops(const struct resources *r, struct sqt_tolds *tolds)
{
    struct sqt_when_sum waited = {.count = 0};
    for (unsigned i = 0; i < tolds->count; ++i) {
        const struct sqt_told *const told = tolds->told[i];
        if (strcmp(told->cause, "stopped") != 0 || strstr(told->culprit, "waiting for a processor") ||
            !resources_were_memory(r, strstr(told->culprit, "worker ")))
            continue;
        waited.ns += told->waiting;
        waited.count += (uint32_t)told->requests;
        char culprit[SQT_TOLD_NAME];
        snprintf(culprit, sizeof(culprit), "%s", told->culprit);
        sqt_tolds_drop(tolds, "stopped", culprit);
        --i;
    }
    return waited;
}

static void
resources_tell_memory(struct resources *r, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"loop_blocked", "loop_computing", "not_running", NULL};
    struct sqt_when_sum held = resources_held(r);
    size_t seconds;
    const struct sqt_when_sum *const faults = sqt_when_of(&r->when, RESOURCES_FAULTS, &seconds);
    uint64_t rate = 0;
    char when[128];
    if (seconds < SECONDS || r->seconds < SECONDS)
        return;
    for (size_t i = 0; i < seconds; ++i)
        rate += faults[i].count;
    const struct sqt_when_sum stopped = resources_take_stops(r, tolds);
    const int stands = stopped.ns > held.ns;
    if (stands)
        held = stopped;
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
        "%s, Squid waits for its own memory: %.0f page faults a second read from swap, and %.0f MB are resident.",
        sqt_told_when(when, sizeof(when), told), (double)rate / (double)seconds, (double)r->rss / 1e6);
    const size_t used = strlen(told->sentence);
    if (held.count)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 stands ? " It stood still meanwhile: %u requests waited %.0f ms for that, on average."
                        : " It held the event loop of %u requests for %.1f ms, on average.",
                 held.count, (double)held.ns / held.count / 1e6);
    sqt_told_print(told->advice, SQT_PAGE_FAULTS_ADVICE);
    sqt_told_print(told->command, SQT_PAGE_FAULTS_COMMAND);
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
    sqt_when_free(&r->when);
}

static void
resources_end(void *state)
{
    sqt_when_free(&((struct resources *)state)->when);
}

const struct sqt_look sqt_look_resources = {.size = sizeof(struct resources),
                                            .request = resources_request,
                                            .sample = resources_sample,
                                            .stop = resources_stop,
                                            .tell = resources_tell,
                                            .end = resources_end};
