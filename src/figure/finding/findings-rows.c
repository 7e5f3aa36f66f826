/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-rows.c - what the rules found, as findings that are told, with costs.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "findings-internal.h"

/* Requests that take so much longer than their bytes need, in ns in the mean, are not healthy. */
#define UNEXPLAINED 300000000
/* Who waits to be accepted waits for what holds the event loop, if it is held for that part of the time, in %. */
#define HELD_PART 50

static const char *
findings_culprit(const struct sqt_findings *f, const struct sqt_finding *x)
{
    return x->rule && x->rule->stages == SQT_NS(loop_held)
               ? sqt_holders_name(&f->holders, sqt_holders_most(&f->holders))
               : x->subject->named.name;
}

struct sqt_finding_values
sqt_findings_values(struct sqt_findings *f, const struct sqt_finding *x)
{
    const struct sqt_mix others = sqt_finding_others(f, x->subject);
    const int most = sqt_finding_part(x->subject);
    const struct sqt_subject *const idle =
        x->rule && x->rule->by == SQT_FINDING_WORKER ? sqt_finding_idle(f, x->subject) : NULL;
    double blocks = 0;
    for (unsigned i = 0; i < SQT_IO_PARTS; ++i)
        blocks += (double)x->subject->parts[i];
    return (struct sqt_finding_values){
        .culprit = findings_culprit(f, x),
        .dir = x->subject->dir,
        .share = sqt_finding_share(f, x->claim),
        .reads = most >= 0 ? 100 * (double)x->subject->parts[most] / blocks : 0,
        .each = x->claim->count ? (int64_t)(x->claim->ns / x->claim->count) : 0,
        .mean = (int64_t)(x->claim->ns / f->totals.count),
        .wait = sqt_finding_wait(x->subject),
        .others = sqt_mix_median(&others),
        .connect = sqt_finding_connect(x->subject),
        .stage = sqt_finding_stage(x->subject),
        .syns = x->subject->syns,
        .late = x->subject->late[0] + x->subject->late[1],
        .kid = x->subject->kid,
        .busy = x->subject->busy,
        .other_kid = idle ? idle->kid : 0,
        .other_busy = idle ? idle->busy : 0,
        .drops = x->subject->drops,
        .backlog = x->subject->backlog,
        .descriptors = x->subject->descriptors,
    };
}

/* Whether it is the number of an origin, which stands for its address where names= is not servers. */
static int
is_origin_number(const char *culprit)
{
    return culprit && strncmp(culprit, "origin-", 7) == 0 && strlen(culprit) == 15 &&
           strspn(culprit + 7, "0123456789abcdef") == 8;
}

/* A rule of the event loop is about whoever holds it. */
static const char *
findings_rule_advice(const struct sqt_finding_rule *rule, const char *culprit)
{
    const int loop = rule->when == SQT_FINDING_BLOCKED || rule->when == SQT_FINDING_COMPUTING;
    const char *const advice = loop && culprit ? sqt_holder_advice(culprit) : NULL;
    return advice ? advice : rule->advice;
}

void
sqt_findings_advice(char text[SQT_TOLD_TEXT], const struct sqt_finding *x, const char *culprit)
{
    sqt_told_print(text, "%s%s", findings_rule_advice(x->rule, culprit),
                   is_origin_number(culprit)
                       ? " sqtrace_log names=servers gives its address; access.log has it as %<a in the "
                         "lines whose %master_xaction is the xid of such a request."
                       : "");
}

/* The rule of the loop that says how it is held; NULL: it is not. */
static const struct sqt_finding_rule *
findings_loop_rule(const struct sqt_findings *f)
{
    switch (sqt_holders_most(&f->holders)) {
    case SQT_HELD_BLOCKED:
        return &sqt_finding_rules[SQT_FINDING_NUMBER_loop_blocked];
    case SQT_HELD_COMPUTING:
        return &sqt_finding_rules[SQT_FINDING_NUMBER_loop_computing];
    case SQT_HELD_NOT_RUNNING:
        return &sqt_finding_rules[SQT_FINDING_NUMBER_not_running];
    default:
        return NULL;
    }
}

/* ns for which the event loop was held, as samples say. */
static double
findings_held(const struct sqt_findings *f)
{
    double ns = 0;
    for (unsigned i = 0; i < SQT_LOOP_PARTS; ++i)
        ns += i == SQT_LOOP_IDLE ? 0 : (double)f->holders.parts[i];
    return ns;
}

