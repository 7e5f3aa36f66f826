/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * standstill-told.c - standstills as findings: which of them matter, their sentences and their advice.
 */
#include <stdio.h>
#include <string.h>

#include "figure/why/ending.h"
#include "standstill.h"

/* So many requests that would have come, or that waited for WAITED each, matter. */
#define MISSED 5
#define REQUESTS 3
#define WAITED INT64_C(50000000)
/* So many make a pattern. */
#define RECURRING 3
/* Passes that come as often as that, in ns, are no standstills: the event loop has too much to do, and rules say so. */
#define OFTEN INT64_C(2000000000)
/* So many children of helpers that are started take that part of the standstills, in %. */
#define CHILDREN 5
#define CHILDREN_SHARE 50

static const struct standstill_words {
    const char *cause, *culprit, *advice, *command;
} standstill_words[SQT_STANDING_KINDS] = {
    [SQT_STANDING_PASS] = {"standstill", NULL,
                           "Table stalls has each of them. acl: shorten long lists, or ask cheaper ACLs first. "
                           "storeDigestRebuild...: digest_generation off. cache_dir: aufs or rock do disk "
                           "calls outside the event loop, ufs does not.",
                           "sqtrace-dump --table=stalls TRACE"},
    [SQT_STANDING_STOPPED] =
        {"stopped", "not running",
         "Look for what stops the process: SIGSTOP, a frozen control group, a virtual machine that is moved or has "
         "no processor.",
         "sqtrace-dump --table=loop_time --where='not_running_pct > 5' TRACE"},
    [SQT_STANDING_RECONFIGURE] =
        {"reconfiguration", "squid -k reconfigure",
         "Reconfigure less often, or have less to read: long lists of an acl, in a file, are read again each time. "
         "external_acl_type: a helper takes a new list without a reconfiguration. Host names in squid.conf (acl dst, "
         "cache_peer) are looked up, one after the other: addresses are not.",
         "sqtrace-dump --table=stalls TRACE"},
    [SQT_STANDING_ROTATE] =
        {"rotation", "squid -k rotate",
         "Rotate when few clients are there. cache_dir: rock has no swap.state, and fewer objects make a shorter "
         "one. access_log: a daemon rotates its file by itself.",
         "sqtrace-dump --table=stalls TRACE"},
    [SQT_STANDING_RESTART] =
        {"restart", "shutdown",
         "shutdown_lifetime: how long a shutdown waits for clients. squid -k reconfigure instead of a restart, where "
         "that is enough. A second Squid takes the clients meanwhile.",
         "sqtrace-dump --table=events --where='event == START or event == STOP' TRACE"},
    [SQT_STANDING_DIED] =
        {"died", NULL, "cache.log says why: look for FATAL, assertion failed, and signals. dmesg has out of memory.",
         "sqtrace-dump --table=events --where='event == START or event == STOP' TRACE"},
};

/* Of a restart that takes long after its shutdown. */
static const struct standstill_words start_words = {
    "restart", "start of Squid",
    "cache.log says why Squid ended: FATAL, a signal, or an error in squid.conf after a reconfiguration. What it reads "
    "at its "
    "start takes time, too: long lists of an acl, swap.state of a large cache_dir.",
    "sqtrace-dump --table=events --where='event == START or event == STOP' TRACE"};

/* Of passes in which others had the processor. */
static const struct standstill_words queued_words = {
    "stopped", "waiting for a processor",
    "A processor of its own (CPUAffinity= of systemd, cpu_affinity_map), or fewer programs beside it: what else runs, "
    "top "
    "shows. In a container or a service with a quota: more of it (CPUQuota=).",
    "sqtrace-dump --table=loop_time --where='waiting_pct > 5 or throttled_pct > 5' TRACE"};

/* Whether a processor is what Squid lacked, for most of the time. */
static int
is_queued(const struct sqt_standing_group *g)
{
    return g->kind == SQT_STANDING_STOPPED && g->queued > g->ns / 2;
}

static int
is_start(const struct sqt_standing_group *g)
{
    return g->kind == SQT_STANDING_RESTART && g->shutdown < g->ns / 2;
}

