/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-refused.c - servers that refuse requests alike: nearly all that are asked give the same status to a good part of them.
 * Either they belong together, or the cause is something that this Squid sends.
 */
#include <stdio.h>
#include <string.h>

#include "failures.h"
#include "figure/finding/spell.h"

/* A server with fewer answers is left out; of one that refuses, so many are refusals, and that part, in %. */
#define ANSWERS 10
#define EACH 5
#define SHARE_EACH 10
/* So many servers do so, and that part of those that are not left out, in %.  In all they refuse so many requests, and that
 * part of those in that time, in %. */
#define SERVERS 3
#define NEARLY_ALL 80
#define LEAST 20
#define SHARE 10

/* A 407 is none of them: a proxy that wants a login says it to all at first. */
static const uint32_t refused_with[SQT_FAILED_ODD] = {403, 421, 426, 429, 431};

void
sqt_failed_odd(struct sqt_failed_requests *all, struct sqt_failure *server, const struct sqt_xact *xact)
{
    ++server->replies;
    for (unsigned i = 0; i < SQT_FAILED_ODD; ++i)
        if (xact->status == refused_with[i] && !sqt_failed_is_peer(all, sqt_failure_server(xact))) {
            ++server->odd[i];
            sqt_when_add(&all->when, SQT_FAILURES_ODD, xact->begin, 0, 1);
        }
}

/* Those with one status. */
struct refused_alike {
    uint32_t status;
    unsigned servers, asked; /* asked: those that are not left out, whatever they answer */
    uint64_t count, most;
    uint64_t answers, all; /* of those that are not left out, and of all */
    int mixed;             /* some answer others well */
};

static struct refused_alike
refused_by(struct sqt_failed_requests *all, unsigned with)
{
    struct refused_alike found = {.status = refused_with[with]};
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        const char *const space = strchr(named->name, ' ');
        const uint64_t count = x->odd[with];
        if (x->at != SQT_FAILED_REFUSED || (space && sqt_failed_is_peer(all, space + 1)))
            continue;
        found.all += x->replies;
        if (x->replies < ANSWERS)
            continue;
        ++found.asked;
        found.answers += x->replies;
        if (count < EACH || count * 100 < x->replies * SHARE_EACH)
            continue;
        ++found.servers;
        found.count += count;
        found.most = count > found.most ? count : found.most;
        found.mixed |= x->replies > count;
    }
    return found;
}

static int
is_alike(const struct refused_alike *found)
{
    return found->servers >= SERVERS && found->servers * 100 >= found->asked * NEARLY_ALL && found->count >= LEAST &&
           2 * found->most <= found->count && 2 * found->answers >= found->all;
}

static void
refused_print(const struct refused_alike *found, uint64_t met, const struct sqt_spell *spell, struct sqt_told *told)
{
    char when[128];
    const double share = sqt_spell_percent(met, spell->all);
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    sqt_told_print(told->sentence,
                   "%s, %llu of %llu requests (%.*f %%) were refused by servers with status %u. "
                   "%u of the %u servers with %u answers or more do so%s. "
                   "Unless these servers belong together, the cause is something that this Squid sends: its address, "
                   "or a header.",
                   sqt_told_when(when, sizeof(when), told), (unsigned long long)met, (unsigned long long)spell->all,
                   share < 9.95, share, found->status, found->servers, found->asked, ANSWERS,
                   found->mixed ? ", for a part of the requests" : ", whatever they are asked");
    sqt_told_print(told->advice,
                   "Ask one of these servers by hand, from each address of this machine that Squid connects from "
                   "(tcp_outgoing_address, "
                   "and its acls, say which it is): sites ban addresses, for too many requests or by lists.%s The same "
                   "for headers that "
                   "Squid adds or removes: via, forwarded_for, request_header_access.%s",
                   found->status == 429 ? " Ask less often (refresh_pattern, cache), or from several addresses." : "",
                   found->status == 403 ? " If these servers belong to one application, it may deny these requests on "
                                          "purpose: look at which they are."
                                        : "");
    sqt_told_print(told->command, "sqtrace-dump --where='status == %u and tries > 0' TRACE", found->status);
}

uint32_t
sqt_failed_refused_alike(struct sqt_failed_requests *all, struct sqt_tolds *tolds)
{
    struct refused_alike most = {.count = 0};
    struct sqt_told probe = {.since = 0};
    for (unsigned i = 0; i < SQT_FAILED_ODD; ++i) {
        const struct refused_alike found = refused_by(all, i);
        if (is_alike(&found) && found.count > most.count)
            most = found;
    }
    if (!most.count)
        return 0;
    const struct sqt_spell spell = sqt_spell_tell(&probe, &all->when, SQT_FAILURES_ODD, SQT_FAILURES_ALL);
    const uint64_t met = spell.met < most.count ? spell.met : most.count;
    struct sqt_told *const told =
        sqt_spell_percent(met, spell.all) < SHARE
            ? NULL
            : sqt_tolds_add(tolds, "server_refuses", SQT_HARM_FAILURE, most.count * SQT_FAILURE_NS);
    if (!told)
        return 0;
    told->since = probe.since;
    told->until = probe.until;
    told->pattern = probe.pattern;
    told->requests = told->failures = most.count;
    refused_print(&most, met, &spell, told);
    return most.status;
}
