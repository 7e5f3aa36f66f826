/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * helper-answers.c - helpers of access checks that nearly all requests ask, and helpers that refuse many logins.
 *
 * It adds to the finding of a helper that requests wait for.  Squid keeps answers of external_acl_type and of auth_param basic,
 * so few requests ask where that works.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define HELPERS 64
/* So many questions, and that part of all requests, in %. */
#define QUESTIONS 50
#define NEARLY_ALL 90
/* So many answers are no, and that part of them, in %. */
#define LEAST 20
#define OFTEN_NO 30
/* Of the requests that are challenged, that part is for such an answer, in %. */
#define MOST 50

struct helper_answers {
    struct sqt_name_entry named;
    uint64_t asked, yes, no;
};

struct helpers_answers {
    struct sqt_names helpers; /* of struct helper_answers */
    uint64_t challenged;      /* requests that were answered with 407 */
};

static const char wrong_advice[] =
    "Who tries these logins is in access.log (407): stop these clients, or deny them (acl src) in a line of "
    "http_access "
    "before the first that asks who they are. A program with an old password tries it on and on.";

static void
helper_answers_wait(void *state, const struct sqt_wait *wait)
{
    struct helpers_answers *const h = state;
    const char *const name = wait->def == SQT_DEF_WAITED && wait->stage == SQT_NAMED_HELPER
                                 ? sqt_origin_text(wait->origin, wait->def, wait->who)
                                 : NULL;
    if (!name || !wait->xact)
        return;
    h->helpers.size = sizeof(struct helper_answers);
    h->helpers.most = HELPERS;
    struct helper_answers *const its = sqt_names_get(&h->helpers, name);
    ++its->asked;
    its->yes += wait->outcome == SQT_WAIT_OK;
    its->no += wait->outcome == SQT_WAIT_ERR;
}

static void
helper_answers_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct helpers_answers *const h = state;
    (void)fact;
    (void)felt;
    h->challenged += xact->status == 407;
}

static int
is_login(const struct helper_answers *its)
{
    return strncmp(its->named.name, "auth ", 5) == 0;
}

/* Each connection of a client logs in by itself. */
static int
is_login_of_connection(const struct helper_answers *its)
{
    return strncmp(its->named.name, "auth negotiate", 14) == 0 || strncmp(its->named.name, "auth ntlm", 9) == 0;
}

/* Why it is asked for nearly each request. */
static const char *
helper_answers_kept(const struct helper_answers *its)
{
    if (is_login_of_connection(its))
        return ": each connection of a client logs in again, and has hardly a second request";
    if (strncmp(its->named.name, "auth basic", 10) == 0)
        return ": Squid answers hardly one by what it keeps (credentialsttl)";
    return is_login(its) ? "" : ": Squid answers hardly one by what it keeps (ttl=, negative_ttl=)";
}

/* How to ask it less often. */
static const char *
helper_answers_keep(const struct helper_answers *its)
{
    if (is_login_of_connection(its))
        return " client_persistent_connections on: a connection with more requests logs in once.";
    return is_login(its) ? ""
                         : " With %ru or another word that differs each time in its format, Squid has nothing to keep: "
                           "ask by %ul, %>a or %>rd where that is enough.";
}

static void
helper_answers_add(const struct helper_answers *its, const struct sqt_look_totals *totals, struct sqt_told *told)
{
    char rest[sizeof(told->advice)];
    const size_t used = strlen(told->sentence), advised = strlen(told->advice);
    /* An external_acl_type says no of what is not in its list: that is no trouble. */
    if (is_login(its) && its->no >= LEAST && its->no * 100 >= (its->yes + its->no) * OFTEN_NO) {
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %llu of its %llu answers are no (ERR): wrong logins, which Squid asks about again each time.",
                 (unsigned long long)its->no, (unsigned long long)(its->yes + its->no));
        snprintf(rest, sizeof(rest), "%s", told->advice);
        sqt_told_print(told->advice, "%s Else: %.600s", wrong_advice, rest);
    } else if (its->asked >= QUESTIONS && its->asked * 100 >= totals->requests * NEARLY_ALL) {
        snprintf(told->sentence + used, sizeof(told->sentence) - used, " It is asked %llu times for %llu requests%s.",
                 (unsigned long long)its->asked, (unsigned long long)totals->requests, helper_answers_kept(its));
        snprintf(told->advice + advised, sizeof(told->advice) - advised, "%s", helper_answers_keep(its));
    }
}

/* Those that are challenged sent a login, and it was wrong: then that is no matter of connections. */
static void
helper_answers_challenged(const struct helper_answers *its, uint64_t challenged, uint64_t requests,
                          struct sqt_tolds *tolds)
{
    struct sqt_told *const told = sqt_tolds_find(tolds, "challenges", NULL, 0);
    if (!told || !is_login(its) || its->no < LEAST || its->no * 100 < challenged * MOST)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", its->named.name);
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests are answered with 407, and most of them had a login: %s says no (ERR) %llu times, "
        "and yes (OK) %llu times.",
        (unsigned long long)challenged, (unsigned long long)requests, its->named.name, (unsigned long long)its->no,
        (unsigned long long)its->yes);
    sqt_told_print(told->advice, "%s", wrong_advice);
}

static void
helper_answers_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"helper_queue", "slow_helper"};
    const struct helpers_answers *const h = state;
    for (const struct sqt_name_entry *named = h->helpers.first; named; named = named->next) {
        helper_answers_challenged((const struct helper_answers *)named, h->challenged, totals->requests, tolds);
        for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes) && !sqt_names_is_others(named); ++i) {
            struct sqt_told *const told = sqt_tolds_find(tolds, causes[i], named->name, 0);
            if (!told)
                continue;
            helper_answers_add((const struct helper_answers *)named, totals, told);
            break; /* once */
        }
    }
}

static void
helper_answers_end(void *state)
{
    sqt_names_free(&((struct helpers_answers *)state)->helpers);
}

const struct sqt_look sqt_look_helper_answers = {.size = sizeof(struct helpers_answers),
                                                 .wait = helper_answers_wait,
                                                 .request = helper_answers_request,
                                                 .tell = helper_answers_tell,
                                                 .end = helper_answers_end};