/* Durations as a person says them: 12.3 s, 240 ms. */
static const char *
standstill_duration(char text[32], int64_t ns)
{
    if (ns >= INT64_C(1000000000))
        snprintf(text, 32, "%.1f s", (double)ns / 1e9);
    else
        snprintf(text, 32, "%.0f ms", (double)ns / 1e6);
    return text;
}

static const char *
standing_name(const struct sqt_standing_group *g)
{
    const char *const space = strchr(g->named.name, ' ');
    return space ? space + 1 : g->named.name;
}

/* What held Squid.  Where samples of the pass itself do not say it, others may know the ACL, or the system call, in the
 * pass's longest activity. */
static const char *
standing_holder(const struct sqt_standstill *s, const struct sqt_standing_group *g)
{
    const char *const name = standing_name(g);
    if (g->kind != SQT_STANDING_PASS || g->sampled || !s->holders.names.size)
        return name;
    const char *const acl = sqt_holders_name(&s->holders, SQT_HELD_COMPUTING);
    const char *const call = sqt_holders_name(&s->holders, SQT_HELD_BLOCKED);
    const size_t length = strlen(call), its = strlen(name);
    if (strncmp(acl, "acl ", 4) == 0)
        return acl;
    return length > its + 4 && strncmp(call + length - its - 4, " in ", 4) == 0 &&
                   strcmp(call + length - its, name) == 0
               ? call
               : name;
}

/* "twice", with the longest. */
static void
standstill_times(const struct sqt_standing_group *g, char *text, size_t size)
{
    char longest[32];
    standstill_duration(longest, g->longest);
    if (g->count == 1)
        snprintf(text, size, "for %s", longest);
    else
        snprintf(text, size, "%u times, for up to %s", g->count, longest);
}

/* Whether the event loop, where it is blocked, is blocked in that work, while it waits for an answer. */
static int
is_waiting(const struct sqt_standstill *s, const char *work)
{
    const char *const call = s->holders.names.size ? sqt_holders_name(&s->holders, SQT_HELD_BLOCKED) : NULL;
    return call && strncmp(call, "poll in ", 8) == 0 && strncmp(call + 8, work, strlen(work)) == 0;
}

/* What it read for an ACL: "300,000 values of acl ut1 in 1.2 s"; "": nothing that took long. */
static const char *
standing_list(const struct sqt_standing_group *g, char *text, size_t size)
{
    char took[32];
    *text = '\0';
    if (g->list.origin)
        snprintf(text, size, "%llu values of acl %s in %s", (unsigned long long)g->list.values,
                 *g->list.acl ? g->list.acl : "(not named)", standstill_duration(took, g->list.took));
    return text;
}

/* Whether starts of helpers are most of what it took. */
static int
is_starting_children(const struct sqt_standing_group *g)
{
    return g->children.count >= CHILDREN && (double)g->children.ns * 100 >= (double)g->ns * CHILDREN_SHARE;
}

static void
standstill_reconfigured(const struct sqt_standstill *s, const struct sqt_standing_group *g, const char *when,
                        const char *times, struct sqt_told *told)
{
    char list[2 * SQT_TOLD_NAME];
    standing_list(g, list, sizeof(list));
    sqt_told_print(told->sentence, "%s, squid -k reconfigure stopped Squid %s: it read squid.conf and %s%s.", when,
                   times, *list ? "long lists, most of the time " : "the lists of its ACLs", list);
    if (is_starting_children(g))
        sqt_told_print(told->sentence,
                       "%s, squid -k reconfigure stopped Squid %s: it started %u children of %s again, one after the "
                       "other.%s",
                       when, times, g->children.count, *g->children.name ? g->children.name : "helpers",
                       strncmp(g->children.name, "external_acl", 12) == 0
                           ? " What that helper had answered is forgotten, too, and asked again."
                           : "");
    if (is_waiting(s, "mainReconfigure"))
        sqt_told_print(told->sentence,
                       "%s, squid -k reconfigure stopped Squid %s: it waited for a name server, to look up the host "
                       "names that squid.conf has.",
                       when, times);
}

/* How it ended: its own words, and children of helpers that died before. */
static void
standing_ended(const struct sqt_standing_group *g, char *text, size_t size)
{
    struct sqt_ending ending;
    if (!*g->ending.why) {
        snprintf(text, size, "Squid ended");
        return;
    }
    sqt_ending_of(&ending, g->ending.why, g->ending.helper);
    const int used = snprintf(text, size, "Squid ended itself, because %s", ending.because);
    if (g->ending.died && used > 0 && (size_t)used < size && strcmp(ending.culprit, g->ending.helper) == 0)
        snprintf(text + used, size - (size_t)used, " (%u had died)", g->ending.died);
}

