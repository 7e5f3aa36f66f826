/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hanging-told.c - what hangs, as findings: what of it matters, its sentences and its advice.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/findings.h"
#include "hanging.h"

/* So many requests wait, the one that has waited longest for so many ns, and for so many times what answers took. */
#define REQUESTS 3
#define WAITED INT64_C(1000000000)
#define WAITED_BODY INT64_C(2000000000)
#define TIMES 2
/* They are that part, in %, of all that were asked since: the others got answers. */
#define SHARE 20

/* name: of whom; the sentence is "N requests have been waiting for <for_what> for up to ..." */
static const struct hanging_words {
    const char *before, *after, *advice, *command;
} hanging_words[SQT_HANGING_PARTS] = {
    [SQT_HANGING_CONNECT] = {"a connection to ", "",
                             "Is that server up, and the way to it? connect_timeout: give up earlier. cache_peer: a "
                             "second one, if it is a parent.",
                             "sqtrace-dump --table=connections --where='{server}' TRACE"},
    [SQT_HANGING_TLS] = {"the TLS handshake with ", "",
                         "That server takes connections and says nothing. Ask it by hand, with openssl s_client. "
                         "connect_timeout: give up earlier.",
                         "sqtrace-dump --table=connections --where='{server}' TRACE"},
    [SQT_HANGING_ANSWER] = {"", "",
                            "Ask that server by hand: it takes requests and answers nothing. read_timeout: give up "
                            "earlier.",
                            "sqtrace-dump --where='{server}' TRACE"},
    [SQT_HANGING_BODY] =
        {"the rest of bodies from ", ", which have stopped",
         "That server begins its replies and stops. Look at it, and at the way to it: a lost route, or "
         "packets that are too large for it. read_timeout: give up earlier.",
         "sqtrace-dump --where='{server}' TRACE"},
    [SQT_HANGING_NAMES] = {"names that are looked up: ", "",
                           "Is that name server up, and reachable? dns_nameservers: leave it out, or name it last. "
                           "dns_retransmit_interval: ask the next one earlier.",
                           "sqtrace-dump --table=waits --where='kind == name_server' TRACE"},
    [SQT_HANGING_HELPER] = {"", "",
                            "Does it write a line for each question, and flush its output after each? Ask it by hand, "
                            "with the lines of debug_options 84,9.",
                            "sqtrace-dump --table=waits --where='outcome != ok' TRACE"},
    [SQT_HANGING_SERVICE] = {"", "",
                             "Is that service up? icap_service: bypass=1 goes on without it. icap_io_timeout: give up "
                             "earlier.",
                             "sqtrace-dump --table=waits --where='kind == adaptation' TRACE"},
    [SQT_HANGING_DISK] = {"reads from ", "", "Look at that disk: dmesg, and the mount if it is one of a network.",
                          "sqtrace-dump --table=swaps --where='direction == in' TRACE"},
};

/* ---- whom requests wait for ---- */

static enum sqt_hanging_part
hanging_most(const struct sqt_hanging_on *on)
{
    unsigned most = 0;
    for (unsigned i = 1; i < SQT_HANGING_PARTS; ++i)
        if (on->parts[i] > on->parts[most])
            most = i;
    return (enum sqt_hanging_part)most;
}

static uint64_t
hanging_answered(const struct sqt_hanging *h, const struct sqt_hanging_on *on)
{
    uint64_t answers = 0;
    size_t count;
    if (!h->answers.sums)
        return 0;
    const struct sqt_when_sum *const sums = sqt_when_of(&h->answers, on->series, &count);
    for (size_t i = 0; i < count; ++i)
        if ((int64_t)sums[i].window * h->answers.width >= on->oldest)
            answers += sums[i].count;
    return answers;
}

/* A body that never came to an end before may be one that lasts, such as a stream of events. */
static int
does_hang(const struct sqt_hanging *h, const struct sqt_hanging_on *on, uint64_t answered)
{
    const int body = hanging_most(on) == SQT_HANGING_BODY;
    const int64_t waited = h->now - on->oldest;
    return on->open >= REQUESTS && waited >= (body ? WAITED_BODY : WAITED) && waited / TIMES >= on->longest &&
           (!body || on->answers) && on->open * 100 >= (on->open + answered) * SHARE;
}

static void
hanging_sentence(const struct sqt_hanging *h, const struct sqt_hanging_on *on, uint64_t answered, struct sqt_told *told)
{
    const struct hanging_words *const w = &hanging_words[hanging_most(on)];
    char age[SQT_HUMAN_ROOM], others[96] = "It has answered nothing since then.";
    sqt_human_time(age, (double)(h->now - on->oldest), " ", "us");
    if (answered)
        snprintf(others, sizeof(others), "It answered %llu others meanwhile.", (unsigned long long)answered);
    sqt_told_print(told->sentence, "%llu requests have been waiting for %s%s%s, for up to %s. %s",
                   (unsigned long long)on->open, w->before, on->named.name, w->after, age, others);
    sqt_told_print(told->advice, "%s", w->advice);
    sqt_finding_text(told->command, SQT_TOLD_TEXT, w->command, &(struct sqt_finding_values){.culprit = on->named.name});
}