/* Who waits to be accepted while the event loop is held waits for what holds it. */
static void
findings_blame_holder(struct sqt_findings *f, const struct sqt_finding *x, struct sqt_told *told)
{
    const struct sqt_finding_rule *const loop = findings_loop_rule(f);
    const size_t length = strlen(told->sentence);
    if (x->rule->when != SQT_FINDING_ACCEPTED_LATE || !loop ||
        findings_held(f) * 100 < (double)(told->until - told->since) * HELD_PART)
        return;
    told->cause = loop->cause;
    snprintf(told->culprit, sizeof(told->culprit), "%s", sqt_holders_name(&f->holders, sqt_holders_most(&f->holders)));
    snprintf(told->sentence + length, SQT_TOLD_TEXT - length, " Meanwhile Squid's event loop %s, mostly %s.",
             sqt_holders_most(&f->holders) == SQT_HELD_BLOCKED     ? "is blocked"
             : sqt_holders_most(&f->holders) == SQT_HELD_COMPUTING ? "computes"
                                                                   : "does not run",
             told->culprit);
    sqt_told_print(told->advice, "%s", findings_rule_advice(loop, told->culprit));
    sqt_told_print(told->command, "%s", loop->command);
    sqt_tolds_supersede(&f->tolds, told);
}

static void
findings_tell(struct sqt_findings *f, const struct sqt_finding *x)
{
    const int drops = x->rule->when == SQT_FINDING_DROPS;
    struct sqt_told *const told =
        sqt_tolds_add(&f->tolds, x->rule->cause, drops ? SQT_HARM_FAILURE : SQT_HARM_WAITING, x->claim->ns);
    if (!told)
        return;
    told->account = x->claim->account;
    told->apart = x->rule->when == SQT_FINDING_ANSWERED; /* another server answered these well */
    const struct sqt_mix with = {&f->totals, NULL, NULL}, without = {&f->totals, &x->claim->totals, &x->claim->rests};
    const struct sqt_finding_values values = sqt_findings_values(f, x);
    sqt_finding_text(told->sentence, SQT_TOLD_TEXT, x->rule->sentence, &values);
    snprintf(told->culprit, sizeof(told->culprit), "%s", values.culprit ? values.culprit : "");
    const enum sqt_event after = sqt_findings_more(f, x, told);
    if (drops) { /* nobody knows what they waited */
        told->requests = told->failures = x->subject->drops;
    } else {
        told->share = sqt_percent((double)x->claim->ns, (double)f->total_ns);
        told->p50 = sqt_mix_median(&with) - sqt_mix_median(&without);
        told->p99 = sqt_mix_quantile(&with, 990) - sqt_mix_quantile(&without, 990);
        told->requests = x->claim->totals.count;
        told->waiting = x->claim->ns;
    }
    sqt_findings_advice(told->advice, x, values.culprit);
    if (after != SQT_EV_NONE_ && (x->rule->by == SQT_FINDING_REWRITER || x->rule->by == SQT_FINDING_HELPER))
        sqt_told_print(told->advice,
                       "Squid starts its helpers again then, and they take that long until they answer: make their "
                       "start quicker. More children do not help.");
    sqt_finding_text(told->command, SQT_TOLD_TEXT, x->rule->command, &values);
    findings_blame_holder(f, x, told);
}

/* What the largest part of the time is: the number of a rule. */
static unsigned
findings_largest(const struct sqt_findings *f)
{
    unsigned largest = 0;
    for (unsigned i = 0; i < SQT_FINDINGS; ++i)
        if (sqt_finding_rules[i].by == SQT_FINDING_ALL && sqt_finding_rules[i].part &&
            f->plain[f->first[i]] > f->plain[f->first[largest]])
            largest = i;
    return largest;
}

/* The same as numbers of a sentence: those of table summary. */
static struct sqt_finding_values
findings_largest_values(const struct sqt_findings *f)
{
    const double ns = (double)f->plain[f->first[findings_largest(f)]];
    return (struct sqt_finding_values){.share = f->total_ns ? 100 * ns / (double)f->total_ns : 0,
                                       .mean = (int64_t)(ns / (double)f->totals.count)};
}

/* What may be wrong nevertheless. */
#define WHAT_IS_NOT_SEEN \
    " The trace was made from outside, so it cannot say that Squid is healthy: failed requests, accepts, disks, the " \
    "event " \
    "loop and the machine are not in it. A patched Squid shows them."

