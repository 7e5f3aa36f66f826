/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-more.c - what a finding of a rule says beyond the rule's sentence: since when, which part of an answer, whether it
 * is one server or all, and what came just before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "findings-internal.h"

/* One server took the place of another that answered so many requests, within that time, in ns. */
#define INSTEAD 20
#define TURN INT64_C(1000000000)
/* What begins so soon after a rotation or a reconfiguration, in ns, comes of it if nearly all of it does, in %. */
#define AFTER INT64_C(5000000000)
#define NEARLY_ALL 90
/* A part of the answers of servers is named if it takes that part of their time, in %. */
#define MOST 60
/* The end of bodies is, if it takes that part of theirs, in %. */
#define ENDING 80
#define ANSWER (SQT_NS(request_send) | SQT_NS(server_wait) | SQT_NS(server_reply))
/* So few bytes in a round trip are fewer than TCP begins with. */
#define WINDOW 14600
/* What is so for that part of the trace, in %, is so all the time. */
#define ALL_THE_TIME 85

/* Whether a window is one in which the subject's requests have half of what they have of the claim in the mean, and feel it. */
static int
is_bad(const struct sqt_finding *x, const struct sqt_when_sum *its, const struct sqt_when_sum *whose, double mean)
{
    return 2 * (double)its->ns >= mean * whose->count && its->ns >= (uint64_t)x->rule->mean * whose->count;
}

static double
findings_mean(const struct sqt_when_sum *its, size_t its_count, const struct sqt_when_sum *all, size_t all_count)
{
    double ns = 0, count = 0;
    for (size_t i = 0; i < its_count; ++i)
        ns += (double)its[i].ns;
    for (size_t i = 0; i < all_count; ++i)
        count += all[i].count;
    return count > 0 ? ns / count : 0;
}

/* The last rotation or reconfiguration before a time, not longer than AFTER ago; NULL: there is none. */
static const int64_t *
findings_setup_before(const struct sqt_findings *f, int64_t at)
{
    const int64_t *last = NULL;
    for (unsigned i = 0; i < f->setups.count; ++i)
        if (f->setups.at[i] < at + f->when.width && at - f->setups.at[i] < AFTER && (!last || f->setups.at[i] > *last))
            last = &f->setups.at[i];
    return last;
}

/* Whether nearly all bad windows come soon after Squid was rotated or reconfigured: which of it.  0: neither. */
static enum sqt_event
findings_after(const struct sqt_findings *f, const uint32_t *bad, size_t bads)
{
    size_t after = 0;
    const int64_t *last = NULL;
    for (size_t i = 0; i < bads; ++i) {
        const int64_t *const at = findings_setup_before(f, (int64_t)bad[i] * f->when.width);
        after += at != NULL;
        last = at ? at : last;
    }
    return last && after * 100 >= bads * NEARLY_ALL ? f->setups.event[last - f->setups.at] : SQT_EV_NONE_;
}

/* Since when, until when, and in which pattern.  Returns what came just before, each time. */
static enum sqt_event
findings_when_told(const struct sqt_findings *f, const struct sqt_finding *x, struct sqt_told *told)
{
    size_t its_count, count, bads = 0, k = 0;
    const struct sqt_when_sum *const its = sqt_when_of(&f->when, x->claim->series, &its_count);
    const struct sqt_when_sum *const whose =
        sqt_when_of(&f->when, x->subject->series ? x->subject->series : SQT_SERIES_ALL, &count);
    uint32_t *const active = sqt_zeroed(2 * count + 1, sizeof(*active)), *const bad = active + count;
    double *const sizes = sqt_zeroed(count + 1, sizeof(*sizes));
    const double mean = findings_mean(its, x->claim->series ? its_count : 0, whose, count);
    for (size_t i = 0; i < count; ++i) {
        active[i] = whose[i].window;
        while (x->claim->series && k < its_count && its[k].window < whose[i].window)
            ++k;
        if (x->claim->series && k < its_count && its[k].window == whose[i].window &&
            is_bad(x, &its[k], &whose[i], mean)) {
            sizes[bads] = (double)its[k].ns / whose[i].count;
            bad[bads++] = whose[i].window;
        }
    }
    told->since = f->felt.begin;
    told->until = f->felt.end;
    if (bads)
        sqt_when_pattern(told, bad, sizes, bads, active, count, active[count - 1], f->when.width);
    const enum sqt_event after = told->pattern == SQT_PATTERN_THROUGHOUT ? SQT_EV_NONE_ : findings_after(f, bad, bads);
    sqt_freed(active);
    sqt_freed(sizes);
    return after;
}

