/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-rows.c - findings as rows, with their costs.
 */
#include <stdio.h>
#include <string.h>

#include "findings-internal.h"

/* The longest sentence with the longest name of a culprit. */
#define TEXT_SIZE 1024

#define CELL(name) row[SQT_CELL(findings, name)]

/* A row without a culprit, costs and advice. */
static void
row_begin(union sqt_cell *row, int64_t rank, const char *cause, const char *sentence)
{
    CELL(rank).number = rank;
    CELL(cause).text = cause;
    CELL(culprit).text = NULL;
    CELL(share_pct).number = CELL(cost_p50_ms).number = CELL(cost_p99_ms).number = SQT_CELL_MISSING;
    CELL(sentence).text = sentence;
    CELL(advice).text = NULL;
    CELL(command).text = "sqtrace-dump --table=summary TRACE";
}

static const char *
findings_culprit(const struct sqt_findings *f, const struct sqt_finding *x)
{
    return x->rule && x->rule->stages == SQT_NS(loop_held)
               ? sqt_holders_name(&f->holders, sqt_holders_most(&f->holders))
               : x->subject->named.name;
}

static struct sqt_finding_values
findings_values(struct sqt_findings *f, const struct sqt_finding *x)
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

/* The rule's advice; of an origin that is a number, also how to learn its name. */
static const char *
findings_advice(char *text, const struct sqt_finding *x, const char *culprit)
{
    snprintf(text, TEXT_SIZE, "%s%s", x->rule->advice,
             is_origin_number(culprit)
                 ? " sqtrace_log names=servers gives its address; access.log has it as %<a in the "
                   "lines whose %master_xaction is the xid of such a request."
                 : "");
    return text;
}

static void
findings_print(struct sqt_job *job, unsigned index)
{
    struct sqt_findings *const f = job->state;
    const struct sqt_finding *const x = &f->found[index];
    const struct sqt_mix with = {&f->totals, NULL, NULL}, without = {&f->totals, &x->claim->totals, &x->claim->rests};
    const struct sqt_finding_values values = findings_values(f, x);
    char sentence[TEXT_SIZE], command[TEXT_SIZE], advice[TEXT_SIZE];
    union sqt_cell row[SQT_CELLS(findings)];
    row_begin(row, index + 1, x->rule->cause, sqt_finding_text(sentence, TEXT_SIZE, x->rule->sentence, &values));
    CELL(culprit).text = values.culprit;
    if (x->rule->when != SQT_FINDING_DROPS) { /* else nobody knows */
        CELL(share_pct).number = sqt_percent((double)x->claim->ns, (double)f->total_ns);
        CELL(cost_p50_ms).number = sqt_mix_median(&with) - sqt_mix_median(&without);
        CELL(cost_p99_ms).number = sqt_mix_quantile(&with, 990) - sqt_mix_quantile(&without, 990);
    }
    CELL(advice).text = findings_advice(advice, x, values.culprit);
    CELL(command).text = sqt_finding_text(command, TEXT_SIZE, x->rule->command, &values);
    sqt_job_row(job, row);
}

/* What the largest part of the time is. */
static void
findings_healthy(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    const struct sqt_finding none = {NULL, &f->all, NULL};
    struct sqt_finding x = none;
    for (unsigned i = 0; i < SQT_FINDINGS; ++i)
        if (sqt_finding_rules[i].by == SQT_FINDING_ALL && sqt_finding_rules[i].part &&
            (!x.claim || f->all.claims[i].ns > x.claim->ns))
            x = (struct sqt_finding){&sqt_finding_rules[i], &f->all, &f->all.claims[i]};
    const struct sqt_finding_values values = findings_values(f, &x);
    char text[TEXT_SIZE], sentence[TEXT_SIZE];
    snprintf(text, sizeof(text),
             "No cause stands out. The largest part of the time, {share}, is %s: {mean} of the mean request.",
             x.rule->part);
    union sqt_cell row[SQT_CELLS(findings)];
    row_begin(row, 1, "healthy", sqt_finding_text(sentence, TEXT_SIZE, text, &values));
    CELL(share_pct).number = sqt_percent((double)x.claim->ns, (double)f->total_ns);
    sqt_job_row(job, row);
}

static void
findings_too_few(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    char sentence[TEXT_SIZE];
    snprintf(sentence, sizeof(sentence), "Findings need at least %d finished requests, and there are %u.",
             SQT_FINDING_LEAST, (unsigned)f->totals.count);
    union sqt_cell row[SQT_CELLS(findings)];
    row_begin(row, 1, "too_few", sentence);
    CELL(command).text = "sqtrace-dump TRACE";
    sqt_job_row(job, row);
}

void
sqt_findings_rows(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    if (f->totals.count < SQT_FINDING_LEAST) {
        findings_too_few(job);
        return;
    }
    sqt_findings_find(f);
    for (unsigned i = 0; i < f->count; ++i)
        findings_print(job, i);
    if (!f->count)
        findings_healthy(job);
}
