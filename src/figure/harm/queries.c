/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * queries.c - which queries take a name server's time: reverse look-ups, or those that the checks of one ACL make;
 * answers that were cut short, after which Squid asks the same again by TCP; and answers that are an error, after which it
 * asks another name server.
 *
 * Told is what makes most of the queries to a name server that requests wait for, if it is not the plain look-up of a
 * server's name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* Of all queries to the name server, in %; of each, ns in the mean; and so many of them. */
#define LEAST_SHARE 50
#define LEAST_EACH INT64_C(50000000)
#define LEAST 20
/* Who gives no other answers, in %. */
#define NEARLY_ALL 90
/* That part of the queries without an answer are alone, in %. */
#define MOSTLY 80
/* How exactly that is known, ns, and for how long. */
#define SLOT INT64_C(125000000)
#define SLOTS 256
/* Who asks the same so soon after an answer, in ns, got a part of it only. */
#define AT_ONCE INT64_C(1000000)
/* Answers that may turn out to be a part: one takes the place of another. */
#define ANSWERS 4096

struct queries {
    struct sqt_names names;
    struct answer {
        const struct sqt_origin *origin; /* only compared; NULL: none */
        uint64_t xact;
        uint32_t who, type;
        int64_t end, took;
        struct asked *failed; /* who answered with an error; NULL: it was none */
    } * answers;
};

/* Those of one type and ACL to one name server, and all to it (type: NULL). */
struct asked {
    struct sqt_name_entry named;
    const char *server, *type, *acl;
    uint64_t count;
    double ns;
    uint64_t cut, unanswered; /* answers that were cut short, and of which the second question has no answer */
    uint64_t failed;          /* answers with an error, after which another name server was asked */
    uint64_t well, errors;    /* all good answers, and all with an error */
    uint64_t lost;            /* queries without an answer */
    uint64_t lost_alone;      /* of these, others that began soon after got a good answer */
    uint16_t
        well_at[SLOTS]; /* of each slot, by its number modulo SLOTS: the rest of its number, where a query began that
                                 got a good answer */
    double failed_ns;   /* that they took */
};

static struct asked *
queries_of(struct queries *q, const char *server, const char *type, const char *acl)
{
    char name[SQT_TOLD_NAME];
    if (!q->names.size)
        q->names = (struct sqt_names){.size = sizeof(struct asked), .most = 1024};
    snprintf(name, sizeof(name), "%s|%s|%s", server, type ? type : "", acl ? acl : "");
    struct asked *const asked = sqt_names_get(&q->names, name);
    asked->server = server;
    asked->type = type;
    asked->acl = acl;
    return asked;
}

static void
queries_add(struct asked *asked, const struct sqt_wait *wait)
{
    ++asked->count;
    asked->ns += (double)(wait->end - wait->begin);
}

/* Where the last answer to such a question is kept. */
static struct answer *
queries_answer(const struct queries *q, const struct sqt_wait *wait)
{
    return &q->answers[((wait->xact * 2 + (wait->query & 1)) * UINT64_C(0x9e3779b97f4a7c15) >> 20) % ANSWERS];
}

/* The answer to the same question of that request just before; NULL: there is none. */
static const struct answer *
queries_before(const struct queries *q, const struct sqt_wait *wait)
{
    const struct answer *const last = queries_answer(q, wait);
    const int same = wait->xact && last->origin == wait->origin && last->xact == wait->xact &&
                     last->type == wait->query && wait->begin >= last->end && wait->begin - last->end < AT_ONCE;
    return same ? last : NULL;
}

static void
queries_keep(struct queries *q, const struct sqt_wait *wait, struct asked *all)
{
    const int failed = wait->outcome == SQT_WAIT_ERR;
    if (failed || wait->outcome == SQT_WAIT_OK)
        *queries_answer(q, wait) = (struct answer){
            wait->origin, wait->xact, wait->who, wait->query, wait->end, wait->end - wait->begin, failed ? all : NULL};
}

/* What its question says of the answer before it: it was a part of one, or an error of another name server. */
static void
queries_again(struct queries *q, const struct sqt_wait *wait, struct asked *all)
{
    if (!q->answers)
        q->answers = sqt_zeroed(ANSWERS, sizeof(*q->answers));
    const struct answer *const last = queries_before(q, wait);
    if (last && last->who == wait->who && !last->failed) {
        ++all->cut;
        all->unanswered += wait->outcome == SQT_WAIT_TIMEOUT || wait->outcome == SQT_WAIT_UNFINISHED;
    } else if (last && last->who != wait->who && last->failed) {
        ++last->failed->failed;
        last->failed->failed_ns += (double)last->took;
    }
    queries_keep(q, wait, all);
}