static void
standstill_restarted(const struct sqt_standing_group *g, const char *when, struct sqt_told *told)
{
    char shut[32], all[32], gone[32], list[2 * SQT_TOLD_NAME], ended[3 * SQT_TOLD_NAME];
    standstill_duration(shut, g->shutdown);
    standstill_duration(all, g->ns);
    standing_ended(g, ended, sizeof(ended));
    standing_list(g, list, sizeof(list));
    if (g->clients)
        sqt_told_print(
            told->sentence,
            "%s, nobody could connect for %s: Squid was shut down, waited %s of that (shutdown_lifetime) for "
            "%llu requests and tunnels, and was started again.",
            when, all, shut, (unsigned long long)g->clients);
    else
        sqt_told_print(
            told->sentence,
            "%s, nobody could connect for %s: %s, and was there again %s later. That is the time in which it "
            "was started, and read its configuration%s%s.",
            when, all, ended, standstill_duration(gone, g->ns - g->shutdown), *list ? ", with " : "", list);
}

/* Whether a process that died was not started again. */
static int
is_missing(const struct sqt_standing_group *g)
{
    return g->kind == SQT_STANDING_DIED && g->again < g->count;
}

static void
standstill_died(const struct sqt_standing_group *g, const char *when, struct sqt_told *told)
{
    char all[32], ended[3 * SQT_TOLD_NAME];
    const char *const missing = g->early ? "has not been started again yet" : "was not started again";
    standing_ended(g, ended, sizeof(ended));
    if (g->gone)
        sqt_told_print(told->sentence, "%s, nobody is served: %s. It %s.", when, ended, missing);
    else if (is_missing(g))
        sqt_told_print(told->sentence, "%s, %s, and %s %s. %llu requests were open.", when, ended, standing_name(g),
                       missing, (unsigned long long)g->failures);
    else if (*g->ending.why)
        sqt_told_print(told->sentence, "%s, %s, and was started again %s later. %llu requests were open.", when, ended,
                       standstill_duration(all, g->longest), (unsigned long long)g->failures);
    else
        sqt_told_print(told->sentence,
                       "%s, %s died %u time%s and was started again, up to %s later. %llu requests were open.", when,
                       standing_name(g), g->count, g->count > 1 ? "s" : "", standstill_duration(all, g->longest),
                       (unsigned long long)g->failures);
}

static void
standstill_begin(const struct sqt_standstill *s, const struct sqt_standing_group *g, struct sqt_told *told)
{
    char times[64], when[128];
    standstill_times(g, times, sizeof(times));
    sqt_told_when(when, sizeof(when), told);
    switch (g->kind) {
    case SQT_STANDING_RECONFIGURE:
        standstill_reconfigured(s, g, when, times, told);
        break;
    case SQT_STANDING_ROTATE:
        sqt_told_print(
            told->sentence,
            "%s, squid -k rotate stopped Squid %s: it writes swap.state of each cache_dir, for %llu objects.", when,
            times, (unsigned long long)(g->entries ? g->entries : s->objects));
        break;
    case SQT_STANDING_RESTART:
        standstill_restarted(g, when, told);
        break;
    case SQT_STANDING_DIED:
        standstill_died(g, when, told);
        break;
    case SQT_STANDING_STOPPED:
        sqt_told_print(told->sentence, "%s, %s did not run %s%s.", when, *standing_name(g) ? standing_name(g) : "Squid",
                       times, is_queued(g) ? ": it waited for a processor, which others had" : "");
        break;
    default:
        sqt_told_print(told->sentence, "%s, Squid served nobody %s, because of %s.", when, times,
                       standing_holder(s, g));
    }
}

