/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * asked.c - helpers and services that requests wait for where no rule expects it: an ACL of cache_peer_access that asks while
 * a server is chosen, a validator of certificates in the handshake with a server.
 *
 * Whose wait is it?  The owner is named, in whatever stage the time was charged.  Name servers have rules of their own: a
 * request asks two questions at a time.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* So many waits of requests, that part of the time of all requests in %, and ns of each in the mean. */
#define LEAST 10
#define SHARE 20
#define EACH INT64_C(5000000)
#define NAMES 256
/* A few take so many times as long as the others, and that part of all the time, in %. */
#define FEW_TIMES 10
#define ALMOST_ALL 90
/* That part of all the time is in the queue, in %: others wait behind them. */
#define BEHIND 10

struct asked {
    struct sqt_names names;
};

struct asked_one {
    struct sqt_name_entry named;
    uint64_t count;
    double ns, queue;
    int64_t since, until;
    struct {
        uint64_t count;
        double ns;
    } octaves[64]; /* by the helper's own time in bits */
};

static void
asked_wait(void *state, const struct sqt_wait *wait)
{
    struct asked *const a = state;
    const char *const name = sqt_origin_text(wait->origin, wait->def, wait->who);
    const int64_t given = wait->given == SQT_MISSING ? wait->end : wait->given;
    if (!wait->xact || !name || wait->outcome == SQT_WAIT_SHARED || wait->outcome == SQT_WAIT_ABANDONED ||
        sqt_wait_unknown(wait) || (wait->def == SQT_DEF_WAITED && wait->stage == SQT_NAMED_DNS))
        return;
    a->names.size = sizeof(struct asked_one);
    a->names.most = NAMES;
    struct asked_one *const one = sqt_names_get(&a->names, name);
    one->since = !one->count || wait->begin < one->since ? wait->begin : one->since;
    one->until = wait->end > one->until ? wait->end : one->until;
    one->ns += (double)(wait->end - wait->begin);
    one->queue += (double)(given - wait->begin);
    ++one->count;
    const uint64_t took = wait->end > given ? (uint64_t)(wait->end - given) : 0;
    const unsigned octave = took ? 63 - (unsigned)__builtin_clzll(took) : 0;
    ++one->octaves[octave].count;
    one->octaves[octave].ns += (double)took;
}

/* Whether something that is told names it, for most of that time. */
static int
asked_is_told(const struct sqt_tolds *tolds, const struct asked_one *one)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        if (sqt_told_names(tolds->told[i]->culprit, one->named.name) &&
            (tolds->told[i]->harm == SQT_HARM_FAILURE || 2 * (double)tolds->told[i]->waiting >= one->ns))
            return 1;
    return 0;
}

static void
asked_told(const struct asked_one *one, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {
        "peer_selection",  "tls",           "tls_server",  "connect",     "connect_server",
        "slow_servers",    "access_checks", "unaccounted", "slow_server", "only_server",
        "new_connections", "reply_wait",    NULL};
    char each[SQT_HUMAN_ROOM];
    const double queued = 100 * one->queue / one->ns;
    sqt_instead(tolds, rules, sqt_told_ns(one->ns), SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, "asked", SQT_HARM_WAITING, sqt_told_ns(one->ns));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", one->named.name);
    told->since = one->since;
    told->until = one->until;
    told->requests = one->count;
    told->waiting = sqt_told_ns(one->ns);
    told->share = sqt_percent(one->ns, (double)totals->total_ns);
    sqt_told_print(told->sentence,
                   "%.0f %% of the time of requests is waiting for %s: %s for each that asks it, %.0f %% of it %s.",
                   100 * one->ns / (double)totals->total_ns, one->named.name,
                   sqt_human_time(each, one->ns / (double)one->count, " ", "us"), queued >= 50 ? queued : 100 - queued,
                   queued >= 50 ? "until one of its children takes the question" : "its own time to answer");
    sqt_told_print(told->advice,
                   queued >= 50 ? "All of them are busy: more children, or concurrency=, if the helper can work on "
                                  "several questions at once."
                                : "Look at what that helper or service waits for itself. A longer ttl= or a cache "
                                  "asks it less often.");
    sqt_told_print(told->command, "sqtrace-dump --table=waits TRACE");
}

/* The mean of all is nobody's where a few take long, and the others next to nothing: then both are told. */
static void
asked_add_few(const struct asked_one *one, struct sqt_told *told)
{
    char few[SQT_HUMAN_ROOM], others[SQT_HUMAN_ROOM];
    const double own = one->ns - one->queue;
    double slow_ns = 0;
    uint64_t slow = 0;
    for (unsigned octave = 63; octave > 0 && slow * 2 <= one->count; --octave) {
        const uint64_t quick = one->count - slow;
        const double quick_ns = own - slow_ns;
        if (slow >= LEAST && quick >= LEAST && slow_ns * 100 >= own * ALMOST_ALL &&
            slow_ns / (double)slow >= FEW_TIMES * quick_ns / (double)quick) {
            const size_t used = strlen(told->sentence);
            snprintf(told->sentence + used, sizeof(told->sentence) - used,
                     " %llu of %llu questions take %s, the others %s%s.", (unsigned long long)slow,
                     (unsigned long long)one->count, sqt_human_time(few, slow_ns / (double)slow, " ", "us"),
                     sqt_human_time(others, quick_ns / (double)quick, " ", "us"),
                     one->queue * 100 >= one->ns * BEHIND ? ", and wait in a queue behind them" : "");
            return;
        }
        slow += one->octaves[octave].count;
        slow_ns += one->octaves[octave].ns;
    }
}

static void
asked_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct asked *const a = state;
    for (const struct sqt_name_entry *named = a->names.first; named; named = named->next) {
        const struct asked_one *const one = (const struct asked_one *)named;
        if (sqt_names_is_others(named))
            continue;
        if (one->count >= LEAST && one->ns <= (double)totals->total_ns &&
            one->ns * 100 >= (double)totals->total_ns * SHARE && one->ns >= (double)EACH * (double)one->count &&
            !asked_is_told(tolds, one))
            asked_told(one, totals, tolds);
        for (unsigned i = 0; i < tolds->count; ++i)
            if (tolds->told[i]->harm == SQT_HARM_WAITING && strcmp(tolds->told[i]->cause, "no_answer") != 0 &&
                sqt_told_names(tolds->told[i]->culprit, one->named.name))
                asked_add_few(one, tolds->told[i]);
    }
}

static void
asked_end(void *state)
{
    sqt_names_free(&((struct asked *)state)->names);
}

const struct sqt_look sqt_look_asked = {
    .size = sizeof(struct asked), .wait = asked_wait, .tell = asked_tell, .end = asked_end};
