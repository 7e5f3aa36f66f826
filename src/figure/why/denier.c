/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * denier.c - the helper whose answers deny requests, and for how long Squid keeps these answers.
 *
 * It adds to what was told of denied requests.  A helper is named if denied requests had one answer of it, and hardly any
 * other request had: yes or no, as http_access may deny for either.  Or if it began to give that answer just before the first
 * request was denied: no request waits where Squid asks again while it still has an answer.  Requests that are denied without
 * a question get an answer that Squid has kept, if none was denied before the helper gave it.
 *
 * Or the helper's queue is full: Squid denies a request that finds no room in it.  Then those that are denied have asked
 * nothing, others have asked that helper, and before it was always a queue that was never longer than so many.
 */
#include "denier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* Requests that have asked a helper and are open at a time: one takes the place of another. */
#define ASKED 16384
#define HELPERS 64
/* So many denied requests had the answer, and that part of those that had any, in %; of others that part at most. */
#define LEAST 5
#define NEARLY_ALL 90
#define HARDLY_ANY 10
/* The answer explains that part of all denied requests, in %.  Those without a question count, if the helper began just before,
 * or if so many of all denied requests asked it. */
#define MOST 50
#define ASKED_IT 25
/* It had given the other answer so often before, for so long, ns, and for so many times the mean time between two of the new
 * ones: an answer that is older than what is looked at comes sooner.  It began so long before the first denial, at most, ns. */
#define BEFORE 20
#define LEAST_BEFORE INT64_C(2000000000)
#define GAPS_BEFORE 10
#define JUST_BEFORE INT64_C(2000000000)

/* Of all questions that were answered, that part waited in a queue, and that part in one as long as ever, in %. */
#define QUEUED 90
#define FULL 50
#define LEAST_FULL 20

enum { YES, NO, ANSWERS };

struct denier_asked {
    const struct sqt_origin *origin; /* NULL: free */
    uint64_t xact;
    uint32_t who;
    int no;
};

struct denier_helper {
    struct sqt_name_entry named;
    struct denier_answer {
        uint64_t asked, denied; /* requests that got it; denied: of them, whose last answer it was */
        uint64_t count, before; /* answers, whoever waited; before: other answers before the first */
        int64_t first, last;
    } answers[ANSWERS];
    int64_t longest;              /* queue: questions before one */
    uint64_t known, queued, full; /* questions of which that is known; with others before them; with so many */
};

struct denier {
    struct denier_asked *asked; /* NULL: nobody asked yet */
    struct sqt_names helpers;   /* of struct denier_helper */
    uint64_t denied, unasked;   /* requests; unasked: of them, that asked nobody */
    uint64_t passed, free;      /* the same of those that were not denied */
    int64_t first;              /* when the first was denied */
};

static const char rules[] = "http_access";

int
sqt_denier_is_unknown(const struct sqt_told *told)
{
    return strncmp(told->culprit, rules, strlen(rules)) == 0;
}

void
sqt_denier_name(struct sqt_told *told, const char *who)
{
    char rest[sizeof(told->culprit)];
    snprintf(rest, sizeof(rest), "%s", told->culprit + strlen(rules));
    snprintf(told->culprit, sizeof(told->culprit), "%.150s%.100s", who, rest);
}

static struct denier_helper *
denier_helper(struct denier *d, const struct sqt_origin *origin, uint32_t who)
{
    const char *const name = sqt_origin_text(origin, SQT_DEF_WAITED, who);
    d->helpers.size = sizeof(struct denier_helper);
    d->helpers.most = HELPERS;
    return sqt_names_get(&d->helpers, name ? name : "");
}

static struct denier_asked *
denier_place(const struct denier *d, const struct sqt_origin *origin, uint64_t xact)
{
    return &d->asked[(xact * UINT64_C(0x9e3779b97f4a7c15) + origin->index) % ASKED];
}

/* How long the queue before the helper was. */
static void
denier_queue(struct denier_helper *helper, const struct sqt_wait *wait)
{
    if (wait->depth == SQT_MISSING)
        return;
    ++helper->known;
    helper->queued += wait->depth > 0;
    if (wait->depth > helper->longest) {
        helper->longest = wait->depth;
        helper->full = 0;
    }
    helper->full += wait->depth == helper->longest;
}