static void
findings_add(struct sqt_told *told, const char *text)
{
    const size_t length = strlen(told->sentence);
    snprintf(told->sentence + length, SQT_TOLD_TEXT - length, "%s", text);
}

/* What is not so all the time. */
static void
findings_add_when(struct sqt_told *told)
{
    char text[128];
    const double since = (double)told->since / 1e9, until = (double)told->until / 1e9;
    switch (told->pattern) {
    case SQT_PATTERN_ONCE:
        snprintf(text, sizeof(text), " That was from %.1f s to %.1f s of the trace.", since, until);
        break;
    case SQT_PATTERN_RECURRING:
        snprintf(text, sizeof(text), " It recurs from %.1f s to %.1f s of the trace.", since, until);
        break;
    case SQT_PATTERN_SINCE:
        snprintf(text, sizeof(text), " That is so since %.1f s of the trace.", since);
        break;
    case SQT_PATTERN_GROWING:
        snprintf(text, sizeof(text), " It has been growing since %.1f s of the trace.", since);
        break;
    default:
        return;
    }
    findings_add(told, text);
}

/* What a server's requests waited for it in a time. */
static struct sqt_when_sum
findings_server_sum(const struct sqt_findings *f, const struct sqt_claim *claim, const struct sqt_told *told)
{
    size_t count;
    struct sqt_when_sum sum = {0, 0, 0, 0};
    const struct sqt_when_sum *const its = sqt_when_of(&f->when, claim->series, &count);
    for (size_t i = 0; claim->series && i < count; ++i)
        if ((int64_t)(its[i].window + 1) * f->when.width > told->since &&
            (int64_t)its[i].window * f->when.width < told->until) {
            sum.ns += its[i].ns;
            sum.count += its[i].count;
        }
    return sum;
}

/* Whether the way takes about as long as at its quickest: else packets queue there, and a window is not what limits. */
static int
is_same_way(const struct sqt_subject *subject)
{
    return subject->answer.quickest > 0 &&
           sqt_finding_connect((struct sqt_subject *)subject) < subject->answer.quickest * 3 / 2;
}

/* Which part of an answer is slow, if it is not the wait for its first byte. */
static void
findings_add_answer(const struct sqt_finding *x, struct sqt_told *told)
{
    char text[256], bytes[SQT_HUMAN_ROOM], round[SQT_HUMAN_ROOM];
    const double send = x->subject->answer.send, body = x->subject->answer.body;
    const double all = send + x->subject->answer.wait + body, rate = body > 0 ? x->subject->answer.bytes / body : 0;
    const double window = rate * (double)sqt_finding_connect((struct sqt_subject *)x->subject);
    if ((x->rule->stages & ANSWER) != ANSWER || x->rule->by == SQT_FINDING_REASON)
        return;
    if (send > 0 && send * 100 >= all * MOST) {
        findings_add(told, " Most of that is sending requests to it: it reads their bodies (uploads) slowly.");
    } else if (body > 0 && body * 100 >= all * MOST && x->subject->answer.ending * 100 >= body * ENDING) {
        findings_add(told,
                     " Most of that is after the last byte of replies: they seem not to say how long they are (no "
                     "Content-Length), so Squid waits until the server closes the connection.");
    } else if (body > 0 && body * 100 >= all * MOST) {
        sqt_human_bytes(bytes, rate * 1e9);
        sqt_human_bytes(round, window);
        snprintf(text, sizeof(text), " Most of that is bodies of replies: they come at %s/s.", bytes);
        findings_add(told, text);
        if (window >= 1 && window < WINDOW && x->rule->stages & SQT_PROXY_CONNECT && is_same_way(x->subject)) {
            snprintf(text, sizeof(text),
                     " That is %s in each round trip, as a small window allows: tcp_recv_bufsize, or the "
                     "send buffer of the other side.",
                     round);
            findings_add(told, text);
        }
    }
}

/* The first and the last window in which a server is asked; 0: it never is. */
static int
findings_asked(const struct sqt_findings *f, const struct sqt_subject *server, uint32_t *first, uint32_t *last)
{
    size_t count;
    const struct sqt_when_sum *const its = sqt_when_of(&f->when, server->series, &count);
    if (!server->series || !count)
        return 0;
    *first = its[0].window;
    *last = its[count - 1].window;
    return 1;
}

