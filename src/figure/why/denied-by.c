/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * denied-by.c - which ACLs were checked last where http_access denied requests, or http_reply_access replies.
 *
 * It adds to what was told of denied requests, and to what is said of them where that is taken as meant.  Safe_ports and
 * SSL_ports, which squid.conf has as it comes, protect others: nobody means to deny many of his own clients by them, so that
 * is told although it is always so.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "denier.h"
#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

#define ACLS 256
/* So many are named at most, if they have that part of the requests, in %. */
#define NAMED 3
#define PART 5
/* One that has that part is the culprit. */
#define CULPRIT 50
/* So many requests that are denied for their port are told, if they are that part of all, in %. */
#define PORTS 20
#define SHARE_PORTS 10

enum { REQUESTS, REPLIES, KINDS };
enum { ALL_REQUESTS = 1, OF_PORTS }; /* series */

struct denied_acl {
    struct sqt_name_entry named;
    uint64_t count[KINDS];
    uint64_t felt; /* ns for which clients waited for these requests */
};

struct denied_by {
    struct sqt_names acls;  /* of struct denied_acl */
    uint64_t denied[KINDS]; /* requests, also those whose ACL is not known */
    uint64_t requests;      /* all */
    struct sqt_when when;
};

static int
is_of_ports(const char *acl)
{
    return strcmp(acl, "Safe_ports") == 0 || strcmp(acl, "SSL_ports") == 0;
}

static void
denied_by_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct denied_by *const d = state;
    const char *const tag = fact->row[SQT_CELL(requests, tag)].text;
    const char *const acl = fact->row[SQT_CELL(requests, denied_by)].text;
    ++d->requests;
    sqt_when_add(&d->when, ALL_REQUESTS, xact->begin, 0, 1);
    if (!sqt_finding_is_denied(xact, fact))
        return;
    const unsigned kind = tag && strstr(tag, "_REPLY") ? REPLIES : REQUESTS;
    ++d->denied[kind];
    if (!acl || strcmp(acl, "other") == 0) /* Squid has more than a trace names */
        return;
    d->acls.size = sizeof(struct denied_acl);
    d->acls.most = ACLS;
    struct denied_acl *const one = sqt_names_get(&d->acls, acl);
    ++one->count[kind];
    one->felt += kind == REQUESTS ? (uint64_t)felt : 0;
    if (kind == REQUESTS && is_of_ports(acl))
        sqt_when_add(&d->when, OF_PORTS, xact->begin, 0, 1);
}

/* The ACL that comes after that one in the order of its requests; NULL as `after`: the first. */
static const struct denied_acl *
denied_next(const struct denied_by *d, unsigned kind, const struct denied_acl *after)
{
    const struct denied_acl *next = NULL;
    int passed = after == NULL;
    for (const struct sqt_name_entry *named = d->acls.first; named; named = named->next) {
        const struct denied_acl *const acl = (const struct denied_acl *)named;
        const int same = after && acl->count[kind] == after->count[kind];
        if (!sqt_names_is_others(named) &&
            (!after || acl->count[kind] < after->count[kind] || (same && passed && acl != after)) &&
            (!next || acl->count[kind] > next->count[kind]))
            next = acl;
        passed |= acl == after;
    }
    return next && next->count[kind] * 100 >= d->denied[kind] * PART && next->count[kind] ? next : NULL;
}

/* " Checked last in the 120 requests that were denied: acl Safe_ports (90), acl all (20), others (10)."  Returns the first
 * one, NULL if there is none. */
static const struct denied_acl *
denied_sentence(const struct denied_by *d, unsigned kind, char *text, size_t size)
{
    const struct denied_acl *const first = denied_next(d, kind, NULL), *acl = first;
    uint64_t others = d->denied[kind];
    if (!first)
        return NULL;
    int used = snprintf(text, size, " Checked last in the %llu %s that were denied:", (unsigned long long)others,
                        kind == REPLIES ? "replies" : "requests");
    for (unsigned i = 0; i < NAMED && acl && used >= 0 && (size_t)used < size; ++i, acl = denied_next(d, kind, acl)) {
        others -= acl->count[kind];
        used += snprintf(text + used, size - (size_t)used, "%s acl %s (%llu)", i ? "," : "", acl->named.name,
                         (unsigned long long)acl->count[kind]);
    }
    if (others && used >= 0 && (size_t)used < size)
        used += snprintf(text + used, size - (size_t)used, ", others (%llu)", (unsigned long long)others);
    if (used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ".");
    return first;
}

static int
denied_is_word(const char *name)
{
    for (; *name; ++name)
        if (!isalnum((unsigned char)*name) && !strchr("_-.", *name))
            return 0;
    return 1;
}