static void
denier_wait(void *state, const struct sqt_wait *wait)
{
    struct denier *const d = state;
    const int no = wait->outcome == SQT_WAIT_ERR;
    if (wait->def != SQT_DEF_WAITED || wait->stage != SQT_NAMED_HELPER || (wait->outcome != SQT_WAIT_OK && !no))
        return;
    struct denier_helper *const helper = denier_helper(d, wait->origin, wait->who);
    struct denier_answer *const answer = &helper->answers[no ? NO : YES];
    denier_queue(helper, wait);
    if (!answer->count++) {
        answer->before = helper->answers[no ? YES : NO].count;
        answer->first = wait->end;
    }
    answer->last = wait->end;
    if (!wait->xact)
        return;
    ++answer->asked;
    if (!d->asked)
        d->asked = sqt_zeroed(ASKED, sizeof(*d->asked));
    *denier_place(d, wait->origin, wait->xact) = (struct denier_asked){wait->origin, wait->xact, wait->who, no};
}

static void
denier_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct denier *const d = state;
    struct denier_asked *const asked = d->asked ? denier_place(d, xact->origin, xact->id) : NULL;
    const int denied = sqt_finding_is_denied(xact, fact);
    (void)felt;
    if (denied && !d->denied++)
        d->first = xact->end;
    d->passed += (uint64_t)!denied;
    if (!asked || asked->origin != xact->origin || asked->xact != xact->id) {
        d->unasked += (uint64_t)denied;
        d->free += (uint64_t)!denied;
        return;
    }
    struct denier_answer *const answer = &denier_helper(d, asked->origin, asked->who)->answers[asked->no ? NO : YES];
    answer->denied += (uint64_t)denied;
    asked->origin = NULL;
}

/* Whether it was given before any request was denied. */
static int
denier_precedes(const struct denier *d, const struct denier_answer *answer)
{
    return answer->count && answer->first <= d->first;
}

/* Whether the helper began to give that answer just before the first request was denied. */
static int
denier_begins(const struct denier *d, const struct denier_answer *answer, const struct denier_answer *other)
{
    const int64_t before = answer->first - other->first;
    return answer->count >= LEAST && answer->before >= BEFORE && denier_precedes(d, answer) &&
           d->first - answer->first <= JUST_BEFORE && before >= LEAST_BEFORE &&
           (double)before * (double)(answer->count - 1) >= GAPS_BEFORE * (double)(answer->last - answer->first);
}

static int
is_denier(const struct denier *d, const struct denier_answer *answer, const struct denier_answer *other)
{
    const int begins = denier_begins(d, answer, other),
              keeps = denier_precedes(d, answer) && (begins || answer->denied * 100 >= d->denied * ASKED_IT);
    const uint64_t explained = answer->denied + (keeps ? d->unasked : 0), others = answer->asked - answer->denied;
    return answer->denied * 100 >= (answer->denied + other->denied) * NEARLY_ALL &&
           others * 100 <= (others + other->asked - other->denied) * HARDLY_ANY &&
           (begins || answer->denied >= LEAST) && explained * 100 >= d->denied * MOST;
}