static void
hanging_tell_on(const struct sqt_hanging *h, const struct sqt_hanging_on *on, const struct sqt_look_totals *totals,
                struct sqt_tolds *tolds)
{
    const uint64_t answered = hanging_answered(h, on);
    if (!does_hang(h, on, answered))
        return;
    struct sqt_told *const told = sqt_tolds_add(tolds, "hanging", SQT_HARM_WAITING, sqt_told_ns(on->waited_ns));
    if (!told)
        return;
    told->now = 1;
    told->since = on->oldest;
    told->until = h->now;
    told->pattern = SQT_PATTERN_SINCE;
    told->requests = on->open;
    told->waiting = sqt_told_ns(on->waited_ns);
    told->share = sqt_percent(on->waited_ns, (double)totals->total_ns);
    snprintf(told->culprit, sizeof(told->culprit), "%s", on->named.name);
    hanging_sentence(h, on, answered, told);
}

/* ---- main threads ---- */

/* Who is not accepted yet is in no trace. */
static void
hanging_add_open(const struct sqt_hanging *h, const struct sqt_hanging_kid *kid, struct sqt_told *told)
{
    const size_t length = strlen(told->sentence);
    char oldest[SQT_HUMAN_ROOM];
    sqt_human_time(oldest, (double)(h->now - kid->oldest), " ", "us");
    if (kid->open)
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length,
                 " %llu requests that it had accepted wait, for up to %s.", (unsigned long long)kid->open, oldest);
    else
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length, " No request that it had accepted was open.");
}

static void
hanging_sentence_of_kid(const struct sqt_hanging *h, const struct sqt_hanging_kid *kid, struct sqt_told *told)
{
    char held[SQT_HUMAN_ROOM];
    sqt_human_time(held, (double)(h->now - kid->since), " ", "us");
    if (kid->faults)
        sqt_told_print(
            told->sentence,
            "Squid has not run for %s: process %u (kid %u) waits for its own memory, or was killed. Just before, "
            "%.0f page faults a second read from swap.",
            held, (unsigned)kid->pid, (unsigned)kid->kid, kid->faults);
    else if (kid->stopped)
        sqt_told_print(told->sentence, "Squid has not run for %s: process %u (kid %u) is stopped, or was killed.", held,
                       (unsigned)kid->pid, (unsigned)kid->kid);
    else
        sqt_told_print(told->sentence,
                       "Squid (kid %u) has served nobody for %s: its event loop is blocked in %s, or computes there.",
                       (unsigned)kid->kid, held, kid->name);
    hanging_add_open(h, kid, told);
    sqt_told_print(
        told->advice, "%s",
        kid->faults ? SQT_PAGE_FAULTS_ADVICE
            " If it is gone: dmesg says whether the kernel killed it because memory ended."
        : kid->stopped
            ? "If it is there: look for what stops it, as SIGSTOP, a debugger, a frozen control group, or a virtual "
              "machine that is moved or has no processor. If it is gone: dmesg says whether the kernel killed it "
              "because memory ended (Out of memory), and cache.log says what else."
        : strncmp(kid->name, "acl ", 4) == 0
            ? "Shorten that ACL, or ask cheaper ones first. Regular expressions with several .* take long."
            : "A disk that hangs, or work that takes too long. /proc/PID/stack and gdb say what it is now. "
              "cache_dir: aufs or rock do disk calls outside the event loop, ufs does not.");
    sqt_told_print(told->command, kid->faults ? SQT_PAGE_FAULTS_COMMAND : "sqtrace-top --once --table=loops TRACE");
}

static void
hanging_tell_kid(const struct sqt_hanging *h, const struct sqt_hanging_kid *kid, struct sqt_tolds *tolds)
{
    if (!kid->origin || kid->kind == SQT_KID_COORDINATOR)
        return;
    struct sqt_told *const told =
        sqt_tolds_add(tolds,
                      kid->faults    ? "swapping"
                      : kid->stopped ? "stopped"
                                     : "standstill",
                      SQT_HARM_STANDSTILL, sqt_told_ns(kid->waited_ns + (double)(h->now - kid->since)));
    if (!told)
        return;
    told->now = 1;
    told->since = kid->open && kid->oldest < kid->since ? kid->oldest : kid->since;
    told->until = h->now;
    told->pattern = SQT_PATTERN_SINCE;
    told->requests = kid->open;
    told->waiting = sqt_told_ns(kid->waited_ns);
    snprintf(told->culprit, sizeof(told->culprit), "%s", kid->faults ? "memory" : kid->name);
    hanging_sentence_of_kid(h, kid, told);
}

void
sqt_hanging_tell(struct sqt_hanging *h, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    if (h->answers.sums)
        sqt_when_sort(&h->answers);
    for (unsigned i = 0; i < SQT_HANGING_KIDS; ++i)
        hanging_tell_kid(h, &h->kids[i], tolds);
    for (const struct sqt_name_entry *named = h->names.first; named; named = named->next)
        if (!sqt_names_is_others(named))
            hanging_tell_on(h, (const struct sqt_hanging_on *)named, totals, tolds);
}