static void
denied_advise(const char *acl, struct sqt_told *told)
{
    static const char all[] =
        "If that is not meant: no http_access line before deny all allowed them. Who asks, and for what, is in "
        "access.log (TCP_DENIED). An address that no acl has is the usual reason.";
    static const char ports[] =
        "acl %s: add the port that they ask for, if they may. It is in access.log (TCP_DENIED).";
    static const char other[] =
        "If that is not meant: look at the http_access lines that have %s, and at what that acl lists. The last "
        "change of squid.conf, or of a file that the acl reads, is the first to look at. What they asked for is "
        "in access.log (TCP_DENIED).";
    if (strcmp(acl, "all") == 0)
        sqt_told_print(told->advice, "%s", all);
    else if (is_of_ports(acl))
        sqt_told_print(told->advice, ports, acl);
    else
        sqt_told_print(told->advice, other, acl);
    if (denied_is_word(acl))
        sqt_told_print(told->command, "sqtrace-dump --where='denied_by == %s' TRACE", acl);
}

static void
denied_add(const struct denied_by *d, unsigned kind, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    char who[sizeof(told->culprit)];
    const struct denied_acl *const first =
        denied_sentence(d, kind, told->sentence + used, sizeof(told->sentence) - used);
    if (!first || first->count[kind] * 100 < d->denied[kind] * CULPRIT || !sqt_denier_is_unknown(told))
        return; /* a helper, or a limit, is named already */
    snprintf(who, sizeof(who), "acl %.100s", first->named.name);
    if (strcmp(first->named.name, "all") != 0)
        sqt_denier_name(told, who);
    denied_advise(first->named.name, told);
}

/* Requests that are denied for their port, though always.  Returns whether. */
static int
denied_tell_ports(const struct denied_by *d, struct sqt_tolds *tolds)
{
    const struct denied_acl *const first = denied_next(d, REQUESTS, NULL);
    const uint64_t count = first ? first->count[REQUESTS] : 0;
    char when[128];
    if (count < PORTS || count * 100 < d->requests * SHARE_PORTS || !is_of_ports(first->named.name))
        return 0;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "denied", SQT_HARM_FAILURE, first->felt + count * SQT_FAILURE_NS);
    if (!told)
        return 0;
    struct sqt_spell spell = sqt_spell_tell(told, &d->when, OF_PORTS, ALL_REQUESTS);
    if (told->pattern == SQT_PATTERN_THROUGHOUT)
        spell = (struct sqt_spell){count, d->requests};
    told->requests = told->failures = count;
    told->waiting = first->felt;
    snprintf(told->culprit, sizeof(told->culprit), "acl %s", first->named.name);
    sqt_told_print(told->sentence,
                   "%s, %llu of %llu requests (%.0f %%) were denied (403), because %s does not have their port.",
                   sqt_told_when(when, sizeof(when), told), (unsigned long long)spell.met,
                   (unsigned long long)spell.all, sqt_spell_percent(spell.met, spell.all), first->named.name);
    const size_t used = strlen(told->sentence);
    denied_sentence(d, REQUESTS, told->sentence + used, sizeof(told->sentence) - used);
    denied_advise(first->named.name, told);
    return 1;
}

/* What is taken as meant. */
static void
denied_note(const struct denied_by *d, struct sqt_tolds *tolds)
{
    char *const if_not = strstr(tolds->meant, " If it is not: ");
    if (!strstr(tolds->meant, " denied (") || !if_not || !denied_next(d, REQUESTS, NULL))
        return;
    const size_t room = sizeof(tolds->meant) - (size_t)(if_not - tolds->meant);
    denied_sentence(d, REQUESTS, if_not, room);
    snprintf(if_not + strlen(if_not), room - strlen(if_not),
             " If it is not meant: access.log has what they ask for (TCP_DENIED).");
}

static void
denied_by_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[KINDS] = {"denied", "denied_replies"};
    struct denied_by *const d = state;
    (void)totals;
    sqt_when_sort(&d->when);
    denied_note(d, tolds);
    const int ports = !sqt_tolds_find(tolds, "denied", NULL, 0) && denied_tell_ports(d, tolds);
    for (unsigned kind = 0; !ports && kind < KINDS; ++kind) {
        struct sqt_told *const told = sqt_tolds_find(tolds, causes[kind], NULL, 0);
        if (told)
            denied_add(d, kind, told);
    }
    sqt_when_free(&d->when);
}

static void
denied_by_end(void *state)
{
    struct denied_by *const d = state;
    sqt_names_free(&d->acls);
    sqt_when_free(&d->when);
}

const struct sqt_look sqt_look_denied_by = {
    .size = sizeof(struct denied_by), .request = denied_by_request, .tell = denied_by_tell, .end = denied_by_end};