static void
denier_add(const struct denier *d, const struct denier_helper *helper, unsigned which, struct sqt_told *told)
{
    static const char *const says[] = {[YES] = "yes (OK)", [NO] = "no (ERR)"};
    const struct denier_answer *const answer = &helper->answers[which];
    size_t used = strlen(told->sentence);
    sqt_denier_name(told, helper->named.name);
    if (denier_begins(d, answer, &helper->answers[!which]))
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " That began %.1f s after %s had begun to say %s: %llu times up to %.1f s, after %llu times %s.",
                 (double)(d->first - answer->first) / 1e9, helper->named.name, says[which],
                 (unsigned long long)answer->count, (double)answer->last / 1e9, (unsigned long long)answer->before,
                 says[!which]);
    else
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %llu of them came just after %s had said %s, which hardly any other request did.",
                 (unsigned long long)answer->denied, helper->named.name, says[which]);
    used = strlen(told->sentence);
    if (d->unasked >= LEAST && denier_precedes(d, answer))
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %.0f %% of the denied requests asked nobody: they may have been denied by an answer that Squid kept "
                 "(%s).",
                 100 * (double)d->unasked / (double)d->denied, which == NO ? "negative_ttl=" : "ttl=");
    sqt_told_print(
        told->advice,
        "Ask that helper by hand for such a request. If its answer was wrong, and is right now: Squid keeps it "
        "until %s of external_acl_type is over, or until squid -k reconfigure. Which http_access line denies is in "
        "cache.log with debug_options 28,3.",
        which == NO ? "negative_ttl= (ttl=, if that is not set)" : "ttl=");
    sqt_finding_text(told->command, SQT_TOLD_TEXT, "sqtrace-dump --table=waits --where='{waited}' TRACE",
                     &(struct sqt_finding_values){.culprit = helper->named.name});
}

/* Whether its queue is full while others are denied. */
static int
is_full(const struct denier *d, const struct denier_helper *helper)
{
    return d->denied >= LEAST_FULL && d->unasked * 100 >= d->denied * NEARLY_ALL &&
           d->free * 100 <= d->passed * HARDLY_ANY && helper->known >= LEAST_FULL &&
           helper->queued * 100 >= helper->known * QUEUED && helper->full * 100 >= helper->known * FULL;
}

/* What was said of another limit, at the end of the sentence, goes. */
static void
denier_add_full(const struct denier *d, const struct denier_helper *helper, struct sqt_told *told)
{
    char *const limit = strstr(told->sentence, " That was so while ");
    if (limit)
        *limit = '\0';
    const size_t used = strlen(told->sentence);
    snprintf(told->culprit, sizeof(told->culprit), "%s", helper->named.name);
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " %.0f %% of them asked nothing. Nearly all others waited for %s, in a queue that never held more than "
             "%lld before "
             "them: Squid denies a request that finds the queue full.",
             100 * (double)d->unasked / (double)d->denied, helper->named.name, (long long)helper->longest);
    sqt_told_print(
        told->advice,
        "external_acl_type: more children-max=, or concurrency=, so that the queue does not fill, or a longer one "
        "(queue-size=). ttl=, negative_ttl= and cache= ask the helper less. cache.log has the queue overload.");
    sqt_finding_text(told->command, SQT_TOLD_TEXT, "sqtrace-dump --table=waits --where='{waited}' TRACE",
                     &(struct sqt_finding_values){.culprit = helper->named.name});
}

static int
denier_tell_full(const struct denier *d, struct sqt_told *told)
{
    for (const struct sqt_name_entry *named = d->helpers.first; named; named = named->next)
        if (*named->name && !sqt_names_is_others(named) && is_full(d, (const struct denier_helper *)named)) {
            denier_add_full(d, (const struct denier_helper *)named, told);
            return 1;
        }
    return 0;
}

static void
denier_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct denier *const d = state;
    struct sqt_told *const told = sqt_tolds_find(tolds, "denied", NULL, 0);
    (void)totals;
    if (told && denier_tell_full(d, told))
        return;
    if (told && !sqt_denier_is_unknown(told)) /* a limit denies */
        return;
    for (const struct sqt_name_entry *named = d->helpers.first; named && told; named = named->next) {
        const struct denier_helper *const helper = (const struct denier_helper *)named;
        for (unsigned i = 0; i < ANSWERS && *named->name && !sqt_names_is_others(named); ++i)
            if (is_denier(d, &helper->answers[i], &helper->answers[!i])) {
                denier_add(d, helper, i, told);
                return;
            }
    }
}

static void
denier_end(void *state)
{
    struct denier *const d = state;
    sqt_freed(d->asked);
    sqt_names_free(&d->helpers);
}

const struct sqt_look sqt_look_denier = {.size = sizeof(struct denier),
                                         .request = denier_request,
                                         .wait = denier_wait,
                                         .tell = denier_tell,
                                         .end = denier_end};
