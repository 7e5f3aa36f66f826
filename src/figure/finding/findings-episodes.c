/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-episodes.c - what is bad for some time only: a claim of a rule that in some windows is far above what it
 * is in the trace's other windows.
 *
 * A rule is about the whole trace, and ten bad seconds of an hour are nothing there.  So each claim is compared with itself:
 * its usual size is the median, over windows, of its time for each request.  A window is bad if the claim is
 * several times that, felt by the requests that have it, and a good part of all that was waited in the window.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "findings-internal.h"

/* In a bad window the claim is so many times as large as usual, and takes that share of all time, in %. */
#define TIMES 3
#define SHARE 30
/* Beside another finding, it is at least that part of the largest one, in %. */
#define BESIDE 20
/* One without a culprit is not told if another finding with one waits for that part of it, in %. */
#define EXPLAINED 60
/* An episode has at least that many requests that wait for it, that many ns each, and that many in all. */
#define REQUESTS 5
#define EACH INT64_C(50000000)
#define ALL INT64_C(1000000000)

struct window {
    uint32_t number;
    uint32_t requests, with; /* of the subject; those with the claim */
    uint64_t ns, all;        /* of the claim; of all requests */
};

struct episode {
    struct sqt_finding finding;
    struct window *windows;
    size_t count;
    double usual;           /* ns of the claim for each request, in the median window */
    double ns, beyond, all; /* of the bad windows: claimed, what is beyond the usual, and all time */
    uint64_t with;          /* requests with the claim there */
    size_t bads;
};

static int
compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double
episode_usual(const struct episode *e)
{
    double *const each = sqt_zeroed(e->count + 1, sizeof(*each));
    for (size_t i = 0; i < e->count; ++i)
        each[i] = (double)e->windows[i].ns / e->windows[i].requests;
    qsort(each, e->count, sizeof(*each), compare_doubles);
    const double usual = e->count ? each[e->count / 2] : 0;
    sqt_freed(each);
    return usual;
}

/* The sum of that window; k is the place of the last one that was asked for. */
static struct sqt_when_sum
sum_of(const struct sqt_when_sum *sums, size_t count, size_t *k, uint32_t window)
{
    while (*k < count && sums[*k].window < window)
        ++*k;
    return *k < count && sums[*k].window == window ? sums[*k] : (struct sqt_when_sum){0, 0, 0, 0};
}

/* All windows with requests of the subject, and how much of them is claimed. */
static void
episode_windows(const struct sqt_findings *f, struct episode *e)
{
    size_t its_count, all_count, k = 0, l = 0;
    const struct sqt_when_sum *const whose = sqt_when_of(&f->when, e->finding.subject->series, &e->count);
    const struct sqt_when_sum *const all = sqt_when_of(&f->when, SQT_SERIES_ALL, &all_count);
    const struct sqt_when_sum *const its = sqt_when_of(&f->when, e->finding.claim->series, &its_count);
    e->windows = sqt_zeroed(e->count + 1, sizeof(*e->windows));
    for (size_t i = 0; i < e->count; ++i) {
        const uint32_t window = whose[i].window;
        const struct sqt_when_sum claimed = sum_of(its, its_count, &k, window);
        e->windows[i] = (struct window){.number = window,
                                        .requests = whose[i].count,
                                        .with = claimed.count,
                                        .ns = claimed.ns,
                                        .all = sum_of(all, all_count, &l, window).ns};
    }
}

static int
is_bad_window(const struct episode *e, const struct window *w)
{
    return w->with && (double)w->ns >= TIMES * e->usual * w->requests && w->ns * 100 >= w->all * SHARE &&
           (int64_t)(w->ns / w->with) >= EACH && (int64_t)(w->ns / w->with) >= e->finding.rule->each;
}

static void
episode_add_up(struct episode *e)
{
    for (size_t i = 0; i < e->count; ++i) {
        const struct window *const w = &e->windows[i];
        if (!is_bad_window(e, w))
            continue;
        ++e->bads;
        e->ns += (double)w->ns;
        e->beyond += (double)w->ns - e->usual * w->requests;
        e->all += (double)w->all;
        e->with += w->with;
    }
}

static void
episode_pattern(const struct sqt_findings *f, const struct episode *e, struct sqt_told *told)
{
    uint32_t *const bad = sqt_zeroed(2 * e->count + 1, sizeof(*bad)), *const active = bad + e->count;
    size_t bads = 0;
    for (size_t i = 0; i < e->count; ++i) {
        active[i] = e->windows[i].number;
        if (is_bad_window(e, &e->windows[i]))
            bad[bads++] = e->windows[i].number;
    }
    sqt_when_pattern(told, bad, NULL, bads, active, e->count, active[e->count - 1], f->when.width);
    sqt_freed(bad);
}

