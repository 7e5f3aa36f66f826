/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-logged.c - what is said where all that is known are lines of an access.log, and no name is set apart.
 *
 * A log has no stages, no requests that hang, and nothing of what Squid did meanwhile.  So the sentences claim no more than
 * times, names and statuses, and say what a trace would add.
 */
#include <string.h>

#include "base/human.h"
#include "findings-internal.h"

/* Requests that take so much longer than their bytes need, in ns in the mean, are not healthy. */
#define UNEXPLAINED 300000000

/* Behind what is said of a log. */
#define WHAT_A_TRACE_ADDS \
    " A log has no stages: where in Squid they waited, what hung, and what was never logged, only a trace says."

int
sqt_logged_tunnel(const struct sqt_request_fact *fact)
{
    const char *const method = fact->row[SQT_CELL(requests, method)].text;
    return fact->class == SQT_CLASS_TUNNEL || (method && strcmp(method, "CONNECT") == 0);
}

static struct sqt_told *
logged_told(struct sqt_findings *f, const char *cause, uint64_t weight)
{
    struct sqt_told *const told = sqt_tolds_add(&f->tolds, cause, SQT_HARM_WAITING, weight);
    sqt_told_print(told->command, "sqtrace-dump --table=summary --access-log=FILE");
    told->requests = f->felt.requests;
    told->since = f->felt.begin;
    told->until = f->felt.end;
    return told;
}

static void
logged_too_few(struct sqt_findings *f)
{
    struct sqt_told *const told = logged_told(f, "too_few", 0);
    if (f->logged.untimed)
        sqt_told_print(
            told->sentence,
            "The log does not say how long requests took: its format has no %%tr. Hardly any failed, and more "
            "it cannot tell.");
    else if (f->logged.tunnels)
        sqt_told_print(told->sentence,
                       "%llu of %llu requests are tunnels (CONNECT). A log says how long they were open, and not what "
                       "clients waited until they opened: a trace does.",
                       (unsigned long long)f->logged.tunnels, (unsigned long long)f->logged.requests);
    else
        sqt_told_print(told->sentence, "Findings need at least %d requests, and there are %u.", SQT_FINDING_LEAST,
                       (unsigned)f->totals.count);
}

static void
logged_unexplained(struct sqt_findings *f, uint64_t mean)
{
    char slow[SQT_HUMAN_ROOM];
    struct sqt_told *const told = logged_told(f, "unexplained", f->slow_ns);
    sqt_told_print(
        told->sentence,
        "Requests take %s in the mean beyond what their bytes need at 1 MB/s, and no name that the log has sets "
        "them apart." WHAT_A_TRACE_ADDS,
        sqt_human_time(slow, (double)mean, " ", "us"));
    told->share = sqt_percent((double)f->slow_ns, (double)f->total_ns);
    told->waiting = f->slow_ns;
}

static void
logged_none_seen(struct sqt_findings *f)
{
    char mean[SQT_HUMAN_ROOM];
    struct sqt_told *const told = logged_told(f, SQT_FINDING_NONE_SEEN, 0);
    sqt_told_print(told->sentence,
                   "No name in the log is set apart by slow requests, and few failed: %llu requests of %.0f s, %s in "
                   "the mean. Whether Squid is healthy a log cannot say." WHAT_A_TRACE_ADDS,
                   (unsigned long long)f->felt.requests, (double)(f->felt.end - f->felt.begin) / 1e9,
                   sqt_human_time(mean, (double)f->total_ns / (double)f->totals.count, " ", "us"));
}

void
sqt_findings_logged(struct sqt_findings *f)
{
    const uint64_t mean = f->totals.count ? f->slow_ns / f->totals.count : 0;
    if (f->totals.count < SQT_FINDING_LEAST)
        logged_too_few(f);
    else if (mean >= UNEXPLAINED)
        logged_unexplained(f, mean);
    else
        logged_none_seen(f);
}