/* What stands at a slot. */
static uint16_t
queries_slot(int64_t slot)
{
    return (uint16_t)(1 + slot / SLOTS % UINT16_MAX);
}

/* Whether the name server was up in the first half of a wait in vain: another query, which began then, got a good answer. */
static int
queries_is_alone(const struct asked *all, const struct sqt_wait *wait)
{
    const int64_t until = (wait->begin + (wait->end - wait->begin) / 2) / SLOT;
    int64_t slot = wait->begin / SLOT + 1;
    for (slot = until - slot < SLOTS ? slot : until - SLOTS + 1; slot <= until; ++slot)
        if (slot >= 0 && all->well_at[slot % SLOTS] == queries_slot(slot))
            return 1;
    return 0;
}

static void
queries_wait(void *state, const struct sqt_wait *wait)
{
    const char *const type = sqt_query_name(wait->query);
    const char *const server = sqt_origin_text(wait->origin, wait->def, wait->who);
    if (!type || !server || sqt_wait_unknown(wait))
        return;
    queries_add(
        queries_of(state, server, type, wait->acl ? sqt_origin_text(wait->origin, SQT_DEF_ACL, wait->acl) : NULL),
        wait);
    struct asked *const all = queries_of(state, server, NULL, NULL);
    queries_add(all, wait);
    all->well += wait->outcome == SQT_WAIT_OK;
    all->errors += wait->outcome == SQT_WAIT_ERR;
    if (wait->outcome == SQT_WAIT_OK && wait->begin >= 0)
        all->well_at[wait->begin / SLOT % SLOTS] = queries_slot(wait->begin / SLOT);
    if (wait->outcome == SQT_WAIT_TIMEOUT) {
        ++all->lost;
        all->lost_alone += (uint64_t)queries_is_alone(all, wait);
    }
    queries_again(state, wait, all);
}

static int
asks_much(const struct asked *x, const struct asked *all)
{
    return (x->acl || strcmp(x->type, "PTR") == 0) && x->count >= LEAST && x->count * 100 >= all->count * LEAST_SHARE &&
           x->ns / (double)x->count >= (double)LEAST_EACH;
}

static void
queries_told(const struct asked *x, const struct asked *all, struct sqt_tolds *tolds)
{
    struct sqt_told *const told = sqt_tolds_find(tolds, NULL, x->server, 0);
    char each[SQT_HUMAN_ROOM],
        whose[SQT_TOLD_NAME] = "which %>A of a log format or log_fqdn asks for, or an address in a URL";
    if (!told) /* nobody waits for it */
        return;
    if (x->acl)
        snprintf(whose, sizeof(whose), "which checks of acl %s ask for", x->acl);
    sqt_human_time(each, x->ns / (double)x->count, " ", "us");
    const size_t length = strlen(told->sentence);
    snprintf(told->sentence + length, SQT_TOLD_TEXT - length,
             " %.0f %% of the %llu queries to it are %s, %s: %s for each.",
             100.0 * (double)x->count / (double)all->count, (unsigned long long)all->count,
             strcmp(x->type, "PTR") == 0 ? "reverse look-ups (PTR: the name of an address)" : x->type, whose, each);
    sqt_told_print(
        told->advice,
        x->acl ? "acl %s: an ACL of addresses needs no look-up, one of names (dstdomain, srcdomain) with -n makes "
                 "none. Or a name server that answers these."
               : "Log %%>a, the address, in place of %%>A, and look names up afterwards; log_fqdn off.",
        x->acl ? x->acl : "");
}

/* Whether it is about look-ups, so that its advice may be that for truncated answers. */
static int
is_of_look_ups(const struct sqt_told *told)
{
    static const char *const causes[] = {"failed_look_up",   "no_address",  "no_answer",
                                         "slow_name_server", "name_server", "hanging"};
    for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); ++i)
        if (strcmp(told->cause, causes[i]) == 0)
            return 1;
    return 0;
}

/* Most answers are a part, so that the name server is asked twice. */
static void
queries_cut(const struct asked *all, struct sqt_tolds *tolds)
{
    if (all->cut < LEAST || all->cut * 100 < (all->count - all->cut) * LEAST_SHARE)
        return;
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        const size_t length = strlen(told->sentence);
        if (!is_of_look_ups(told) || !sqt_told_names(told->culprit, all->server))
            continue;
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length,
                 " %llu of %llu queries to it got a truncated answer, so Squid asked again by TCP: %llu of these got "
                 "no answer.",
                 (unsigned long long)all->cut, (unsigned long long)(all->count - all->cut),
                 (unsigned long long)all->unanswered);
        sqt_told_print(told->advice,
                       "Answers that do not fit a packet of UDP are asked for again by TCP: let Squid reach "
                       "that name server by TCP, port 53. dns_packet_max: larger answers by UDP.");
    }
}