static void
episode_tell(struct sqt_findings *f, const struct episode *e)
{
    char each[SQT_HUMAN_ROOM], usual[SQT_HUMAN_ROOM], when[128];
    const struct sqt_finding *const x = &e->finding;
    struct sqt_told *const told = sqt_tolds_add(&f->tolds, x->rule->cause, SQT_HARM_WAITING, sqt_told_ns(e->beyond));
    if (!told)
        return;
    told->account = x->claim->account;
    const struct sqt_finding_values values = sqt_findings_values(f, x);
    episode_pattern(f, e, told);
    snprintf(told->culprit, sizeof(told->culprit), "%s", values.culprit ? values.culprit : "");
    told->requests = e->with;
    told->waiting = sqt_told_ns(e->beyond);
    told->share = sqt_percent(e->beyond, (double)f->total_ns);
    sqt_told_when(when, sizeof(when), told);
    sqt_human_time(each, e->ns / (double)e->with, " ", "us");
    sqt_human_time(usual, e->usual, " ", "us");
    sqt_told_print(told->sentence,
                   "%s, %.0f %% of the time of requests is %s%s%s: %s for each that has it. At other times it is %s.",
                   when, 100 * e->ns / e->all, x->rule->part, *told->culprit ? ", " : "", told->culprit, each, usual);
    sqt_findings_advice(told->advice, x, values.culprit);
    sqt_finding_text(told->command, SQT_TOLD_TEXT, x->rule->command, &values);
    if (*told->culprit)
        sqt_tolds_supersede(&f->tolds, told);
}

/* Whether something that is told already claims this time: for the same subject or all, in the same stages. */
static int
is_claimed(const struct sqt_findings *f, const struct sqt_finding *x)
{
    for (unsigned i = 0; i < f->episode_count; ++i) {
        const struct sqt_finding *const other = &f->episodes[i];
        if (other->rule->stages & x->rule->stages)
            return 1;
    }
    return sqt_finding_is_told(f, x->rule, x->subject);
}

/* Whether somebody is blamed already for most of it: anybody, if it has no culprit; else the same one, for failures. */
static int
is_explained(const struct sqt_findings *f, const struct episode *e)
{
    const char *const name = e->finding.subject->named.name;
    for (unsigned i = 0; i < f->tolds.count; ++i) {
        const struct sqt_told *const told = f->tolds.told[i];
        const int blamed = e->finding.subject == &f->all
                               ? *told->culprit != 0
                               : told->harm == SQT_HARM_FAILURE && sqt_told_names(name, told->culprit);
        if (blamed && (double)told->waiting * 100 >= e->beyond * EXPLAINED)
            return 1;
    }
    return 0;
}

static void
episodes_try(struct sqt_findings *f, unsigned rule, struct sqt_subject *subject)
{
    struct episode e = {.finding = {&sqt_finding_rules[rule], subject, sqt_finding_claim_of(f, subject, rule)}};
    const struct sqt_finding_rule *const r = e.finding.rule;
    if (!e.finding.claim->series || !subject->series || !r->part || f->episode_count == SQT_FINDING_MOST ||
        is_claimed(f, &e.finding) || !sqt_finding_in_part(f, &e.finding))
        return;
    episode_windows(f, &e);
    e.usual = episode_usual(&e);
    episode_add_up(&e);
    if (e.bads && e.with >= REQUESTS && e.beyond >= (double)ALL && e.beyond * 100 >= (double)f->tolds_most * BESIDE &&
        !is_explained(f, &e)) {
        f->episodes[f->episode_count++] = e.finding;
        episode_tell(f, &e);
    }
    sqt_freed(e.windows);
}

void
sqt_findings_episodes(struct sqt_findings *f)
{
    f->tolds_most = sqt_tolds_most(&f->tolds);
    for (unsigned i = 0; i < SQT_FINDINGS; ++i) {
        const struct sqt_finding_rule *const rule = &sqt_finding_rules[i];
        for (struct sqt_name_entry *named = f->names[rule->by].first; named; named = named->next)
            if (!sqt_names_is_others(named))
                episodes_try(f, i, (struct sqt_subject *)named);
        if (rule->by == SQT_FINDING_ALL)
            episodes_try(f, i, &f->all);
    }
}