/* Who ended Squid, or what it read, is what to look at. */
static void
standstill_advice(const struct sqt_standing_group *g, const struct standstill_words *w, struct sqt_told *told)
{
    struct sqt_ending ending;
    const char *holder = w->culprit ? NULL : sqt_holder_advice(told->culprit);
    if (g->kind == SQT_STANDING_RECONFIGURE && is_starting_children(g))
        holder =
            "Reconfigure less often: an external_acl_type helper takes a new list without a reconfiguration. Have "
            "fewer "
            "children started at once (startup=, children-startup=), or fewer that do more at a time (concurrency=): "
            "each start copies the tables of Squid's memory (fork).";
    sqt_told_print(told->advice, "%s%s%s", holder ? holder : w->advice,
                   *g->list.acl ? " The longest list is that of acl " : "", g->list.acl);
    if (*g->list.acl)
        snprintf(told->advice + strlen(told->advice), sizeof(told->advice) - strlen(told->advice), ".");
    if (!*g->ending.why || g->clients)
        return;
    sqt_ending_of(&ending, g->ending.why, g->ending.helper);
    snprintf(told->culprit, sizeof(told->culprit), "%s", ending.culprit);
    sqt_told_print(told->advice, "%s", ending.advice);
}

static void
standstill_harm(const struct sqt_standing_group *g, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    char mean[32];
    char *const text = told->sentence + used;
    const size_t room = sizeof(told->sentence) - used;
    int more = 0;
    if (g->requests)
        more =
            snprintf(text, room, " %llu requests waited for that, about %s in the mean.",
                     (unsigned long long)g->requests, standstill_duration(mean, (int64_t)(g->waited_ns / g->requests)));
    if (g->missed < 1 || more < 0 || (size_t)more >= room)
        return;
    if (g->gone)
        snprintf(text + more, room - (size_t)more, " %.0f requests a second had come until then.", g->rate);
    else
        snprintf(text + more, room - (size_t)more,
                 " How many connections were refused is not known: at the rate before, %.0f requests would have come.",
                 g->missed);
}

static enum sqt_pattern
standstill_pattern(const struct sqt_standing_group *g)
{
    return g->gone || is_missing(g) ? SQT_PATTERN_SINCE
           : g->count >= RECURRING  ? SQT_PATTERN_RECURRING
                                    : SQT_PATTERN_ONCE;
}

static int
standing_is_felt(const struct sqt_standing_group *g)
{
    const int waited = g->requests >= REQUESTS && g->waited_ns >= (uint64_t)WAITED * g->requests;
    const int often = (g->kind == SQT_STANDING_PASS || is_queued(g)) && g->count >= RECURRING &&
                      (g->until - g->since) / g->count < OFTEN;
    return !often && (g->gone || waited || g->missed >= MISSED || g->failures >= MISSED);
}

void
sqt_standstill_tell(struct sqt_standstill *s, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"accept_wait",    "reply_wait",  "loop_blocked",
                                        "loop_computing", "not_running", NULL};
    for (const struct sqt_name_entry *named = s->groups.first; named; named = named->next) {
        const struct sqt_standing_group *const g = (const struct sqt_standing_group *)named;
        const struct standstill_words *w = &standstill_words[g->kind];
        const uint64_t failures = (uint64_t)g->missed + g->failures;
        if (standing_is_felt(g))
            sqt_instead(tolds, rules, g->waited_ns, SQT_INSTEAD);
        struct sqt_told *const told = !standing_is_felt(g) ? NULL
                                                           : sqt_tolds_add(tolds, w->cause, SQT_HARM_STANDSTILL,
                                                                           g->waited_ns + failures * SQT_FAILURE_NS);
        if (!told)
            continue;
        told->since = g->since;
        told->until = g->until;
        told->pattern = standstill_pattern(g);
        told->requests = g->requests + g->failures;
        told->failures = g->failures;
        told->waiting = g->waited_ns;
        if (is_start(g))
            w = &start_words;
        else if (is_queued(g))
            w = &queued_words;
        snprintf(told->culprit, sizeof(told->culprit), "%s", w->culprit ? w->culprit : standing_holder(s, g));
        if (g->kind == SQT_STANDING_STOPPED && *standing_name(g))
            snprintf(told->culprit, sizeof(told->culprit), "%s, %s", standing_name(g), w->culprit);
        standstill_begin(s, g, told);
        standstill_harm(g, told);
        standstill_advice(g, w, told);
        sqt_told_print(told->command, "%s", *g->ending.why ? "sqtrace-dump --table=incidents TRACE" : w->command);
    }
}