static void
findings_healthy(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    const struct sqt_finding_values values = findings_largest_values(f);
    char text[SQT_TOLD_TEXT];
    struct sqt_told *const told =
        sqt_tolds_add(&f->tolds, f->attached ? SQT_FINDING_NONE_SEEN : "healthy", SQT_HARM_WAITING, 0);
    sqt_told_print(text,
                   "No cause stands out in %llu requests of %.0f s. The largest part of the time, {share}, is %s: "
                   "{mean} of the mean request.%s%s",
                   (unsigned long long)f->felt.requests, (double)(f->felt.end - f->felt.begin) / 1e9,
                   sqt_finding_rules[findings_largest(f)].part, f->tolds.meant, f->attached ? WHAT_IS_NOT_SEEN : "");
    sqt_finding_text(told->sentence, SQT_TOLD_TEXT, text, &values);
    sqt_told_print(told->command, "sqtrace-dump --table=summary TRACE");
    told->share = sqt_percent((double)f->plain[f->first[findings_largest(f)]], (double)f->total_ns);
    told->requests = f->felt.requests;
    told->since = f->felt.begin;
    told->until = f->felt.end;
}

/* Requests that take long, for no reason that a rule or a look knows. */
static void
findings_unexplained(struct sqt_findings *f)
{
    const uint64_t mean = f->slow_ns / f->totals.count;
    if (mean < UNEXPLAINED)
        return;
    const struct sqt_finding_values values = findings_largest_values(f);
    char text[SQT_TOLD_TEXT], slow[SQT_HUMAN_ROOM];
    struct sqt_told *const told = sqt_tolds_add(&f->tolds, "unexplained", SQT_HARM_WAITING, f->slow_ns);
    sqt_told_print(text,
                   "Requests take %s in the mean beyond what their bytes need at 1 MB/s, and no rule, name or time "
                   "sets them apart. The largest part, {share}, is %s: {mean} of the mean request.",
                   sqt_human_time(slow, (double)mean, " ", "us"), sqt_finding_rules[findings_largest(f)].part);
    sqt_finding_text(told->sentence, SQT_TOLD_TEXT, text, &values);
    sqt_told_print(told->command, "sqtrace-dump --table=summary TRACE");
    told->share = sqt_percent((double)f->slow_ns, (double)f->total_ns);
    told->requests = f->felt.requests;
    told->waiting = f->slow_ns;
    told->since = f->felt.begin;
    told->until = f->felt.end;
}

static void
findings_too_few(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    struct sqt_told *const told = sqt_tolds_add(&f->tolds, "too_few", SQT_HARM_WAITING, 0);
    sqt_told_print(told->sentence, "Findings need at least %d requests, and there are %u.", SQT_FINDING_LEAST,
                   (unsigned)f->totals.count);
    sqt_told_print(told->command, "sqtrace-dump TRACE");
    told->requests = f->felt.requests;
    told->since = f->felt.begin;
    told->until = f->felt.end;
}

/* What the looks found, too. */
static void
findings_look_told(struct sqt_findings *f)
{
    for (unsigned i = 0; sqt_looks[i]; ++i)
        if (sqt_looks[i]->tell)
            sqt_looks[i]->tell(f->looking[i], &f->felt, &f->tolds);
}

void
sqt_findings_tell(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    sqt_when_sort(&f->when);
    if (f->totals.count >= SQT_FINDING_LEAST)
        sqt_findings_find(f);
    for (unsigned i = 0; i < f->count; ++i)
        findings_tell(f, &f->found[i]);
    findings_look_told(f);
    if (f->totals.count >= SQT_FINDING_LEAST)
        sqt_findings_episodes(f);
    if (f->logged.requests && !f->tolds.count)
        sqt_findings_logged(f);
    if (f->totals.count >= SQT_FINDING_LEAST && !f->tolds.count)
        findings_unexplained(f);
    sqt_tolds_now(&f->tolds);
    sqt_tolds_in_standstills(&f->tolds);
    sqt_tolds_cut(&f->tolds, f->felt.begin, f->felt.end);
    sqt_tolds_sort(&f->tolds);
    sqt_tolds_spend(&f->tolds, f->total_ns);
    sqt_findings_own(&f->tolds);
    if (!f->tolds.count && f->totals.count < SQT_FINDING_LEAST)
        findings_too_few(job);
    else if (!f->tolds.count)
        findings_healthy(job);
}