/* A server that is asked from when on another one is asked no more. */
static void
findings_add_instead(struct sqt_findings *f, const struct sqt_finding *x, struct sqt_told *told)
{
    uint32_t first, last, other_first, other_last;
    const char *before = NULL;
    unsigned count = 0;
    char text[SQT_TOLD_NAME + 128];
    if (x->rule->by != SQT_FINDING_SERVER || !findings_asked(f, x->subject, &first, &last))
        return;
    for (struct sqt_name_entry *named = f->names[SQT_FINDING_SERVER].first; named; named = named->next) {
        struct sqt_subject *const other = (struct sqt_subject *)named;
        if (other == x->subject || other->waits.count < INSTEAD ||
            !findings_asked(f, other, &other_first, &other_last) || other_first >= first ||
            first > other_last + TURN / f->when.width || other_last > first + TURN / f->when.width)
            continue;
        before = named->name;
        ++count;
    }
    snprintf(text, sizeof(text),
             " It is asked since %.1f s of the trace; %s, which was asked before, is asked no more.",
             (double)first * (double)f->when.width / 1e9, before ? before : "");
    if (count == 1)
        findings_add(told, text);
}

/* Whether servers are slow one by one, or all at the same time. */
static void
findings_add_servers(struct sqt_findings *f, const struct sqt_finding *x, struct sqt_told *told)
{
    unsigned slow = 0, asked = 0;
    char text[256];
    if (x->rule != &sqt_finding_rules[SQT_FINDING_NUMBER_slow_servers])
        return;
    for (struct sqt_name_entry *named = f->names[SQT_FINDING_SERVER].first; named; named = named->next) {
        struct sqt_subject *const server = (struct sqt_subject *)named;
        const struct sqt_when_sum sum =
            findings_server_sum(f, sqt_finding_claim_of(f, server, SQT_FINDING_NUMBER_only_server), told);
        asked += sum.count > 0;
        slow += sum.count && sum.ns >= (uint64_t)x->rule->each * sum.count;
    }
    snprintf(text, sizeof(text), " No single one explains it, or the trace does not name them.");
    if (slow > 1 && slow * 5 >= asked * 4) {
        snprintf(told->culprit, sizeof(told->culprit), "all servers");
        snprintf(
            text, sizeof(text),
            told->pattern == SQT_PATTERN_THROUGHOUT
                ? " %u of the %u servers that are asked take that long, all the time."
                : " %u of the %u servers that are asked are slow at the same time: look at what they share, the way "
                  "to them.",
            slow, asked);
    }
    findings_add(told, text);
}

/* Where most of the requests are tunnels. */
static void
findings_add_tunnels(const struct sqt_finding *x, struct sqt_told *told)
{
    if (x->claim->tunnels * 5 >= x->claim->totals.count * 4 && x->claim->tunnels)
        findings_add(told, " It is the time until tunnels (CONNECT) open: how long they stay open is not counted.");
}

/* A server by the name that its clients know, where an access.log says it. */
static void
findings_add_host(const struct sqt_finding *x, struct sqt_told *told)
{
    const size_t length = strlen(told->sentence);
    if (x->rule->by == SQT_FINDING_SERVER && x->subject->hosts == 1)
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length, " Its requests are for host %s.", x->subject->host);
}

enum sqt_event
sqt_findings_more(struct sqt_findings *f, const struct sqt_finding *x, struct sqt_told *told)
{
    findings_add_tunnels(x, told);
    sqt_findings_add_syns(f, x, told);
    findings_add_host(x, told);
    const enum sqt_event after = findings_when_told(f, x, told);
    findings_add_answer(x, told);
    findings_add_instead(f, x, told);
    findings_add_servers(f, x, told);
    if ((told->until - told->since) / ALL_THE_TIME < (f->felt.end - f->felt.begin) / 100 ||
        told->pattern == SQT_PATTERN_RECURRING)
        findings_add_when(told);
    if (after != SQT_EV_NONE_)
        findings_add(told, after == SQT_EV_ROTATE ? " It begins when Squid rotates its logs (squid -k rotate)."
                                                  : " It begins when Squid is reconfigured (squid -k reconfigure).");
    return after;
}