/* Most answers are errors that another name server does not give: a server that fails costs its time for nothing. */
static void
queries_failed(const struct asked *all, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM];
    if (all->failed < LEAST || all->failed * 100 < all->count * LEAST_SHARE)
        return;
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        const size_t length = strlen(told->sentence);
        if (!is_of_look_ups(told) || !sqt_told_names(told->culprit, all->server))
            continue;
        snprintf(
            told->sentence + length, SQT_TOLD_TEXT - length,
            " It answered %llu of %llu queries with an error (as SERVFAIL), after %s in the mean, so that Squid asked "
            "another name server.",
            (unsigned long long)all->failed, (unsigned long long)all->count,
            sqt_human_time(each, all->failed_ns / (double)all->failed, " ", "us"));
        sqt_told_print(
            told->advice,
            "dns_nameservers: leave that one out, or name it last, until it answers again. Ask it by hand (dig) "
            "for the same names: it may not do so for this Squid's address, or not reach the servers that it "
            "asks itself.");
    }
}

/* A name server that answers with errors only, beside another one that hardly ever does: they do not know the same names. */
static void
queries_differ(const struct queries *q, const struct asked *all, struct sqt_tolds *tolds)
{
    const struct asked *well = NULL;
    if (all->errors < LEAST || all->errors * 100 < (all->errors + all->well) * NEARLY_ALL ||
        2 * all->failed > all->errors)
        return;
    for (const struct sqt_name_entry *named = q->names.first; named; named = named->next) {
        const struct asked *const x = (const struct asked *)named;
        if (!x->type && !sqt_names_is_others(named) && x->well >= LEAST &&
            x->errors * 100 <= (x->errors + x->well) * (100 - NEARLY_ALL) && (!well || x->well > well->well))
            well = x;
    }
    for (unsigned i = 0; i < tolds->count && well; ++i) {
        struct sqt_told *const told = tolds->told[i];
        const size_t length = strlen(told->sentence);
        if (!is_of_look_ups(told) || !sqt_told_names(told->culprit, all->server))
            continue;
        snprintf(
            told->sentence + length, SQT_TOLD_TEXT - length,
            " It answers next to nothing else: %llu of its %llu answers are errors, such as that a name does not exist "
            "(NXDOMAIN). Of %s %llu answers are good and %llu are errors: they do not know the same names.",
            (unsigned long long)all->errors, (unsigned long long)(all->errors + all->well), well->server,
            (unsigned long long)well->well, (unsigned long long)well->errors);
        sqt_told_print(
            told->advice,
            "dns_nameservers: only name servers that all know the same names. Squid asks the next one when one "
            "does not answer in time, and takes the first answer, also one that a name does not exist; "
            "negative_dns_ttl keeps that. Ask %s by hand (dig) for a name that fails.",
            all->server);
    }
}

/* A name server that answers nothing of some queries, and others meanwhile. */
static void
queries_some(const struct asked *all, struct sqt_tolds *tolds)
{
    for (unsigned i = 0; i < tolds->count && all->lost && all->lost_alone * 100 >= all->lost * MOSTLY; ++i) {
        struct sqt_told *const told = tolds->told[i];
        const size_t length = strlen(told->sentence);
        if (!sqt_told_names(told->culprit, all->server) || !strstr(told->sentence, "did not answer in time"))
            continue;
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length,
                 " It answered others meanwhile: it has no answer for some names, or loses some queries.");
        sqt_told_print(told->advice,
                       "Ask that name server by hand (dig) for a name that fails: those that know that domain may not "
                       "answer it. If it answers, queries are lost on the way: dns_retransmit_interval, and a second "
                       "one in dns_nameservers. negative_dns_ttl: for how long Squid takes a failure for the answer.");
    }
}

static void
queries_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct queries *const q = state;
    (void)totals;
    for (const struct sqt_name_entry *named = q->names.first; named; named = named->next) {
        const struct asked *const x = (const struct asked *)named;
        if (sqt_names_is_others(named) || !x->server)
            continue;
        if (x->type) {
            const struct asked *const all = queries_of(q, x->server, NULL, NULL);
            if (!sqt_names_is_others(&all->named) && asks_much(x, all))
                queries_told(x, all, tolds);
        } else {
            queries_cut(x, tolds);
            queries_failed(x, tolds);
            queries_differ(q, x, tolds);
            queries_some(x, tolds);
        }
    }
}

static void
queries_end(void *state)
{
    struct queries *const q = state;
    sqt_names_free(&q->names);
    sqt_freed(q->answers);
}

const struct sqt_look sqt_look_queries = {
    .size = sizeof(struct queries), .wait = queries_wait, .tell = queries_tell, .end = queries_end};
